"""Streams put together again, the way clients do it, and the gateway in front of a mock."""

import json
import re

import mock as mocks

CHAT = "/api/v2/chat/completions-detection"
TEXT = "/api/v2/text/completions-detection"
UPSTREAM = {CHAT: "/v1/chat/completions", TEXT: "/v1/completions"}
QUIET = {"quiet": {"find": "none"}}  # a detector of that name that finds nothing


def config(mock, **streaming):
    """A gateway whose every service is this mock. `quiet` is on the whole text, `words` on
    sentences, `calls` looks at the whole conversation, tool calls included."""
    service = {"hostname": "127.0.0.1", "port": mock.ports["api"]}
    return {
        "openai": {"service": service},
        "chunkers": {"sentences": {"type": "sentence", "service": service}},
        "detectors": {
            "quiet": {"type": "text_contents", "service": service,
                      "chunker_id": "whole_doc_chunker", "default_threshold": 0.1},
            "words": {"type": "text_contents", "service": service,
                      "chunker_id": "sentences", "default_threshold": 0.1},
            "calls": {"type": "text_chat", "service": service, "default_threshold": 0.1},
        },
        "streaming": streaming,
    }  # fmt: skip


def request(path=CHAT, mock=None, detectors=None, **members):
    """The body of a streamed request; without output detectors events pass as they are."""
    body = {"model": "m", "stream": True, "detectors": detectors or {"input": QUIET}}
    if path == CHAT:
        body["messages"] = [{"role": "user", "content": "How are you?"}]
    else:
        body["prompt"] = "How are you?"
    if mock is not None:
        body["mock"] = mock
    return {**body, **members}


def upstream_request(body):
    return {name: value for name, value in body.items() if name != "detectors"}


def events(body):
    """The events of an answer that is complete: [DONE] is there, once, last, and left out."""
    found = mocks.events(body)
    assert found.count("[DONE]") == 1 and found[-1] == "[DONE]", found[-3:]
    return found[:-1]


def gather(found):
    """What a client makes of events: per choice its texts, calls and the rest; and the usage."""
    whole = {"choices": {}, "usage": None, "errors": []}
    for event in found:
        if event.get("error"):
            whole["errors"].append(event["error"])
            continue
        whole["usage"] = event.get("usage") or whole["usage"]
        for choice in event["choices"]:
            add_choice(whole["choices"].setdefault(choice["index"], new_choice()), choice)
    return whole


def comparable(whole):
    """The same without what is new in every answer: the ids of the mock's calls."""
    for choice in whole["choices"].values():
        ids = [call["id"] for call in choice["calls"]]
        assert len(set(ids)) == len(ids), "calls with one id"
        for call in choice["calls"]:
            call["id"] = re.sub("^call_[0-9a-f]{28}", "call", call["id"])
    return whole


def new_choice():
    return {"role": None, "texts": {}, "calls": [], "finish": [], "logprobs": {}}


def add_choice(to, choice):
    delta = choice.get("delta") or {"content": choice.get("text")}
    to["role"] = delta.get("role") or to["role"]
    for channel in ("content", "reasoning_content", "reasoning", "refusal"):
        if delta.get(channel):
            to["texts"][channel] = to["texts"].get(channel, "") + delta[channel]
    for fragment in delta.get("tool_calls") or []:
        add_fragment(to["calls"], fragment)
    for name, entries in (choice.get("logprobs") or {}).items():
        to["logprobs"][name] = to["logprobs"].get(name, []) + (entries or [])
    if choice.get("finish_reason"):
        to["finish"].append(choice["finish_reason"])


def add_fragment(calls, fragment):
    """openai-python's way: by position in the list, which must be the index."""
    if fragment["index"] >= len(calls):
        assert fragment["index"] == len(calls), "calls out of order"
        calls.append({"id": "", "type": "", "name": "", "arguments": ""})
    call = calls[fragment["index"]]
    function = fragment.get("function") or {}
    # Strings that nobody knows are concatenated: id, type and name may come only once.
    call["id"] += fragment.get("id") or ""
    call["type"] += fragment.get("type") or ""
    call["name"] += function.get("name") or ""
    call["arguments"] += function.get("arguments") or ""


def content(found, choice=0):
    return gather(found)["choices"][choice]["texts"].get("content", "")


def raw_events(*data):
    """Events for the mock's `events`, word for word."""
    return [d if isinstance(d, (int, str)) else f"data: {json.dumps(d)}\n\n" for d in data]


def delta(choice=0, finish=None, **members):
    choices = [{"index": choice, "delta": members, "finish_reason": finish}]
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choices}  # fmt: skip
