"""The scripted gRPC services: a sentence chunker, and TGIS generation whose words the script has.

As much HTTP/2 as these calls need and no more; windows are announced so large that they never
matter. What the chunker says follows from the text; when it says it is a step like any other."""

import re
import struct

import hpack
import wire

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
END_STREAM, END_HEADERS, PADDED, PRIORITY = 1, 4, 8, 32
HUGE = 2**31 - 1
MOST_FRAME = 16384
# ":status: 200" and "content-type: application/grpc", neither put into the table.
ANSWER_HEAD = b"\x88\x0f\x10\x10application/grpc"
CHUNKERS = "/caikit.runtime.Chunkers.ChunkersService/"
TGIS = "/fmaas.GenerationService/"
FAULTS = ["status", "text", "overlap", "beyond", "gap"]
SENTENCE = re.compile(r".*?[.!?\n]+\s*", re.S)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name, value):
    """A header field, written out."""
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number, value):
    """One field of a protobuf message: an integer or bytes; what is zero or empty is left out."""
    if isinstance(value, str):
        value = value.encode()
    if not value:
        return b""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(message):
    """{number: value} of a message whose fields are integers and bytes, each at most once."""
    found, at = {}, 0

    def number():
        nonlocal at
        shift = value = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 2:
            n = number()
            found[key >> 3] = message[at : at + n]
            at += n
        elif key & 7 == 0:
            found[key >> 3] = number()
        else:
            at += 8 if key & 7 == 1 else 4
    return found


def token(start, text):
    return field(1, start) + field(2, start + len(text)) + field(3, text)


class Chunker:
    """Sentences of a stream, each as soon as it is there."""

    def __init__(self):
        self.text = ""
        self.start = 0  # of what has not been answered for
        self.frames = []  # (number, end)

    def take(self, text, number):
        self.text += text
        self.frames.append((number, len(self.text)))
        found = []
        while match := SENTENCE.match(self.text, self.start):
            found.append(self.chunk(match.end()))
        return found

    def rest(self):
        return [self.chunk(len(self.text))] if self.start < len(self.text) else []

    def chunk(self, end):
        """(start, end, text, first frame, last frame)."""
        text = self.text[self.start : end]
        touched = [n for n, frame_end in self.frames if frame_end > self.start]
        last = next(n for n, frame_end in self.frames if frame_end >= end)
        start, self.start = self.start, end
        return start, end, text, touched[0], last


def result(chunk, fault=None):
    """A chunk as a message, perhaps a wrong one."""
    start, end, text, first, last = chunk
    start = max(0, start - 3) if fault == "overlap" else start + 1 if fault == "gap" else start
    end = end + 50 if fault == "beyond" else end
    text = text + "x" if fault == "text" else text
    message = field(1, token(start, text)) + field(2, end) + field(3, start)
    return message + field(4, 1) + field(20, first) + field(21, last)


