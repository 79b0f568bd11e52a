"""Canary words: a word in the system text that no answer may have."""

import base64
import json
import re

import pytest
import service as services
import streams
from service import events, reply

KEY = "a key of sixteen bytes or more"
WORD = re.compile(r"[a-z2-7]{20}")
FORMS = {
    "plain": lambda w: w,
    "capital": str.upper,
    "spaced": lambda w: " ".join(w),
    "dashed": lambda w: "-".join(w.upper()),
    "reversed": lambda w: w[::-1],
    "base64": lambda w: base64.b64encode(f"it is {w}, ok".encode()).decode(),
}


class Model(services.Service):
    """Says the last line of its system text, in the form it is asked for."""

    def __init__(self):
        super().__init__(self.say)

    def say(self, request):
        asked = request.json()
        system = asked.get("system") or next(
            (m["content"] for m in asked["messages"] if m["role"] in ("system", "developer")), "")
        text = system if isinstance(system, str) else system[-1]["text"]
        form = asked["messages"][-1]["content"]
        word = text.rsplit("\n", 1)[-1]
        if form == "error":
            return reply({"error": {"message": f"cannot read {word} here"}}, status=400)
        said = f"Well: {FORMS[form](word)} and so on." if form in FORMS else "Nothing."
        if request.path.endswith("/messages"):
            return reply({"id": "m", "type": "message", "role": "assistant", "model": "m",
                          "content": [{"type": "text", "text": said}], "usage": {},
                          "stop_reason": "end_turn"})  # fmt: skip
        if asked.get("stream"):
            pieces = [{"delta": {"content": said[i : i + 3]}} for i in range(0, len(said), 3)]
            pieces.append({"delta": {}, "finish_reason": "stop"})
            return events(*({"id": "1", "choices": [{"index": 0, **p}]} for p in pieces), "[DONE]")
        message = {"role": "assistant", "content": said}
        if form == "called":
            call = {"name": "send", "arguments": json.dumps({"to": word.upper()})}
            message = {**message, "tool_calls": [{"id": "t", "type": "function", "function": call}]}
        return reply({"id": "1", "object": "chat.completion", "created": 1, "model": "m",
                      "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})  # fmt: skip


@pytest.fixture(scope="module")
def stage(module_weir):
    model = Model()
    keyed = {"canary": {"key_env": "CANARY_KEY"}}
    config = {
        "openai": {"service": model.config()},
        "routes": [{"name": "default", **keyed},
                   {"name": "block", **keyed, "on_detection": "block", "fallback_message": "No."},
                   {"name": "redact", **keyed, "on_detection": "redact"},
                   {"name": "given", "canary": {"words": ["blue heron 42"]},
                    "on_detection": "block", "fallback_message": "No."}],
    }  # fmt: skip
    w = module_weir(config, args=["--workers", "1"], env={"CANARY_KEY": KEY})
    w.model = model
    return w


def ask(w, route, form, system="Be kind.", **more):
    messages = [{"role": "user", "content": form}]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    body = {"model": "m", "messages": messages, **more}
    answer = w.api.post(f"/{route}/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    return answer


def sent(w):
    return [r for r in w.model.requests if r.method == "POST"][-1].json()


def test_the_word_is_the_last_line_of_the_system_text(stage):
    ask(stage, "block", "nothing")
    text = sent(stage)["messages"][0]["content"]
    lines = text.split("\n")
    assert lines[0] == "Be kind." and WORD.fullmatch(lines[1]) and len(lines) == 2
    ask(stage, "block", "nothing")
    assert sent(stage)["messages"][0]["content"] == text  # the same all day
    ask(stage, "redact", "nothing")
    assert sent(stage)["messages"][0]["content"] != text  # another route's


def test_parts_and_messages(stage):
    parts = [{"type": "text", "text": "Be kind."}, {"type": "text", "text": "Be brief."}]
    ask(stage, "block", "nothing", system=parts)
    first, last = sent(stage)["messages"][0]["content"]
    assert first["text"] == "Be kind." and WORD.fullmatch(last["text"].split("\n")[1])
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "plain"}]}
    answer = stage.api.post("/block/v1/messages", json={**body, "system": "Be kind."})
    word = sent(stage)["system"].split("\n")[1]
    assert WORD.fullmatch(word) and word not in answer.text and "No." in answer.text


def test_none_is_added_where_there_is_none(stage):
    ask(stage, "block", "nothing", system=None)
    assert sent(stage)["messages"] == [{"role": "user", "content": "nothing"}]


@pytest.mark.parametrize("form", FORMS)
def test_it_is_found_in_every_form(stage, form):
    blocked = ask(stage, "block", form)
    word = sent(stage)["messages"][0]["content"].split("\n")[1]
    assert blocked.json()["choices"][0]["message"]["content"] == "No."
    (result,) = blocked.json()["detections"]["output"][0]["results"]
    assert (result["detector_id"], result["detection"]) == ("canary", "canary")
    redacted = ask(stage, "redact", form).json()["choices"][0]["message"]["content"]
    assert "[canary]" in redacted and word not in redacted.lower()
    told = ask(stage, "default", form).json()
    assert told["detections"]["output"][0]["results"][0]["detection"] == "canary"
    streamed = streams.events(ask(stage, "redact", form, stream=True).text)
    assert streams.gather(streamed)["choices"][0]["texts"]["content"] == redacted


def test_tool_calls_are_looked_at(stage):
    answer = ask(stage, "block", "called").json()
    assert answer["choices"][0]["message"]["content"] == "No."
    assert "tool_calls" not in answer["choices"][0]["message"]


def test_words_that_are_given_are_not_added(stage):
    answer = ask(stage, "given", "spaced", system="We call it:\nBlue Heron-42").json()
    assert sent(stage)["messages"][0]["content"] == "We call it:\nBlue Heron-42"
    assert answer["choices"][0]["message"]["content"] == "No."


def test_what_is_wrong_is_said(weir):
    for canary, why in (
        ({}, "`canary` needs `words` or `key_env`, and not both"),
        ({"words": ["short"]}, "has not 8 to 64 letters and digits"),
        ({"words": []}, "at least one word"),
        ({"key_env": "SHORT_KEY"}, "is shorter than 16 bytes"),
        ({"key_env": "NOWHERE"}, "is not set"),
    ):
        tree = {"openai": {"builtin": "demo"}, "routes": [{"name": "a", "canary": canary}]}
        done = weir.run("--check-config", "--config", weir.write_config(tree),
                        env={"SHORT_KEY": "short"})  # fmt: skip
        assert done.returncode != 0 and why in done.stdout.decode() + done.stderr.decode()


@pytest.mark.parametrize("route", ["block", "redact"])
def test_not_in_an_error_of_the_model_server_either(stage, route):
    system = {"role": "system", "content": "Be kind."}
    body = {"model": "m", "messages": [system, {"role": "user", "content": "error"}]}
    answer = stage.api.post(f"/{route}/v1/chat/completions", json=body)
    assert answer.status_code == 400
    sent = json.loads(stage.model.requests[-1].body)["messages"][0]["content"]
    [word] = WORD.findall(sent)
    assert word not in answer.text
