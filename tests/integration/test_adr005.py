"""ADR 005 to the letter, on the two detection endpoints: every event says who speaks and names every
choice that it has among its `detections`, also where it has no text; on routes it does not."""

import harness
import mock as mocks
import pytest
import streams
from streams import CHAT, TEXT
from test_batching import SHAPES

BATCHED = {"batching": {"mode": "on"}, "coalescer": {"mode": "on"}}
OUTPUT = {"output": {"regex": {}}}
CHUNKED = {"type": "text_contents", "builtin": "regex", "params": {"regex": ["email"]}}


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1)
    servers.stop_all()


@pytest.fixture(scope="module")
def gateway(module_weir, m):
    tree = streams.config(m, models={"batched": BATCHED})
    tree["chunkers"] = {"sentences": {"builtin": "sentence"}}
    tree["detectors"] = {
        "regex": {**CHUNKED, "chunker_id": "sentences"},
        "whole": {**CHUNKED, "chunker_id": "whole_doc_chunker"},
    }
    tree["routes"] = [{"name": "default", "output": {"regex": {}}, "on_detection": "annotate"}]
    return module_weir(tree)


def ask(gateway, path, shape, model, detectors=OUTPUT):
    members = {"n": 3} if "choices" in shape else {}
    body = streams.request(path, SHAPES[shape], detectors, model=model, **members)
    answer = gateway.api.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return [e for e in streams.events(answer.text) if e["choices"]]


@pytest.mark.parametrize("model", ["m", "batched"])
@pytest.mark.parametrize("path", [CHAT, TEXT])
@pytest.mark.parametrize("shape", [s for s in SHAPES if s != "unknown members"])
def test_every_event_notes_its_choices(gateway, shape, path, model):
    found = ask(gateway, path, shape, model)
    assert found
    for event in found:
        noted = [entry["choice_index"] for entry in event["detections"]["output"]]
        assert noted == [choice["index"] for choice in event["choices"]], event
        assert all(isinstance(entry["results"], list) for entry in event["detections"]["output"])
    if path == CHAT:
        deltas = [choice["delta"] for event in found for choice in event["choices"] if choice.get("delta")]
        assert {delta.get("role") for delta in deltas} == {"assistant"}


def test_events_without_text_are_among_them(gateway):
    """Or the test above could pass because there are none."""
    found = ask(gateway, CHAT, "text and tools", "m")
    assert any(c["delta"].get("tool_calls") for e in found for c in e["choices"])
    assert any(c["finish_reason"] for e in found for c in e["choices"])
    assert any(set(c["delta"]) <= {"role", "content"} and not c["delta"].get("content")
               for e in found for c in e["choices"])  # fmt: skip


def test_where_nothing_works_on_chunks_events_pass(gateway):
    found = ask(gateway, CHAT, "plain", "m", {"output": {"whole": {}}})
    assert not any("detections" in event for event in found[:-1])


def test_not_on_routes(gateway):
    body = streams.upstream_request(streams.request(CHAT, SHAPES["text and tools"]))
    answer = gateway.api.post("/v1/chat/completions", json=body)
    for event in streams.events(answer.text):
        has_text = any(choice["delta"].get("content") for choice in event["choices"])
        is_finish = any(choice["finish_reason"] for choice in event["choices"])
        assert has_text or is_finish or "detections" not in event
