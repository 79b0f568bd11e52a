"""Paths that a route's `unguarded` names: passed to the model server without a look, and no others."""

import re

import pytest
from harness import StartFailed, wait_until
from service import reply
from test_providers import openai_like, tree

MAIL = "jane@example.org"
FILES, SPEECH, BATCHES = "/v1/files", "/v1/audio/speech", "/v1/messages/batches"
PATHS = [FILES, SPEECH, BATCHES]
KEY = "team-key-51aa"


def config(model, detector, routes=None, **parts):
    """A detector that is built in and one that is a service: both guard every route."""
    far = {"type": "text_contents", "service": detector.config(), "default_threshold": 0.1,
           "chunker_id": "windows"}  # fmt: skip
    both = {"pii": {}, "far": {}}
    guarded = {"input": both, "output": both, "on_detection": "block"}
    return {
        "openai": {"service": model.config()},
        "chunkers": {"windows": {"builtin": "window", "size": 200, "overlap": 64}},
        "detectors": {
            "pii": {"type": "text_contents", "builtin": "regex", "chunker_id": "windows",
                    "params": {"regex": ["email"]}},
            "far": far},
        "routes": [{**guarded, "name": "default", "unguarded": [FILES]},
                   {**guarded, "name": "open", "unguarded": ["sealed", *PATHS]},
                   {**guarded, "name": "few", "models": ["m"], "unguarded": PATHS},
                   {**guarded, "name": "shut"}] if routes is None else routes,
        **parts,
    }  # fmt: skip


class Stage:
    def __init__(self, weir, service, **parts):
        self.model = service(lambda request: reply({"said": MAIL}))
        self.detector = service(lambda request: reply([[]]))
        self.w = weir(config(self.model, self.detector, **parts))

    def unguarded(self):
        lines = self.w.health.get("/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines
                   if line.startswith("weir_unguarded_requests_total "))  # fmt: skip


@pytest.fixture
def stage(weir, service):
    return Stage(weir, service)


# --- what passes ---


def test_json_passes_byte_for_byte(stage):
    body = ('{ "input":"%s",\n "model":"m"}' % MAIL).encode()
    answer = stage.w.api.post(f"/open{SPEECH}", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()) == (200, {"said": MAIL})
    asked = stage.model.requests[-1]
    assert (asked.method, asked.path, asked.body) == ("POST", SPEECH, body)
    assert asked.header("content-type") == "application/json"
    assert stage.detector.requests == []


def test_what_the_answer_says_of_itself(stage):
    before = stage.unguarded()
    answer = stage.w.api.post(f"/open{FILES}", json={"text": MAIL}, headers={"x-request-id": "r-1"})
    assert answer.headers["x-weir-guarded"] == f"input=none; output=none; unguarded={FILES}"
    assert answer.headers["x-weir-route"] == "open"
    assert answer.headers["x-weir-policy"] == "block"
    assert answer.headers["x-request-id"] == "r-1"
    wait_until(lambda: stage.unguarded() == before + 1, "the count")
    line = stage.w.wait_log("request", path=f"/open{FILES}")
    assert (line["route"], line["status"]) == ("open", 200)


def test_guarded_endpoints_of_the_route_name_the_paths(stage):
    refused = stage.w.api.post("/open/v1/chat/completions", json={})
    holes = refused.headers["x-weir-guarded"].split("unguarded=")[1].split(",")
    assert holes[:4] == ["sealed", *PATHS]


def test_the_default_route_has_them_below_v1(stage):
    for path in (FILES, f"/default{FILES}"):
        answer = stage.w.api.get(path)
        assert (answer.status_code, answer.headers["x-weir-route"]) == (200, "default")
        assert stage.model.requests[-1].path == FILES


