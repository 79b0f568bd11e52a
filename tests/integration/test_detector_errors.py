"""What becomes of a request when a detector cannot answer: `on_error`, and the breaker.

A refusal (422) does not count for the breaker, so most tests here fail that way.
"""

import json

import harness
import judges
import messages
import pytest
import responses
import service as services
from service import HANG, events, reply

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
MESSAGE = {"role": "assistant", "content": "Fine. Yes."}
ANSWERS = {
    CHAT: {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
           "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]},
    COMPLETIONS: {"id": "1", "object": "text_completion", "created": 1, "model": "m",
                  "choices": [{"index": 0, "text": "Fine. Yes.", "finish_reason": "stop"}]},
    "/v1/embeddings": {"object": "list", "model": "m", "data": [{"index": 0, "embedding": [0.5]}]},
    messages.PATH: {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                    "content": [{"type": "text", "text": "Fine. Yes."}], "stop_reason": "end_turn",
                    "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}},
    responses.PATH: responses.response(responses.message(responses.output_text("Fine. Yes."))),
}  # fmt: skip
FAULTS = {
    "it hangs up": lambda request: None,
    "nonsense": lambda request: reply("<html>"),
    "a wrong count": lambda request: reply([]),
    "busy": lambda request: reply({"code": 429, "message": "busy"}, 429),
    "broken": lambda request: reply("oops", 500, "text/plain"),
    "refused": lambda request: reply({"code": 422, "message": "no"}, 422),
    "never": lambda request: HANG,
}
RESTING = {"rests": {}, "rests-late": {"timeout": 0.2}, "rests-skipped": {"on_error": "skip"}}
ACTIONS = ("annotate", "block", "redact")


def stream_of(path):
    if path == messages.PATH:
        said = messages.message(messages.text(0, "Fine.", " Yes."))
        return services.events(*[json.dumps(one) for one in said])
    if path == responses.PATH:
        return responses.stream(responses.answer(responses.say(0, "Fine.", " Yes.")))
    said = [{"content": "Fine."}, {"content": " Yes."}]
    texts = ["Fine.", " Yes."]
    chat = [{"index": 0, "delta": one, "finish_reason": None} for one in said]
    chat.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    plain = [{"index": 0, "text": one, "finish_reason": None} for one in texts]
    plain.append({"index": 0, "text": "", "finish_reason": "stop"})
    choices = chat if path == CHAT else plain
    return events(*[{"id": "1", "created": 1, "model": "m", "choices": [one]} for one in choices], "[DONE]")


def serve(request):
    path = request.path
    return stream_of(path) if request.json().get("stream") else reply(ANSWERS[path])


class World:
    """Two detectors on each side: `hole` is skipped when it fails, `wall` is not."""

    def __init__(self, weir):
        self.model = services.Service(serve)
        self.hole, self.wall = judges.Fms(), judges.Fms()
        hole = self.hole.config(on_error="skip", timeout=0.3)
        routes = [{"name": f"{action}-{side}", side: {"hole": {}, "wall": {}}, "on_detection": action}
                  for action in ACTIONS for side in ("input", "output")]  # fmt: skip
        routes.append({"name": "both", "input": {"hole": {}}, "output": {"hole": {}, "wall": {}},
                       "on_detection": "redact"})  # fmt: skip
        routes += [{"name": name, "input": {name: {}}, "on_detection": "redact"} for name in RESTING]
        resting = {name: self.hole.config(**more) for name, more in RESTING.items()}
        tree = {"openai": {"service": self.model.config()}, "routes": routes, "detectors": {
            **resting,
            "hole": {**hole, "chunker_id": "sentences"},
            "wall": {**self.wall.config(), "chunker_id": "sentences"}},
            "chunkers": {"sentences": {"builtin": "sentence"}}}  # fmt: skip
        self.weir = weir(tree, args=["--workers", "1"])

    def body(self, path, text, **members):
        body = {"model": "m", **members}
        if path in (CHAT, messages.PATH):
            body["messages"] = [{"role": "user", "content": text}]
        elif path == COMPLETIONS:
            body["prompt"] = text
        else:
            body["input"] = text
        return {**body, "max_tokens": 9} if path == messages.PATH else body

    def ask(self, route, path=CHAT, text="A day.", **members):
        return self.weir.api.post(f"/{route}{path}", json=self.body(path, text, **members))

    def metric(self, name):
        lines = self.weir.health.get("/metrics").text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))

    def recover(self):
        self.hole.answer, self.wall.answer = self.hole.serve_one, self.wall.serve_one


