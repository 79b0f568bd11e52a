"""HTTP/1 by hand: send any bytes, read answers with a parser that forgives nothing.

What the server writes must be exactly right, so anything doubtful is a ProtocolError: a bare LF,
a space before a colon, both lengths, a chunk extension, a byte after the end.
"""

import json
import re
import socket
import ssl
import struct
from dataclasses import dataclass, field

TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
STATUS_LINE = re.compile(rb"HTTP/(1\.[01]) ([1-5]\d\d) ([\t\x20-\x7e\x80-\xff]*)")
HEADER_LINE = re.compile(rb"(" + TOKEN + rb"):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
CHUNK_LINE = re.compile(rb"[0-9A-Fa-f]{1,8}")


class ProtocolError(Exception):
    """The answer is not proper HTTP/1.1."""


class Closed(Exception):
    """The peer closed before the message was complete."""


@dataclass
class Response:
    version: str
    status: int
    reason: str
    headers: list  # (lower-case name, value) in order
    body: bytes = b""
    chunks: list = field(default_factory=list)
    trailers: list = field(default_factory=list)

    def all(self, name):
        return [value for key, value in self.headers if key == name]

    def get(self, name, default=None):
        """The header's value; it must not be there twice."""
        values = self.all(name)
        if len(values) > 1:
            raise ProtocolError(f"{name} comes {len(values)} times")
        return values[0] if values else default

    def json(self):
        return json.loads(self.body)

    @property
    def is_chunked(self):
        return self.get("transfer-encoding") is not None


def open_socket(port, host="127.0.0.1", tls=None, alpn=None, server_name="localhost", timeout=60):
    """A connected socket, through TLS where a context is given."""
    sock = socket.create_connection((host, port), timeout=timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if tls is None:
        return sock
    tls.set_alpn_protocols(alpn or ["http/1.1"])
    return tls.wrap_socket(sock, server_hostname=server_name)


def connect(port, **options):
    return RawConnection(open_socket(port, **options))


class RawConnection:
    def __init__(self, sock):
        self.sock = sock
        self.received = bytearray()  # read from the socket, not yet used

    # --- sending ---

    def send(self, data):
        self.sock.sendall(data.encode("latin-1") if isinstance(data, str) else data)

    def send_bytewise(self, data):
        """Every byte in a segment of its own, as far as the kernel lets us."""
        for at in range(len(data)):
            self.sock.sendall(data[at : at + 1])

    def request(self, method, path, headers=(), body=b"", host="localhost"):
        """Sends a well-formed request; a body gets its Content-Length."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    def get(self, path, headers=()):
        self.request("GET", path, headers)
        return self.read_response()

    def send_chunk(self, data):
        """One chunk of a chunked request body; empty data ends the body."""
        self.send(b"%x\r\n" % len(data) + data + b"\r\n")

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """Closes with RST, as a peer that died does."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()

    # --- reading ---

    def fill(self):
        """Reads more; False at the end of the stream. A reset counts as an end."""
        try:
            data = self.sock.recv(65536)
        except (ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            return False
        self.received += data
        return bool(data)

    def take(self, n):
        while len(self.received) < n:
            if not self.fill():
                raise Closed(f"wanted {n} bytes, got {bytes(self.received)!r}")
        data = bytes(self.received[:n])
        del self.received[:n]
        return data

    def take_line(self):
        """Up to CRLF, without it."""
        while b"\n" not in self.received:
            if not self.fill():
                raise Closed(f"in the middle of a line: {bytes(self.received)!r}")
        line = self.take(self.received.index(b"\n") + 1)
        if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
            raise ProtocolError(f"a line must end with CR LF: {line!r}")
        return line[:-2]

    def take_headers(self):
        headers = []
        while True:
            line = self.take_line()
            if not line:
                return headers
            match = HEADER_LINE.fullmatch(line)
            if not match:
                raise ProtocolError(f"not a header: {line!r}")
            headers.append((match[1].decode().lower(), match[2].decode("latin-1")))

    def read_head(self):
        """Status line and headers; the body is read with read_body or chunks."""
        line = self.take_line()
        match = STATUS_LINE.fullmatch(line)
        if not match:
            raise ProtocolError(f"not a status line: {line!r}")
        head = Response(match[1].decode(), int(match[2]), match[3].decode("latin-1"), [])
        head.headers = self.take_headers()
        if head.get("content-length") is not None and head.is_chunked:
            raise ProtocolError("both Content-Length and Transfer-Encoding")
        if head.is_chunked and head.get("transfer-encoding") != "chunked":
            raise ProtocolError(f"Transfer-Encoding: {head.get('transfer-encoding')}")
        return head

    def chunks(self, head):
        """Yields each chunk as it arrives; the trailers end up in head.trailers."""
        while True:
            line = self.take_line()
            if not CHUNK_LINE.fullmatch(line):
                raise ProtocolError(f"not a chunk size: {line!r}")
            size = int(line, 16)
            if size == 0:
                head.trailers = self.take_headers()
                return
            data = self.take(size)
            if self.take(2) != b"\r\n":
                raise ProtocolError("a chunk must end with CR LF")
            yield data

    def read_body(self, head, method="GET"):
        """Completes a response whose head has been read."""
        length = head.get("content-length")
        if head.status < 200 or head.status in (204, 304):
            if length is not None and head.status != 304 or head.is_chunked:
                raise ProtocolError(f"a {head.status} with a body")
        elif method == "HEAD":
            pass
        elif head.is_chunked:
            head.chunks = list(self.chunks(head))
            head.body = b"".join(head.chunks)
        elif length is not None:
            if not re.fullmatch(r"\d+", length):
                raise ProtocolError(f"Content-Length: {length}")
            head.body = self.take(int(length))
        else:
            if head.version == "1.1" and head.get("connection", "").lower() != "close":
                raise ProtocolError("no length, and the connection is not to be closed")
            while self.fill():
                pass
            head.body = self.take(len(self.received))
        return head

    def read_response(self, method="GET"):
        """The next response; 1xx ones are responses of their own."""
        return self.read_body(self.read_head(), method)

    def read_final(self, method="GET"):
        """The next response that is not a 1xx."""
        while True:
            response = self.read_response(method)
            if response.status >= 200:
                return response

    def expect_closed(self):
        """The peer closes and says nothing more."""
        while self.fill():
            pass
        if self.received:
            raise ProtocolError(f"bytes after the end: {bytes(self.received)!r}")

    def is_quiet(self, seconds=0.2):
        """Does nothing at all arrive for so long? (A close is something.)"""
        if self.received:
            return False
        before = self.sock.gettimeout()
        self.sock.settimeout(seconds)
        try:
            self.fill()
            return False
        except (TimeoutError, BlockingIOError):  # the latter where there is no time at all
            return True
        finally:
            self.sock.settimeout(before)
