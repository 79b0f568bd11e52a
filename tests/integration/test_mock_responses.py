"""`weir-mock` in OpenAI's Responses: every kind of item and event, and responses that are kept."""

import harness
import mock as mocks
import pytest
import responses
from responses import PATH

# The contract's table, `error` apart.
EVENTS = """
response.created response.in_progress response.queued response.completed response.incomplete
response.failed response.output_item.added response.output_item.done response.content_part.added
response.content_part.done response.output_text.delta response.output_text.done
response.output_text.annotation.added response.refusal.delta response.refusal.done
response.reasoning_text.delta response.reasoning_text.done response.reasoning_summary_part.added
response.reasoning_summary_part.done response.reasoning_summary_text.delta
response.reasoning_summary_text.done response.function_call_arguments.delta
response.function_call_arguments.done response.custom_tool_call_input.delta
response.custom_tool_call_input.done response.mcp_call_arguments.delta
response.mcp_call_arguments.done response.code_interpreter_call_code.delta
response.code_interpreter_call_code.done response.shell_call_command.added
response.shell_call_command.delta response.shell_call_command.done
response.shell_call_output_content.delta response.shell_call_output_content.done
response.audio.delta response.audio.done response.audio.transcript.delta
response.audio.transcript.done response.image_generation_call.in_progress
response.image_generation_call.generating response.image_generation_call.partial_image
response.image_generation_call.completed response.web_search_call.in_progress
response.web_search_call.searching response.web_search_call.completed
response.file_search_call.in_progress response.file_search_call.searching
response.file_search_call.completed response.code_interpreter_call.in_progress
response.code_interpreter_call.interpreting response.code_interpreter_call.completed
response.mcp_call.in_progress response.mcp_call.completed response.mcp_call.failed
response.mcp_list_tools.in_progress response.mcp_list_tools.completed
response.mcp_list_tools.failed
""".split()


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1)
    servers.stop_all()


def ask(m, mock=None, expect=200, path=PATH, **members):
    body = {"model": "m-1", "input": "How are you?", **members}
    if mock is not None:
        body["mock"] = mock
    answer = m.api.post(path, json=body)
    assert answer.status_code == expect, answer.text
    return answer


def stream(m, mock=None, **members):
    answer = ask(m, mock, stream=True, **members)
    assert answer.headers["content-type"] == "text/event-stream"
    return responses.read(answer.text)


def test_a_response_has_openai_s_shape(m):
    whole = ask(m, {"text": "One two."}, instructions="Be brief.", metadata={"a": "b"}).json()
    assert (whole["object"], whole["status"], whole["model"]) == ("response", "completed", "m-1")
    assert whole["id"].startswith("resp_")
    [item] = whole["output"]
    assert item["type"] == "message" and item["role"] == "assistant"
    assert item["content"] == [responses.output_text("One two.")]
    assert (whole["instructions"], whole["metadata"]) == ("Be brief.", {"a": "b"})
    assert whole["usage"]["total_tokens"] == 5


def test_a_stream_says_everything_again(m):
    events = stream(m, {"text": "One two three."})
    got = responses.gather(events)
    assert got.text() == "One two three." and got.ending == "completed"
    assert [event["delta"] for event in events if "delta" in event] == ["One", " two", " three."]
    assert responses.text_of(got.response) == "One two three."


def test_one_stream_and_the_whole_are_the_same(m):
    mock = {"scenario": "text,tools,reasoning,refusal,items", "text": "Hi you."}
    streamed = responses.gather(stream(m, mock)).response
    whole = ask(m, mock).json()
    assert len(whole["output"]) > 20

    def kinds(one):
        return [(item["type"], sorted(responses.texts_of(0, item).values())) for item in one["output"]]

    assert kinds(streamed) == kinds(whole)


def test_every_event_of_the_table_is_said(m):
    seen = set()
    for mock in ({"scenario": "text,tools,reasoning,refusal,items", "text": "Hi you."},
                 {"finish": "length"}, {"finish": "failed"}):  # fmt: skip
        events = stream(m, mock)
        responses.gather(events)
        seen |= {event["type"] for event in events}
    assert seen == set(EVENTS)


@pytest.mark.parametrize("finish, ending, reason", [("stop", "completed", None),
                                                    ("length", "incomplete", "max_output_tokens"),
                                                    ("content_filter", "incomplete", "content_filter"),
                                                    ("failed", "failed", None)])  # fmt: skip
def test_endings(m, finish, ending, reason):
    got = responses.gather(stream(m, {"finish": finish}))
    assert (got.ending, got.response["status"]) == (ending, ending)
    assert got.response["incomplete_details"] == (reason and {"reason": reason})
    assert (got.response["error"] is not None) == (finish == "failed")


def test_what_others_add(m):
    """vLLM's own events and its ending, and LiteLLM's [DONE]."""
    answer = ask(m, {"scenario": "extras,reasoning", "finish": "length"}, stream=True)
    assert answer.text.endswith("data: [DONE]\n\n")
    events = responses.read(answer.text)
    got = responses.gather(events)
    assert got.ending == "completed" and got.response["status"] == "incomplete"
    assert {"response.reasoning_part.added", "response.reasoning_part.done"} <= {e["type"] for e in events}


