"""The server with no configuration at all, and the demonstration model that answers in it."""

import json
import re
import time

import clients
import harness
import pytest
import streams
from streams import CHAT, TEXT

LABEL = "This is weir's demonstration model"
WEATHER = {
    "type": "function",
    "function": {
        "name": "send_report",
        "parameters": {
            "type": "object",
            "properties": {"email": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["email", "days"],
        },
    },
}


@pytest.fixture(scope="module")
def w(module_weir):
    return module_weir()


def body(prompt="hi", detectors=None, **members):
    detectors = detectors or {"output": {"regex": {}, "secrets": {}}}
    messages = [{"role": "user", "content": prompt}]
    return {"model": "any", "messages": messages, "detectors": detectors, **members}


def ask(w, path=CHAT, **members):
    answer = w.api.post(path, json=body(**members))
    assert answer.status_code == 200, answer.text
    return answer.json()


def stream(w, path=CHAT, **members):
    answer = w.api.post(path, json=body(stream=True, **members))
    assert answer.status_code == 200, answer.text
    return streams.events(answer.text)


def found(answer):
    return [
        (choice["choice_index"], result["detection"])
        for choice in answer.get("detections", {}).get("output", [])
        for result in choice["results"]
    ]


def test_the_file_to_try_things_out_with(weir):
    """Its own comment has the request and the page; nothing but the server is needed."""
    path = harness.ROOT / "config" / "try-it.yaml"
    server = weir(path)
    words = re.sub(r"^#", "", path.read_text(), flags=re.M)
    where, asked = re.search(r"localhost:8033(\S+) -H.*?-d '(.+?)'", words, re.S).groups()
    kinds = ["email_address", "us-phone-number", "credit_card", "github_token"]
    answer = server.api.post(where, json=json.loads(asked)).json()
    assert [kind for _, kind in found(answer)] == kinds
    assert all(f"[{kind}]" in answer["choices"][0]["message"]["content"] for kind in kinds)
    told = server.api.post("/v1/chat/completions", json=json.loads(asked)).json()
    assert [kind for _, kind in found(told)] == kinds
    blocked = server.api.post("/block/v1/chat/completions", json=json.loads(asked)).json()
    assert blocked["choices"][0]["finish_reason"] == "content_filter"
    assert server.api.get("/").headers["content-type"].startswith("text/html")
    routes = server.api.get("/playground/info").json()["routes"]
    assert [route["name"] for route in routes] == ["default", "block", "redact"]


def test_the_first_request_shows_something(w):
    answer = ask(w)
    assert answer["model"] == answer["system_fingerprint"] == "weir-demo"
    content = answer["choices"][0]["message"]["content"]
    assert content.startswith(LABEL)
    kinds = [kind for _, kind in found(answer)]
    assert kinds == ["email_address", "us-phone-number", "credit_card", "github_token"]
    for result in answer["detections"]["output"][0]["results"]:
        assert content[result["start"] : result["end"]] == result["text"]
    assert answer["warnings"][0]["type"] == "UNSUITABLE_OUTPUT"
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.parametrize(
    "prompt, detectors, kinds",
    [
        ("something clean", {"regex": {}, "secrets": {}, "links": {}, "unicode": {}}, set()),
        ("secrets", {"secrets": {}}, {"aws_access_key_id", "github_token"}),
        ("links", {"links": {}}, {"url", "markdown_image"}),
        ("hidden", {"unicode": {}}, {"homoglyph", "invisible", "bidi_control"}),
        ("languages", {"regex": {}}, {"email_address"}),
        ("a long one", {"regex": {}}, {"email_address", "iban"}),
        ("rude", {"keywords": {"deny": ["idiot", "stupid"]}}, {"idiot", "stupid"}),
    ],
)
def test_each_answer_has_its_findings(w, prompt, detectors, kinds):
    answer = ask(w, prompt=prompt, detectors={"output": detectors})
    assert LABEL in answer["choices"][0]["message"]["content"]
    assert {kind for _, kind in found(answer)} >= kinds
    assert kinds or not found(answer)


@pytest.mark.parametrize("path, name", [(CHAT, "content"), (TEXT, "text")])
def test_streams_say_the_same(w, path, name):
    asked = body(prompt="clean", n=2, max_tokens=30)
    if path == TEXT:
        asked["prompt"] = asked.pop("messages")[0]["content"]
    whole = w.api.post(path, json=asked).json()
    asked.update(stream=True, stream_options={"include_usage": True})
    began = time.monotonic()
    told = streams.gather(streams.events(w.api.post(path, json=asked).text))
    assert time.monotonic() - began > 0.5  # thirty tokens at forty a second
    assert told["usage"] == whole["usage"]
    for choice in whole["choices"]:
        said = choice if path == TEXT else choice["message"]
        mine = told["choices"][choice["index"]]
        assert mine["texts"]["content"] == said[name]
        assert mine["finish"] == [choice["finish_reason"]] == ["length"]


def test_tools_and_their_result(w):
    answer = ask(w, tools=[WEATHER])
    choice = answer["choices"][0]
    assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None
    call = choice["message"]["tool_calls"][0]
    assert call["function"]["name"] == "send_report"
    arguments = json.loads(call["function"]["arguments"])
    assert arguments == {"email": "demo@example.com", "days": 1}
    told = streams.gather(stream(w, tools=[WEATHER]))["choices"][0]
    assert json.loads(told["calls"][0]["arguments"]) == arguments
    asked = body()
    asked["messages"] += [
        choice["message"],
        {"role": "tool", "tool_call_id": call["id"], "content": "sent"},
    ]
    asked["tools"] = [WEATHER]
    after = w.api.post(CHAT, json=asked).json()
    assert "The tool has answered" in after["choices"][0]["message"]["content"]


def test_reasoning_is_a_channel(w):
    answer = ask(w, prompt="reasoning please")
    assert "thinker@example.net" in answer["choices"][0]["message"]["reasoning_content"]
    told = streams.gather(stream(w, prompt="reasoning please", max_tokens=40))
    assert told["choices"][0]["texts"]["reasoning_content"].startswith("The question")


def test_input_findings_count_tokens(w):
    answer = ask(w, prompt="mail bob@example.com", detectors={"input": {"regex": {}}})
    assert answer["choices"] == []
    assert answer["usage"]["prompt_tokens"] == 3


def test_mistakes_are_told(w):
    answer = w.api.post(CHAT, json=body(n=1000))
    assert answer.status_code == 400
    assert "`n` must be a whole number from 1 to 128" in answer.json()["details"]


def test_a_caller_who_goes(w):
    with w.unharmed():
        with w.client().stream("POST", CHAT, json=body(prompt="long", stream=True)) as answer:
            next(answer.iter_lines())


def test_info_says_what_it_is(w):
    services = w.health.get("/info").json()["services"]
    assert services["openai"]["status"] == "HEALTHY"
    assert "demonstration" in services["openai"]["reason"]
    assert w.health.get("/readyz").status_code == 200


@clients.needed
def test_the_npm_client_accepts_it(w):
    jobs = [
        {"base": w.url(), "path": CHAT, "body": {"detectors": {"output": {"regex": {}}}}, "ask": one}
        for one in (
            {"model": "m", "messages": [{"role": "user", "content": "clean"}]},
            {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [WEATHER]},
        )
    ]
    text, call = clients.run("openai.cjs", jobs)
    assert text["content"].startswith(LABEL)
    assert text["completion"]["choices"][0]["finish_reason"] == "stop"
    assert json.loads(call["calls"][0]["arguments"])["email"] == "demo@example.com"


def test_the_start_tells_where_the_page_is(w):
    address = w.wait_log("playground")["address"]
    assert address == f"http://127.0.0.1:{w.api_port}/"
    assert "weir playground" in w.api.get("/").text
