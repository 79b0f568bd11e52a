"""Sockets without waiting: a loop over epoll, connections, HTTP/1 requests and answers as bytes.

Written by hand because every stream costs some forty messages and 60,000 of them are played twice:
what ready-made clients and servers do per message would take hours.
"""

import select
import socket
import time

LINE_END = b"\r\n"
HEAD_END = b"\r\n\r\n"


class Loop:
    """One epoll. `later` runs after all sockets of a turn have been read: see play.Fence."""

    def __init__(self):
        self.epoll = select.epoll()
        self.owners = {}
        self.later = []
        self.timers = []

    def watch(self, sock, owner, events=select.EPOLLIN):
        self.owners[sock.fileno()] = owner
        self.epoll.register(sock.fileno(), events)

    def rewatch(self, sock, events):
        self.epoll.modify(sock.fileno(), events)

    def forget(self, sock):
        if self.owners.pop(sock.fileno(), None) is not None:
            self.epoll.unregister(sock.fileno())

    def after(self, seconds, what):
        self.timers.append((time.monotonic() + seconds, what))

    def turn(self):
        for fd, mask in self.epoll.poll(0.2, 256):
            owner = self.owners.get(fd)
            if owner is not None:
                owner.on_ready(mask)
        later, self.later = self.later, []
        for what in later:
            what()
        if self.timers:
            now = time.monotonic()
            due = [what for at, what in self.timers if at <= now]
            if due:
                self.timers = [timer for timer in self.timers if timer[0] > now]
            for what in due:
                what()

    def close(self):
        self.epoll.close()


class Conn:
    """A connection that gives what it reads to `on_data` and its end to `on_end`."""

    def __init__(self, loop, sock):
        self.loop = loop
        self.sock = sock
        self.unsent = b""
        self.is_open = True
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop.watch(sock, self)

    def on_ready(self, mask):
        if mask & select.EPOLLOUT:
            self.flush()
        if not mask & ~select.EPOLLOUT or not self.is_open:
            return
        try:
            data = self.sock.recv(262144)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.on_data(data)
        elif self.is_open:
            self.close()
            self.on_end()

    def send(self, data):
        if self.is_open:
            self.unsent += data
            self.flush()

    def flush(self):
        try:
            sent = self.sock.send(self.unsent)
        except BlockingIOError:
            sent = 0
        except OSError:  # the other side has gone; reading will say so
            self.unsent = b""
            return
        self.unsent = self.unsent[sent:]
        more = select.EPOLLOUT if self.unsent else 0
        if more or sent == 0:
            self.loop.rewatch(self.sock, select.EPOLLIN | more)

    def close(self):
        if self.is_open:
            self.is_open = False
            self.loop.forget(self.sock)
            self.sock.close()

    def on_data(self, data):
        raise NotImplementedError

    def on_end(self):
        pass


class Listener:
    """Accepts on a free port of 127.0.0.1; `make(sock)` becomes the connection."""

    def __init__(self, loop, make):
        self.loop = loop
        self.make = make
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.sock.setblocking(False)
        self.port = self.sock.getsockname()[1]
        self.conns = set()
        loop.watch(self.sock, self)

    def on_ready(self, mask):
        for _ in range(64):
            try:
                sock, _ = self.sock.accept()
            except BlockingIOError:
                return
            conn = self.make(sock)
            self.conns.add(conn)
            if len(self.conns) % 256 == 0:
                self.conns = {c for c in self.conns if c.is_open}

    def close(self):
        self.loop.forget(self.sock)
        self.sock.close()
        for conn in self.conns:
            conn.close()


def split_head(head):
    """First line and {lower-case name: value} of a message head."""
    lines = head.decode("latin-1").split("\r\n")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        name = name.lower()
        value = value.strip()
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return lines[0], fields


class RequestConn(Conn):
    """The serving side of HTTP/1: calls `on_request(conn, line, fields, body)`."""

    def __init__(self, loop, sock, on_request, on_gone):
        super().__init__(loop, sock)
        self.on_request = on_request
        self.on_gone = on_gone
        self.buffer = b""

    def on_data(self, data):
        self.buffer += data
        while True:
            end = self.buffer.find(HEAD_END)
            if end < 0:
                return
            line, fields = split_head(self.buffer[:end])
            n = int(fields.get("content-length", 0))
            if len(self.buffer) < end + 4 + n:
                return
            body = self.buffer[end + 4 : end + 4 + n]
            self.buffer = self.buffer[end + 4 + n :]
            self.on_request(self, line, fields, body)

    def on_end(self):
        self.on_gone(self)


class Answer:
    """An HTTP/1 answer as it comes: status, fields, body so far, and how it ended."""

    def __init__(self):
        self.buffer = b""
        self.status = None
        self.fields = {}
        self.left = 0  # of the body or chunk; None: until the end of the connection
        self.where = "head"
        self.is_complete = False

    def take(self, data):
        """Returns what these bytes add to the body."""
        self.buffer += data
        out = []
        while self.advance(out):
            pass
        return b"".join(out)

    def advance(self, out):
        if self.where == "head":
            return self.take_head()
        if self.where == "body":
            now = self.buffer if self.left is None else self.buffer[: self.left]
            out.append(now)
            self.buffer = self.buffer[len(now) :]
            if self.left is not None:
                self.left -= len(now)
                self.is_complete = self.left == 0
            return False
        return self.take_chunk(out)

    def take_head(self):
        end = self.buffer.find(HEAD_END)
        if end < 0:
            return False
        line, self.fields = split_head(self.buffer[:end])
        self.buffer = self.buffer[end + 4 :]
        self.status = int(line.split(" ")[1])
        if self.status == 100:
            return True
        if "chunked" in self.fields.get("transfer-encoding", ""):
            self.where = "chunk"
        else:
            length = self.fields.get("content-length")
            self.left = None if length is None else int(length)
            self.where = "body"
            self.is_complete = self.left == 0
        return True

    def take_chunk(self, out):
        end = self.buffer.find(LINE_END)
        if end < 0 or self.is_complete:
            return False
        n = int(self.buffer[:end].split(b";")[0], 16)
        if len(self.buffer) < end + 2 + n + 2:
            return False
        out.append(self.buffer[end + 2 : end + 2 + n])
        self.buffer = self.buffer[end + 4 + n :]
        self.is_complete = n == 0
        return True
