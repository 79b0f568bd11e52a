"""What can be seen of a request: its id everywhere, headers, the log line, metrics by finding."""

import json
import re

import mock as mocks
import policies
import pytest
from policies import CHAT, MAIL, TEXT, ask, post
from service import Service, events, reply

ID = "a-caller's-own-id/42"
OURS = re.compile(r"[0-9a-f]{32}")


def completion(text, **more):
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **more}  # fmt: skip


def chunk(delta, finish=None, **more):
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}  # fmt: skip


def says(text):
    """A model server that says this, streamed or not, with its usage."""
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}

    def answer(request):
        if request.path.endswith("/models"):
            return reply({"object": "list", "data": []})
        if request.json().get("stream"):
            last = {**chunk({}), "choices": [], "usage": usage}
            return events(chunk({"role": "assistant", "content": text}), chunk({}, "stop"), last, "[DONE]")
        return reply(completion(text))

    return answer


def judge(request):
    """A detector that finds nothing."""
    return reply([[] for _ in request.json()["contents"]])


class Stage:
    def __init__(self, weir, **parts):
        self.model, self.detector = Service(says("Fine.")), Service(judge)
        pii = {"type": "text_contents", "builtin": "regex", "chunker_id": "windows",
               "params": {"regex": ["email"]}}  # fmt: skip
        words = {"type": "text_contents", "builtin": "keywords", "chunker_id": "windows",
                 "params": {"deny": ["zanzibar"]}}  # fmt: skip
        far = {"type": "text_contents", "service": self.detector.config(), "chunker_id": "windows",
               "default_threshold": 0.5}  # fmt: skip
        both = {"input": {"pii": {}, "words": {}}, "output": {"pii": {}, "words": {}, "far": {}}}
        self.w = weir({
            "openai": {"service": self.model.config()},
            "chunkers": {"windows": {"builtin": "window", "size": 200, "overlap": 64}},
            "detectors": {"pii": pii, "words": words, "far": far},
            "routes": [{"name": "default", **both},
                       {"name": "redact", **both, "on_detection": "redact"},
                       {"name": "block", **both, "on_detection": "block"},
                       {"name": "open", "unguarded": True}],
            **parts,
        })  # fmt: skip

    def post(self, route, text="Hi", is_stream=False, headers=None, **members):
        body = {"model": "m", "messages": [{"role": "user", "content": text}], **members}
        body = {**body, "stream": True} if is_stream else body
        return self.w.api.post(f"/{route}{CHAT}", json=body, headers=headers)

    def line(self, **fields):
        return self.w.wait_log("request", **fields)

    def close(self):
        self.model.close()
        self.detector.close()


@pytest.fixture(scope="module")
def stage(module_weir):
    made = Stage(module_weir)
    yield made
    made.close()


def value(w, name, **labels):
    wanted = "{" + ",".join(f'{key}="{text}"' for key, text in labels.items()) + "}"
    for line in w.health.get("/metrics").text.splitlines():
        if line.startswith(name + wanted + " "):
            return float(line.split()[-1])
    return 0


# --- x-request-id ---

API_PATHS = [("POST", "/redact" + CHAT), ("GET", "/v1/models"), ("POST", "/nobody" + CHAT),
             ("GET", "/nothing"), ("GET", "/redact" + CHAT), ("OPTIONS", CHAT), ("OPTIONS", "*"),
             ("POST", "/api/v2/text/detection/content"), ("GET", "/registry"), ("HEAD", "/registry"),
             ("POST", "/api/v1/text/contents"), ("POST", "/api/v2/chat/completions-detection")]  # fmt: skip
HEALTH_PATHS = ["/health", "/healthz", "/readyz", "/info", "/metrics", "/nothing"]


@pytest.mark.parametrize("listener", ["api", "health"])
def test_every_answer_has_an_id(stage, listener):
    paths = API_PATHS if listener == "api" else [("GET", path) for path in HEALTH_PATHS]
    for method, path in paths:
        for theirs in (None, ID):
            c = stage.w.raw(listener)
            head = [("Content-Type", "application/json")] + ([("X-Request-Id", theirs)] if theirs else [])
            c.request(method, path, head, b"{}" if method == "POST" else b"")
            told = c.read_response(method).get("x-request-id")
            assert told == theirs if theirs else OURS.fullmatch(told), (method, path)


def test_what_http_itself_refuses_has_an_id(stage):
    for listener in ("api", "health"):
        c = stage.w.raw(listener)
        c.send("GET / HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n")
        response = c.read_response()
        assert response.status == 400 and OURS.fullmatch(response.get("x-request-id"))
        if listener == "api":
            stage.line(status=400, request_id=response.get("x-request-id"))
    h2 = stage.w.h2()
    assert h2.response(h2.request("GET", "/nothing", [("x-request-id", ID)])).get("x-request-id") == ID
    large = [("x-request-id", ID), *[(f"h{i}", "x" * 1000) for i in range(100)]]
    refused = h2.response(h2.request("GET", "/nothing", large))
    assert refused.status == 431 and refused.get("x-request-id")


