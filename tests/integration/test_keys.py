"""Callers' keys with names: where they come from, what each opens, how much, and where they never go."""

import hashlib
import os

import pytest
from harness import wait_until
from policies import CHAT
from service import HANG, Service, reply
from test_seen import completion

TEAM, OPS, FILED = "team-key-51aa", "ops-key-90cc", "filed-key-77ee"
ASK = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
SECRETS = [TEAM, OPS, FILED]
H = "/api/v2/chat/completions-detection"
CONTENT = "/api/v2/text/detection/content"


def config(model, keys, **parts):
    pii = {"type": "text_contents", "builtin": "regex", "chunker_id": "windows",
           "params": {"regex": ["email"]}}  # fmt: skip
    return {
        "openai": {"service": model.config()},
        "chunkers": {"windows": {"builtin": "window", "size": 200, "overlap": 64}},
        "detectors": {"pii": pii},
        "routes": [{"name": name, "output": {"pii": {}}} for name in ("default", "strict", "other")],
        "auth": {"keys": keys},
        **parts,
    }


def named(name, secret, routes=("*",), **more):
    digest = hashlib.sha256(secret.encode()).hexdigest()
    return {"name": name, "sha256": digest, "routes": list(routes), **more}


KEYS = [{"name": "team", "env": "TEAM", "routes": ["default", "strict"]},
        named("ops", OPS, public_api=True)]  # fmt: skip


class Stage:
    def __init__(self, weir, keys, **parts):
        self.model = Service(lambda request: reply(completion("Fine.")))
        self.weir = weir
        self.path = weir.write_config(config(self.model, keys, **parts))
        self.w = weir(self.path, env={"TEAM": TEAM})

    def post(self, key=None, path=CHAT, body=None, **headers):
        head = {"authorization": f"Bearer {key}"} if key else {}
        return self.w.api.post(path, json=body or ASK, headers={**head, **headers})

    def reload(self, keys, **parts):
        before = len(self.w.log("configuration reloaded"))
        self.weir.write_config(config(self.model, keys, **parts), self.path.name)
        self.w.signal(1)
        wait_until(lambda: len(self.w.log("configuration reloaded")) > before, "the reload")


@pytest.fixture(scope="module")
def stage(module_weir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    (folder / "key").write_text(FILED + "\n")
    filed = {"name": "filed", "file": str(folder / "key"), "routes": []}
    made = Stage(module_weir, [*KEYS, filed], passthrough_headers=["authorization", "x-api-key", "api-key"])
    yield made
    made.model.close()


SPELLINGS = [{"authorization": "Bearer {}"}, {"authorization": "bearer  {}"}, {"x-api-key": "{}"},
             {"api-key": "{}"}, {"X-API-Key": "{}"}, {"authorization": "Bearer wrong", "x-api-key": "{}"},
             {"authorization": "Basic x", "api-key": "{}"}]  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("key", [TEAM, OPS])
def test_three_spellings_open(stage, spelling, key):
    head = {name: value.format(key) for name, value in spelling.items()}
    assert stage.post(**head).status_code == 200
    sent = stage.model.requests[-1]
    assert not any(name.lower() in ("authorization", "x-api-key", "api-key") for name, _ in sent.headers)


@pytest.mark.parametrize("name", ["authorization", "x-api-key", "api-key"])
def test_anything_else_does_not(stage, name):
    for value in ("wrong", TEAM[:-1], TEAM + "x", TEAM.upper(), hashlib.sha256(TEAM.encode()).hexdigest(),
                  f"{TEAM},{OPS}", f"Basic {TEAM}"):  # fmt: skip
        head = f"Bearer {value}" if name == "authorization" and " " not in value else value
        answer = stage.post(**{name: head})
        assert answer.status_code == 401 and answer.json()["error"]["code"] == "invalid_api_key"


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "api-key"])
def test_the_same_header_twice(stage, name):
    c = stage.w.raw()
    value = f"Bearer {TEAM}" if name == "Authorization" else TEAM
    c.request("POST", CHAT, [("Content-Type", "application/json"), (name, value), (name, value)], b"{}")
    response = c.read_response()
    assert response.status == 400 and name.encode() in response.body


def test_a_key_is_for_its_routes(stage):
    for route, status in (("", 200), ("/default", 200), ("/strict", 200), ("/other", 403)):
        answer = stage.post(TEAM, route + CHAT)
        assert answer.status_code == status
        if status == 403:
            error = answer.json()["error"]
            assert (error["type"], error["code"]) == ("authentication_error", "key_not_allowed")
    assert stage.w.api.get("/other/v1/models", headers={"x-api-key": TEAM}).status_code == 403
    assert stage.post(OPS, "/other" + CHAT).status_code == 200
    assert stage.post(FILED, CHAT).status_code == 403


def test_404_names_what_the_key_may_use(stage):
    told = stage.post(TEAM, "/nobody" + CHAT).json()["error"]["message"]
    assert "/strict/v1" in told and "/other/v1" not in told
    told = stage.post(TEAM, "/other/v1/nothing").json()["error"]["message"]
    assert "/other/v1" not in told
    assert "/other/v1" in stage.post(OPS, "/nobody" + CHAT).json()["error"]["message"]


def test_the_public_api_needs_its_own_right(stage):
    body = {**ASK, "detectors": {"output": {"pii": {}}}}
    answer = stage.post(TEAM, H, body)
    assert (answer.status_code, answer.json()["code"]) == (403, 403)
    assert stage.post(OPS, H, body).status_code == 200
    content = {"content": "x", "detectors": {"pii": {}}}
    for key in SECRETS:
        assert stage.post(key, CONTENT, content).status_code == 200


