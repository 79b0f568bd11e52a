"""Messages and Responses in the fault matrix (fault_world.py): what a healthy server says in them, and
how their answers end."""

import messages
import responses
from faults import Answer, json_answer

STORED = "resp_1"

# Anthropic's errors have no code; these words say what happened.
MEANINGS = {
    "cannot be reached": "upstream_unreachable",
    "did not answer in time": "upstream_timeout",
    "detector `": "detector_failed",
    "chunker `": "chunker_failed",
    "the audit log": "overloaded",
}
MESSAGES_TYPES = {502: "api_error", 503: "overloaded_error", 504: "timeout_error", 500: "api_error"}


def stored_path(route):
    return f"/v1/responses/{responses.tagged(STORED, route)}"


# --- what healthy servers say ---


def named(text):
    """Events as they are written, one a piece."""
    return Answer([f"{event}\n\n".encode() for event in text.split("\n\n")[:-1]], "text/event-stream")


def message_events(pieces):
    return named(messages.sse(messages.message(messages.text(0, *pieces))))


def whole_message(text):
    return json_answer(messages.whole({"type": "text", "text": text}))


def response_events(pieces):
    return named(responses.sse(responses.answer(responses.say(0, *pieces))))


def whole_response(text):
    return json_answer(responses.response(responses.message(responses.output_text(text))))


def stored_answer(request, text, pieces):
    """What a server that keeps responses says of one, by what is asked."""
    if request.path.endswith("/input_items"):
        item = {"id": "msg_0", "type": "message", "role": "user", "status": "completed",
                "content": [{"type": "input_text", "text": text}]}  # fmt: skip
        return json_answer({"object": "list", "data": [item], "first_id": "msg_0", "last_id": "msg_0",
                            "has_more": False})  # fmt: skip
    if request.method == "DELETE":
        return json_answer({"id": STORED, "object": "response", "deleted": True})
    return response_events(pieces) if "stream=true" in request.path else whole_response(text)


# --- how answers end ---


def error_of_messages(told, status):
    """(status, type, code), the code made of the words."""
    assert told["type"] == "error" and told["error"].keys() == {"type", "message"}, told
    words = told["error"]["message"]
    known = [code for meaning, code in MEANINGS.items() if meaning in words]
    return status, told["error"]["type"], known[0] if known else "c" if words == "no" else "upstream_invalid"


def error_of_responses(told, status):
    error = told["error"]
    if told.get("type") == "error":  # an event: OpenAI's own members and, for its libraries, the object
        assert (told["code"], told["message"]) == (error["code"], error["message"]), told
    return status, error["type"], error["code"]


def as_messages(ending):
    """The ending of a chat completion as Messages have it."""
    return ending and (ending[0], MESSAGES_TYPES[ending[0]], ending[2])


def read_messages(events):
    gathered = messages.gather(events)
    return gathered["content"], gathered["stop_reason"], messages.findings(gathered)


def read_responses(events):
    gathered = responses.gather(events)
    return gathered.text(), gathered.ending, responses.findings(gathered.response)


READERS = {"messages": read_messages, "responses": read_responses}
LAST = {"messages": ("message_stop",), "responses": ("response.completed", "response.incomplete")}


def read_stream(endpoint, answer, events):
    """`events`: [(name, object)]. The answer is complete, or its last event is an error."""
    error_in = {"messages": error_of_messages, "responses": error_of_responses}[endpoint.dialect]
    for at, (name, event) in enumerate(events):
        if name == "error":
            assert at == len(events) - 1, f"something behind an error: {answer.raw}"
            answer.error = error_in(event, 200)
        elif name != "ping":
            answer.is_begun = True
    told = [event for name, event in events if name not in ("ping", "error")]
    is_over = bool(told) and told[-1].get("type") in LAST[endpoint.dialect]
    if endpoint.checks_output:  # else it is the server's own words, whatever they are
        assert is_over != bool(answer.error), f"an error behind the end, or neither: {answer.raw}"
    answer.said = READERS[endpoint.dialect](told) if is_over and endpoint.checks_output else len(told)
    return answer

