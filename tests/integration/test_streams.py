"""The life of a stream, end to end: callers that go or do not read, services that go silent or
wrong, bytes cut anywhere, the end of the process; and what other gateways are known to get wrong."""

import json
import os
import random
import signal
import socket
import time
from datetime import datetime

import harness
import mock as mocks
import pytest
import service as services
import streams
from hyperframe.frame import DataFrame
from peers import UNEXPECTED, Hang, World, answers, contents, finds, stream_sentences, told
from streams import CHAT, TEXT, delta, gather, raw_events, request

D = "/api/v2/text/detection/stream-content"
JSON = [("Content-Type", "application/json")]
NDJSON = [("Content-Type", "application/x-ndjson"), ("Transfer-Encoding", "chunked")]
WORDS = {"output": {"words": {"find": "none"}}}
SOAK = os.environ.get("WEIR_TEST_SOAK", "") != ""


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1)
    servers.stop_all()


@pytest.fixture(scope="module")
def gateway(module_weir, m):
    return module_weir(streams.config(m))


def read(answer):
    """(the data of its events, the data of its error events); [DONE] is there, last."""
    assert answer.status_code == 200, answer.text
    blocks = answer.text.replace("\r\n", "\n").split("\n\n")[:-1]
    assert blocks[-1] == "data: [DONE]"
    found = {False: [], True: []}
    for block in blocks[:-1]:
        lines = [line for line in block.split("\n") if not line.startswith(":")]
        if lines:
            data = "\n".join(line[6:] for line in lines if line.startswith("data: "))
            found[lines[0] == "event: error"].append(json.loads(data))
    return found[False], found[True]


def post(gateway, path=CHAT, **more):
    return gateway.api.post(path, json=request(path, **more))


# --- the caller goes ---


def start(gateway, body, path=CHAT, headers=JSON):
    """A request on a connection of its own."""
    c = gateway.raw()
    c.request("POST", path, headers, json.dumps(body).encode())
    return c


GOING = {
    "close": lambda c: c.close(),
    "reset": lambda c: c.reset(),
    "half-close": lambda c: c.half_close(),
}


@pytest.mark.parametrize("going", GOING)
@pytest.mark.parametrize("detectors", [None, WORDS], ids=["plain", "guarded"])
def test_the_caller_goes_while_the_model_is_silent(gateway, m, going, detectors):
    best = 9.0
    for _ in range(20):  # the machine may be busy with something else; the gateway is not
        before = len(m.log("caller gone"))
        body = request(mock={"text": "One. Two. Three", "fail_at": 4, "error": "stall"}, detectors=detectors)
        c = start(gateway, body)
        head = c.read_head()
        assert next(c.chunks(head))
        gone_at = time.time()
        GOING[going](c)
        harness.wait_until(lambda: len(m.log("caller gone")) > before, "the mock to see it")
        last = m.log("caller gone")[-1]
        seen_at = datetime.fromisoformat(last["timestamp"].replace("Z", "+00:00")).timestamp()
        best = min(best, seen_at - gone_at)
        if best < 0.1:
            break
    assert best < 1


def test_a_caller_of_http2_goes(gateway, m):
    c = gateway.h2()
    before = len(m.log("caller gone"))
    body = json.dumps(request(mock={"fail_at": 4, "error": "stall"}, detectors=WORDS)).encode()
    stream = c.request("POST", CHAT, [("content-type", "application/json")], body)
    c.wait_frame(DataFrame, stream)
    c.reset_stream(stream)
    harness.wait_until(lambda: len(m.log("caller gone")) > before, "the mock to see it")


def test_the_caller_goes_before_the_first_event(tmp_path_factory):
    """Nothing has been answered yet; the model has not even sent its head."""
    hang = Hang()
    with World(tmp_path_factory, {"words": contents()}) as w:
        w.model_answers["/v1/chat/completions"] = answers(hang)
        c = start(w.weir, request(detectors=WORDS))
        assert hang.begun.wait(harness.PATIENCE)
        c.close()
        assert hang.gone.wait(harness.PATIENCE)


@pytest.fixture(scope="module")
def world(tmp_path_factory, m):
    """Detectors and a chunker that do what a test says; the model is the mock."""
    model = {"service": {"hostname": "127.0.0.1", "port": m.ports["api"]}}
    detectors = {"sent": contents("en"), "also": contents("en"), "five": contents("five")}
    with World(tmp_path_factory, detectors, {"en": None, "five": None}, openai=model) as w:
        yield w


