"""HTTP/1.0 and 1.1 as the server speaks it: framing in any cut, pipelining, keep-alive, methods."""

import json
import time

import pytest
from configs import CONTENT, config

HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
JSON = [("Content-Type", "application/json")]


@pytest.fixture(scope="module")
def server(module_weir):
    return module_weir(config(limits={"max_body_bytes": 4096, "header_timeout": 60}))


@pytest.fixture
def w(server):
    with server.unharmed():
        yield server


def post(body, headers=()):
    lines = [f"POST {CONTENT} HTTP/1.1", "Host: x", "Content-Type: application/json", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def with_length(body):
    return post(body, [f"Content-Length: {len(body)}"])


def chunked(*pieces):
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return post(framed + b"0\r\n\r\n", ["Transfer-Encoding: chunked"])


def assert_well_read(response):
    """The body arrived whole: `[1` is not JSON, and the server says where it noticed."""
    assert response.status == 400
    assert "line 1, column 3" in response.json()["details"]


# --- pipelining ---


def test_many_requests_in_one_segment(w):
    c = w.raw("health")
    paths = [["/health", "/healthz", "/nothing"][n % 3] for n in range(600)]
    c.send("".join(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n" for path in paths))
    expected = {path: w.raw("health").get(path) for path in set(paths)}
    for path in paths:
        response = c.read_response()
        assert (response.status, response.body) == (expected[path].status, expected[path].body)
    assert c.get("/health").status == 200


def test_requests_with_bodies_in_one_segment(w):
    c = w.raw()
    c.send((with_length(b"[1") + chunked(b"[", b"1")) * 50)
    for _ in range(100):
        assert_well_read(c.read_response())


def test_two_requests_cut_at_every_byte(w):
    data = chunked(b"[", b"1") + with_length(b"[1")
    c = w.raw()
    for at in range(1, len(data)):
        c.send(data[:at])
        time.sleep(0.0005)  # so that the server sees two pieces, most of the time
        c.send(data[at:])
        assert_well_read(c.read_response())
        assert_well_read(c.read_response())


def test_every_byte_on_its_own(w):
    c = w.raw()
    c.send_bytewise(chunked(b"[", b"1") + with_length(b"[1"))
    assert_well_read(c.read_response())
    assert_well_read(c.read_response())


def test_an_unfinished_request_behind_a_finished_one(w):
    c = w.raw("health")
    c.send(HEALTH + HEALTH[:20])
    assert c.read_response().status == 200
    assert c.is_quiet(0.05)
    c.send(HEALTH[20:])
    assert c.read_response().status == 200


def test_an_empty_line_before_a_request(w):
    c = w.raw("health")
    c.send(HEALTH + b"\r\n" + HEALTH)
    assert [c.read_response().status for _ in range(2)] == [200, 200]


# --- bodies ---


@pytest.mark.parametrize(
    "body",
    [
        b"2\r\n[1\r\n0\r\n\r\n",
        b"1\r\n[\r\n1\r\n1\r\n0\r\n\r\n",
        b"0002\r\n[1\r\n000\r\n\r\n",
        b"2;name=value;other=\"quoted ; text\"\r\n[1\r\n0;last\r\n\r\n",
        b"2\r\n[1\r\n0\r\nTrailer: seen\r\nAnother: one\r\n\r\n",
    ],
)
def test_chunked_bodies_in_any_cut(w, body):
    data = post(body, ["Transfer-Encoding: chunked"])
    head = data.index(b"\r\n\r\n") + 4
    c = w.raw()
    for at in range(head, len(data)):
        c.send(data[:at])
        time.sleep(0.0005)
        c.send(data[at:])
        assert_well_read(c.read_response())


def test_an_empty_chunked_body(w):
    c = w.raw()
    c.send(chunked())
    assert c.read_response().status == 400
    c.send(with_length(b""))
    assert c.read_response().status == 400
    assert c.get("/no/such/path").status == 404


def test_a_body_nobody_asked_for(w):
    c = w.raw("health")
    c.request("GET", "/health", body=b"x" * 1000)
    first = c.read_response()
    assert first.status == 200
    if first.get("connection") != "close":
        assert c.get("/health").status == 200


# --- 100-continue ---


def expecting(body, *headers, version="1.1"):
    lines = [f"POST {CONTENT} HTTP/{version}", "Host: x", "Expect: 100-continue", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}"]).encode() + b"\r\n\r\n"


def test_continue_then_the_answer(w):
    c = w.raw()
    for _ in range(2):
        c.send(expecting(b"[1", "Content-Type: application/json"))
        assert c.read_response().status == 100
        c.send(b"[1")
        assert_well_read(c.read_response())


def test_a_body_that_does_not_wait_for_the_continue(w):
    c = w.raw()
    c.send(expecting(b"[1", "Content-Type: application/json") + b"[1")
    assert_well_read(c.read_final())


@pytest.mark.parametrize(
    "headers, body, status",
    [
        (["Content-Type: text/plain"], b"[1", 415),
        (["Content-Type: application/json"], b"x" * 5000, 413),
    ],
)
def test_refused_without_a_continue(w, headers, body, status):
    c = w.raw()
    c.send(expecting(body, *headers))
    response = c.read_response()
    assert (response.status, response.get("connection")) == (status, "close")
    c.expect_closed()


def test_no_continue_for_http_1_0(w):
    c = w.raw()
    c.send(expecting(b"[1", "Content-Type: application/json", version="1.0") + b"[1")
    assert_well_read(c.read_response())


def test_an_unknown_expectation(w):
    c = w.raw()
    c.request("GET", "/", [("Expect", "the-moon")])
    assert c.read_response().status == 417


# --- methods ---


def test_head_is_get_without_the_body(w):
    c = w.raw("health")
    for path in ("/health", "/info", "/no/such/path"):
        got = c.get(path)
        c.request("HEAD", path)
        head = c.read_response(method="HEAD")
        assert head.status == got.status
        assert head.get("content-length") == str(len(got.body))
        assert head.get("content-type") == got.get("content-type")


@pytest.mark.parametrize(
    "listener, path, allow",
    [
        ("health", "/health", "GET, HEAD, OPTIONS"),
        ("api", CONTENT, "POST, OPTIONS"),
        ("api", "/strict/v1/chat/completions", "POST, OPTIONS"),
    ],
)
def test_options_and_wrong_methods_name_the_right_ones(w, listener, path, allow):
    c = w.raw(listener)
    c.request("OPTIONS", path)
    options = c.read_response()
    assert (options.status, options.get("allow")) == (204, allow)
    wrong = "DELETE" if listener == "health" else "GET"
    for method in (wrong, "PUT", "BREW"):
        c.request(method, path)
        refused = c.read_response()
        assert (refused.status, refused.get("allow")) == (405, allow)
    c.request("HEAD", CONTENT)
    assert c.read_response(method="HEAD").status in (404, 405)


def test_options_of_the_server_itself(w):
    for listener in ("api", "health"):
        c = w.raw(listener)
        c.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
        options = c.read_response()
        assert options.status == 204
        assert {"GET", "POST", "OPTIONS"} <= set(options.get("allow").split(", "))
        c.request("OPTIONS", "/no/such/path")
        assert c.read_response().status == 404


def test_a_method_too_long_to_be_one(w):
    c = w.raw()
    c.request("X" * 40, "/")
    assert c.read_response().status == 501


# --- the connection ---


def test_keep_alive_is_the_default(w):
    c = w.raw("health")
    for _ in range(20):
        assert c.get("/health").get("connection") is None


def test_close_is_honoured(w):
    c = w.raw("health")
    response = c.get("/health", [("Connection", "keep-alive, Close")])
    assert response.get("connection") == "close"
    c.expect_closed()


def test_nothing_is_answered_after_close(w):
    c = w.raw("health")
    c.send(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + HEALTH)
    assert c.read_response().status == 200
    c.expect_closed()


def test_http_1_0_closes(w):
    c = w.raw("health")
    c.send("GET /health HTTP/1.0\r\n\r\n")
    response = c.read_response()
    assert (response.status, response.get("connection")) == (200, "close")
    c.expect_closed()


def test_http_1_0_stays_when_asked(w):
    c = w.raw("health")
    for _ in range(3):
        c.send("GET /health HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
        response = c.read_response()
        assert (response.status, response.get("connection")) == (200, "keep-alive")


def test_a_caller_that_half_closes_gets_its_answer(w):
    c = w.raw("health")
    c.send(HEALTH * 3)
    c.half_close()
    assert [c.read_response().status for _ in range(3)] == [200, 200, 200]
    c.expect_closed()


def test_an_absolute_target(w):
    c = w.raw("health")
    c.send("GET http://elsewhere/health?x=1 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert c.read_response().status == 200


def test_every_answer_is_dated(w):
    c = w.raw("health")
    for response in (c.get("/health"), c.get("/nothing")):
        when = time.strptime(response.get("date"), "%a, %d %b %Y %H:%M:%S GMT")
        assert abs(time.mktime(when) - time.mktime(time.gmtime())) < 60


def test_a_query_does_not_change_the_path(w):
    assert w.raw("health").get("/health?a=b?c").status == 200
    assert w.raw("health").get("/health/").status == 404


def test_a_large_body_that_is_still_small_enough(w):
    body = json.dumps({"content": "x" * 4000}).encode()
    c = w.raw()
    c.send(with_length(body))
    assert c.read_response().status not in (400, 408, 413)
    c.send(chunked(*[body[at : at + 1] for at in range(len(body))]))
    assert c.read_response().status not in (400, 408, 413)


# --- a streamed answer that ends before the request's body ---

STREAM = "/api/v2/text/detection/stream-content"
FIRST = json.dumps({"detectors": {"pii": {}}, "content": "a word " * 300}).encode() + b"\n"


def begin_stream(w, headers=(("Transfer-Encoding", "chunked"),)):
    """A conversation whose answer has begun."""
    c = w.raw()
    c.request("POST", STREAM, [("Content-Type", "application/x-ndjson"), *headers])
    if ("Transfer-Encoding", "chunked") in headers:
        c.send_chunk(FIRST)
    else:
        c.send(FIRST)
    head = c.read_head()
    chunks = c.chunks(head)
    next(chunks)
    return c, head, chunks


def test_the_rest_of_the_body_is_dropped_and_the_connection_kept(w):
    c, head, chunks = begin_stream(w)
    c.send_chunk(b"no JSON\n")
    assert b'"code":422' in b"".join(chunks)
    assert head.status == 200 and head.get("connection") is None
    for _ in range(20):
        c.send_chunk(b"x" * 10000)
    assert c.is_quiet()
    c.send(b"0\r\n\r\n" + with_length(b"[1"))
    assert_well_read(c.read_response())
    c.send(with_length(b"[1"))
    assert_well_read(c.read_response())


def test_a_pooled_connection_loses_no_request(module_weir):
    """compat fms answers what is wrong in the first line with an event, before the rest is read."""
    w = module_weir(config(compat="fms"))
    c = w.raw()
    body = b"no JSON\n" + b"x" * 200000
    lines = [f"POST {STREAM} HTTP/1.1", "Host: x", "Content-Type: application/x-ndjson"]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}"]).encode() + b"\r\n\r\n"
    for _ in range(100):
        c.send(head + body)
        response = c.read_response()
        assert response.status == 200 and b'"code":422' in response.body
        assert response.get("connection") is None


def test_a_rest_that_is_too_long_is_announced(w):
    headers = [("Content-Length", str(80 << 20))]
    c, head, chunks = begin_stream(w, headers)
    assert head.get("connection") == "close"
    c.send(b"no JSON\n")
    assert b'"code":422' in b"".join(chunks)
    c.expect_closed()


def test_a_rest_that_never_comes_ends_the_connection(w):
    c, _, chunks = begin_stream(w)
    c.send_chunk(b"no JSON\n")
    assert b'"code":422' in b"".join(chunks)
    c.expect_closed()


def test_a_broken_rest_gets_no_second_answer(w):
    c, _, chunks = begin_stream(w)
    c.send_chunk(b"no JSON\n")
    assert b'"code":422' in b"".join(chunks)
    c.send(b"nonsense\r\n" + HEALTH)
    c.expect_closed()
