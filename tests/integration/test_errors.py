"""What is wrong with a request, and how that is said: status, body, and the caller's shape."""

import gzip

import pytest
from configs import CHAT, CONTENT, NAMED_CHAT, config

STREAM = "/api/v2/text/detection/stream-content"
MAX_BODY = 4096
MAX_HEADERS = 8192
DEPTH = 64
JSON = [("Content-Type", "application/json")]
CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 413: "request_too_large"}


@pytest.fixture(scope="module")
def server(module_weir):
    limits = {"max_body_bytes": MAX_BODY, "max_header_bytes": MAX_HEADERS, "max_json_depth": DEPTH}
    return module_weir(config(limits=limits))


@pytest.fixture
def w(server):
    with server.unharmed():
        yield server


def details(response):
    """The text of an error in our own shape, everything around it checked."""
    assert response.get("content-type") == "application/json"
    body = response.json()
    assert body.keys() == {"code", "details"}
    assert body["code"] == response.status
    assert body["details"]
    return body["details"]


def message(response, type):
    """The same in OpenAI's shape."""
    assert response.get("content-type") == "application/json"
    body = response.json()
    assert body.keys() == {"error"}
    assert body["error"].keys() == {"message", "type", "param", "code"}
    assert (body["error"]["type"], body["error"]["param"]) == (type, None)
    assert body["error"]["code"] == CODES[response.status]
    return body["error"]["message"]


def post(w, path, body=b"{}", headers=JSON):
    c = w.raw()
    c.request("POST", path, headers, body)
    return c.read_response()


# --- where to ---


@pytest.mark.parametrize("path", ["/", "/nothing", "/api/v2/text/detection", CONTENT + "/", "//"])
def test_an_unknown_path(w, path):
    response = w.raw().get(path)
    assert response.status == 404
    details(response)


@pytest.mark.parametrize("path", ["/v1/nothing", "/strict/v1/nothing", "/nobody" + CHAT])
def test_an_unknown_path_for_openai_callers(w, path):
    response = post(w, path)
    assert response.status == 404
    message(response, "invalid_request_error")


def test_a_wrong_method(w):
    response = w.raw().get(CONTENT)
    assert (response.status, response.get("allow")) == (405, "POST, OPTIONS")
    details(response)
    response = w.raw().get(CHAT)
    assert (response.status, response.get("allow")) == (405, "POST, OPTIONS")
    message(response, "invalid_request_error")


def test_an_endpoint_without_its_service(weir):
    tree = config()
    del tree["openai"], tree["routes"]
    w = weir(tree)
    assert post(w, CHAT).status == 404
    assert post(w, "/api/v2/chat/completions-detection").status == 404
    assert post(w, "/api/v2/text/generation-detection").status == 404
    assert post(w, CONTENT, b"[").status == 400


# --- what type ---


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Content-Type", "")],
        [("Content-Type", "text/plain")],
        [("Content-Type", "application/jsonx")],
        [("Content-Type", "text/plain; x=application/json")],
        [("Content-Type", "application/x-www-form-urlencoded")],
    ],
)
def test_a_wrong_content_type(w, headers):
    response = post(w, CONTENT, headers=headers)
    assert response.status == 415
    assert "application/json" in details(response)
    assert post(w, CHAT, headers=headers).status == 415


@pytest.mark.parametrize("parameters", ["", ";", "; charset=utf-8", " ; charset=utf-8"])
@pytest.mark.parametrize("type", ["application/json", "Application/JSON"])
def test_a_right_content_type(w, type, parameters):
    assert post(w, CONTENT, b"[1", [("Content-Type", type + parameters)]).status == 400


def test_a_compressed_body(w):
    for path, type in ((CONTENT, "application/json"), (CHAT, "application/json"),
                       (STREAM, "application/x-ndjson")):  # fmt: skip
        headers = [("Content-Type", type), ("Content-Encoding", "gzip")]
        response = post(w, path, gzip.compress(b"{}"), headers)
        assert response.status == 415
        assert b"content-encoding" in response.body
    plain = [("Content-Type", "application/json"), ("Content-Encoding", "identity")]
    assert post(w, CONTENT, b"[1", plain).status == 400


