"""`on_detection: annotate` of one detector on a route that redacts, blocks or masks: it holds nothing
back and changes nothing, and what it finds is told behind the text."""

import json
import re

import harness
import messages
import pytest
import responses
import service as services
from service import events, reply
from test_after import Detector

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
MAIL, OTHER = "jane@example.org", "joe@example.com"
PIECES = ("Write to jane@exa", "mple.org. ", "This one is b", "ad. And joe@", "example.com is not. ",
          "A bad end.")  # fmt: skip
SAYS = "".join(PIECES)
ARGUMENTS = json.dumps({"to": MAIL, "note": "so bad"})
REDACTED = SAYS.replace(MAIL, "[email_address]").replace(OTHER, "[email_address]")
ARGUMENTS_REDACTED = json.loads(ARGUMENTS.replace(MAIL, "[email_address]"))


class Tone(Detector):
    """Finds each `bad`, or fails, when the test lets it answer."""

    fails = False

    def judge(self, request):
        if request.path == "/api/v1/text/chat":
            with self.gate:
                self.gate.wait_for(lambda: "" in self.words)
            return reply([{"detection": "mood", "detection_type": "test", "score": 0.9}])
        super().judge(request)
        if self.fails:
            return reply({"code": 422, "message": "no"}, 422)
        return reply([[{"start": m.start(), "end": m.end(), "text": "bad", "score": 0.9,
                        "detection": "bad", "detection_type": "test"} for m in re.finditer("bad", t)]
                      for t in request.json()["contents"]])  # fmt: skip


