"""`compat: fms` where it changes streams: A streamed, H, I streamed and D, end to end."""

import json

import grpc
import pytest
import service
import streams
from grpcpeer import CHUNK_STREAM, TGIS_STREAM
from peers import (
    CHAT,
    TEXT,
    UNEXPECTED,
    UNSUITABLE_INPUT,
    UNSUITABLE_OUTPUT,
    Caller,
    World,
    answers,
    contents,
    finds,
    stream_sentences,
    tgis_stream,
    told,
    whole,
)

A = "/api/v1/task/server-streaming-classification-with-text-generation"
D = "/api/v2/text/detection/stream-content"
DETECTORS = {
    "sent": contents("en"),
    "also": contents("en"),
    "word": contents("other"),
    "doc": contents(),
    "gen": whole("text_generation"),
    "chat": whole("text_chat"),
}
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with World(
        tmp_path_factory,
        DETECTORS,
        {"en": None, "other": None},
        "tgis",
        compat="fms",
        passthrough_headers=["x-tenant"],
        streaming={"batching": {"mode": "on", "min_chars_per_emit": 1000, "max_latency": 5000}},
    ) as w:
        yield w


@pytest.fixture(autouse=True)
def fresh(world):
    world.reset()


# --- asking and reading ---


def read(answer):
    """[(name of the event, data)] of an SSE body; comments are left out."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/event-stream"
    found = []
    for block in answer.text.split("\n\n")[:-1]:
        fields = [line.split(": ", 1) for line in block.split("\n") if not line.startswith(":")]
        if fields:
            said = dict(fields)
            data = said["data"]
            found.append((said.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return found


def chat(world, output=None, input=None, path=CHAT, headers=None, **more):
    sides = {"input": input, "output": output}
    body = {"model": "m", "stream": True, "detectors": {k: v for k, v in sides.items() if v}}
    body |= {"messages": [{"role": "user", "content": "hi"}]} if path == CHAT else {"prompt": "hi"}
    return world.post(path, {**body, **more}, headers=headers)


def events_of(answer):
    """The data of its events up to [DONE], which must be the last."""
    found = read(answer)
    assert found[-1] == ("", "[DONE]")
    assert all(name == "" for name, _ in found)
    return [data for _, data in found[:-1]]


def says(*pieces, finish="stop", usage=False, role=True):
    """A model server's stream: the role, the pieces, the finish_reason, the usage."""

    def event(delta, **more):
        choices = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, **more}]
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": choices}  # fmt: skip

    data = [event({"role": "assistant", "content": ""})] if role else []
    data += [p if isinstance(p, dict) else event({"content": p}) for p in pieces]
    data += [event({}, finish_reason=finish)] if finish else []
    data += [{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
              "usage": USAGE}] if usage else []  # fmt: skip
    return lambda request: service.events(*data, "[DONE]")


def brief(event):
    """(text, finish_reason, [starts of findings]), of an event with one choice."""
    choice = event["choices"][0]
    found = event.get("detections")
    starts = found and [r["start"] for r in found["output"][0]["results"]]
    return choice["delta"].get("content"), choice["finish_reason"], starts


def lines_of(answer):
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def stream_content(world, *lines, accept=None):
    body = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    headers = {"content-type": "application/x-ndjson", **({"accept": accept} if accept else {})}
    caller = Caller(world.weir.api_port)  # a refusal may end the connection
    try:
        return world.post(D, body, headers=headers, client=caller)
    finally:
        caller.close()


def generate(world, output=None, input=None, **more):
    sides = {"input": input, "output": output}
    config = {k: {"models": v} for k, v in sides.items() if v}
    return world.post(A, {"model_id": "m", "inputs": "hi", "guardrail_config": config, **more})


# --- H and I ---


def test_a_guarded_chat(world):
    """The role is absorbed, a batch is a chunk, spans are relative to it, usage comes last; nothing
    is batched together however the deployment wants it."""
    world.model_answers["/v1/chat/completions"] = says("You are", " evil. And", " evil", usage=True)
    world.detector["sent"] = finds("evil")
    found = events_of(chat(world, {"sent": {}}))
    assert [brief(e) for e in found[:-1]] == [
        ("You are evil.", None, [8]),
        (" And evil", None, [5]),
        (None, "stop", None),
    ]
    assert found[0]["warnings"] == [{"type": "UNSUITABLE_OUTPUT", "message": UNSUITABLE_OUTPUT}]
    assert all(e["choices"][0]["delta"]["role"] == "assistant" for e in found[:-1])
    assert found[-1]["usage"] == USAGE and found[-1]["choices"] == []
    frames = [(r.text_stream, r.input_index_stream) for r in world.asked_grpc(CHUNK_STREAM)[0].requests]
    assert frames == [("You are", 1), (" evil. And", 2), (" evil", 3)]


