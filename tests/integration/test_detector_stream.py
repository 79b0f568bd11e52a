"""Detectors that read along from outside: `protocol: stream`, through the whole gateway."""

import json
import re
import subprocess
import sys

import harness
import judges
import messages
import pytest
import service as services
import streamers
import test_detector_errors as errors
import yaml
from service import events, reply
from test_detector_errors import CHAT

PAGE = (harness.ROOT / "docs" / "streaming-detector.md").read_text()


def chunks(*texts):
    choices = [{"index": 0, "delta": {"content": text}, "finish_reason": None} for text in texts]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    return [{"id": "1", "created": 1, "model": "m", "choices": [one]} for one in choices]


class World:
    def __init__(self, weir, streamer, **detector):
        self.streamer = streamer
        self.texts = ["Some ", "ba", "d words, ", "wölf and ", "more."]
        self.model = services.Service(self.serve)
        both = {"input": {"along": {}}, "output": {"along": {}}}
        routes = [{"name": action, **both, "on_detection": action} for action in errors.ACTIONS]
        routes += [{"name": "skip", "input": {"loose": {}}, "output": {"loose": {}}, "on_detection": "redact"},
                   {"name": "with", "output": {"along": {}, "pii": {}, "wall": {}}, "on_detection": "redact"},
                   {"name": "pair", "output": {"along": {}, "pii": {}}, "on_detection": "redact"},
                   {"name": "allow", "output": {"along": {"allow": ["BAD"]}}, "on_detection": "redact"}]  # fmt: skip
        self.wall = judges.Fms()
        along = streamer.config(breaker=False, **detector)
        # The model's idle limit is the detector's.
        tree = {"openai": {"service": self.model.config(idle_timeout=1)}, "routes": routes,
                "chunkers": {"sentences": {"builtin": "sentence"}},
                "detectors": {"along": along, "loose": {**along, "on_error": "skip", "model": "along"},
                              "pii": {"type": "text_contents", "builtin": "regex", "params": {"regex": ["email"]}},
                              "wall": {**self.wall.config(), "chunker_id": "sentences"}}}  # fmt: skip
        self.weir = weir(tree, args=["--workers", "1"])

    def serve(self, request):
        if request.method == "GET":
            return reply({})
        if request.json().get("stream"):
            if request.path == messages.PATH:
                said = messages.message(messages.text(0, *self.texts))
                return services.events(*[json.dumps(one) for one in said])
            return events(*chunks(*self.texts), "[DONE]")
        text = "".join(self.texts)
        whole = json.loads(json.dumps(errors.ANSWERS[request.path]).replace("Fine. Yes.", text))
        return reply(whole)

    def ask(self, route, text="A day.", path=CHAT, **members):
        body = {"model": "m", "messages": [{"role": "user", "content": text}], **members}
        body = {**body, "max_tokens": 9} if path == messages.PATH else body
        return self.weir.api.post(f"/{route}{path}", json=body)

    metric = errors.World.metric

    def at_rest(self):
        harness.wait_until(lambda: self.streamer.n_open() == 0, "its streams to end")
        harness.wait_until(lambda: self.metric("weir_held_bytes") < 32768, "held text to go")
        assert self.streamer.errors == []


@pytest.fixture(scope="module")
def world(module_weir):
    return World(module_weir, streamers.Streamer())


@pytest.fixture(autouse=True)
def rested(request):
    yield
    if "world" in request.fixturenames:
        w = request.getfixturevalue("world")
        w.at_rest()
        w.streamer.answer = streamers.judge


def said(answer):
    return errors.text_of(answer)


def test_findings_in_streams(world):
    assert said(world.ask("redact", stream=True)) == "Some [badness] words, wölf and more."
    assert said(world.ask("annotate", stream=True)) == "Some bad words, wölf and more."
    assert '"start":5,"end":8' in world.ask("annotate", stream=True).text.replace(" ", "")
    assert said(world.ask("block", stream=True)) == "Some \n\nI can't help with that."
    [stream] = [one for one in world.streamer.streams[-1:]]
    assert stream.lines[0]["detectors"] == {"along": {"threshold": 0.5}}
    assert stream.lines[0]["content"].startswith("Some")


