"""npm `@anthropic-ai/sdk`, and Vercel's `ai` on its providers for OpenAI (Responses) and Anthropic, against
routes: every answer is read, and every helper makes the same of one."""

import json

import clients
import pytest
from both_dialects import NAMES, ROUTES, Server, expected
from policies import FALLBACK, MAIL, config

pytestmark = clients.needed

@pytest.fixture(scope="module")
def gateway(module_weir):
    server = Server()
    yield module_weir(config(server, ROUTES))
    server.service.close()


# --- Anthropic's own ---


def texts(message):
    return "".join(block.get("text", "") for block in message["content"])


def test_anthropics_own_reads_the_same(gateway):
    asked = [(route, name) for route in NAMES for name in ("plain", "found", "blocks", "call")]
    body = {"max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
    jobs = [{"base": gateway.url(f"/{route}"), "way": way, "ask": {**body, "model": name}}
            for route, name in asked for way in ("events", "stream", "create")]  # fmt: skip
    seen = iter(clients.run("anthropic.cjs", jobs))
    for route, name in asked:
        events, streamed, whole = next(seen), next(seen), next(seen)
        assert not any("error" in one for one in (events, streamed, whole)), (route, name, events, streamed, whole)
        assert events["events"][0] == "message_start" and events["events"][-1] == "message_stop"
        message = streamed["message"]
        kinds = [block["type"] for block in message["content"]]
        assert len(events["blocks"]) == len(kinds) == streamed["blocks"]
        said = "".join(text for text, kind in zip(events["blocks"], kinds) if kind == "text")
        assert said == streamed["text"] == texts(message), (route, name)
        assert streamed["final"] == " ".join(b["text"] for b in message["content"] if b["type"] == "text")
        assert texts(message) == expected(route, name, True), (route, name)
        assert texts(whole["message"]) == expected(route, name, False), (route, name)
        is_blocked = route in ("block", "completed") and name in ("found", "call")
        if is_blocked:
            assert message["stop_reason"] == ("refusal" if route == "block" else "end_turn")
            assert "jane" not in json.dumps([events, streamed, whole])
        else:
            assert message["content"] == whole["message"]["content"], (route, name)
        if name == "call" and route in ("redact", "batched"):
            assert message["content"][0]["input"] == {"a": "write to [email_address]"}


def test_anthropics_own_raises(gateway):
    body = {"max_tokens": 100, "model": "broken", "messages": [{"role": "user", "content": "Hi"}]}
    jobs = [{"base": gateway.url(f"/{route}"), "way": way, "ask": body} for route in ("default", "redact", "block")
            for way in ("events", "stream")]  # fmt: skip
    for job, seen in zip(jobs, clients.run("anthropic.cjs", jobs), strict=True):
        assert seen["error"]["name"].endswith("Error") and "Overloaded" in seen["error"]["message"], (job, seen)


def test_anthropics_own_is_told_of_a_blocked_question(gateway):
    body = {"max_tokens": 100, "model": "plain", "messages": [{"role": "user", "content": MAIL}]}
    jobs = [{"base": gateway.url("/block"), "way": way, "ask": body} for way in ("stream", "create")]
    for seen in clients.run("anthropic.cjs", jobs):
        assert texts(seen["message"]) == FALLBACK and seen["message"]["stop_reason"] == "refusal"


# --- Vercel's ---

each = pytest.mark.parametrize("provider", ["openai", "anthropic"])


def run(gateway, provider, *jobs):
    """Of (route, way, model) or (route, way, model, prompt) each."""
    asked = [dict(zip(("base", "way", "model", "prompt"), (gateway.url(f"/{job[0]}"), *job[1:])), provider=provider)
             for job in jobs]  # fmt: skip
    return clients.run("ai_dialects.cjs", asked)


@each
def test_ai_reads_the_same(gateway, provider):
    asked = [(route, name) for route in NAMES for name in ("plain", "found", "blocks", "call")]
    seen = iter(run(gateway, provider, *((route, way, name) for route, name in asked for way in ("stream", "text"))))
    for route, name in asked:
        streamed, whole = next(seen), next(seen)
        assert "error" not in streamed and not streamed["errors"] and "error" not in whole, (route, name, streamed)
        want = expected(route, name, True)
        if provider == "openai" and want.startswith("Write to That"):
            want = want.replace("Write to ", "Write to \n\n")
        assert streamed["deltas"] == streamed["text"] == want, (route, name)
        assert whole["text"] == expected(route, name, False), (route, name)
        assert streamed["reasoned"] == streamed["reasoning"] == whole["reasoning"], (route, name)
        assert streamed["calls"] == whole["calls"], (route, name)
        is_blocked = route in ("block", "completed") and name in ("found", "call")
        if name == "blocks":
            assert streamed["calls"] == [{"name": "look", "input": {"a": "b"}}]
        if name == "call" and not is_blocked:
            left = "write to [email_address]" if route in ("redact", "batched") else f"write to {MAIL}"
            assert streamed["calls"] == [{"name": "look", "input": {"a": left}}]
        if is_blocked:
            assert streamed["calls"] == [] and "jane" not in json.dumps([streamed, whole])
            assert (streamed["finish"] == "content-filter") == (route == "block"), streamed["finish"]


@each
def test_ai_reads_objects(gateway, provider):
    seen = run(gateway, provider, *((route, way, "json") for route in ("default", "redact", "block")
                                    for way in ("object", "streamObject")))  # fmt: skip
    for i, mail in enumerate((MAIL, "[email_address]")):
        whole, streamed = seen[2 * i : 2 * i + 2]
        assert whole["object"] == streamed["object"] == streamed["last"] == {"name": "Jane", "mail": mail}
    for blocked in seen[4:]:  # there is no object, and the library says so
        assert "NoObjectGenerated" in blocked["error"]["name"] and "jane" not in json.dumps(blocked), blocked


@each
def test_ai_is_told_of_a_blocked_question(gateway, provider):
    streamed, whole = run(gateway, provider, ("block", "stream", "plain", MAIL), ("block", "text", "plain", MAIL))
    assert streamed["text"] == streamed["deltas"] == whole["text"] == FALLBACK
    assert streamed["finish"] == whole["finish"] == "content-filter"


@each
def test_ai_is_told_of_a_stream_that_fails(gateway, provider):
    for seen in run(gateway, provider, *((route, "stream", "broken") for route in ("default", "redact", "block"))):
        assert any("Overloaded" in error for error in seen["errors"]), seen
