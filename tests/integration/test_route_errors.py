"""What a caller of a route is told when something fails: the table of docs/policies.md, row by row."""

import hashlib
import json
import re
import ssl

import harness
import openapi
import pytest
from service import HANG, Service, events, reply

CHAT = "/v1/chat/completions"
MAIL = "jane@example.org"
ASK = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
DOCUMENT = harness.ROOT / "docs" / "policies.md"
MODES = [False, True]


def rows():
    """{what: (status, type, code)} as the manual has it."""
    text = DOCUMENT.read_text()
    text = text[text.index("## When things fail") :]
    text = text[text.index("| --- |") :].split("\n\n")[0]
    cells = [[c.strip().strip("`") for c in line.strip("|").split("|")] for line in text.splitlines()]
    return {what: (status, type, code) for what, status, type, code in cells[1:]}


ROWS = rows()
PROVOKED = {}


def row(what):
    """The function provokes the row whose first cell begins like this."""

    def keep(function):
        full = [name for name in ROWS if name.startswith(what)]
        assert len(full) == 1, f"{what!r} is {len(full)} rows of the table"
        PROVOKED[full[0]] = function
        return function

    return keep


def completion(text="Fine.", **more):
    message = {"role": "assistant", "content": text}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **more}  # fmt: skip


def chunk(text, **more):
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None, **more}]}  # fmt: skip


def config(model, detector=None, chunker=None, service=None, **parts):
    pii = {"type": "text_contents", "builtin": "regex", "params": {"regex": ["email"]}}
    tree = {
        "openai": {"service": {**model.config(), "request_timeout": 2, **(service or {})}},
        "chunkers": {"windows": {"builtin": "window", "size": 200, "overlap": 64}},
        "detectors": {"pii": {**pii, "chunker_id": "windows"},
                      "doc": {**pii, "chunker_id": "whole_doc_chunker"}},
        "routes": [{"name": "default", "output": {"pii": {}}},
                   {"name": "redact", "output": {"pii": {}}, "on_detection": "redact"},
                   {"name": "block", "output": {"pii": {}}, "on_detection": "block"},
                   {"name": "doc", "output": {"doc": {}}, "on_detection": "redact"}],
        **parts,
    }  # fmt: skip
    remote = {"type": "text_contents", "default_threshold": 0.5}
    if detector is not None:
        tree["detectors"]["far"] = {**remote, "service": detector.config(), "chunker_id": "windows"}
        tree["routes"].append({"name": "far", "output": {"far": {}}, "on_detection": "redact"})
    if chunker is not None:
        service = chunker.config()
        tree["chunkers"]["cuts"] = {"type": "sentence", "service": service}
        tree["detectors"]["cut"] = {**pii, "chunker_id": "cuts"}
        tree["routes"].append({"name": "cut", "output": {"cut": {}}, "on_detection": "redact"})
    return tree


class Stage:
    """A gateway in front of one scripted model server."""

    def __init__(self, weir, model=None, env=None, **parts):
        self.model = model or Service()
        self.w = weir(config(self.model, **parts), env=env)

    def ask(self, is_stream=False, route="redact", body=None, **options):
        path = f"/{route}{CHAT}" if route else CHAT
        return self.w.api.post(path, json={**(body or ASK), "stream": is_stream}, **options)


@pytest.fixture(scope="module")
def stage(module_weir, certs):
    made = Stage(module_weir, limits={"max_body_bytes": 4096})
    made.certs = certs
    yield made
    made.model.close()


@pytest.fixture(scope="module")
def silent(module_weir):
    """One whose calls to services wait two seconds at most."""
    made = Stage(module_weir)
    yield made
    made.model.close()


def error(answer):
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body.keys() == {"error"} and body["error"].keys() == {"message", "type", "param", "code"}
    return body["error"]


# --- the table ---


@row("no valid key")
def no_key(stage, weir, is_stream):
    closed = Stage(weir, auth={"keys_env": "K"}, env={"K": "a-key-of-ours"})
    return [(closed.ask(is_stream), None)]