@pytest.fixture(scope="module")
def world(module_weir):
    return World(module_weir)


@pytest.fixture(autouse=True)
def recovered(world):
    world.recover()
    yield
    world.recover()
    harness.wait_until(lambda: world.metric("weir_held_bytes") < 32768, "held text to go")


def told(answer):
    """The warnings of an answer, or of all events of a stream."""
    if "event-stream" not in answer.headers["content-type"]:
        return answer.json().get("warnings", [])
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    parsed = [json.loads(line) for line in lines if line != "[DONE]"]
    assert not any("error" in one for one in parsed), answer.text
    return [warning for one in parsed for warning in one.get("warnings", [])
            + one.get("response", {}).get("warnings", [])]  # fmt: skip


SKIPPED = {"type": "DETECTOR_SKIPPED", "detector_id": "hole",
           "message": "Detector `hole` could not answer and was skipped."}  # fmt: skip


def said_in(event):
    delta = event.get("delta", {})
    return {"text": delta} if isinstance(delta, str) else delta


def text_of(answer):
    """All that was said, whatever the dialect."""
    whole = answer.text
    if "event-stream" in answer.headers["content-type"]:
        whole = "".join(said_in(json.loads(line[6:])).get("text", "")
                        or "".join(c.get("delta", {}).get("content") or c.get("text") or ""
                                   for c in json.loads(line[6:]).get("choices", []))
                        for line in whole.splitlines()
                        if line.startswith("data: ") and "[DONE]" not in line)  # fmt: skip
    return whole


@pytest.mark.parametrize("case", FAULTS)
def test_every_failure_is_skipped_and_said(world, case):
    world.hole.answer = FAULTS[case]
    before = world.metric('weir_detector_skipped_total{detector="hole"}')
    asked = len(world.model.requests)
    answer = world.ask("redact-input")
    assert answer.status_code == 200, answer.text
    assert told(answer) == [SKIPPED]
    assert len(world.model.requests) == asked + 1
    assert world.metric('weir_detector_skipped_total{detector="hole"}') == before + 1
    line = world.weir.wait_log("detector skipped", request_id=answer.headers["x-request-id"])
    assert line["id"] == "hole"
    line = world.weir.wait_log("request", request_id=answer.headers["x-request-id"])
    assert line["skipped"] == "hole"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("path", [CHAT, COMPLETIONS, messages.PATH, responses.PATH])
def test_both_sides_of_every_dialect(world, path, stream):
    world.hole.answer = FAULTS["refused"]
    for action in ACTIONS:
        for side in ("input", "output"):
            answer = world.ask(f"{action}-{side}", path, stream=stream)
            assert answer.status_code == 200, answer.text
            assert told(answer) == [SKIPPED], (action, side, answer.text)
            assert "Fine. Yes." in text_of(answer)
    answer = world.ask("both", path, stream=stream)
    assert told(answer) == [SKIPPED]  # once a request


def test_what_others_find_still_counts(world):
    world.hole.answer = FAULTS["refused"]
    answer = world.ask("redact-input", text="A bad day.")
    assert SKIPPED in told(answer)
    assert world.model.requests[-1].json()["messages"][0]["content"] == "A [badness] day."
    answer = world.ask("block-input", text="A bad day.")
    assert answer.headers["x-weir-action"] == "block"
    assert SKIPPED in told(answer)


def test_it_is_asked_again(world):
    world.hole.answer = FAULTS["refused"]
    assert told(world.ask("redact-input", text="One day.")) == [SKIPPED]
    world.recover()
    assert told(world.ask("redact-input", text="One day.")) == []
    world.ask("redact-input", text="A bad day.")
    assert world.model.requests[-1].json()["messages"][0]["content"] == "A [badness] day."


def test_the_other_one_fails_the_request(world):
    """on_error is `fail` unless it is written."""
    world.wall.answer = FAULTS["refused"]
    for path in (CHAT, COMPLETIONS, messages.PATH, responses.PATH):
        for route in ("redact-input", "redact-output"):
            answer = world.ask(route, path)
            assert answer.status_code == 502, answer.text
            assert "Fine" not in answer.text
    answer = world.ask("redact-output", stream=True)
    assert '"detector_failed"' in answer.text
    assert "Fine" not in answer.text


