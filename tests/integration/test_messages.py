"""Anthropic's Messages on routes: what leaves of an answer, streamed and whole."""

import json
import time

import messages
import pytest
from messages import closed, delta, ending, opened, text, thinking, tool
from policies import FALLBACK, MAIL, config
from service import reply

ROUTES = [
    {"name": "whole-doc", "output": {"doc": {}}, "on_detection": "redact"},
    {"name": "completed", "output": {"pii": {}}, "on_detection": "block",
     "block_ending": "completed"},
    {"name": "error", "input": {"pii": {}}, "output": {"pii": {}}, "on_detection": "block",
     "block_as": "error"},
    {"name": "open", "unguarded": True},
    {"name": "redact-batched", "output": {"pii": {}}, "on_detection": "redact",
     "streaming": {"batching": {"mode": "on", "min_chars_per_emit": 400,
                                "flush_on_sentence": False}}},
    {"name": "open-batched", "unguarded": True,
     "streaming": {"batching": {"mode": "on", "min_chars_per_emit": 400,
                                "flush_on_sentence": False}}},
    {"name": "gated", "output": {"pii": {}}, "streaming": {"coalescer": {"mode": "on"}}},
    {"name": "open-gated", "unguarded": True, "streaming": {"coalescer": {"mode": "on"}}},
    {"name": "talks", "output": {"pair": {}}},
]  # fmt: skip
GUARDED = ["redact", "block", None]


@pytest.fixture(scope="module")
def server():
    one = messages.Server()
    yield one
    one.service.close()


@pytest.fixture(scope="module")
def gateway(module_weir, server):
    return module_weir(config(server, ROUTES))


def ask(question="Hi", **members):
    return {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": question}],
            **members}  # fmt: skip


def post(gateway, route, body, **options):
    path = f"/{route}{messages.PATH}" if route else messages.PATH
    return gateway.api.post(path, json=body, **options)


def streamed(gateway, server, route, said, **members):
    server.said = said
    answer = post(gateway, route, ask(stream=True, **members))
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/event-stream"
    return messages.read(answer.text)


def unary(gateway, server, route, said, **members):
    server.said = said
    answer = post(gateway, route, ask(**members))
    assert answer.status_code == 200, answer.text
    return answer.json()


def cut(value, at):
    return [value[:at], value[at:]]


# --- nothing is found ---


@pytest.mark.parametrize("route", [*GUARDED, "open", "whole-doc"])
def test_a_clean_stream_leaves_as_it_came(gateway, server, route):
    said = messages.message(
        thinking(0, "I ", "think."), text(1, "Hel", "lo, ", "you."), tool(2, "look", '{"a":', "1}")
    )
    left = streamed(gateway, server, route, said)
    assert messages.gather(left) == messages.gather(said)
    assert not any("detections" in event for event in left)


@pytest.mark.parametrize("route", [None, "open"])
def test_without_findings_annotate_leaves_byte_for_byte(gateway, server, route):
    raw = messages.sse(messages.message(thinking(0, "I ", "think."), text(1, "Hi", "", " there.")))
    raw = raw.replace("event: ping", "event:  ping")
    raw = 'event: message_start\ndata: ' + raw.split("data: ", 1)[1]
    raw = raw.replace('"index": 1, "delta"', '"index" : 1 ,"unknown":[1], "delta"')
    server.said = raw
    answer = post(gateway, route, ask(stream=True))
    assert answer.text == raw


@pytest.mark.parametrize("route", [*GUARDED, "open", "whole-doc"])
def test_a_clean_message_leaves_as_it_came(gateway, server, route):
    said = messages.whole(
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "c2VhbGVk"},
        {"type": "text", "text": "Hello.", "citations": [{"type": "char_location", "cited_text": "x"}]},
        {"type": "text", "text": "More.\n\"quoted\" \u00e4\U0001f600"},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": [1, "b"]}},
        {"type": "tool_use", "id": "toolu_2", "name": "nothing", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "x", "content": [{"title": "A page"}]},
    )
    assert unary(gateway, server, route, said) == said


