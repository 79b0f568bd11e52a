"""OpenAI's Responses on routes: what leaves of an answer, streamed and whole. Everything that is said
twice must be said alike (responses.gather)."""

import json

import pytest
import responses
from policies import FALLBACK, MAIL, config
from responses import answer, call, gather, say, think
from service import reply

MASK = "[email_address]"
ROUTES = [
    {"name": "whole-doc", "output": {"doc": {}}, "on_detection": "redact"},
    {"name": "completed", "output": {"pii": {}}, "on_detection": "block", "block_ending": "completed"},
    {"name": "error", "input": {"pii": {}}, "output": {"pii": {}}, "on_detection": "block", "block_as": "error"},
    {"name": "open", "unguarded": True},
    {"name": "batched", "output": {"pii": {}}, "on_detection": "redact",
     "streaming": {"batching": {"mode": "on", "min_chars_per_emit": 400, "flush_on_sentence": False}}},
]  # fmt: skip
GUARDED = ["redact", "block", "default"]


@pytest.fixture(scope="module")
def server():
    one = responses.Server()
    yield one
    one.service.close()


@pytest.fixture(scope="module")
def gateway(module_weir, server):
    return module_weir(config(server, ROUTES))


def post(gateway, route, question="Hi", **members):
    body = {"model": "m", "input": question, **members}
    return gateway.api.post(f"/{route}{responses.PATH}", json=body)


def streamed(gateway, server, route, said, **members):
    server.said = said
    got = post(gateway, route, stream=True, **members)
    assert got.status_code == 200, got.text
    assert got.headers["content-type"] == "text/event-stream"
    return responses.read(got.text)


def unary(gateway, server, route, said, **members):
    server.said = said
    got = post(gateway, route, **members)
    assert got.status_code == 200, got.text
    return got.json()


def cut(value, at):
    return [value[:at], value[at:]]


def texts(response):
    return [part.get("text", part.get("refusal")) for item in response["output"] if item["type"] == "message"
            for part in item["content"]]  # fmt: skip


ALL = [think(0, "I ", "think."), say(1, "Hel", "lo, ", "you."), call(2, "look", '{"a":', "1}")]


# --- nothing is found ---


@pytest.mark.parametrize("route", [*GUARDED, "open", "whole-doc", "batched"])
def test_a_clean_stream_says_what_came(gateway, server, route):
    got = gather(streamed(gateway, server, route, answer(*ALL)))
    assert [responses.plain(item) for item in got.items] == [responses.plain(item) for _, item in ALL]
    assert got.ending == "completed" and got.response["usage"] == responses.USAGE
    assert "detections" not in got.response


@pytest.mark.parametrize("route", ["default", "open"])
def test_without_findings_annotate_leaves_byte_for_byte(gateway, server, route):
    raw = responses.sse(answer(*ALL))
    raw = raw.replace('"output_index": 1, "content_index"', '"output_index" : 1 ,"unknown":[1], "content_index"')
    server.said = raw
    assert post(gateway, route, stream=True).text == raw


@pytest.mark.parametrize("route", [*GUARDED, "open", "whole-doc"])
def test_a_clean_response_leaves_as_it_came(gateway, server, route):
    said = answer(*ALL)[-1]["response"]
    got = unary(gateway, server, route, said)
    assert got["output"] == said["output"]
    assert (got["status"], got["usage"], got["model"]) == ("completed", responses.USAGE, "m")


def test_what_repeats_the_request_is_the_callers_own(gateway, server):
    """Not looked at, not what the server has made of it."""
    tools = [{"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"}}]
    asked = {"instructions": "Be brief.", "metadata": {"a": "b"}, "tools": tools}
    said = responses.response(say(0, "Hi.")[1], instructions=f"They are {MAIL}", metadata={"x": MAIL})
    got = unary(gateway, server, "redact", said, **asked)
    assert {name: got[name] for name in asked} == asked
    assert MAIL not in json.dumps(got)


# --- redact ---


