"""OpenAI's Responses on routes: what leaves of an answer, streamed and whole."""

import json

import masking
import pytest
import response_server as responses
from policies import FALLBACK, MAIL, config
from response_server import call, events, message, part, response, thought
from service import reply

ROUTES = [
    {"name": "whole-doc", "output": {"doc": {}}, "on_detection": "redact"},
    {"name": "completed", "output": {"pii": {}}, "on_detection": "block", "block_ending": "completed"},
    {"name": "refusal", "output": {"pii": {}}, "on_detection": "block", "block_as": "refusal",
     "fallback_message": FALLBACK},
    {"name": "error", "input": {"pii": {}}, "output": {"pii": {}}, "on_detection": "block",
     "block_as": "error"},
    {"name": "open", "unguarded": True},
    {"name": "talks", "output": {"pair": {}}},
    *({"name": f"{action}-batched", "output": {"pii": {}}, "on_detection": action,
       "streaming": {"batching": {"mode": "on", "min_chars_per_emit": 400, "flush_on_sentence": False},
                     "coalescer": {"mode": "on"}}} for action in ("annotate", "block", "redact")),
]  # fmt: skip
ENFORCING = ["redact", "block"]
GUARDED = [*ENFORCING, None]
BATCHED = ["annotate-batched", "redact-batched", "block-batched"]


@pytest.fixture(scope="module")
def server():
    one = responses.Server()
    yield one
    one.service.close()


@pytest.fixture(scope="module")
def gateway(module_weir, server):
    return module_weir(config(server, ROUTES))


def ask(question="Hi", **members):
    return {"model": "m", "input": question, **members}


def post(gateway, route, body, **options):
    path = f"/{route}{responses.PATH}" if route else responses.PATH
    return gateway.api.post(path, json=body, **options)


def streamed(gateway, server, route, said, **members):
    server.said = said
    answer = post(gateway, route, ask(stream=True, **members))
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/event-stream"
    return responses.read(answer.text)


def unary(gateway, server, route, said, **members):
    server.said = said
    answer = post(gateway, route, ask(**members))
    assert answer.status_code == 200, answer.text
    return answer.json()


NOTE = {"type": "url_citation", "start_index": 0, "end_index": 5, "url": "https://a.example/", "title": "A"}
ITEMS = [
    thought("I think ", "and think.", encrypted_content="c2VhbGVk"),
    message("Hello, you.", {"type": "refusal", "refusal": "Not that."}, id="msg_1"),
    call("look", '{"a": 1}'),
    {"type": "custom_tool_call", "id": "ct_1", "call_id": "c2", "name": "run", "input": "ls -l", "status": "completed"},
    {"type": "mcp_call", "id": "mcp_1", "name": "find", "server_label": "docs", "arguments": "{}", "output": "found",
     "status": "completed"},
    {"type": "code_interpreter_call", "id": "ci_1", "code": "print(1)", "container_id": "c_1", "outputs": [],
     "status": "completed"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "weirs"}},
    {"type": "shell_call", "id": "sh_1", "call_id": "c3", "status": "completed", "action": {"commands": ["ls", "pwd"]}},
    {"type": "compaction", "id": "cp_1", "encrypted_content": "c2VhbGVk"},
    {"type": "news", "id": "n_1", "status": "completed", "items": [{"a": None, "b": True, "c": 1.5}]},
    message(part("See this.", [NOTE]), id="msg_2"),
]  # fmt: skip


def plain(whole):
    """Without what nobody needs to keep: order of members does not count in JSON."""
    rest = {k: v for k, v in whole.items() if k not in ("detections", "warnings")}
    return json.loads(json.dumps(rest))


# --- nothing is found ---


@pytest.mark.parametrize("route", [*GUARDED, "open", "whole-doc", *BATCHED])
def test_a_clean_stream_says_what_it_said(gateway, server, route):
    said = response(*ITEMS)
    left = responses.gather(streamed(gateway, server, route, said))
    assert plain(left) == plain(said)


@pytest.mark.parametrize("route", [*GUARDED, "open", "whole-doc"])
def test_a_clean_response_leaves_as_it_came(gateway, server, route):
    said = response(*ITEMS)
    assert plain(unary(gateway, server, route, said)) == plain(said)