# --- redact ---


@pytest.mark.parametrize("at", range(1, len(MAIL)))
def test_a_finding_cut_anywhere_is_replaced(gateway, server, at):
    said = messages.message(text(0, "Write to ", *cut(MAIL, at), " now."))
    left = streamed(gateway, server, "redact", said)
    assert messages.gather(left)["content"] == [{"type": "text", "text": "Write to [email_address] now."}]
    carriers = [e for e in left if messages.findings(e)]
    assert [e["type"] for e in carriers] == ["content_block_delta", "message_delta"]
    for carrier in carriers:
        assert messages.findings(carrier) == [(0, None, "email_address", 9, 24)]
        assert carrier["warnings"][0]["type"] == "UNSUITABLE_OUTPUT"


def test_streamed_and_whole_say_the_same(gateway, server):
    said = messages.message(text(0, f"A {MAIL} b."), text(1, f"{MAIL}"))
    whole = messages.whole({"type": "text", "text": f"A {MAIL} b."}, {"type": "text", "text": MAIL})
    left = messages.gather(streamed(gateway, server, "redact", said))
    answer = unary(gateway, server, "redact", whole)
    assert left["content"] == answer["content"]
    assert messages.findings(answer) == [(0, None, "email_address", 2, 17), (1, None, "email_address", 0, 15)]


def test_a_whole_document_detector_sees_a_block(gateway, server):
    said = messages.message(text(0, "One ", "X-", "1."), text(1, "two"))
    answer = messages.gather(streamed(gateway, server, "whole-doc", said))
    assert [b["text"] for b in answer["content"]] == ["One [Code].", "two"]


def test_citations_with_a_finding_are_left_out(gateway, server):
    good = {"type": "char_location", "cited_text": "fine", "document_index": 0}
    bad = {"type": "char_location", "cited_text": f"by {MAIL}", "document_index": 0}
    block = [opened(0, {"type": "text", "text": "", "citations": []}), delta(0, "text_delta", text="Yes"),
             delta(0, "citations_delta", citation=good), delta(0, "citations_delta", citation=bad),
             closed(0)]  # fmt: skip
    left = streamed(gateway, server, "redact", messages.message(block))
    assert messages.gather(left)["content"][0]["citations"] == [good]
    assert messages.findings(left[-2])[0][1] == "citation"
    whole = messages.whole({"type": "text", "text": "Yes", "citations": [good, bad]})
    assert unary(gateway, server, "redact", whole)["content"][0]["citations"] == [good]
    assert MAIL not in json.dumps(left)


def test_a_stop_sequence_is_text(gateway, server):
    said = messages.message(text(0, "Hi"), *[ending("stop_sequence", stop_sequence=MAIL)])
    left = streamed(gateway, server, "redact", said)
    assert messages.gather(left)["stop_sequence"] is None
    assert messages.gather(left)["stop_reason"] == "stop_sequence"
    clean = messages.message(text(0, "Hi"), *[ending("stop_sequence", stop_sequence="END")])
    assert messages.gather(streamed(gateway, server, "redact", clean))["stop_sequence"] == "END"


# --- what ends the answer ---


def refused(answer, words=FALLBACK):
    assert answer["stop_reason"] == "refusal", answer
    assert answer["stop_details"] == {"type": "refusal", "category": None, "explanation": words}


@pytest.mark.parametrize("at", [1, 5, len(MAIL) - 1])
def test_block_says_what_was_before_the_finding_and_its_words(gateway, server, at):
    said = messages.message(text(0, "Before. "), text(1, "So: ", *cut(MAIL, at), " and more"))
    left = messages.gather(streamed(gateway, server, "block", said))
    assert [b["text"] for b in left["content"]] == ["Before. ", "So: ", FALLBACK]
    refused(left)
    assert left["usage"] == messages.USAGE


def test_block_in_a_whole_message_leaves_the_words_alone(gateway, server):
    said = messages.whole({"type": "text", "text": "Fine."}, {"type": "text", "text": MAIL})
    answer = unary(gateway, server, "block", said)
    assert answer["content"] == [{"type": "text", "text": FALLBACK}]
    refused(answer)
    assert messages.findings(answer) == [(1, None, "email_address", 0, len(MAIL))]