@pytest.fixture
def fresh(world):
    world.reset()
    return world


def test_everybody_at_work_is_told(fresh, m):
    """Detector calls under way, the chunker's stream, the model's stream: all see the end."""
    hangs = {"sent": Hang(), "also": Hang()}
    for name, hang in hangs.items():
        fresh.detector[name] = answers(hang)
    before = len(m.log("caller gone"))
    body = request(mock={"text": "One. Two. Three", "fail_at": 4, "error": "stall"},
                   detectors={"output": {"sent": {}, "also": {}}})  # fmt: skip
    c = start(fresh.weir, body)
    assert all(hang.begun.wait(harness.PATIENCE) for hang in hangs.values())
    (chunking,) = fresh.grpc.calls
    assert not chunking.ended.is_set()
    c.close()
    assert all(hang.gone.wait(harness.PATIENCE) for hang in hangs.values())
    assert chunking.ended.wait(harness.PATIENCE)
    harness.wait_until(lambda: len(m.log("caller gone")) > before, "the mock to see it")


def test_a_caller_who_uploads_goes(fresh):
    """D: without the body's proper end, the end of the connection is a caller gone."""
    hang = Hang()
    fresh.detector["sent"] = answers(hang)
    c = fresh.weir.raw()
    c.request("POST", D, NDJSON)
    c.send_chunk(json.dumps({"detectors": {"sent": {}}, "content": "One. Two"}).encode() + b"\n")
    assert hang.begun.wait(harness.PATIENCE)
    (chunking,) = fresh.grpc.calls
    c.close()
    assert hang.gone.wait(harness.PATIENCE) and chunking.ended.wait(harness.PATIENCE)


IDLE = {
    "chunkers": {"sentences": {"builtin": "sentence"}},
    "detectors": {"regex": {"type": "text_contents", "builtin": "regex", "params": {"regex": ["email"]},
                            "chunker_id": "sentences"}},
    "limits": {"idle_timeout": 1},
}  # fmt: skip


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_a_caller_who_uploads_falls_silent(weir, m, version):
    """D: the answers so far, the error event, a proper end; not a reset."""
    w = weir({**streams.config(m), **IDLE})
    line = json.dumps({"detectors": {"regex": {}}, "content": "One. Two. Three"}).encode() + b"\n"
    if version == "h1":
        c = w.raw()
        c.request("POST", D, NDJSON)
        c.send_chunk(line)
        body = c.read_response().body
    else:
        c = w.h2()
        stream = c.request("POST", D, [("content-type", "application/x-ndjson")], end_stream=False)
        c.send_data(stream, line)
        answer = c.response(stream)
        assert answer.reset is None
        body = answer.body
    blocks = body.decode().split("\n\n")[:-1]
    assert [json.loads(b.removeprefix("data: "))["processed_index"] for b in blocks[:-1]] == [5, 10]
    name, data = blocks[-1].split("\n")
    error = json.loads(data.removeprefix("data: "))
    assert name == "event: error" and error["code"] == 408 and "idle_timeout" in error["details"]


# --- the caller does not read ---


