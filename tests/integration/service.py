"""A service on loopback whose every answer the test writes. Fixture: service.

    detector = service(lambda request: reply([[]]))
    detector.answer = lambda request: reply({"code": 422, "message": "no"}, 422)
    detector.requests[-1].json()

An answer is bytes as they go over the wire (`reply` makes them), several of those (a generator: one
write each), HANG (no answer, the connection stays), or None (it is closed without a word).
"""

import json
import socket
import ssl
import threading

HANG = object()


def reply(body, status=200, content_type="application/json", headers=()):
    """A whole HTTP/1.1 answer; what is not text or bytes becomes JSON."""
    if not isinstance(body, (bytes, str)):
        body = json.dumps(body)
    body = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Status", f"content-length: {len(body)}"]
    lines += [f"content-type: {content_type}"] + [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def events(*data, end=True, status=200):
    """A streamed answer: an event per piece, chunked, each in a write of its own."""
    yield (
        f"HTTP/1.1 {status} Status\r\ncontent-type: text/event-stream\r\n"
        "transfer-encoding: chunked\r\n\r\n"
    ).encode()
    for piece in data:
        text = piece if isinstance(piece, str) else json.dumps(piece)
        event = f"data: {text}\n\n".encode()
        yield f"{len(event):x}\r\n".encode() + event + b"\r\n"
    if end:
        yield b"0\r\n\r\n"


def in_chunks(raw, end=True):
    """Events as a server writes them, each in a chunk of its own."""
    yield (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
           b"transfer-encoding: chunked\r\n\r\n")  # fmt: skip
    for event in raw.split("\n\n")[:-1]:
        data = (event + "\n\n").encode()
        yield f"{len(data):x}\r\n".encode() + data + b"\r\n"
    if end:
        yield b"0\r\n\r\n"


class Request:
    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = lines[0].split(" ")
        self.headers = [tuple(line.split(": ", 1)) for line in lines[1:]]
        self.body = body

    def header(self, name):
        """The one value of that name; None when it is not there, an error when it is twice."""
        values = [value for key, value in self.headers if key.lower() == name]
        assert len(values) < 2, f"{name} twice: {values}"
        return values[0] if values else None

    def json(self):
        return json.loads(self.body)


class Service:
    def __init__(self, answer=None, tls=None):
        self.answer = answer or (lambda request: reply({}))
        self.tls = tls
        self.requests = []
        self.n_connections = 0
        self.connections = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def config(self, **more):
        """What `service:` says to reach this one."""
        return {"hostname": "127.0.0.1", "port": self.port, **more}

    def paths(self):
        return [request.path for request in self.requests]

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.n_connections += 1
            self.connections.add(connection)
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        try:
            stream = self.tls.wrap_socket(connection, server_side=True) if self.tls else connection
            with stream:
                while self.exchange(stream):
                    pass
        except (OSError, ssl.SSLError):
            pass
        finally:
            self.connections.discard(connection)

    def exchange(self, stream):
        """One request and its answer; false when the connection is over."""
        request = self.read(stream)
        if request is None:
            return False
        self.requests.append(request)
        answer = self.answer(request)
        if answer is None:
            return False
        if answer is HANG:
            return bool(stream.recv(1))
        for piece in [answer] if isinstance(answer, bytes) else answer:
            stream.sendall(piece)
        return True

    def read(self, stream):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = stream.recv(65536)
            if not piece:
                return None
            data += piece
        head, body = data.split(b"\r\n\r\n", 1)
        request = Request(head, body)
        length = int(request.header("content-length") or 0)
        while len(body) < length:
            piece = stream.recv(65536)
            if not piece:
                return None
            body += piece
        return Request(head, body)

    def close(self):
        """Nobody listens here any more. Safe twice."""
        # accept() in another thread holds the port open until it is woken.
        if self.listener.fileno() < 0:
            return
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(60)
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
