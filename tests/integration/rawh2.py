"""HTTP/2 frame by frame, with hyperframe and hpack (what python3-h2 is built on) and no state
machine between the test and the wire: a test can send what no client would.

    c = w.h2()                                  # preface and SETTINGS are exchanged
    stream = c.request("GET", "/health")
    r = c.response(stream)                      # status, headers, body, trailers or reset code
    c.send_frame(type=0x8, stream=0, payload=bytes(4))          # WINDOW_UPDATE of 0
    assert c.goaway().error_code == PROTOCOL_ERROR
"""

import struct
from dataclasses import dataclass, field

import hpack
import rawhttp
from hyperframe import frame as frames

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR = 0, 1, 2, 3
SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL = 4, 5, 6, 7, 8
COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM = 9, 10, 11
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE = 0, 1, 2, 3, 4, 5
PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK, PADDED = 0x1, 0x4, 0x1, 0x8
MAX_FRAME = 16384


@dataclass
class Response:
    status: int = 0
    headers: list = field(default_factory=list)
    body: bytes = b""
    trailers: list = field(default_factory=list)
    reset: int = None  # RST_STREAM's code, if it ended so
    informational: list = field(default_factory=list)

    def get(self, name, default=None):
        return next((value for key, value in self.headers if key == name), default)


def connect(port, tls=None, preface=True, settings=None, **options):
    """preface=False: nothing has been sent yet. settings: {identifier: value} of ours."""
    sock = rawhttp.open_socket(port, tls=tls, alpn=["h2"] if tls else None, **options)
    if tls and sock.selected_alpn_protocol() != "h2":
        raise rawhttp.ProtocolError(f"ALPN gave {sock.selected_alpn_protocol()}")
    connection = H2Connection(sock)
    if preface:
        connection.open(settings or {})
    return connection