def private_kib(pid):
    """What the process has for itself."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        sizes = [line.split() for line in file if line.startswith("Private_Dirty:")]
    return int(sizes[0][1])


@pytest.mark.parametrize("detectors", [None, WORDS], ids=["plain", "guarded"])
def test_a_caller_who_reads_a_byte_a_second(weir, mock, detectors):
    """Once its buffers are full the gateway grows no more, and the model server is held back. The
    full minute is for `make soak`."""
    m = mock("--seed", 1)
    w = weir(streams.config(m))
    c = w.raw()
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    n_tokens = 3_000_000
    body = request(mock={"tokens": n_tokens}, detectors=detectors)
    c.request("POST", CHAT, JSON, json.dumps(body).encode())
    sizes = []

    def is_settled():
        time.sleep(0.3)
        is_still = m.is_asleep() and w.is_asleep()  # and not only short of processor time
        sizes.append(private_kib(w.pid) if is_still else 0)
        return len(sizes) > 3 and 0 < max(sizes[-3:]) - 8 < min(sizes[-3:])

    harness.wait_until(is_settled, "full buffers", seconds=200)
    full = sizes[-1]
    for _ in range(60 if SOAK else 5):
        assert len(c.sock.recv(1)) == 1
        time.sleep(1)
        assert private_kib(w.pid) - full < 64
    c.close()
    assert m.wait_log("caller gone")["event"] < n_tokens / 4


def test_a_slow_reader_gets_everything(gateway):
    body = request(mock={"tokens": 4000}, detectors=WORDS)
    c = gateway.raw()
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    c.request("POST", CHAT, JSON, json.dumps(body).encode())
    time.sleep(0.5)
    answer = c.read_response()
    found = streams.events(answer.body.decode())
    direct = gateway.api.post(CHAT, json={**body, "detectors": {"input": streams.QUIET}})
    assert streams.content(found) == streams.content(streams.events(direct.text))


# --- services that are silent ---


@pytest.fixture(scope="module")
def hasty(module_weir, m):
    """Time-outs as short as a busy machine allows; a comment every tenth of a second."""
    config = streams.config(m, heartbeat_ms=100)
    config["openai"]["service"] = {
        **config["openai"]["service"], "first_byte_timeout": 2, "idle_timeout": 2, "max_retries": 0,
    }  # fmt: skip
    return module_weir(config)


@pytest.fixture(scope="module")
def hasty_detectors(module_weir, m):
    config = streams.config(m, heartbeat_ms=100)
    for one in config["detectors"].values():
        one["service"] = {**one["service"], "request_timeout": 0.5, "max_retries": 0}
    return module_weir(config)


def is_unexpected(error):
    return {name: error[name] for name in ("code", "details")} == UNEXPECTED and error["error"] == {
        "message": UNEXPECTED["details"], "type": "server_error", "code": 500,
    }  # fmt: skip


@pytest.mark.parametrize(
    "mock, text",
    [
        ({"delay_ms": 20000}, ""),
        ({"first_ms": 20000}, ""),
        ({"text": "One. Two", "fail_at": 3, "error": "stall"}, "One."),
    ],
    ids=["no answer", "no event", "no next event"],
)
def test_a_model_that_falls_silent(hasty, mock, text):
    found, errors = read(post(hasty, mock=mock, detectors=WORDS))
    assert len(errors) == 1 and is_unexpected(errors[0])
    assert "".join(c["texts"].get("content", "") for c in gather(found)["choices"].values()) == text


def test_a_detector_that_falls_silent(hasty_detectors):
    found, errors = read(
        post(hasty_detectors, mock={"text": "One. Two"}, detectors={"output": {"words": {"delay_ms": 20000}}})
    )
    assert gather(found)["choices"][0]["texts"] == {}  # the role alone
    assert len(errors) == 1 and is_unexpected(errors[0])


def test_a_chunker_that_falls_silent(tmp_path_factory, m):
    model = {"service": {"hostname": "127.0.0.1", "port": m.ports["api"]}}
    options = {"service_options": {"request_timeout": 2}, "detector_options": {}}
    with World(
        tmp_path_factory, {"sent": contents("en")}, {"en": None}, openai=model, **options
    ) as w:
        done = Hang()

        def chunk(requests, context):
            context.add_callback(done.gone.set)
            yield from stream_sentences(iter([next(requests), next(requests)]), context)
            done.gone.wait(harness.PATIENCE)

        w.chunk_streams["en"] = chunk
        answer = post(w.weir, mock={"pieces": ["One", ".", "Two"]}, detectors={"output": {"sent": {}}})
        found, errors = read(answer)
        assert streams.content(found) == "One."
        assert len(errors) == 1 and is_unexpected(errors[0])


# --- the process is told to stop ---


def test_a_running_stream_is_finished(weir, mock):
    m = mock()
    w = weir(streams.config(m))
    text = "One. Two. Three. Four. Five. Six."
    c = start(w, request(mock={"text": text, "rate": 20}, detectors=WORDS))
    head = c.read_head()
    first = next(c.chunks(head))
    w.signal(signal.SIGTERM)
    rest = b"".join(c.chunks(head))
    assert streams.content(streams.events((first + rest).decode())) == text
    c.close()
    w.finish()


def test_a_stream_that_outlasts_the_time_of_grace(weir, mock):
    m = mock()
    w = weir({**streams.config(m), "limits": {"drain_timeout": 0.5}})
    c = start(w, request(mock={"text": "One. Two. Three", "fail_at": 4, "error": "stall"}, detectors=WORDS))
    head = c.read_head()
    first = next(c.chunks(head))
    w.signal(signal.SIGTERM)
    blocks = (first + b"".join(c.chunks(head))).decode().split("\n\n")
    assert blocks[-2] == "data: [DONE]"
    assert blocks[-3].startswith("event: error\ndata: ")
    assert json.loads(blocks[-3].split("data: ")[1])["code"] == 503
    m.wait_log("caller gone")
    c.close()
    w.finish()


# --- services that go wrong ---


@pytest.mark.parametrize("detectors", [None, WORDS], ids=["plain", "guarded"])
@pytest.mark.parametrize(
    "error", ["nested", "flat", "event", "cut", "garbage", "not-object", "no-choices", "bad-utf8"]
)
def test_errors_after_the_first_event(gateway, error, detectors):
    """What was complete has left; one error event, [DONE]."""
    expected = "One. Two." if detectors else "One. Two. Three."
    # At a rate, so that what was complete has been answered for: a slower one on a busy machine.
    for rate in (10, 2, 0.5):
        mock = {"text": "One. Two. Three. Four", "fail_at": 4, "error": error, "rate": rate}
        answer = post(gateway, mock=mock, detectors=detectors)
        if detectors is None and error in ("garbage", "not-object", "no-choices", "bad-utf8"):
            assert answer.status_code == 200  # nobody looks at it
            return
        found, errors = read(answer)
        assert len(errors) == 1 and errors[0]["code"] in (400, 500) and "error" in errors[0]
        whole = "".join(c["texts"].get("content", "") for c in gather(found)["choices"].values())
        if whole == expected:
            return
        assert expected.startswith(whole)
    assert whole == expected


def test_a_detector_fails_in_the_middle(fresh):
    """Batches of earlier chunks leave first, though their answers come later."""
    fresh.detector["sent"] = lambda r: (
        services.reply({"code": 503, "message": "busy"}, 503)
        if r.json()["contents"] == [" Two."]
        else finds("x")(r)
    )
    answer = post(fresh.weir, mock={"text": "One. Two. Three."}, detectors={"output": {"sent": {}}})
    found, errors = read(answer)
    assert streams.content(found) == "One."
    assert [e["details"] for e in errors] == ["detector request failed for `sent`: busy"]


# --- bytes cut anywhere ---

WILD = 'Zürich 😀 e\u0301 "quoted" \\ back. 你好 \u2028 end. \ud83d\ude00.'.encode("utf-16", "surrogatepass").decode("utf-16")


@pytest.mark.parametrize("scenario", ["text", "split-utf8", "crlf", "comments", "split-utf8,crlf,comments,usage"])
@pytest.mark.parametrize("cut", [1, 7])
@pytest.mark.parametrize("detectors", [None, WORDS], ids=["plain", "guarded"])
def test_the_model_s_bytes_in_small_segments(gateway, scenario, cut, detectors):
    mock = {"text": WILD, "scenario": scenario, "cut_bytes": cut}
    found, errors = read(post(gateway, mock=mock, detectors=detectors))
    assert not errors
    if detectors is None:
        halves = json.dumps([c["delta"].get("content") for e in found for c in e["choices"]])
        assert "".join(filter(None, json.loads(halves))).encode("utf-16", "surrogatepass").decode("utf-16") == WILD
    else:
        assert streams.content(found) == WILD


def test_several_data_lines_and_line_ends(gateway):
    """One event over several lines, CR LF and LF mixed, comments inside, ids and unknown fields."""
    event = json.dumps(delta(content="One. "))
    at = event.index('"choices"')
    wire = [
        f": hello\r\nid: 7\r\ndata: {event[:at]}\r\ndata: {event[at:]}\r\n\r\n",
        f"retry: 5\ndata:{json.dumps(delta(content='Two.'))}\n: inside\n\n",
        f"data: {json.dumps(delta(finish='stop'))}\r\n\r\n",
        "data: [DONE]\n\n",
    ]
    for cut in (1, 5, 100000):
        found, errors = read(post(gateway, mock={"events": wire, "cut_bytes": cut}, detectors=WORDS))
        assert not errors and streams.content(found) == "One. Two."
        assert gather(found)["choices"][0]["finish"] == ["stop"]


def test_escapes_split_over_events(gateway):
    """Halves of a pair in two deltas are joined; one that stays alone becomes U+FFFD."""
    wire = [
        'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83d"}}]}\n\n',
        'data: {"choices":[{"index":0,"delta":{"content":"\\ude00b\\ud83d"}}]}\n\n',
        'data: {"choices":[{"index":0,"delta":{"content":"c."},"finish_reason":"stop"}]}\n\n',
        "data: [DONE]\n\n",
    ]
    found, errors = read(post(gateway, mock={"events": wire, "cut_bytes": 3}, detectors=WORDS))
    assert not errors and streams.content(found) == "a\U0001f600b\ufffdc."


def test_the_caller_s_bytes_one_by_one(gateway):
    body = json.dumps(request(mock={"text": WILD}, detectors=WORDS), ensure_ascii=False).encode()
    c = gateway.raw()
    c.send(f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
    c.send_bytewise(body)
    assert streams.content(streams.events(c.read_response().body.decode())) == WILD


def test_lines_cut_anywhere(fresh):
    """D: characters, escapes and lines in chunks of one byte."""
    fresh.detector["sent"] = finds("你好")
    lines = [{"detectors": {"sent": {}}, "content": "Hm 😀"}, {"content": " 你好. And"}]
    body = "".join(json.dumps(line, ensure_ascii=i == 0) + "\r\n" for i, line in enumerate(lines)).encode()
    c = fresh.weir.raw()
    c.request("POST", D, [*NDJSON, ("Accept", "application/x-ndjson")])
    for at in range(len(body)):
        c.send_chunk(body[at : at + 1])
    c.send_chunk(b"")
    first, second = [json.loads(line) for line in c.read_response().body.splitlines()]
    assert [(d["start"], d["end"], d["text"]) for d in first["detections"]] == [(5, 7, "你好")]
    assert (first["processed_index"], second["processed_index"]) == (8, 12)


@pytest.mark.parametrize("detectors", [{"input": {"quiet": {}}}, {"output": {"quiet": {}}}], ids=["plain", "guarded"])
@pytest.mark.parametrize("is_first", [True, False])
def test_an_event_of_ten_mebibytes(weir, service, detectors, is_first):
    def answer(r):
        if r.path.endswith("/contents"):
            return services.reply([[] for _ in r.json()["contents"]])
        events = [] if is_first else [delta(content="Hi")]
        return services.events(*events, delta(content="x" * (10 << 20)), "[DONE]")

    s = service(answer)
    target = s.config(max_retries=0)
    quiet = {"type": "text_contents", "service": target, "chunker_id": "whole_doc_chunker", "default_threshold": 0}
    w = weir({"openai": {"service": target}, "detectors": {"quiet": quiet}})
    reply = post(w, detectors=detectors)
    if is_first:
        assert (reply.status_code, reply.json()) == (500, UNEXPECTED)
    else:
        found, errors = read(reply)
        assert streams.content(found) == "Hi"
        assert len(errors) == 1 and is_unexpected(errors[0])


# --- what other gateways are known to get wrong ---

FINDS = {"words": {"regex": "two"}}


def test_tool_calls_only(gateway):
    for detectors in ({"output": FINDS}, {"output": {**FINDS, "quiet": {}, "calls": {"find": "none"}}}):
        mock = {"scenario": "tools", "tool_calls": 2, "arguments": '{"a":1}'}
        found, errors = read(post(gateway, mock=mock, detectors=detectors, stream_options={"include_usage": True}))
        whole = gather(found)
        assert not errors and whole["usage"]
        assert [call["arguments"] for call in whole["choices"][0]["calls"]] == ['{"a":1}'] * 2
        assert whole["choices"][0]["finish"] == ["tool_calls"]
        assert found[-1]["warnings"][0]["type"] == "EMPTY_OUTPUT"


def fives(requests, context):
    """A chunker that cuts every five characters, wherever that is."""
    text, start = "", 0
    for request in requests:
        text += request.text_stream
        while len(text) >= 5:
            yield told(start, start + 5, text[:5])
            text, start = text[5:], start + 5
    if text:
        yield told(start, start + len(text), text)


@pytest.mark.parametrize("aggregation", ["max_processed_index", "aligned", "min_processed_index"])
def test_two_chunkers(fresh, aggregation):
    """No text is lost or doubled, and every finding leaves once."""
    text = "One evil sentence. Then another evil one! And the rest is evil"
    fresh.chunk_streams["five"] = fives
    fresh.detector["sent"] = finds("evil")
    fresh.detector["five"] = finds("v")
    detectors = {"output": {"sent": {}, "five": {}}, "aggregation": aggregation}
    found, errors = read(post(fresh.weir, mock={"text": text}, detectors=detectors))
    assert not errors and streams.content(found) == text
    results = [r for e in found if "detections" in e for r in e["detections"]["output"][0]["results"]]
    starts = {name: sorted(r["start"] for r in results if r["detector_id"] == name) for name in ("sent", "five")}
    assert starts == {"sent": [4, 32, 58], "five": [5, 33, 59]}


def overlapping(requests, context):
    """Windows of eight characters, every four."""
    text, start = "", 0
    for request in requests:
        text += request.text_stream
        while len(text) >= start + 8:
            yield told(start, start + 8, text[start : start + 8])
            start += 4
    yield told(start, len(text), text[start:])


def test_chunks_that_overlap(fresh):
    """Each answers for what is new in it, and is seen whole; text leaves once, findings too."""
    text = "0123456789evil23456789012345678"
    fresh.chunk_streams["five"] = overlapping
    fresh.detector["five"] = finds("evil")
    found, errors = read(post(fresh.weir, mock={"text": text}, detectors={"output": {"five": {}}}))
    assert not errors and streams.content(found) == text
    batches = [e for e in found if "detections" in e and e["choices"][0]["delta"].get("content")]
    results = [r for e in batches for r in e["detections"]["output"][0]["results"]]
    assert [(r["start"], r["end"], r["text"]) for r in results] == [(10, 14, "evil")]
    seen = [r.json()["contents"][0] for r in fresh.asked("five")]
    assert {text[0:8], text[4:12], text[8:16]} <= set(seen)  # asked at once, in any order


def test_chunks_of_a_whole_text_that_overlap(fresh):
    text = "0123456789evil2345"
    fresh.chunkers["five"] = lambda text: [(0, 8), (4, 12), (8, 18), (10, 14)]
    fresh.detector["five"] = finds("evil")
    answer = fresh.post("/api/v2/text/detection/content", {"content": text, "detectors": {"five": {}}})
    assert answer.status_code == 200, answer.text
    assert [(d["start"], d["end"]) for d in answer.json()["detections"]] == [(10, 14)]
    assert fresh.asked("five")[0].json()["contents"] == [text[0:8], text[4:12], text[8:18]]


def whole_text(requests, context):
    text = "".join(request.text_stream for request in requests)
    yield told(0, len(text), text)


def test_text_does_not_overtake_what_is_no_text(fresh):
    """A chunker of a service does not end a chunk at a tool call."""
    call = {"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    events = [delta(content="One evil"), delta(tool_calls=[call]), delta(content=" two ev"),
              delta(reasoning_content="hm"), delta(content="il"), delta(finish="stop")]  # fmt: skip
    fresh.chunk_streams["five"] = whole_text
    fresh.detector["five"] = finds("evil")
    mock = {"events": raw_events(*events, "data: [DONE]\n\n")}
    found, errors = read(post(fresh.weir, mock=mock, detectors={"output": {"five": {}}}))
    assert not errors
    said = []
    for event in found:
        choice = event["choices"][0]
        kinds = [k for k in ("content", "tool_calls", "reasoning_content") if choice["delta"].get(k)]
        results = event.get("detections", {}).get("output", [{"results": []}])[0]["results"]
        said.append((kinds, choice["delta"].get("content"), [r["start"] for r in results]))
    assert said == [
        (["content"], "One evil", [4]),
        (["tool_calls"], None, []),
        (["content"], " two ev", [13]),
        (["reasoning_content"], None, []),
        (["content"], "il", []),
        ([], None, []),
    ]


def test_with_one_chunker_the_strategies_agree(fresh):
    """Though the first answer comes last, and all verdicts are there at once."""
    text = "One evil. Two. Three evil. Four!  "

    def first_last(r):
        time.sleep(0.2 if r.json()["contents"] == ["One evil."] else 0)
        return finds("evil")(r)

    fresh.detector["sent"] = fresh.detector["also"] = first_last
    seen = []
    for aggregation in ("max_processed_index", "aligned", "min_processed_index"):
        detectors = {"output": {"sent": {}, "also": {}}, "aggregation": aggregation}
        found, errors = read(post(fresh.weir, mock={"pieces": [text]}, detectors=detectors))
        assert not errors
        batches = [e for e in found if e["choices"][0]["delta"].get("content")]
        seen.append([(e["choices"][0]["delta"]["content"], e["detections"]) for e in batches])
    assert [content for content, _ in seen[0]] == ["One evil.", " Two.", " Three evil.", " Four!", "  "]
    assert seen[1] == seen[0] and seen[2] == seen[0]


def test_a_detector_far_behind(fresh):
    """Slower than 128 chunks: nothing is lost, nothing is out of order."""
    rng = random.Random(1)

    def slow(r):
        time.sleep(rng.random() / 50)
        return finds("7")(r)

    fresh.detector["sent"] = slow
    text = " ".join(f"Sentence {i}." for i in range(400))
    answer = post(fresh.weir, mock={"text": text}, detectors={"output": {"sent": {}, "also": {}}})
    found, errors = read(answer)
    assert not errors and streams.content(found) == text
    starts = [r["start"] for e in found if "detections" in e for r in e["detections"]["output"][0]["results"]]
    assert starts == [i for i, character in enumerate(text) if character == "7"]
    assert fresh.detectors.most_open["sent"] <= 20


def test_a_detector_faster_than_the_model(gateway):
    """A batch leaves while the model still thinks about the next word."""
    body = request(mock={"events": [*raw_events(delta(content="One two. Thr")), 30000]}, detectors={"output": FINDS})
    c = start(gateway, body)
    event = next(c.chunks(c.read_head())).decode()
    found = json.loads(event.removeprefix("data: "))
    assert found["choices"][0]["delta"]["content"] == "One two."
    assert found["detections"]["output"][0]["results"][0]["start"] == 4
    c.close()


def test_usage_last_with_whole_documents(gateway):
    detectors = {"output": {**FINDS, "quiet": {"regex": "two"}}}
    mock = {"text": "One two. Three two"}
    found, errors = read(post(gateway, mock=mock, detectors=detectors, stream_options={"include_usage": True}))
    assert not errors and [bool(e.get("usage")) for e in found] == [False] * (len(found) - 1) + [True]
    assert found[-1]["choices"] == []
    assert [r["start"] for r in found[-1]["detections"]["output"][0]["results"]] == [4, 15]


@pytest.mark.parametrize(
    "events, finish",
    [
        ([delta(content="One. "), delta(content="two"), delta(finish="stop")], ["stop"]),
        ([delta(content="One. "), delta(content="two", finish="stop")], ["stop"]),
        ([delta(content="One. ", finish="stop"), delta(content="two", finish="stop")], ["stop", "stop"]),
    ],
    ids=["an event of its own", "the last text", "every event"],
)
def test_where_the_finish_reason_is(gateway, events, finish):
    mock = {"events": raw_events(*events, "data: [DONE]\n\n")}
    found, errors = read(post(gateway, mock=mock, detectors={"output": FINDS}))
    assert not errors and streams.content(found) == "One. two"
    assert gather(found)["choices"][0]["finish"] == finish
    last = max(i for i, e in enumerate(found) if e["choices"][0]["delta"].get("content"))
    assert all(not e["choices"][0]["finish_reason"] for e in found[:last]) or len(finish) > 1


@pytest.mark.parametrize("path", [CHAT, TEXT])
@pytest.mark.parametrize("scenario", ["text", "joined", "shuffled", "sequential"])
def test_three_choices_one_of_them_empty(gateway, path, scenario):
    mock = {"pieces": [["One", " two", "."], [], ["Three ", "two. ", "four"]], "scenario": scenario}
    found, errors = read(post(gateway, path, mock=mock, detectors={"output": FINDS}, n=3))
    choices = gather(found)["choices"]
    assert not errors
    assert [choices[i]["texts"].get("content", "") for i in range(3)] == ["One two.", "", "Three two. four"]
    assert [choices[i]["finish"] for i in range(3)] == [["stop"]] * 3
    starts = {0: [], 1: [], 2: []}
    for event in found:
        for one in (event.get("detections") or {}).get("output", []):
            starts[one["choice_index"]] += [r["start"] for r in one["results"]]
    assert starts == {0: [4], 1: [], 2: [6]}
    warned = [w["message"] for w in found[-1]["warnings"]]
    assert len(warned) == 1 and warned[0].startswith("Choice of index 1 has no content")