def chat_events(is_chat):
    for piece in PIECES:
        body = {"delta": {"content": piece}} if is_chat else {"text": piece}
        yield {"id": "1", "created": 1, "model": "m", "choices": [{"index": 0, **body}]}
    if is_chat:
        call = {"index": 0, "id": "t", "type": "function",
                "function": {"name": "send", "arguments": ARGUMENTS}}  # fmt: skip
        yield {"id": "1", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    body = {"delta": {}} if is_chat else {"text": ""}
    yield {"id": "1", "choices": [{"index": 0, **body, "finish_reason": "stop"}]}
    yield "[DONE]"


def whole_chat(is_chat):
    call = {"id": "t", "type": "function", "function": {"name": "send", "arguments": ARGUMENTS}}
    message = {"role": "assistant", "content": SAYS, "tool_calls": [call]}
    body = {"message": message} if is_chat else {"text": SAYS}
    return {"id": "1", "created": 1, "model": "m", "object": "chat.completion",
            "choices": [{"index": 0, **body, "finish_reason": "stop"}]}  # fmt: skip


def answer(request):
    asked = request.json()
    is_stream = asked.get("stream")
    if request.path.endswith("/messages"):
        said = messages.message(messages.text(0, *PIECES), messages.tool(1, "send", ARGUMENTS))
        return messages.stream(said) if is_stream else reply(messages.gather(said))
    if request.path.endswith("/responses"):
        said = responses.answer(responses.say(0, *PIECES), responses.call(1, "send", ARGUMENTS))
        return responses.stream(said) if is_stream else reply(said[-1]["response"])
    is_chat = request.path == CHAT
    return events(*chat_events(is_chat)) if is_stream else reply(whole_chat(is_chat))


class Chat:
    path, has_calls = CHAT, True

    def body(self, text):
        return {"model": "m", "messages": [{"role": "user", "content": text}]}

    def text(self, event):
        return "".join(c.get("delta", {}).get("content") or c.get("text") or "" for c in event.get("choices", []))

    def calls(self, event):
        return "".join(t["function"]["arguments"] for c in event.get("choices", [])
                       for t in c.get("delta", {}).get("tool_calls", []))  # fmt: skip

    def is_end(self, event):
        return any(c.get("finish_reason") for c in event.get("choices", []))

    def of_whole(self, got):
        choice = got["choices"][0]
        message = choice.get("message", {"content": choice.get("text")})
        return message["content"], "".join(c["function"]["arguments"] for c in message.get("tool_calls", []))

    def told(self, carriers):
        """(channel, start, end) of what `tone` has found."""
        return [(entry.get("channel", "content"), r.get("start"), r.get("end")) for c in carriers
                for entry in c.get("detections", {}).get("output", []) for r in entry["results"]
                if r["detector_id"] == "tone"]  # fmt: skip


class Completions(Chat):
    path, has_calls = COMPLETIONS, False

    def body(self, text):
        return {"model": "m", "prompt": text}


class Messages(Chat):
    path = messages.PATH

    def body(self, text):
        return {**super().body(text), "max_tokens": 9}

    def text(self, event):
        return event.get("delta", {}).get("text") or ""

    def calls(self, event):
        return event.get("delta", {}).get("partial_json") or ""

    def is_end(self, event):
        return event["type"] == "message_delta"

    def of_whole(self, got):
        texts = [b["text"] for b in got["content"] if b["type"] == "text"]
        return "".join(texts), "".join(json.dumps(b["input"]) for b in got["content"] if b["type"] == "tool_use")


class Responses(Chat):
    path = responses.PATH

    def body(self, text):
        return {"model": "m", "input": text}

    def text(self, event):
        return event["delta"] if event["type"] == "response.output_text.delta" else ""

    def calls(self, event):
        return event["delta"] if event["type"] == "response.function_call_arguments.delta" else ""

    def is_end(self, event):
        return event["type"] in responses.ENDINGS

    def of_whole(self, got):
        return responses.text_of(got), "".join(i.get("arguments", "") for i in got["output"])

    def told(self, carriers):
        return super().told([c.get("response", c) for c in carriers])


DIALECTS = [Chat(), Completions(), Messages(), Responses()]
IDS = [type(d).__name__ for d in DIALECTS]


class Stream:
    def __init__(self, w, dialect, route, text="Hi", **more):
        self.dialect = dialect
        body = {**dialect.body(text), "stream": True, **more}
        self.context = w.api.stream("POST", f"/{route}{dialect.path}", json=body)
        self.answer = self.context.__enter__()
        self.lines = self.answer.iter_lines()
        self.events, self.text, self.calls = [], "", ""

    def read_until(self, done):
        for line in self.lines:
            if line.startswith("data: {"):
                event = json.loads(line[6:])
                self.events.append(event)
                if "error" not in event:
                    self.text += self.dialect.text(event)
                    self.calls += self.dialect.calls(event)
            if done(self):
                return True
        self.context.__exit__(None, None, None)
        return False

    def read_all(self):
        assert not self.read_until(lambda s: False)

    def is_ended(self):
        return any("error" not in e and self.dialect.is_end(e) for e in self.events)

    def told(self):
        return self.dialect.told(self.events)


def route(name, action, tone="tone", **more):
    sides = {"mail": {}, tone: {"on_detection": "annotate", "threshold": 0.5}}
    return {"name": name, "on_detection": action, "input": sides, "output": sides,
            "fallback_message": "No.", **more}  # fmt: skip


@pytest.fixture(scope="module")
def server(module_weir):
    detector, model = Tone(), services.Service(answer)
    tone = {"type": "text_contents", "service": detector.config(), "chunker_id": "sentences"}
    config = {
        "openai": {"service": model.config()},
        "chunkers": {"sentences": {"builtin": "sentence"}},
        "detectors": {"mail": {"type": "text_contents", "builtin": "regex",
                               "params": {"regex": ["email"]}},
                      "tone": tone, "hole": {**tone, "on_error": "skip"},
                      "doc": {**tone, "chunker_id": "whole_doc_chunker"},
                      "mood": {"type": "text_chat", "service": detector.config()}},
        "cache": False,
        "routes": [
            route("redact", "redact"),
            {**route("block", "block"), "output": {"keys": {}, "tone": {"on_detection": "annotate"}}},
            route("mask", "mask", mask={"key_env": "MASK_KEY", "scope": "route"}),
            route("hole", "redact", tone="hole"),
            route("doc", "redact", tone="doc"),
            {"name": "mood", "on_detection": "redact",
             "output": {"mail": {}, "mood": {"on_detection": "annotate"}}},
            {"name": "asked", "on_detection": "block",
             "input": {"mail": {}, "mood": {"on_detection": "annotate"}}},
            {"name": "alone", "on_detection": "redact",
             "output": {"tone": {"on_detection": "annotate"}}},
        ],
    }  # fmt: skip
    config["detectors"]["keys"] = {"type": "text_contents", "builtin": "secrets"}
    w = module_weir(config, args=["--workers", "1"], env={"MASK_KEY": "k" * 40})
    w.detector, w.model = detector, model
    return w


@pytest.fixture
def stage(server):
    server.detector.words = {"Hi"}
    server.detector.fails = False
    yield server
    server.detector.let_all()


def assert_told(dialect, told, text):
    """Both of the text, where they are in it, and the one of the tool call."""
    spans = [(start, end) for channel, start, end in told if channel in ("content", "text")]
    assert sorted(spans) == [(m.start(), m.end()) for m in re.finditer("bad", text)], told
    calls = [t for t in told if t[0] in ("tool_calls", "input_json", "arguments")]
    assert len(calls) == dialect.has_calls and len(told) == len(spans) + len(calls), told


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
def test_text_and_calls_leave_while_it_is_silent(stage, dialect):
    s = Stream(stage, dialect, "redact")
    all_said = lambda s: s.text == REDACTED and bool(s.calls) == dialect.has_calls  # noqa: E731
    assert s.read_until(all_said), s.text
    assert not s.told() and not s.is_ended()
    if dialect.has_calls:
        assert json.loads(s.calls) == ARGUMENTS_REDACTED
    stage.detector.let_all()
    assert s.read_until(lambda s: s.is_ended())
    assert_told(dialect, s.told(), s.text)
    s.read_all()
    assert s.text == REDACTED
    results = re.findall(r'\{[^{}]*"detector_id":"tone"[^{}]*\}', json.dumps(s.events, separators=(",", ":")))
    assert results and not any('"text"' in r for r in results)


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
@pytest.mark.parametrize("name", ["redact", "doc"])
def test_whole_answers_say_the_same(stage, dialect, name):
    stage.detector.let_all()
    got = stage.api.post(f"/{name}{dialect.path}", json=dialect.body("Hi"))
    assert got.status_code == 200, got.text
    text, calls = dialect.of_whole(got.json())
    assert text == REDACTED
    told = dialect.told([json.loads(got.text.replace('"doc"', '"tone"'))])
    assert_told(dialect, told, text)
    assert not dialect.has_calls or json.loads(calls) == ARGUMENTS_REDACTED
    assert got.headers["x-weir-action"] == "redact"


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
def test_detectors_of_the_whole_hold_nothing_either(stage, dialect):
    s = Stream(stage, dialect, "doc")
    assert s.read_until(lambda s: s.text == REDACTED and bool(s.calls) == dialect.has_calls), s.text
    assert not s.is_ended()
    stage.detector.let_all()
    s.read_all()
    told = dialect.told(json.loads(json.dumps(s.events).replace('"doc"', '"tone"')))
    assert_told(dialect, told, s.text)


def test_detectors_of_the_conversation(stage):
    """On others' routes a finding without a place blocks."""
    s = Stream(stage, DIALECTS[0], "mood")
    assert s.read_until(lambda s: s.text == REDACTED and s.calls), s.text
    assert not s.is_ended()
    stage.detector.let_all()
    s.read_all()
    assert s.is_ended() and "content_filter" not in json.dumps(s.events)
    got = stage.api.post(f"/mood{CHAT}", json=DIALECTS[0].body("Hi")).json()
    for carriers in (s.events, [got]):
        found = [r["detection"] for c in carriers for e in c.get("detections", {}).get("output", [])
                 for r in e["results"] if r["detector_id"] == "mood"]  # fmt: skip
        assert found == ["mood"]
    asked = stage.api.post(f"/asked{CHAT}", json=DIALECTS[0].body("Hi"))
    assert asked.headers["x-weir-action"] == "annotate"
    (entry,) = asked.json()["detections"]["input"]
    assert [r["detection"] for r in entry["results"]] == ["mood"]


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
def test_it_does_not_block(stage, dialect):
    stage.detector.let_all()
    got = stage.api.post(f"/block{dialect.path}", json=dialect.body("Hi"))
    assert dialect.of_whole(got.json())[0] == SAYS
    assert got.headers["x-weir-action"] == "annotate"
    s = Stream(stage, dialect, "block")
    s.read_all()
    assert s.text == SAYS
    for told in (dialect.told([got.json()]), s.told()):
        assert_told(dialect, told, SAYS)


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
def test_where_the_route_masks_spans_count_in_what_the_caller_reads(stage, dialect):
    stage.detector.let_all()
    asked = f"I am {MAIL}, my day is bad."
    expected = SAYS.replace(OTHER, "[email_address]")

    def with_tokens(request):
        token = re.search(r"EMAIL_ADDRESS_\w{10}", request.body.decode())[0]
        made = answer(request)
        data = made if isinstance(made, bytes) else b"".join(made)
        head, body = data.decode().split("\r\n\r\n", 1)
        if "chunked" in head:
            lines = [e for e in re.findall(r"(?:event: .*\n)?data: .*\n\n", body)]
            body = "".join(lines)
            body = body.replace("jane@exa", token[:9]).replace("mple.org", token[9:])
            body = body.replace(MAIL, token).encode()
            return (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(body)) + body
        return reply(body.replace(MAIL, token))

    stage.model.answer = with_tokens
    try:
        got = stage.api.post(f"/mask{dialect.path}", json=dialect.body(asked))
        assert got.status_code == 200, got.text
        s = Stream(stage, dialect, "mask", asked)
        s.read_all()
    finally:
        stage.model.answer = answer
    sent = stage.model.requests[-1].body.decode()
    assert MAIL not in sent and "bad" in sent
    assert dialect.of_whole(got.json())[0] == expected and s.text == expected
    for told in (dialect.told([got.json()]), s.told()):
        assert_told(dialect, told, expected)


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
@pytest.mark.parametrize("name", ["redact", "block", "mask"])
def test_a_question_goes_on(stage, dialect, name):
    stage.detector.let_all()
    mail = "" if name == "block" else f" of {MAIL}"
    got = stage.api.post(f"/{name}{dialect.path}", json=dialect.body(f"A bad day{mail}."))
    assert got.status_code == 200, got.text
    sent = stage.model.requests[-1].body.decode()
    assert "A bad day" in sent and MAIL not in sent
    found = [r for e in got.json()["detections"]["input"] for r in e["results"]]
    assert {r["detector_id"] for r in found} == ({"tone"} if name == "block" else {"tone", "mail"})
    (tone,) = [r for r in found if r["detector_id"] == "tone"]
    assert (tone["start"], tone["end"]) == (2, 5) and "text" not in tone


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
def test_its_failure_is_what_on_error_says(stage, dialect):
    for name in ("hole", "redact"):
        s = Stream(stage, dialect, name)
        assert s.read_until(lambda s: s.text == REDACTED), s.text
        stage.detector.fails = True
        stage.detector.let_all()
        s.read_all()
        assert s.is_ended() == (name == "hole"), s.events
        assert ("DETECTOR_SKIPPED" in json.dumps(s.events)) == (name == "hole")
        assert bool(re.search("detector_failed|api_error", json.dumps(s.events))) == (name == "redact")
        stage.detector.fails, stage.detector.words = False, {"Hi"}
    stage.detector.fails = True
    stage.detector.let_all()
    got = stage.api.post(f"/hole{dialect.path}", json=dialect.body("Hi"))
    assert got.status_code == 200 and "DETECTOR_SKIPPED" in got.text, got.text
    assert stage.api.post(f"/redact{dialect.path}", json=dialect.body("Hi")).status_code == 502


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
def test_a_caller_that_leaves_leaves_nothing_open(stage, dialect):
    s = Stream(stage, dialect, "redact")
    assert s.read_until(lambda s: s.text == REDACTED)
    s.context.__exit__(None, None, None)

    def value(name):
        lines = stage.health.get("/metrics").text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))

    harness.wait_until(lambda: value("weir_streams_active") == 0, "the stream to end")
    harness.wait_until(lambda: value("weir_held_bytes") < 32768, "held text to go")


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
def test_a_route_may_have_no_other_detector(stage, dialect):
    stage.detector.let_all()
    got = stage.api.post(f"/alone{dialect.path}", json=dialect.body("Hi"))
    assert dialect.of_whole(got.json())[0] == SAYS
    assert got.headers["x-weir-guarded"].split("; ")[1] == "output=none"
    s = Stream(stage, dialect, "alone")
    s.read_all()
    assert s.text == SAYS
    assert_told(dialect, s.told(), SAYS)