@pytest.mark.parametrize("route", [None, "open"])
def test_without_findings_annotate_leaves_byte_for_byte(gateway, server, route):
    raw = responses.sse(events(response(*ITEMS)))
    raw = raw.replace('"output_index": 1, "content_index"', '"output_index" : 1 ,"unknown":[1], "content_index"')
    server.said = raw
    assert post(gateway, route, ask(stream=True)).text == raw


def test_events_are_counted_anew(gateway, server):
    said = events(response(message("Hello.")))
    for e in said:
        e["sequence_number"] += 7
    responses.gather(streamed(gateway, server, None, said))


def test_nothing_is_stored(gateway, server):
    for route in ENFORCING:
        unary(gateway, server, route, response(message("Hi")))
        assert server.asked["store"] is False
    unary(gateway, server, None, response(message("Hi")))
    assert "store" not in server.asked


# --- redact ---


@pytest.mark.parametrize("at", range(1, len(MAIL)))
def test_a_finding_cut_anywhere_is_replaced(gateway, server, at):
    said = events(response(message(f"Write to {MAIL} now.")), pieces=1)
    deltas = [e for e in said if e["type"].endswith("text.delta")]
    where = said.index(deltas[0])
    pieces = [{**deltas[0], "delta": d} for d in (f"Write to {MAIL[:at]}", f"{MAIL[at:]} now.")]
    said = responses.numbered(said[:where] + pieces + said[where + 1 :])
    left = streamed(gateway, server, "redact", said)
    assert responses.texts(responses.gather(left)) == "Write to [email_address] now."
    carriers = [e for e in left if responses.findings(e)]
    assert [e["type"] for e in carriers] == ["response.output_text.delta"]
    for carrier in (carriers[0], left[-1]["response"]):
        assert responses.findings(carrier) == [(0, 0, "text", "email_address", 9, 24)]
        assert carrier["warnings"][0]["type"] == "UNSUITABLE_OUTPUT"


@pytest.mark.parametrize("route", ["redact", "redact-batched", "whole-doc"])
def test_streamed_and_whole_say_the_same(gateway, server, route):
    hit = "X-1" if route == "whole-doc" else MAIL
    said = response(thought(f"Hm {hit}."), message(f"A {hit} b.", f"{hit}"), call("look", json.dumps({"to": hit})),
                    {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"query": f"of {hit}"}})  # fmt: skip
    left = responses.gather(streamed(gateway, server, route, said))
    whole = unary(gateway, server, route, said)
    assert left["output"] == whole["output"]
    assert hit not in json.dumps(left) and hit not in json.dumps(whole)
    assert responses.findings(left) == responses.findings(whole)
    channels = {f[2] for f in responses.findings(whole)}
    assert channels == {"text", "reasoning_summary", "arguments", "item"}


def test_what_a_server_repeats_otherwise_does_not_leave(gateway, server):
    said = events(response(message("Hello.")))
    for e in said:
        if e["type"].endswith(".done") or e["type"].endswith("completed"):
            e.update(json.loads(json.dumps(e).replace("Hello.", MAIL)))
    left = streamed(gateway, server, "redact", said)
    assert responses.texts(responses.gather(left)) == "Hello."
    assert MAIL not in json.dumps(left)


def test_text_that_only_comes_whole_is_said(gateway, server):
    for leave in ("delta", "output_text.done", "_part.done", "output_item.done"):
        said = [e for e in events(response(message(f"To {MAIL}."))) if leave not in e["type"]]
        left = responses.gather(streamed(gateway, server, "redact", responses.numbered(said)))
        assert responses.texts(left) == "To [email_address].", leave
    said = [e for e in events(response(message(f"To {MAIL}."))) if "item" not in e["type"] and "output_index" not in e]
    left = responses.gather(streamed(gateway, server, "redact", responses.numbered(said)))
    assert responses.texts(left) == "To [email_address]."


