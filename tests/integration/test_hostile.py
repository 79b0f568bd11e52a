"""Callers that mean harm, or are broken. Whatever they do, the others are served: after every test
the server answers, holds no descriptor more than before, and no sanitizer complains (w.unharmed).
"""

import contextlib
import functools
import random
import socket
import struct
import threading
import time

import pytest
import rawh2
import rawhttp
from configs import CHAT, CONTENT, config
from harness import wait_until
from hyperframe import frame as frames

LIMITS = {
    "header_timeout": 60,
    "max_header_bytes": 8192,
    "max_body_bytes": 100000,
    "max_stream_buffer_bytes": 16384,
}
# Where their end is what is tested: short, but a caller on a busy machine has begun before.
HEADER_TIMEOUT, IDLE_TIMEOUT, WRITE_TIMEOUT = 1.2, 1.5, 1.2
HASTE = {
    "header_timeout": HEADER_TIMEOUT,
    "idle_timeout": IDLE_TIMEOUT,
    "write_timeout": WRITE_TIMEOUT,
}
JSON = [("Content-Type", "application/json")]
STREAM = "/api/v2/text/detection/stream-content"
H2_JSON = [("content-type", "application/json")]
POST = f"POST {CONTENT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server(module_weir):
    return module_weir(config(limits=LIMITS))


@pytest.fixture(scope="module")
def hasty_server(module_weir):
    return module_weir(config(limits=LIMITS | HASTE))


@pytest.fixture
def w(server):
    with server.unharmed():
        yield server


@pytest.fixture
def hasty(hasty_server):
    with hasty_server.unharmed():
        yield hasty_server


def in_time(test):
    """A caller that was too late for its own part, as the machine was busy, begins anew."""

    @functools.wraps(test)
    def tried(*args, **options):
        for _ in range(4):
            try:
                return test(*args, **options)
            except (AssertionError, ConnectionError, rawhttp.Closed, rawhttp.ProtocolError):
                pass
        return test(*args, **options)

    return tried


