"""`input_check: beside`: the model is asked while detector services look at the question."""

import json
import socket
import threading

import harness
import pytest
import responses
import service as services
from service import events, reply

SAY = [{"role": "user", "content": "Is this good?"}]
BAD = [{"role": "user", "content": "Is this bad?"}]


class Detector(services.Service):
    """Finds `bad`, and answers only when the test says so."""

    def __init__(self):
        self.gate = threading.Event()
        super().__init__(self.judge)

    def judge(self, request):
        if request.path != "/api/v1/text/contents":
            return reply({"status": "ok"})
        self.gate.wait(harness.PATIENCE)
        return reply([[{"start": t.find("bad"), "end": t.find("bad") + 3, "text": "bad",
                        "score": 0.9, "detection": "bad", "detection_type": "test"}]
                      if "bad" in t else [] for t in request.json()["contents"]])  # fmt: skip


class Model(services.Service):
    """Answers at once; `gone` is set when its caller breaks off."""

    def __init__(self):
        self.status = 200
        self.hangs = False
        self.gone = threading.Event()
        super().__init__(self.say)

    def say(self, request):
        if self.hangs:
            return services.HANG
        if self.status != 200:
            return reply({"error": {"message": "too much", "code": "full"}}, self.status)
        asked = request.json()
        if request.path.endswith("/messages"):
            return self.message(asked)
        if request.path.endswith("/responses"):
            said = responses.answer(responses.say(0, "Yes."))
            return responses.stream(said) if asked.get("stream") else reply(said[-1]["response"])
        if asked.get("stream"):
            said = [{"delta": {"content": "Yes."}}, {"delta": {}, "finish_reason": "stop"}]
            return events(*({"id": "1", "choices": [{"index": 0, **c}]} for c in said), "[DONE]")
        part = ({"message": {"role": "assistant", "content": "Yes."}} if "messages" in asked
                else {"text": "Yes."})  # fmt: skip
        return reply({"id": "1", "object": "x", "created": 1, "model": "m",
                      "choices": [{"index": 0, **part, "finish_reason": "stop"}]})  # fmt: skip

    def message(self, asked):
        head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "usage": {}}
        if not asked.get("stream"):
            content = [{"type": "text", "text": "Yes."}]
            return reply({**head, "content": content, "stop_reason": "end_turn"})
        return events(
            {"type": "message_start", "message": {**head, "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
            {"type": "message_stop"})  # fmt: skip

    def exchange(self, stream):
        goes_on = super().exchange(stream)
        if not goes_on:
            self.gone.set()
        return goes_on

    def asked(self):
        return [r for r in self.requests if r.method == "POST"]


def config(model, detector):
    beside = {"input": {"far": {}}, "input_check": "beside"}
    return {
        "openai": {"service": model.config()},
        "detectors": {"far": {"type": "text_contents", "service": detector.config(),
                              "chunker_id": "whole_doc_chunker"}},
        "routes": [{"name": "default", **beside},
                   {"name": "block", **beside, "on_detection": "block", "fallback_message": "No.",
                    "history_findings": "block"}],
    }  # fmt: skip


@pytest.fixture(scope="module")
def server(module_weir):
    detector, model = Detector(), Model()
    w = module_weir(config(model, detector), args=["--workers", "1"])
    w.detector, w.model = detector, model
    return w


@pytest.fixture
def stage(server):
    server.detector.gate.clear()
    server.detector.answer = server.detector.judge
    server.model.status, server.model.hangs = 200, False
    server.model.gone.clear()
    server.model.requests.clear()
    yield server
    server.detector.gate.set()


class Asking(threading.Thread):
    """A question whose answer is waited for elsewhere."""

    def __init__(self, w, path, body):
        super().__init__(daemon=True)
        self.w, self.path, self.body = w, path, body
        self.answer = None
        self.start()

    def run(self):
        self.answer = self.w.api.post(self.path, json=self.body)

    def get(self):
        self.join(2 * harness.PATIENCE)
        assert self.answer is not None
        return self.answer


def question(route, kind, stream, messages=None):
    prefix = f"/{route}" if route else ""
    body = {"model": "m", "stream": stream}
    messages = messages or SAY
    if kind == "chat":
        return prefix + "/v1/chat/completions", {**body, "messages": messages}
    if kind == "completions":
        return prefix + "/v1/completions", {**body, "prompt": messages[0]["content"]}
    if kind == "responses":
        return prefix + responses.PATH, {**body, "input": messages}
    return prefix + "/v1/messages", {**body, "max_tokens": 9, "messages": messages}


KINDS = [(kind, stream) for kind in ("chat", "completions", "messages", "responses") for stream in (False, True)]


@pytest.mark.parametrize("kind,stream", KINDS)
def test_the_model_is_asked_at_once_and_heard_later(stage, kind, stream):
    asking = Asking(stage, *question("block", kind, stream))
    harness.wait_until(stage.model.asked, "the model to be asked")
    assert asking.answer is None
    stage.detector.gate.set()
    answer = asking.get()
    assert answer.status_code == 200 and "Yes." in answer.text
    assert answer.headers["x-weir-guarded"].startswith("input=beside,user,")
    assert len(stage.model.asked()) == 1


@pytest.mark.parametrize("kind,stream", KINDS)
def test_what_is_found_ends_it(stage, kind, stream):
    stage.model.hangs = True
    asking = Asking(stage, *question("block", kind, stream, BAD))
    harness.wait_until(stage.model.asked, "the model to be asked")
    stage.detector.gate.set()
    answer = asking.get()
    assert answer.status_code == 200 and "No." in answer.text and "Yes." not in answer.text
    harness.wait_until(stage.model.gone.is_set, "the model's request to be reset")
    assert len(stage.model.asked()) == 1


@pytest.mark.parametrize("kind,stream", KINDS)
def test_a_fast_answer_is_thrown_away(stage, kind, stream):
    asking = Asking(stage, *question("block", kind, stream, BAD))
    harness.wait_until(stage.model.asked, "the model to be asked")
    stage.detector.gate.set()
    answer = asking.get()
    assert "No." in answer.text and "Yes." not in answer.text


@pytest.mark.parametrize("kind,stream", KINDS)
def test_annotate_tells_it(stage, kind, stream):
    asking = Asking(stage, *question(None, kind, stream, BAD))
    harness.wait_until(stage.model.asked, "the model to be asked")
    stage.detector.gate.set()
    answer = asking.get().text.replace(" ", "")
    assert "Yes." in answer and answer.count('"detections":{"input":') == 1
    assert answer.count('"detection":"bad"') == 1


def test_an_error_of_the_model_waits(stage):
    stage.model.status = 429
    asking = Asking(stage, *question("block", "chat", False))
    harness.wait_until(stage.model.asked, "the model to be asked")
    assert asking.answer is None
    stage.detector.gate.set()
    assert asking.get().status_code == 429
    stage.detector.gate.clear()
    asking = Asking(stage, *question("block", "chat", False, BAD))
    harness.wait_until(lambda: len(stage.model.asked()) == 2, "the model to be asked")
    stage.detector.gate.set()
    answer = asking.get()
    assert answer.status_code == 200 and "No." in answer.text  # not a word of the model's


def test_a_detector_that_fails_ends_it(stage):
    stage.model.hangs = True
    stage.detector.answer = lambda request: reply({"code": 500, "message": "no"}, 500)
    answer = Asking(stage, *question("block", "chat", False)).get()
    assert answer.status_code == 502 and answer.json()["error"]["code"] == "detector_failed"
    if stage.model.asked():
        harness.wait_until(stage.model.gone.is_set, "the model's request to be reset")


def test_a_caller_who_goes(stage):
    stage.model.hangs = True
    path, body = question("block", "chat", False)
    body = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", stage.ports["api"])) as caller:
        caller.sendall(head.encode() + f"content-length: {len(body)}\r\n\r\n".encode() + body)
        harness.wait_until(stage.model.asked, "the model to be asked")
    harness.wait_until(stage.model.gone.is_set, "the model's request to be reset")


@pytest.mark.parametrize("member,value,names", [
    ("store", True, "/store"),
    ("background", True, "/background"),
    ("web_search_options", {}, "/web_search_options"),
    ("tools", [{"type": "function", "function": {"name": "f"}}, {"type": "web_search"}], "/tools/1"),
    ("tools", [{"type": "code_execution_20250522", "name": "code_execution"}], "/tools/0"),
    ("tools", [{"type": "function", "name": "f"}, {"type": "mcp", "server_label": "s"}], "/tools/1"),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_what_acts_by_itself_is_refused(stage, kind, member, value, names):
    route = "block" if kind == "chat" else None  # which keeps no responses at all
    path, body = question(route, kind, False)
    answer = stage.api.post(path, json={**body, member: value})
    assert answer.status_code == 422 and f"`{names}`" in answer.json()["error"]["message"]
    assert not stage.model.asked()


def test_what_does_not_act_is_not(stage):
    stage.detector.gate.set()
    path, body = question("block", "chat", False)
    more = {"store": False, "tools": [{"type": "function", "function": {"name": "f"}}]}
    assert stage.api.post(path, json={**body, **more}).status_code == 200


@pytest.mark.parametrize("route", [None, "block"])
@pytest.mark.parametrize("stream", [False, True])
def test_responses_are_not_kept(stage, route, stream):
    """Without `store` a model server keeps the response, of a question nobody has judged yet."""
    stage.detector.gate.set()
    path, body = question(route, "responses", stream)
    assert stage.api.post(path, json=body).status_code == 200
    assert [asked.json()["store"] for asked in stage.model.asked()] == [False]


def test_where_it_makes_no_sense_it_is_refused(weir):
    detector, model = Detector(), Model()
    for more, why in (
        ({"on_detection": "redact"}, "cannot be used with `on_detection: redact`"),
        ({"on_detection": "block"}, "needs `history_findings: block`"),
        ({"input": {"keys": {}}}, "none of its input detectors is a service"),
    ):
        tree = config(model, detector)
        tree["detectors"]["keys"] = {"type": "text_contents", "builtin": "secrets"}
        tree["routes"] = [{**tree["routes"][0], **more}]
        done = weir.run("--check-config", "--config", weir.write_config(tree))
        assert done.returncode != 0 and why in done.stdout.decode() + done.stderr.decode()