def test_annotations_move_with_the_text(gateway, server):
    text = f"Before. {MAIL} Behind."
    at = text.index("Behind")
    notes = [{**NOTE, "start_index": 0, "end_index": 6}, {**NOTE, "start_index": 8, "end_index": 12},
             {**NOTE, "start_index": at, "end_index": at + 6}, {**NOTE, "start_index": 0, "end_index": 3, "title": MAIL},
             {"type": "file_citation", "index": 2, "file_id": "f_1", "filename": "a.txt"}]  # fmt: skip
    said = response(message(part(text, notes)))
    left = responses.gather(streamed(gateway, server, "redact", said))
    kept = left["output"][0]["content"][0]
    assert kept["text"] == "Before. [email_address] Behind."
    at = kept["text"].index("Behind")
    assert kept["annotations"] == [notes[0], {**notes[2], "start_index": at, "end_index": at + 6}, notes[4]]
    assert unary(gateway, server, "redact", said)["output"] == left["output"]


def test_an_annotation_waits_for_its_text(gateway, server):
    said = events(response(message(part("One two.", [{**NOTE, "start_index": 4, "end_index": 7}]))))
    note = next(e for e in said if "annotation" in e["type"])
    said.remove(note)
    said.insert(4, note)  # before all deltas
    left = streamed(gateway, server, "redact", responses.numbered(said))
    kinds = [e["type"] for e in left]
    assert kinds.index("response.output_text.annotation.added") > kinds.index("response.output_text.delta")
    responses.gather(left)


def test_log_probabilities_leave_only_with_their_text(gateway, server):
    tokens = ["To ", MAIL[:4], MAIL[4:], " now", "."]
    said = events(response(message("".join(tokens))), pieces=1)
    delta = next(e for e in said if e["type"].endswith("text.delta"))
    where = said.index(delta)
    entries = [{"token": t, "logprob": -0.5, "top_logprobs": [{"token": "secret", "logprob": -1}]} for t in tokens]
    pieces = [{**delta, "delta": t, "logprobs": [e]} for t, e in zip(tokens, entries, strict=True)]
    said = responses.numbered(said[:where] + pieces + said[where + 1 :])
    whole = responses.gather(streamed(gateway, server, "redact", said))
    kept = whole["output"][0]["content"][0]["logprobs"]
    assert [e["token"] for e in kept] == ["To ", " now", "."]
    assert all(e["top_logprobs"] == [] for e in kept)
    assert [e["token"] for e in responses.gather(streamed(gateway, server, None, said))["output"][0]["content"][0]["logprobs"]] == []


def test_members_nobody_knows_do_not_leave(gateway, server):
    item = {**message("Hi"), "secret": MAIL}
    said = events(response(item, secret=MAIL, usage={**responses.USAGE, "note": MAIL}))
    said.insert(3, {"type": "response.news", "text": MAIL})
    left = streamed(gateway, server, "redact", responses.numbered(said))
    assert MAIL not in json.dumps(left) and not any(e["type"] == "response.news" for e in left)
    responses.gather(left)
    told = streamed(gateway, server, None, responses.numbered(said))
    assert any(e["type"] == "response.news" for e in told)


def test_a_call_in_a_stream_is_replaced_inside_its_string(gateway, server):
    said = response(call("mail", '{"to": "jane\\u0040example.org", "n": 1}'))
    left = responses.gather(streamed(gateway, server, "redact", said))
    assert json.loads(left["output"][0]["arguments"]) == {"to": "[email_address]", "n": 1}


@pytest.mark.parametrize("route", ["redact", "block"])
def test_a_name_with_a_finding_ends_the_answer(gateway, server, route):
    left = responses.gather(streamed(gateway, server, route, response(call(MAIL, "{}"))))
    assert responses.texts(left) == (FALLBACK if route == "block" else "I can't help with that.")
    assert left["status"] == "incomplete"


def test_items_that_come_mixed_leave_in_order(gateway, server):
    said = response(message(f"One {MAIL}.", id="a"), call("look", "{}"), message("Two.", id="b"))
    parts = [list(responses.item_events(i, item)) for i, item in enumerate(said["output"])]
    mixed = [e for group in zip(*(p + [None] * 20 for p in parts), strict=False) for e in group if e]
    all_events = events(said)
    stream = responses.numbered([*all_events[:2], *mixed, all_events[-1]])
    left = responses.gather(streamed(gateway, server, "redact", stream))
    assert [i.get("id") for i in left["output"]] == ["a", "fc_1", "b"]
    assert responses.texts(left) == "One [email_address].Two."


