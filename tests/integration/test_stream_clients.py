"""npm `openai` and Vercel's `ai` rebuild from the gateway's streams exactly what the model said."""

import json
import re

import clients
import harness
import mock as mocks
import pytest
import streams
from streams import CHAT, QUIET

pytestmark = clients.needed

ON = {"mode": "on"}
MODELS = {
    "off": {},
    "on": {"batching": ON},
    "both": {"batching": ON, "coalescer": ON},
    "finish": {"coalescer": {"mode": "on", "tool_call_gate": "finish"}},
    "head": {"batching": ON, "coalescer": {"mode": "on", "tool_gate_emit_head": True}},
    "calls": {"batching": {"mode": "on", "flush_on_tool_call": False}},
    "limit": {"coalescer": {"mode": "on", "max_tool_args_bytes": 12}},
}
DETECTORS = {
    "input only": {"input": QUIET},
    "sentences": {"output": {"words": {"find": "none"}}},
    "whole": {"output": {"quiet": {"find": "none"}, "calls": {"find": "none"}}},
}

TEXT = "Ha. Ha. Ha! It is 3.14 o'clock 😀, e\u0301 and 你好。\n\n```c\nint x = 1; \n```\n\nDone, *really*."
ARGUMENTS = json.dumps({"city": "Zürich }{", "note": 'a "b" \\ \n', "n": [[1, {}], None]})
PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": True}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "", "parameters": PARAMETERS}}
    for name in ("get_weather", "get_time")
]
ASK = {"model": "any", "messages": [{"role": "user", "content": "Hi"}]}
ASK_TOOLS = {**ASK, "tools": TOOLS}

# Shape of the mock's answer, and what is asked.
SHAPES = {
    "text": ({"text": TEXT}, ASK),
    "long": ({"tokens": 250}, ASK),
    "tools": ({"scenario": "tools", "tool_calls": 3, "arguments": ARGUMENTS}, ASK_TOOLS),
    "text and tools": (
        {"scenario": "text,tools", "text": TEXT, "tool_calls": 2, "arguments": ARGUMENTS},
        ASK_TOOLS,
    ),
    "reasoning": ({"scenario": "reasoning", "text": TEXT}, ASK),
    "azure": ({"scenario": "azure", "text": TEXT}, ASK),
    "unknown": ({"scenario": "unknown", "text": TEXT}, ASK),
    "repeats": ({"pieces": ["ha", "ha", "ha", ".", ".", "."]}, ASK),
    "role on each": ({"scenario": "role-each", "text": TEXT}, ASK),
    "usage": ({"text": TEXT}, {**ASK, "stream_options": {"include_usage": True}}),
}
CHOICES = ({"scenario": "shuffled", "tokens": 60}, {**ASK, "n": 3})
REFUSAL = ({"scenario": "refusal", "text": TEXT}, ASK)
LOGPROBS = ({"text": TEXT}, {**ASK, "logprobs": True, "top_logprobs": 2})
OPENAI_SHAPES = {**SHAPES, "choices": CHOICES, "refusal": REFUSAL, "logprobs": LOGPROBS}


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1)
    servers.stop_all()


@pytest.fixture(scope="module")
def gateway(module_weir, m):
    return module_weir(streams.config(m, models=MODELS))


def direct(m, shape):
    mock, ask = shape
    return {"base": m.url(), "path": "/v1/chat/completions", "ask": ask, "body": {"mock": mock}}


def guarded(gateway, shape, model, detectors):
    mock, ask = shape
    body = {"mock": mock, "model": model, "detectors": detectors}
    return {"base": gateway.url(), "path": CHAT, "ask": ask, "body": body}


def plain(value):
    """Without what differs between two answers: ids, and the model's name."""
    text = json.dumps(value)
    text = re.sub(r"call_[0-9a-f]{28}", "call_", text)
    value = json.loads(re.sub(r"chatcmpl-[0-9a-f]{24}", "chatcmpl", text))
    if isinstance(value, dict):
        value.pop("model", None)
    return value