@pytest.mark.parametrize("at", range(1, len(MAIL), 3))
def test_a_finding_cut_anywhere_is_replaced_everywhere(gateway, server, at):
    events = streamed(gateway, server, "redact", answer(say(0, "Write to ", *cut(MAIL, at), " now.")))
    got = gather(events)
    assert got.text() == f"Write to {MASK} now."
    assert MAIL not in json.dumps(events)
    carriers = [e["type"] for e in events if responses.findings(e) or responses.findings(e.get("response", {}))]
    assert carriers == ["response.output_text.delta", "response.completed"]
    assert responses.findings(got.response) == [(0, 0, "text", "email_address")]


def test_streamed_and_whole_say_the_same(gateway, server):
    said = answer(think(0, f"A {MAIL}?"), say(1, f"To {MAIL}", " b."), call(2, "send", f'{{"to":"{MAIL}"}}'))
    left = gather(streamed(gateway, server, "redact", said)).response
    whole = unary(gateway, server, "redact", said)
    assert left["output"] == whole["output"]
    assert json.loads(whole["output"][2]["arguments"]) == {"to": MASK}
    assert whole["output"][0]["encrypted_content"] == "c2VhbGVk"


def test_what_is_repeated_in_other_words_is_looked_at(gateway, server):
    """A server that says one thing in deltas and another where they end."""
    events, item = say(0, "Hello ", "you.")
    other = json.loads(json.dumps((events, item)).replace("Hello you.", f"Hello {MAIL}."))
    for route in ("redact", "block"):
        raw = responses.sse(responses.begun() + other[0] + [responses.ended(other[1])])
        server.said = raw
        text = post(gateway, route, stream=True).text
        assert MAIL not in text
        gather(responses.read(text), differs=True)


def test_annotations_move_with_their_text_or_go(gateway, server):
    def cite(start, end, title):
        return {"type": "url_citation", "start_index": start, "end_index": end, "title": title, "url": "https://a.example/"}

    text = f"See {MAIL} and there."
    notes = [cite(0, 3, "before"), cite(6, 9, "inside"), cite(len(text) - 6, len(text), "behind"),
             cite(0, 3, f"of {MAIL}")]  # fmt: skip
    said = answer(say(0, *cut(text, 8), annotations=notes))
    left = gather(streamed(gateway, server, "redact", said)).response
    whole = unary(gateway, server, "redact", said)
    for got in (left, whole):
        part = got["output"][0]["content"][0]
        assert part["text"] == f"See {MASK} and there."
        assert [note["title"] for note in part["annotations"]] == ["before", "behind"]
        last = part["annotations"][1]
        assert part["text"][last["start_index"]:last["end_index"]] == "there."


def test_logprobs_of_what_was_touched_do_not_leave(gateway, server):
    events, item = say(0, "Hi. ", MAIL, " So.")
    for event in events:
        if event["type"] == "response.output_text.delta":
            event["logprobs"] = [{"token": event["delta"], "logprob": -0.5, "bytes": None, "top_logprobs": []}]
    text = json.dumps(streamed(gateway, server, "redact", answer((events, item))))
    assert MAIL not in text


@pytest.mark.parametrize("route", ["redact", "block"])
def test_events_that_nobody_knows_stay_behind(gateway, server, route):
    events = answer(say(0, "Hi."))
    events.insert(3, {"type": "response.news", "text": MAIL})
    assert "response.news" not in {e["type"] for e in streamed(gateway, server, route, events)}
    kept = streamed(gateway, server, "default", events)
    assert "response.news" in {e["type"] for e in kept}


# --- block ---


def refused(response, ending="incomplete"):
    assert response["status"] == ending, response
    if ending == "incomplete":
        assert response["incomplete_details"] == {"reason": "content_filter"}


@pytest.mark.parametrize("at", [1, 5, len(MAIL) - 1])
def test_block_says_what_was_before_the_finding_and_its_words(gateway, server, at):
    said = answer(say(0, "Before."), say(1, "So: ", *cut(MAIL, at), " and more", id="msg_2"))
    got = gather(streamed(gateway, server, "block", said))
    assert got.ending == "incomplete"
    assert texts(got.response) == ["Before.", "So: ", f"\n\n{FALLBACK}"]
    assert got.items[-1]["status"] == "incomplete"
    refused(got.response)


