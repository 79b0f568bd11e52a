"""npm `openai` and Vercel's `ai` at routes that annotate, block and redact."""

import clients
import harness
import mock as mocks
import policies
import pytest
from policies import FALLBACK, MAIL, REFUSAL, ask

pytestmark = clients.needed

TEXT = f"Write to {MAIL}, and \U0001f600 do it soon."
REDACTED = TEXT.replace(MAIL, "[email_address]")
SAID = {"": TEXT, "/redact": REDACTED, "/block": FALLBACK, "/refuse": ""}
BEFORE = TEXT[: TEXT.index(MAIL)]  # a stream has said it when the finding comes
STREAMED = {**SAID, "/block": f"{BEFORE}\n\n{FALLBACK}", "/refuse": BEFORE}
CALLS = ["stream", "create"]


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1)
    servers.stop_all()


@pytest.fixture(scope="module")
def gateway(module_weir, m):
    return module_weir(policies.config(m))


def run(gateway, client, cases):
    """{key: (route, call, body)} to {key: result}."""
    jobs = []
    for route, call, body in cases.values():
        question, headers = policies.script(body)
        jobs.append({"base": gateway.url(f"{route}/v1"), "client": client, "call": call,
                     "ask": question, "headers": headers})  # fmt: skip
    return dict(zip(cases, clients.run("routes.cjs", jobs)))


def test_openai_reads_what_routes_say(gateway):
    cases = {(r, c): (r, c, ask(mock={"text": TEXT})) for r in SAID for c in CALLS}
    for (route, call), result in run(gateway, "openai", cases).items():
        assert "error" not in result, (route, call, result)
        message = result["message"]
        texts = STREAMED if call == "stream" else SAID
        assert (message["content"] or "") == texts[route], (route, call)
        assert message["role"] == "assistant"
        is_blocked = route in ("/block", "/refuse")
        assert result["finish"] == ("content_filter" if is_blocked else "stop")
        assert message.get("refusal") == (REFUSAL if route == "/refuse" else None), (route, call)


def test_ai_reads_what_routes_say(gateway):
    cases = {(r, c): (r, c, ask(mock={"text": TEXT})) for r in SAID for c in CALLS}
    for (route, call), result in run(gateway, "ai", cases).items():
        assert not result.get("errors") and "error" not in result, (route, call, result)
        texts = STREAMED if call == "stream" else SAID
        assert result["text"] == texts[route], (route, call)
        is_blocked = route in ("/block", "/refuse")
        assert result["finish"] == ("content-filter" if is_blocked else "stop")


@pytest.mark.parametrize("client", ["openai", "ai"])
def test_clients_read_a_refused_question(gateway, client):
    cases = {(r, c): (r, c, ask(f"I am {MAIL}")) for r in ("/block", "/refuse") for c in CALLS}
    for (route, call), result in run(gateway, client, cases).items():
        said = result["text"] if client == "ai" else result["message"]["content"] or ""
        assert said == (FALLBACK if route == "/block" else ""), (route, call, result)
        assert result["finish"] in ("content_filter", "content-filter")


@pytest.mark.parametrize("client", ["openai", "ai"])
def test_clients_read_reasoning(gateway, client):
    body = ask(mock={"text": "Fine.", "scenario": "reasoning"})
    cases = {(r, c): (r, c, body) for r in ("", "/redact", "/block") for c in CALLS}
    results = run(gateway, client, cases)
    for (route, call), result in results.items():
        if client == "openai" and call == "stream":  # it keeps the last piece of what it does not know
            assert result["message"].pop("reasoning_content")
    for (route, call), result in results.items():
        assert result == results["", call], (route, call)


def test_openai_lists_models(gateway):
    cases = {route: (route, "models", {}) for route in ("", "/redact")}
    for result in run(gateway, "openai", cases).values():
        assert result["models"]


def test_openai_raises_what_is_refused(gateway):
    cases = {c: ("/block", c, ask(detectors={"input": {}})) for c in CALLS}
    for result in run(gateway, "openai", cases).values():
        assert result["error"]["name"] == "UnprocessableEntityError"
        assert "detectors" in result["error"]["message"]