LONG = [f"Sentence {i} of a long answer that nobody minds. " * 20 for i in range(400)]


def long_answer(request):
    if request.path.endswith("/messages"):
        return messages.stream(messages.message(messages.text(0, *LONG)))
    if request.path.endswith("/responses"):
        return responses.stream(responses.answer(responses.say(0, *LONG)))
    is_chat = request.path == CHAT
    said = [{"delta": {"content": p}} if is_chat else {"text": p} for p in LONG]
    said.append({"delta": {}, "finish_reason": "stop"} if is_chat else {"text": "", "finish_reason": "stop"})
    return events(*({"id": "1", "choices": [{"index": 0, **one}]} for one in said), "[DONE]")


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
def test_one_that_is_far_behind_is_waited_for(weir, dialect):
    """More than may be held waits for it alone: the model is not read on, and nothing fails."""
    detector = Tone()
    detector.words = {"Hi"}
    w = weir({"openai": {"service": services.Service(long_answer).config()},
              "chunkers": {"sentences": {"builtin": "sentence"}}, "cache": False,
              "detectors": {"mail": {"type": "text_contents", "builtin": "regex", "params": {"regex": ["email"]}},
                            "tone": {"type": "text_contents", "service": detector.config(),
                                     "chunker_id": "sentences"}},
              "limits": {"max_held_bytes_per_stream": 65536}, "routes": [route("redact", "redact")]},
             args=["--workers", "1"])  # fmt: skip
    s = Stream(w, dialect, "redact")
    assert s.read_until(lambda s: len(s.text) > 50000), s.events[-1]
    detector.let_all()
    s.read_all()
    assert s.text == "".join(LONG) and s.is_ended(), s.events[-1]