def test_the_chunker_is_believed(world):
    """Its text to detectors and caller, its offsets, gaps and overlaps; nothing is appended."""

    def chunk(requests, context):
        list(requests)
        yield told(0, 5, "HELLO evil", 1, 1)
        yield told(3, 900, "évil", 1, 2)
        yield told(0, 0, " evil zero", 0, 0)

    world.chunk_streams["en"] = chunk
    world.detector["sent"] = world.detector["also"] = finds("vil")
    world.model_answers["/v1/chat/completions"] = says("Hello", ", World. Bye", role=True)
    found = events_of(chat(world, {"sent": {}, "also": {}}))
    assert [brief(e) for e in found] == [
        ("HELLO evil", None, [7, 7]),
        ("évil", None, [1, 1]),
        (" evil zero", None, [2, 2]),
        (None, "stop", None),
    ]
    asked = [r.json()["contents"] for r in world.asked("sent")]
    assert sorted(asked) == sorted([["HELLO evil"], ["évil"], [" evil zero"]])


def test_a_chunk_s_events_are_those_it_names(world):
    def event(i, text, **more):
        logprobs = {"content": [{"token": text, "logprob": -i, "bytes": None, "top_logprobs": []}]}
        choices = [{"index": 0, "delta": {"content": text}, "logprobs": logprobs, **more}]
        return {"id": f"c{i}", "created": i, "model": "m", "choices": choices, "n": i}

    def chunk(requests, context):
        list(requests)
        yield told(0, 4, "One.", 0, 1)
        yield told(4, 9, " Two.", 1, 2)

    world.chunk_streams["en"] = chunk
    pieces = [event(0, "One"), event(1, ". T"), event(2, "wo.", finish_reason="stop")]
    world.model_answers["/v1/chat/completions"] = says(*pieces, finish=None, role=False)
    first, second = events_of(chat(world, {"sent": {}}))
    assert (first["id"], first["n"], second["id"], second["n"]) == ("c1", 1, "c2", 2)
    entries = [[-e["logprob"] for e in event["choices"][0]["logprobs"]["content"]] for event in (first, second)]
    assert entries == [[0, 1], [1, 2]]
    assert not first["choices"][0].get("finish_reason")
    assert second["choices"][0]["finish_reason"] == "stop"


def test_finish_with_text_rides_on_the_last_batch(world):
    piece = {"id": "c", "choices": [{"index": 0, "delta": {"content": "One. Two. Three"}, "finish_reason": "length"}]}
    world.model_answers["/v1/chat/completions"] = says(piece, finish=None)
    assert [brief(e) for e in events_of(chat(world, {"sent": {}}))] == [
        ("One.", None, []),
        (" Two.", None, []),
        (" Three", "length", []),
    ]


def test_no_event_for_a_chunk(world):
    def chunk(requests, context):
        yield told(0, 3, next(requests).text_stream, 40, 41)

    world.chunk_streams["en"] = chunk
    world.model_answers["/v1/chat/completions"] = says("Hi. ")
    assert read(chat(world, {"sent": {}})) == [("error", UNEXPECTED), ("", "[DONE]")]


