"""What is personal goes to the model server as a token and comes back as itself."""

import json

import masking
import messages
import pytest
import questions
import responses
from masking import CHAT, MESSAGES, TEXT, chat, route, tokens

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
        message = {c: f"({c} {token})" for c in ("content", "reasoning", "reasoning_content", "refusal")}
        if not body.get("stream"):
            return message
        said = [masking.event({c: piece}) for c, text in message.items() for piece in text]
        return masking.services.events(*said, masking.event({}, "stop"), "[DONE]")

    world.says = say
    body = world.ask("mask", chat(MAIL))
    texts = masking.streams.gather(world.stream("mask", chat(MAIL)))["choices"][0]["texts"]
    for channel in ("content", "reasoning", "reasoning_content", "refusal"):
        assert body["choices"][0]["message"][channel] == f"({channel} {MAIL})"
        assert texts[channel] == f"({channel} {MAIL})"
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


# --- how it could be broken ---


@pytest.mark.parametrize("path", [CHAT, TEXT, MESSAGES])
def test_every_string_of_a_question(world, path):
    """A marker in every text of a request: none of them passes, and each has a token of its own."""
    form = questions.FORMATS[path]
    kinds = questions.kinds_of(form)
    texts = [i for i, kind in enumerate(kinds) if kind == "text"]
    answer = world.post("words", form(questions.Slots(lambda i, kind: kind == "text")), path=path)
    assert answer.status_code == 200, answer.text
    raw, sent = world.sent()
    assert "MRK" not in raw and "MRK" not in "".join(questions.strings(sent))
    seen = {token for text in questions.strings(sent) for token in tokens(text)}
    assert len(seen) == len(texts)
    told = [e["path"] for e in answer.json()["detections"]["input"]]
    assert len(told) == len(set(told)) and len(told) >= len(texts)


def test_a_value_that_looks_like_a_token(world):
    """It is a value like any other, also where a real token is its beginning."""
    world.ask("mask", chat(MAIL))
    real = tokens(world.sent()[0])[0]
    for value in ("PERSON_ABCDEFGHJK", real[:-1] + ("0" if real[-1] != "0" else "1"), real[:-3]):
        world.finds = lambda text: [] if value not in text else [
            {"start": text.index(value), "end": text.index(value) + len(value), "detection": "x",
             "detection_type": "y", "score": 0.9, "text": value}]  # fmt: skip
        world.says = last_text
        world.cut = list
        assert world.text("far", chat(f"see {value} now")) == f"see {value} now"
        assert value not in world.sent()[0]
        assert world.streamed_text("far", chat(f"see {value} now")) == f"see {value} now"


def test_halves_of_characters(world):
    """Surrogates that are cut between events, beside a token and inside of nothing."""
    def say(body):
        token = tokens(last_text(body))[0]
        pieces = ["\\ud83d", "\\ude00" + token[:5], token[5:] + "\\ud83d", "\\ude00", "x\\ud83d"]
        said = [json.dumps(masking.event({"content": "@"})).replace('"@"', f'"{p}"') for p in pieces]
        return masking.services.events(*said, masking.event({}, "stop"), "[DONE]")

    world.says = say
    assert world.streamed_text("mask", chat(MAIL)) == f"😀{MAIL}😀x\ufffd"


def test_a_caller_that_hangs_up(world):
    """Nothing is left behind, and the next one is served."""
    token = []

    def say(body):
        token[:] = tokens(last_text(body))
        return masking.services.events(masking.event({"content": token[0][:9]}), end=False)

    world.says = say
    with world.weir.client() as client:
        with client.stream("POST", "/mask/v1/chat/completions", json={**chat(MAIL), "stream": True}) as answer:
            assert answer.status_code == 200
    world.says = last_text
    assert world.text("mask", chat(MAIL)) == MAIL


