"""/v1/messages/count_tokens and /v1/responses/input_tokens: the question is guarded like the one whose tokens it
counts, and a blocked one is an error."""

import json

import openapi
import pytest
from configs import config
from service import reply

MAIL = "ann@example.com"
PATHS = {"/v1/messages/count_tokens": "messages", "/v1/responses/input_tokens": "input"}


@pytest.fixture(scope="module")
def gateway(module_weir):
    from service import Service

    server = Service(lambda request: reply({"input_tokens": 7}))
    look = {"input": {"pii": {}}}
    routes = [{"name": name, **look, "on_detection": name} for name in ("annotate", "block", "redact")]
    routes += [{"name": "all", **look, "input_scope": "all"}]
    base = f"http://127.0.0.1:{server.port}"
    tree = config(routes=routes, models={"m": {"provider": "p", "model": "real"}, "c": {"provider": "claude"},
                                         "chat": {"provider": "chat"}},
                  providers={"p": {"kind": "openai", "base_url": f"{base}/v1"},
                             "claude": {"kind": "anthropic", "base_url": base},
                             "chat": {"kind": "openai", "base_url": f"{base}/v1", "dialects": ["chat"]}})  # fmt: skip
    del tree["openai"]
    yield module_weir(tree), server
    server.close()


def question(path, *texts):
    """A conversation whose last text is asked now."""
    roles = ["user" if (len(texts) - i) % 2 else "assistant" for i in range(len(texts))]
    return {"model": "m", PATHS[path]: [{"role": r, "content": t} for r, t in zip(roles, texts)]}


@pytest.mark.parametrize("path", PATHS)
def test_what_is_found_in_the_question(gateway, path):
    w, server = gateway
    body = question(path, f"Write to {MAIL}")
    told = w.api.post("/annotate" + path, json=body)
    assert told.status_code == 200 and told.json()["input_tokens"] == 7
    assert told.json()["detections"]["input"][0]["path"] == f"/{PATHS[path]}/0/content"
    assert server.requests[-1].path == path and server.requests[-1].json() == {**body, "model": "real"}
    assert openapi.answer_faults("POST", "/annotate" + path, told) == []

    n = len(server.requests)
    for is_stream in (False, True):
        blocked = w.api.post("/block" + path, json={**body, "stream": is_stream})
        assert blocked.status_code == 400 and "blocked" in blocked.json()["error"]["message"]
        assert blocked.json()["error"]["type"] == "invalid_request_error"
    assert len(server.requests) == n

    redacted = w.api.post("/redact" + path, json=body)
    assert redacted.json()["input_tokens"] == 7 and MAIL not in redacted.text
    assert server.requests[-1].json()[PATHS[path]][0]["content"] == "Write to [email_address]"


@pytest.mark.parametrize("path", PATHS)
def test_history_is_changed_and_does_not_block(gateway, path):
    w, server = gateway
    body = question(path, f"I am {MAIL}", "Hello", "Well?")
    assert w.api.post("/block" + path, json=body).status_code == 200
    sent = [m["content"] for m in server.requests[-1].json()[PATHS[path]]]
    assert sent == ["[removed]", "Hello", "Well?"]
    assert len(w.api.post("/all" + path, json=body).json()["detections"]["input"]) == 1


@pytest.mark.parametrize("route", ["redact", "block"])
@pytest.mark.parametrize("path", PATHS)
def test_a_count_is_numbers(gateway, path, route):
    w, server = gateway
    server.answer, usual = lambda request: reply({"input_tokens": 7, "note": f"ask {MAIL}", MAIL: 1}), server.answer
    try:
        told = w.api.post(f"/{route}{path}", json=question(path, "Hi"))
    finally:
        server.answer = usual
    assert told.json() == {"input_tokens": 7, "note": None}


@pytest.mark.parametrize("route", ["annotate", "redact", "block"])
def test_a_count_keeps_its_name(gateway, route):
    w, server = gateway
    for name, left in (("response.input_tokens", "response.input_tokens"), (f"count of {MAIL}", None)):
        server.answer, usual = lambda request, name=name: reply({"object": name, "input_tokens": 7}), server.answer
        try:
            told = w.api.post(f"/{route}/v1/responses/input_tokens", json=question("/v1/responses/input_tokens", "Hi"))
        finally:
            server.answer = usual
        assert told.json() == {"object": name if route == "annotate" else left, "input_tokens": 7}


@pytest.mark.parametrize("path", PATHS)
def test_what_is_clean_leaves_as_it_came(gateway, path):
    w, server = gateway
    text = json.dumps({**question(path, "Hi"), "temperature": 1.0}).replace('"temperature"', '  "temperature"')
    answer = w.api.post("/redact" + path, content=text, headers={"content-type": "application/json"})
    assert answer.status_code == 200
    assert server.requests[-1].body.decode() == text.replace('"m"', '"real"')


def test_headers_of_messages(gateway):
    w, server = gateway
    body = {**question("/v1/messages/count_tokens", "Hi"), "model": "c"}
    said = {"anthropic-version": "2024-01-01", "anthropic-beta": "a-1,b-2", "x-api-key": "callers"}
    assert w.api.post("/redact/v1/messages/count_tokens", json=body, headers=said).status_code == 200
    got = server.requests[-1].header
    assert got("anthropic-version") == "2024-01-01" and got("anthropic-beta") == "a-1,b-2"
    assert got("x-api-key") is None, "a provider without pass_caller_key gets no key of the caller's"


def test_a_provider_that_does_not_serve_it(gateway):
    w, _ = gateway
    for path in PATHS:
        answer = w.api.post("/redact" + path, json={**question(path, "Hi"), "model": "chat"})
        assert answer.status_code == 404 and "does not serve" in answer.json()["error"]["message"]