def all_jobs(gateway, m, shapes):
    """{(shape, model, detectors): job}, and one straight to the mock for each shape."""
    jobs = {(name, "mock", ""): direct(m, shape) for name, shape in shapes.items()}
    for name, shape in shapes.items():
        for model in MODELS:
            for what, detectors in DETECTORS.items():
                jobs[name, model, what] = guarded(gateway, shape, model, detectors)
    return jobs


def results_of(script, jobs):
    return dict(zip(jobs, clients.run(script, list(jobs.values()))))


def told(result):
    """The final completion as the client has it, without what the gateway adds."""
    assert "error" not in result, result
    completion = plain(result["completion"])
    for ours in ("detections", "warnings"):
        completion.pop(ours, None)
    for choice in completion["choices"]:
        choice.pop("content_filter_results", None)
        # It keeps the last piece of a string it does not know.
        choice["message"].pop("reasoning_content", None)
    return completion


def test_openai_rebuilds_what_was_sent(gateway, m):
    jobs = all_jobs(gateway, m, OPENAI_SHAPES)
    results = results_of("openai.cjs", jobs)
    for (name, model, what), result in results.items():
        expected = results[name, "mock", ""]
        where = f"{name}, {model}, {what}"
        assert told(result) == told(expected), where
        if name != "choices":  # it gives the text of all of them as it comes
            assert result["content"] == expected["content"], where
        # Heads of several calls make it think that one is done when the next one's head comes; the
        # final completion is right all the same.
        if model != "head":
            assert result["calls"] == expected["calls"], where
    message = results["text", "both", "input only"]["completion"]["choices"][0]["message"]
    assert message["content"] == TEXT
    calls = results["tools", "both", "whole"]["completion"]["choices"][0]["message"]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == [ARGUMENTS] * 3
    events = {model: results["long", model, "input only"]["events"] for model in ("off", "on")}
    assert events["off"] >= 8 * events["on"]


def rebuilt(result):
    assert "error" not in result and result["errors"] == [], result
    got = {name: result[name] for name in ("text", "reasoning", "finish", "usage")}
    got["calls"] = [(call["name"], call["input"]) for call in result["calls"]]
    got["inputs"] = list(result["inputs"].values())
    return got


def test_ai_rebuilds_what_was_sent(gateway, m):
    jobs = all_jobs(gateway, m, SHAPES)
    results = results_of("ai.cjs", jobs)
    for (name, model, what), result in results.items():
        assert rebuilt(result) == rebuilt(results[name, "mock", ""]), f"{name}, {model}, {what}"
    assert results["text", "both", "input only"]["text"] == TEXT
    assert results["reasoning", "both", "sentences"]["reasoning"] != ""
    calls = results["tools", "finish", "whole"]["calls"]
    assert [call["input"] for call in calls] == [json.loads(ARGUMENTS)] * 3
    deltas = {model: results["long", model, "input only"]["deltas"] for model in ("off", "on")}
    assert deltas["off"] >= 8 * deltas["on"]


FAILING = ({"pieces": ["Hi", " there", " you"], "fail_at": 3}, ASK)


@pytest.mark.parametrize("script", ["openai.cjs", "ai.cjs"])
def test_clients_raise_an_error_in_the_middle(gateway, script):
    jobs = {model: guarded(gateway, FAILING, model, {"input": QUIET}) for model in ("off", "both")}
    for result in results_of(script, jobs).values():
        if script == "openai.cjs":
            assert "unexpected error" in result["error"]["message"]
        else:
            assert result["text"] == "Hi there"
            assert "unexpected error" in result["errors"][0]


@pytest.mark.parametrize("script", ["openai.cjs", "ai.cjs"])
def test_clients_see_an_ordinary_error_before_the_first_event(gateway, script):
    shape = ({"status": 404, "fail_rate": 1, "message": "no such model"}, ASK)
    [result] = clients.run(script, [guarded(gateway, shape, "both", {"input": QUIET})])
    said = result["error"]["message"] if script == "openai.cjs" else result["errors"][0]
    assert "404" in said or said == "Not Found"
