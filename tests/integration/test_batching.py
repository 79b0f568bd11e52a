"""Stream batching, coalescing and the tool-call gate through the server, `weir-mock` behind it."""

import json
import signal
import socket

import harness
import mock as mocks
import pytest
import service as services
import streams
from prometheus_client.parser import text_string_to_metric_families
from streams import CHAT, QUIET, TEXT

ON = {"mode": "on"}
BOTH = {"batching": ON, "coalescer": ON}
TIMELESS = {"mode": "on", "max_latency_ms": 10000}  # so that no flush is for the time it took

# Every setting a test needs, by the model it asks for.
MODELS = {
    "off": {},
    "on": {"batching": ON},
    "both": BOTH,
    "small": {"batching": {"mode": "on", "min_chars_per_emit": 8, "flush_on_sentence": False}},
    "patient": {"batching": {"mode": "on", "max_latency_ms": 10000}},
    "timeless": {"batching": TIMELESS, "coalescer": {"mode": "on", "max_hold_ms": 10000}},
    "timeless-metrics": {"batching": {**TIMELESS, "mode": "metrics"},
                         "coalescer": {"mode": "metrics", "max_hold_ms": 10000}},
    "leaver": {"batching": {"mode": "on", "max_latency_ms": 10000}},
    "metrics": {"batching": {"mode": "metrics"}, "coalescer": {"mode": "metrics"}},
    "closed": {"coalescer": {"mode": "on", "tool_call_gate": "closed"}},
    "finish": {"coalescer": {"mode": "on", "tool_call_gate": "finish"}},
    "head": {"coalescer": {"mode": "on", "tool_gate_emit_head": True}},
    "limit": {"coalescer": {"mode": "on", "max_tool_args_bytes": 20}},
    "hold": {"coalescer": {"mode": "on", "max_tool_hold_ms": 100}},
    "release": {"coalescer": {"mode": "on", "tool_gate_on_abort": "release"}},
    "drop": {"coalescer": {"mode": "on", "on_incomplete": "drop"}},
}


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    """The services behind the gateway."""
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1)
    servers.stop_all()


@pytest.fixture(scope="module")
def gateway(module_weir, m):
    override = {"max_latency_ms": 700, "min_chars_per_emit": 300}
    tree = streams.config(m, models=MODELS, request_override=override)
    return module_weir(tree)


class Answer:
    def __init__(self, text):
        self.text = text
        self.events = streams.events(text)
        self.whole = streams.comparable(streams.gather(self.events))

    def choice(self, index=0):
        return self.whole["choices"][index]


