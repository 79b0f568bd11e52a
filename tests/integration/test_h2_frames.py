"""HTTP/2 as sequences of frames that no honest peer would send, in both roles: a caller, and a service
that weir calls over gRPC. Whatever comes, in whatever order and cut anywhere: weir answers or ends the
connection, says nothing wrong to others, and gives everything back.

Sequences are made from WEIR_FRAMES_SEED (else the commit) and their number; WEIR_FRAMES says how many.
"""

import os
import random
import socket
import struct
import threading

import harness
import pytest
from fault_world import ENDPOINTS, Stage
from faults import frame
from test_fault_matrix import seed

N = int(os.environ.get("WEIR_FRAMES", "60"))
SEED = os.environ.get("WEIR_FRAMES_SEED") or seed()
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
BODY = b'{"content":"One fine day.","detectors":{"far":{}}}'


def literal(name, value):
    """A field that is not compressed and not kept."""
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def question(dice):
    fields = [(":method", "POST"), (":scheme", "http"), (":path", ENDPOINTS["C"].path), (":authority", "localhost"),
              ("content-type", "application/json"), ("content-length", str(len(BODY)))]  # fmt: skip
    return spoilt(dice, fields)


def reply_head(dice):
    return spoilt(dice, [(":status", "200"), ("content-type", "application/grpc+proto")])


def spoilt(dice, fields):
    """Mostly right; at times a field is twice, lost, in capitals, out of order, or no HPACK at all."""
    fields = list(fields)
    way = dice.randrange(12)
    if way == 0:
        fields.append(dice.choice(fields))
    elif way == 1:
        fields.pop(dice.randrange(len(fields)))
    elif way == 2:
        dice.shuffle(fields)
    elif way == 3:
        fields.append(("X-Upper", "1"))
    elif way == 4:
        fields.append(("connection", "keep-alive"))
    elif way == 5:
        return bytes(dice.randrange(256) for _ in range(dice.randrange(40)))
    return b"".join(literal(name, value) for name, value in fields)


def payload(dice, kind, head):
    if kind == HEADERS or kind == CONTINUATION:
        return head(dice)
    if kind == DATA:
        return dice.choice([BODY, BODY[:7], b"", b"\x00\x00\x00\x00\x05hello", b"\x01\xff\xff\xff\xff", os.urandom(9)])
    if kind == SETTINGS:
        known = [struct.pack(">HI", dice.randrange(9), dice.choice([0, 1, 100, 16384, 65535, 1 << 31])) for _ in range(3)]
        return dice.choice([b"", known[0], b"".join(known), known[0][:4]])
    if kind in (WINDOW, RST):
        return struct.pack(">I", dice.choice([0, 1, 8, 1000, 65535, (1 << 31) - 1, 1 << 31]))[: dice.choice([4, 4, 4, 3])]
    if kind == PING:
        return b"\0" * dice.choice([8, 8, 8, 7])
    if kind == GOAWAY:
        return struct.pack(">II", dice.randrange(5), dice.randrange(14)) + b"bye"
    return bytes(dice.randrange(256) for _ in range(dice.choice([0, 4, 5, 20])))


def sequence(dice, head, n_streams):
    """Bytes of up to 30 frames."""
    out = b""
    for _ in range(dice.randrange(1, 30)):
        kind = dice.choice([DATA, HEADERS, HEADERS, RST, SETTINGS, WINDOW, PING, dice.randrange(14)])
        stream = dice.choice([0, 1, 1, 1, 3, 3, 5, 2, dice.randrange(n_streams)])
        flags = dice.choice([0, 1, 4, 4, 5, 5, 8, 0x20, dice.randrange(256)])
        made = frame(kind, flags, stream, payload(dice, kind, head))
        if dice.random() < 0.03:  # the length is not that of what follows
            made = struct.pack(">I", dice.randrange(1 << 24))[1:] + made[3:]
        out += made
    return out


def send_in_pieces(sock, dice, data):
    while data:
        n = dice.choice([len(data), len(data), 1, 9, dice.randrange(1, len(data) + 1)])
        sock.sendall(data[:n])
        data = data[n:]


def drain(sock):
    """Until the other side has nothing to say for a moment, or ends."""
    sock.settimeout(0.05)
    try:
        while sock.recv(65536):
            pass
    except OSError:
        pass


@pytest.fixture(scope="module")
def stage(module_weir):
    made = Stage(module_weir)
    yield made
    made.close()


def test_a_caller_says_any_frames(stage):
    stage.quiet()
    whole = stage.baseline(ENDPOINTS["C"])
    for number in range(N):
        dice = random.Random(f"{SEED} caller {number}")
        with socket.create_connection(("127.0.0.1", stage.w.api_port), timeout=harness.PATIENCE) as sock:
            try:
                opening = PREFACE if dice.random() < 0.95 else PREFACE[: dice.randrange(24)] + b"x"
                send_in_pieces(sock, dice, opening + frame(SETTINGS, 0, 0, b"") + sequence(dice, question, 64))
            except OSError:
                pass
            drain(sock)
        stage.w.fail_if_ended()
        if number % 10 == 9:
            assert stage.ask(ENDPOINTS["C"]).said == whole, f"sequence {number} of {SEED}"
    stage.quiet()


class Server:
    """The other end of weir's gRPC calls: reads nothing of what it is told, says what it likes."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.dice = random.Random(0)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                connection.settimeout(harness.PATIENCE)
                connection.recv(65536)
                dice = self.dice
                opening = frame(SETTINGS, 0, 0, b"") + frame(SETTINGS, 1, 0, b"")
                send_in_pieces(connection, dice, opening + sequence(dice, reply_head, 8))
            except OSError:
                pass
            drain(connection)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def test_a_service_says_any_frames(module_weir):
    server = Server()

    def extra(tree, stage):
        tree["chunkers"]["cut"]["service"] |= {"port": server.port, "request_timeout": 2}

    stage = Stage(module_weir, extra=extra)
    try:
        stage.quiet()
        for number in range(N):
            server.dice = random.Random(f"{SEED} service {number}")
            endpoint = ENDPOINTS[["C", "redact chat stream", "H stream"][number % 3]]
            ending = stage.ask(endpoint)
            assert ending.error, f"sequence {number} of {SEED}: {ending.raw}"
            assert ending.error[0] in (200, 500, 502), ending.raw
            assert not stage.detector.requests, "chunks of nobody were believed"
            stage.w.fail_if_ended()
        stage.quiet()
    finally:
        server.close()
        stage.close()