def test_the_log_names_the_key_and_never_shows_it(stage):
    answer = stage.post(TEAM)
    line = stage.w.wait_log("request", request_id=answer.headers["x-request-id"])
    assert line["key"] == "team"
    stage.post("a-wrong-key-1234")
    stage.post(OPS, "/nothing")
    text = stage.w.stderr() + stage.w.stdout() + stage.w.health.get("/metrics").text
    assert not any(secret in text for secret in [*SECRETS, "a-wrong-key-1234"])


# --- limits ---


def test_requests_per_minute(weir):
    made = Stage(weir, [named("slow", TEAM, requests_per_minute=5), named("fast", OPS)])
    answers = [made.post(TEAM) for _ in range(8)]
    assert [a.status_code for a in answers[:5]] == [200] * 5
    refused = [a for a in answers if a.status_code == 429]
    assert refused, "eight requests in far less than a minute"
    for answer in refused:
        error = answer.json()["error"]
        assert (error["type"], error["code"]) == ("invalid_request_error", "rate_limit_exceeded")
        assert "requests_per_minute" in error["message"]
        assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert made.post(OPS).status_code == 200
    assert made.post(TEAM, CONTENT, {"content": "x", "detectors": {"pii": {}}}).status_code == 429
    # What was used stays used over a reload.
    made.reload([named("slow", TEAM, requests_per_minute=5), named("fast", OPS)])
    assert made.post(TEAM).status_code == 429
    made.model.close()


def test_concurrent(weir):
    made = Stage(weir, [named("few", TEAM, concurrent=2), named("many", OPS)])
    made.model.answer = lambda request: HANG
    held = []
    for _ in range(2):
        c = made.w.raw()
        c.request("POST", CHAT, [("Content-Type", "application/json"), ("x-api-key", TEAM)],
                  b'{"model":"m","messages":[{"role":"user","content":"Hi"}]}')  # fmt: skip
        held.append(c)
    wait_until(lambda: len(made.model.requests) == 2, "both to be asked")
    refused = made.post(TEAM)
    assert refused.status_code == 429 and "concurrent" in refused.json()["error"]["message"]
    assert refused.headers["retry-after"] == "1"
    made.model.answer = lambda request: reply(completion("Fine."))
    assert made.post(OPS).status_code == 200
    for c in held:
        c.close()
    wait_until(lambda: made.post(TEAM).status_code == 200, "those that went to be forgotten")
    made.model.close()


# --- reload ---


def test_a_file_is_read_again(weir, tmp_path):
    path = tmp_path / "secret-key"
    path.write_text("first-one\n")
    keys = [{"name": "a", "file": str(path), "routes": ["*"]}]
    made = Stage(weir, keys)
    assert made.post("first-one").status_code == 200
    path.write_text("  second-one \r\n")
    made.reload(keys)
    wait_until(lambda: made.post("second-one").status_code == 200, "every worker to know")
    wait_until(lambda: made.post("first-one").status_code == 401, "every worker to forget")
    os.unlink(path)
    made.w.signal(1)
    wait_until(lambda: "cannot be read" in made.w.stderr(), "the complaint")
    assert made.post("second-one").status_code == 200
    made.model.close()


def test_keys_env_still_works_beside_them(weir):
    model = Service(lambda request: reply(completion("Fine.")))
    tree = config(model, [named("ops", OPS)])
    tree["auth"]["keys_env"] = "OLD"
    w = weir(tree, env={"OLD": "old-1, old-2"})
    for key, name in (("old-1", "keys_env-1"), ("old-2", "keys_env-2"), (OPS, "ops")):
        answer = w.api.post("/other" + CHAT, json=ASK, headers={"x-api-key": key})
        assert answer.status_code == 200
        w.wait_log("request", request_id=answer.headers["x-request-id"], key=name)
    model.close()


def test_public_api_false_is_for_everybody(weir):
    made = Stage(weir, [named("ops", OPS, public_api=True)], public_api=False)
    body = {**ASK, "detectors": {"output": {"pii": {}}}}
    assert made.post(OPS, H, body).status_code == 404
    assert made.post(OPS, CONTENT, {"content": "x", "detectors": {"pii": {}}}).status_code == 200
    assert made.post(OPS).status_code == 200
    made.model.close()


# --- cors ---

ORIGIN = "https://app.example"


def test_pages_of_listed_origins_may_ask(weir):
    made = Stage(weir, [named("ops", OPS)], cors={"origins": [ORIGIN, "http://localhost:3000"]})
    preflight = {"origin": ORIGIN, "access-control-request-method": "POST",
                 "access-control-request-headers": "authorization, content-type, x-stainless-os"}  # fmt: skip
    answer = made.w.api.options(CHAT, headers=preflight)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-headers"] == preflight["access-control-request-headers"]
    for key, status in ((OPS, 200), ("wrong", 401)):
        answer = made.post(key, origin=ORIGIN)
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == ORIGIN
        assert "x-request-id" in answer.headers["access-control-expose-headers"]
        assert answer.headers["vary"] == "origin"
    foreign = made.w.api.options(CHAT, headers={**preflight, "origin": "https://evil.example"})
    assert foreign.status_code == 401 and "access-control-allow-origin" not in foreign.headers
    assert "access-control-allow-origin" not in made.post(OPS, origin=ORIGIN + ".evil").headers
    bad = made.w.api.options(CHAT, headers={**preflight, "access-control-request-headers": "a{b}"})
    assert "access-control-allow-headers" not in bad.headers
    made.model.close()


def test_cors_is_off_unless_asked_for(stage):
    answer = stage.post(OPS, origin=ORIGIN)
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control")]