def named(name, secret, **more):
    return {"name": name, "sha256": hashlib.sha256(secret.encode()).hexdigest(), **more}


@row("a key that is not for this route")
def other_key(stage, weir, is_stream):
    made = Stage(weir, auth={"keys": [named("a", "a-key", routes=["block"])]})
    return [(made.ask(is_stream, headers={"x-api-key": "a-key"}), None)]


@row("more requests than the key may send")
def too_many(stage, weir, is_stream):
    keys = [named("a", "a-key", routes=["*"], requests_per_minute=1)]
    made = Stage(weir, auth={"keys": keys})
    made.model.answer = says("Fine.")
    answers = [made.ask(is_stream, headers={"x-api-key": "a-key"}) for _ in range(2)]
    assert answers[0].status_code == 200 and int(answers[1].headers["retry-after"]) > 0
    return [(answers[1], None)]


@row("a path that nobody serves")
def no_path(stage, weir, is_stream):
    answers = [stage.ask(is_stream, "nobody"), stage.w.api.post("/redact/v1/what", json=ASK)]
    assert "/redact/v1" in error(answers[0])["message"]
    assert "/redact/v1/chat/completions" in error(answers[1])["message"]
    return [(answer, None) for answer in answers]


@row("another method")
def other_method(stage, weir, is_stream):
    return [(stage.w.api.get("/redact" + CHAT), None)]


@row("the body is not JSON")
def no_json(stage, weir, is_stream):
    head = {"content-type": "application/json"}
    return [(stage.w.api.post(CHAT, content=b"{", headers=head), None)]


@row("the body is of another type")
def other_type(stage, weir, is_stream):
    zipped = {"content-type": "application/json", "content-encoding": "gzip"}
    text = {"content-type": "text/plain"}
    return [(stage.w.api.post(CHAT, content=b"{}", headers=head), None) for head in (zipped, text)]


@row("the body is larger")
def too_large(stage, weir, is_stream):
    return [(stage.ask(is_stream, body={**ASK, "user": "x" * 5000}), None)]


@row("a member is missing")
def wrong_member(stage, weir, is_stream):
    bodies = [{"model": "m"}, {**ASK, "messages": 1}, {**ASK, "detectors": {}}]
    return [(stage.ask(is_stream, body=body), None) for body in bodies]


def refusals(stage, statuses, is_stream, **options):
    """What the model server's own errors become, with the code it gave each."""
    answers = []
    for status in statuses:
        body = {"error": {"message": f"no {status}", "type": "t", "param": "p", "code": f"c_{status}"}}
        stage.model.answer = lambda request, a=reply(body, status): a
        before = len(stage.model.requests)
        answer = stage.ask(is_stream, **options)
        assert len(stage.model.requests) == before + 1, "it was asked again"
        answers.append((answer, status))
    return answers


@row("the model server answers 400")
def refused(stage, weir, is_stream):
    answers = refusals(stage, (400, 403, 404, 409, 413, 422), is_stream)
    for answer, status in answers:
        assert error(answer)["message"] == f"no {status}" and error(answer)["param"] == "p"
    return answers


@row("the model server answers 401, and the key was the caller's")
def callers_key(stage, weir, is_stream):
    open_stage = Stage(weir, passthrough_headers=["authorization"])
    return refusals(open_stage, [401], is_stream, headers={"authorization": "Bearer theirs"})


@row("the model server answers 401, and the key was the gateway's")
def our_key(stage, weir, is_stream):
    made = Stage(weir, env={"TOKEN": "ours"}, service={"api_token": "TOKEN"})
    made.model.answer = lambda request: reply({"error": {"message": "key sk-ours-123"}}, 401)
    answer = made.ask(is_stream, headers={"authorization": "Bearer theirs"})
    assert "ours" not in answer.text
    made.w.wait_log("service failed", level="ERROR")
    return [(answer, None), (stage_without_key(stage, is_stream), None)]