def test_items_that_nobody_ends_leave_too(gateway, server):
    said = response(message(f"One {MAIL}.", id="a"), call("look", "{}"), message("Two.", id="b"))
    parts = [list(responses.item_events(i, item)) for i, item in enumerate(said["output"])]
    mixed = [e for group in zip(*(p + [None] * 20 for p in parts), strict=False) for e in group if e]
    mixed = [e for e in mixed if not e["type"].endswith("item.done")]
    all_events = events(said)
    for end in (said, {**said, "output": []}):
        last = {**all_events[-1], "response": end}
        stream = responses.numbered([*all_events[:2], *mixed, last])
        left = responses.gather(streamed(gateway, server, "redact", stream))
        assert [i.get("id") for i in left["output"]] == ["a", "fc_1", "b"]
        assert responses.texts(left) == "One [email_address].Two."


# --- block ---


def test_a_block_keeps_what_came_before(gateway, server):
    said = response(thought("Hm."), message(f"Write to {MAIL} now.", "more"), message("Later", id="msg_2"))
    left = responses.gather(streamed(gateway, server, "block", said))
    assert left["status"] == "incomplete" and left["incomplete_details"] == {"reason": "content_filter"}
    assert [p["text"] for p in left["output"][1]["content"]] == ["Write to ", "\n\n" + FALLBACK]
    assert left["output"][1]["status"] == "incomplete" and len(left["output"]) == 2
    whole = unary(gateway, server, "block", said)
    assert responses.texts(whole) == FALLBACK and len(whole["output"]) == 1
    for one in (left, whole):
        assert one["incomplete_details"] == {"reason": "content_filter"}
        assert [f[:4] for f in responses.findings(one)] == [(1, 0, "text", "email_address")]


def test_a_block_in_other_items_says_the_words_in_a_message(gateway, server):
    for item in (thought(f"Hm {MAIL}"), call("look", json.dumps({"a": MAIL})), {"type": "news", "id": "n", "a": MAIL}):
        left = responses.gather(streamed(gateway, server, "block", response(item, message("Hi"))))
        assert responses.texts(left) == FALLBACK and left["status"] == "incomplete"
        assert MAIL not in json.dumps(left)


def test_block_endings(gateway, server):
    said = response(message(f"To {MAIL}"))
    left = streamed(gateway, server, "completed", said)
    assert left[-1]["type"] == "response.completed" and responses.gather(left)["status"] == "completed"
    refused = responses.gather(streamed(gateway, server, "refusal", said))
    assert refused["output"][0]["content"][-1] == {"type": "refusal", "refusal": FALLBACK}
    server.said = said
    answer = post(gateway, "error", ask())
    assert answer.status_code == 400 and answer.json()["error"]["code"] == "content_filter"