PIECES = [(f'{{"to":"{MAIL}"}}',), ('{"to":"jane\\u0040exam', 'ple.org"}'),
          ('{"to":"jane@', "example", '.org"}')]  # fmt: skip


@pytest.mark.parametrize("pieces", PIECES)
def test_a_call_with_a_finding_ends_the_answer_of_a_route_that_blocks(gateway, server, pieces):
    said = messages.message(text(0, "Sending."), tool(1, "send", *pieces), text(2, "Done."))
    left = streamed(gateway, server, "block", said)
    answer = messages.gather(left)
    assert [b["type"] for b in answer["content"]] == ["text", "text"]
    assert answer["stop_reason"] == "refusal"
    assert messages.findings(left[-2])[0][:3] == (1, "input_json", "email_address")
    assert "example" not in json.dumps(left)


@pytest.mark.parametrize("pieces", PIECES)
def test_what_is_found_in_a_calls_input_is_replaced_in_its_string(gateway, server, pieces):
    said = messages.message(text(0, "Sending."), tool(1, "send", *pieces), text(2, "Done."))
    left = streamed(gateway, server, "redact", said)
    answer = messages.gather(left)
    assert answer["content"][1]["input"] == {"to": "[email_address]"}
    assert answer["content"][2]["text"] == "Done."
    assert messages.findings(left[-2])[0][:3] == (1, "input_json", "email_address")
    whole = messages.whole({"type": "tool_use", "id": "t", "name": "n", "input": {"a": [MAIL, 1]}})
    assert unary(gateway, server, "redact", whole)["content"][0]["input"] == {"a": ["[email_address]", 1]}


@pytest.mark.parametrize("call", [tool(0, MAIL, "{}"), tool(0, "send", f'{{"{MAIL}":1}}')])
def test_names_in_a_call_cannot_be_replaced(gateway, server, call):
    left = streamed(gateway, server, "redact", messages.message(call))
    assert messages.gather(left)["stop_reason"] == "refusal" and MAIL not in json.dumps(left)


def test_a_clean_call_leaves_whole(gateway, server):
    said = messages.message(tool(0, "send", '{"a"', ":[1", "]}"), text(1, "Done."))
    left = streamed(gateway, server, "redact", said)
    assert [e["delta"]["partial_json"] for e in left if "partial_json" in e.get("delta", {})] == [
        '{"a":[1]}']  # fmt: skip


@pytest.mark.parametrize("route", ["block", "redact"])
def test_thinking_that_cannot_be_replaced_ends_the_answer(gateway, server, route):
    said = messages.message(thinking(0, "The mail is ", MAIL, "."), text(1, "Hello."))
    answer = messages.gather(streamed(gateway, server, route, said))
    assert [b["type"] for b in answer["content"]] == ["thinking", "text"]
    assert answer["content"][0]["thinking"] == "The mail is "
    assert answer["stop_reason"] == "refusal"


@pytest.mark.parametrize("route", ["block", "redact"])
def test_blocks_of_other_kinds_are_looked_at_as_json(gateway, server, route):
    block = {"type": "web_search_tool_result", "tool_use_id": "t", "content": [{"title": f"{MAIL}"}]}
    left = streamed(gateway, server, route, messages.message([opened(0, block), closed(0)]))
    assert MAIL not in json.dumps(left)
    assert messages.gather(left)["stop_reason"] == "refusal"
    clean = [opened(0, {**block, "content": []}), delta(0, "new_delta", content="more"), closed(0)]
    left = streamed(gateway, server, route, messages.message(clean))
    assert left[1:4] == clean