def stage_without_key(stage, is_stream):
    stage.model.answer = lambda request: reply({"error": {"message": "a key is needed"}}, 401)
    return stage.ask(is_stream)


@row("the model server answers 429")
def limited(stage, weir, is_stream):
    return refusals(stage, [429], is_stream)


@row("the model server answers 500")
def broken(stage, weir, is_stream):
    return refusals(stage, (500, 502, 503, 504, 529), is_stream)


@row("the model server cannot be reached")
def unreachable(stage, weir, is_stream):
    gone = Stage(weir, service={"max_retries": 0})
    gone.model.close()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(stage.certs.server.cert, stage.certs.server.key)
    stranger = Service(tls=context)
    trusts_others = {"tls": {"client_ca_cert_path": str(stage.certs.stranger_ca.cert)}}
    untrusted = Stage(weir, stranger, service={**trusts_others, "max_retries": 0})
    answers = [(gone.ask(is_stream), None), (untrusted.ask(is_stream), None)]
    stranger.close()
    return answers


@row("the model server does not answer")
def late(silent, weir, is_stream):
    silent.model.answer = lambda request: HANG
    return [(silent.ask(is_stream), None)]


@row("the model server's answer is broken off")
def nonsense(stage, weir, is_stream):
    half = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"
    answers = []
    for bytes in (half, reply("hello"), reply("", 302), b"what\r\n\r\n"):
        stage.model.answer = lambda request, a=bytes: [a, b""] if a is half else a
        answers.append((broken_off(stage, is_stream, bytes is half), None))
    return answers


def broken_off(stage, is_stream, is_half):
    if is_half:  # the service closes behind it
        answer = stage.model.answer
        stage.model.answer = lambda request: Cut(answer(request))
    return stage.ask(is_stream)


class Cut(list):
    """Written, then the connection ends."""

    def __iter__(self):
        yield from list.__iter__(self)
        raise OSError("enough")


@row("a detector cannot answer")
def detector_fails(stage, weir, is_stream):
    answers = []
    for failure in (reply({"code": 422, "message": f"found {MAIL}"}, 422), reply("x"), None):
        detector = Service(lambda request, a=failure: a)
        made = Stage(weir, detector=detector)
        made.model.answer = says("Some words. And more of them.")
        answer = made.ask(is_stream, "far")
        assert "`far`" in error(answer)["message"] and MAIL not in answer.text
        answers.append((answer, None))
        detector.close()
    return answers


@row("more requests wait for a detector")
def detector_overloaded(stage, weir, is_stream):
    """One call at once, nobody may wait: the second request is refused while the first one's hangs."""
    detector = Service(lambda request: HANG)
    model = Service(says("Some words. And more of them."))
    tree = config(model, detector=detector)
    tree["detectors"]["far"] |= {"max_concurrent": 1, "max_waiting": 0}
    w = weir(tree, args=["--workers", "1"])
    body = json.dumps({**ASK, "stream": is_stream}).encode()
    first = w.raw()
    first.request("POST", f"/far{CHAT}", [("content-type", "application/json")], body)
    harness.wait_until(lambda: detector.requests, "the first question")
    answer = w.api.post(f"/far{CHAT}", json={**ASK, "stream": is_stream})
    assert answer.headers["retry-after"] == "1"
    assert "`far`" in error(answer)["message"]
    first.close()
    detector.close()
    return [(answer, None)]


def says(text):
    def answer(request):
        if request.json().get("stream"):
            return events(chunk(text), chunk("", finish_reason="stop"), "[DONE]")
        return reply(completion(text))

    return answer


@row("a chunker cannot answer")
def chunker_fails(stage, weir, is_stream):
    gone = Service()
    made = Stage(weir, chunker=gone)
    gone.close()
    made.model.answer = says("Some words. And more of them.")
    answer = made.ask(is_stream, "cut")
    assert "`cuts`" in error(answer)["message"]
    return [(answer, None)]


