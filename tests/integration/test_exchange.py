"""Detectors of whole conversations (text_chat) as output detectors of Messages and Responses: they are
shown the question and all of the answer as messages of chat completions, and where the route blocks or
redacts nothing of the answer leaves before they have answered."""

import json
import threading

import messages
import pytest
import responses
from policies import FALLBACK, MAIL, config
from service import Service, reply

ACTIONS = ["annotate", "redact", "block"]
ROUTES = [
    *({"name": f"whole-{action}", "output": {"whole": {}}, "on_detection": action, "fallback_message": FALLBACK}
      for action in ACTIONS),
    *({"name": f"both-{action}", "input": {"pii": {}}, "output": {"pii": {}, "whole": {}}, "on_detection": action,
       "fallback_message": FALLBACK} for action in ("annotate", "redact")),
    {"name": "tells", "output": {"pii": {}, "whole": {"on_detection": "annotate"}}, "on_detection": "redact"},
    {"name": "passes", "output": {"whole": {}}, "on_detection": "redact", "unknown_members": "pass"},
]  # fmt: skip
HARM = "Take a spade and dig."


class Server:
    """Model server of both dialects and detector of conversations."""

    def __init__(self):
        self.service = Service(self.answer)
        self.ports = {"api": self.service.port}
        self.shown = []
        self.fails = False
        self.said = {}
        self.is_asked = threading.Event()
        self.may_answer = threading.Event()
        self.may_answer.set()

    def answer(self, request):
        if request.path == "/api/v1/text/contents" or (request.path == "/api/v1/text/chat" and self.fails):
            return reply({"code": 500, "message": "no"}, 500)
        if request.path == "/api/v1/text/chat":
            body = request.json()
            self.shown.append(body)
            self.is_asked.set()
            assert self.may_answer.wait(30)
            found = "dig" in json.dumps(body["messages"][-1])
            return reply([{"detection": "Harm", "detection_type": "risk", "score": 0.9}] if found else [])
        events = self.said[request.path]
        if isinstance(events, bytes):
            return events
        dialect = messages if request.path == messages.PATH else responses
        if request.json().get("stream"):
            return dialect.stream(events)
        return reply(messages.gather(events) if dialect is messages else events[-1]["response"])


@pytest.fixture(scope="module")
def server():
    one = Server()
    yield one
    one.service.close()


@pytest.fixture(scope="module")
def gateway(module_weir, server):
    return module_weir(config(server, ROUTES))


@pytest.fixture(autouse=True)
def fresh(server):
    server.shown.clear()
    server.may_answer.set()


def say(server, text):
    """Both dialects: some thinking, the text in two pieces, and a call of a tool."""
    half = len(text) // 2
    pieces = text[:half], text[half:]
    server.said = {
        messages.PATH: messages.message(messages.thinking(0, "Hm."), messages.text(1, *pieces),
                                        messages.tool(2, "look", '{"at":', '"it"}')),
        responses.PATH: responses.answer(responses.think(0, "Hm."), responses.say(1, *pieces),
                                         responses.call(2, "look", '{"at":', '"it"}')),
    }  # fmt: skip


def body_of(path, is_stream, question="Hi"):
    body = {"model": "m", "stream": is_stream}
    if path == messages.PATH:
        return body | {"max_tokens": 9, "system": "Be kind.", "messages": [{"role": "user", "content": question}]}
    return body | {"instructions": "Be kind.", "input": question}


def ask(gateway, route, path, is_stream, question="Hi"):
    got = gateway.api.post(f"/{route}{path}", json=body_of(path, is_stream, question))
    assert got.status_code == 200, got.text
    return got


def read(path, got, is_stream):
    """(the text, the whole answer, events)."""
    dialect = messages if path == messages.PATH else responses
    events = dialect.read(got.text) if is_stream else []
    if path == messages.PATH:
        whole = messages.gather(events) if is_stream else got.json()
        return "".join(b["text"] for b in whole["content"] if b["type"] == "text"), whole, events
    whole = responses.gather(events).response if is_stream else got.json()
    return responses.text_of(whole), whole, events


BOTH = pytest.mark.parametrize("path", [messages.PATH, responses.PATH])
STREAMED = pytest.mark.parametrize("is_stream", [False, True])