class H2Connection:
    def __init__(self, sock):
        self.sock = sock
        self.received = bytearray()
        self.encoder = hpack.Encoder()
        self.decoder = hpack.Decoder()
        self.next_stream = 1
        self.waiting = []  # frames read while looking for another
        self.peer_settings = {}
        self.grants_window = True  # give back what DATA frames use
        self.block = None  # (stream, flags, bytes) of a header block under way

    # --- sending ---

    def send(self, data):
        self.sock.sendall(data)

    def open(self, settings):
        self.send(PREFACE)
        self.send_settings(settings)
        first = self.read_frame()
        if not isinstance(first, frames.SettingsFrame) or "ACK" in first.flags:
            raise rawhttp.ProtocolError(f"the first frame must be SETTINGS, not {first}")
        self.peer_settings.update(first.settings)
        self.send_frame(SETTINGS, flags=ACK)

    def send_settings(self, settings):
        payload = b"".join(struct.pack(">HI", name, value) for name, value in settings.items())
        self.send_frame(SETTINGS, payload=payload)

    def send_frame(self, type, flags=0, stream=0, payload=b"", length=None):
        """Any frame at all; `length` may lie about the payload."""
        length = len(payload) if length is None else length
        head = struct.pack(">I", length)[1:] + struct.pack(">BBI", type, flags, stream)
        self.send(head + payload)

    def send_headers(self, headers, stream=None, end_stream=True, split=None):
        """Encodes and sends a header block as given, in frames of `split` bytes if asked."""
        if stream is None:
            stream, self.next_stream = self.next_stream, self.next_stream + 2
        block = self.encoder.encode(headers, huffman=True)
        size = split or MAX_FRAME
        pieces = [block[at : at + size] for at in range(0, len(block), size)] or [b""]
        for index, piece in enumerate(pieces):
            flags = END_HEADERS if index == len(pieces) - 1 else 0
            flags |= END_STREAM if end_stream and index == 0 else 0
            self.send_frame(HEADERS if index == 0 else CONTINUATION, flags, stream, piece)
        return stream

    def send_data(self, stream, data, end_stream=False):
        pieces = [data[at : at + MAX_FRAME] for at in range(0, len(data), MAX_FRAME)] or [b""]
        for index, piece in enumerate(pieces):
            is_last = index == len(pieces) - 1
            self.send_frame(DATA, END_STREAM if end_stream and is_last else 0, stream, piece)

    def request(self, method, path, headers=(), body=None, end_stream=True, scheme="http"):
        """A proper request; returns its stream. With end_stream=False the body stays open."""
        pseudo = [(":method", method), (":scheme", scheme), (":path", path)]
        pseudo.append((":authority", "localhost"))
        ends = end_stream and body is None
        stream = self.send_headers([*pseudo, *headers], end_stream=ends)
        if body is not None:
            self.send_data(stream, body, end_stream)
        return stream

    def reset_stream(self, stream, code=CANCEL):
        self.send_frame(RST_STREAM, stream=stream, payload=struct.pack(">I", code))

    def grant(self, stream, n):
        self.send_frame(WINDOW_UPDATE, stream=stream, payload=struct.pack(">I", n))

    def close(self):
        self.sock.close()

    # --- reading ---

    def take(self, n):
        while len(self.received) < n:
            try:
                data = self.sock.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                raise rawhttp.Closed(f"wanted {n} bytes, got {bytes(self.received)!r}")
            self.received += data
        data = bytes(self.received[:n])
        del self.received[:n]
        return data

    def read_frame(self):
        """The next frame off the wire: pings and settings are answered, DATA is credited."""
        head = self.take(9)
        frame, length = frames.Frame.parse_frame_header(memoryview(head))
        if length > MAX_FRAME:
            raise rawhttp.ProtocolError(f"a frame of {length} bytes")
        frame.parse_body(memoryview(self.take(length)))
        self.answer(frame, length)
        return frame

    def answer(self, frame, length):
        is_ack = "ACK" in frame.flags
        if isinstance(frame, frames.PingFrame) and not is_ack:
            self.send_frame(PING, ACK, 0, frame.opaque_data)
        elif isinstance(frame, frames.DataFrame) and length and self.grants_window:
            self.grant(0, length)
            if "END_STREAM" not in frame.flags:
                self.grant(frame.stream_id, length)
        elif isinstance(frame, (frames.HeadersFrame, frames.ContinuationFrame)):
            self.gather_block(frame)

    def gather_block(self, frame):
        """Header blocks are decoded in the order they come: frame.headers on the last frame."""
        if isinstance(frame, frames.HeadersFrame):
            self.block = [frame.stream_id, "END_STREAM" in frame.flags, b""]
        self.block[2] += frame.data
        frame.headers = None
        if "END_HEADERS" in frame.flags:
            frame.headers = self.decoder.decode(self.block[2])
            frame.ends_stream = self.block[1]
            self.block = None

    def wait_frame(self, kind, stream=None, condition=lambda frame: True):
        """The next frame of this hyperframe class (and stream); others stay for later."""

        def fits(frame):
            right_stream = stream is None or frame.stream_id == stream
            return isinstance(frame, kind) and right_stream and condition(frame)

        for frame in self.waiting:
            if fits(frame):
                self.waiting.remove(frame)
                return frame
        while True:
            frame = self.read_frame()
            if fits(frame):
                return frame
            self.waiting.append(frame)

    def goaway(self):
        return self.wait_frame(frames.GoAwayFrame)

    def reset_of(self, stream):
        """The code the peer resets this stream with."""
        return self.wait_frame(frames.RstStreamFrame, stream).error_code

    def response(self, stream):
        """Everything of one stream until it ends or is reset."""
        kinds = (frames.HeadersFrame, frames.ContinuationFrame, frames.DataFrame)
        kinds += (frames.RstStreamFrame,)
        answer = Response()
        while True:
            frame = self.wait_frame(kinds, stream)
            if isinstance(frame, frames.RstStreamFrame):
                answer.reset = frame.error_code
                return answer
            if isinstance(frame, frames.DataFrame):
                answer.body += frame.data
                ended = "END_STREAM" in frame.flags
            else:
                ended = frame.headers is not None and self.add_headers(answer, frame)
            if ended:
                return answer

    def add_headers(self, answer, frame):
        status = int(dict(frame.headers).get(":status", 0))
        if 100 <= status < 200:
            answer.informational.append(frame.headers)
        elif answer.status == 0:
            answer.status, answer.headers = status, frame.headers
        else:
            answer.trailers = frame.headers
        return frame.ends_stream

    def expect_closed(self):
        """The peer closes; frames before that go to `waiting`."""
        while True:
            try:
                self.waiting.append(self.read_frame())
            except rawhttp.Closed:
                if self.received:
                    raise
                return

    def ping(self):
        """A round trip: everything sent before has been seen by the peer's engine."""
        self.send_frame(PING, payload=b"weirtest")
        self.wait_frame(frames.PingFrame, condition=lambda frame: "ACK" in frame.flags)