@row("an answer holds more")
def held(stage, weir, is_stream):
    made = Stage(weir, limits={"max_held_bytes_per_stream": 4096})
    made.model.answer = lambda request: events(*[chunk("word " * 50)] * 40, "[DONE]")
    return [(made.ask(True, "doc"), None)]


@row("limits.max_held_bytes_total")
def full(stage, weir, is_stream):
    made = Stage(weir, limits={"max_held_bytes_total": 1 << 20, "max_body_bytes": 8 << 20})
    answer = made.ask(is_stream, body={**ASK, "user": "x" * (4 << 20)})
    assert answer.headers["retry-after"] == "1"
    return [(answer, None)]


def test_every_row_is_provoked():
    assert PROVOKED.keys() == ROWS.keys()


@pytest.mark.parametrize("is_stream", MODES)
@pytest.mark.parametrize("what", PROVOKED)
def test_a_row(stage, silent, weir, what, is_stream):
    status, type, code = ROWS[what]
    for answer, upstream in PROVOKED[what](silent if "in time" in what else stage, weir, is_stream):
        expected = upstream if upstream is not None and status == "the same" else int(status)
        assert answer.status_code == expected, answer.text
        told = error(answer)
        assert told["type"] == type
        assert told["code"] == (f"c_{upstream}" if code == "its own" else code)
        assert "x-weir-route" in answer.headers or expected in (401, 404)
        method, path = answer.request.method, answer.request.url.path
        if openapi.operation(method, path) is not None:
            assert openapi.answer_faults(method, path, answer) == []


# --- what of a model server's error is passed on ---

LIMITS = [("Retry-After", "7"), ("X-RateLimit-Remaining-Requests", "0"), ("x-ratelimit-reset", "6m0s"),
          ("x-internal", "10.0.0.1"), ("x-ratelimit-note", "{hm}"), ("set-cookie", "a=b")]  # fmt: skip


@pytest.mark.parametrize("is_stream", MODES)
@pytest.mark.parametrize("route", ["default", "redact", "block"])
def test_headers_that_say_when_to_come_again(stage, route, is_stream):
    stage.model.answer = lambda request: reply({"error": {"message": "slow"}}, 429, headers=LIMITS)
    answer = stage.ask(is_stream, route)
    assert answer.status_code == 429 and answer.headers["retry-after"] == "7"
    assert answer.headers["x-ratelimit-remaining-requests"] == "0"
    assert answer.headers["x-ratelimit-reset"] == "6m0s"
    assert not {"x-internal", "x-ratelimit-note", "set-cookie"} & answer.headers.keys()


@pytest.mark.parametrize("is_stream", MODES)
def test_error_text_is_text(stage, is_stream):
    body = {"error": {"message": f"bad value {MAIL} here", "param": "messages[0].content", "code": 4}}
    stage.model.answer = lambda request: reply(body, 400)
    told = {route: error(stage.ask(is_stream, route)) for route in ("default", "redact", "block")}
    assert told["default"]["message"] == f"bad value {MAIL} here"
    assert told["redact"]["message"] == "bad value [email_address] here"
    assert told["block"]["message"] == "[removed]"
    for each in told.values():
        assert (each["param"], each["code"]) == ("messages[0].content", 4)


PLACES = ["message", "code", "param", "type", "extra"]