def test_what_is_judged_leaves_at_once(world):
    """The rest waits for its mark; nothing is lost when it comes late and out of step."""
    marks = []

    def slow(stream):
        if not stream.lines:
            return stream.head()
        if stream.has_end:
            marks.append(stream.mark)
            return stream.tell(len(stream.text), last=True)
        if len(stream.text) > 4 and stream.mark == 0:
            stream.tell(2)
            stream.tell(5)
        return None

    world.streamer.answer = slow
    answer = world.ask("redact", stream=True)
    assert said(answer) == "Some [badness] words, wölf and more."
    assert marks[-1] == 5


@pytest.mark.parametrize("path", [CHAT, messages.PATH])
def test_questions_and_whole_answers(world, path):
    answer = world.ask("redact", text="A bad day.", path=path)
    assert world.model.requests[-1].json()["messages"][0]["content"] == "A [badness] day."
    assert "Some [badness] words" in answer.json()["choices"][0]["message"]["content"] if path == CHAT else answer.text
    answer = world.ask("redact", path=path, stream=True)
    assert said(answer) == "Some [badness] words, wölf and more."


def test_beside_chunks_and_built_in_readers(world):
    world.texts = ["Write to jo@acme.", "com. A b", "ad one. ", "And bad."]
    try:
        got = said(world.ask("with", stream=True))
    finally:
        world.texts = ["Some ", "ba", "d words, ", "wölf and ", "more."]
    assert got == "Write to [email_address]. A [badness] one. And [badness]."


def test_a_built_in_reader_does_not_speak_for_a_service(world):
    """The service says nothing before the end: nothing leaves before, however far the other is."""

    def at_the_end(stream):
        if not stream.lines:
            stream.head()
        elif stream.has_end:
            stream.tell(len(stream.text), last=True)

    world.streamer.answer = at_the_end
    assert said(world.ask("pair", stream=True)) == "Some [badness] words, wölf and more."


def test_allowed_values(world):
    assert said(world.ask("allow", stream=True)) == "Some bad words, wölf and more."


def test_long_texts_go_in_lines(world):
    text = "wörd " * 40000
    asked = len(world.streamer.streams)
    assert world.ask("redact", text=text).status_code == 200
    stream = world.streamer.streams[asked]
    assert stream.text == text
    assert max(len(line["content"].encode()) for line in stream.lines) <= 65536


def head_then(*steps):
    """Does one step for each call after the head."""

    def answer(stream):
        if not stream.lines and not stream.has_end:
            return stream.head()
        at = stream.__dict__.setdefault("step", 0)
        stream.step += 1
        return steps[min(at, len(steps) - 1)](stream)

    return answer


def line(**members):
    return lambda stream: stream.send({"detections": [], "start_index": 0, "processed_index": 1, **members})


