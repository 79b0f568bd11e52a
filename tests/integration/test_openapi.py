"""The description of the API, both ways: what the router has is in it, what is in it the router has, and
real answers are what it says."""

import hashlib
import json
import re

import httpx
import openapi
import pytest
from configs import config
from grpcpeer import TGIS_STREAM
from harness import ROOT
from peers import World, answers, contents, finds, tgis_stream, whole

MAIL = "ann@example.com"


def table(file, name):
    """(method, path) of a table of routes in the source."""
    text = (ROOT / file).read_text()
    body = re.search(rf"(?s) {name}\[\] = \{{(.*?)\n\}};", text).group(1)
    found = re.findall(r'\{"([^"]+)",\s*WEIR_HTTP_(\w+)', body)
    found += [(path, "GET") for path, method in found if method == "DELETE"]  # one entry has both
    named = [(path.replace("/responses/*", "/responses/{id}").replace("*", "{model}"), method) for path, method in found]
    return {(method.lower(), path) for path, method in named}


def documented():
    return {
        (method, path)
        for path, item in openapi.DOCUMENT["paths"].items()
        for method in item
        if method in ("get", "post", "put", "delete", "patch")
    }


def test_the_routers_tables_and_the_document_are_the_same():
    guarded = table("src/route/api.c", "OPENAI_TABLE")
    routed = table("src/route/api.c", "TABLE") | guarded
    routed |= {(method, "/{route}" + path) for method, path in guarded}
    routed |= table("src/server/admin.c", "TABLE")
    assert len(routed) > 20
    assert sorted(routed - documented()) == [], "served, but not in docs/api/openapi.json"
    assert sorted(documented() - routed) == [], "in docs/api/openapi.json, but not served"


def walk(node):
    yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(child)