@pytest.mark.parametrize("kind", ["text_delta", "new_delta"])
@pytest.mark.parametrize("route", ["block", "redact"])
def test_what_a_block_of_another_kind_says_in_pieces_is_one_text(gateway, server, route, kind):
    block = [opened(0, {"type": "new", "text": MAIL[:3]}), delta(0, kind, text=MAIL[3:9]),
             delta(0, kind, text=MAIL[9:]), closed(0)]  # fmt: skip
    left = streamed(gateway, server, route, messages.message(block))
    assert [e["type"] for e in left].count("content_block_start") == 1  # the route's words
    assert messages.gather(left)["stop_reason"] == "refusal"


def test_an_answer_that_ends_as_if_it_were_complete(gateway, server):
    said = messages.message(text(0, MAIL))
    answer = messages.gather(streamed(gateway, server, "completed", said))
    assert answer["stop_reason"] == "end_turn" and "stop_details" not in answer


@pytest.mark.parametrize("is_stream", [True, False])
def test_where_json_was_asked_for_a_block_is_an_ending_alone(gateway, server, is_stream):
    wants = {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}}
    if is_stream:
        said = messages.message(text(0, '{"a":"', MAIL, '"}'))
        left = streamed(gateway, server, "block", said, **wants)
        answer = messages.gather(left)
    else:
        said = messages.whole({"type": "text", "text": f'{{"a":"{MAIL}"}}'})
        answer = unary(gateway, server, "block", said, **wants)
    assert answer["content"] == []
    refused(answer)
    said = messages.message(text(0, '{"a":"', MAIL, '"}'))
    left = streamed(gateway, server, "redact", said, **wants)
    assert json.loads(messages.gather(left)["content"][0]["text"]) == {"a": "[email_address]"}


# --- annotate ---


def test_annotate_tells_and_changes_nothing(gateway, server):
    said = messages.message(
        thinking(0, f"About {MAIL}"), text(1, "Write ", MAIL, "."), tool(2, "send", f'"{MAIL}"')
    )
    left = streamed(gateway, server, None, said)
    assert messages.gather(left) == messages.gather(said)
    told = [messages.findings(e) for e in left if messages.findings(e)]
    assert told[0] == [(1, None, "email_address", 6, 6 + len(MAIL))]
    assert {(entry[0], entry[1]) for entry in told[-1]} == {(0, "thinking"), (1, None), (2, "input_json")}
    stripped = [{k: v for k, v in e.items() if k not in ("detections", "warnings")} for e in left]
    assert stripped == said
    whole = messages.whole({"type": "text", "text": MAIL}, {"type": "thinking", "thinking": MAIL})
    answer = unary(gateway, server, None, whole)
    assert {entry[:2] for entry in messages.findings(answer)} == {(0, None), (1, "thinking")}
    assert answer["content"] == whole["content"]


# --- the question ---


@pytest.mark.parametrize("is_stream", [True, False])
def test_a_blocked_question_is_a_refusal(gateway, server, is_stream):
    server.said = None
    answer = post(gateway, "block", ask(MAIL, stream=is_stream))
    assert answer.status_code == 200 and answer.headers["x-weir-action"] == "block"
    found = messages.gather(messages.read(answer.text)) if is_stream else answer.json()
    assert found["content"] == [{"type": "text", "text": FALLBACK}]
    refused(found)
    assert found["usage"] == {"input_tokens": 0, "output_tokens": 0}
    carrier = messages.read(answer.text)[0] if is_stream else found
    assert messages.findings(carrier, "input")


@pytest.mark.parametrize("is_stream", [True, False])
def test_a_redacted_question_is_told(gateway, server, is_stream):
    if is_stream:
        left = streamed(gateway, server, "redact", messages.message(text(0, "Hi")),
                        messages=[{"role": "user", "content": f"I am {MAIL}"}])  # fmt: skip
        carrier = left[0]
    else:
        carrier = unary(gateway, server, "redact", messages.whole({"type": "text", "text": "Hi"}),
                        messages=[{"role": "user", "content": f"I am {MAIL}"}])  # fmt: skip
    assert messages.findings(carrier, "input")
    assert MAIL not in server.service.requests[-1].body.decode()


