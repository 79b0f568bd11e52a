"""Detectors that only watch (`mode: shadow`): what they find is counted, nothing waits for them."""

import json
import threading

import harness
import judges
import messages
import pytest
import responses
import service as services
import test_detector_errors as errors
from service import HANG, reply
from test_detector_errors import CHAT, COMPLETIONS


class World:
    def __init__(self, weir, folder):
        self.model = services.Service(errors.serve)
        self.watch, self.wall = judges.Fms(), judges.Fms()
        both = {"input": {"watch": {}, "words": {}}, "output": {"watch": {}, "words": {}}}
        guarded = {side: {**uses, "wall": {}} for side, uses in both.items()}
        self.audit = folder / "audit.jsonl"
        tree = {"openai": {"service": self.model.config()},
                "audit": {"path": str(self.audit)},
                "chunkers": {"sentences": {"builtin": "sentence"}},
                "detectors": {
                    "watch": self.watch.config(mode="shadow", timeout=1, breaker=False),
                    "words": {"type": "text_contents", "builtin": "keywords", "mode": "shadow",
                              "params": {"deny": ["fine", "day"]}},
                    "wall": {**self.wall.config(), "chunker_id": "sentences"}},
                "routes": [{"name": "plain", "unguarded": "all"},
                           {"name": "only", "unguarded": "all", **both},
                           {"name": "redact", **guarded, "on_detection": "redact"},
                           {"name": "block", **guarded, "on_detection": "block"},
                           {"name": "annotate", **guarded}]}  # fmt: skip
        self.weir = weir(tree, args=["--workers", "1"])

    body, metric = errors.World.body, errors.World.metric

    def ask(self, route, path=CHAT, text="A day.", **members):
        return self.weir.api.post(f"/{route}{path}", json=self.body(path, text, **members))

    def found(self, route, side, channel="content", detector="watch"):
        return self.metric(f'weir_findings_total{{route="{route}",side="{side}",channel="{channel}",'
                           f'detector="{detector}"')  # fmt: skip

    def skipped(self, reason, detector="watch"):
        return self.metric(f'weir_shadow_skipped_total{{detector="{detector}",reason="{reason}"}}')

    def rest(self):
        """All shadows are gone, with what they kept."""
        harness.wait_until(lambda: self.metric("weir_held_bytes") < 32768, "held text to go")


@pytest.fixture(scope="module")
def world(module_weir, tmp_path_factory):
    return World(module_weir, tmp_path_factory.mktemp("audit"))


@pytest.fixture(autouse=True)
def recovered(request):
    if "world" in request.fixturenames:
        world = request.getfixturevalue("world")
        world.watch.answer = world.watch.serve_one
        yield
        world.rest()
    else:
        yield


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("path", [CHAT, COMPLETIONS, messages.PATH, responses.PATH])
@pytest.mark.parametrize("route", ["only", "redact", "annotate"])
def test_findings_are_counted_and_change_nothing(world, route, path, stream):
    plain = world.ask("plain", path, stream=stream)
    sides = [(side, detector) for side in ("input", "output") for detector in ("words",)]
    before = {one: world.found(route, one[0], detector=one[1]) for one in sides}
    asked = len(world.watch.texts)
    answer = world.ask(route, path, stream=stream)
    assert answer.status_code == 200
    assert "detections" not in answer.text or '"results":[]' in answer.text.replace(" ", "")
    assert "warnings" not in answer.text
    if route == "only":
        assert answer.text == plain.text  # byte for byte
        assert answer.headers["x-weir-guarded"] == "input=none; output=none; unguarded=all"
    for one in sides:
        harness.wait_until(lambda: world.found(route, one[0], detector=one[1]) == before[one] + 1, f"{one}")
    harness.wait_until(lambda: len(world.watch.texts) >= asked + 2, "both texts")
    assert sorted(world.watch.texts[asked:]) == ["A day.", "Fine. Yes."]


def test_findings_of_a_service(world):
    before = world.found("block", "input")
    assert world.ask("block", text="A bad day.").headers["x-weir-action"] == "block"  # by the wall
    harness.wait_until(lambda: world.found("block", "input") == before + 1, "the finding")
    assert 'detector="watch",detection="badness",action="shadow"' in world.weir.health.get("/metrics").text
    assert world.metric('weir_policy_total{route="block",action="shadow"') == 0
    before = world.found("only", "input")
    answer = world.ask("only", text="A bad day.")
    assert answer.status_code == 200
    assert world.model.requests[-1].json()["messages"][0]["content"] == "A bad day."
    harness.wait_until(lambda: world.found("only", "input") == before + 1, "the finding")


def test_the_audit_log_has_them(world):
    answer = world.ask("only", text="A bad day.")
    key = answer.headers["x-request-id"]

    def lines():
        text = world.audit.read_text() if world.audit.exists() else ""
        return [json.loads(line) for line in text.splitlines() if key in line]

    harness.wait_until(lambda: len(lines()) == 2, "a line for each side")
    by_side = {line["side"]: line for line in lines()}
    assert {line["action"] for line in by_side.values()} == {"shadow"}
    assert by_side["input"]["route"] == "only"
    assert by_side["input"]["model"] == "m"
    assert sorted(one["detector"] for one in by_side["input"]["findings"]) == ["watch", "words"]
    assert "bad day" not in world.audit.read_text()