def test_the_document_is_whole():
    doc = openapi.DOCUMENT
    version = re.search(r"project\(weir VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert doc["openapi"].startswith("3.1.") and doc["info"]["version"] == version.group(1)
    pointed = {node["$ref"] for node in walk(doc) if isinstance(node, dict) and "$ref" in node}
    for ref in pointed:
        assert openapi.resolve({"$ref": ref}) is not None
    parts = {f"#/components/{kind}/{name}" for kind, all in doc["components"].items() for name in all}
    assert {p for p in parts - pointed if "/securitySchemes/" not in p} == set(), "nobody points at"
    ids = [op["operationId"] for item in doc["paths"].values() for m, op in item.items() if m in ("get", "post", "delete")]
    assert len(set(ids)) == len(ids)


def test_the_checker_finds_what_is_wrong():
    finding = {"start": 0, "end": 1, "text": "x", "detection": "d", "detection_type": "t"}
    finding |= {"detector_id": "i", "score": 1.0}
    schema = {"$ref": "#/components/schemas/ContentResponse"}
    assert openapi.faults({"detections": [finding]}, schema) == []
    for broken in (
        {"detections": [{**finding, "more": 1}]},
        {"detections": [{**finding, "start": -1}]},
        {"detections": [{**finding, "score": "1"}]},
        {"detections": [{k: v for k, v in finding.items() if k != "text"}]},
        {"detections": {}},
        {},
    ):
        assert len(openapi.faults(broken, schema)) == 1, broken


ASK = {"model": "m", "messages": [{"role": "user", "content": f"I am {MAIL}"}]}
TEXT = {"model": "m", "prompt": f"I am {MAIL}"}
GUARD = {"detectors": {"input": {"secrets": {}}, "output": {"regex": {}}}}
STOPPED = {"detectors": {"input": {"regex": {}}, "output": {"regex": {}}}}

GOOD = [
    ("POST", "/v1/chat/completions", ASK),
    ("POST", "/v1/chat/completions", {**ASK, "stream": True}),
    ("POST", "/block/v1/chat/completions", ASK),
    ("POST", "/redact/v1/chat/completions", ASK),
    ("POST", "/redact/v1/chat/completions", {**ASK, "stream": True}),
    ("POST", "/v1/messages", ASK),
    ("POST", "/v1/messages", {**ASK, "stream": True}),
    ("POST", "/block/v1/messages", ASK),
    ("POST", "/block/v1/messages", {**ASK, "stream": True}),
    ("POST", "/block/v1/responses", {"model": "m", "input": f"I am {MAIL}"}),
    ("POST", "/block/v1/responses", {"model": "m", "input": f"I am {MAIL}", "stream": True}),
    ("POST", "/v1/completions", TEXT),
    ("POST", "/redact/v1/completions", {**TEXT, "stream": True}),
    ("POST", "/v1/moderations", {"input": [f"I am {MAIL}", "x"]}),
    ("POST", "/block/v1/moderations", {"input": [{"type": "text", "text": MAIL}]}),
    ("GET", "/v1/models", None),
    ("GET", "/block/v1/models", None),
    ("POST", "/api/v2/chat/completions-detection", {**ASK, **GUARD}),
    ("POST", "/api/v2/chat/completions-detection", {**ASK, **STOPPED}),
    ("POST", "/api/v2/chat/completions-detection", {**ASK, **GUARD, "stream": True}),
    ("POST", "/api/v2/text/completions-detection", {**TEXT, **STOPPED}),
    ("POST", "/api/v2/text/completions-detection", {**TEXT, **GUARD, "stream": True}),
    ("POST", "/api/v2/text/detection/content", {"content": MAIL, "detectors": {"regex": {}}}),
    ("POST", "/api/v1/text/contents", {"contents": [MAIL, ""], "detector_params": {"regex": {}}}),
    ("GET", "/registry", None),
    ("GET", "/openapi.json", None),
    ("GET", "/", None),
    ("GET", "/playground/info", None),
]
BAD = [
    ("POST", "/v1/chat/completions", {}, 422),
    ("POST", "/v1/chat/completions", b"{", 400),
    ("GET", "/block/v1/chat/completions", None, 405),
    ("POST", "/v1/messages", {}, 422),
    ("GET", "/block/v1/messages", None, 405),
    ("POST", "/v1/responses", {}, 422),
    ("GET", "/block/v1/responses", None, 405),
    ("POST", "/v1/models", {}, 405),
    ("POST", "/v1/moderations", {}, 422),
    ("POST", "/api/v2/text/detection/content", {"content": 1}, 422),
    ("POST", "/api/v2/text/detection/content", {"content": "x", "detectors": {"nobody": {}}}, 404),
    ("POST", "/api/v2/text/detection/context", {}, 422),
    ("POST", "/api/v2/text/generation-detection", {}, 404),
    ("POST", "/api/v1/text/contents", {"contents": 1}, 422),
    ("POST", "/api/v1/text/contents", {"contents": ["x"]}, 422),
    ("POST", "/api/v1/text/contents", {"contents": ["x"], "detector_params": {"nobody": {}}}, 404),
]


def ask(client, method, path, body):
    if body is None:
        return client.request(method, path)
    content = body if isinstance(body, bytes) else json.dumps(body)
    return client.request(method, path, content=content, headers={"content-type": "application/json"})


def test_answers_of_the_built_in_configuration(weir):
    w = weir()
    wrong = []
    for method, path, body in GOOD:
        response = ask(w.api, method, path, body)
        assert response.status_code == 200, (path, response.text)
        wrong += openapi.answer_faults(method, path, response)
    for method, path, body, status in BAD:
        response = ask(w.api, method, path, body)
        assert response.status_code == status, (path, response.text)
        there = {405: "POST" if method == "GET" else "GET"}.get(status, method)
        wrong += openapi.answer_faults(there, path, response)
    for path in ("/health", "/healthz", "/readyz", "/info", "/metrics"):
        wrong += openapi.answer_faults("GET", path, w.health.get(path))
    assert wrong == []
    assert w.api.get("/openapi.json").json() == openapi.DOCUMENT


def test_lines_in_events_out(weir):
    w = weir()
    lines = json.dumps({"content": f"I am {MAIL}. ", "detectors": {"regex": {}}}) + "\n" + json.dumps({"content": "Bye."})
    for kind in ("text/event-stream", "application/x-ndjson"):
        response = w.api.post(
            "/api/v2/text/detection/stream-content",
            content=lines,
            headers={"content-type": "application/x-ndjson", "accept": kind},
        )
        assert response.status_code == 200
        assert openapi.answer_faults("POST", "/api/v2/text/detection/stream-content", response) == []


def test_answers_without_a_key(weir):
    w = weir(config(auth={"keys_env": "KEYS"}), env={"KEYS": "k1"})
    for path in ("/v1/models", "/registry", "/openapi.json"):
        response = w.api.get(path)
        assert response.status_code == 401, path
        assert openapi.answer_faults("GET", path, response) == []


REMOTE = {
    "a": contents(),
    "chat": whole("text_chat"),
    "doc": whole("text_context_doc"),
    "gen": whole("text_generation"),
}
JUDGED = [{"detection": "d", "detection_type": "t", "score": 0.5, "evidence": [{"name": "x"}], "metadata": {"k": 1}}]


def test_answers_of_services(tmp_path_factory):
    """What needs a generator and detectors of every type."""
    talk = [{"role": "user", "content": "x"}]
    models = {"models": {"a": {}}}
    task = {"model_id": "m", "inputs": "hi", "text_gen_parameters": {"token_logprobs": True, "input_tokens": True}}
    asked = [
        ("/api/v1/task/classification-with-text-generation", {**task, "guardrail_config": {"output": models}}),
        ("/api/v1/task/classification-with-text-generation", {**task, "inputs": "bad", "guardrail_config": {"input": models}}),
        ("/api/v1/task/server-streaming-classification-with-text-generation", {**task, "guardrail_config": {"output": models}}),
        ("/api/v1/task/server-streaming-classification-with-text-generation", {**task, "inputs": "bad", "guardrail_config": {"input": models}}),
        ("/api/v2/text/generation-detection", {"model_id": "m", "prompt": "p", "detectors": {"gen": {}}}),
        ("/api/v2/text/detection/content", {"content": "bad", "detectors": {"a": {}}}),
        ("/api/v2/text/detection/chat", {"messages": talk, "detectors": {"chat": {}}}),
        ("/api/v2/text/detection/context", {"content": "x", "context_type": "docs", "context": ["y"], "detectors": {"doc": {}}}),
        ("/api/v2/text/detection/generated", {"prompt": "p", "generated_text": "g", "detectors": {"gen": {}}}),
        ("/api/v2/text/detection/generated", {"prompt": "p", "generated_text": "g", "detectors": {"a": {}}}),
    ]
    with World(tmp_path_factory, REMOTE, generation="tgis", openai=False) as world:
        world.detector = {name: answers(JUDGED) for name in ("chat", "doc", "gen")}
        world.grpc_answers[TGIS_STREAM] = lambda request, context: tgis_stream("a fi", "ne", " day.")
        world.detector["a"] = finds("bad|fine", evidence=[], metadata={})
        wrong = []
        for path, body in asked:
            answer = world.post(path, body)
            is_wrong_type = path.endswith("/generated") and "a" in body["detectors"]
            expected = 422 if is_wrong_type else 200
            assert answer.status_code == expected, (path, answer.text)
            wrong += openapi.answer_faults("POST", path, answer)
        world.detector["gen"] = answers({}, status=500)
        answer = world.post(*asked[8])
        assert answer.status_code == 500
        wrong += openapi.answer_faults("POST", asked[8][0], answer)
    assert wrong == []


# --- every status of every form of error ---

CONTENTS = {"contents": [MAIL], "detector_params": {"regex": {}}}
FORMS = {
    "OpenAIError": ("/v1/chat/completions", ASK),
    "AnthropicError": ("/v1/messages", {**ASK, "max_tokens": 5}),
    "Error": ("/api/v2/text/detection/content", {"content": MAIL, "detectors": {"regex": {}}}),
    "DetectorError": ("/api/v1/text/contents", CONTENTS),
}
JSON = {"content-type": "application/json"}
KEY = "a-key-of-a-test"


@pytest.fixture(scope="module")
def plain(module_weir):
    return module_weir()


@pytest.fixture(scope="module")
def tight(module_weir):
    """Small bodies, soon."""
    return module_weir(config(limits={"max_body_bytes": 4096, "body_timeout": 1}))


@pytest.fixture(scope="module")
def full(module_weir):
    return module_weir(config(limits={"max_held_bytes_total": 1 << 20, "max_body_bytes": 8 << 20}))


@pytest.fixture(scope="module")
def keyed(module_weir):
    """One request a minute; what the minute still has is used up here."""
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    keys = [{"name": "a", "sha256": digest, "routes": ["*"], "requests_per_minute": 1}]
    w = module_weir(config(auth={"keys": keys}))
    w.api.post("/v1/chat/completions", json=ASK, headers={"x-api-key": KEY})
    return w


def slow(w, path):
    """A body that does not come."""
    c = w.raw()
    c.send(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Content-Length: 99\r\n\r\n{".encode())  # fmt: skip
    answer = c.read_response("POST")
    return httpx.Response(answer.status, headers=answer.headers, content=answer.body)


STATUSES = {
    400: lambda w, path, body: w["plain"].post(path, content=b"{", headers=JSON),
    401: lambda w, path, body: w["keyed"].post(path, json=body),
    403: lambda w, path, body: w["plain"].post(path, json=body, headers={"host": "elsewhere.example"}),
    405: lambda w, path, body: w["plain"].get(path),
    408: lambda w, path, body: slow(w["servers"]["tight"], path),
    413: lambda w, path, body: w["tight"].post(path, json={**body, "user": "x" * 5000}),
    415: lambda w, path, body: w["plain"].post(path, content=b"{}", headers={"content-type": "text/plain"}),
    422: lambda w, path, body: w["plain"].post(path, json={}),
    429: lambda w, path, body: w["keyed"].post(path, json=body, headers={"x-api-key": KEY}),
    503: lambda w, path, body: w["full"].post(path, json={**body, "user": "x" * (4 << 20)}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", STATUSES)
def test_every_form_of_every_status(plain, tight, full, keyed, form, status):
    path, body = FORMS[form]
    servers = {"plain": plain, "tight": tight, "full": full, "keyed": keyed}
    world = {name: server.api for name, server in servers.items()} | {"servers": servers}
    answer = STATUSES[status](world, path, body)
    assert answer.status_code == status, answer.text
    assert openapi.operation("POST", path)["responses"][str(status)]["$ref"].endswith(f"/{form}{status}")
    assert openapi.answer_faults("POST", path, answer) == []


def test_no_status_is_declared_that_nobody_has_shown():
    """The others are shown on routes (test_route_errors, test_messages_errors) and with services (above)."""
    shown = {f"{form}{status}" for form in FORMS for status in STATUSES}
    upstream = ("404", "409", "500", "502", "504", "5XX")
    elsewhere = {f"{form}Error{status}" for form in ("OpenAI", "Anthropic") for status in upstream}
    elsewhere |= {"Error404", "Error500", "DetectorError404"}
    never = {"DetectorError500"}  # built-in detectors do not fail; a caller must expect it all the same
    assert openapi.DOCUMENT["components"]["responses"].keys() - shown - elsewhere == never