@pytest.mark.parametrize("is_stream", [True, False])
def test_a_blocked_question_as_an_error(gateway, is_stream):
    answer = post(gateway, "error", ask(MAIL, stream=is_stream))
    assert answer.status_code == 400
    body = answer.json()
    assert body["type"] == "error" and body["error"]["type"] == "invalid_request_error"
    assert body["request_id"] == answer.headers["x-request-id"] == answer.headers["request-id"]


# --- faults ---


@pytest.mark.parametrize("route", GUARDED)
@pytest.mark.parametrize("said", [
    messages.message(text(0, "Hi"))[1:],
    messages.message([delta(0, "text_delta", text="Hi")]),
    messages.message([opened(1, {"type": "text", "text": ""})]),
    messages.message([opened(0, {"type": "text", "text": ""}), opened(1, {"type": "text", "text": ""})]),
    messages.message(text(0, "Hi"))[:-1],
    [messages.start(), messages.start()],
    [messages.start(), {"type": "content_block_start", "index": 0}],
])  # fmt: skip
def test_streams_out_of_order_fail(gateway, server, route, said):
    server.said = said
    answer = post(gateway, route, ask(stream=True))
    assert "message_stop" not in answer.text.replace("without message_stop", "")
    if answer.status_code == 200:
        last = messages.read(answer.text)[-1]
        assert last["type"] == "error" and last["error"]["type"] == "api_error", last
    else:
        assert answer.status_code == 502 and answer.json()["type"] == "error"


@pytest.mark.parametrize("route", [*GUARDED, "open"])
def test_an_error_in_a_stream_is_the_last_event(gateway, server, route):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.said = [messages.start(), opened(0, {"type": "text", "text": ""}), error]
    answer = post(gateway, route, ask(stream=True))
    last = messages.read(answer.text)[-1]
    assert last["type"] == "error" and last["error"]["message"] == "Overloaded"


def test_statuses_pass_in_anthropics_shape(gateway, server):
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down"}}
    server.said = reply(body, 429, headers=[("retry-after", "7")])
    answer = post(gateway, "redact", ask())
    assert answer.status_code == 429 and answer.headers["retry-after"] == "7"
    assert answer.json()["error"] == {"type": "rate_limit_error", "message": "Slow down"}


def test_headers_of_the_dialect_pass(gateway, server):
    server.said = messages.whole({"type": "text", "text": "Hi"})
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "a-1,b-2"}
    post(gateway, "redact", ask(), headers=headers)
    request = server.service.requests[-1]
    assert request.path == "/v1/messages"
    assert {name: request.header(name) for name in headers} == headers


@pytest.mark.parametrize("name", ["anthropic-version", "anthropic-beta"])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_headers_of_the_dialect_are_names(gateway, server, name, path):
    """Nobody looks at them: what could be text does not reach the model server."""
    server.said = messages.whole({"type": "text", "text": "Hi"})
    n = len(server.service.requests)
    for words in (MAIL, f"a-1, {MAIL}", "my name is Jane", "a-1,b/2;c", "x" * 129):
        answer = gateway.api.post(f"/redact{path}", json=ask(), headers={name: words})
        assert answer.status_code == 400 and name in answer.json()["error"]["message"], words
    assert len(server.service.requests) == n
    assert gateway.api.post("/redact/v1/messages", json=ask(), headers={name: "a-1, b-2@3,"}).status_code == 200


def test_detectors_of_prompts_are_refused(gateway, server):
    answer = post(gateway, "talks", ask())
    assert answer.status_code == 422 and "`pair`" in answer.json()["error"]["message"]
    assert "`text_chat`" in answer.json()["error"]["message"]


def test_unknown_events_do_not_pass_an_enforcing_route(gateway, server):
    said = messages.message({"type": "news", "text": MAIL}, text(0, "Hi"), {"type": "ping"})
    assert all(e["type"] != "news" for e in streamed(gateway, server, "redact", said))
    left = streamed(gateway, server, None, said)
    assert left[1] == said[1]
    assert messages.findings(left[-2])[0][1] == "content_block"


# --- batching ---


