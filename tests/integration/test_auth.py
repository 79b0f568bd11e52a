"""Callers' keys, and what must never be seen in a log: keys, bodies, queries."""

import pytest
from configs import CHAT, CONTENT, config
from harness import wait_until

KEYS = ["first-key-8d1f", "second-key-77aa"]
SECRETS = [*KEYS, "wrong-key-1234", "hunter2", "top-secret-text", "query-secret"]
JSON = [("Content-Type", "application/json")]


@pytest.fixture(scope="module")
def server(module_weir):
    env = {"CALLERS": ",".join(KEYS)}
    return module_weir(config(auth={"keys_env": "CALLERS"}), env=env)


@pytest.fixture
def w(server):
    with server.unharmed():
        yield server


def post(w, authorization=(), path=CONTENT, body=b"[1"):
    c = w.raw()
    headers = [("Authorization", value) for value in authorization]
    c.request("POST", path, [*JSON, *headers], body)
    return c.read_response()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_a_key_opens(w, key, scheme):
    assert post(w, [f"{scheme} {key}"]).status == 400
    assert post(w, [f"{scheme}   {key}"], CHAT).status == 400


WRONG = {
    "nothing": [],
    "empty": [""],
    "no key": ["Bearer"],
    "an empty key": ["Bearer "],
    "a wrong key": ["Bearer wrong-key-1234"],
    "another scheme": [f"Basic {KEYS[0]}"],
    "no scheme": [KEYS[0]],
    "a part": [f"Bearer {KEYS[0][:-1]}"],
    "more": [f"Bearer {KEYS[0]}x"],
    "both": [f"Bearer {','.join(KEYS)}"],
    "other case": [f"Bearer {KEYS[0].upper()}"],
}


@pytest.mark.parametrize("name", WRONG)
def test_anything_else_does_not(w, name):
    response = post(w, WRONG[name])
    assert (response.status, response.get("www-authenticate")) == (401, "Bearer")
    assert response.json().keys() == {"code", "details"}
    response = post(w, WRONG[name], CHAT)
    assert response.status == 401
    assert response.json()["error"]["type"] == "authentication_error"


@pytest.mark.parametrize("keys", [KEYS, KEYS[:1] * 2, ["wrong-key-1234", KEYS[0]]])
@pytest.mark.parametrize("path", [CONTENT, CHAT, "/registry"])
def test_two_authorization_headers(w, keys, path):
    """Who stands in front of us may have looked at the other one."""
    both = [f"Bearer {key}" for key in keys]
    response = post(w, both, path)
    assert response.status == 400
    assert b"Authorization" in response.body
    h2 = w.h2()
    stream = h2.request("GET", path, [("authorization", value) for value in both])
    assert h2.response(stream).status == 400


def test_every_path_is_closed(w):
    for path in ("/nothing", CONTENT, CHAT, "/strict" + CHAT, "/registry"):
        assert post(w, path=path).status == 401
        assert w.raw().get(path).status == 401
    h2 = w.h2()
    assert h2.response(h2.request("GET", "/nothing")).status == 401
    key = [("authorization", f"Bearer {KEYS[1]}")]
    assert h2.response(h2.request("GET", "/nothing", key)).status == 404


def test_the_health_port_is_open(w):
    assert w.health.get("/health").status_code == 200
    assert w.health.get("/metrics").status_code == 200


def test_a_refused_caller_may_try_again_on_its_connection(w):
    c = w.raw()
    c.request("POST", CONTENT, JSON, b"[1")
    assert c.read_response().status == 401
    c.request("POST", CONTENT, [*JSON, ("Authorization", f"Bearer {KEYS[0]}")], b"[1")
    assert c.read_response().status == 400


def test_a_large_body_without_a_key_is_not_read(w):
    c = w.raw()
    c.request("POST", CONTENT, [*JSON, ("Content-Length", str(5 << 20))])
    assert c.read_response().status == 401
    c.expect_closed()