def test_tool_calls_and_reasoning_are_looked_at(world):
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":"fine"}'}}]
    said = {"role": "assistant", "content": None, "reasoning": "a fine idea", "tool_calls": calls}
    usual, world.model.answer = world.model.answer, lambda request: reply(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
         "choices": [{"index": 0, "message": said, "finish_reason": "tool_calls"}]})  # fmt: skip
    try:
        world.ask("only")
    finally:
        world.model.answer = usual
    for channel in ("tool_calls", "reasoning"):
        harness.wait_until(lambda: world.found("only", "output", channel, "words") == 1, channel)


@pytest.mark.parametrize("case", errors.FAULTS)
def test_its_failures_change_nothing(world, case):
    """Also when it hangs: the caller has its answer before anybody asks it."""
    world.watch.answer = errors.FAULTS[case]
    before = world.skipped("failed")
    for stream in (False, True):
        answer = world.ask("redact", stream=stream)
        assert answer.status_code == 200
        assert "warnings" not in answer.text
    harness.wait_until(lambda: world.skipped("failed") == before + 4, "two sides of two requests")
    assert not [line for line in world.weir.log("service failed") if line["id"] == "watch"]


def test_a_long_text_is_left_out_and_counted(world):
    before = world.skipped("long")
    asked = len(world.watch.texts)
    assert world.ask("only", text="x" * 40000).status_code == 200
    harness.wait_until(lambda: world.skipped("long") == before + 1, "the count")
    harness.wait_until(lambda: len(world.watch.texts) == asked + 1, "the answer's text")
    assert world.watch.texts[asked:] == ["Fine. Yes."]


def test_who_leaves_is_watched_all_the_same(world):
    """A caller that goes in the middle: what was said so far is looked at."""
    go_on = threading.Event()
    usual = world.model.answer

    def slow(request):
        pieces = list(errors.stream_of(CHAT))
        yield from pieces[:2]
        go_on.wait(harness.PATIENCE)

    world.model.answer = slow
    asked = len(world.watch.texts)
    try:
        with world.weir.client() as client:
            body = world.body(CHAT, "A day.", stream=True)
            with client.stream("POST", f"/only{CHAT}", json=body) as answer:
                next(answer.iter_bytes())
        harness.wait_until(lambda: len(world.watch.texts) == asked + 2, "what was said")
        assert sorted(world.watch.texts[asked:]) == ["A day.", "Fine."]
    finally:
        go_on.set()
        world.model.answer = usual


def test_it_cannot_be_named_by_callers(world):
    body = {"content": "A day.", "detectors": {"watch": {}}}
    answer = world.weir.api.post("/api/v2/text/detection/content", json=body)
    assert (answer.status_code, answer.json()["details"]) == (
        422, "detector `watch` only watches routes (mode: shadow)")  # fmt: skip


def test_the_end_of_the_server_ends_it(weir):
    """A shadow that hangs when the server stops, and when it reloads, leaves nothing behind."""
    watch = judges.Fms()
    model = services.Service(errors.serve)
    tree = {"openai": {"service": model.config()}, "detectors": {"watch": watch.config(mode="shadow")},
            "routes": [{"name": "default", "input": {"watch": {}}, "output": {"watch": {}},
                        "unguarded": "all"}]}  # fmt: skip
    w = weir(tree, args=["--workers", "1"])
    watch.answer = lambda request: HANG
    body = {"model": "m", "messages": [{"role": "user", "content": "A day."}]}
    for i in range(20):
        assert w.api.post(CHAT, json=body).status_code == 200
    harness.wait_until(lambda: len(watch.connections) >= 1, "its questions")
    w.signal(1)
    w.wait_log("configuration reloaded")
    assert w.api.post(CHAT, json=body).status_code == 200
    w.stop()
    w.finish()


PROBLEMS = {
    "a route that only watches": ({}, {}, "has no detectors"),
    "another type": ({"type": "text_chat", "chunker_id": None}, {"unguarded": "all"},
                     "`mode: shadow` is for detectors of type `text_contents`"),
    "no such mode": ({"mode": "shadows"}, {"unguarded": "all"}, "did you mean `shadow`?"),
}  # fmt: skip


@pytest.mark.parametrize("case", PROBLEMS)
def test_mistakes_in_the_configuration(weir, case):
    change, route, words = PROBLEMS[case]
    detector = {"type": "text_contents", "service": {"hostname": "h", "port": 1}, "mode": "shadow",
                "chunker_id": "whole_doc_chunker", **change}  # fmt: skip
    detector = {key: value for key, value in detector.items() if value is not None}
    tree = {"detectors": {"watch": detector},
            "routes": [{"name": "default", "input": {"watch": {}}, **route}]}  # fmt: skip
    done = weir.run("--check-config", "--config", weir.write_config(tree))
    assert done.returncode == 1
    assert words in (done.stdout + done.stderr).decode()
