"""Peers that fail at one point in one way, and what the points and the ways are.

    peer = FaultPeer(lambda request: json_answer({"fine": True}))
    peer.set_fault(Fault("mid_body", "reset"))   # until it is None again
    proxy = FaultProxy(grpc_server.port)         # the same for what speaks HTTP/2, and for TLS

A point is a place in an exchange, a kind is what happens there instead of the rest.
"""

import json
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass

import service

FROM_HEAD = "reset closed silence trickle garbage late".split()
# Where a peer can fail, and how. `refuse`: nobody listens; `closed`: a proper end, too early;
# `trickle` and `late` are no faults, only slow: what comes is right. `nonsense` is well framed.
POINTS = {
    "connect": "refuse reset closed silence garbage late".split(),
    "tls": "refuse reset closed silence trickle garbage late".split(),
    "head": [*FROM_HEAD, "too_large", "wrong_status", "wrong_type"],
    "first_byte": [*FROM_HEAD, "too_large", "nonsense"],
    "mid_body": [*FROM_HEAD, "too_large", "nonsense"],
    "end": [*FROM_HEAD],  # before the last piece: [DONE], or the last bytes of a document
    "terminator": [*FROM_HEAD],  # everything has been said but that it was everything
}
# gRPC has no last piece of its own; its answer may fail behind the first message of several.
GRPC_POINTS = {
    "connect": POINTS["connect"],
    "head": [*FROM_HEAD, "wrong_status", "wrong_type"],
    "first_byte": [*FROM_HEAD, "too_large", "nonsense"],
    "mid_body": [*FROM_HEAD, "nonsense"],
    "second": [*FROM_HEAD, "too_large", "nonsense"],
    "terminator": [*FROM_HEAD],
}
SLOW = ("trickle", "late")  # kinds after which everything is as it should be
LATE_SECONDS = 0.03
TRICKLED = 200  # bytes that come one by one; the rest follows at once
GARBAGE = b"\x00\xff what is this \r\n\r\n" * 3
TOO_MUCH = 1 << 18  # beyond every limit of the tests that use it


@dataclass(frozen=True)
class Fault:
    point: str
    kind: str
    nth: int = 0  # how many requests are answered properly first

    def __str__(self):
        return f"{self.point}/{self.kind}" + (f"/{self.nth}" if self.nth else "")


class Over(Exception):
    """The connection is not needed any more."""


def nodelay(sock):
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    try:
        sock.shutdown(socket.SHUT_RD)  # a thread that reads would keep it open
    except OSError:
        pass
    sock.close()


def wait_gone(sock):
    try:
        while sock.recv(65536):
            pass
    except OSError:
        pass


def send_slowly(sock, kind, rest):
    if kind == "late":
        time.sleep(LATE_SECONDS)
    else:
        for at in range(min(TRICKLED, len(rest))):
            sock.sendall(rest[at : at + 1])
        rest = rest[TRICKLED:]
    sock.sendall(rest)


def break_off(sock, kind):
    """The kinds that end a connection, whatever was spoken on it."""
    if kind == "reset":
        reset(sock)
    elif kind == "silence":
        wait_gone(sock)
    elif kind == "garbage":
        sock.sendall(GARBAGE)
    raise Over


# --- HTTP/1: what a healthy peer would say, and how it is cut ---


@dataclass
class Answer:
    """A chunked answer in pieces; `events`: it is a stream of them."""

    pieces: list
    content_type: str = "application/json"

    @property
    def events(self):
        return self.content_type == "text/event-stream"

    def head(self):
        lines = ["HTTP/1.1 200 OK", f"content-type: {self.content_type}", "transfer-encoding: chunked"]
        return "\r\n".join(lines).encode() + b"\r\n\r\n"