@BOTH
@STREAMED
@pytest.mark.parametrize("action", ACTIONS)
def test_they_are_shown_the_whole_conversation(gateway, server, path, is_stream, action):
    say(server, "It rains. It pours.")
    text, whole, _ = read(path, ask(gateway, f"whole-{action}", path, is_stream), is_stream)
    assert text == "It rains. It pours." and "detections" not in whole
    [shown] = server.shown
    assert shown["messages"][:2] == [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
    answer = shown["messages"][2]
    assert answer["role"] == "assistant" and answer["reasoning"] == "Hm."
    assert answer["content"].startswith("It rains. It pours.")
    assert '"it"' in json.dumps(answer).replace("\\", "") and "look" in json.dumps(answer)


@BOTH
@STREAMED
def test_what_they_find_is_told_where_the_route_annotates(gateway, server, path, is_stream):
    say(server, HARM)
    text, whole, events = read(path, ask(gateway, "whole-annotate", path, is_stream), is_stream)
    assert text == HARM
    carriers = [whole, *events, *(event.get("response", {}) for event in events)]
    [entry] = [e for c in carriers for e in c.get("detections", {}).get("output", [])][:1]
    assert entry["channel"] == "conversation" and entry["results"][0]["detection"] == "Harm"
    assert len(server.shown) == 1


@BOTH
@STREAMED
@pytest.mark.parametrize("action", ["redact", "block"])
def test_what_they_find_blocks(gateway, server, path, is_stream, action):
    say(server, HARM)
    got = ask(gateway, f"whole-{action}", path, is_stream)
    text, whole, _ = read(path, got, is_stream)
    assert text == FALLBACK and "spade" not in got.text and "look" not in got.text
    assert '"channel":"conversation"' in got.text.replace(" ", "")
    ended = whole.get("stop_reason") or whole["incomplete_details"]["reason"]
    assert ended in ("refusal", "content_filter")


@BOTH
def test_nothing_leaves_before_they_have_answered(gateway, server, path):
    """All of the answer is there, and the client has its first event alone."""
    say(server, "It rains.")
    server.may_answer.clear()
    server.is_asked.clear()
    got = []

    def listen():
        with gateway.api.stream("POST", f"/whole-redact{path}", json=body_of(path, True)) as answer:
            for piece in answer.iter_text():
                got.append(piece)

    asking = threading.Thread(target=listen)
    asking.start()
    assert server.is_asked.wait(30)
    for _ in range(5):  # whatever it wanted to send it has sent by now
        assert gateway.api.get("/whole-redact/v1/nothing").status_code == 404
    assert "ains" not in "".join(got) and "look" not in "".join(got)
    server.may_answer.set()
    asking.join(30)
    assert "ains" in "".join(got)


@BOTH
@STREAMED
def test_beside_others(gateway, server, path, is_stream):
    """Those that look at texts replace what they find; the conversation is shown as it was said."""
    say(server, f"Write to {MAIL}.")
    got = ask(gateway, "both-redact", path, is_stream, f"I am {MAIL}")
    assert read(path, got, is_stream)[0] == "Write to [email_address]." and MAIL not in got.text
    [shown] = server.shown
    assert shown["messages"][1]["content"] == "I am [email_address]"
    say(server, HARM)
    assert read(path, ask(gateway, "both-redact", path, is_stream), is_stream)[0] == FALLBACK


@BOTH
@STREAMED
def test_one_that_only_annotates_holds_nothing(gateway, server, path, is_stream):
    say(server, f"{HARM} Write to {MAIL}.")
    got = ask(gateway, "tells", path, is_stream)
    text, _, _ = read(path, got, is_stream)
    assert text == f"{HARM} Write to [email_address]." and MAIL not in got.text
    assert '"channel":"conversation"' in got.text.replace(" ", "") and "Harm" in got.text
    if is_stream:
        assert got.text.index("spade") < got.text.index("Harm")


@pytest.fixture(scope="module")
def skipping(module_weir, server):
    """A route whose detectors may all be skipped."""
    tree = config(server, [{"name": "skips", "output": {"far": {}, "whole": {}}, "on_detection": "redact"}])
    for name in ("far", "whole"):
        tree["detectors"][name]["on_error"] = "skip"
    return module_weir(tree)


@BOTH
@STREAMED
def test_skipped_ones_are_told(skipping, server, path, is_stream):
    """One fails at texts, the other at the conversation: both are named, also when the second one is
    passed over after the first was told."""
    say(server, "It rains. It pours.")
    server.fails = True
    try:
        got = ask(skipping, "skips", path, is_stream)
    finally:
        server.fails = False
    text, _, _ = read(path, got, is_stream)
    assert text == "It rains. It pours."
    assert "Detector `far` could not" in got.text and "Detector `whole` could not" in got.text
    assert ask(skipping, "skips", path, is_stream).status_code == 200  # and it lives


def test_no_block_begins_behind_the_ending(gateway, server):
    """They were shown the message by then."""
    events = messages.message(messages.text(0, "Hello."))
    behind = [*events[:-1], *messages.text(1, HARM), events[-1]]
    server.said = {messages.PATH: behind}
    got = ask(gateway, "whole-block", messages.PATH, True)
    assert "spade" not in got.text and '"type":"error"' in got.text.replace(" ", "")


def test_a_held_event_of_several_lines_stays_one(gateway, server):
    raw = messages.sse(messages.message(messages.text(0, "Hello.")))
    odd = 'event: odd\ndata: {"type":"odd",\ndata: "x":"y"}\n\n'
    at = raw.index("event: message_delta")
    server.said = {messages.PATH: raw[:at] + odd + raw[at:]}
    got = ask(gateway, "passes", messages.PATH, True)
    [event] = [json.loads(part.split("data: ", 1)[1]) for part in got.text.split("\n\n") if '"odd"' in part]
    assert event == {"type": "odd", "x": "y"}


# --- texts beside what an answer says ---


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("action", ["redact", "block"])
@pytest.mark.parametrize("ending", [{"stop_sequence": HARM},
                                    {"stop_details": {"type": "refusal", "category": None, "explanation": HARM}}])
def test_texts_of_the_ending_are_shown(gateway, server, action, ending, is_stream):
    events = messages.message(messages.text(0, "Hello."), messages.ending(**ending))
    server.said = {messages.PATH: events}
    got = ask(gateway, f"whole-{action}", messages.PATH, is_stream)
    assert HARM in server.shown[-1]["messages"][-1]["content"]
    assert HARM not in got.text and "Hello." not in got.text and FALLBACK in got.text


@pytest.mark.parametrize("is_stream", [False, True])
def test_items_are_shown_decoded(gateway, server, is_stream):
    """JSON that hides its words in escapes."""
    block = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"title": "HIDDEN", "n": 1}]}
    events = messages.message([messages.opened(0, block), messages.closed(0)])
    hidden = "".join(f"\\u{ord(c):04x}" for c in HARM)
    raw = messages.sse(events) if is_stream else json.dumps(messages.gather(events))
    raw = raw.replace("HIDDEN", hidden)
    stream = [b"".join(messages.stream(raw))] if is_stream else [reply(raw)]
    server.said = {messages.PATH: stream[0]}
    got = ask(gateway, "whole-redact", messages.PATH, is_stream)
    assert HARM in server.shown[-1]["messages"][-1]["content"]
    assert hidden not in got.text and FALLBACK in got.text


