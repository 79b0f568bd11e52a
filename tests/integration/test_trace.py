"""`x-weir-trace: 1`: where and when text was held and left, and never what it was."""

import json

import configs
import pytest
import streams

ASK = {"x-weir-trace": "1"}
DETECTORS = {"output": {"regex": {}, "secrets": {}}}
PATHS = ["/v1/chat/completions", "/redact/v1/completions", streams.CHAT, streams.TEXT]


@pytest.fixture(scope="module")
def w(module_weir):
    return module_weir()


def body(path, prompt="hi", max_tokens=60):
    asked = {"model": "m", "stream": True, "max_tokens": max_tokens}
    if "chat" in path:
        asked["messages"] = [{"role": "user", "content": prompt}]
    else:
        asked["prompt"] = prompt
    if path.startswith("/api"):
        asked["detectors"] = DETECTORS
    return asked


def ask(server, path, headers=ASK, **members):
    """The notes, and the rest of the stream as it came."""
    answer = server.api.post(path, json=body(path, **members), headers=headers)
    assert answer.status_code == 200, answer.text
    notes, rest = [], []
    for event in answer.text.split("\n\n"):
        if event.startswith("event: weir-trace\n"):
            notes.append(json.loads(event.split("data: ", 1)[1]))
        else:
            rest.append(event)
    return notes, rest


@pytest.mark.parametrize("path", PATHS)
def test_every_code_point_is_accounted_for(w, path):
    notes, rest = ask(w, path)
    times = [note["t_ms"] for note in notes]
    assert times == sorted(times) and times[0] >= 0
    ends = {}
    for kind in ("raw", "chunk", "batch"):
        at = 0
        for note in (note for note in notes if note["kind"] == kind):
            assert set(note) == {"t_ms", "kind", "choice", "start", "end"}
            assert note["start"] == at and note["end"] > at
            at = note["end"]
        ends[kind] = at
    assert ends["raw"] == ends["batch"]
    assert ends["chunk"] in (0, ends["raw"])  # none where all detectors read along
    seen = [note for note in notes if note["kind"] == "verdict"]
    for detector in ("regex", "secrets"):  # they read along: side by side, from mark to mark
        at = 0
        for note in (note for note in seen if note["detector"] == detector):
            assert note["start"] == at and note["end"] > at
            at = note["end"]
        assert at == ends["raw"]
    assert all(note["ms"] >= 0 for note in seen)
    assert "data: [DONE]" in rest


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("headers", [{}, {"x-weir-trace": "0"}])
def test_only_where_it_is_asked_for(w, path, headers):
    notes, rest = ask(w, path, headers, max_tokens=5)
    assert not notes and not any("weir-trace" in event for event in rest)


def test_never_without_the_playground(weir):
    server = weir(configs.config())
    notes, rest = ask(server, "/v1/chat/completions", max_tokens=5)
    assert not notes and not any("weir-trace" in event for event in rest)


def results_of(event):
    """The findings in an event's output, if it is one."""
    data = event.removeprefix("data: ")
    if not data.startswith("{"):
        return []
    choices = json.loads(data).get("detections", {}).get("output", [])
    return [result for choice in choices for result in choice["results"]]


def test_what_is_blocked_does_not_leave(w):
    notes, rest = ask(w, "/block/v1/chat/completions")
    ends = {kind: [n["end"] for n in notes if n["kind"] == kind] for kind in ("raw", "batch")}
    found = next(results for results in map(results_of, rest) if results)[0]
    assert max(ends["raw"]) >= found["end"]
    assert max(ends["batch"], default=0) <= found["start"]
    assert "content_filter" in "".join(rest)


def test_reasoning_is_a_text_of_its_own(w):
    notes, _ = ask(w, "/redact/v1/chat/completions", prompt="reasoning")
    channels = {note.get("channel") for note in notes if note["kind"] == "batch"}
    assert channels == {None, "reasoning_content"}