def test_the_hole_is_named_beforehand(world):
    assert "unguarded=" in world.ask("redact-input").headers["x-weir-guarded"]
    for route in ("redact-input", "redact-output", "both"):
        guarded = world.ask(route).headers["x-weir-guarded"]
        assert guarded.count("hole(skip)") == 1
        assert "wall" not in guarded


def test_embeddings(world):
    world.hole.answer = FAULTS["refused"]
    answer = world.ask("redact-input", "/v1/embeddings")
    assert answer.status_code == 200, answer.text
    assert answer.json()["warnings"] == [SKIPPED]


def test_endpoints_of_completions_with_detectors(world):
    """/api/v2/chat/completions-detection: its answers have warnings, so it may be skipped there."""
    world.hole.answer = FAULTS["refused"]
    for stream in (False, True):
        for side in ("input", "output"):
            body = world.body(CHAT, "A day.", detectors={side: {"hole": {}}}, stream=stream)
            answer = world.weir.api.post("/api/v2/chat/completions-detection", json=body)
            assert answer.status_code == 200, answer.text
            assert told(answer) == [SKIPPED], answer.text


def test_where_nothing_could_be_said_it_fails(world):
    """Answers without warnings: nobody would learn that nobody has looked."""
    world.hole.answer = FAULTS["refused"]
    body = {"content": "A day.", "detectors": {"hole": {}}}
    assert world.weir.api.post("/api/v2/text/detection/content", json=body).status_code == 422
    answer = world.ask("redact-input", "/v1/moderations")
    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "detector_failed"


def test_an_error_of_the_model_is_not_shown_unseen(world):
    """Errors have no warnings: what nobody could look at stays here."""
    usual, world.model.answer = world.model.answer, lambda request: reply(
        {"error": {"message": "secret words", "type": "x", "code": None}}, 400)  # fmt: skip
    world.hole.answer = FAULTS["refused"]
    try:
        answer = world.ask("redact-output")
        assert answer.status_code == 400
        assert "secret words" not in answer.text
    finally:
        world.model.answer = usual


def test_built_in_detectors_have_none(weir):
    tree = {"detectors": {"pii": {"type": "text_contents", "builtin": "regex", "on_error": "skip",
                                  "params": {"regex": ["email"]}}}}  # fmt: skip
    done = weir.run("--check-config", "--config", weir.write_config(tree))
    assert done.returncode == 1
    assert b"`on_error` does not belong to built-in detectors" in done.stdout + done.stderr


@pytest.mark.parametrize("name,case", [("rests", "broken"), ("rests-late", "never"), ("rests-skipped", "it hangs up")])
def test_a_detector_that_fails_often_rests(world, name, case):
    """Five times in a row: then it is not asked any more, and who asks is answered at once."""
    world.hole.answer = FAULTS[case]
    status = 200 if name == "rests-skipped" else 502
    assert world.metric(f'weir_detector_breaker_state{{detector="{name}"}}') == 0
    for i in range(5):
        assert world.ask(name, text=f"Day {i}.").status_code == status
    assert world.metric(f'weir_detector_breaker_state{{detector="{name}"}}') == 1
    assert world.metric(f'weir_detector_breaker_opened_total{{detector="{name}"}}') == 1
    asked = len(world.hole.requests)
    world.recover()
    answer = world.ask(name, text="Another day.")
    assert (answer.status_code, len(world.hole.requests)) == (status, asked)
    if status == 502:
        assert answer.json()["error"]["code"] == "detector_failed"
        line = world.weir.wait_log("service failed", request_id=answer.headers["x-request-id"])
        assert line["why"] == "it rests after failures"
    else:
        assert [one["detector_id"] for one in told(answer)] == [name]


def test_refusals_and_nonsense_are_no_reason_to_rest(world):
    """What a text can provoke must not turn the detector off for others."""
    for case in ("refused", "nonsense", "a wrong count") * 3:
        world.hole.answer = FAULTS[case]
        assert told(world.ask("redact-input", text=case)) == [SKIPPED]
    world.recover()
    assert told(world.ask("redact-input", text="Good day.")) == []
