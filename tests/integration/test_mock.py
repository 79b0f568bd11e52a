"""`weir-mock`: every role and scenario, as its callers see them."""

import json
import time

import harness
import httpx
import mock as mocks
import pytest
import rawhttp

CHAT = "/v1/chat/completions"
COMPLETION = "/v1/completions"
DETECTOR = ["/api/v1/text/" + name for name in ("contents", "chat", "context/doc", "generation")]
SAFE = {"filtered": False, "severity": "safe"}


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    """One mock for all tests that only ask."""
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1)
    servers.stop_all()


def chat(m, mock=None, expect=200, **members):
    body = {"model": "m-1", "messages": [{"role": "user", "content": "How are you?"}], **members}
    if mock is not None:
        body["mock"] = mock
    answer = m.api.post(CHAT, json=body)
    assert answer.status_code == expect, answer.text
    return answer


def stream(m, mock=None, **members):
    """The events of a chat stream."""
    answer = chat(m, mock, stream=True, **members)
    assert answer.headers["content-type"] == "text/event-stream"
    return mocks.events(answer.text)


def deltas(events, choice=0):
    return [
        c["delta"]
        for e in events
        if isinstance(e, dict)
        for c in e["choices"]
        if c["index"] == choice
    ]


def content(events, choice=0):
    return "".join(d.get("content") or "" for d in deltas(events, choice))


def finishes(events, choice=0):
    found = [c["finish_reason"] for e in events[:-1] for c in e["choices"] if c["index"] == choice]
    return [reason for reason in found if reason]


# --- chat, unary ---


