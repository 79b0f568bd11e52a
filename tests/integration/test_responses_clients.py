"""pip `openai` in Responses against routes: it reads every answer, and every helper of it makes the
same of one."""

import json

import clients
import harness
import mock as mocks
import pyclients
import pytest
import responses
from policies import FALLBACK, MAIL, config
from responses import answer, call, say, think

pytestmark = pyclients.needed

BATCHED = {"batching": {"mode": "on", "min_chars_per_emit": 40}, "coalescer": {"mode": "on"}}
ROUTES = [{"name": "batched", "output": {"pii": {}}, "on_detection": "redact", "streaming": BATCHED},
          {"name": "completed", "input": {"pii": {}}, "output": {"pii": {}}, "on_detection": "block",
           "block_ending": "completed", "fallback_message": FALLBACK}]  # fmt: skip
ANSWERS = {
    "plain": [say(0, "Hello", ", you.")],
    "redacted": [say(0, "Write to jane@exa", "mple.org now.")],
    "items": [think(0, "Hm", "m."), say(1, "I call."), call(2, "look", '{"a"', ': "b"}')],
}


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


def run(gateway, *jobs, headers=None):
    """Of (route, way, ask) each. One process: the library takes long to load."""
    return pyclients.run("responses.py", [{"url": gateway.url(f"/{route}"), "way": way, "ask": body,
                                           "headers": headers} for route, way, body in jobs])  # fmt: skip


def test_every_helper_makes_the_same_response(gateway, server):
    server.by_model = {name: answer(*said) for name, said in ANSWERS.items()}
    asked = [(route, name) for route in ("default", "redact", "block", "batched", "completed") for name in ANSWERS]
    jobs = [(route, way, ask(model=name)) for route, name in asked for way in ("events", "stream", "create")]
    seen = iter(run(gateway, *jobs))
    for route, name in asked:
        events, streamed, whole = next(seen), next(seen), next(seen)
        assert "error" not in events and "error" not in streamed and "error" not in whole, (route, name)
        assert events["events"][0] == "response.created"
        assert events["numbers"] == list(range(len(events["numbers"])))
        assert events["deltas"] == events["done"] == streamed["deltas"], (route, name)
        assert streamed["text"] == events["deltas"], (route, name)
        if route in ("block", "completed") and name == "redacted":
            ending = "response.incomplete" if route == "block" else "response.completed"
            assert streamed["ending"] == events["events"][-1] == ending
            assert streamed["text"] == f"Write to \n\n{FALLBACK}" and whole["text"] == FALLBACK
        else:
            assert streamed["ending"] == "response.completed"
            assert streamed["text"] == whole["text"], (route, name)
            is_found = name == "redacted" and route in ("redact", "batched")
            assert ("[email_address]" in streamed["text"]) == is_found


def test_what_is_blocked_is_read(gateway, server):
    said = json.dumps({"name": "Jane", "mail": MAIL})
    server.by_model = {"json": answer(say(0, said[:9], said[9:]))}
    jobs = [("block", "events", ask(MAIL)), ("block", "stream", ask(MAIL)), ("block", "create", ask(MAIL)),
            ("completed", "stream", ask(MAIL)), ("block", "parse_stream", ask(model="json")),
            ("redact", "parse", ask(model="json"))]  # fmt: skip
    events, streamed, whole, completed, formed, parsed = run(gateway, *jobs)
    assert events["events"][-1] == "response.incomplete" and events["deltas"] == FALLBACK
    for seen in (streamed, whole, completed):
        assert seen["text"] == FALLBACK, seen
    assert whole["response"]["incomplete_details"] == {"reason": "content_filter"}
    assert formed["ending"] == "response.incomplete" and MAIL not in json.dumps(formed)
    assert parsed["parsed"] == {"name": "Jane", "mail": "[email_address]"}