def test_where_json_is_asked_for_half_of_it_does_not_leave(gateway, server):
    wants = {"text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}}}}
    said = response(message('{"a": "' + MAIL + '"}'))
    left = responses.gather(streamed(gateway, server, "block", said, **wants))
    assert left["output"][0]["content"] == [{"type": "refusal", "refusal": FALLBACK}]
    kept = responses.gather(streamed(gateway, server, "redact", said, **wants))
    assert json.loads(responses.texts(kept)) == {"a": "[email_address]"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_blocked_question(gateway, server, stream):
    answer = post(gateway, "block", ask(f"I am {MAIL}", stream=stream, tools=[], metadata={"a": "b"}))
    assert answer.status_code == 200
    whole = responses.gather(responses.read(answer.text)) if stream else answer.json()
    assert responses.texts(whole) == FALLBACK and whole["usage"]["total_tokens"] == 0
    assert whole["incomplete_details"] == {"reason": "content_filter"} and whole["metadata"] == {"a": "b"}
    assert whole["detections"]["input"]


# --- annotate ---


def test_findings_are_told(gateway, server):
    said = response(thought(f"Hm {MAIL}."), message(f"A {MAIL} b."), call("look", json.dumps({"to": MAIL})))
    left = streamed(gateway, server, None, said)
    whole = unary(gateway, server, None, said)
    assert plain(responses.gather(left)) == plain(whole) == plain(said)
    for carrier in (left[-1]["response"], whole):
        assert {(f[0], f[2]) for f in responses.findings(carrier)} == {(0, "reasoning_summary"), (1, "text"), (2, "arguments")}
    carriers = [e for e in left if responses.findings(e)]
    assert [e["type"] for e in carriers] == ["response.output_text.delta"]


def test_what_repeats_the_request_is_the_callers(gateway, server):
    mine = {"instructions": f"I am {MAIL}", "metadata": {"a": "b"}, "tools": [{"type": "function", "name": "f", "parameters": {}}]}
    said = response(message("Hi"), instructions="other", metadata={"x": MAIL}, tools=[{"type": MAIL}])
    for left in (unary(gateway, server, "redact", said, **mine),
                 responses.gather(streamed(gateway, server, "redact", said, **mine))):  # fmt: skip
        assert {k: left[k] for k in mine} == mine


# --- errors ---


@pytest.mark.parametrize("route", GUARDED)
def test_a_stream_that_fails_midway_says_so(gateway, server, route):
    said = events(response(message("Hello.")))
    error = {"type": "error", "code": "server_error", "message": "Overloaded", "param": None}
    for cut in ([*said[:5], error], said[:-1], said[:4]):
        left = streamed(gateway, server, route, cut)
        assert left[-1]["type"] == "error" and left[-1]["error"]["message"] and left[-1]["message"]
        assert [e["sequence_number"] for e in left] == list(range(len(left)))


def test_a_failed_response_is_looked_at(gateway, server):
    said = events(response(status="failed", error={"code": "server_error", "message": f"for {MAIL}"}))
    for route in ENFORCING:
        left = streamed(gateway, server, route, said)
        assert left[-1]["type"] == "response.failed"
        assert left[-1]["response"]["error"] == {"code": "server_error", "message": "[removed]"}
    assert streamed(gateway, server, None, said)[-1]["response"]["error"]["message"] == f"for {MAIL}"


def test_an_error_of_the_model_server_is_looked_at(gateway, server):
    server.said = reply({"error": {"message": f"No {MAIL}", "type": "x", "code": "c"}}, 429)
    answer = post(gateway, "redact", ask())
    assert answer.status_code == 429 and answer.json()["error"]["message"] == "No [email_address]"


@pytest.mark.parametrize("route", [*ENFORCING, None])
def test_parts_without_end_are_an_error(gateway, server, route):
    """Each costs a guard of its own."""
    server.said = response(message(*["x"] * 5000))
    assert post(gateway, route, ask()).status_code == 502


def test_no_more_than_so_many_parts_are_open_at_once(gateway, server):
    said = response(thought(*["Well."] * 100))
    item = [e for e in responses.item_events(0, said["output"][0]) if not e["type"].endswith("done")]
    all_events = events(said)
    stream = responses.numbered([*all_events[:2], *item, all_events[-1]])
    assert streamed(gateway, server, None, stream)[-1]["type"] == "error"


@pytest.mark.parametrize("route", ENFORCING)
@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 0), (1,)])
def test_items_behind_a_later_one_are_an_error(gateway, server, route, order):
    """None may be lost, none said twice; which one is missing cannot be told any more."""
    said = response(*(message(f"{word}.", id=word) for word in ("One", "Two", "Three")[: max(order) + 1]))
    items = [e for i in order for e in responses.item_events(i, said["output"][i])]
    all_events = events(said)
    stream = responses.numbered([*all_events[:2], *items, all_events[-1]])
    assert streamed(gateway, server, route, stream)[-1]["type"] == "error"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("route", ENFORCING)
def test_what_is_out_of_order_or_form_is_an_error(gateway, server, route, stream):
    good = events(response(message("Hello.")))
    broken = [good[1:], good[:2] + [{**good[2], "item": {**good[2]["item"], "id": "x", "type": "function_call"}}] + good[3:],
              [good[0], {**good[2], "item": {"type": f"call {MAIL}", "id": "x"}}, good[-1]]]  # fmt: skip
    whole = [response("x"), response({"type": f"call {MAIL}"}), response({**call("a", "{}"), "call_id": f"to {MAIL}"}), {"id": 1}]
    if stream:
        for said in broken:
            left = streamed(gateway, server, route, responses.numbered(said)) if said[0]["type"].endswith("created") else None
            server.said = responses.numbered(said)
            answer = post(gateway, route, ask(stream=True))
            assert left[-1]["type"] == "error" if left else answer.status_code == 502
            assert MAIL not in answer.text
    else:
        for said in whole:
            server.said = said
            answer = post(gateway, route, ask())
            assert answer.status_code == 502 and MAIL not in answer.text, said