F = {**streamers.FINDING}
FAULTS = {
    "reset before the head": lambda stream: stream.reset(),
    "hang up before the head": lambda stream: stream.hang_up(),
    "500": lambda stream: stream.head(500, end=True),
    "429": lambda stream: stream.head(429, end=True),
    "422": lambda stream: stream.head(422, end=True),
    "hang up in the body": head_then(lambda stream: stream.hang_up()),
    "reset in the body": head_then(lambda stream: stream.reset()),
    "ends too early": head_then(lambda stream: stream.send(end=True)),
    "ends without looking": head_then(lambda stream: stream.has_end and stream.send(end=True)),
    "half a line": head_then(lambda stream: stream.send_raw(b'{"detections":[', end=stream.has_end)),
    "no JSON": head_then(lambda stream: stream.send_raw(b"<html>\n")),
    "a list": head_then(lambda stream: stream.send_raw(b"[]\n")),
    "no detections": head_then(lambda stream: stream.send({"processed_index": 1})),
    "detections of another type": head_then(line(detections={})),
    "no index": head_then(lambda stream: stream.send({"detections": []})),
    "an index of another type": head_then(line(processed_index="1")),
    "an index below zero": head_then(line(processed_index=-1)),
    "an index beyond the text": head_then(line(processed_index=10**6)),
    "an index that goes back": head_then(line(processed_index=3), line(processed_index=2)),
    "a finding beyond the text": head_then(line(detections=[{"start": 0, "end": 10**6, **F}])),
    "a finding without a place": head_then(line(detections=[F])),
    "a finding that ends before it starts": head_then(line(detections=[{"start": 2, "end": 1, **F}])),
    "a finding of no type": head_then(line(detections=[{"start": 0, "end": 1}])),
    "a broken promise": head_then(line(processed_index=4), line(processed_index=5, detections=[{"start": 3, "end": 5, **F}])),
    "it says so": head_then(lambda stream: stream.send({"code": 503, "details": "no"}, end=True)),
    "never a head": lambda stream: None,
    "never a line": head_then(lambda stream: None),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_faults_end_clearly(world, case):
    """At every point: the question's text, a whole answer, a stream before and in the middle."""
    world.streamer.answer = FAULTS[case]
    for route, status in (("redact", 502), ("skip", 200)):
        answer = world.ask(route)
        assert answer.status_code == status, answer.text
        if status == 502:
            assert answer.json()["error"]["code"] == "detector_failed"
        else:
            assert [one["type"] for one in answer.json()["warnings"]] == ["DETECTOR_SKIPPED"]

    def answers_only(stream):
        """The question is looked at as usual, the answer is not."""
        return FAULTS[case](stream) if stream.text != "A day." else streamers.judge(stream)

    if not case.endswith("head") and case not in ("500", "429", "422"):
        world.streamer.answer = answers_only
        answer = world.ask("redact", stream=True)
        assert "more." not in answer.text
        assert '"detector_failed"' in answer.text
        answer = world.ask("skip", stream=True)
        assert said(answer) == "Some bad words, wölf and more.", answer.text
        assert "DETECTOR_SKIPPED" in answer.text
        assert answer.text.count("DETECTOR_SKIPPED") == 1
    world.streamer.answer = streamers.judge
    assert said(world.ask("redact", stream=True)) == "Some [badness] words, wölf and more."


@pytest.mark.parametrize("route", ["redact", "block"])
@pytest.mark.parametrize("is_stream", [False, True])
def test_findings_told_in_any_order(world, route, is_stream):
    """A later one first: the promise is only that none touches text before the mark."""

    def backwards(stream):
        if not stream.lines and not stream.has_end:
            return stream.head()
        if stream.has_end:
            found = [{"start": m.start(), "end": m.end(), **F} for m in re.finditer("bad", stream.text)]
            for one in reversed(found):  # with the first one goes the text up to its end
                mark = one["end"] if one is found[0] else 0
                stream.send({"detections": [one], "start_index": 0, "processed_index": mark})
            n = len(stream.text)
            stream.send({"detections": [], "start_index": 0, "processed_index": n}, end=True)
        return None

    world.texts = ["One bad, ", "two bad, three", " bad."]
    world.streamer.answer = backwards
    try:
        answer = world.ask(route, stream=is_stream)
    finally:
        world.texts = ["Some ", "ba", "d words, ", "wölf and ", "more."]
    got = said(answer) if is_stream else answer.json()["choices"][0]["message"]["content"]
    name = f"[{F['detection']}]"
    assert "bad" not in got.replace(name, ""), got
    if route == "redact":
        assert got == f"One {name}, two {name}, three {name}."


def test_who_leaves_takes_its_stream_along(world):
    world.streamer.answer = head_then(lambda stream: None)
    asked = len(world.streamer.streams)
    caller = world.weir.raw()
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "A day."}]}).encode()
    caller.request("POST", f"/redact{CHAT}", [("content-type", "application/json")], body)
    harness.wait_until(lambda: len(world.streamer.streams) > asked and world.streamer.streams[-1].lines, "the text")
    caller.sock.close()
    harness.wait_until(lambda: world.streamer.streams[-1].is_over, "its end")


def test_a_service_that_is_not_there(weir):
    streamer = streamers.Streamer()
    w = World(weir, streamer)
    streamer.close()
    assert w.ask("redact").status_code == 502
    assert w.ask("skip").status_code == 200


def test_its_health_is_asked_over_http2(world):
    info = world.weir.health.get("/info", params={"probe": "true"}).json()
    assert info["services"]["along"]["status"] == "HEALTHY", info


