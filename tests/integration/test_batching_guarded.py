"""Batching and the coalescer behind the detectors: guarded streams are joined like others, with
their findings, and nothing of them is lost, changed or reordered."""

import json

import harness
import mock as mocks
import policies
import pytest
import streams
from policies import CHAT, FALLBACK, MAIL, TEXT

ON = {"mode": "on"}
TIMELESS = {"mode": "on", "max_latency_ms": 10000}  # so that no flush is for the time it took

# How a stream is batched, by the model that is asked for.
MODELS = {
    "off": {},
    "on": {"batching": ON},
    "timeless": {"batching": TIMELESS},
    "both": {"batching": TIMELESS, "coalescer": {"mode": "on", "max_hold_ms": 10000}},
    "metrics": {"batching": {**TIMELESS, "mode": "metrics"}},
}
ACTIONS = ("annotate", "redact", "block")
CHUNKERS = ("windows", "sentences")
API = {CHAT: streams.CHAT, TEXT: streams.TEXT}


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1)
    servers.stop_all()


def guarded_config(m):
    service = {"hostname": "127.0.0.1", "port": m.ports["api"]}
    finder = {"type": "text_contents", "builtin": "regex", "params": {"regex": ["email"]}}
    routes = [
        {"name": f"{action}-{chunker}", "output": {chunker: {}}, "on_detection": action,
         **({"fallback_message": FALLBACK} if action == "block" else {})}
        for action in ACTIONS for chunker in CHUNKERS
    ]  # fmt: skip
    return {
        "openai": {"service": service},
        "chunkers": {"windows": {"builtin": "window", "size": 32, "overlap": 16},
                     "sentences": {"builtin": "sentence"}},
        "detectors": {name: {**finder, "chunker_id": name} for name in CHUNKERS},
        "routes": [{"name": "plain", "unguarded": True}, *routes],
        "streaming": {"models": MODELS},
        "passthrough_headers": ["x-mock-model"],
    }  # fmt: skip


@pytest.fixture(scope="module")
def gateway(module_weir, m):
    return module_weir(guarded_config(m))


def ask(gateway, where, model, mock, path=CHAT, **members):
    """`where`: a route, or the detector of a request to the endpoints under /api."""
    body = policies.ask(mock=mock, path=path, model=model, **members)
    if where in CHUNKERS:
        body = {**body, "stream": True, "detectors": {"output": {where: {}}}}
        answer = gateway.api.post(API[path], json=body)
        assert answer.status_code == 200, answer.text
        return streams.events(answer.text)
    return policies.stream(gateway, where, body, path)


# --- the same answer ---


def entries(event):
    return (event.get("detections") or {}).get("output", [])


def found(events):
    """Every finding with its choice and channel, in an order of its own."""
    return sorted(json.dumps([e["choice_index"], e.get("channel"), r])
                  for event in events for e in entries(event) for r in e["results"])  # fmt: skip


def warned(events):
    return {json.dumps(w) for event in events for w in event.get("warnings", [])}


def rank(result):
    has_span = "start" in result
    return (not has_span, result.get("start", 0), result.get("end", 0), result["detector_id"])


def check_frames(events, is_blocked):
    """Each event's findings are in order, and begin in what has been said with it."""
    said = []
    for event in events:
        said.append(event)
        assert len(event.get("warnings", [])) == len(warned([event]))
        for entry in entries(event):
            results = entry["results"]
            assert [rank(r) for r in results] == sorted(rank(r) for r in results)
            texts = streams.gather(said)["choices"][entry["choice_index"]]["texts"]
            text = texts.get(entry.get("channel", "content"), "")
            assert is_blocked or all(r["start"] < len(text) for r in results)


TALK = f"Please write to {MAIL} today. Nobody else knows, and that is good. Or ask {MAIL}! Then rest. "
REFUSED = [streams.delta(role="assistant"),
           *(streams.delta(refusal=word + " ") for word in TALK.split()),
           streams.delta(finish="stop"), "data: [DONE]\n\n"]  # fmt: skip
SHAPES = {
    "findings": {"text": TALK, "tokens": 60},
    "no findings": {"tokens": 120},
    "late": {"text": "All is well here. " * 6 + f"But {MAIL} is not. The end."},
    "three choices": {"text": TALK, "tokens": 40, "scenario": "shuffled"},
    "joined choices": {"text": TALK, "tokens": 40, "scenario": "joined"},
    "reasoning": {"text": TALK, "tokens": 60, "scenario": "reasoning"},
    "refusal": {"events": streams.raw_events(*REFUSED)},
    "logprobs": {"text": TALK, "tokens": 30, "scenario": "logprobs"},
    "usage on each": {"text": TALK, "tokens": 30, "scenario": "usage-each"},
    "finish with text": {"text": TALK, "tokens": 30, "scenario": "finish-with-text"},
    "text and tools": {"scenario": "text,tools", "tokens": 20, "tool_calls": 3},
    "halves": {"scenario": "split-utf8", "text": f"😀😀 and {MAIL} 😀. Then more of it."},
    "unknown members": {"text": TALK, "tokens": 30, "scenario": "unknown"},
}
QUIET_SHAPES = ("no findings", "text and tools")