def test_a_chat_completion_has_openai_s_shape(m):
    answer = chat(m, {"text": "One two three."}).json()
    assert list(answer) == "id object created model system_fingerprint choices usage".split()
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "m-1"
    [choice] = answer["choices"]
    message = {"role": "assistant", "content": "One two three.", "refusal": None}
    assert choice == {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = answer["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (3, 3, 6)


def test_ids_are_unique(m):
    ids = {chat(m).json()["id"] for _ in range(20)}
    assert len(ids) == 20


def test_unary_answers_say_what_streams_say(m):
    for scenario in ("text", "tools", "reasoning", "refusal", "text,tools", "mixed", "empty"):
        message = chat(m, {"scenario": scenario}).json()["choices"][0]["message"]
        parts = deltas(stream(m, {"scenario": scenario}))
        for name in ("content", "refusal", "reasoning_content"):
            assert (message.get(name) or "") == "".join(p.get(name) or "" for p in parts), scenario
        calls = {}
        for part in parts:
            for call in part.get("tool_calls", []):
                calls.setdefault(call["index"], "")
                calls[call["index"]] += call["function"]["arguments"]
        whole = [c["function"]["arguments"] for c in message.get("tool_calls", [])]
        assert whole == list(calls.values()), scenario


def test_max_tokens_ends_the_text(m):
    answer = chat(m, max_tokens=2).json()
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 2
    assert chat(m, max_completion_tokens=1).json()["usage"]["completion_tokens"] == 1


def test_too_many_tokens_for_one_body_are_refused(m):
    error = chat(m, {"tokens": 10**9}, expect=400).json()
    assert "too large" in error["error"]["message"]


# --- chat, streamed ---


def test_a_stream_has_openai_s_shape(m):
    events = stream(m, {"text": "One two."})
    assert events[-1] == "[DONE]"
    head = {key: value for key, value in events[0].items() if key != "choices"}
    assert head["object"] == "chat.completion.chunk" and head["id"].startswith("chatcmpl-")
    for event in events[:-1]:
        assert {key: value for key, value in event.items() if key != "choices"} == head
    assert deltas(events) == [
        {"role": "assistant", "content": ""},
        {"content": "One"},
        {"content": " two."},
        {},
    ]
    assert finishes(events) == ["stop"]


def test_each_event_is_a_chunk_of_its_own(m):
    c = m.raw()
    body = json.dumps({"messages": [], "stream": True, "mock": {"text": "a b"}}).encode()
    c.request("POST", CHAT, [("Content-Type", "application/json")], body)
    answer = c.read_response()
    assert len(answer.chunks) == 5
    assert all(chunk.startswith(b"data: ") and chunk.endswith(b"\n\n") for chunk in answer.chunks)


def test_tokens_go_round(m):
    assert content(stream(m, {"text": "ab cd", "tokens": 5})) == "ab cdab cdab"


def test_pieces_are_taken_as_they_are(m):
    events = stream(m, {"pieces": [["a", "é\n"], ["x"]]}, n=2)
    assert [d["content"] for d in deltas(events)[1:-1]] == ["a", "é\n"]
    assert [d["content"] for d in deltas(events, 1)[1:-1]] == ["x"]


def test_choices_take_turns(m):
    events = stream(m, {"tokens": 3}, n=3)
    order = [e["choices"][0]["index"] for e in events[:-1]]
    assert order == [0, 1, 2] * 5
    assert len({content(events, i) for i in range(3)}) == 3


def test_choices_one_after_the_other(m):
    events = stream(m, {"tokens": 3, "scenario": "sequential"}, n=2)
    order = [e["choices"][0]["index"] for e in events[:-1]]
    assert order == [0] * 5 + [1] * 5


def test_choices_in_random_order(m):
    events = stream(m, {"tokens": 20, "scenario": "shuffled"}, n=2)
    order = [e["choices"][0]["index"] for e in events[:-1]]
    assert order != sorted(order) and order != [0, 1] * (len(order) // 2)
    assert content(events, 0) and content(events, 1)


def test_choices_in_one_event(m):
    events = stream(m, {"tokens": 2, "scenario": "joined"}, n=2)
    assert [len(e["choices"]) for e in events[:-1]] == [2, 2, 2, 2]


def test_roles(m):
    def roles(scenario):
        return ["role" in d for d in deltas(stream(m, {"scenario": scenario, "tokens": 2}))]

    assert roles("text") == [True, False, False, False]
    assert roles("role-each") == [True, True, True, True]
    assert roles("role-never") == [False, False, False]
    assert roles("role-with-text") == [True, False, False]


def test_finish_with_the_last_text(m):
    events = stream(m, {"scenario": "finish-with-text", "text": "a b"})
    last = events[-2]["choices"][0]
    assert last["delta"] == {"content": " b"} and last["finish_reason"] == "stop"


def test_text_after_finish(m):
    events = stream(m, {"scenario": "text-after-finish", "text": "a b c d"})
    reasons = [e["choices"][0]["finish_reason"] for e in events[:-1]]
    assert reasons.index("stop") < len(reasons) - 1
    assert content(events) == "a b c da b c"


def test_another_finish_reason(m):
    assert finishes(stream(m, {"finish": "content_filter"})) == ["content_filter"]


def test_tool_calls_come_in_fragments(m):
    tools = [{"type": "function", "function": {"name": "look_up"}}]
    events = stream(m, {"scenario": "tools", "tool_calls": 3, "arguments": '{"q":"é"}'}, tools=tools)
    calls = [c for d in deltas(events) for c in d.get("tool_calls", [])]
    opening = [c for c in calls if "id" in c]
    assert [c["index"] for c in opening] == [0, 1, 2]
    assert len({c["id"] for c in opening}) == 3
    assert all(c["type"] == "function" for c in opening)
    assert all(c["function"] == {"name": "look_up", "arguments": ""} for c in opening)
    for index in range(3):
        fragments = [c["function"]["arguments"] for c in calls if c["index"] == index]
        assert len(fragments) > 2 and json.loads("".join(fragments)) == {"q": "é"}
    assert finishes(events) == ["tool_calls"]
    assert content(events) == ""


def test_reasoning_comes_before_content(m):
    kinds = [next(iter(d), None) for d in deltas(stream(m, {"scenario": "reasoning"}))[1:]]
    assert kinds == sorted(kinds[:-1], reverse=True) + [None]
    assert {"reasoning_content", "content"} <= set(kinds)


def test_refusal_and_empty(m):
    refusal = deltas(stream(m, {"scenario": "refusal"}))
    assert "".join(d.get("refusal", "") for d in refusal).startswith("I'm sorry")
    assert content(stream(m, {"scenario": "refusal"})) == ""
    assert deltas(stream(m, {"scenario": "empty"})) == [{"role": "assistant", "content": ""}, {}]
    assert content(stream(m, {"tokens": 0})) == ""


def test_an_echo(m):
    assert content(stream(m, {"scenario": "echo"})) == "How are you?"


def test_content_and_reasoning_in_one_event(m):
    parts = deltas(stream(m, {"scenario": "mixed", "tokens": 1}))
    assert set(parts[1]) == {"content", "reasoning_content"}


def test_logprobs(m):
    events = stream(m, {"text": "é x"}, logprobs=True, top_logprobs=2)
    entries = [e["choices"][0]["logprobs"] for e in events[:-1]]
    assert entries[0] is None and entries[-1] is None
    [entry] = entries[1]["content"]
    assert entry["token"] == "é" and entry["bytes"] == list("é".encode()) and entry["logprob"] < 0
    assert [t["token"] for t in entry["top_logprobs"]] == ["é", "other1"]
    unary = chat(m, {"text": "é x", "scenario": "logprobs"}).json()["choices"][0]["logprobs"]
    assert [t["token"] for t in unary["content"]] == ["é", " x"]


def test_usage_at_the_end(m):
    for events in (
        stream(m, {"tokens": 2}, stream_options={"include_usage": True}),
        stream(m, {"tokens": 2, "scenario": "usage"}),
    ):
        assert all(e["usage"] is None for e in events[:-2])
        assert events[-2]["choices"] == []
        assert events[-2]["usage"]["completion_tokens"] == 2
    assert "usage" not in stream(m)[0]


def test_usage_on_every_event(m):
    options = {"include_usage": True, "continuous_usage_stats": True}
    events = stream(m, {"tokens": 3}, stream_options=options)
    assert [e["usage"]["completion_tokens"] for e in events[:-1]] == [0, 1, 2, 3, 3, 3]


def test_azure_s_annotations(m):
    events = stream(m, {"scenario": "azure", "text": "a bé"})
    assert events[0]["choices"] == [] and "prompt_filter_results" in events[0]
    assert events[1]["choices"][0]["content_filter_results"]["hate"] == SAFE
    assert events[-2]["choices"] == []
    assert events[-2]["content_filter_offsets"]["end_offset"] == 4


def test_unknown_members_are_everywhere(m):
    answer = chat(m, {"scenario": "unknown", "tokens": 1}, stream=True).text
    assert answer.count('"big":12345678901234567890') == 2 * 3
    assert '"stop_reason":"###"' in answer


def test_surrogate_pairs_are_cut(m):
    text = chat(m, {"scenario": "split-utf8", "text": "a 😀😀b"}, stream=True).text
    for part in ('" \\ud83d"', '"\\ude00\\ud83d"', '"\\ude00b"'):
        assert f'"content":{part}' in text
    pieces = [d["content"] for d in deltas(mocks.events(text))[1:-1]]
    joined = "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16")
    assert joined == "a 😀😀b"


def test_line_ends_and_comments(m):
    text = chat(m, {"scenario": "crlf,comments", "tokens": 2}, stream=True).content
    assert text.count(b"\r\n") == text.count(b"\n") > 10
    assert b": between events\r\n\r\n:inside\r\ndata: {" in text
    assert len(mocks.events(text.decode())) == 5


def test_no_done(m, mock):
    assert stream(m, {"scenario": "no-done"})[-1]["choices"][0]["finish_reason"] == "stop"
    assert stream(mock("--no-done"))[-1]["choices"][0]["finish_reason"] == "stop"


def test_a_stream_of_one_s_own(m):
    listed = ["data: one\r\r", 5, {"choices": [], "n": 1.50}, [1, 2], "data: [DONE]\n\n"]
    answer = chat(m, {"events": listed}, stream=True)
    assert answer.text == (
        'data: one\r\rdata: {"choices":[],"n":1.5}\n\ndata: [1,2]\n\ndata: [DONE]\n\n'
    )


# --- completions, models, tokenizer ---


def test_completions(m):
    body = {"model": "m", "prompt": "Say it.", "n": 2, "mock": {"pieces": ["a", " b"]}}
    answer = m.api.post(COMPLETION, json=body).json()
    assert answer["object"] == "text_completion" and answer["id"].startswith("cmpl-")
    assert [c["text"] for c in answer["choices"]] == ["a b", "a b"]
    events = mocks.events(m.api.post(COMPLETION, json={**body, "stream": True, "n": 1}).text)
    assert [e["choices"][0]["text"] for e in events[:-1]] == ["a", " b", ""]
    assert [e["choices"][0]["finish_reason"] for e in events[:-1]] == [None, None, "stop"]


def test_logprobs_of_completions(m):
    body = {"prompt": "p", "logprobs": 2, "mock": {"pieces": ["é", "bc", "d"]}}
    logprobs = m.api.post(COMPLETION, json=body).json()["choices"][0]["logprobs"]
    assert logprobs["tokens"] == ["é", "bc", "d"]
    assert logprobs["text_offset"] == [0, 1, 3]
    assert len(logprobs["token_logprobs"]) == len(logprobs["top_logprobs"]) == 3
    assert list(logprobs["top_logprobs"][1]) == ["bc", "other1"]


def test_models_and_tokenizer(m):
    assert [model["id"] for model in m.api.get("/v1/models").json()["data"]] == ["mock"]
    answer = m.api.post("/tokenize", json={"model": "m", "prompt": "one two one"}).json()
    assert answer["count"] == 3 and len(answer["tokens"]) == 3 and answer["max_model_len"] > 0
    messages = [{"role": "user", "content": [{"type": "text", "text": "a b"}]}]
    assert m.api.post("/tokenize", json={"messages": messages}).json()["count"] == 2


def test_members_of_other_types_are_survived(m):
    c = m.raw()

    def ask(path, body):
        head = [("Content-Type", "application/json")]
        c.request("POST", path, head, json.dumps(body).encode())
        return c.read_response().status

    odd = [None, True, 5, -1.5, "x", [], [1, None, {}, "x"], {"x": 1}]
    names = "messages prompt model n stream stream_options tools logprobs top_logprobs max_tokens mock"
    for path in (CHAT, COMPLETION, "/tokenize", *DETECTOR):
        for name in names.split() + "contents content context context_type detector_params".split():
            for value in odd:
                body = {"messages": [], "prompt": "p", "contents": ["c"], "content": "c"}
                body |= {"context": [], "context_type": "docs", "generated_text": "g", name: value}
                assert ask(path, body) in (200, 400, 422), body
        assert ask(path, []) in (400, 422)


def test_bad_requests(m):
    assert m.api.post(CHAT, json={"model": "m"}).status_code == 400
    assert m.api.post(CHAT, content=b"{", headers={"content-type": "application/json"}).status_code == 400
    assert m.api.post(CHAT, content=b"{}").status_code == 415
    assert m.api.get(CHAT).status_code == 405
    assert m.api.get("/nothing").status_code == 404


# --- going wrong ---


def test_error_events(m):
    nested = stream(m, {"fail_at": 2, "message": "no more"})
    assert nested[-2]["error"] == {
        "message": "no more", "type": "server_error", "param": None, "code": 500}  # fmt: skip
    assert len(nested) == 4 and nested[-1] == "[DONE]"
    flat = stream(m, {"fail_at": 0, "error": "flat", "status": 503})
    assert flat[0]["object"] == "error" and flat[0]["code"] == 503 and "choices" not in flat[0]
    named = chat(m, {"error": "event", "scenario": "no-done"}, stream=True).text
    assert named.count("event: error\ndata: {") == 1 and "[DONE]" not in named
    assert len(mocks.events(named)) == 4


def test_events_that_make_no_sense(m):
    def third(error):
        return stream(m, {"error": error, "fail_at": 2, "tokens": 4})

    assert isinstance(third("garbage")[2], str)
    assert third("not-object")[2] == 17
    assert "choices" not in third("no-choices")[2]
    assert len(third("no-choices")) == 8  # one more than without, and it went on to [DONE]
    assert b"\xc3\x28" in chat(m, {"error": "bad-utf8"}, stream=True).content


def test_a_stream_that_just_ends(m):
    assert len(stream(m, {"error": "end", "fail_at": 2})) == 2


def test_a_stream_that_is_cut(m):
    for fail_at in (0, 3):
        c = m.raw()
        body = {"messages": [], "stream": True, "mock": {"error": "cut", "fail_at": fail_at}}
        body = json.dumps(body).encode()
        c.request("POST", CHAT, [("Content-Type", "application/json")], body)
        with pytest.raises(rawhttp.Closed):
            c.read_response()
        assert m.wait_log("broken off", event=fail_at)["status"] == 200
    h = m.h2()
    body = json.dumps({"messages": [], "stream": True, "mock": {"error": "cut"}}).encode()
    s = h.request("POST", CHAT, [("content-type", "application/json")], body)
    answer = h.response(s)
    assert answer.status == 200 and answer.reset is not None
    assert len(mocks.events(answer.body.decode())) == 3


def test_a_stream_that_stalls(m):
    c = m.raw()
    body = json.dumps({"messages": [], "stream": True, "mock": {"error": "stall"}}).encode()
    c.request("POST", CHAT, [("Content-Type", "application/json")], body)
    chunks, got = c.chunks(c.read_head()), b""
    while got.count(b"data: ") < 3:
        got += next(chunks)
    assert c.is_quiet(0.3)
    c.close()
    assert m.wait_log("caller gone", event=3)


def test_a_status_before_the_stream(m):
    for status in (400, 404, 429, 500, 503):
        error = chat(m, {"status": status, "message": "try later"}, expect=status, stream=True)
        assert error.json()["error"]["message"] == "try later"
        assert error.json()["error"]["code"] == status
    flat = chat(m, {"status": 400, "error": "flat"}, expect=400).json()
    assert flat["object"] == "error" and flat["code"] == 400


def test_failing_by_chance(m):
    codes = [m.api.get("/health", headers={"x-mock": "fail_rate=0.5;status=503"}) for _ in range(60)]
    codes = [answer.status_code for answer in codes]
    assert set(codes) == {200, 503} and 5 < codes.count(503) < 55


def test_failing_the_first(m):
    header = {"x-mock": "fail_first=2; key=one; status=502"}
    codes = [m.api.get("/health", headers=header).status_code for _ in range(4)]
    assert codes == [502, 502, 200, 200]
    header = {"x-mock": "fail_first=1; key=two"}
    assert m.api.get("/health", headers=header).status_code == 500


def test_mistakes_in_settings_are_told(m):
    def told(mock):
        return chat(m, mock, expect=400).json()["error"]["message"]

    assert told({"tokns": 1}) == "unknown setting `tokns`; did you mean tokens"
    assert told({"rate": "fast"}) == "`rate`: expected a number"
    assert told({"rate": -1}) == "`rate`: `-1` is not a number from 0 to 1000000"
    assert told({"scenario": "tool"}) == "`scenario`: unknown word `tool`; did you mean `tools`?"
    assert told({"error": 5}) == "`error`: expected a string"
    assert told({"pieces": [1]}).startswith("`pieces`: expected a list of strings")
    assert told(7) == "expected an object of settings"
    header = m.api.get("/health", headers={"x-mock": "rate"})
    assert header.status_code == 400 and "expected `name=value`" in header.text


# --- settings in every way ---


def test_flags_headers_and_members_agree(m, mock):
    expected = content(stream(m, {"text": "x y", "tokens": 3}))
    by_flags = mock("--text", "x y", "--tokens=3")
    assert content(stream(by_flags)) == expected == "x yx"
    by_header = m.api.post(
        CHAT, json={"messages": [], "stream": True}, headers={"x-mock": "text=x y;tokens=3"}
    )
    assert content(mocks.events(by_header.text)) == expected
    assert content(stream(by_flags, {"tokens": 1, "scenario": ["text", "usage"]})) == "x"


def test_text_from_a_file(mock, tmp_path):
    (tmp_path / "text").write_text("From a file, é.")
    assert content(stream(mock("--text", f"@{tmp_path / 'text'}"))) == "From a file, é."


def test_the_same_seed_says_the_same(mock):
    def say(m):
        header = {"x-mock": "fail_rate=0.5"}
        codes = [m.api.get("/health", headers=header).status_code for _ in range(20)]
        return codes, chat(m, {"scenario": "shuffled"}, stream=True, n=4).text

    first, second, other = (say(mock("--seed", seed)) for seed in (5, 5, 6))
    assert first == second != other


def test_bad_flags(mock):
    for args, what in (
        (["--rate", "x"], "`rate`: `x` is not a number"),
        (["--rat", "1"], "did you mean --rate"),
        (["--scenario", "tex"], "did you mean `text`"),
        (["--text", "@/nowhere"], "cannot be read"),
        (["--pieces", "["], "is not JSON"),
        (["more"], "unexpected argument `more`"),
    ):
        done = mock.run(*args)
        assert done.returncode == 2 and what in done.stderr.decode()
    done = mock.run("--help")
    assert done.returncode == 0 and b"--fail-at N" in done.stdout and b"split-utf8" in done.stdout


def test_a_port_in_use(mock):
    m = mock()
    done = mock.run("--port", m.ports["api"])
    assert done.returncode == 1 and b"address already in use" in done.stderr


def test_several_workers(mock):
    m = mock("--workers", 2)
    ids = {m.client().post(CHAT, json={"messages": []}).json()["id"] for _ in range(20)}
    assert len(ids) == 20


# --- time, pieces, back-pressure ---


def test_tokens_come_at_their_rate(m):
    began = time.monotonic()
    events = stream(m, {"rate": 100, "tokens": 11, "first_ms": 50})
    assert time.monotonic() - began >= 0.14
    assert len(events) == 14
    began = time.monotonic()
    stream(m, {"rate": 100, "burst": 5, "tokens": 11})
    assert time.monotonic() - began >= 0.09
    began = time.monotonic()
    chat(m, {"rate": 100, "tokens": 10})
    assert time.monotonic() - began >= 0.09


def test_delay_before_the_answer(m):
    began = time.monotonic()
    m.api.get("/health", headers={"x-mock": "delay_ms=80;jitter_ms=20"})
    assert time.monotonic() - began >= 0.07


def test_answers_in_pieces(m):
    c = m.raw()
    body = {"messages": [], "stream": True, "mock": {"cut_bytes": 7, "text": "é ü"}}
    c.request("POST", CHAT, [("Content-Type", "application/json")], json.dumps(body).encode())
    answer = c.read_response()
    assert max(len(chunk) for chunk in answer.chunks) == 7
    assert content(mocks.events(answer.body.decode())) == "é ü"
    unary = chat(m, {"cut_bytes": 50, "cut_ms": 1, "pad_bytes": 100}).text
    assert unary.endswith(" " * 100) and json.loads(unary)["choices"]


def test_a_caller_that_does_not_read_holds_it_back(m):
    c = m.raw()
    body = {"messages": [], "stream": True, "mock": {"tokens": 10**7}}
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    head = [("Content-Type", "application/json"), ("Traceparent", f"00-{trace_id}-{'1' * 16}-01")]
    c.request("POST", CHAT, head, json.dumps(body).encode())
    while len(c.received) < 10000:
        assert c.fill()
    first = mocks.events(c.received.split(b"\r\n", 3)[-1].decode(errors="replace"))
    time.sleep(0.3)
    c.reset()
    request_id = first[1]["id"].removeprefix("chatcmpl-")
    gone = m.wait_log("caller gone", request_id=request_id)
    assert 40 < gone["event"] < 200000
    assert gone["trace_id"] == trace_id


def test_a_slow_reader_gets_everything(m):
    c = m.raw()
    body = {"messages": [], "stream": True, "mock": {"tokens": 20000}}
    c.request("POST", CHAT, [("Content-Type", "application/json")], json.dumps(body).encode())
    time.sleep(0.2)
    assert len(c.read_response().chunks) == 20003


def test_over_http2(m):
    h = m.h2()
    body = json.dumps({"messages": [], "stream": True, "mock": {"tokens": 3000}}).encode()
    streams = [h.request("POST", CHAT, [("content-type", "application/json")], body) for _ in "ab"]
    for s in streams:
        answer = h.response(s)
        assert answer.status == 200
        assert len(mocks.events(answer.body.decode())) == 3003
    s = h.request("POST", CHAT, [("content-type", "application/json")],
                  json.dumps({"messages": [], "stream": True, "mock": {"rate": 5}}).encode())  # fmt: skip
    h.reset_stream(s)
    assert m.wait_log("caller gone", path=CHAT)


# --- the detector ---

CONTENTS = "/api/v1/text/contents"


def detect(m, params=None, contents=("Mail é joe@example.com.", "Nothing."), expect=200):
    body = {"contents": list(contents), "detector_params": params or {}}
    answer = m.api.post(CONTENTS, json=body)
    assert answer.status_code == expect, answer.text
    return answer


def test_findings_in_contents(m):
    found = detect(m).json()
    assert found == [
        [
            {
                "start": 7,
                "end": 22,
                "text": "joe@example.com",
                "detection": "EmailAddress",
                "detection_type": "pii",
                "score": 0.9,
            }
        ],
        [],
    ]
    text = "4111-1111-1111-1111 or 078-05-1120 or +49 171 2345678 or 10.0.0.1"
    [found] = detect(m, contents=[text]).json()
    assert [d["detection"] for d in found] == ["CreditCard", "SSN", "PhoneNumber", "IPAddress"]
    for d in found:
        assert text[d["start"] : d["end"]] == d["text"]


def test_findings_of_one_s_own(m):
    params = {"regex": "[a-z]+é?", "detection": "Word", "detection_type": "w", "score": 0.25, "x": 1}
    [found] = detect(m, params, ["😀 aé b"]).json()
    assert [(d["start"], d["end"], d["text"]) for d in found] == [(2, 4, "aé"), (5, 6, "b")]
    assert {(d["detection"], d["detection_type"], d["score"]) for d in found} == {("Word", "w", 0.25)}
    [found] = detect(m, {"find": "all"}, ["aé"]).json()
    assert (found[0]["start"], found[0]["end"]) == (0, 2)
    assert detect(m, {"find": "none"}).json() == [[], []]
    for n in (*range(40), 0):  # more than are kept compiled
        [found] = detect(m, {"regex": f"x{n}y"}, [f"ax{n}yx{n}y"]).json()
        assert [d["text"] for d in found] == [f"x{n}y"] * 2


def test_bad_expressions(m):
    assert "missing" in detect(m, {"regex": "("}, expect=422).json()["message"]
    slow = detect(m, {"regex": "(a+)+$"}, ["a" * 40 + "b"], expect=500)
    assert slow.json() == {"code": 500, "message": "the regular expression took too long"}


def test_the_other_detector_endpoints(m):
    finding = [{"detection": "EmailAddress", "detection_type": "pii", "score": 0.9}]
    messages = [{"role": "user", "content": "a@b.de"}, {"role": "assistant", "content": None}]
    bodies = {
        "/api/v1/text/chat": {"messages": messages, "tools": []},
        "/api/v1/text/context/doc": {"content": "a@b.de", "context_type": "docs", "context": ["x"]},
        "/api/v1/text/generation": {"prompt": "x@y.de", "generated_text": "a@b.de"},
    }
    for path, body in bodies.items():
        assert m.api.post(path, json={**body, "detector_params": {}}).json() == finding
        assert m.api.post(path, json={}).status_code == 422
    assert m.api.post(CONTENTS, json={"contents": [1]}).status_code == 422


@pytest.mark.parametrize(
    "bad, check",
    [
        ("lists-more", lambda lists: len(lists) == 3),
        ("lists-less", lambda lists: len(lists) == 1),
        ("not-list", lambda answer: isinstance(answer, dict)),
        ("span-outside", lambda lists: lists[0][0]["end"] > 1000000),
        ("span-reversed", lambda lists: lists[0][0]["start"] > lists[0][0]["end"]),
        ("span-negative", lambda lists: lists[0][0]["start"] == -1),
        ("span-fraction", lambda lists: lists[0][0]["start"] == 0.5),
        ("span-missing", lambda lists: not {"start", "end"} & lists[0][0].keys()),
        ("score-nan", lambda lists: lists[0][0]["score"] != lists[0][0]["score"]),
        ("score-large", lambda lists: lists[0][0]["score"] == 1.5),
        ("score-text", lambda lists: lists[0][0]["score"] == "0.9"),
        ("type-missing", lambda lists: "detection_type" not in lists[0][0]),
        ("duplicate", lambda lists: lists[0][0]["detection"] == "Again"),
    ],
)
def test_wrong_answers(m, bad, check):
    answer = detect(m, {"bad": bad})
    assert answer.headers["content-type"] == "application/json"
    assert check(json.loads(answer.text))


def test_answers_that_are_none(m):
    assert detect(m, {"bad": "garbage"}).text.startswith("<html>")
    assert detect(m, {"bad": "truncated"}).text.endswith("]")
    with pytest.raises(ValueError):
        detect(m, {"bad": "truncated"}).json()
    assert detect(m, {"bad": "empty"}).content == b""
    assert detect(m, {"bad": "content-type"}).headers["content-type"] == "text/html"
    assert detect(m, {"answer": {"a": [1.0]}}).text == '{"a": [1.0]}'
    with pytest.raises(httpx.TransportError):
        detect(m, {"bad": "cut"})


def test_a_detector_that_fails(m):
    error = detect(m, {"status": 503, "message": "busy"}, expect=503)
    assert error.json() == {"code": 503, "message": "busy"}


def test_health(m, mock):
    assert m.api.get("/health").json() == {"status": "HEALTHY"}
    bad = m.api.get("/health", headers={"x-mock": "health=bad"}).json()
    assert bad["status"] == "UNHEALTHY" and bad["reason"]
    for word, status, body in (("error", 503, True), ("absent", 404, True), ("empty", 200, False)):
        answer = mock("--health", word).api.get("/health")
        assert answer.status_code == status and bool(answer.content) == body