def test_block_ending_completed(gateway, server):
    said = answer(say(0, "So: ", MAIL))
    got = gather(streamed(gateway, server, "completed", said))
    assert got.ending == "completed" and got.response["status"] == "completed"
    refused(unary(gateway, server, "completed", said), "completed")


def test_block_in_a_whole_response_leaves_the_words_alone(gateway, server):
    got = unary(gateway, server, "block", answer(say(0, "Fine."), say(1, MAIL)))
    assert texts(got) == [FALLBACK]
    refused(got)
    assert responses.findings(got)[0][3] == "email_address"


def test_a_call_with_a_finding_ends_the_answer(gateway, server):
    said = answer(say(0, "Sending."), call(1, "send", '{"to":"jane\\u0040exam', 'ple.org"}'), say(2, "Done."))
    events = streamed(gateway, server, "block", said)
    got = gather(events)
    assert [item["type"] for item in got.items] == ["message", "message"]
    assert texts(got.response) == ["Sending.", FALLBACK] or texts(got.response) == ["Sending.", f"\n\n{FALLBACK}"]
    assert "example.org" not in json.dumps(events)


@pytest.mark.parametrize("route", ["block", "error"])
def test_a_blocked_question(gateway, server, route):
    server.said = answer(say(0, "Hi."))
    server.asked.clear()
    whole = post(gateway, route, MAIL)
    if route == "error":
        assert whole.status_code == 400 and whole.json()["error"]["code"] == "content_filter"
    else:
        events = responses.read(post(gateway, route, MAIL, stream=True).text)
        got = gather(events)
        assert [e["type"] for e in events[:2]] == ["response.created", "response.in_progress"]
        for one in (whole.json(), got.response):
            refused(one)
            assert texts(one) == [FALLBACK] and one["usage"]["total_tokens"] == 0
    assert not server.asked


def test_json_that_was_asked_for_does_not_leave_in_halves(gateway, server):
    wants = {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}}
    said = answer(say(0, '{"a":1,"to":"', MAIL, '"}'))
    got = gather(streamed(gateway, server, "block", said, **wants))
    assert '"a"' not in json.dumps(got.response["output"])
    refused(got.response)
    left = gather(streamed(gateway, server, "redact", said, **wants))
    assert json.loads(left.text()) == {"a": 1, "to": MASK}


# --- what goes wrong ---


@pytest.mark.parametrize("route", GUARDED)
def test_a_stream_that_fails_says_so_in_the_form_that_libraries_raise_on(gateway, server, route):
    events, _ = say(0, "Hello", " you")
    cuts = {"cut": responses.begun() + events[:4],
            "error": responses.begun() + [{"type": "error", "code": "server_error", "message": f"No {MAIL}", "param": None}]}  # fmt: skip
    for name, said in cuts.items():
        last = streamed(gateway, server, route, said)[-1]
        assert last["type"] == "error" and last["error"]["message"] == last["message"], (name, last)
        assert set(last) >= {"code", "message", "param", "sequence_number"}
        assert route == "default" or MAIL not in last["message"]


@pytest.mark.parametrize("route", GUARDED)
def test_a_refusal_of_the_server_is_passed_on(gateway, server, route):
    server.said = reply({"error": {"message": "Too many", "type": "requests", "code": "rate_limit_exceeded", "param": None}}, 429)
    got = post(gateway, route)
    assert got.status_code == 429 and got.json()["error"]["code"] == "rate_limit_exceeded"


# --- what stays with the server ---


def test_nothing_is_stored_where_it_could_not_be_guarded(gateway, server):
    """There is no `id_key_env` here."""
    said = answer(say(0, "Hi."))
    unary(gateway, server, "redact", said)
    assert server.asked[-1]["store"] is False
    unary(gateway, server, "default", said)
    assert "store" not in server.asked[-1]
    for members in ({"store": True}, {"background": True}, {"previous_response_id": "resp_1"}):
        got = post(gateway, "redact", **members)
        assert got.status_code == 400 and "id_key_env" in got.text, members
        assert post(gateway, "default", **members).status_code == 200