def is_let_go(where, shape):
    """Where nothing is enforced, refusals are not looked at, nor is text beside unknown members."""
    return shape in ("refusal", "unknown members") and not where.startswith(("redact", "block"))


PLACES = [(path, chunker) for path in (CHAT, TEXT) for chunker in CHUNKERS]
PLACES += [(CHAT, f"{action}-{chunker}") for action in ACTIONS for chunker in CHUNKERS]
PLACES += [(TEXT, "redact-windows"), (TEXT, "annotate-sentences")]


CASES = [(path, where, shape) for path, where in PLACES for shape in SHAPES
         if path == CHAT or shape not in ("reasoning", "refusal", "text and tools")]  # fmt: skip


@pytest.mark.parametrize("path, where, shape", CASES)
def test_a_guarded_answer_is_the_same_but_for_the_number_of_its_events(gateway, path, where, shape):
    members = {"n": 3} if "choices" in shape else {}
    plain = ask(gateway, where, "off", SHAPES[shape], path, **members)
    wanted = streams.comparable(streams.gather(plain))
    assert found(plain) or shape in QUIET_SHAPES or is_let_go(where, shape)
    for model in ("on", "timeless", "both"):
        got = ask(gateway, where, model, SHAPES[shape], path, **members)
        assert streams.comparable(streams.gather(got)) == wanted
        assert found(got) == found(plain)
        assert warned(got) == warned(plain)
        check_frames(got, "block" in where)
        assert len(got) <= len(plain)


# --- fewer events ---

LONG = {"tokens": 300}


@pytest.mark.parametrize("model", ["on", "both"])
@pytest.mark.parametrize("path, where", PLACES)
def test_a_guarded_stream_has_many_times_fewer_events(gateway, path, where, model):
    sent = len(ask(gateway, "plain", "off", LONG, path))
    assert sent / len(ask(gateway, "plain", model, LONG, path)) >= 5
    assert sent / len(ask(gateway, where, model, LONG, path)) >= 5


def test_metrics_mode_predicts_the_events_of_a_guarded_stream(gateway):
    got = ask(gateway, "redact-windows", "timeless", LONG)
    assert len(ask(gateway, "redact-windows", "metrics", LONG)) > 2 * len(got)
    gateway.wait_log("stream ended", model="metrics", would_adapter=len(got))


WHOLE = "One sentence. Another one. And a third! Is there more? Yes. " * 4
SAID = {
    "all in one event": [streams.delta(role="assistant", content=WHOLE, finish="stop")],
    "the role first": [streams.delta(role="assistant"), streams.delta(content=WHOLE),
                       streams.delta(finish="stop")],
    "the finish with the text": [streams.delta(role="assistant"),
                                 streams.delta(content=WHOLE, finish="stop")],
    "two halves": [streams.delta(role="assistant", content=WHOLE[:100]),
                   streams.delta(content=WHOLE[100:]), streams.delta(finish="stop")],
    "choices one by one": [streams.delta(n, role="assistant", content=WHOLE, finish="stop")
                           for n in range(3)],
}  # fmt: skip


@pytest.mark.parametrize("model", ["timeless", "both"])
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("where", [where for path, where in PLACES if path == CHAT])
def test_no_more_events_than_the_model_sent(gateway, where, said, model):
    """Not counting one event with the finish reason for each choice."""
    mock = {"events": streams.raw_events(*SAID[said], "data: [DONE]\n\n")}
    got = ask(gateway, where, model, mock)
    finishes = [e for e in got if any(c["finish_reason"] for c in e["choices"])]
    assert len(finishes) == len(streams.gather(got)["choices"])
    assert len(got) - len(finishes) <= len(SAID[said])
    assert policies.said(got)["content"] == WHOLE


# --- a block ---


@pytest.mark.parametrize("model", ["off", "on", "timeless", "both"])
@pytest.mark.parametrize("chunker", CHUNKERS)
def test_the_fallback_is_an_event_of_its_own(gateway, chunker, model):
    """What was released before it has left, in other events."""
    got = ask(gateway, f"block-{chunker}", model, SHAPES["late"])
    [no] = [e for e in got if entries(e) and entries(e)[0]["results"]]
    assert no["choices"][0]["delta"].get("content") == f"\n\n{FALLBACK}"
    assert got[-1]["choices"][0]["finish_reason"] == "content_filter"
    assert policies.said(got)["content"].startswith("All is well here. All is well")


# --- not joined ---


def test_compat_fms_joins_no_findings(weir, m):
    """Its spans count from the beginning of a chunk."""
    tree = {**guarded_config(m), "compat": "fms"}
    server = weir(tree)
    events = [ask(server, "annotate-sentences", model, SHAPES["findings"])
              for model in ("off", "timeless")]  # fmt: skip
    assert found(events[0]) and found(events[0]) == found(events[1])
    per_event = [[len(e["results"]) for event in es for e in entries(event) if e["results"]]
                 for es in events]  # fmt: skip
    assert per_event[0] == per_event[1]