# --- what it says ---

BAD_JSON = {
    "cut short": (b'{"a": [1, 2', (1, 12)),
    "second line": (b'{\n "a": tru\n}', (2, 10)),
    "a comma too many": (b"[1,]", (1, 4)),
    "two values": (b"{} {}", (1, 4)),
    "not a value": (b"hello", (1, 1)),
    "single quotes": (b"{'a': 1}", (1, 2)),
    "a duplicate key": (b'{"a": 1, "b": 2, "a": 3}', (1, 18)),
    "a duplicate key, escaped": (b'{"a": 1, "\\u0061": 3}', (1, 10)),
    "not UTF-8": (b'{"a": "\xff"}', (1, 8)),
    "UTF-8 cut short": (b'{"a": "\xe2\x82"}', (1, 8)),
    "overlong UTF-8": (b'{"a": "\xc0\xaf"}', (1, 8)),
    "a control character": (b'{"a": "\x01"}', (1, 8)),
    "NaN": (b"[NaN]", (1, 2)),
    "a leading zero": (b"[01]", None),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_a_body_that_is_not_json_says_where(w, name):
    body, where = BAD_JSON[name]
    response = post(w, CONTENT, body)
    assert response.status == 400
    text = details(response)
    assert "line" in text and "column" in text
    if where:
        assert f"line {where[0]}, column {where[1]}" in text
    for path in (CHAT, NAMED_CHAT):
        response = post(w, path, body)
        assert response.status == 400
        assert message(response, "invalid_request_error") == text


def test_no_body_at_all(w):
    c = w.raw()
    c.request("POST", CONTENT, JSON)
    assert c.read_response().status == 400
    c.request("POST", CONTENT, [*JSON, ("Content-Length", "0")])
    assert c.read_response().status == 400


def nested(depth):
    return b"[" * depth + b"]" * depth


def test_deep_json(w):
    assert post(w, CONTENT, nested(DEPTH)).status != 400
    response = post(w, CONTENT, nested(DEPTH + 1))
    assert response.status == 400
    assert "max_json_depth" in details(response)
    assert post(w, CONTENT, b"[" * (MAX_BODY - 1)).status == 400


def test_what_came_is_not_repeated(w):
    response = post(w, CONTENT, b'{"password": hunter2}')
    assert b"hunter2" not in response.body


# --- how much ---


def test_a_body_announced_too_large(w):
    c = w.raw()
    c.request("POST", CONTENT, [*JSON, ("Content-Length", str(MAX_BODY + 1))])
    if c.is_quiet(0.05):
        c.send(b"x" * (MAX_BODY + 1))
    response = c.read_response()
    assert response.status == 413
    assert "max_body_bytes" in details(response)


def test_a_body_announced_far_too_large(w):
    c = w.raw()
    c.request("POST", CHAT, [*JSON, ("Content-Length", str(10**18))])
    response = c.read_response()
    assert (response.status, response.get("connection")) == (413, "close")
    message(response, "invalid_request_error")
    c.expect_closed()


def test_a_chunked_body_that_grows_too_large(w):
    c = w.raw()
    c.request("POST", CONTENT, [*JSON, ("Transfer-Encoding", "chunked")])
    for _ in range(MAX_BODY // 1024 + 1):
        c.send_chunk(b"x" * 1024)
    c.send_chunk(b"")
    response = c.read_response()
    assert response.status == 413
    assert "max_body_bytes" in details(response)


def test_a_chunked_body_far_too_large_does_not_wait_for_more(weir):
    w = weir(config(limits={"max_body_bytes": 100000, "idle_timeout": 5}))
    c = w.raw()
    c.request("POST", CONTENT, [*JSON, ("Transfer-Encoding", "chunked")])
    c.send(b"%x\r\n" % 200000 + b"x" * 100001)
    assert c.read_response().status == 413
    c.expect_closed()


def test_a_client_that_sends_everything_before_it_reads(w):
    body = b"x" * (12 << 20)
    c = w.raw()
    c.request("POST", CONTENT, JSON, body)
    response = c.read_response()
    assert response.status == 413


def test_the_connection_survives_a_small_mistake(w):
    c = w.raw()
    for path, headers, body, status in [
        (CONTENT, JSON, b"[1", 400),
        (CONTENT, [], b"{}", 415),
        ("/nothing", JSON, b"{}" * 1000, 404),
        (CONTENT, JSON, b"x" * (MAX_BODY + 1), 413),
        (CHAT, JSON, nested(100), 400),
    ]:
        c.request("POST", path, headers, body)
        response = c.read_response()
        assert (response.status, response.get("connection")) == (status, None)


def test_a_target_too_long(w):
    c = w.raw()
    c.send("GET /" + "x" * MAX_HEADERS + " HTTP/1.1\r\nHost: x\r\n\r\n")
    response = c.read_response()
    assert (response.status, response.get("connection")) == (414, "close")
    details(response)
    c.expect_closed()


def test_a_header_too_large(w):
    c = w.raw()
    c.request("GET", CONTENT, [("X-Large", "x" * MAX_HEADERS)])
    response = c.read_response()
    assert (response.status, response.get("connection")) == (431, "close")
    details(response)
    c.expect_closed()


def test_too_many_headers(w):
    c = w.raw()
    c.request("GET", CONTENT, [(f"X{n}", "") for n in range(300)])
    assert c.read_response().status == 431
    c.expect_closed()


def test_as_many_headers_as_allowed(w):
    c = w.raw()
    c.request("GET", "/nothing", [(f"X{n}", "") for n in range(250)])
    assert c.read_response().status == 404


# --- on HTTP/2 ---


def h2_post(c, path, body, headers=(("content-type", "application/json"),)):
    return c.response(c.request("POST", path, list(headers), body))


def test_the_same_on_http2(w):
    c = w.h2()
    assert c.response(c.request("GET", "/nothing")).status == 404
    assert c.response(c.request("GET", CONTENT)).get("allow") == "POST, OPTIONS"
    assert h2_post(c, CONTENT, b"[1").status == 400
    assert h2_post(c, CONTENT, b"{}", headers=()).status == 415
    assert h2_post(c, CONTENT, nested(100)).status == 400
    assert h2_post(c, CHAT, b"[1").body.startswith(b'{"error":')
    assert h2_post(c, CONTENT, b"x" * 60000).status == 413
    c.ping()


def test_an_http2_body_far_too_large(w):
    c = w.h2()
    answer = h2_post(c, CONTENT, b"x" * 60000, [("content-type", "application/json")])
    assert answer.status == 413
    stream = c.request(
        "POST", CONTENT, [("content-type", "application/json"), ("content-length", str(10**12))],
        end_stream=False,
    )
    assert c.response(stream).status == 413
    assert c.reset_of(stream) == 0
    c.ping()


def test_an_http2_client_that_sends_all_of_it_reads_the_answer(w):
    client = w.client(http2=True, timeout=10)
    kind = {"content-type": "application/json"}
    assert client.post(CONTENT, content=b"x" * 4_000_000, headers=kind).status_code == 413
    assert client.post("/nothing", content=b"x" * 4_000_000, headers=kind).status_code == 404


def test_http2_headers_too_large(w):
    c = w.h2()
    large = c.request("GET", "/nothing", [("x-large", "x" * MAX_HEADERS)])
    assert c.response(large).status == 431
    many = c.request("GET", "/nothing", [(f"x{n}", "") for n in range(300)])
    assert c.response(many).status == 431
    assert c.response(c.request("GET", "/nothing")).status == 404