def test_tool_calls_only(world):
    calls = [{"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    piece = {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": None}]}
    world.model_answers["/v1/chat/completions"] = says(piece, finish="tool_calls", usage=True)
    tools, finish, usage = events_of(chat(world, {"sent": {}}))
    assert tools["choices"][0]["delta"]["tool_calls"] == calls
    assert finish["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["usage"] == USAGE and usage["warnings"][0]["type"] == "EMPTY_OUTPUT"


def test_two_chunkers_lose_nothing(world):
    def thirds(requests, context):
        text = "".join(r.text_stream for r in requests)
        for start in range(0, len(text), 3):
            yield told(start, min(start + 3, len(text)), text[start : start + 3])

    world.chunk_streams["other"] = thirds
    world.detector["sent"] = finds("evil")
    world.detector["word"] = finds("v")
    text = "So evil. And more evil. The end"
    world.model_answers["/v1/chat/completions"] = says(*(text[i : i + 4] for i in range(0, len(text), 4)))
    found = [brief(e) for e in events_of(chat(world, {"sent": {}, "word": {}}))]
    assert "".join(content or "" for content, _, _ in found) == text
    assert sorted(start for _, _, starts in found for start in starts or []) == [1, 1, 3, 10]
    assert found[-1][1] == "stop"


def test_whole_documents_with_chunks(world):
    world.model_answers["/v1/chat/completions"] = says("evil. ", "evil", usage=True)
    world.detector["doc"] = finds("evil")
    found = events_of(chat(world, {"sent": {}, "doc": {}}))
    assert [brief(e) for e in found[:-1]] == [
        ("evil.", None, []),
        (" evil", None, []),
        (None, "stop", None),
    ]
    assert found[-1]["usage"] == USAGE
    assert [r["start"] for r in found[-1]["detections"]["output"][0]["results"]] == [0, 6]


@pytest.mark.parametrize("usage", [True, False])
def test_whole_documents_alone(world, usage):
    world.model_answers["/v1/chat/completions"] = says("evil. ", "evil", usage=usage)
    world.detector["doc"] = finds("evil")
    found = events_of(chat(world, {"doc": {}}))
    assert [brief(e)[:2] for e in found[:4]] == [("", None), ("evil. ", None), ("evil", None), (None, "stop")]
    assert len(found) == 5 + usage
    if usage:
        assert found[4]["usage"] == USAGE and "detections" not in found[4]
    assert found[-1].get("usage") == (USAGE if usage else None)
    assert [r["start"] for r in found[-1]["detections"]["output"][0]["results"]] == [0, 6]


def test_text_completions(world):
    def event(text, finish=None):
        return {"id": "c", "object": "text_completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "text": text, "finish_reason": finish}]}  # fmt: skip

    world.model_answers["/v1/completions"] = lambda request: service.events(
        event("One ev"), event("il. Two", "stop"), "[DONE]"
    )
    world.detector["sent"] = finds("evil")
    found = events_of(chat(world, {"sent": {}}, path=TEXT))
    assert [(e["choices"][0]["text"], e["choices"][0]["finish_reason"]) for e in found] == [
        ("One evil.", None),
        (" Two", "stop"),
    ]


def test_lists_by_position(world):
    """One list too many, none at all: only the first counts, and an absent one is empty."""
    world.model_answers["/v1/chat/completions"] = says("One. Two")
    finding = {"start": 0, "end": 1, "detection": "d", "detection_type": "t", "score": 1.0}
    world.detector["sent"] = answers([[finding], [finding, finding]])
    assert [brief(e)[2] for e in events_of(chat(world, {"sent": {}}))][:2] == [[0], [0]]
    world.detector["sent"] = answers([])
    assert [brief(e)[2] for e in events_of(chat(world, {"sent": {}}))][:2] == [[], []]


def test_headers_do_not_reach_chunkers(world):
    world.model_answers["/v1/chat/completions"] = says("One.")
    events_of(chat(world, {"sent": {}}, headers={"x-tenant": "t1"}))
    assert world.asked("sent")[0].header("x-tenant") == "t1"
    assert "x-tenant" not in world.asked_grpc(CHUNK_STREAM)[0].metadata


def test_input_findings(world):
    world.detector["doc"] = finds("hi")
    (found,) = events_of(chat(world, input={"doc": {}}))
    assert found["choices"] == [] and found["usage"]["prompt_tokens"] == 7
    assert found["warnings"] == [{"type": "UNSUITABLE_INPUT", "message": UNSUITABLE_INPUT}]
    world.model_answers["/tokenize"] = answers({"message": "no"}, 503)
    ((name, error), done) = read(chat(world, input={"doc": {}}))
    assert name == "error" and error["code"] == 503 and done == ("", "[DONE]")


@pytest.mark.parametrize("chunks", ["right", "overlap", "gap", "text", "zero-input", "beyond"])
def test_a_mock_that_chunks_wrongly(weir, mock, chunks):
    """Strictly its nonsense fails the request; here it is passed on."""
    m = mock("--seed", 1, "--chunks", chunks)
    body = streams.request(mock={"text": "One. Two. Three."}, detectors={"output": {"words": {}}})
    strict = weir(streams.config(m)).api.post(CHAT, json=body)
    is_nonsense = chunks not in ("right", "zero-input")
    assert (strict.status_code != 200 or "event: error" in strict.text) == is_nonsense
    found = events_of(weir({**streams.config(m), "compat": "fms"}).api.post(CHAT, json=body))
    assert len(found) > 1 and found[-1]["choices"][0]["finish_reason"] == "stop"
    if not is_nonsense:
        assert streams.content(found) == "One.Two.Three."  # it leaves the spaces out


# --- errors before the first event ---


def body_of(**more):
    return {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}], **more}