@pytest.mark.parametrize("route", ["redact-batched", "open-batched"])
def test_batching_joins_the_deltas_of_a_block(gateway, server, route):
    words = [f"word{i} " for i in range(200)] + [MAIL, " end"]
    said = messages.message(thinking(0, *words[:50]), text(1, *words[50:]))
    left = streamed(gateway, server, route, said)
    expected = messages.gather(said)
    if route == "redact-batched":
        expected["content"][1]["text"] = expected["content"][1]["text"].replace(MAIL, "[email_address]")
        assert [e["type"] for e in left if messages.findings(e)] == [
            "content_block_delta", "message_delta"]  # fmt: skip
    assert messages.gather(left) == expected
    assert len(left) * 5 < len(said)


@pytest.mark.parametrize("route", ["gated", "open-gated"])
def test_the_gate_keeps_a_call_until_it_is_whole(gateway, server, route):
    said = messages.message(text(0, "Hi"), tool(1, "a", '{"x"', ":", "1}"), {"type": "ping"},
                            tool(2, "b"), text(3, "end"))  # fmt: skip
    left = streamed(gateway, server, route, said)
    assert messages.gather(left) == messages.gather(said)
    pieces = [e["delta"]["partial_json"] for e in left if "partial_json" in e.get("delta", {})]
    assert pieces == ['{"x":1}']
    kinds = [e["type"] for e in left if e.get("index") == 1]
    assert kinds == ["content_block_start", "content_block_delta", "content_block_stop"]


# --- what somebody tried to send past it ---


@pytest.mark.parametrize("route", ["redact", "block"])
def test_a_signature_is_base64(gateway, server, route):
    """What is sealed passes unseen, so it must be nothing that can be read."""
    said = messages.message(thinking(0, "Hm.", signature=MAIL), text(1, "So."))
    assert MAIL not in json.dumps(streamed(gateway, server, route, said))
    said = messages.message([opened(0, {"type": "redacted_thinking", "data": MAIL}), closed(0)])
    assert MAIL not in json.dumps(streamed(gateway, server, route, said))
    for block in ({"type": "thinking", "thinking": "Hm.", "signature": MAIL}, {"type": "redacted_thinking", "data": MAIL}):
        assert MAIL not in json.dumps(unary(gateway, server, route, messages.whole(block)))


@pytest.mark.parametrize("route", ["redact", "block"])
@pytest.mark.parametrize("shape", [
    lambda piece: {"delta": {"type": "x_delta", "x": piece}, "content_block": {}},
    lambda piece: {"delta": {"type": "x_delta", "x": piece}, "content_block": 5},
    lambda piece: {"delta": {"type": "x_delta", "c": {"x": piece}}},
    lambda piece: {"delta": {"type": "x_delta", "c": [{"d": [piece]}]}},
])  # fmt: skip
def test_pieces_in_any_shape_are_joined(gateway, server, route, shape):
    said = [{"type": "content_block_delta", "index": 0, **shape(piece)} for piece in cut(MAIL, 9)]
    left = streamed(gateway, server, route, messages.message([opened(0, {"type": "x"}), *said, closed(0)]))
    assert MAIL[:9] not in json.dumps(left) and left[-2]["delta"]["stop_reason"] == "refusal"


def test_an_input_that_is_no_object_stays_json(gateway, server):
    block = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": MAIL}
    assert unary(gateway, server, "redact", messages.whole(block))["content"][0]["input"] == "[email_address]"


class LateEnd(messages.Server):
    """The end of its answer comes in a packet of its own."""

    def answer(self, request):
        body = request.json()
        if not body.get("stream"):
            return super().answer(request)
        return self.slowly(self.said)

    def slowly(self, said):
        yield from messages.stream(said, end=False)
        time.sleep(0.005)
        yield b"0\r\n\r\n"


@pytest.mark.parametrize("route", GUARDED)
def test_the_connection_to_the_model_server_is_used_again(module_weir, route):
    server = LateEnd()
    try:
        gateway = module_weir(config(server, ROUTES))
        for _ in range(4):
            streamed(gateway, server, route, messages.message(text(0, "Hello there.")))
        assert server.service.n_connections == 1
    finally:
        server.service.close()
