"""pip `anthropic` against routes: it reads every answer, and every helper of it makes the same of
one."""

import messages
import pyclients
import pytest
from messages import opened, text, thinking, tool
from policies import FALLBACK, MAIL, config
from service import reply

pytestmark = pyclients.needed

BATCHED = {"batching": {"mode": "on", "min_chars_per_emit": 40}, "coalescer": {"mode": "on"}}
ROUTES = [{"name": "batched", "output": {"pii": {}}, "on_detection": "redact", "streaming": BATCHED}]
ANSWERS = {
    "plain": [text(0, "Hello", ", you.")],
    "redacted": [text(0, "Write to jane@exa", "mple.org now.")],
    "blocks": [thinking(0, "Hm", "m."), text(1, "I call."), tool(2, "look", '{"a"', ': "b"}')],
}


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


def run(gateway, *jobs):
    """Of (route, way, ask) each. One process: the library takes long to load."""
    base = f"http://127.0.0.1:{gateway.api_port}"
    return pyclients.run("messages.py", [{"url": f"{base}/{route}", "way": way, "ask": body}
                                         for route, way, body in jobs])  # fmt: skip


def texts(message):
    return "".join(block.get("text", "") for block in message["content"])


def test_every_helper_makes_the_same_message(gateway, server):
    server.by_model = {name: messages.message(*said) for name, said in ANSWERS.items()}
    asked = [(route, name) for route in ("default", "redact", "block", "batched") for name in ANSWERS]
    jobs = [(route, way, ask(model=name)) for route, name in asked for way in ("events", "stream", "create")]
    seen = iter(run(gateway, *jobs))
    for route, name in asked:
        events, streamed, whole = next(seen)["events"], next(seen), next(seen)["message"]
        message = streamed["message"]
        assert events[0] == "message_start" and events[-1] == "message_stop"
        assert streamed["text"] == texts(message), (route, name)
        if route == "block" and name == "redacted":
            assert texts(message) == f"Write to {FALLBACK}" and texts(whole) == FALLBACK
            for one in (message, whole):
                assert one["stop_reason"] == "refusal"
                assert one["stop_details"]["explanation"] == FALLBACK
        else:
            assert message["content"] == whole["content"], (route, name)
            is_found = name == "redacted" and route in ("redact", "batched")
            assert ("[email_address]" in texts(message)) == is_found


def test_what_is_blocked_is_read(gateway, server):
    wants = {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}}
    server.by_model = {"json": messages.message(text(0, '{"a":"', MAIL, '"}'))}
    events, streamed, whole, formed = run(
        gateway, ("block", "events", ask(MAIL)), ("block", "stream", ask(MAIL)),
        ("block", "create", ask(MAIL)), ("block", "stream", ask(model="json", **wants)))  # fmt: skip
    assert events["events"][-1] == "message_stop"
    for seen in (streamed, whole):
        assert texts(seen["message"]) == FALLBACK and seen["message"]["stop_reason"] == "refusal"
    assert formed["message"]["content"] == [] and formed["message"]["stop_reason"] == "refusal"


def test_a_stream_that_fails_midway_raises(gateway, server):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.by_model = {
        "error": [messages.start(), opened(0, {"type": "text", "text": ""}), error],
        "cut": messages.message(text(0, "Hi"))[:-2],
    }
    jobs = [(route, way, ask(model=name)) for route in ("default", "redact", "block")
            for way in ("events", "stream") for name in server.by_model]  # fmt: skip
    for job, seen in zip(jobs, run(gateway, *jobs), strict=True):
        assert seen.get("error", "").endswith("Error"), (job, seen)
        assert job[2]["model"] == "cut" or "Overloaded" in seen["message"], (job, seen)


ERRORS = {400: "BadRequestError", 401: "InternalServerError", 404: "NotFoundError",
          429: "RateLimitError", 529: "OverloadedError"}  # fmt: skip


def test_statuses_raise_the_librarys_own_errors(gateway, server):
    """A 401 is about the gateway's key, not the caller's: 502."""
    body = {"type": "error", "error": {"type": "api_error", "message": "No"}}
    server.by_model = {str(status): reply(body, status) for status in ERRORS}
    seen = run(gateway, *[("redact", "create", ask(model=str(status))) for status in ERRORS])
    assert [one["error"] for one in seen] == list(ERRORS.values())


def test_the_demonstration_model_answers_anthropics_client(weir):
    w = weir()
    tools = [{"name": "look", "description": "Looks", "input_schema": {
        "type": "object", "properties": {"q": {"type": "string"}}}}]  # fmt: skip
    whole, streamed, called = run(w, ("redact", "create", ask("Tell me a contact")),
                                  ("redact", "stream", ask("Tell me a contact")),
                                  ("redact", "stream", ask("Look it up", tools=tools)))  # fmt: skip
    assert texts(whole["message"]) == streamed["text"] != ""
    assert called["message"]["stop_reason"] == "tool_use"
    assert called["message"]["content"][-1]["name"] == "look"