@BOTH
@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
def test_errors_of_the_model_server_are_shown(gateway, server, path, action, is_stream):
    error = {"type": "overloaded_error", "message": f"Busy. {HARM}", "code": "busy"}
    kind = {"type": "error"} if path == messages.PATH else {}
    server.said = {path: reply({**kind, "error": error}, 429, headers=[("retry-after", "7")])}
    got = gateway.api.post(f"/whole-{action}{path}", json=body_of(path, is_stream))
    assert got.status_code == 429
    if action == "annotate":
        assert HARM in got.text and server.shown == []
    else:
        assert HARM not in got.text and "[removed]" in got.text and "retry-after" not in got.headers
        assert [m["role"] for m in server.shown[-1]["messages"]] == ["assistant"]
        assert HARM in server.shown[-1]["messages"][0]["content"]
    server.said = {path: reply({**kind, "error": {**error, "message": "Busy."}}, 429, headers=[("retry-after", "7")])}
    got = gateway.api.post(f"/whole-{action}{path}", json=body_of(path, is_stream))
    assert "Busy." in got.text and got.headers["retry-after"] == "7"


def test_an_error_that_cannot_be_shown_says_nothing(gateway, server):
    server.said = {messages.PATH: reply({"type": "error", "error": {"type": "x", "message": "Busy."}}, 429)}
    server.fails = True
    got = gateway.api.post("/whole-block/v1/messages", json=body_of(messages.PATH, False))
    server.fails = False
    assert got.status_code == 429 and "Busy." not in got.text