def test_a_form_with_bytes(stage):
    data = bytes(range(256)) * 1000
    answer = stage.w.api.post(f"/open{FILES}", data={"purpose": MAIL}, files={"file": ("a.bin", data)})
    assert answer.status_code == 200
    asked = stage.model.requests[-1]
    assert data in asked.body and MAIL.encode() in asked.body
    boundary = re.fullmatch("multipart/form-data; boundary=(.*)", asked.header("content-type"))[1]
    assert asked.body.startswith(b"--" + boundary.encode())
    assert stage.detector.requests == []


def test_methods_and_queries(stage):
    got = stage.w.api.get(f"/open{FILES}?limit=2&after=a%2Fb")
    assert (got.status_code, stage.model.requests[-1].path) == (200, f"{FILES}?limit=2&after=a%2Fb")
    assert stage.model.requests[-1].method == "GET"
    stage.w.api.delete(f"/open{FILES}")
    assert stage.model.requests[-1].method == "DELETE"
    stage.w.api.post(f"/open{FILES}", headers={"content-type": "application/json"})
    assert (stage.model.requests[-1].method, stage.model.requests[-1].body) == ("POST", b"")
    head = stage.w.api.head(f"/open{FILES}")
    assert (head.status_code, head.content) == (200, b"")
    n = len(stage.model.requests)
    for method in ("PUT", "PATCH"):
        refused = stage.w.api.request(method, f"/open{FILES}")
        assert refused.status_code == 405
        assert refused.headers["allow"] == "GET, HEAD, POST, DELETE, OPTIONS"
    assert stage.w.api.options(f"/open{FILES}").status_code == 204
    assert len(stage.model.requests) == n


def test_bytes_come_back_as_they_are_and_no_header_but_their_type(stage):
    data = bytes(range(256)) * 2000
    theirs = [("set-cookie", "a=b"), ("x-secret", "s"), ("x-weir-guarded", "all")]
    stage.model.answer = lambda request: reply(data, content_type="audio/mpeg", headers=theirs)
    answer = stage.w.api.post(f"/open{SPEECH}", json={"input": "hi"})
    assert (answer.content, answer.headers["content-type"]) == (data, "audio/mpeg")
    assert not {"set-cookie", "x-secret"} & set(answer.headers)
    assert answer.headers.get_list("x-weir-guarded") == [f"input=none; output=none; unguarded={SPEECH}"]


@pytest.mark.parametrize("status", [201, 302, 400, 404, 429, 500, 503])
def test_any_status_passes(stage, status):
    stage.model.answer = lambda request: reply(f"no: {MAIL}", status, "text/plain")
    answer = stage.w.api.get(f"/open{FILES}")
    assert (answer.status_code, answer.text) == (status, f"no: {MAIL}")
    assert answer.headers["content-type"] == "text/plain"
    assert len(stage.model.requests) == 1


def test_an_answer_without_a_body(stage):
    stage.model.answer = lambda request: b"HTTP/1.1 204 No Content\r\n\r\n"
    answer = stage.w.api.delete(f"/open{FILES}")
    assert (answer.status_code, answer.content) == (204, b"")


def test_http2(stage):
    with stage.w.client(http2=True) as client:
        answer = client.post(f"/open{FILES}", content=b"\0\1", headers={"content-type": "a/b"})
        assert (answer.status_code, answer.http_version) == (200, "HTTP/2")
        assert (stage.model.requests[-1].body, stage.model.requests[-1].header("content-type")) == (b"\0\1", "a/b")
        assert client.get(f"/open{FILES}?a=b").status_code == 200
        assert stage.model.requests[-1].path == f"{FILES}?a=b"


# --- what does not ---