def json_answer(value):
    """Three pieces, so that there is a middle and an end."""
    text = json.dumps(value).encode()
    third = max(1, len(text) // 3)
    return Answer([text[:third], text[third : 2 * third], text[2 * third :]])


def event_answer(*data):
    texts = [d if isinstance(d, str) else json.dumps(d) for d in data]
    return Answer([f"data: {text}\n\n".encode() for text in texts], "text/event-stream")


def framed(piece):
    return b"%x\r\n" % len(piece) + piece + b"\r\n" if piece else b""


def cut(answer, point):
    """(what is said before the fault, what would follow it)."""
    head = answer.head()
    frames = [framed(piece) for piece in answer.pieces]
    if point == "head":
        return head[:9], head[9:] + b"".join(frames) + b"0\r\n\r\n"
    if point == "first_byte":
        before = 0
    elif point == "mid_body":  # half of a piece in the middle: half of an event
        before = len(b"".join(frames[: len(frames) // 2])) + len(frames[len(frames) // 2]) // 2
    elif point == "end":
        before = len(b"".join(frames[:-1]))
    else:
        before = len(b"".join(frames))
    body = b"".join(frames)
    return head + body[:before], body[before:] + b"0\r\n\r\n"


class FaultPeer(service.Service):
    """An HTTP/1 service. `answer` gives an Answer; `fault` is what goes wrong with it; `told` are the
    requests whose answers were sent to their last byte."""

    def __init__(self, answer, tls=None):
        self.fault = None
        self.told = []
        self.fillers = []
        super().__init__(answer, tls)

    def reset_counts(self):
        self.requests.clear()
        self.told.clear()

    # --- whether one gets here at all ---

    def set_fault(self, fault):
        """From a state in which nobody is connected. The fault comes first: who is accepted from now on has
        it, and who was accepted before is among those that are dropped."""
        self.fault = fault
        self.drop_connections()
        if self.is_away():
            self.listen_again()
        if fault and fault.point == "connect" and fault.kind in ("refuse", "silence"):
            self.stop_listening()
            self.drop_connections()
            if fault.kind == "silence":
                self.fill_backlog()

    def is_away(self):
        return self.listener.fileno() < 0 or bool(self.fillers)

    def stop_listening(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(60)

    def fill_backlog(self):
        """Nobody accepts, and there is no room to wait: the kernel drops what would connect."""
        self.listener = self.bind(0)
        for _ in range(2):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", self.port))
            self.fillers.append(filler)

    def bind(self, backlog):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(backlog)
        return listener

    def listen_again(self):
        for filler in self.fillers:
            reset(filler)
        self.fillers.clear()
        self.listener.close()
        self.listener = self.bind(128)
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def drop_connections(self):
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        if not self.fillers:
            super().close()
        else:
            self.listener.close()
        self.drop_connections()

    # --- exchanges ---

    def serve(self, connection):
        nodelay(connection)
        fault = self.fault  # for as long as the connection lives: set_fault ends all there are
        try:
            if fault and fault.point == "connect":
                self.greet(connection, fault.kind)
            with self.tls.wrap_socket(connection, server_side=True) if self.tls else connection as stream:
                while self.exchange(stream, fault):
                    pass
        except (OSError, ssl.SSLError, Over):
            pass
        finally:
            self.connections.discard(connection)
            connection.close()

    def greet(self, connection, kind):
        if kind == "late":
            time.sleep(LATE_SECONDS)
        else:
            break_off(connection, kind)

    def exchange(self, stream, fault=None):
        request = self.read(stream)
        if request is None:
            return False
        self.requests.append(request)
        answer = self.answer(request)
        if fault is None or fault.point == "connect" or len(self.requests) <= fault.nth:
            self.told.append(request)  # before the caller can have anything of it
            stream.sendall(b"".join(cut(answer, "terminator")))
            return True
        return self.fail(stream, answer, fault, request)

    def fail(self, stream, answer, fault, request):
        if fault.kind == "wrong_status":
            stream.sendall(service.reply({"error": {"message": "no", "code": "c"}, "message": "no"}, 503))
            return True
        if fault.kind == "wrong_type":
            stream.sendall(service.reply("<html>no</html>", content_type="text/html"))
            return True
        said, rest = cut(answer, fault.point)
        if fault.point == "terminator" or fault.kind in SLOW:
            self.told.append(request)
        stream.sendall(said)
        if fault.kind in SLOW:
            send_slowly(stream, fault.kind, rest)
            return True
        if fault.kind == "too_large":
            self.send_too_much(stream, fault.point, answer)
        elif fault.kind == "nonsense":
            words = b'data: {"oops\n\n' if answer.events else b'{"oops'
            if fault.point == "first_byte":
                stream.sendall(framed(words) + b"0\r\n\r\n")
                return True
            # In the middle of a piece: its length says how much of it is still to come.
            stream.sendall(b"\n\n" + words + b"?" * len(rest) + b"\n\n" + framed(words))
        else:
            break_off(stream, fault.kind)
        return False

    def send_too_much(self, stream, point, answer):
        """A header, an event or a document without an end."""
        if point == "head":
            stream.sendall(b"200 OK\r\nx-much: " + b"x" * TOO_MUCH)
        else:
            piece = framed(b"data: " + b"x" * 8000 if answer.events else b" " * 8192)
            for _ in range(TOO_MUCH // 8000):
                stream.sendall(piece)
        wait_gone(stream)


# --- HTTP/2 and TLS: between weir and a server that is right ---

DATA, HEADERS, RST_STREAM = 0, 1, 3
END_STREAM, END_HEADERS = 1, 4
STATUS_200, STATUS_500 = b"\x88", b"\x8e"
CONTENT_TYPE_HTML = b"\x0f\x10\x09text/html"
GRPC_OK = b"\x00\x0bgrpc-status\x010"
ALERT = bytes.fromhex("15030300020228")  # fatal: handshake failure


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


class Frames:
    """Cuts a byte stream into frames."""

    def __init__(self):
        self.data = b""

    def feed(self, data):
        self.data += data
        while len(self.data) >= 9:
            size = 9 + int.from_bytes(self.data[:3], "big")
            if len(self.data) < size:
                return
            kind, flags, stream = struct.unpack(">BBI", self.data[3:9])
            raw, self.data = self.data[:size], self.data[size:]
            yield kind, flags, stream, raw


class FaultProxy(FaultPeer):
    """Stands before a server on loopback and passes everything both ways, but for the fault: at a
    point of the first HTTP/2 answer that comes by, or (`tls`) instead of the server's first words."""

    def __init__(self, upstream):
        self.upstream = upstream
        self.failed = None  # the fault that has happened; a connection of an earlier one does not count
        super().__init__(lambda request: None)

    def set_fault(self, fault):
        self.failed = None
        super().set_fault(fault)

    def serve(self, connection):
        nodelay(connection)
        fault = self.fault
        up = None
        try:
            if fault and fault.point == "connect":
                self.greet(connection, fault.kind)
            up = socket.create_connection(("127.0.0.1", self.upstream), timeout=60)
            nodelay(up)
            threading.Thread(target=self.pump_up, args=[connection, up], daemon=True).start()
            if fault and fault.point == "tls":
                self.shake_hands(connection, up, fault.kind)
            self.pump_down(connection, up, fault)
        except (OSError, Over):
            pass
        finally:
            self.connections.discard(connection)
            for sock in (up, connection):
                if sock:
                    self.hang_up(sock)

    @staticmethod
    def hang_up(sock):
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        sock.close()

    def pump_up(self, connection, up):
        try:
            while data := connection.recv(65536):
                up.sendall(data)
            up.shutdown(socket.SHUT_WR)
        except OSError:
            self.hang_up(up)

    def shake_hands(self, connection, up, kind):
        first = up.recv(65536)
        if kind in SLOW:
            send_slowly(connection, kind, first)
            return
        if kind == "refuse":
            connection.sendall(ALERT)
            raise Over
        connection.sendall(first[: len(first) // 2] if kind != "garbage" else b"")
        break_off(connection, kind)

    def pump_down(self, connection, up, fault):
        frames, seen = Frames(), {}
        while data := up.recv(65536):
            if fault is None or fault.point in ("connect", "tls") or self.failed is fault:
                connection.sendall(frames.data + data)
                frames.data = b""
                continue
            for one in frames.feed(data):
                self.pass_frame(connection, fault, seen, *one)

    def point_of(self, seen, kind, flags, stream):
        """Which point of its answer a frame is."""
        if kind == HEADERS:
            count = seen.setdefault((stream, HEADERS), 0)
            seen[stream, HEADERS] += 1
            return "terminator" if flags & END_STREAM else "head" if count == 0 else None
        if kind == DATA:
            count = seen.setdefault((stream, DATA), 0)
            seen[stream, DATA] += 1
            return {0: "first_byte", 1: "second"}.get(count)
        return None

    def pass_frame(self, connection, fault, seen, kind, flags, stream, raw):
        point = self.point_of(seen, kind, flags, stream)
        is_middle = fault.point == "mid_body" and point == "first_byte"
        if self.failed is fault or (point != fault.point and not is_middle):
            connection.sendall(raw)
            return
        self.failed = fault
        said, rest = (raw[: 9 + (len(raw) - 9) // 2], raw[9 + (len(raw) - 9) // 2 :]) if is_middle else (b"", raw)
        if fault.kind in SLOW:
            connection.sendall(said)
            send_slowly(connection, fault.kind, rest)
        elif made := self.made_up(fault, stream, len(rest)):
            connection.sendall(said + made)
            raise Over
        else:
            connection.sendall(said)
            break_off(connection, fault.kind)

    def made_up(self, fault, stream, n_left):
        """What is said instead, where it has to be proper HTTP/2."""
        if fault.kind == "wrong_status":
            return frame(HEADERS, END_HEADERS | END_STREAM, stream, STATUS_500)
        if fault.kind == "wrong_type":
            html = frame(DATA, END_STREAM, stream, b"<html>no</html>")
            return frame(HEADERS, END_HEADERS, stream, STATUS_200 + CONTENT_TYPE_HTML) + html
        if fault.kind == "too_large":
            return frame(DATA, 0, stream, b"\x00\x7f\xff\xff\xff" + b"x" * 8000)
        if fault.kind == "nonsense":
            message = frame(DATA, 0, stream, b"\x00\x00\x00\x00\x04\xff\xff\xff\xff")
            message = b"\xff" * n_left if fault.point == "mid_body" else message
            return message + frame(HEADERS, END_HEADERS | END_STREAM, stream, GRPC_OK)
        return None