def test_a_connection_too_many_has_an_id(weir):
    made = Stage(weir, limits={"max_connections": 1})
    held = made.w.raw()
    held.get("/nothing")
    refused = made.w.raw().read_response()
    assert refused.status == 503 and OURS.fullmatch(refused.get("x-request-id"))
    made.close()


FOREIGN = ["", "with space", "tab\there", "x" * 129, "caf\xe9", "a\x7fb"]


@pytest.mark.parametrize("theirs", FOREIGN)
def test_ids_that_are_none_are_replaced(stage, theirs):
    c = stage.w.raw()
    c.send(f"GET /nothing HTTP/1.1\r\nHost: x\r\nX-Request-Id: {theirs}\r\n\r\n".encode("latin-1"))
    told = c.read_response().get("x-request-id")
    assert OURS.fullmatch(told)


def test_the_longest_id(stage):
    longest = "~" * 127 + "!"
    answer = stage.w.api.get("/nothing", headers={"x-request-id": longest})
    assert answer.headers["x-request-id"] == longest


@pytest.mark.parametrize("is_stream", [False, True])
def test_one_id_everywhere(stage, is_stream):
    """Towards the model and the detectors, in the answer, in every log line."""
    stage.model.answer = says("Some words to look at.")
    given = f"one-{is_stream}"
    answer = stage.post("redact", is_stream=is_stream, headers={"x-request-id": given})
    assert answer.headers["x-request-id"] == given
    assert stage.model.requests[-1].header("x-request-id") == given
    assert stage.detector.requests[-1].header("x-request-id") == given
    stage.line(request_id=given)
    ours = stage.post("redact").headers["x-request-id"]
    assert stage.model.requests[-1].header("x-request-id") == ours
    stage.line(request_id=ours)


def test_it_is_not_passed_through_twice(weir):
    """Also where it is among the headers that are passed on; a wrong one is not passed on."""
    made = Stage(weir, passthrough_headers=["x-request-id"])
    made.post("redact", headers={"x-request-id": "mine"})
    assert made.model.requests[-1].header("x-request-id") == "mine"
    answer = made.post("redact", headers={"x-request-id": "not one"})
    assert made.model.requests[-1].header("x-request-id") == answer.headers["x-request-id"]
    made.close()


# --- headers of a route ---


def test_what_is_guarded_is_named(stage):
    told = {r: stage.post(r).headers["x-weir-guarded"] for r in ("default", "redact", "block", "open")}
    parts = {route: dict(part.split("=") for part in text.split("; ")) for route, text in told.items()}
    assert all(each.keys() == {"input", "output", "unguarded"} for each in parts.values())
    assert parts["open"] == {"input": "none", "output": "none", "unguarded": "all"}
    assert parts["redact"]["input"] == "user,tool,function"
    assert "tool_calls" in parts["redact"]["output"].split(",")
    assert "images" in parts["redact"]["unguarded"] and "images" not in parts["block"]["unguarded"]


ACTIONS = [("default", "Hi", "Fine.", "pass"), ("default", MAIL, "Fine.", "annotate"),
           ("default", "Hi", MAIL, "annotate"), ("redact", MAIL, "Fine.", "redact"),
           ("redact", "Hi", MAIL, "redact"), ("redact", "Hi", "Fine.", "pass"),
           ("block", MAIL, "Fine.", "block"), ("block", "Hi", MAIL, "block"),
           ("open", MAIL, MAIL, "pass")]  # fmt: skip


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("route,question,text,action", ACTIONS)
def test_the_action(stage, route, question, text, action, is_stream):
    """In the header where it is known in time, in the log line and in the metrics always."""
    stage.model.answer = says(text)
    sides = {s: {a: value(stage.w, "weir_policy_total", route=route, action=a, side=s)
                 for a in ("pass", "annotate", "redact", "block")} for s in ("input", "output")}  # fmt: skip
    answer = stage.post(route, question, is_stream)
    is_refused = route == "block" and question == MAIL
    known = not is_stream or is_refused
    assert answer.headers.get("x-weir-action") == (action if known else None)
    line = stage.line(request_id=answer.headers["x-request-id"])
    assert line["route"] == route and line["model"] == "m" and line["caller"] == "127.0.0.1"
    assert line.get("provider") == (None if is_refused else "default")  # nobody was asked
    assert line["first_byte_ms"] <= line["took_ms"]
    if route != "open":
        told = {side: line.get(side) for side in ("input", "output")}
        assert action in told.values()
        assert line["input"] == (action if question == MAIL else "pass")
        assert told["output"] == (None if is_refused else action if text == MAIL else "pass")
        assert line.get("input_found") == ("pii=1" if question == MAIL else None)
        assert line.get("output_found") == ("pii=1" if text == MAIL else None)
        for side, before in sides.items():
            if told[side]:
                now = value(stage.w, "weir_policy_total", route=route, action=told[side], side=side)
                assert now == before[told[side]] + 1
    if not is_refused and not (route == "open" and is_stream):
        assert (line["input_tokens"], line["output_tokens"]) == (7, 3)
        assert "held_ms" in line