def raw_frame(type, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", type, flags, stream) + payload


# --- slow ---


@in_time
def test_a_head_that_never_ends(hasty):
    c = hasty.raw()
    c.send("GET / HTTP/1.1\r\nHost:")
    response = c.read_response()
    assert response.status == 408
    assert "header_timeout" in response.json()["details"]
    assert response.get("connection") == "close"
    c.expect_closed()


@in_time
def test_a_head_that_comes_byte_by_byte(hasty):
    """Every byte is in time, the head is not: it would go on for minutes."""
    c = hasty.raw()

    def drip():
        for byte in b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 1000:
            try:
                c.send(bytes([byte]))
            except OSError:
                return
            time.sleep(HEADER_TIMEOUT / 50)

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        assert c.read_response().status == 408
    finally:
        c.reset()
        dripping.join()


@in_time
def test_a_second_head_that_never_ends(hasty):
    c = hasty.raw()
    assert c.get("/nothing").status == 404
    c.send("GET / HT")
    assert c.read_response().status == 408


@in_time
def test_a_connection_that_says_nothing(hasty):
    c = hasty.raw()
    c.expect_closed()


@in_time
def test_an_idle_connection_is_closed_without_a_word(hasty):
    c = hasty.raw()
    assert c.get("/nothing").status == 404
    c.expect_closed()


@pytest.mark.parametrize("path", [CONTENT, CHAT])
@in_time
def test_a_body_that_stops(hasty, path):
    c = hasty.raw()
    c.request("POST", path, [*JSON, ("Content-Length", "100")])
    c.send("{")
    response = c.read_response()
    assert (response.status, response.get("connection")) == (408, "close")
    assert b"idle_timeout" in response.body
    assert ("error" in response.json()) == (path == CHAT)
    c.expect_closed()


@in_time
def test_chunked_bodies_that_stop(hasty):
    ends = ["", "5", "5\r\n[", "5\r\n[1,2,", "5\r\n[1,2,\r\n", "5\r\n[1,2,\r\n0\r\n"]
    stopped = [hasty.raw() for _ in ends]
    for c, end in zip(stopped, ends):
        c.send(POST + "Transfer-Encoding: chunked\r\n\r\n" + end)
    for c in stopped:
        assert c.read_response().status == 408


@in_time
def test_a_slow_body_is_fine_while_it_moves(hasty):
    c = hasty.raw()
    c.send(POST + "Content-Length: 8\r\n\r\n")
    for byte in b"[1,2,3,4":
        time.sleep(IDLE_TIMEOUT / 7)
        c.send(bytes([byte]))
    assert c.read_response().status == 400


BODY_TIMEOUT = 1.5


@pytest.fixture(scope="module")
def brisk_server(module_weir):
    """Every byte is in time; what is limited is how long a whole body takes."""
    return module_weir(config(limits=LIMITS | {"body_timeout": BODY_TIMEOUT}))


@pytest.fixture
def brisk(brisk_server):
    with brisk_server.unharmed():
        yield brisk_server


def drip_body(send, seconds):
    """A byte now and then, until this time is over or nobody takes it any more."""
    end = time.monotonic() + seconds
    with contextlib.suppress(OSError):
        while time.monotonic() < end:
            send(b" ")
            time.sleep(0.1)


@pytest.mark.parametrize("path", [CONTENT, CHAT])
def test_a_body_that_comes_byte_by_byte(brisk, path):
    c = brisk.raw()
    c.request("POST", path, [*JSON, ("Content-Length", "90000")])
    dripping = threading.Thread(target=drip_body, args=(c.send, 200))
    dripping.start()
    try:
        response = c.read_response()
        assert (response.status, response.get("connection")) == (408, "close")
        assert b"limits.body_timeout" in response.body
    finally:
        c.reset()
        dripping.join()


def test_a_body_that_comes_byte_by_byte_on_http2(brisk):
    h2 = brisk.h2()
    stream = h2.request("POST", CONTENT, H2_JSON, end_stream=False)
    stopped = threading.Event()

    def send(data):
        if stopped.is_set():
            raise OSError
        h2.send_data(stream, data)

    dripping = threading.Thread(target=drip_body, args=(send, 200))
    dripping.start()
    try:
        response = h2.response(stream)
        assert response.status == 408
        assert b"limits.body_timeout" in response.body
    finally:
        stopped.set()
        dripping.join()


def test_a_conversation_has_no_total_time(brisk):
    """The bidirectional endpoint: its body lasts as long as the caller has something to say."""
    c = brisk.raw()
    headers = [("Content-Type", "application/x-ndjson"), ("Transfer-Encoding", "chunked")]
    c.request("POST", STREAM, headers)
    c.send_chunk(b'{"detectors": {"pii": {}}, "content": "mail bob@example.com. "}\n')
    drip_body(c.send_chunk, 3 * BODY_TIMEOUT)
    c.send_chunk(b'{"content": "And no more."}\n')
    c.send_chunk(b"")
    response = c.read_response()
    assert response.status == 200
    assert b"email_address" in response.body and b"And no more." not in response.body
    assert b"error" not in response.body


def test_a_body_without_end(w):
    c = w.raw()
    c.send(POST + "Transfer-Encoding: chunked\r\n\r\n")
    sent = 0
    with pytest.raises(OSError):
        while sent < 1 << 30:
            c.send_chunk(b"x" * 65536)
            sent += 65536
            if not c.is_quiet(0) and c.received.startswith(b"HTTP/1.1 413 "):
                raise ConnectionResetError
    assert sent < 1 << 30


@pytest.mark.parametrize("path", [CONTENT, CHAT])
@in_time
def test_http2_bodies_that_stop(hasty, path):
    c = hasty.h2()
    stream = c.request("POST", path, H2_JSON, b"{", end_stream=False)
    answer = c.response(stream)
    assert answer.status == 408
    assert answer.body.startswith(b'{"error"') == (path == CHAT)
    assert c.reset_of(stream) == rawh2.NO_ERROR


@in_time
def test_an_http2_head_that_never_ends(hasty):
    c = hasty.h2()
    c.send_frame(rawh2.HEADERS, 0, 1, c.encoder.encode([(":method", "GET")]))
    c.expect_closed()


@in_time
def test_an_idle_http2_connection_is_told_and_closed(hasty):
    c = hasty.h2()
    assert c.response(c.request("GET", "/nothing")).status == 404
    assert c.goaway().error_code == rawh2.NO_ERROR
    c.expect_closed()


@in_time
def test_half_an_http2_preface(hasty):
    stopped = [hasty.h2(preface=False) for _ in range(3)]
    for c, n in zip(stopped, (1, 10, 23)):
        c.send(rawh2.PREFACE[:n])
    for c in stopped:
        c.expect_closed()


# --- callers that do not read ---


def never_reading(w, listener="api"):
    c = w.raw(listener)
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return c


def is_held_back(c, pieces):
    """Sends; True when the server has stopped reading, or has given the connection up."""
    c.sock.settimeout(0.1)
    try:
        for piece in pieces:
            c.sock.sendall(piece)
    except (TimeoutError, ConnectionError):
        return True
    return False


def expect_let_go(w):
    """The server closes the connection by itself, though the caller does nothing any more."""
    w.wait_descriptors_at_rest()


@in_time
def test_a_caller_that_never_reads(hasty):
    c = never_reading(hasty)
    request = b"GET /" + b"x" * 60 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    assert is_held_back(c, [request * 1000] * 1000)
    expect_let_go(hasty)


def test_a_caller_that_never_reads_is_held_back(w):
    """Pipelined requests to /metrics: a few bytes in, thousands out. The server stops reading."""
    c = never_reading(w, "health")
    c.sock.settimeout(0.2)
    request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 2000
    sent = 0
    with pytest.raises(TimeoutError):
        while sent < 1 << 28:
            sent += c.sock.send(request)
    assert sent < 1 << 25  # what the kernel's buffers take
    assert w.raw("health").get("/health").status == 200


@in_time
def test_http2_answers_without_a_window(hasty):
    c = hasty.h2(settings={4: 0})  # SETTINGS_INITIAL_WINDOW_SIZE
    stream = c.request("GET", "/nothing")
    answer = c.response(stream)
    assert (answer.status, answer.body) == (404, b"")
    assert answer.reset == rawh2.CANCEL


@in_time
def test_an_http2_caller_that_never_reads(hasty):
    c = hasty.h2()
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    pseudo = b"\x82\x86\x84\x01\x01x"  # GET, http, /, and an authority
    requests = (
        b"".join(raw_frame(rawh2.HEADERS, 0x5, stream + 2 * n, pseudo) for n in range(100))
        for stream in range(1, 1 << 18, 200)
    )
    is_held_back(c, requests)  # or is told, and lingers
    expect_let_go(hasty)


# --- floods ---


def test_headers_by_number_and_by_size(w):
    for field in ("X: y\r\n", "X: " + "y" * 4000 + "\r\n"):
        c = w.raw()
        c.send("GET / HTTP/1.1\r\nHost: x\r\n")
        try:
            for _ in range(5000):
                c.send(field)
        except OSError:
            pass
        assert c.read_response().status == 431


def test_chunk_extensions(w):
    c = w.raw()
    c.send(POST + "Transfer-Encoding: chunked\r\n\r\n")
    try:
        for _ in range(1000):
            c.send("1;" + "x" * 4000 + "\r\n \r\n")
    except OSError:
        pass
    assert c.read_response().status in (400, 413)


def test_trailers(w):
    c = w.raw()
    c.send(POST + "Transfer-Encoding: chunked\r\n\r\n0\r\n")
    try:
        for _ in range(1000):
            c.send("X: " + "y" * 1000 + "\r\n")
    except OSError:
        pass
    assert c.read_response().status in (400, 413, 431)


def flood(c, frame, times):
    """Sends a frame over and over; False when the server stopped listening."""
    try:
        for _ in range(times // 100):
            c.send(frame * 100)
    except OSError:
        return False
    return True


def last_goaway(c):
    """The code of the last GOAWAY before the server closes; None when it closed without."""
    try:
        c.expect_closed()
    except (rawhttp.Closed, OSError):
        pass
    codes = [frame.error_code for frame in c.waiting if isinstance(frame, frames.GoAwayFrame)]
    return codes[-1] if codes else None


def test_settings_flood(w):
    c = w.h2()
    flood(c, raw_frame(rawh2.SETTINGS), 20000)
    assert last_goaway(c) in (rawh2.ENHANCE_YOUR_CALM, None)


def test_ping_flood(w):
    c = w.h2()
    flood(c, raw_frame(rawh2.PING, payload=bytes(8)), 20000)
    assert last_goaway(c) in (rawh2.ENHANCE_YOUR_CALM, None)


def test_empty_data_flood(w):
    c = w.h2()
    stream = c.request("POST", CONTENT, H2_JSON, end_stream=False)
    flood(c, raw_frame(rawh2.DATA, 0, stream), 20000)
    assert last_goaway(c) in (rawh2.ENHANCE_YOUR_CALM, None)


def test_rapid_reset(w):
    c = w.h2()
    try:
        for _ in range(5000):
            c.reset_stream(c.request("GET", "/nothing"))
    except OSError:
        pass
    last_goaway(c)


def test_a_few_resets_are_no_flood(w):
    c = w.h2()
    for _ in range(50):
        stream = c.request("POST", CONTENT, H2_JSON, b"{", end_stream=False)
        c.reset_stream(stream)
    assert c.response(c.request("GET", "/nothing")).status == 404


def test_continuation_flood(w):
    c = w.h2()
    block = c.encoder.encode([(":method", "GET"), (":scheme", "http"), (":path", "/")])
    c.send_frame(rawh2.HEADERS, 0, 1, block)
    flood(c, raw_frame(rawh2.CONTINUATION, 0, 1, b"\x00\x01x\x01y"), 20000)
    last_goaway(c)


def test_empty_continuation_flood(w):
    c = w.h2()
    c.send_frame(rawh2.HEADERS, 0, 1, c.encoder.encode([(":method", "GET")]))
    flood(c, raw_frame(rawh2.CONTINUATION, 0, 1), 20000)
    last_goaway(c)


def test_header_bomb(w):
    """A large field in the dynamic table, then one byte for each time it is meant."""
    c = w.h2()
    pseudo = b"\x82\x86\x84\x01\x01x"
    insert = b"\x40\x01a" + b"\x7f" + bytes([0x80 | ((3900 - 127) & 127), (3900 - 127) >> 7])
    c.send_frame(rawh2.HEADERS, 0x5, 1, pseudo + insert + b"b" * 3900)
    assert c.response(1).status == 404
    c.send_frame(rawh2.HEADERS, 0x5, 3, pseudo + b"\xbe" * 16000)
    answer = c.response(3)
    assert answer.status == 431 or answer.reset is not None
    c.ping()


def test_more_streams_than_allowed(w):
    c = w.h2()
    limit = c.peer_settings[3]
    assert 1 <= limit <= 1000
    streams = [
        c.request("POST", CONTENT, H2_JSON, end_stream=False) for _ in range(limit + 10)
    ]
    refused = 0
    try:
        for stream in streams[limit:]:
            refused += c.reset_of(stream) in (rawh2.REFUSED_STREAM, rawh2.PROTOCOL_ERROR)
    except rawhttp.Closed:
        refused += last_goaway(c) is not None
    assert refused


@pytest.mark.parametrize(
    "frame, code",
    [
        (raw_frame(rawh2.DATA, 0, 1, b"x"), rawh2.PROTOCOL_ERROR),  # on an idle stream
        (raw_frame(rawh2.HEADERS, 5, 2, b"\x82"), rawh2.PROTOCOL_ERROR),  # the server's number
        (raw_frame(rawh2.HEADERS, 5, 0, b"\x82"), rawh2.PROTOCOL_ERROR),
        (raw_frame(rawh2.HEADERS, 5, 1, b"\xff\xff\xff\xff\xff"), rawh2.COMPRESSION_ERROR),
        (raw_frame(rawh2.WINDOW_UPDATE, 0, 0, bytes(4)), rawh2.PROTOCOL_ERROR),
        (raw_frame(rawh2.WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff"), rawh2.FLOW_CONTROL_ERROR),
        (raw_frame(rawh2.SETTINGS, 0, 0, bytes(5)), rawh2.FRAME_SIZE_ERROR),
        (raw_frame(rawh2.SETTINGS, 0, 0, b"\0\4\xff\xff\xff\xff"), rawh2.FLOW_CONTROL_ERROR),
        (raw_frame(rawh2.PING, 0, 0, bytes(7)), rawh2.FRAME_SIZE_ERROR),
        (raw_frame(rawh2.PUSH_PROMISE, 4, 1, bytes(4)), rawh2.PROTOCOL_ERROR),
        (raw_frame(rawh2.CONTINUATION, 4, 1, b""), rawh2.PROTOCOL_ERROR),
        (b"\xff\xff\xff\x00\x00\x00\x00\x00\x01", rawh2.FRAME_SIZE_ERROR),
    ],
)
def test_broken_http2_frames(w, frame, code):
    c = w.h2()
    c.send(frame)
    assert last_goaway(c) == code


def test_an_http2_body_beyond_its_window(w):
    c = w.h2()
    stream = c.request("POST", CONTENT, H2_JSON, end_stream=False)
    for _ in range(20):
        c.send_frame(rawh2.DATA, 0, stream, b"x" * 16384)
    answer = c.response(stream)
    assert answer.reset == rawh2.FLOW_CONTROL_ERROR or answer.status == 413
    c.ping()


@pytest.mark.parametrize(
    "headers",
    [
        [(":method", "GET"), (":scheme", "http"), (":authority", "x")],
        [(":method", "GET"), (":method", "GET"), (":scheme", "http"), (":path", "/")],
        [(":method", "GET"), (":scheme", "http"), (":path", ""), (":authority", "x")],
        [(":method", "GET"), (":scheme", "http"), (":path", "/"), ("connection", "close")],
        [(":method", "GET"), (":scheme", "http"), (":path", "/"), ("transfer-encoding", "chunked")],
        [(":method", "GET"), (":scheme", "http"), (":path", "/"), ("x", "a\nb")],
        [("x", "y"), (":method", "GET"), (":scheme", "http"), (":path", "/")],
        [(":status", "200"), (":method", "GET"), (":scheme", "http"), (":path", "/")],
    ],
)
def test_broken_http2_requests(w, headers):
    c = w.h2()
    assert c.response(c.send_headers(headers)).reset == rawh2.PROTOCOL_ERROR
    assert c.response(c.request("GET", "/nothing")).status == 404


def test_an_http2_length_that_lies(w):
    c = w.h2()
    stream = c.request("POST", CONTENT, [*H2_JSON, ("content-length", "5")], b"{}")
    answer = c.response(stream)
    assert answer.reset == rawh2.PROTOCOL_ERROR or answer.status == 400
    c.ping()


# --- connections that end anywhere ---


def test_http1_cut_at_every_byte(w):
    body = b'{"content": "x"}'
    data = (POST + f"Content-Length: {len(body)}\r\n\r\n").encode() + body
    data += (POST + "Transfer-Encoding: chunked\r\n\r\n").encode()
    data += b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    for at in range(len(data) + 1):
        c = w.raw()
        c.send(data[:at])
        c.reset() if at % 2 else c.close()
    w.clients.clear()


def test_http2_cut_at_every_byte(w):
    c = w.h2()
    data = bytearray(rawh2.PREFACE)
    c.send = data.extend
    c.send_settings({3: 100})
    c.send_frame(rawh2.SETTINGS, rawh2.ACK)
    c.request("POST", CONTENT, H2_JSON, b'{"content": "x"}')
    c.request("GET", "/nothing")
    for at in range(len(data) + 1):
        cut = w.raw()
        cut.send(bytes(data[:at]))
        cut.reset() if at % 2 else cut.close()
    c.close()
    w.clients.clear()


def test_garbage(w):
    noise = random.Random(4)
    for _ in range(60):
        c = w.raw()
        prefix = noise.choice([b"", b"GET ", b"POST / HTTP/1.1\r\n", rawh2.PREFACE])
        try:
            c.send(prefix + noise.randbytes(noise.randrange(1, 3000)))
            c.half_close()
            while c.fill():
                pass
        except OSError:
            pass
        c.close()


# --- too many ---


def test_more_connections_than_allowed(weir):
    w = weir(config(limits={"max_connections": 8}), args=["--workers", "2"])
    with w.unharmed():
        held = [w.raw() for _ in range(8)]
        for c in held:
            assert c.get("/nothing").status == 404
        for _ in range(3):
            c = w.raw()
            response = c.read_response()
            assert (response.status, response.get("connection")) == (503, "close")
            assert int(response.get("retry-after")) >= 1
            assert "max_connections" in response.json()["details"]
            c.expect_closed()
        assert held[0].get("/nothing").status == 404
        metrics = w.raw("health").get("/metrics").body
        assert b'weir_http_connections_rejected_total{listener="api"} 3' in metrics
        assert b'weir_http_connections{listener="api"} 8' in metrics
        held.pop().close()

        def is_let_in():
            with w.raw().sock as sock:
                c = rawhttp.RawConnection(sock)
                c.request("GET", "/nothing")
                return c.read_response().status == 404

        wait_until(is_let_in, "a place that is free")


# --- closed streams ---


def half_of_a_request(c):
    stream = c.request("POST", CONTENT, H2_JSON, end_stream=False)
    c.reset_stream(stream)
    return stream


def whole_request(c):
    stream = c.request("GET", "/nothing")
    assert c.response(stream).status == 404
    return stream


@pytest.mark.parametrize("close", [half_of_a_request, whole_request])
@pytest.mark.parametrize("kind", ["data", "headers"])
def test_a_frame_on_a_closed_stream(w, close, kind):
    """RFC 9113, 5.1: the connection ends, it is not taken for a new request and not passed over."""
    c = w.h2()
    stream = close(c)
    if kind == "data":
        c.send_data(stream, b"more", end_stream=True)
    else:
        pseudo = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "x")]
        c.send_headers(pseudo, stream)
    assert c.goaway().error_code == rawh2.STREAM_CLOSED
    c.expect_closed()
