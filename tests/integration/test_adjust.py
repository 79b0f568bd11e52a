"""What routes and models change in a request before the model server sees it: a history that has
grown twice, and how much may be written."""

import json

import pytest
from service import events, reply

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
API = {CHAT: "/api/v2/chat/completions-detection", TEXT: "/api/v2/text/completions-detection"}
USER = {"role": "user", "content": "Hi"}
GO_ON = {"role": "user", "content": "Go on"}
CALLED = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}  # fmt: skip
RESULT = {"role": "tool", "tool_call_id": "t1", "content": "x"}
CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
         "choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}]}  # fmt: skip
TEXT_CHUNK = {**CHUNK, "choices": [{"index": 0, "text": "Yes.", "finish_reason": "stop"}]}
WHOLE = {"id": "c", "object": "chat.completion", "created": 1, "model": "m",
         "choices": [{"index": 0, "finish_reason": "stop", "text": "Yes.",
                      "message": {"role": "assistant", "content": "Yes."}}]}  # fmt: skip


def answer(request):
    chunk = CHUNK if request.path == CHAT else TEXT_CHUNK
    return events(chunk, "[DONE]") if request.json().get("stream") else reply(WHOLE)


@pytest.fixture
def world(weir, service):
    """A gateway, and the model server behind it, which keeps what it is sent."""
    model = service(answer)
    pii = {"type": "text_contents", "builtin": "regex", "params": {"regex": ["email"]},
           "chunker_id": "whole_doc_chunker"}  # fmt: skip
    limits = {"default": 20, "cap": 80}
    routes = [
        {"name": f"{action}-{name}", "output": {"pii": {}}, "on_detection": action, **members}
        for action in ("annotate", "redact", "block")
        for name, members in (("merge", {"history": "merge"}), ("short", {"max_tokens": limits}))
    ]
    routes.append({"name": "open-merge", "unguarded": True, "history": "merge"})
    routes.append({"name": "open-short", "unguarded": True, "max_tokens": limits})
    w = weir({
        "openai": {"service": model.config()}, "detectors": {"pii": pii}, "routes": routes,
        "streaming": {"models": {"small*": {"max_tokens": {"cap": 10}}}},
    })  # fmt: skip
    w.model = model
    return w


def ask(world, route, is_stream, path=CHAT, **members):
    """(what the model server got, the warnings of the answer)"""
    body = {"model": "m", "stream": is_stream, **members}
    body.setdefault(*(("messages", [USER]) if path == CHAT else ("prompt", "Hi")))
    got = world.api.post(f"/{route}{path}" if route else API[path], json=body)
    assert got.status_code == 200, got.text
    # Warnings ride on the answer, or on one event of it.
    warnings = [] if is_stream else got.json().get("warnings", [])
    for line in got.text.splitlines() if is_stream else []:
        if line.startswith("data: {"):
            warnings += streamed_warnings(line)
    return world.model.requests[-1].json(), warnings


def streamed_warnings(line):
    return json.loads(line.removeprefix("data: ")).get("warnings", [])


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("action", ["open", "annotate", "redact", "block"])
def test_a_history_that_grew_twice(world, action, is_stream):
    grown = [USER, CALLED, RESULT, CALLED, RESULT, GO_ON, GO_ON]
    sent, warnings = ask(world, f"{action}-merge", is_stream, messages=grown)
    assert sent["messages"] == [USER, CALLED, RESULT, GO_ON]
    assert {w["type"] for w in warnings} == {"HISTORY"}
    assert [w["message"].split(":")[0] for w in warnings] == [f"messages[{i}]" for i in (3, 4, 6)]

    sent, warnings = ask(world, f"{action}-merge", is_stream, messages=[USER, CALLED, RESULT, GO_ON])
    assert sent["messages"] == [USER, CALLED, RESULT, GO_ON] and not warnings


@pytest.mark.parametrize("is_stream", [False, True])
def test_what_is_not_repeated_is_told_or_refused(world, is_stream):
    sent, warnings = ask(world, "annotate-merge", is_stream, messages=[USER, CALLED, GO_ON])
    assert sent["messages"] == [USER, CALLED, GO_ON]
    assert [w["message"] for w in warnings] == ["messages[1]: this tool call has no result: `t1`"]

    torn = [USER, CALLED, RESULT, {**RESULT, "content": "y"}, GO_ON]
    n_asked = len(world.model.requests)
    body = {"model": "m", "stream": is_stream, "messages": torn}
    refused = world.api.post(f"/annotate-merge{CHAT}", json=body)
    assert refused.status_code == 400
    assert "an earlier result with this id says something else" in refused.text
    assert len(world.model.requests) == n_asked


@pytest.mark.parametrize("path", [CHAT, TEXT])
@pytest.mark.parametrize("action", ["open", "annotate", "redact", "block"])
def test_a_model_writes_no_more_than_it_may(world, action, path):
    ours = "max_completion_tokens" if path == CHAT else "max_tokens"
    for is_stream in (False, True):
        sent, warnings = ask(world, f"{action}-short", is_stream, path)
        assert sent[ours] == 20 and not warnings
        sent, warnings = ask(world, f"{action}-short", is_stream, path, max_tokens=70)
        assert sent["max_tokens"] == 70 and not warnings
        sent, warnings = ask(world, f"{action}-short", is_stream, path, max_tokens=5000)
        assert sent["max_tokens"] == 80
        assert [(w["type"], w["message"]) for w in warnings] == [
            ("MAX_TOKENS", "`max_tokens` was 5000, it is limited to 80")
        ]


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_limits_of_models(world, path):
    detectors = {"output": {"pii": {}}}
    for is_stream in (False, True):
        for route, members in (("open-short", {}), (None, {"detectors": detectors})):
            members = {"model": "small-1", "max_tokens": 50, **members}
            sent, warnings = ask(world, route, is_stream, path, **members)
            assert sent["max_tokens"] == 10 and "detectors" not in sent
            assert "MAX_TOKENS" in {w["type"] for w in warnings}