def test_values_in_errors(world):
    """What a model server says of a request has no values in it to begin with."""
    world.says = lambda body: masking.reply(
        {"error": {"message": f"cannot read {last_text(body)} of {OTHER}", "type": "x", "code": None}}, 400)
    answer = world.post("mask", chat(MAIL))
    assert answer.status_code == 400 and OTHER not in answer.text and MAIL not in answer.text


def test_several_choices(world):
    def say(body):
        token = tokens(last_text(body))[0]
        said = [{"index": i, "message": {"role": "assistant", "content": f"{i} {token}"}, "finish_reason": "stop"}
                for i in range(3)]  # fmt: skip
        if not body.get("stream"):
            return masking.reply({**masking.answer(""), "choices": said})
        events = []
        for k in range(len(token) + 2):
            for i in range(3):
                text = f"{i} {token}"[k : k + 1]
                event = masking.event({"content": text})
                event["choices"][0]["index"] = i
                events.append(event)
        ends = [masking.event({}, "stop") for _ in range(3)]
        for i, event in enumerate(ends):
            event["choices"][0]["index"] = i
        return masking.services.events(*events, *ends, "[DONE]")

    world.says = say
    body = world.ask("mask", chat(MAIL, n=3))
    assert [c["message"]["content"] for c in body["choices"]] == [f"{i} {MAIL}" for i in range(3)]
    found = masking.streams.gather(world.stream("mask", chat(MAIL, n=3)))["choices"]
    assert [found[i]["texts"]["content"] for i in range(3)] == [f"{i} {MAIL}" for i in range(3)]


def test_batches(module_weir):
    """Restored text goes through batching like any other."""
    batching = {"batching": {"mode": "on", "max_latency_ms": 50}}
    other = masking.World(module_weir, route("mask", streaming=batching))
    other.says, other.cut = last_text, list
    assert other.streamed_text("mask", chat(f"Write to {MAIL}. Then to {CARD}.")) == (
        f"Write to {MAIL}. Then to {CARD}.")
    other.model.close()


# --- Messages ---


def message(text, **more):
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}], **more}


def test_messages(world):
    """Text and tool calls of Messages have their values, others' data is redacted."""
    def say(body):
        token = tokens(last_text(body))[0]
        return {"blocks": [{"type": "text", "text": f"To {token} and {OTHER}"},
                           {"type": "tool_use", "id": "t1", "name": "f", "input": {"to": token, "n": [f"<{token}>"]}}]}

    world.says = say
    body = world.ask("mask", message(MAIL), path=MESSAGES)
    assert MAIL not in world.sent()[0]
    text, call = body["content"]
    assert text["text"] == f"To {MAIL} and [email_address]"
    assert call["input"] == {"to": MAIL, "n": [f"<{MAIL}>"]}


def test_streamed_messages(world):
    def say(body):
        token = tokens(last_text(body))[0]
        call = json.dumps({"to": token})
        said = [{"type": "message_start", "message": {
                    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                    "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                *[{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": p}}
                  for p in f"To {token} and {OTHER} now"],
                {"type": "content_block_stop", "index": 0},
                {"type": "content_block_start", "index": 1,
                 "content_block": {"type": "tool_use", "id": "t1", "name": "f", "input": {}}},
                *[{"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": p}}
                  for p in call],
                {"type": "content_block_stop", "index": 1},
                {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None},
                 "usage": {"output_tokens": 2}},
                {"type": "message_stop"}]  # fmt: skip
        return named(said)

    world.says = say
    answer = world.post("mask", message(MAIL, stream=True), path=MESSAGES)
    assert answer.status_code == 200, answer.text
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    deltas = [(e["index"], e["delta"]) for e in events if e["type"] == "content_block_delta"]
    assert "".join(d["text"] for i, d in deltas if i == 0) == f"To {MAIL} and [email_address] now"
    assert json.loads("".join(d["partial_json"] for i, d in deltas if i == 1)) == {"to": MAIL}