def test_it_is_counted_as_told(stage):
    stage.detector.let_all()
    name = ('weir_findings_total{route="block",side="output",channel="content",detector="tone",'
            'detection="test",action="annotate"} ')  # fmt: skip

    def count():
        lines = stage.health.get("/metrics").text.splitlines()
        return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))

    before = count()
    stage.api.post(f"/block{CHAT}", json=DIALECTS[0].body("Hi"))
    assert count() == before + 2
    assert 'detector="tone",detection="test",action="block"' not in stage.health.get("/metrics").text


def test_what_is_wrong_is_said(weir):
    for action, own, why in (
        ("redact", "block", "cannot `block` on a route that has `on_detection: redact`: it may `annotate`"),
        ("annotate", "block", "cannot `block` on a route that has `on_detection: annotate`"),
        ("redact", "tell", "`on_detection` must be"),
        ("redact", "annotate", "and each of its detectors annotates"),
        ("redact", "redact", None),
        ("annotate", "annotate", None),
    ):
        tree = {"openai": {"builtin": "demo"},
                "detectors": {"pii": {"type": "text_contents", "builtin": "secrets"}},
                "routes": [{"name": "a", "on_detection": action,
                            "output": {"pii": {"on_detection": own}}}]}  # fmt: skip
        done = weir.run("--check-config", "--config", weir.write_config(tree))
        out = done.stdout.decode() + done.stderr.decode()
        assert (done.returncode == 0) == (why is None or own == "annotate"), out
        assert why is None or why in out, out