def ask(gateway, model, mock=None, path=CHAT, headers=None, client=None, **members):
    body = streams.request(path, mock, model=model, **members)
    answer = (client or gateway.api).post(path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"
    return Answer(answer.text)


def ask_upstream(m, mock=None, path=CHAT, **members):
    """The same request to the model server itself."""
    body = streams.upstream_request(streams.request(path, mock, **members))
    answer = m.api.post(streams.UPSTREAM[path], json=body)
    assert answer.status_code == 200, answer.text
    return Answer(answer.text)


class Reader:
    """A stream read event by event, while it lasts."""

    def __init__(self, gateway, model, mock, **members):
        body = streams.request(CHAT, mock, model=model, **members)
        self.stream = gateway.client().stream("POST", CHAT, json=body)

    def __enter__(self):
        self.lines = self.stream.__enter__().iter_lines()
        return self

    def __exit__(self, *exc):
        self.stream.__exit__(*exc)

    def next(self):
        for line in self.lines:
            if line.startswith("data: "):
                return line[6:] if line == "data: [DONE]" else json.loads(line[6:])
        return None

    def next_text(self):
        while True:
            event = self.next()
            text = "".join(c["delta"].get("content") or "" for c in event["choices"])
            if text:
                return text


# --- fewer messages, the same text ---

LONG = {"tokens": 300}


@pytest.mark.parametrize("model", ["on", "both", "small"])
@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_fewer_messages_with_the_same_text(gateway, m, model, path):
    expected = ask_upstream(m, LONG, path)
    got = ask(gateway, model, LONG, path)
    assert got.choice() == expected.choice()
    at_least = 1.4 if model == "small" else 8
    assert len(expected.events) / len(got.events) >= at_least


def test_http2_gets_the_same(gateway, m):
    client = gateway.client(http2=True)
    got = ask(gateway, "both", LONG, client=client)
    assert got.choice() == ask_upstream(m, LONG).choice()


SHAPES = {
    "plain": {"text": "Ha. Ha. Ha.\n\n```py\nx = 1. \n```\nDone 😀 e\u0301 \u200d."},
    "cut": {"text": "Grüße aus Köln, 你好。", "cut_bytes": 7},
    "three choices": {"tokens": 40, "scenario": "shuffled"},
    "joined choices": {"tokens": 40, "scenario": "joined"},
    "reasoning": {"tokens": 60, "scenario": "reasoning"},
    "reasoning beside text": {"tokens": 60, "scenario": "mixed"},
    "refusal": {"tokens": 30, "scenario": "refusal"},
    "logprobs": {"tokens": 30, "scenario": "logprobs"},
    "usage on each": {"tokens": 30, "scenario": "usage-each"},
    "role on each": {"tokens": 30, "scenario": "role-each"},
    "role with text": {"tokens": 30, "scenario": "role-with-text"},
    "no role": {"tokens": 30, "scenario": "role-never"},
    "finish with text": {"tokens": 30, "scenario": "finish-with-text"},
    "text after finish": {"tokens": 30, "scenario": "text-after-finish"},
    "azure": {"tokens": 30, "scenario": "azure"},
    "unknown members": {"tokens": 30, "scenario": "unknown"},
    "other line ends": {"tokens": 30, "scenario": "crlf,comments"},
    "no done": {"tokens": 30, "scenario": "no-done"},
    "nothing": {"scenario": "empty"},
    "tools": {"scenario": "tools"},
    "text and tools": {"scenario": "text,tools", "tokens": 20, "tool_calls": 3},
    "halves": {"scenario": "split-utf8", "text": "😀😀 and 😀"},
}


@pytest.mark.parametrize("model", ["on", "both", "small", "metrics", "finish"])
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_lost_or_changed(gateway, m, shape, model):
    members = {"n": 3} if "choices" in shape else {}
    if shape == "no done":
        members["stream_options"] = {"include_usage": True}
        expected = streams.gather(mocks.events(raw_upstream(m, SHAPES[shape], **members)))
    else:
        expected = ask_upstream(m, SHAPES[shape], **members).whole
    got = ask(gateway, model, SHAPES[shape], **members).whole
    assert got == expected


def raw_upstream(m, mock, **members):
    body = streams.upstream_request(streams.request(CHAT, mock, **members))
    return m.api.post(streams.UPSTREAM[CHAT], json=body).text


def test_usage_comes_last_and_once(gateway, m):
    options = {"stream_options": {"include_usage": True}}
    got = ask(gateway, "both", LONG, **options)
    assert [bool(e.get("usage")) for e in got.events] == [False] * (len(got.events) - 1) + [True]
    assert got.whole["usage"] == ask_upstream(m, LONG, **options).whole["usage"]


def test_a_role_leaves_once(gateway):
    got = ask(gateway, "both", {"tokens": 30})
    assert [e["choices"][0]["delta"].get("role") for e in got.events].count("assistant") == 1


# --- time ---


def test_the_first_token_does_not_wait(gateway):
    """Nothing follows it, and batching waits ten seconds for more: it comes all the same."""
    said = streams.raw_events(
        streams.delta(role="assistant"), streams.delta(content="Hi"), 60000
    )
    for model in ("patient", "both"):
        with Reader(gateway, model, {"events": said}) as reader:
            assert reader.next_text() == "Hi"


def test_text_leaves_in_time_while_the_model_is_silent(gateway):
    said = streams.raw_events(
        streams.delta(content="Hi"), streams.delta(content=" a"), streams.delta(content="b"), 60000
    )
    for model in ("on", "both"):
        with Reader(gateway, model, {"events": said}) as reader:
            assert reader.next_text() == "Hi"
            text = reader.next_text()
            while text == " a":  # where the two came so far apart that their time was up
                text += reader.next_text()
            assert text == " ab"


def test_a_reasoning_channel_has_its_own_first_token(gateway):
    said = streams.raw_events(
        streams.delta(reasoning_content="Hm"),
        streams.delta(reasoning_content=" so"),
        streams.delta(content="Hi"),
        60000,
    )
    with Reader(gateway, "patient", {"events": said}) as reader:
        found = [reader.next()["choices"][0]["delta"] for _ in range(3)]
    assert [d.get("reasoning_content") for d in found] == ["Hm", " so", None]
    assert found[2]["content"] == "Hi"


# --- off, and metrics ---

ODD = [
    ": a comment of its own\n\n",
    'id: 1\r\ndata:{"choices" : [{"index":0,"delta":{"role":"assistant"}}]}\r\n\r\n',
    ': inside\nid: 2\ndata: {"choices":[{"index":0, "delta":{"content":"H\\u00e4"}}],"big":1e999}\n\n',
    'event: message\ndata: {"choices":[{"index":0,\ndata: "delta":{"content":"i."}}]}\n\n',
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
]


@pytest.mark.parametrize("model", ["off", "metrics"])
def test_bytes_pass_untouched(gateway, model):
    body = streams.request(mock={"events": [*ODD, "data: [DONE]\n\n"]}, model=model)
    answer = gateway.api.post(CHAT, json=body)
    assert answer.content == "".join(ODD[1:]).encode() + b"data: [DONE]\n\n"


def test_metrics_mode_counts_what_on_would_do(gateway):
    before = Metrics(gateway)
    ask(gateway, "timeless-metrics", LONG)
    grown = Metrics(gateway).since(before)
    really = Metrics(gateway)
    ask(gateway, "timeless", LONG)
    done = Metrics(gateway).since(really)
    raw = grown["stream_chunks_total", "raw", "timeless-metrics"]
    assert grown["stream_chunks_total", "business", "timeless-metrics"] == raw
    would = grown["stream_would_chunks_total", "adapter", "timeless-metrics"]
    assert would == done["stream_chunks_total", "adapter", "timeless"] < raw / 8
    reasons = {key[2]: n for key, n in grown.values.items()
               if key[:2] == ("stream_would_flushes_total", "adapter") and n}  # fmt: skip
    assert reasons == {key[2]: n for key, n in done.values.items()
                       if key[:2] == ("stream_flushes_total", "adapter") and n}  # fmt: skip
    assert sum(reasons.values()) == would


# --- what a request may ask for ---


def ended(gateway, model, **fields):
    """The log line of the last stream of this model."""
    gateway.wait_log("stream ended", model=model, **fields)
    return gateway.log("stream ended", model=model, **fields)[-1]


def test_a_header_turns_it_on_and_sets_it(gateway):
    got = ask(gateway, "off", LONG, headers={"x-stream-batching": "on; min_chars=200"})
    assert len(got.events) < 30
    line = ended(gateway, "off", batching="on")
    assert (line["min_chars"], line["max_latency_ms"]) == (200, 200)


def test_a_body_turns_it_off(gateway):
    options = {"stream_options": {"batching": {"mode": "off"}}}
    assert len(ask(gateway, "on", LONG, **options).events) > 300


def test_the_body_wins_over_the_header_key_by_key(gateway):
    options = {"batching": {"min_chars_per_emit": 33}}
    headers = {"x-stream-batching": "min_chars=44;max_latency_ms=55"}
    ask(gateway, "on", LONG, headers=headers, stream_options=options)
    line = ended(gateway, "on", min_chars=33)
    assert (line["min_chars"], line["max_latency_ms"]) == (33, 55)


def test_wishes_are_clamped(gateway):
    headers = {"x-stream-batching": "min_chars=65536; max_latency_ms=10000"}
    ask(gateway, "on", LONG, headers=headers)
    line = ended(gateway, "on", min_chars=300)
    assert line["max_latency_ms"] == 700


@pytest.mark.parametrize(
    "header, options, why",
    [
        ("sometimes", None, "x-stream-batching: sometimes is neither a mode nor key=value"),
        ("max_latency_ms=soon", None, "x-stream-batching: max_latency_ms must be a whole number"),
        (None, {"batching": "on"}, "stream_options.batching: it must be an object"),
        (None, {"batching": {"speed": 1}}, "stream_options.batching: speed is not a known key"),
        (None, {"batching": {"min_chars_per_emit": 0}}, "must be from 1 to 65536"),
    ],
)
@pytest.mark.parametrize("is_stream", [True, False])
def test_nonsense_is_400(gateway, m, header, options, why, is_stream):
    headers = {"x-stream-batching": header} if header else {}
    options = {"stream_options": options} if options else {}
    body = streams.request(model="on", stream=is_stream, **options)
    answer = gateway.api.post(CHAT, json=body, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["code"] == 400 and why in answer.json()["details"]


def test_a_wish_that_makes_sense_does_not_disturb_a_whole_answer(gateway):
    options = {"batching": {"mode": "on", "min_chars_per_emit": 33}}
    body = streams.request(model="on", stream=False, stream_options=options)
    answer = gateway.api.post(CHAT, json=body, headers={"x-stream-batching": "off"})
    assert answer.status_code == 200 and answer.json()["choices"]


def test_overrides_can_be_forbidden(weir, mock):
    w = weir(streams.config(mock(), request_override={"enabled": False}))
    answer = w.api.post(CHAT, json=streams.request(), headers={"x-stream-batching": "on"})
    assert answer.status_code == 400


def test_the_model_server_never_hears_of_it(weir, mock, service):
    """OpenAI rejects members it does not know."""
    model = service(lambda r: services.events(streams.delta(content="Hi"), "[DONE]"))
    tree = streams.config(mock())
    tree["openai"] = {"service": model.config()}
    w = weir(tree)
    batching = {"mode": "on"}
    for options, sent in [
        ({"batching": batching}, None),
        ({"batching": batching, "include_usage": True}, {"include_usage": True}),
        ({"include_usage": True}, {"include_usage": True}),
    ]:
        body = streams.request(stream_options=options)
        answer = w.api.post(CHAT, json=body, headers={"x-stream-batching": "min_chars=9"})
        assert answer.status_code == 200, answer.text
        assert model.requests[-1].json().get("stream_options") == sent
        assert model.requests[-1].header("x-stream-batching") is None


# --- tool calls ---

ARGUMENTS = json.dumps({"city": "Zürich }{", "note": 'say "hi" \\ \n', "list": [[1, {}], None]})
CALLS = {"scenario": "tools", "tool_calls": 3, "arguments": ARGUMENTS}


def call_events(got):
    return [e["choices"][0]["delta"]["tool_calls"] for e in got.events
            if e["choices"] and e["choices"][0]["delta"].get("tool_calls")]  # fmt: skip


def test_calls_leave_whole(gateway, m):
    got = ask(gateway, "closed", CALLS)
    assert got.choice() == ask_upstream(m, CALLS).choice()
    found = call_events(got)
    assert [len(calls) for calls in found] == [1, 1, 1]
    assert [call["function"]["arguments"] for [call] in found] == [ARGUMENTS] * 3
    assert all(call["id"] and call["function"]["name"] for [call] in found)


def test_calls_wait_for_the_finish(gateway, m):
    got = ask(gateway, "finish", CALLS)
    assert got.choice() == ask_upstream(m, CALLS).choice()
    [calls] = call_events(got)
    assert [call["function"]["arguments"] for call in calls] == [ARGUMENTS] * 3
    last_two = [e["choices"][0] for e in got.events[-2:]]
    assert last_two[0]["delta"]["tool_calls"] == calls
    assert last_two[1]["finish_reason"] == "tool_calls"


def test_calls_wait_for_the_finish_where_a_detector_looks(gateway, m):
    detectors = {"output": {"calls": {"find": "none"}}}
    got = ask(gateway, "closed", CALLS, detectors=detectors)
    [calls] = call_events(got)
    assert [call["function"]["arguments"] for call in calls] == [ARGUMENTS] * 3


@pytest.mark.parametrize("action, n_events", [("annotate", 3), ("block", 1), ("redact", 1)])
def test_calls_wait_for_the_finish_where_a_route_enforces(weir, mock, action, n_events):
    """Routes that block or redact look at tool calls too."""
    tree = streams.config(mock(), coalescer=ON)
    tree["routes"] = [{"name": "default", "output": QUIET, "on_detection": action}]
    body = streams.upstream_request(streams.request(mock=CALLS))
    got = Answer(weir(tree).api.post(streams.UPSTREAM[CHAT], json=body).text)
    calls = call_events(got)
    assert len(calls) == n_events
    assert [c["function"]["arguments"] for cs in calls for c in cs] == [ARGUMENTS] * 3


def test_a_head_may_go_ahead(gateway, m):
    got = ask(gateway, "head", CALLS)
    assert got.choice() == ask_upstream(m, CALLS).choice()
    first = call_events(got)[0][0]
    assert first["id"] and first["function"]["name"] and first["function"]["arguments"] == ""


def test_a_call_beyond_its_limit_flows(gateway, m):
    got = ask(gateway, "limit", CALLS)
    assert got.choice() == ask_upstream(m, CALLS).choice()
    assert len(call_events(got)) > 3


def test_a_call_is_not_held_for_ever(gateway):
    """The model stops in the middle of a call and says nothing more."""
    function = {"name": "f", "arguments": '{"a":'}
    call = {"index": 0, "id": "c1", "type": "function", "function": function}
    said = streams.raw_events(streams.delta(tool_calls=[call]), 60000)
    with Reader(gateway, "hold", {"events": said}) as reader:
        [held] = reader.next()["choices"][0]["delta"]["tool_calls"]
    assert held["function"]["arguments"] == '{"a":'


def broken_call(*ends):
    function = {"name": "f", "arguments": '{"a":'}
    call = {"index": 0, "id": "c1", "type": "function", "function": function}
    return {"events": streams.raw_events(
        streams.delta(role="assistant"), streams.delta(tool_calls=[call]), *ends)}  # fmt: skip


FINISH = streams.delta(finish="length")
FAILURE = {"error": {"message": "overloaded", "type": "server_error", "code": 503}}


@pytest.mark.parametrize(
    "model, ends, is_there",
    [
        ("closed", [FINISH], True),  # as it came, never repaired
        ("drop", [FINISH], False),
        ("closed", [FAILURE], False),
        ("release", [FAILURE], True),
        ("closed", ["data: [DONE]\n\n"], True),
    ],
)
def test_a_call_that_stays_open(gateway, model, ends, is_there):
    got = ask(gateway, model, broken_call(*ends))
    calls = got.choice()["calls"]
    assert [call["arguments"] for call in calls] == (['{"a":'] if is_there else [])
    assert len(got.whole["errors"]) == (ends == [FAILURE])


def test_text_may_overtake_a_held_call_but_nothing_is_lost(gateway, m):
    shape = {"scenario": "text,tools", "tokens": 40, "tool_calls": 2}
    for model in ("closed", "finish", "both"):
        assert ask(gateway, model, shape).choice() == ask_upstream(m, shape).choice()


# --- errors ---


@pytest.mark.parametrize("error", ["nested", "flat", "event", "cut"])
def test_an_error_in_the_middle_delivers_what_was_said(gateway, error):
    """Batching holds the text back when the error comes."""
    shape = {"pieces": ["Hi", " there", " you", " and", " me"], "fail_at": 4, "error": error}
    body = streams.request(mock=shape, model="patient")
    answer = gateway.api.post(CHAT, json=body)
    assert answer.status_code == 200
    found = streams.events(answer.text)
    assert streams.content(found) == "Hi there you"
    assert len(streams.gather(found)["errors"]) == 1 and "error" in found[-1]
    assert answer.text.count("event: error\n") == 1
    assert ended(gateway, "patient", end="error")["raw"] == 4


def test_what_cannot_be_read_keeps_its_place(gateway):
    """Without output detectors nobody else minds: text goes on behind it."""
    shape = {"pieces": ["Hi", " there", " you", " and", " me"], "fail_at": 4, "error": "garbage"}
    answer = gateway.api.post(CHAT, json=streams.request(mock=shape, model="patient"))
    found = mocks.events(answer.text)
    texts = [e["choices"][0]["delta"].get("content") if isinstance(e, dict) else e for e in found]
    assert texts == ["", "Hi", " there you", '{"choices":[{"index":0,', " and me", None, "[DONE]"]


def test_an_error_before_the_first_event_has_its_status(gateway):
    body = streams.request(mock={"status": 503, "fail_rate": 1, "message": "no"}, model="both")
    answer = gateway.api.post(CHAT, json=body)
    assert answer.status_code == 503
    assert answer.json()["details"].endswith("no")


# --- a caller that does not read ---


def slow_request(gateway, body):
    """A connection whose window is small, with the request sent and nothing read."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", gateway.api_port))
    text = json.dumps(body).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    head += f"connection: close\r\ncontent-length: {len(text)}\r\n\r\n"
    sock.sendall(head.encode() + text)
    return sock


def read_slowly(sock):
    with sock, sock.makefile("rb") as file:
        while file.readline().strip():
            pass
        parts = []
        while size := int(file.readline(), 16):
            parts.append(file.read(size))
            file.readline()
    return b"".join(parts).decode()


@pytest.mark.parametrize("model", ["off", "metrics", "small"])
def test_a_slow_reader_loses_nothing(gateway, m, model):
    n_words = 300000 if model == "small" else 60000  # more than the stage may hold
    words = {"text": " lorem ipsum dolor", "tokens": n_words}
    before = Metrics(gateway)
    body = streams.request(mock=words, model=model)
    sock = slow_request(gateway, body)
    wait_until_still(gateway, m)
    answer = Answer(read_slowly(sock))
    assert answer.choice()["texts"]["content"] == " lorem ipsum dolor" * (n_words // 3)
    if model != "off":
        grown = Metrics(gateway).since(before)
        assert grown["stream_backpressure_seconds_count",] > 0
    if model == "small":
        assert "adapter.backpressure=" in ended(gateway, "small")["flushes"]


def wait_until_still(*servers):
    """Until the gateway holds the model server back: both sleep, and have for a while."""
    seen = []

    def is_still():
        seen.append(all(server.is_asleep() for server in servers))
        return len(seen) > 40 and all(seen[-40:])

    harness.wait_until(is_still, "the gateway to wait", seconds=200)


def test_a_slow_reader_bounds_memory(gateway, m):
    """What is held does not grow with what the model has to say: 100 MB here."""
    body = streams.request(mock={"text": "lorem ipsum ", "tokens": 400000}, model="metrics")
    with slow_request(gateway, body):
        wait_until_still(gateway, m)
        gauge = Metrics(gateway).values["stream_buffered_bytes",]
    assert gauge < 3 << 20
    line = ended(gateway, "metrics", end="gone")
    assert line["raw"] < 100000


# --- several choices, detectors on the output ---


@pytest.mark.parametrize("model", ["off", "on", "both", "finish"])
def test_detections_stay_with_their_text(gateway, m, model):
    """Sentences with findings: these are joined with their text, of each choice its own."""
    shape = {"text": "My mail is a@b.de. Yours? It is c@d.org! Fine. ", "tokens": 40}
    got = ask(gateway, model, shape, detectors={"output": {"words": {}}}, n=2)
    expected = ask_upstream(m, shape, n=2)
    for index in (0, 1):
        assert got.choice(index)["texts"] == expected.choice(index)["texts"]
        assert got.choice(index)["finish"] == expected.choice(index)["finish"]
        text = got.choice(index)["texts"]["content"]
        found = [r for e in got.events for o in (e.get("detections") or {}).get("output", [])
                 if o["choice_index"] == index for r in o["results"]]  # fmt: skip
        assert found and all(text[r["start"] : r["end"]] == r["text"] for r in found)
        assert len(found) == text.count("@")


def test_whole_text_detectors_leave_batching_to_work(gateway, m):
    got = ask(gateway, "on", LONG, detectors={"output": QUIET})
    expected = ask_upstream(m, LONG)
    assert got.choice()["texts"] == expected.choice()["texts"]
    assert len(expected.events) / len(got.events) >= 8


# --- what is counted and told ---


class Metrics:
    """Samples by (name, label values…), in the order of their labels; histograms by their parts."""

    def __init__(self, gateway):
        text = gateway.health.get("/metrics").text
        self.values = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name.startswith("stream_") and "le" not in sample.labels:
                    labels = {k: v for k, v in sample.labels.items() if k != "route"}
                    order = sorted(labels, key=lambda k: ["tap", "stage", "rule"].count(k) == 0)
                    self.values[(sample.name, *(labels[k] for k in order))] = sample.value

    def since(self, before):
        grown = object.__new__(Metrics)
        grown.values = {k: v - before.values.get(k, 0) for k, v in self.values.items()}
        return grown

    def __getitem__(self, key):
        return self.values.get(key, 0)


def wait_until_nothing_is_held(gateway):
    is_empty = lambda: Metrics(gateway)["stream_buffered_bytes",] == 0
    harness.wait_until(is_empty, "all that was held to be let go")


def test_metrics_add_up(gateway, m):
    before = Metrics(gateway)
    streams_asked = [("off", LONG), ("on", LONG), ("both", LONG), ("closed", CALLS)]
    answers = [ask(gateway, model, shape) for model, shape in streams_asked]
    raw = [len(ask_upstream(m, shape).events) for _, shape in streams_asked]
    grown = Metrics(gateway).since(before)
    for (model, _), answer, n in zip(streams_asked, answers, raw):
        assert grown["stream_chunks_total", "raw", model] == n
        assert grown["stream_chunks_total", "business", model] == len(answer.events)
    # Each stage's flushes are what left it; off counts nothing here.
    for stage, models in (("adapter", ["on", "both"]), ("business", ["both", "closed"])):
        flushes = [n for key, n in grown.values.items()
                   if key[:2] == ("stream_flushes_total", stage)]  # fmt: skip
        left = sum(grown["stream_chunks_total", stage, model] for model in models)
        assert sum(flushes) == left
    chars = sum(len(a.choice()["texts"].get("content", "")) for a in answers[1:])
    for tap in ("raw", "adapter", "business"):
        assert grown["stream_chars_total", tap] == chars
        assert grown["stream_chunk_chars_sum", tap] == chars
    sizes = sum(len(json.dumps(e)) for a in answers for e in a.events)
    assert 0.8 < grown["stream_bytes_total", "business"] / sizes < 1.2
    assert grown["stream_tool_gate_total", "complete"] == 3
    assert grown["stream_tool_hold_seconds_count",] == 3
    assert grown["stream_added_ttft_seconds_count",] == 2
    assert grown["stream_added_ttft_seconds_sum",] < 10
    wait_until_nothing_is_held(gateway)


def test_duplicates_are_counted_or_dropped(weir, mock):
    twice = 'id: 5\ndata: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
    shape = {"events": [twice, twice, "data: [DONE]\n\n"]}
    for mode, n, action in (("metrics", 2, "seen"), ("safe", 1, "dropped")):
        w = weir(streams.config(mock(), dedup={"mode": mode}))
        got = w.api.post(CHAT, json=streams.request(mock=shape))
        assert got.text == twice * n + "data: [DONE]\n\n"
        grown = Metrics(w).values
        rule = "delivery" if action == "seen" else "sse_id"
        assert grown["stream_dedup_total", rule, action] == 1


def test_the_line_at_the_end_tells_everything(gateway, m):
    ask(gateway, "both", LONG)
    line = ended(gateway, "both", end="done")
    assert line["route"] == "api"
    assert line["raw"] == len(ask_upstream(m, LONG).events)
    assert line["raw"] > line["adapter"] >= line["business"]
    assert line["ratio"] == pytest.approx(line["raw"] / line["business"], rel=0.01)
    assert line["adapter_ratio"] == pytest.approx(line["raw"] / line["adapter"], rel=0.01)
    assert line["business_ratio"] == pytest.approx(line["adapter"] / line["business"], rel=0.01)
    flushes = dict(pair.split("=") for pair in line["flushes"].split(" "))
    for stage in ("adapter", "business"):
        of_stage = [int(n) for name, n in flushes.items() if name.startswith(stage)]
        assert sum(of_stage) == line[stage]
    assert line["avg_chars"] > 40
    assert line["hold_p50_ms"] <= line["hold_p99_ms"]
    assert (line["batching"], line["coalescer"]) == ("on", "on")
    assert (line["min_chars"], line["max_latency_ms"]) == (120, 200)
    assert line["request_id"]


def test_a_caller_that_goes_is_counted_too(gateway, m):
    said = streams.raw_events(streams.delta(content="Hi"), streams.delta(content=" you"), 60000)
    before = Metrics(gateway)
    with Reader(gateway, "leaver", {"events": said}) as reader:
        assert reader.next_text() == "Hi"
        what = "text that is held"
        harness.wait_until(lambda: Metrics(gateway)["stream_buffered_bytes",] > 0, what)
    assert ended(gateway, "leaver", end="gone")["raw"] == 2
    grown = Metrics(gateway).since(before)
    assert grown["stream_chunks_total", "raw", "leaver"] == 2
    assert grown["stream_chunks_total", "business", "leaver"] == 1
    wait_until_nothing_is_held(gateway)


def test_silence_is_broken_by_comments(weir, mock):
    """While a tool call is held and the model says nothing, the connection is kept alive."""
    tree = streams.config(mock(), coalescer=ON, heartbeat_ms=50)
    w = weir(tree)
    body = streams.request(mock=broken_call(2000, FINISH))
    answer = w.api.post(CHAT, json=body)
    assert answer.text.count(": keep-alive\n\n") >= 2
    assert streams.gather(streams.events(answer.text))["choices"][0]["calls"]


def test_reload_changes_new_streams_only(weir, mock):
    services_config = streams.config(mock())
    w = weir(weir.write_config(services_config))
    said = streams.raw_events(*[streams.delta(content=f" {i}") for i in range(3)], 60000)
    with Reader(w, "m", {"events": said}) as reader:
        assert reader.next_text() == " 0"
        services_config["streaming"] = {"batching": {"mode": "on", "max_latency_ms": 2000}}
        weir.write_config(services_config)
        w.signal(signal.SIGHUP)
        w.wait_log("configuration reloaded")
        assert [reader.next_text(), reader.next_text()] == [" 1", " 2"]

    def is_batched():  # once the worker who answers has heard of it, too
        with Reader(w, "m", {"events": said}) as reader:
            return [reader.next_text(), reader.next_text()] == [" 0", " 1 2"]

    harness.wait_until(is_batched, "new streams to be batched")
