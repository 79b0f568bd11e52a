"""`output_check: after`: text leaves while the answers of detector services are still to come."""

import contextlib
import json
import socket
import threading

import pytest
import service as services
from service import events, reply

CHAT = "/v1/chat/completions"
BOUND = 20
FIRST = "All is well so far. "  # as long as the bound
SAYS = FIRST + "This one is bad. And it goes on for a while."


class Detector(services.Service):
    """Finds `bad`, and answers for a text only when the test says so."""

    def __init__(self):
        self.gate = threading.Condition()
        self.words = set()  # a text with one of them is answered for
        self.asked = []
        super().__init__(self.judge)

    def judge(self, request):
        if request.path != "/api/v1/text/contents":
            return reply({"status": "ok"})
        texts = request.json()["contents"]
        self.asked += texts
        with self.gate:
            self.gate.wait_for(lambda: all(any(w in t for w in self.words) for t in texts))
        return reply([[{"start": t.find("bad"), "end": t.find("bad") + 3, "text": "bad",
                        "score": 0.9, "detection": "bad", "detection_type": "test"}]
                      if "bad" in t else [] for t in texts])  # fmt: skip

    def let(self, *words):
        with self.gate:
            self.words |= set(words)
            self.gate.notify_all()

    def let_all(self):
        self.let("")


def chat_events(request):
    asked = request.json()
    if request.path.endswith("/messages"):
        yield from message_events()
        return
    is_chat = "messages" in asked
    for at in range(0, len(SAYS), 5):
        piece = SAYS[at : at + 5]
        body = {"delta": {"content": piece}} if is_chat else {"text": piece}
        yield {"id": "1", "created": 1, "model": "m", "choices": [{"index": 0, **body}]}
    body = {"delta": {}} if is_chat else {"text": ""}
    yield {"id": "1", "choices": [{"index": 0, **body, "finish_reason": "stop"}]}
    yield "[DONE]"


def message_events():
    yield {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
                                                "model": "m", "content": [], "usage": {}}}  # fmt: skip
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for at in range(0, len(SAYS), 5):
        delta = {"type": "text_delta", "text": SAYS[at : at + 5]}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}
    yield {"type": "message_stop"}


