"""LangChain in Responses and in Messages, and OpenAI's agents, against routes: every answer is read, and streams say
what whole answers say."""

import json
import subprocess

import pytest
from both_dialects import NAMES, ROUTES, Server, expected
from policies import FALLBACK, MAIL, config
from test_more_clients import PYTHON, SCRIPT, needed

pytestmark = needed
each = pytest.mark.parametrize("library", ["langchain responses", "langchain anthropic", "openai-agents"])


@pytest.fixture(scope="module")
def gateway(module_weir):
    server = Server()
    yield module_weir(config(server, ROUTES))
    server.service.close()


def run(gateway, library, *jobs):
    """Of (route, way, model) or (route, way, model, text) each."""
    asked = [{"text": "Hi", **dict(zip(("base", "way", "model", "text"), (gateway.url(f"/{job[0]}"), *job[1:])))}
             for job in jobs]  # fmt: skip
    done = subprocess.run([PYTHON, str(SCRIPT.with_name("dialect_clients.py")), library], input=json.dumps(asked),
                          capture_output=True, text=True, timeout=250)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def raises_on_incomplete(library):
    """A stream that does not end with response.completed: docs/responses.md names the setting for this one."""
    return library == "openai-agents"


@each
def test_streams_say_what_whole_answers_say(gateway, library):
    asked = [(route, name) for route in NAMES for name in ("plain", "found")]
    seen = iter(run(gateway, library, *((route, way, name) for route, name in asked for way in ("stream", "say"))))
    for route, name in asked:
        streamed, whole = next(seen), next(seen)
        if raises_on_incomplete(library) and (route, name) == ("block", "found"):
            assert streamed["class"] == "ModelBehaviorError" and "content_filter" in streamed["words"], streamed
            continue
        assert "class" not in streamed and "class" not in whole, (route, name, streamed, whole)
        want = expected(route, name, True)
        assert streamed["joined"].replace("\n\n", "") == want, (route, name)
        assert streamed["said"] in (streamed["joined"], streamed["joined"].replace("\n\n", "")), (route, name)
        assert whole["said"] == expected(route, name, False), (route, name)


@each
def test_tool_calls(gateway, library):
    found = {"default": f"write to {MAIL}", "redact": "write to [email_address]", "batched": "write to [email_address]"}
    seen = run(gateway, library, *((route, "tool", "call") for route in (*found, "block")))
    for (route, left), one in zip(found.items(), seen):
        assert one.get("calls") == [{"a": left}], (route, one)
    assert seen[-1]["calls"] == [] and seen[-1]["said"] == FALLBACK, seen[-1]


@each
def test_blocked_questions(gateway, library):
    route = "completed" if raises_on_incomplete(library) else "block"
    for one in run(gateway, library, ("block", "say", "plain", MAIL), (route, "stream", "plain", MAIL)):
        assert one.get("said") == FALLBACK, one


@each
def test_a_stream_that_fails_raises(gateway, library):
    for one in run(gateway, library, *((route, "stream", "broken") for route in ("default", "redact", "block"))):
        assert one.get("class", "").endswith(("Error", "Exception")) and "Overloaded" in one["words"], one
