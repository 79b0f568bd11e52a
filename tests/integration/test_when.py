"""`when` of a route's detectors: for which models, and for which channels of an answer."""

import json

import pytest
import service as services
import streams
from service import events, reply

MAIL = "jane@example.org"
CALL = {"id": "t", "type": "function",
        "function": {"name": "send", "arguments": json.dumps({"to": MAIL})}}  # fmt: skip


def answer(request):
    """Says an address in every channel."""
    asked = request.json()
    said = {"reasoning": f"I think {MAIL}.", "content": f"Write to {MAIL}."}
    if request.path.endswith("/messages"):
        content = [{"type": "thinking", "thinking": said["reasoning"], "signature": "c2ln"},
                   {"type": "text", "text": said["content"]},
                   {"type": "tool_use", "id": "t", "name": "send", "input": {"to": MAIL}}]  # fmt: skip
        return reply({"id": "m", "type": "message", "role": "assistant", "model": "m",
                      "content": content, "usage": {}, "stop_reason": "tool_use"})  # fmt: skip
    if asked.get("stream"):
        pieces = [{"delta": {"reasoning": "I think "}}, {"delta": {"reasoning": f"{MAIL}."}},
                  {"delta": {"content": "Write to "}}, {"delta": {"content": f"{MAIL}."}},
                  {"delta": {"tool_calls": [{"index": 0, **CALL}]}},
                  {"delta": {}, "finish_reason": "tool_calls"}]  # fmt: skip
        return events(*({"id": "1", "choices": [{"index": 0, **p}]} for p in pieces), "[DONE]")
    message = {"role": "assistant", **said, "tool_calls": [CALL]}
    return reply({"id": "1", "object": "chat.completion", "created": 1, "model": "m",
                  "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})  # fmt: skip


def route(name, action, **when):
    side = {"pii": {"when": when}}
    return {"name": name, "on_detection": action, "output": side}


@pytest.fixture(scope="module")
def stage(module_weir):
    model = services.Service(answer)
    config = {
        "openai": {"service": model.config()},
        "chunkers": {"windows": {"builtin": "window", "size": 200, "overlap": 64}},
        "detectors": {"pii": {"type": "text_contents", "builtin": "regex",
                              "params": {"regex": ["email"]}},
                      "chunked": {"type": "text_contents", "builtin": "regex",
                                  "chunker_id": "windows", "params": {"regex": ["email"]}},
                      "doc": {"type": "text_contents", "builtin": "regex",
                              "chunker_id": "whole_doc_chunker", "params": {"regex": ["email"]}}},
        "routes": [route("content", "redact", channels=["content"]),
                   route("thoughts", "redact", channels=["reasoning"]),
                   route("calls", "redact", channels=["tool_calls"]),
                   route("told", "annotate", channels=["reasoning", "tool_calls"]),
                   {**route("docs", "redact", channels=["content"]),
                    "output": {"doc": {"when": {"channels": ["content"]}}}},
                   {**route("mixed", "redact"),
                    "output": {"pii": {"when": {"channels": ["reasoning"]}},
                               "chunked": {"when": {"channels": ["content", "tool_calls"]}}}},
                   {"name": "some", "on_detection": "redact",
                    "input": {"pii": {"when": {"models": ["gpt-*", "big"]}}},
                    "output": {"pii": {"when": {"models": ["gpt-*", "big"]}}}}],
    }  # fmt: skip
    w = module_weir(config, args=["--workers", "1"])
    w.model = model
    return w


def ask(w, name, model="m", path="/v1/chat/completions", **more):
    body = {"model": model, "messages": [{"role": "user", "content": f"I am {MAIL}"}], **more}
    got = w.api.post(f"/{name}{path}", json=body)
    assert got.status_code == 200, got.text
    return got


def seen(got):
    """Which channels still say the address."""
    message = got.json()["choices"][0]["message"]
    texts = {"reasoning": message["reasoning"], "content": message["content"],
             "tool_calls": message["tool_calls"][0]["function"]["arguments"]}  # fmt: skip
    return {name for name, text in texts.items() if MAIL in text}


def seen_in_stream(got):
    choice = streams.gather(streams.events(got.text))["choices"][0]
    texts = {**choice["texts"], "tool_calls": json.dumps(choice["calls"])}
    return {name for name, text in texts.items() if MAIL in text}


ALL = {"reasoning", "content", "tool_calls"}
ROUTES = {"content": {"content"}, "thoughts": {"reasoning"}, "calls": {"tool_calls"},
          "docs": {"content"}, "mixed": ALL}  # fmt: skip


@pytest.mark.parametrize("name", ROUTES)
def test_channels(stage, name):
    got = ask(stage, name)
    assert seen(got) == ALL - ROUTES[name]
    guarded = dict(part.split("=", 1) for part in got.headers["x-weir-guarded"].split("; "))
    assert {c for c in ALL if c in guarded["output"].split(",")} == ROUTES[name]
    assert "when:" in guarded["unguarded"]
    assert seen_in_stream(ask(stage, name, stream=True)) == ALL - ROUTES[name]


def test_channels_of_messages(stage):
    def blocks(name):
        return ask(stage, name, path="/v1/messages", max_tokens=9).json()["content"]

    for name, kind in (("content", "text"), ("calls", "tool_use")):
        assert {b["type"] for b in blocks(name) if MAIL not in json.dumps(b)} == {kind}
    # What is signed cannot be changed without a key of ours: it ends the answer.
    assert [b["text"] for b in blocks("thoughts")] == ["I can't help with that."]


def test_annotate_tells_of_these_channels_only(stage):
    for more in ({}, {"stream": True}):
        got = ask(stage, "told", **more)
        parts = streams.events(got.text) if more else [got.json()]
        entries = [e for p in parts for e in p.get("detections", {}).get("output", [])
                   if e["results"]]  # fmt: skip
        assert {e.get("channel", "content") for e in entries} == {"reasoning", "tool_calls"}


@pytest.mark.parametrize("model,is_looked_at", [
    ("gpt-5", True), ("big", True), ("bigger", False), ("m", False), ("GPT-5", False),
])  # fmt: skip
def test_models(stage, model, is_looked_at):
    got = ask(stage, "some", model=model)
    assert seen(got) == (set() if is_looked_at else ALL)
    assert (MAIL in stage.model.requests[-1].body.decode()) == (not is_looked_at)
    assert got.headers["x-weir-guarded"].count("when:pii") == 2
    assert seen_in_stream(ask(stage, "some", model=model, stream=True)) == seen(got)


def test_what_is_wrong_is_said(weir):
    for side, use, why in (
        ("input", {"pii": {"when": {"channels": ["content"]}}}, "is for detectors of `output`"),
        ("output", {"pii": {"when": {"roles": ["user"]}}}, "is for detectors of `input`"),
        ("output", {"pii": {"when": {"channels": []}}}, "`channels` must name at least one channel"),
        ("output", {"pii": {"when": {"channels": ["thoughts"]}}}, "`channels` must be"),
        ("output", {"pii": {"when": {"models": []}}}, "must name at least one model"),
        ("output", {"whole": {"when": {"channels": ["content"]}}}, "it has no `channels`"),
    ):
        tree = {"openai": {"builtin": "demo"},
                "detectors": {"pii": {"type": "text_contents", "builtin": "secrets"},
                              "whole": {"type": "text_chat", "service": {"hostname": "h"}}},
                "routes": [{"name": "a", side: use}]}  # fmt: skip
        done = weir.run("--check-config", "--config", weir.write_config(tree))
        out = done.stdout.decode() + done.stderr.decode()
        assert done.returncode != 0 and why in out, out