def test_a_stream_that_fails_midway_raises(gateway, server):
    events, _ = say(0, "Hello")
    error = {"type": "error", "code": "server_error", "message": "Overloaded", "param": None}
    server.by_model = {"error": [*responses.begun(), *events[:3], error], "cut": [*responses.begun(), *events[:3]]}
    jobs = [(route, way, ask(model=name)) for route in ("default", "redact", "block")
            for way in ("events", "stream") for name in server.by_model]  # fmt: skip
    for job, seen in zip(jobs, run(gateway, *jobs), strict=True):
        assert seen.get("error", "").endswith("Error"), (job, seen)
        assert job[2]["model"] == "cut" or "Overloaded" in seen["message"], (job, seen)


@clients.needed
def test_npm_openai_reads_the_same(gateway, server):
    server.by_model = {name: answer(*said) for name, said in ANSWERS.items()}
    server.by_model["error"] = [*responses.begun(), *say(0, "Hello")[0][:3],
                                {"type": "error", "code": "server_error", "message": "Overloaded", "param": None}]  # fmt: skip
    asked = [(route, name) for route in ("default", "redact", "block", "completed") for name in ANSWERS]
    jobs = [{"base": gateway.url(f"/{route}"), "way": way, "ask": ask(model=name)}
            for route, name in asked for way in ("events", "stream", "create")]  # fmt: skip
    jobs += [{"base": gateway.url("/redact"), "way": way, "ask": ask(model="error")} for way in ("events", "stream")]
    seen = iter(clients.run("responses.cjs", jobs))
    for route, name in asked:
        events, streamed, whole = next(seen), next(seen), next(seen)
        assert events["numbers"] == list(range(len(events["numbers"]))), (route, name)
        assert events["deltas"] == events["done"] == streamed["deltas"] == streamed["text"], (route, name)
        if route in ("block", "completed") and name == "redacted":
            assert streamed["text"] == f"Write to \n\n{FALLBACK}" and whole["text"] == FALLBACK
        else:
            assert streamed["text"] == whole["text"] and streamed["status"] == whole["status"] == "completed"
    for failed in seen:
        assert "Overloaded" in failed["error"]["message"], failed


# --- every item of the mock, and what it keeps ---


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1)
    servers.stop_all()


@pytest.fixture(scope="module")
def keeping(module_weir, m):
    return module_weir(config(m, ROUTES, id_key_env="ID_KEY"), env={"ID_KEY": "a secret of some length"})


def test_every_kind_of_item_is_read(keeping):
    shape = {"scenario": ["items", "text", "tools", "reasoning", "refusal"], "text": "Nothing here."}
    jobs = [(route, way, ask()) for route in ("default", "redact", "block", "batched") for way in ("events", "stream")]
    for job, seen in zip(jobs, run(keeping, *jobs, headers={"x-mock-model": json.dumps(shape)}), strict=True):
        assert "error" not in seen, (job, seen)
        assert seen.get("ending", "response.completed") == "response.completed"


def test_what_is_kept_is_fetched_continued_and_deleted(keeping):
    shape = {"text": f"Write to {MAIL} now."}
    jobs = [(route, "stored", ask("Who is it?", store=True)) for route in ("default", "redact")]
    plain, redacted = run(keeping, *jobs, headers={"x-mock-model": json.dumps(shape)})
    for seen in (plain, redacted):
        assert seen["gone"] == "NotFoundError", seen
        assert seen["again"]["id"] == seen["first"]["id"] == seen["more"]["previous_response_id"]
        assert seen["again"]["output"] == seen["first"]["output"]
        assert seen["items"][0]["content"][0]["text"] == "Who is it?"
    assert MAIL in json.dumps(plain) and MAIL not in json.dumps(redacted)
    assert redacted["first"]["id"].count(".") == 2 and plain["first"]["id"].count(".") == 0


def test_the_demonstration_model_answers_openais_client(weir):
    w = weir()
    tools = [{"type": "function", "name": "look", "description": "Looks", "strict": False,
              "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}]  # fmt: skip
    whole, streamed, called = run(w, ("redact", "create", ask("Tell me a contact")),
                                  ("redact", "stream", ask("Tell me a contact")),
                                  ("redact", "stream", ask("Look it up", tools=tools)))  # fmt: skip
    assert whole["text"] == streamed["text"] == streamed["deltas"] != ""
    assert called["response"]["output"][-1]["name"] == "look"