def test_broken_orders(m):
    with pytest.raises((AssertionError, KeyError)):
        responses.gather(stream(m, {"scenario": "shuffled"}))
    got = responses.gather(stream(m, {"scenario": "differs", "text": "Hi."}), differs=True)
    assert (got.text(), responses.text_of(got.response)) == ("Hi.", "in other words: Hi.")


def test_members_and_events_that_nobody_knows(m):
    events = stream(m, {"scenario": "unknown"})
    assert "response.news" in {event["type"] for event in events}
    assert all("x_mock" in event for event in events if event["type"].endswith(".delta"))


def test_logprobs_and_obfuscation_where_they_are_asked_for(m):
    wants = {"include": ["message.output_text.logprobs"], "top_logprobs": 2,
             "stream_options": {"include_obfuscation": True}}  # fmt: skip
    events = stream(m, {"text": "Hi you."}, **wants)
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    assert [len(event["logprobs"]) for event in deltas] == [1, 1]
    assert all(event["obfuscation"] for event in deltas)
    part = responses.gather(events).items[0]["content"][0]
    assert [one["token"] for one in part["logprobs"]] == ["Hi", " you."]


def test_surrogates_in_two_halves(m):
    got = responses.gather(stream(m, {"scenario": "split-utf8", "text": "a 😀 b"}))
    assert got.text() == "a 😀 b"


def test_crlf_and_comments(m):
    assert responses.gather(stream(m, {"scenario": "crlf,comments", "text": "Hi."})).text() == "Hi."


@pytest.mark.parametrize("error, is_nested", [("event", False), ("nested", True)])
def test_an_error_takes_the_place_of_an_event(m, error, is_nested):
    events = stream(m, {"fail_at": 5, "error": error, "message": "No."})
    assert [event["sequence_number"] for event in events] == list(range(6))
    assert (events[5]["type"], events[5]["message"]) == ("error", "No.")
    assert ("error" in events[5]) == is_nested


def test_events_that_make_no_sense(m):
    text = ask(m, {"fail_at": 5, "error": "garbage"}, stream=True).text
    assert 'data: {"type":\n' in text and "response.completed" in text
    assert "response.completed" not in ask(m, {"fail_at": 5, "error": "end"}, stream=True).text


def test_events_word_for_word(m):
    events = stream(m, {"events": [{"type": "response.created", "response": {}}]})
    assert events == [{"type": "response.created", "response": {}}]


def test_input_tokens(m):
    items = [{"role": "user", "content": "one two"}, {"type": "function_call_output", "output": "three"}]
    assert ask(m, path=f"{PATH}/input_tokens", input=items).json() == {
        "object": "response.input_tokens", "input_tokens": 3}  # fmt: skip
    said = {"model": "m", "messages": [{"role": "user", "content": "one two"}]}
    assert m.api.post("/v1/messages/count_tokens", json=said).json() == {"input_tokens": 2}


# --- kept ---


def test_a_response_is_there_until_it_is_deleted(m):
    whole = ask(m, {"text": "Hi."}).json()
    at = f"{PATH}/{whole['id']}"
    assert m.api.get(at).json() == whole
    data = m.api.get(f"{at}/input_items").json()["data"]
    assert data[0]["content"] == [{"type": "input_text", "text": "How are you?"}]
    assert m.api.delete(at).json() == {"id": whole["id"], "object": "response", "deleted": True}
    for answer in (m.api.get(at), m.api.delete(at), m.api.get(f"{at}/input_items")):
        assert answer.status_code == 404
    assert m.api.get(f"{PATH}/{ask(m, store=False).json()['id']}").status_code == 404


def test_a_stream_is_there_again_from_where_it_was_read(m):
    events = stream(m, {"text": "One two."})
    at = f"{PATH}/{events[0]['response']['id']}?stream=true"
    assert responses.read(m.api.get(at).text) == events
    assert responses.read(m.api.get(f"{at}&starting_after=3").text) == events[4:]


def test_what_runs_in_the_background_can_be_cancelled(m):
    whole = ask(m, {"text": "Hi."}, background=True).json()
    at = f"{PATH}/{whole['id']}"
    assert (whole["status"], whole["output"]) == ("queued", [])
    assert responses.text_of(m.api.get(at).json()) == "Hi."
    assert m.api.post(f"{at}/cancel").json()["status"] == "cancelled"
    assert m.api.get(at).json()["status"] == "cancelled"
    answer = m.api.post(f"{PATH}/{ask(m).json()['id']}/cancel")
    assert answer.status_code == 400 and "synchronous" in answer.json()["error"]["message"]


def test_a_conversation_goes_on_from_what_its_provider_kept(m):
    first = ask(m, path=f"/providers/a{PATH}").json()["id"]
    assert ask(m, previous_response_id=first, path=f"/providers/a{PATH}").json()["previous_response_id"] == first
    ask(m, previous_response_id=first, path=f"/providers/b{PATH}", expect=400)
    assert m.api.get(f"/providers/b{PATH}/{first}").status_code == 404