def named(said):
    """Events with their names, as Messages has them."""
    yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    for event in said:
        data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        yield f"{len(data):x}\r\n".encode() + data + b"\r\n"
    yield b"0\r\n\r\n"


def cited(token):
    """Citations, what a server's own tool was asked and what it found."""
    citation = {"type": "char_location", "cited_text": f"Mail of {token}.", "document_index": 0,
                "document_title": token, "start_char_index": 0, "end_char_index": 9}  # fmt: skip
    linked = {"type": "web_search_result_location", "cited_text": "c", "title": "t",
              "url": f"mailto:{token}", "encrypted_index": "RXhhbXBsZQ=="}  # fmt: skip
    found = [{"type": "web_search_result", "title": f"About {token}", "page_age": None,
              "url": f"{link}{token}", "encrypted_content": "RXhhbXBsZQ=="}
             for link in ("https://evil.example/\n", "https://evil.example/ ", "mailto:")]  # fmt: skip
    return [citation, linked], {"query": f"who is {token}"}, found


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
def test_citations_and_tools_of_the_server(world, is_stream):
    def say(body):
        citations, query, found = cited(tokens(last_text(body))[0])
        call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}
        if not is_stream:
            return {"blocks": [{**call, "input": query}, result,
                               {"type": "text", "text": "See.", "citations": citations}]}
        text = messages.text(2, "See.")
        text[-1:-1] = [messages.delta(2, "citations_delta", citation=citation) for citation in citations]
        return messages.stream(messages.message(
            [messages.opened(0, call), messages.delta(0, "input_json_delta", partial_json=json.dumps(query)),
             messages.closed(0)], [messages.opened(1, result), messages.closed(1)], text))  # fmt: skip

    world.says = say
    answer = world.post("mask", message(MAIL, stream=is_stream), path=MESSAGES)
    assert answer.status_code == 200, answer.text
    parts = messages.read(answer.text) if is_stream else [answer.json()]
    said = json.dumps(parts, ensure_ascii=False)
    for text in (f"Mail of {MAIL}.", f"About {MAIL}", f'"document_title": "{MAIL}"'):
        assert text in said, said
    assert f"who is {MAIL}" in said, said
    for link, n in (("https://evil.example/\\n", 1), ("https://evil.example/ ", 1), ("mailto:", 2)):
        assert said.count(f'"url": "{link}EMAIL_ADDRESS_') == n, said  # a link is not for values


LINKS = ("evil.example/ ", "mailto:")  # in a member that is a URL, neither has values


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
def test_annotations_of_responses(world, is_stream):
    def say(body):
        token = tokens(body["input"])[0]
        notes = [{"type": "url_citation", "start_index": 0, "end_index": 3, "title": f"Of {token}",
                  "url": f"{link}{token}"} for link in LINKS]  # fmt: skip
        search = {"type": "web_search_call", "id": "ws_1", "status": "completed",
                  "action": {"type": "open_page", "url": f"mailto:{token}", "query": f"of {token}"}}  # fmt: skip
        searched = [responses.added(0, {**search, "status": "in_progress"}), responses.done(0, search)]
        said = responses.answer((searched, search), responses.say(1, "See", " it", annotations=notes))
        return responses.stream(said) if is_stream else masking.reply(said[-1]["response"])

    world.says = say
    body = {"model": "m", "input": MAIL, "stream": is_stream}
    answer = world.post("mask", body, path=responses.PATH)
    assert answer.status_code == 200, answer.text
    whole = responses.gather(responses.read(answer.text)).response if is_stream else answer.json()
    search, said = whole["output"]
    assert search["action"]["url"].startswith("mailto:EMAIL_ADDRESS_")
    assert search["action"]["query"] == f"of {MAIL}"
    notes = said["content"][0]["annotations"]
    assert len(notes) == len(LINKS)
    for note, link in zip(notes, LINKS):
        assert note["title"] == f"Of {MAIL}"
        assert note["url"].startswith(f"{link}EMAIL_ADDRESS_")