class GrpcStream:
    """One call. As the model server's side it is what a Play speaks on."""

    def __init__(self, conn, number, path, play):
        self.conn = conn
        self.number = number
        self.path = path
        self.play = play
        self.buffer = b""
        self.has_head = False
        self.has_ended = False
        self.chunker = Chunker()
        self.n_messages = 0
        self.owed = []

    def send(self, piece):
        """A message, or as a string the status that ends the call."""
        if self.has_ended:
            return
        out = b""
        if not self.has_head:
            self.has_head = True
            out = frame(HEADERS, END_HEADERS, self.number, ANSWER_HEAD)
        if isinstance(piece, str):
            trailers = literal("grpc-status", piece)
            out += frame(HEADERS, END_HEADERS | END_STREAM, self.number, trailers)
            self.has_ended = True
            self.conn.streams.pop(self.number, None)
        else:
            data = struct.pack(">BI", 0, len(piece)) + piece
            for at in range(0, len(data), MOST_FRAME):
                out += frame(DATA, 0, self.number, data[at : at + MOST_FRAME])
        self.conn.send(out)

    def close(self):
        self.conn.streams.pop(self.number, None)
        self.conn.send(frame(RST, 0, self.number, struct.pack(">I", 2)))

    def take(self, data, is_end):
        self.buffer += data
        while len(self.buffer) >= 5:
            n = struct.unpack(">I", self.buffer[1:5])[0]
            if len(self.buffer) < 5 + n:
                break
            message = self.buffer[5 : 5 + n]
            self.buffer = self.buffer[5 + n :]
            self.on_message(message)
        if is_end:
            self.on_half_close()

    def on_message(self, message):
        method = self.path.rsplit("/", 1)[1]
        self.n_messages += 1
        if self.path.startswith(TGIS):
            self.on_tgis(method, message)
            return
        found = fields(message)
        text = found.get(1, b"").decode("utf-8", "replace")
        self.play.note("calls", f"{method} {self.n_messages} {found.get(2, 0)} {text!r}")
        if method.startswith("Bidi"):
            self.owe(*self.chunker.take(text, found.get(2, 0)))
        else:
            tokens = [token(m.start(), m.group()) for m in re.finditer(r".*?[.!?\n]+\s*|.+", text, re.S)]
            self.owe(b"".join(field(1, t) for t in tokens) + field(4, len(tokens)), "0")

    def on_tgis(self, method, message):
        self.play.note("model" if method != "Tokenize" else "calls", f"{method} {message!r}")
        if method == "Tokenize":
            self.send(field(1, field(1, 3)))
            self.send("0")
        else:
            self.play.set_model(self)

    def on_half_close(self):
        if self.path.startswith(CHUNKERS + "Bidi"):
            self.play.note("calls", "Bidi end")
            self.owe(*self.chunker.rest(), "0")

    def owe(self, *messages):
        """Will be said when it is this stream's turn."""
        self.owed += messages
        if self.owed:
            self.play.on_owing(self)

    def say_owed(self):
        owed, self.owed = self.owed, []
        for message in owed:
            if isinstance(message, tuple):  # a chunk, the only thing that is spoiled
                fault = self.play.fault_of("chunky")
                message = "13" if fault == "status" else result(message, fault)
            self.send(message)


class GrpcConn(wire.Conn):
    """`play_of(fields)` tells whose call it is."""

    def __init__(self, loop, sock, play_of):
        super().__init__(loop, sock)
        self.play_of = play_of
        self.decoder = hpack.Decoder()
        self.buffer = b""
        self.has_preface = False
        self.streams = {}
        window = struct.pack(">HI", 4, HUGE)
        self.send(frame(SETTINGS, 0, 0, window) + frame(8, 0, 0, struct.pack(">I", HUGE - 65535)))

    def on_data(self, data):
        self.buffer += data
        if not self.has_preface:
            if len(self.buffer) < len(PREFACE):
                return
            self.has_preface = True
            self.buffer = self.buffer[len(PREFACE) :]
        while len(self.buffer) >= 9:
            n = int.from_bytes(self.buffer[:3], "big")
            if len(self.buffer) < 9 + n:
                return
            kind, flags, stream = struct.unpack(">BBI", self.buffer[3:9])
            payload = self.buffer[9 : 9 + n]
            self.buffer = self.buffer[9 + n :]
            self.on_frame(kind, flags, stream, payload)

    def on_frame(self, kind, flags, stream, payload):
        if kind in (DATA, HEADERS) and flags & PADDED:
            payload = payload[1 : len(payload) - payload[0]]
        if kind == HEADERS:
            self.on_headers(flags, stream, payload[5:] if flags & PRIORITY else payload)
        elif kind == DATA and stream in self.streams:
            self.streams[stream].take(payload, bool(flags & END_STREAM))
        elif kind == RST and (gone := self.streams.pop(stream, None)) is not None:
            self.on_stream_gone(gone)
        elif kind == SETTINGS and not flags & 1:
            self.send(frame(SETTINGS, 1, 0))
        elif kind == PING and not flags & 1:
            self.send(frame(PING, 1, 0, payload))

    def on_headers(self, flags, stream, block):
        assert flags & END_HEADERS, "a head in several frames is not foreseen"
        found = dict(self.decoder.decode(block))
        play = self.play_of(found)
        if play is None:
            self.send(frame(RST, 0, stream, struct.pack(">I", 8)))
            return
        self.streams[stream] = GrpcStream(self, stream, found[":path"], play)
        if flags & END_STREAM:
            self.streams[stream].take(b"", True)

    @staticmethod
    def on_stream_gone(gone):
        gone.play.on_gone(gone)
        if gone.path.startswith(CHUNKERS) and not gone.play.is_over:
            gone.play.note("gone", "a chunker's stream")

    def on_end(self):
        for gone in self.streams.values():
            self.on_stream_gone(gone)
        self.streams = {}