def answer(request):
    asked = request.json()
    if asked.get("stream"):
        return events(*chat_events(request))
    message = {"role": "assistant", "content": SAYS}
    return reply({"id": "1", "created": 1, "model": "m", "object": "chat.completion",
                  "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})  # fmt: skip


def config(model, detector, **route):
    after = {"output": {"far": {}}, "output_check": "after", "max_exposed_chars": BOUND, **route}
    return {
        "openai": {"service": model.config()},
        "detectors": {"far": {"type": "text_contents", "service": detector.config(),
                              "chunker_id": "sentences"},
                      "near": {"type": "text_contents", "builtin": "secrets"}},
        "chunkers": {"sentences": {"builtin": "sentence"}},
        "cache": False,
        "routes": [{"name": "default", **after},
                   {"name": "block", **after, "on_detection": "block", "fallback_message": "No."},
                   {"name": "both", **after, "output": {"far": {}, "near": {}}}],
    }  # fmt: skip


@pytest.fixture(scope="module")
def server(module_weir):
    detector = Detector()
    w = module_weir(config(services.Service(answer), detector), args=["--workers", "1"])
    w.detector = detector
    return w


@pytest.fixture
def stage(server):
    server.detector.words = set()
    server.detector.answer = server.detector.judge
    yield server
    server.detector.let_all()


def text_of(event):
    if "choices" in event:
        choice = event["choices"][0]
        return choice.get("delta", {}).get("content") or choice.get("text") or ""
    return event.get("delta", {}).get("text") or ""


class Stream:
    """An answer, read as far as the test wants."""

    def __init__(self, w, path, body):
        self.context = w.api.stream("POST", path, json={**body, "stream": True})
        self.answer = self.context.__enter__()
        self.lines = self.answer.iter_lines()
        self.events = []
        self.text = ""

    def read_until(self, done):
        for line in self.lines:
            if line.startswith("data: {"):
                event = json.loads(line[6:])
                self.events.append(event)
                self.text += text_of(event)
            if done(self):
                return
        assert done(self), self.text

    def read_all(self):
        for line in self.lines:
            if line.startswith("data: {"):
                event = json.loads(line[6:])
                self.events.append(event)
                self.text += text_of(event)
        self.context.__exit__(None, None, None)

    def found(self):
        return [r for e in self.events for entry in e.get("detections", {}).get("output", [])
                for r in entry["results"]]  # fmt: skip


def questions(route):
    prefix = f"/{route}" if route else ""
    say = [{"role": "user", "content": "Hi"}]
    return [(prefix + CHAT, {"model": "m", "messages": say}),
            (prefix + "/v1/completions", {"model": "m", "prompt": "Hi"}),
            (prefix + "/v1/messages", {"model": "m", "max_tokens": 9, "messages": say})]  # fmt: skip


@pytest.mark.parametrize("which", range(3))
def test_a_finding_in_what_has_left_ends_the_choice(stage, which):
    path, body = questions("block")[which]
    s = Stream(stage, path, body)
    assert s.answer.headers["x-weir-guarded"].split("; ")[1].startswith(f"output=after<={BOUND},")
    s.read_until(lambda s: len(s.text) >= BOUND)
    assert s.text == SAYS[:BOUND]  # nobody has answered yet
    stage.detector.let("well")
    s.read_until(lambda s: len(s.text) >= 2 * BOUND)
    assert s.text == SAYS[: 2 * BOUND]  # the first sentence was clean
    stage.detector.let("bad")
    s.read_all()
    assert s.text in (SAYS[: 2 * BOUND] + "\n\nNo.", SAYS[: 2 * BOUND] + "No.")
    at = SAYS.index("bad")
    told = {(r["start"], r["end"], r["exposed"]) for r in s.found()}
    assert told == {(at, at + 3, 2 * BOUND - at)}
    assert all("text" not in r for r in s.found())


@pytest.mark.parametrize("which", range(3))
def test_annotate_tells_it_on_the_next_event(stage, which):
    path, body = questions(None)[which]
    s = Stream(stage, path, body)
    s.read_until(lambda s: len(s.text) >= BOUND)
    assert s.text == SAYS[:BOUND]
    stage.detector.let("well")
    s.read_until(lambda s: len(s.text) >= 2 * BOUND)
    assert s.text == SAYS[: 2 * BOUND] and not s.found()
    stage.detector.let("bad")
    s.read_until(lambda s: s.found())
    at = SAYS.index("bad")
    assert s.found()[0]["exposed"] == 2 * BOUND - at and s.found()[0]["text"] == "bad"
    assert s.text == SAYS[: 2 * BOUND]  # told before anything else is said
    stage.detector.let_all()
    s.read_all()
    assert s.text == SAYS


@pytest.mark.parametrize("which", range(3))
def test_a_detector_that_reads_along_does_not_answer_for_it(stage, which):
    path, body = questions("both")[which]
    s = Stream(stage, path, body)
    s.read_until(lambda s: len(s.text) >= BOUND - 5)  # the words before, and what is clipped
    stage.detector.let("well")
    s.read_until(lambda s: len(s.text) >= 2 * BOUND - 5)
    assert len(s.text) <= 2 * BOUND  # its mark is further, that of the service is not
    stage.detector.let_all()
    s.read_all()
    assert s.text == SAYS and {r["text"] for r in s.found()} == {"bad"}


def test_whole_answers_expose_nothing(stage):
    stage.detector.let_all()
    path, body = questions("block")[0]
    got = stage.api.post(path, json=body).json()
    assert got["choices"][0]["message"]["content"] == "No."
    (result,) = got["detections"]["output"][0]["results"]
    assert "exposed" not in result


def test_where_json_was_asked_for_nothing_is_exposed(stage):
    path, body = questions("block")[0]
    stage.detector.let_all()
    s = Stream(stage, path, {**body, "response_format": {"type": "json_object"}})
    s.read_all()
    assert s.text == "" and s.found()
    assert not any("exposed" in r for r in s.found())


def test_a_detector_that_fails_ends_the_stream(stage):
    path, body = questions("block")[0]
    s = Stream(stage, path, body)
    s.read_until(lambda s: len(s.text) >= BOUND)
    stage.detector.answer = lambda request: None
    for connection in list(stage.detector.connections):
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
    s.read_all()
    assert s.text == SAYS[:BOUND]
    assert s.events[-1]["error"]["code"] == "detector_failed"


def test_it_is_counted(stage):
    def count(what):
        name = f'weir_exposed_characters_{what}{{route="block"}} '
        lines = stage.health.get("/metrics").text.splitlines()
        return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))

    before = count("sum"), count("count")
    path, body = questions("block")[0]
    s = Stream(stage, path, body)
    s.read_until(lambda s: len(s.text) >= BOUND)
    stage.detector.let("well")
    s.read_until(lambda s: len(s.text) >= 2 * BOUND)
    stage.detector.let_all()
    s.read_all()
    exposed = 2 * BOUND - SAYS.index("bad")
    assert (count("sum"), count("count")) == (before[0] + exposed, before[1] + 1)


def test_where_it_makes_no_sense_it_is_refused(weir):
    detector = Detector()
    model = services.Service(answer)
    for more, why in (
        ({"on_detection": "redact"}, "cannot be used with `on_detection: redact`"),
        ({"output": {"pii": {}}}, "none of its output detectors is a service that looks at chunks"),
        ({"output": {"doc": {}}}, "none of its output detectors is a service that looks at chunks"),
        ({"output": {"along": {}}}, "none of its output detectors is a service that looks at chunks"),
        ({"max_exposed_chars": 0}, "max_exposed_chars"),
    ):
        tree = config(model, detector, **more)
        tree["routes"] = tree["routes"][:1]
        tree["detectors"]["pii"] = {"type": "text_contents", "builtin": "secrets"}
        tree["detectors"]["doc"] = {**tree["detectors"]["far"], "chunker_id": "whole_doc_chunker"}
        along = {"type": "text_contents", "protocol": "stream", "service": detector.config()}
        tree["detectors"]["along"] = along  # readers always hold
        done = weir.run("--check-config", "--config", weir.write_config(tree))
        assert done.returncode != 0 and why in done.stdout.decode() + done.stderr.decode()