@pytest.mark.parametrize("is_stream", MODES)
@pytest.mark.parametrize("route", ["redact", "block"])
def test_no_part_of_an_error_carries_a_finding(stage, route, is_stream):
    """A marker in every member, and in every shape of error that servers have."""
    filled = {place: f"{place} {MAIL}" for place in PLACES}
    shapes = [{"error": filled}, {"error": MAIL}, {**filled, "object": "error"}, {"detail": MAIL},
              {"detail": [{"msg": MAIL}]}, {"error": {**filled, "code": MAIL, "param": MAIL}},
              {"error": {"message": {"text": MAIL}, "code": [MAIL]}}, MAIL, [MAIL]]  # fmt: skip
    head = [("retry-after", MAIL), ("x-ratelimit-x", MAIL), (f"x-ratelimit-{MAIL.split('@')[0]}", "1")]
    for shape in shapes:
        for status in (400, 401, 429, 500, 503):
            a = reply(shape, status, headers=head)
            stage.model.answer = lambda request, a=a: a
            answer = stage.ask(is_stream, route)
            assert MAIL not in answer.text, shape
            assert MAIL not in str(answer.headers), shape


# --- in a running stream ---

FAILURE = {"error": {"message": f"no more for {MAIL}", "type": "server_error", "code": "gone"}}


def lines(answer):
    return [line for line in answer.text.split("\n") if line and not line.startswith(":")]


@pytest.mark.parametrize("route", ["default", "redact", "block"])
def test_an_error_event_is_the_last_thing_said(stage, route):
    stage.model.answer = lambda request: events(chunk("Hello there. " * 40), FAILURE)
    answer = stage.ask(True, route)
    assert answer.status_code == 200
    said = lines(answer)
    assert all(line.startswith("data: {") for line in said), said
    told = json.loads(said[-1].removeprefix("data: "))
    assert told.keys() == {"error"} and told["error"].keys() == {"message", "type", "param", "code"}
    assert told["error"]["type"] == "upstream_error" and told["error"]["code"] == "gone"
    if route != "default":
        assert MAIL not in answer.text
    assert "[DONE]" not in answer.text


def test_a_detector_that_fails_in_the_middle(weir):
    def judge(request):
        contents = request.json()["contents"]
        return reply([[] for _ in contents]) if "bad" not in str(contents) else reply({}, 500)

    detector = Service(judge)
    made = Stage(weir, detector=detector)
    made.model.answer = lambda request: events(chunk("Fine words. " * 50), chunk("bad " * 90), "[DONE]")
    answer = made.ask(True, "far")
    told = json.loads(lines(answer)[-1].removeprefix("data: "))["error"]
    assert (told["code"], told["type"]) == ("detector_failed", "guardrail_error")
    assert "Fine words" in answer.text and "bad" not in answer.text and "[DONE]" not in answer.text
    detector.close()


def test_a_model_that_breaks_off(stage):
    stage.model.answer = lambda request: Cut(events(chunk("Hello there. " * 40), end=False))
    told = json.loads(lines(stage.ask(True))[-1].removeprefix("data: "))["error"]
    assert told["code"] == "upstream_invalid"


# --- the log ---


def test_a_callers_mistake_is_no_error_in_the_log(weir):
    made = Stage(weir)
    made.model.answer = lambda request: reply({"error": {"message": "no"}}, 400)
    for body in (ASK, {"model": "m"}):
        made.ask(body=body)
    made.ask(route="nobody")
    made.w.wait_log("service failed", level="INFO")
    warned = [line for line in made.w.log(level="WARN") if line["target"] != "conf"]
    assert not made.w.log(level="ERROR") and not warned


def test_the_api_still_says_what_it_said(stage):
    """docs/api/endpoints.md decides there, and there a model server is asked again."""
    body = {**ASK, "detectors": {"output": {"pii": {}}}}
    stage.model.answer = lambda request: reply({"error": {"message": "no", "code": "c"}}, 429)
    answer = stage.w.api.post("/api/v2/chat/completions-detection", json=body)
    assert (answer.status_code, answer.json().keys()) == (500, {"code", "details"})
    stage.model.answer = lambda request: reply({"error": {"message": "no"}}, 503)
    before = len(stage.model.requests)
    answer = stage.w.api.post("/api/v2/chat/completions-detection", json=body)
    assert answer.status_code == 503 and re.fullmatch("chat completion .*: no", answer.json()["details"])
    assert len(stage.model.requests) > before + 1
