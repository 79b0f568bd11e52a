"""Masking as outsiders see it: a real client that calls tools, and a benchmark made for this."""

import json
import os
import socket
import subprocess

import masking
import messages
import pyclients
import pytest
import responses
from masking import route, tokens

MAIL = "jane@example.org"
PHONE = "(212) 555-0187"
CARD = "4111 1111 1111 1111"
OTHER = "bob@else.example"
TURNS = [f"I am {MAIL}, who am I?", f"Write to me, and to {OTHER.upper()}.", "What is my number?",
         f"Pay with {CARD}.", "Sum up."]  # fmt: skip


def play(body):
    """A model that knows tokens only: it calls a tool with the first one it was told, then says all."""
    last = body["messages"][-1]
    seen = []
    for message in body["messages"]:
        found = tokens(message.get("content") or "")
        seen += [token for token in found if token not in seen]
    n_asked = sum(m["role"] == "user" for m in body["messages"])
    if last["role"] == "user" and n_asked < 5:
        name = "find" if n_asked % 2 else "send"
        call = {"id": f"c{len(body['messages'])}", "type": "function",
                "function": {"name": name, "arguments": json.dumps({"to": seen[0]})}}  # fmt: skip
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    return {"role": "assistant", "content": "Told: " + ", ".join(seen) + "."}, "stop"


def serve(body):
    message, finish = play(body)
    if not body.get("stream"):
        return masking.reply({**masking.answer(message), "choices": [
            {"index": 0, "message": message, "finish_reason": finish}]})  # fmt: skip
    if message["content"] is not None:
        text = message["content"]
        said = [masking.event({"role": "assistant", "content": text[i : i + 3]}) for i in range(0, len(text), 3)]
    else:
        call = message["tool_calls"][0]
        arguments = call["function"]["arguments"]
        head = {**call, "index": 0, "function": {"name": call["function"]["name"], "arguments": ""}}
        said = [masking.event({"role": "assistant", "tool_calls": [head]})]
        said += [masking.event({"tool_calls": [{"index": 0, "function": {"arguments": arguments[i : i + 5]}}]})
                 for i in range(0, len(arguments), 5)]  # fmt: skip
    return masking.services.events(*said, masking.event({}, finish), "[DONE]")


@pyclients.needed
@pytest.mark.parametrize("stream", [False, True])
def test_five_turns_with_tools(module_weir, stream):
    """The tools receive real values, the model server none, and the caller reads its own."""
    world = masking.World(module_weir, route("mask"))
    world.says = serve
    result = {"find": {"mail": "{to}", "phone": PHONE}, "send": "sent to {to}"}
    job = {"base": world.weir.url("/mask/v1"), "key": "none", "stream": stream, "turns": TURNS, "result": result}
    check_turns(world, pyclients.run("turns.py", [job])[0])


def check_turns(world, told):
    assert told["called"] == [[name, {"to": MAIL}] for name in ("find", "send", "find", "send")]
    assert told["said"] == [
        f"Told: {MAIL}, {PHONE}.", f"Told: {MAIL}, {PHONE}, {OTHER.upper()}.",
        f"Told: {MAIL}, {PHONE}, {OTHER.upper()}.", f"Told: {MAIL}, {PHONE}, {OTHER.upper()}, {CARD}.",
        f"Told: {MAIL}, {PHONE}, {OTHER.upper()}, {CARD}."]  # fmt: skip
    assert len(world.model.requests) == 9
    for request in world.model.requests:
        body = request.body.decode().lower()
        for value in (MAIL, PHONE, OTHER, CARD, "5550187", "4111"):
            assert value not in body
    world.model.close()


def texts_of(body):
    """All that was said to the model, in order."""
    def strings(node):
        if isinstance(node, str):
            return [node]
        return [text for one in (node.values() if isinstance(node, dict) else node or [])
                for text in strings(one)] if isinstance(node, (dict, list)) else []  # fmt: skip

    return strings(body.get("messages") or body.get("input"))


def is_question(one):
    return one.get("role") == "user" and isinstance(one["content"], str)


def serve_row(body):
    """The same model in Messages and in Responses."""
    said = body.get("messages") or body["input"]
    seen = list(dict.fromkeys(token for text in texts_of(body) for token in tokens(text)))
    n_asked = sum(is_question(one) for one in said)
    name, number = "find" if n_asked % 2 else "send", len(said)
    is_call = is_question(said[-1]) and n_asked < 5
    words, arguments = "Told: " + ", ".join(seen) + ".", json.dumps({"to": seen[0]})
    cut = lambda text, n: [text[i : i + n] for i in range(0, len(text), n)]  # noqa: E731
    if "messages" in body:
        block = messages.tool(0, name, *cut(arguments, 5), call=f"toolu_{number}")
        events = messages.message(block if is_call else messages.text(0, *cut(words, 3)))
        return messages.stream(events) if body.get("stream") else {"blocks": messages.gather(events)["content"]}
    item = responses.call(0, name, *cut(arguments, 5), id=f"fc_{number}", call_id=f"call_{number}")
    events = responses.answer(item if is_call else responses.say(0, *cut(words, 3), id=f"msg_{number}"))
    return responses.stream(events) if body.get("stream") else masking.reply(events[-1]["response"])


@pyclients.needed
@pytest.mark.parametrize("api", ["messages", "responses"])
@pytest.mark.parametrize("stream", [False, True])
def test_five_turns_with_tools_of_other_apis(module_weir, api, stream):
    world = masking.World(module_weir, route("mask"))
    world.says = serve_row
    result = {"find": {"mail": "{to}", "phone": PHONE}, "send": "sent to {to}"}
    job = {"api": api, "base": world.weir.url("/mask"), "stream": stream, "turns": TURNS, "result": result}
    check_turns(world, pyclients.run("turns_rows.py", [job])[0])


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pyclients.needed
def test_pii_leak_benchmark(module_weir, tmp_path):
    """pii-leak-benchmark-v2: values come back, others' are taken out, at every split, and the
    requests are clean. Its social security numbers are in a range that is never given out, which
    `us-ssn` knows: hence the pattern."""
    port = free_port()
    both = {"pii": {}, "keys": {}}
    tree = masking.config(port, route("mask", input=both, output=both))
    tree["detectors"]["pii"]["params"]["regex"] += [r"\b\d{3}-\d{2}-\d{4}\b"]
    weir = module_weir(tree, env=masking.ENV)
    env = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    env["PYTHONPATH"] = str(pyclients.PACKAGES)
    command = ["/usr/bin/python3", "-m", "pii_leak_benchmark.v2_cli", "--out", str(tmp_path), "--only", "weir",
               "--gateway-url", weir.url("/mask/v1/chat/completions"), "--upstream-port", str(port),
               "--seed", "a1b2c3d4e5f60001", "--json-out", str(tmp_path / "summary.json"),
               "--exhaustive-splits", "--partial-emission"]  # fmt: skip
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500)
    row = json.loads((tmp_path / "summary.json").read_text())["rows"][0]
    assert row["outcome"] == "pass", done.stdout + json.dumps(row)
    assert (row["fidelity_rate"], row["delta_frag"]) == (1.0, 0.0)
    assert (row["leak_single_chunk"], row["leak_adversarial"]) == (0.0, 0.0)
    assert row["request_path_leak"] == [] and row["inconclusive"] == 0 and row["cases_attempted"] >= 32
    assert "partial-emission=0.0" in done.stdout