def test_what_must_not_be_asked(gateway, server):
    server.said = response(message("Hi"))
    for member in ({"store": True}, {"background": True}, {"previous_response_id": "resp_1"}):
        assert post(gateway, "redact", ask(**member)).status_code == 400
        assert post(gateway, None, ask(**member)).status_code == 200
    assert post(gateway, "redact", {"input": "x"}).status_code == 422
    assert post(gateway, "redact", ask("")).status_code == 422
    assert post(gateway, "redact", ask(detectors={})).status_code == 422
    assert post(gateway, "talks", ask()).status_code == 422


# --- mask ---


@pytest.fixture(scope="module")
def masked(module_weir, server):
    asking = {"name": "asking", "input": {"pii": {}}, "on_detection": "block"}
    telling = {"name": "telling", "output": {"pii": {}}}
    tree = masking.config(server.service.port, masking.route("mask"), asking, telling, id_key_env="ID_KEY")
    return module_weir(tree, env={**masking.ENV, "ID_KEY": "a key of the tests, long enough"})


@pytest.mark.parametrize("stream", [False, True])
def test_what_was_masked_comes_back(masked, server, stream):
    """The model reads a token and says it everywhere; the caller reads their own value, and nobody
    else's."""

    def said(body):
        assert MAIL not in json.dumps(body)
        token = masking.TOKEN.search(json.dumps(body))[0]
        whole = response(thought(f"It is {token}."), message(f"You are {token}, not joe@else.org.", f"{token}"),
                         call("mail", json.dumps({"to": token})),
                         {"type": "news", "id": "n", "about": f"for {token}"})  # fmt: skip
        return (token, whole)

    class Asked(dict):
        def get(self, key, otherwise=None):
            return said(server.asked)[1]

    server.by_model = Asked()
    try:
        answer = post(masked, "mask", ask(f"I am {MAIL}", stream=stream))
    finally:
        server.by_model = {}
    assert answer.status_code == 200, answer.text
    left = responses.gather(responses.read(answer.text)) if stream else answer.json()
    assert [p["text"] for p in left["output"][1]["content"]] == [f"You are {MAIL}, not [email_address].", MAIL]
    assert left["output"][0]["summary"][0]["text"] == f"It is {MAIL}."
    assert json.loads(left["output"][2]["arguments"]) == {"to": MAIL}
    assert left["output"][3]["about"] == f"for {MAIL}"
    assert not masking.TOKEN.search(json.dumps(left["output"]))


@pytest.mark.parametrize("route", ["mask", "asking", "telling"])
def test_ids_leave_with_a_tag_of_their_route(masked, server, route):
    """Also where nobody looks at the answer; not where the route only tells."""
    said = response(message("Hi"), previous_response_id="resp_0")
    whole = unary(masked, server, route, said)
    left = responses.gather(streamed(masked, server, route, said))
    assert left["id"] == whole["id"]
    if route == "telling":
        assert left["id"] == "resp_1"
    else:
        assert left["id"].startswith("resp_1.") and len(left["id"].split(".")[-1]) == 22
        assert left["previous_response_id"] is None is whole["previous_response_id"]
        assert "store" not in server.asked


# --- batching ---


@pytest.mark.parametrize("route", BATCHED)
def test_deltas_are_joined(gateway, server, route):
    said = response(thought("I " * 30), message("One two three. " * 20), call("look", '{"a": "' + "b" * 50 + '"}'))
    left = streamed(gateway, server, route, events(said, pieces=30))
    assert plain(responses.gather(left)) == plain(said)
    kinds = [e["type"] for e in left]
    assert kinds.count("response.output_text.delta") < 5
    assert kinds.count("response.function_call_arguments.delta") == 1


def test_findings_ride_on_joined_deltas(gateway, server):
    said = response(message(f"One {MAIL} two. " * 3))
    for route in ("annotate-batched", "redact-batched"):
        left = streamed(gateway, server, route, events(said, pieces=40))
        responses.gather(left)
        on_deltas = [f for e in left if e["type"].endswith("text.delta") for f in responses.findings(e)]
        assert on_deltas == responses.findings(left[-1]["response"]) and len(on_deltas) == 3