@pytest.mark.parametrize("path", [
    "/shut/v1/files", "/open/v1/file", "/open/v1/files/", "/open/v1/files/x", "/open/v1/audio",
    "/open/v1/Files", "/open/v1/files%2f", "/open/v1/%66iles", "/open//v1/files", "/open/v1//files",
    "/open/v1/x/../files", "/open/v1/files/../chat/completions", "/open/v1/files/..%2fmodels",
    "/open/v1/./files", "/v1/audio/speech", "/nobody/v1/files", "/open/v1/files;x", "/open/v1/files\\x",
])  # fmt: skip
def test_other_paths_are_404_and_reach_nobody(stage, path):
    raw = stage.w.raw()
    raw.send(f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n".encode())
    assert raw.read_response().status == 404
    assert stage.model.requests == []


def test_404_names_what_is_served(stage):
    words = stage.w.api.get("/open/v1/nothing").json()["error"]["message"]
    assert "/open/v1/chat/completions" in words
    assert all(f"/open{path}" in words for path in PATHS)
    assert FILES not in stage.w.api.get("/shut/v1/nothing").json()["error"]["message"]


def test_a_key_is_required_and_stays_here(weir, service):
    keys = [{"name": "team", "env": "TEAM", "routes": ["open"]}]
    model, detector = service(lambda request: reply({})), service(lambda request: reply([[]]))
    w = weir(config(model, detector, auth={"keys": keys}), env={"TEAM": KEY})
    mine = {"authorization": f"Bearer {KEY}"}
    assert w.api.get(f"/open{FILES}").status_code == 401
    assert w.api.get(f"/open{FILES}", headers={"authorization": "Bearer other"}).status_code == 401
    assert w.api.get(FILES, headers=mine).status_code == 403
    assert model.requests == []
    assert w.api.get(f"/open{FILES}", headers=mine).status_code == 200
    assert model.requests[-1].header("authorization") is None


def test_bodies_that_are_refused(weir, service):
    stage = Stage(weir, service, limits={"max_body_bytes": 65536})
    too_large = stage.w.api.post(f"/open{FILES}", content=b"x" * 70000, headers={"content-type": "a/b"})
    assert too_large.status_code == 413 and "max_body_bytes" in too_large.text
    as_json = {"content-type": "application/json"}
    assert stage.w.api.post(f"/open{FILES}", content=b"{", headers=as_json).status_code == 400
    packed = stage.w.api.post(f"/open{FILES}", content=b"x", headers={"content-encoding": "gzip"})
    assert packed.status_code == 415
    assert stage.model.requests == []


def test_answers_that_are_refused(weir, service):
    stage = Stage(weir, service, limits={"max_service_body_bytes": 65536})
    stage.model.answer = lambda request: reply(b"x" * 70000)
    large = stage.w.api.get(f"/open{FILES}")
    assert large.status_code == 502 and "max_service_body_bytes" in large.text
    stage.model.answer = lambda request: reply(b"x", headers=[("content-encoding", "gzip")])
    assert stage.w.api.get(f"/open{FILES}").status_code == 502
    stage.model.answer = lambda request: reply(f"the key {KEY} is wrong", 401)
    ours = stage.w.api.get(f"/open{FILES}")
    assert ours.status_code == 502 and KEY not in ours.text
    stage.model.close()
    gone = stage.w.api.get(f"/open{FILES}")
    assert gone.status_code == 502
    assert gone.headers["x-weir-guarded"] == f"input=none; output=none; unguarded={FILES}"


def test_a_route_with_models_takes_what_it_can_read(stage):
    assert stage.w.api.post(f"/few{FILES}", json={"model": "m"}).status_code == 200
    n = len(stage.model.requests)
    other = stage.w.api.post(f"/few{FILES}", json={"model": "other"})
    assert other.status_code == 404 and other.json()["error"]["code"] == "model_not_found"
    form = stage.w.api.post(f"/few{FILES}", data={"model": "other"}, files={"file": ("a", b"x")})
    assert form.status_code == 415
    assert len(stage.model.requests) == n


HIDDEN = ['{"model":"m","Model":"other"}', '{"MODEL":"other"}', '{"m\\u004fdel":"other","model":"m"}',
          '{"model":["other"]}', '[{"model":"other"}]']  # fmt: skip


@pytest.mark.parametrize("body", HIDDEN)
def test_a_route_with_models_sees_which_one_is_asked_for(stage, body):
    """Some model servers do not tell capitals from small letters in the names of members."""
    for path in (FILES, "/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"):
        answer = stage.w.api.post(f"/few{path}", content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422), (path, answer.text)
        if path == FILES:
            assert "`model`" in answer.json()["error"]["message"]
    assert stage.model.requests == []
    open_ = stage.w.api.post(f"/open{FILES}", content=body, headers={"content-type": "application/json"})
    assert open_.status_code == 200


def test_hidden_models_in_whole_questions(stage):
    words = [{"role": "user", "content": "Hi"}]
    asked = {"chat/completions": {"messages": words}, "completions": {"prompt": "Hi"}, "responses": {"input": "Hi"},
             "messages": {"messages": words, "max_tokens": 5}, "embeddings": {"input": "Hi"}}  # fmt: skip
    for route, name, body in [(route, *one) for one in asked.items() for route in ("few", "open")]:
        answer = stage.w.api.post(f"/{route}/v1/{name}", json={"model": "m", "mOdel": "other", **body})
        assert answer.status_code == 400 and "named once" in answer.text, (name, answer.text)
    assert stage.model.requests == []


# --- several servers ---


def test_the_model_in_a_json_body_chooses_the_server(weir, service):
    first, second = service(lambda request: reply({"model": "theirs"})), service(lambda request: reply({}))
    providers = {"one": openai_like(first), "two": openai_like(second)}
    models = {"a": {"provider": "one"}, "b": {"provider": "two", "model": "theirs"}}
    routes = [{"name": "default", "output": {"pii": {}}, "unguarded": [SPEECH]}]
    w = weir(tree(providers, models, routes=routes))
    assert w.api.post(SPEECH, json={"model": "a", "input": "hi"}).json() == {"model": "theirs"}
    answer = w.api.post(SPEECH, json={"model": "b", "input": "hi"})
    assert second.requests[-1].json() == {"model": "theirs", "input": "hi"}
    assert (second.requests[-1].path, answer.headers["x-weir-model"]) == (SPEECH, "two/theirs")
    assert w.api.post(SPEECH, json={"model": "c"}).status_code == 404
    w.api.post(SPEECH, content=b'{"model":"b"}', headers={"content-type": "text/plain"})
    w.api.get(f"{SPEECH}?a=b")
    assert first.requests[-1].path == f"{SPEECH}?a=b"
    assert [len(first.requests), len(second.requests)] == [3, 1]


# --- configuration ---


def test_no_served_path_can_be_listed(stage, weir):
    words = stage.w.api.get("/shut/v1/nothing").json()["error"]["message"]
    served = [path.replace("*", "x") for path in re.findall("/shut(/v1/[^, ]+)", words)]
    assert len(served) >= 15
    for path in served:
        routes = [{"name": "r", "output": {"pii": {}}, "unguarded": [path]}]
        with pytest.raises(StartFailed, match="serves with detectors"):
            weir(config(stage.model, stage.detector, routes))


# --- endpoints that show detectors less than both sides ---


def test_endpoints_whose_answers_nobody_looks_at_say_so(stage):
    questions = {"embeddings": {"input": "a"}, "rerank": {"query": "a", "documents": ["b"]},
                 "score": {"text_1": "a", "text_2": "b"}, "moderations": {"input": "a"},
                 "messages/count_tokens": {"messages": [{"role": "user", "content": "a"}]},
                 "responses/input_tokens": {"input": "a"}}  # fmt: skip
    usual = stage.w.api.post("/open/v1/chat/completions", json={}).headers["x-weir-guarded"].split("; ")
    assert usual[0].startswith("input=user") and usual[1].startswith("output=content")
    for name, body in questions.items():
        told = stage.w.api.post(f"/open/v1/{name}", json={"model": "m", **body}).headers["x-weir-guarded"]
        assert told.split("; ") == [usual[0], "output=none", usual[2]], name
    for path in ("/open/v1/models", "/open/v1/models/m"):
        told = stage.w.api.get(path).headers["x-weir-guarded"]
        assert told == "input=none; output=none; unguarded=/v1/models"