def test_errors_have_no_action(stage):
    stage.model.answer = lambda request: reply({"error": {"message": "no"}}, 400)
    assert "x-weir-action" not in stage.post("redact").headers
    stage.model.answer = says("Fine.")
    assert "x-weir-action" not in stage.w.api.get("/redact/v1/models").headers


# --- findings ---


def findings(w):
    """{labels as a tuple: count} of weir_findings_total."""
    found = {}
    for line in w.health.get("/metrics").text.splitlines():
        if line.startswith("weir_findings_total{"):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            found[tuple(labels.values())] = float(line.split()[-1])
    return found


@pytest.mark.parametrize("is_stream", [False, True])
def test_findings_are_counted_by_detector(weir, is_stream):
    made = Stage(weir)
    made.model.answer = says(f"{MAIL} and {MAIL} and zanzibar")
    for route in ("default", "redact", "block"):
        made.post(route, "Hi", is_stream)
    made.post("redact", f"I am {MAIL}", is_stream)
    found = findings(made.w)
    assert found["default", "output", "content", "pii", "email_address", "annotate"] == 2
    assert found["redact", "output", "content", "pii", "email_address", "redact"] == 4
    assert found["redact", "input", "content", "pii", "email_address", "redact"] == 1
    assert found["block", "output", "content", "pii", "email_address", "block"] >= 1
    words = [labels for labels in found if labels[3] == "words"]
    assert words and all("zanzibar" not in label for labels in words for label in labels)
    made.close()


def test_findings_in_other_channels_name_them(stage):
    delta = {"role": "assistant", "content": "x", "reasoning_content": f"ask {MAIL}"}
    answer = completion("")
    answer["choices"][0]["message"] = delta
    stage.model.answer = lambda request: reply(answer)
    key = ("redact", "output", "reasoning_content", "pii", "email_address", "redact")
    before = findings(stage.w).get(key, 0)
    stage.post("redact")
    assert findings(stage.w)[key] == before + 1


def test_what_a_detector_says_cannot_grow_the_metrics(weir):
    """A service that answers something else every time: names that are none, names without end."""
    made = Stage(weir)

    def answer(request):
        names = [f"{MAIL} {i}" for i in range(50)] + ["n" * 65, 'a"b', "ok-name", "", "Some"]
        names += [f"kind-{len(made.detector.requests)}-{i}" for i in range(40)]
        each = [{"start": 0, "end": 4, "text": "Some", "detection": name, "detection_type": "odd",
                 "score": 0.9} for name in names]  # fmt: skip
        return reply([each for _ in request.json()["contents"]])

    made.detector.answer = answer
    made.model.answer = says("Some words to look at.")
    for _ in range(40):
        made.post("redact")
    found = findings(made.w)
    assert len(found) <= 1001
    for labels in found:
        assert all(re.fullmatch(r"[A-Za-z0-9_.:/ -]{1,64}", label) for label in labels), labels
        assert MAIL not in labels and "Some" not in labels
    assert sum(found.values()) == 40 * 95
    made.close()


# --- the log never has text ---


def test_the_log_has_no_text(stage):
    secret = "xyzzy-marker-text"
    stage.model.answer = says(f"{secret} {MAIL} zanzibar")
    for route in ("default", "redact", "block"):
        for is_stream in (False, True):
            stage.post(route, f"{secret} {MAIL} zanzibar", is_stream, user=secret)
            stage.post(route, "Hi", is_stream)
    answer = stage.post("redact", model=f"{secret} as a model")
    stage.line(request_id=answer.headers["x-request-id"])
    text = stage.w.stderr() + stage.w.stdout()
    for marker in (secret, MAIL, "zanzibar"):
        assert marker not in text


def test_completions_are_seen_too(module_weir, tmp_path_factory):
    import harness

    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    w = module_weir(policies.config(servers("--seed", 1)))
    answer = post(w, "redact", ask(f"I am {MAIL}", path=TEXT), TEXT)
    assert answer.headers["x-weir-action"] == "redact"
    line = w.wait_log("request", request_id=answer.headers["x-request-id"])
    assert (line["input"], line["input_found"]) == ("redact", "pii=1")
    assert json.dumps(line).find(MAIL) < 0
    w.stop()
    servers.stop_all()