LATE = {
    "unknown detector": (
        {"output": {"no": {}}}, 404, "detector `no` not found",
    ),
    "wrong type": (
        {"output": {"gen": {}}}, 422, "detector `gen` is not supported by this endpoint",
    ),
    "threshold": (
        {"input": {"doc": {"threshold": "x"}}}, 422,
        "`threshold` parameter specified for model `doc` must be a number",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_what_is_found_late_is_an_event(world, name):
    detectors, code, details = LATE[name]
    found = read(world.post(CHAT, body_of(detectors=detectors)))
    assert found == [("error", {"code": code, "details": details}), ("", "[DONE]")]


@pytest.mark.parametrize("role", ["tool", "developer"])
def test_the_last_role_is_checked_late(world, role):
    messages = [{"role": role, "content": "hi", "tool_call_id": "1"}]
    found = read(world.post(CHAT, body_of(messages=messages, detectors={"input": {"doc": {}}})))
    details = "Last message role must be user, assistant, or system"
    assert found == [("error", {"code": 422, "details": details}), ("", "[DONE]")]


@pytest.mark.parametrize(
    "path, body",
    [
        (CHAT, "{"),
        (CHAT, body_of(model="")),
        (CHAT, body_of(messages=[])),
        (CHAT, body_of(stream="yes")),
        (CHAT, body_of(detectors={"ouput": {}})),
        (CHAT, body_of(messages=[{"role": "user", "content": ""}], detectors={"input": {"doc": {}}})),
        (TEXT, {"model": "m", "stream": True, "prompt": "", "detectors": {"input": {"doc": {}}}}),
        (TEXT, {"model": "m", "stream": True, "prompt": ["a"], "detectors": {"output": {"gen": {}}}}),
        (A, {"model_id": 1, "inputs": "x"}),
        (A, {"model_id": "m"}),
        (A, {"model_id": "m", "inputs": "x", "more": 1}),
        (A, {"model_id": "m", "inputs": "x", "guardrail_config": {"input": {"models": {}, "masks": [["a", 1]]}}}),
    ],
)
def test_faults_of_the_body_are_statuses(world, path, body):
    status, _ = world.refused(path, body)
    assert status in (400, 422)


def test_a_service_that_fails_at_once(world):
    world.model_answers["/v1/chat/completions"] = answers({"error": {"message": "busy"}}, 503)
    details = "chat completion request failed for `m`: busy"
    assert read(chat(world, {"sent": {}})) == [("error", {"code": 503, "details": details}), ("", "[DONE]")]
    world.detector["doc"] = answers({"code": 422, "message": "no"}, 422)
    details = "detector request failed for `doc`: no"
    assert read(chat(world, input={"doc": {}})) == [("error", {"code": 422, "details": details}), ("", "[DONE]")]


def test_a_chunker_that_fails(world):
    def chunk(requests, context):
        yield from stream_sentences(iter([next(requests)]), context)
        context.abort(grpc.StatusCode.UNAVAILABLE, "busy")

    world.chunk_streams["en"] = chunk
    world.model_answers["/v1/chat/completions"] = says("One.", "Two.")
    (_, first), error, done = read(chat(world, {"sent": {}}))
    assert brief(first) == ("One.", None, [])
    details = "chunker request failed for `en`: busy"
    assert error == ("error", {"code": 503, "details": details})
    assert done == ("", "[DONE]")


@pytest.mark.parametrize(
    "more, code, details",
    [
        ({"model_id": ""}, 422, "`model_id` is required"),
        ({"inputs": ""}, 422, "`inputs` is required"),
        ({"guardrail_config": {"input": {"models": {"doc": {}}, "masks": [[0, 9]]}}}, 422, "invalid masks"),
        (
            {"guardrail_config": {"output": {"models": {"sent": {"threshold": "x"}}}}}, 422,
            "`threshold` parameter specified for model `sent` must be a number",
        ),
        ({"guardrail_config": {"output": {"models": {"no": {}}}}}, 404, "detector `no` not found"),
        (
            {"guardrail_config": {"output": {"models": {"doc": {}}}}}, 422,
            "detector `doc` uses chunker `whole_doc_chunker`, which is not supported by this endpoint",
        ),
    ],
)  # fmt: skip
def test_a_streamed_generation_that_is_refused(world, more, code, details):
    body = {"model_id": "m", "inputs": "hi", **more}
    assert read(world.post(A, body)) == [("error", {"code": code, "details": details})]
    assert world.asked_grpc(TGIS_STREAM) == []


# --- A ---


def test_a_guarded_generation(world):
    """Tokens of the messages a chunk names, the rest of the highest; arrays even when empty."""
    world.grpc_answers[TGIS_STREAM] = lambda request, context: tgis_stream("", "One ev", "il. T", "wo.", "")
    world.detector["sent"] = finds("evil")
    first, second = [data for _, data in read(generate(world, {"sent": {}}, input={"doc": {}}))]
    assert first["generated_text"] == "One evil." and second["generated_text"] == " Two."
    assert (first["start_index"], first["processed_index"]) == (0, 9)
    assert (second["start_index"], second["processed_index"]) == (9, 14)
    results = first["token_classification_results"]["output"]
    assert [(r["start"], r["end"], r["word"], r["detector_id"]) for r in results] == [(4, 8, "evil", "sent")]
    assert [t["text"] for t in first["tokens"]] == ["One ev", "il. T"]
    assert [t["text"] for t in second["tokens"]] == ["il. T", "wo."]
    assert first["input_token_count"] == 3 and second["input_token_count"] == 0
    assert [t["text"] for t in first["input_tokens"]] == ["q"] and second["input_tokens"] == []
    assert second["token_classification_results"] == {"output": []}
    frames = [r.input_index_stream for r in world.asked_grpc(CHUNK_STREAM)[0].requests]
    assert frames == [0, 1, 2, 3, 4]


def test_a_generation_without_detectors(world):
    world.grpc_answers[TGIS_STREAM] = lambda request, context: tgis_stream("One", " two")
    found = [data for _, data in read(generate(world))]
    assert [d["generated_text"] for d in found] == ["One", " two"]
    assert all(d["token_classification_results"] == {} for d in found)


# --- D ---


def test_streamed_content(world):
    """Lines unless events are asked for; places as the chunker tells them."""

    def chunk(requests, context):
        list(requests)
        yield told(7, 3, "an evil chunk", 0, 0)
        yield told(0, 0, "evil", 1, 1)

    world.chunk_streams["en"] = chunk
    world.detector["sent"] = finds("evil")
    lines = ({"detectors": {"sent": {}}, "content": "One. "}, {"content": "Two.", "detectors": {"x": {}}})
    found = lines_of(stream_content(world, *lines))
    places = [(d["start_index"], d["processed_index"], [r["start"] for r in d["detections"]]) for d in found]
    assert places == [(7, 3, [3]), (0, 0, [0])]
    assert [d for _, d in read(stream_content(world, *lines, accept="text/event-stream"))] == found


@pytest.mark.parametrize(
    "lines, code, details",
    [
        ([{"content": "x"}], 422, "`detectors` is required for the first message"),
        ([{"detectors": {}, "content": "x"}], 422, "`detectors` must not be empty"),
        ([{"detectors": {"sent": {}}, "content": ""}], 422, "`content` cannot be empty"),
        ([{"detectors": {"no": {}}, "content": "x"}], 404, "detector `no` not found"),
        ([{"detectors": {"chat": {}}, "content": "x"}], 422, "detector `chat` is not supported by this endpoint"),
        (
            [{"detectors": {"doc": {}}, "content": "x"}], 422,
            "detector `doc` uses chunker `whole_doc_chunker`, which is not supported by this endpoint",
        ),
        ([], 422, "`detectors` is required for the first message"),
    ],
)  # fmt: skip
def test_streamed_content_that_is_refused(world, lines, code, details):
    assert lines_of(stream_content(world, *lines)) == [{"code": code, "details": details}]


def test_a_bad_line(world):
    (error,) = lines_of(stream_content(world, "nonsense\n"))
    assert error["code"] == 422 and list(error) == ["code", "details"]
    answer = world.post(D, "{}", headers={"content-type": "application/json"})
    assert answer.status_code == 415


def test_a_detector_that_fails(world):
    world.detector["sent"] = answers({"code": 503, "message": "busy"}, 503)
    found = lines_of(stream_content(world, {"detectors": {"sent": {}}, "content": "One."}))
    assert found == [{"code": 503, "details": "detector request failed for `sent`: busy"}]