def test_the_log_keeps_secrets(w):
    body = b'{"content": "top-secret-text", "detectors": {}}'
    for authorization in ([f"Bearer {KEYS[0]}"], ["Bearer wrong-key-1234"], [f"Basic {KEYS[1]}"]):
        post(w, authorization, body=body)
        post(w, authorization, CHAT, b'{"password": hunter2}')
        post(w, authorization, CONTENT + "?api_key=query-secret")
        post(w, authorization, CONTENT, b"top-secret-text")
    c = w.raw()
    c.send("GET /?query-secret HTTP/1.1\r\nHost: x\r\n")
    c.send(f"Authorization: Bearer {KEYS[0]}\r\nbroken\r\n\r\n")
    assert c.read_response().status == 400
    w.wait_log("request", path=CONTENT)
    text = w.stderr() + w.stdout()
    for secret in SECRETS:
        assert secret not in text, secret


def test_requests_are_logged_with_their_outcome(w):
    post(w, [f"Bearer {KEYS[0]}"], body=b"[1234")
    entry = w.wait_log("request", path=CONTENT, status=400, in_bytes=5)
    assert entry["method"] == "POST"
    assert entry["out_bytes"] > 0 and entry["took_ms"] >= 0
    assert len(entry["request_id"]) >= 16


@pytest.mark.parametrize("value", [None, "", ",", " , "])
def test_keys_that_are_not_there(weir, value):
    path = weir.write_config(config(auth={"keys_env": "CALLERS"}))
    env = {} if value is None else {"CALLERS": value}
    done = weir.run("--check-config", "--config", path, env=env)
    assert done.returncode == 1
    assert "CALLERS" in done.stdout.decode()


def test_keys_change_with_a_reload_of_the_file(weir):
    env = {"OLD": "old-key", "NEW": "new-key"}
    path = weir.write_config(config(auth={"keys_env": "OLD"}))
    w = weir(path, env=env)
    assert post(w, ["Bearer old-key"]).status == 400
    weir.write_config(config(auth={"keys_env": "NEW"}))
    w.signal(1)
    w.wait_log("configuration reloaded")
    wait_until(lambda: post(w, ["Bearer new-key"]).status == 400, "every worker to know")
    wait_until(lambda: post(w, ["Bearer old-key"]).status == 401, "every worker to forget")


# --- the embedded configuration: nobody has said who may call ---


@pytest.fixture(scope="module")
def embedded(module_weir):
    return module_weir()


def status_for(w, host, path="/"):
    c = w.raw()
    c.request("GET", path, host=host)
    return c.read_response().status


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
@pytest.mark.parametrize("port", ["", ":80", ":8033"])
def test_own_names_are_served(embedded, host, port):
    assert status_for(embedded, host + port) == 200


FOREIGN = ["evil.example", "evil.example:8033", "localhost.evil.example", "127.0.0.1.evil.example"]
FOREIGN += ["localhost:x", "localhost:", "[::2]", "[::1]x", "10.0.0.1", "127.0.0.2", "xlocalhost"]


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_name_is_not(embedded, host):
    """DNS rebinding: a page of somebody else's whose name now leads to this machine."""
    for path in ("/", "/registry", CHAT):
        c = embedded.raw()
        c.request("GET", path, host=host)
        response = c.read_response()
        # What is no host at all is refused before.
        assert response.status in (400, 403)
        if response.status == 403:
            assert b"--config" in response.body


def test_a_foreign_name_on_http2(embedded):
    h2 = embedded.h2()
    head = [(":method", "GET"), (":scheme", "http"), (":path", "/")]
    assert h2.response(h2.send_headers([*head, (":authority", "evil.example")])).status == 403
    assert h2.response(h2.send_headers([*head, (":authority", "localhost:8033")])).status == 200


def test_who_asks_for_more_gets_it(weir):
    assert status_for(weir(args=["--host", "0.0.0.0"]), "gateway.example") == 200
    assert status_for(weir(config()), "gateway.example", "/registry") == 200
