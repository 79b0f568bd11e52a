"""Answers of a model server in Messages and in Responses alike, and what clients must make of them on routes."""

import json

import messages
import responses
from policies import FALLBACK, MAIL
from service import Service, reply

BATCHED = {"batching": {"mode": "on", "min_chars_per_emit": 40}, "coalescer": {"mode": "on"}}
ROUTES = [{"name": "batched", "output": {"pii": {}}, "on_detection": "redact", "streaming": BATCHED},
          {"name": "completed", "input": {"pii": {}}, "output": {"pii": {}}, "on_detection": "block",
           "block_ending": "completed", "fallback_message": FALLBACK}]  # fmt: skip
NAMES = ["default", "redact", "block", "batched", "completed"]
PERSON = json.dumps({"name": "Jane", "mail": MAIL})
ARGUMENTS = '{"a": "write to jane@exa', 'mple.org"}'
HALVES = "Write to jane@exa", "mple.org now."
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
FAILED = {"type": "error", "code": "server_error", "message": "Overloaded", "param": None}
SAID = {
    messages.PATH: {
        "plain": messages.message(messages.text(0, "Hello", ", you.")),
        "found": messages.message(messages.text(0, *HALVES)),
        "blocks": messages.message(messages.thinking(0, "Hm", "m."), messages.text(1, "I call."),
                                   messages.tool(2, "look", '{"a"', ': "b"}')),
        "call": messages.message(messages.tool(0, "look", *ARGUMENTS)),
        "json": messages.message(messages.text(0, PERSON[:9], PERSON[9:])),
        "broken": [messages.start(), messages.opened(0, {"type": "text", "text": ""}), OVERLOADED],
    },
    responses.PATH: {
        "plain": responses.answer(responses.say(0, "Hello", ", you.")),
        "found": responses.answer(responses.say(0, *HALVES)),
        "blocks": responses.answer(responses.think(0, "Hm", "m."), responses.say(1, "I call."),
                                   responses.call(2, "look", '{"a"', ': "b"}')),
        "call": responses.answer(responses.call(0, "look", *ARGUMENTS)),
        "json": responses.answer(responses.say(0, PERSON[:9], PERSON[9:])),
        "broken": [*responses.begun(), *responses.say(0, "Hello")[0][:3], FAILED],
    },
}  # fmt: skip


class Server:
    """A model server of both dialects: the name of the model says what it answers."""

    def __init__(self):
        self.service = Service(self.answer)
        self.ports = {"api": self.service.port}

    def answer(self, request):
        body = request.json()
        said = SAID[request.path][body["model"]]
        is_messages = request.path == messages.PATH
        if body.get("stream"):
            return (messages if is_messages else responses).stream(said)
        return reply(messages.gather(said) if is_messages else said[-1]["response"])


def expected(route, name, is_stream):
    """The text that a client must have put together."""
    found = {"plain": "Hello, you.", "found": "".join(HALVES), "blocks": "I call.", "call": ""}[name]
    if name == "found" and route in ("block", "completed"):
        return f"Write to {FALLBACK}" if is_stream else FALLBACK
    if name == "call" and route in ("block", "completed"):
        return FALLBACK
    return found.replace(MAIL, "[email_address]") if route in ("redact", "batched") else found