def test_it_rests_when_it_fails_often(weir):
    streamer = streamers.Streamer()
    model = services.Service(lambda request: reply(errors.ANSWERS[CHAT]))
    w = weir({"openai": {"service": model.config()}, "detectors": {"along": streamer.config()},
              "routes": [{"name": "default", "input": {"along": {}}, "on_detection": "redact"}]})  # fmt: skip
    streamer.answer = FAULTS["500"]
    body = {"model": "m", "messages": [{"role": "user", "content": "A day."}]}
    for i in range(5):
        assert w.api.post(CHAT, json=body).status_code == 502
    asked = len(streamer.streams)
    streamer.answer = streamers.judge
    assert w.api.post(CHAT, json=body).status_code == 502
    assert len(streamer.streams) == asked


def test_a_weir_is_the_streaming_detector_of_another(weir):
    inner = weir({"detectors": {"pii": {"type": "text_contents", "builtin": "regex", "params": {"regex": ["email"]}},
                                "slow": {"type": "text_contents", "builtin": "keywords", "chunker_id": "s",
                                         "params": {"deny": ["evil"]}}},
                  "chunkers": {"s": {"builtin": "sentence"}}})  # fmt: skip
    texts = ["Write to jo@acme", ".com, or be ", "evil. ", "Then go.  \n"]
    model = services.Service(lambda request: events(*chunks(*texts), "[DONE]"))
    far = {"type": "text_contents", "protocol": "stream", "service": {"hostname": "127.0.0.1", "port": inner.api_port}}
    w = weir({"openai": {"service": model.config()}, "detectors": {"pii": far, "words": {**far, "model": "slow"}},
              "routes": [{"name": "default", "input": {"pii": {}}, "output": {"pii": {}, "words": {}},
                          "on_detection": "redact"}]})  # fmt: skip
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "I am jo@acme.com"}]}
    answer = w.api.post(CHAT, json=body)
    got = said(answer)
    assert re.fullmatch(r"Write to \[email_address\], or be \[\w+\]. Then go.  \n", got), answer.text
    assert model.requests[-1].json()["messages"][0]["content"] == "I am [email_address]"


def block(language):
    [found] = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)
    return found


def test_the_server_on_the_page_works(weir, tmp_path):
    code = block("python").replace('Detector, "127.0.0.1", 8098)', 'Detector, "127.0.0.1", 0)\n'
                                   "    print(server.sockets[0].getsockname()[1], flush=True)")  # fmt: skip
    assert "getsockname" in code
    assert len([one for one in block("python").splitlines() if one.strip()]) <= 40
    (tmp_path / "detector.py").write_text(code)
    process = subprocess.Popen([sys.executable, tmp_path / "detector.py"], stdout=subprocess.PIPE, text=True)
    try:
        tree = yaml.safe_load(block("yaml"))
        tree["detectors"]["words"]["service"]["port"] = int(process.stdout.readline())
        model = services.Service(lambda request: events(*chunks("A f", "oo, a foobar ", "and a bar"), "[DONE]"))
        use = {"input": {"words": {}}, "output": {"words": {}}, "on_detection": "redact"}
        w = weir({**tree, "openai": {"service": model.config()}, "routes": [{"name": "default", **use}]})
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "foo and wölf"}]}
        got = said(w.api.post(CHAT, json=body))
        assert re.fullmatch(r"A \[\w+\], a foobar and a \[\w+\]", got), got
        assert re.fullmatch(r"\[\w+\] and wölf", model.requests[-1].json()["messages"][0]["content"])
    finally:
        process.kill()
        process.wait()


PROBLEMS = {
    "a chunker": ({"chunker_id": "whole_doc_chunker"}, {}, "it reads along"),
    "another type": ({"type": "text_chat"}, {}, "protocol `stream` is for `text_contents`"),
    "labels": ({"labels": {"A": "b"}}, {}, "`labels` does not belong to protocol `stream`"),
    "batches": ({"batch": {"max_items": 2}}, {}, "`batch` does not belong to protocol `stream`"),
    "compat": ({}, {"compat": "fms"}, "cannot be used with `compat: fms`"),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_mistakes_in_the_configuration(weir, case):
    change, parts, words = PROBLEMS[case]
    detector = {"type": "text_contents", "protocol": "stream", "service": {"hostname": "h", "port": 1}, **change}
    done = weir.run("--check-config", "--config", weir.write_config({"detectors": {"along": detector}, **parts}))
    assert done.returncode == 1
    assert words in (done.stdout + done.stderr).decode()
