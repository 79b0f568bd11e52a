"""Routes with policies, end to end: who is let in, what is checked, what findings lead to."""

import json

import harness
import mock as mocks
import policies
import pytest
import streams
from policies import CARD, CHAT, FALLBACK, MAIL, REFUSAL, TEXT, ask, findings, post, said, stream
from service import events as sse
from service import reply

GUARDED = "output=content,reasoning,reasoning_content,refusal,audio.transcript,tool_calls"
BATCHED = {"batching": {"mode": "on", "min_chars_per_emit": 400}, "coalescer": {"mode": "on"}}
ROUTES = [
    {"name": "whole", "output": {"doc": {"regex": "X-[0-9]+", "detection": "Code"}},
     "on_detection": "redact"},
    {"name": "history-warn", "input": {"pii": {}}, "history": "warn"},
    {"name": "history-reject", "input": {"pii": {}}, "history": "reject"},
    {"name": "open", "unguarded": True},
    {"name": "silent", "output": {"pii": {}}, "on_detection": "redact", "redact_with": ""},
    {"name": "named", "output": {"pii": {}}, "on_detection": "redact",
     "redact_with": "<{detector_id}:{detection_type}/{detection}>"},
    {"name": "system", "input": {"pii": {}}, "on_detection": "block",
     "input_roles": ["system", "tool"]},
    {"name": "pass", "output": {"pii": {}}, "on_detection": "block", "unknown_members": "pass"},
    {"name": "keys", "output": {"keys": {}}, "on_detection": "redact"},
    {"name": "far", "output": {"far": {"regex": "X-[0-9]+"}}, "on_detection": "block"},
    {"name": "slow", "output": {"far": {"regex": "X-[0-9]+", "delay_ms": 100}},
     "on_detection": "block"},
    {"name": "slow-redact", "output": {"far": {"regex": "X-[0-9]+", "delay_ms": 100}},
     "on_detection": "redact"},
    {"name": "block-batched", "output": {"pii": {}}, "on_detection": "block",
     "fallback_message": FALLBACK, "streaming": BATCHED},
    {"name": "redact-batched", "output": {"pii": {}}, "on_detection": "redact", "streaming": BATCHED},
    {"name": "chat", "output": {"whole": {"find": "all"}}, "on_detection": "redact"},
    {"name": "pair", "output": {"pair": {"find": "all"}}, "on_detection": "block"},
]  # fmt: skip


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1, "--log-level", "debug")
    servers.stop_all()


@pytest.fixture(scope="module")
def gateway(module_weir, m):
    return module_weir(policies.config(m, ROUTES))


def value(gateway, name, **labels):
    """One sample of the metrics, 0 where it is not there."""
    wanted = "{" + ",".join(f'{key}="{text}"' for key, text in labels.items()) + "}"
    for line in gateway.health.get("/metrics").text.splitlines():
        if line.startswith(name + wanted + " "):
            return float(line.split()[-1])
    return 0


# --- names ---


def test_a_route_guards_its_own_endpoints(gateway):
    for path, body in ((CHAT, ask()), (TEXT, ask(path=TEXT))):
        assert post(gateway, "block", body, path).headers["x-weir-route"] == "block"
        assert post(gateway, None, body, path).headers["x-weir-route"] == "default"
        assert post(gateway, "default", body, path).headers["x-weir-route"] == "default"
    for path in ("/v1/models", "/redact/v1/models"):
        answer = gateway.api.get(path)
        assert answer.status_code == 200
        assert answer.json()["object"] == "list" and answer.json()["data"]
        assert answer.headers["x-weir-route"] in ("default", "redact")


@pytest.mark.parametrize("path", ["/nobody/v1/chat/completions", "/block/v1", "/block/v1/nothing",
                                  "/block", "/block/v2/chat/completions", "/Block/v1/models",
                                  "/block/v1/chat/completions/"])  # fmt: skip
def test_other_paths_are_not_there(gateway, path):
    answer = gateway.api.post(path, json=ask())
    assert answer.status_code == 404, path


def test_a_wrong_method_is_405_in_openai_shape(gateway):
    answer = gateway.api.get("/block/v1/chat/completions")
    assert answer.status_code == 405 and "POST" in answer.headers["allow"]
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert gateway.api.post("/block/v1/models", json={}).status_code == 405


def test_without_a_default_route_there_is_no_unguarded_way_in(weir, mock):
    tree = policies.config(mock())
    tree["routes"] = tree["routes"][1:]
    w = weir(tree)
    for path in (CHAT, TEXT):
        answer = w.api.post(path, json=ask(path=path))
        assert answer.status_code == 404
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert w.api.get("/v1/models").status_code == 404
    assert post(w, "block", ask()).status_code == 200


@pytest.mark.parametrize("name", ["api", "v1", "health", "info", "metrics", "registry", "A", "-a",
                                  "_a", "a.b", "a/b", "", "a" * 65])  # fmt: skip
def test_names_that_are_none(weir, mock, name):
    tree = policies.config(mock(), [{"name": name, "output": {"pii": {}}}])
    with pytest.raises(harness.StartFailed):
        weir(tree)


def test_a_route_without_detectors_must_say_so(weir, mock, gateway):
    with pytest.raises(harness.StartFailed, match="unguarded"):
        weir(policies.config(mock(), [{"name": "bare"}]))
    answer = post(gateway, "open", ask(mock={"text": MAIL}))
    assert answer.json()["choices"][0]["message"]["content"] == MAIL
    assert "detections" not in answer.json()
    assert answer.headers["x-weir-guarded"] == "input=none; output=none; unguarded=all"


def test_placeholders_are_known(weir, mock):
    bad = {"name": "bad", "output": {"pii": {}}, "on_detection": "redact", "redact_with": "{what}"}
    with pytest.raises(harness.StartFailed, match="placeholder"):
        weir(policies.config(mock(), [bad]))


# --- what callers may say ---


@pytest.mark.parametrize("path", [CHAT, TEXT])
@pytest.mark.parametrize("is_stream", [False, True])
def test_detectors_are_the_routes_choice(gateway, path, is_stream):
    body = ask(path=path, detectors={"input": {"pii": {}}}, stream=is_stream)
    answer = post(gateway, "block", body, path)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error" and "detectors" in error["message"]
    assert post(gateway, "block", ask(path=path, detectors=None), path).status_code == 200


@pytest.mark.parametrize("body", [{}, {"model": "", "messages": [{}]}, {"model": "m"},
                                  {"model": "m", "messages": []}, {"model": 1, "messages": [{}]},
                                  {"model": "m", "messages": ["hi"]}, [], "x"])  # fmt: skip
def test_mistakes_are_told_in_openai_shape(gateway, body):
    answer = post(gateway, "block", body)
    is_wrong_type = body in ({"model": 1, "messages": [{}]}, {"model": "m", "messages": ["hi"]})
    assert answer.status_code == (400 if is_wrong_type else 422)
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


def test_public_api_false_closes_what_callers_choose(weir, mock):
    w = weir(policies.config(mock(), public_api=False))
    closed = ["/api/v2/chat/completions-detection", "/api/v2/text/completions-detection",
              "/api/v1/task/classification-with-text-generation",
              "/api/v1/task/server-streaming-classification-with-text-generation",
              "/api/v2/text/generation-detection"]  # fmt: skip
    for path in closed:
        assert w.api.post(path, json={}).status_code == 404, path
    content = {"content": MAIL, "detectors": {"pii": {}}}
    assert w.api.post("/api/v2/text/detection/content", json=content).status_code == 200
    assert post(w, None, ask()).status_code == 200


def test_compat_does_not_reach_routes(weir, mock):
    w = weir(policies.config(mock(), compat="fms"))
    answer = post(w, None, ask())
    assert answer.status_code == 200 and answer.headers["x-weir-policy"] == "annotate"
    assert post(w, "redact", ask(mock={"text": f"It is {MAIL}."})).json()["choices"][0]["message"][
        "content"
    ] == "It is [email_address]."
    events = stream(w, "redact", ask(mock={"text": f"It is {MAIL}."}))
    assert said(events)["content"] == "It is [email_address]."
    mistake = post(w, None, ask(mock={"status": 404, "fail_rate": 1}, stream=True))
    assert mistake.status_code == 404 and mistake.json()["error"]["code"] is not None


# --- headers, metrics ---


@pytest.mark.parametrize("is_stream", [False, True])
def test_headers(gateway, is_stream):
    expected = {None: ("default", "annotate", GUARDED), "block": ("block", "block", GUARDED),
                "redact": ("redact", "redact", GUARDED)}  # fmt: skip
    for route, (name, policy, guarded) in expected.items():
        headers = post(gateway, route, ask(stream=is_stream)).headers
        assert headers["x-weir-route"] == name
        assert headers["x-weir-policy"] == policy
        assert headers["x-weir-guarded"].split("; ")[1] == guarded
    refused = post(gateway, "block", ask(detectors={}, stream=is_stream))
    assert refused.headers["x-weir-route"] == "block"


@pytest.mark.parametrize("is_stream", [False, True])
def test_what_is_counted(gateway, is_stream):
    def count(route, action, side):
        return value(gateway, "weir_policy_total", route=route, action=action, side=side)

    cases = [
        ("default", "Hi", "Fine.", "pass", "pass"),
        ("default", MAIL, f"{MAIL}.", "annotate", "annotate"),
        ("redact", MAIL, f"{MAIL}.", "redact", "redact"),
        ("block", "Hi", f"{MAIL}.", "pass", "block"),
        ("block", MAIL, "Fine.", "block", None),
    ]
    for route, question, text, on_input, on_output in cases:
        actions = [(a, s) for a in ("pass", "annotate", "block", "redact") for s in ("input", "output")]
        before = {key: count(route, *key) for key in actions}
        post(gateway, route, ask(question, {"text": text}, stream=is_stream))
        changed = {key for key in actions if count(route, *key) != before[key]}
        expected = {(on_input, "input")} | ({(on_output, "output")} if on_output else set())
        assert changed == expected, (route, question)


@pytest.mark.parametrize("is_stream", [False, True])
def test_unknown_members_are_dropped_and_counted(gateway, is_stream):
    body = ask(mock={"text": "Fine.", "scenario": "unknown"}, stream=is_stream)
    before = value(gateway, "weir_unknown_members_total", route="block")
    dropped = post(gateway, "block", body).text
    assert value(gateway, "weir_unknown_members_total", route="block") > before
    passed = post(gateway, "pass", body).text
    upstream = post(gateway, "open", body).text
    assert '"x_mock"' in upstream
    assert '"x_mock"' not in dropped and '"x_mock"' in passed
    on_pass = value(gateway, "weir_unknown_members_total", route="pass")  # what lacks its form in usage
    assert on_pass < value(gateway, "weir_unknown_members_total", route="block") - before


# --- input ---


def test_which_messages_block(gateway):
    bad = {"role": "user", "content": f"I am {MAIL}"}
    good = {"role": "user", "content": "Hi"}
    answer = {"role": "assistant", "content": "Yes?"}
    result = {"role": "tool", "tool_call_id": "t", "content": MAIL}
    blocked = [[bad], [good, bad], [good, answer, bad], [bad, answer],
               [good, answer, result], [{**bad, "role": "function"}],
               [{"role": "user", "content": [{"type": "text", "text": "a"},
                                             {"type": "text", "text": MAIL}]}]]  # fmt: skip
    removed = [[bad, good], [bad, answer, good], [{**bad, "role": "system"}, good],
               [good, answer, result, good], [good, {**bad, "role": "assistant"}, good]]  # fmt: skip
    for messages in blocked:
        found = post(gateway, "block", ask(messages=messages)).json()
        assert found["choices"][0]["finish_reason"] == "content_filter", messages
    for messages in removed:
        found = post(gateway, "block", ask(messages=messages)).json()
        assert found["choices"][0]["finish_reason"] == "stop", messages
    for role in ("system", "tool"):
        found = post(gateway, "system", ask(messages=[good, answer, {**bad, "role": role}])).json()
        assert found["choices"][0]["finish_reason"] == "content_filter", role
        assert [e["message_index"] for e in found["detections"]["input"]] == [2]


def test_where_it_was_found(gateway):
    parts = [{"type": "text", "text": "Hi"}, {"type": "text", "text": f"\U0001f600 {CARD}"}]
    messages = [{"role": "user", "content": parts}, {"role": "tool", "content": MAIL}]
    answer = post(gateway, None, ask(messages=messages, mock={"text": "Yes."})).json()
    found = answer["detections"]["input"]
    assert [(e["message_index"], e.get("part_index")) for e in found] == [(0, 1), (1, None)]
    assert [e["path"] for e in found] == ["/messages/0/content/1/text", "/messages/1/content"]
    assert found[0]["results"][0]["start"] == 2 and found[0]["results"][0]["text"] == CARD
    assert policies.warnings(answer) == ["UNSUITABLE_INPUT"]
    assert answer["choices"][0]["message"]["content"] == "Yes."


def test_parts_that_are_no_text(gateway):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]}]
    answer = post(gateway, "block", ask(messages=messages))
    assert answer.status_code == 422
    assert "/messages/0/content/1/image_url" in answer.json()["error"]["message"]
    assert post(gateway, "block", ask(messages=messages, stream=True)).status_code == 422
    for route in (None, "redact"):
        assert post(gateway, route, ask(messages=messages)).status_code == 200
    old = [*messages, {"role": "assistant", "content": "A cat."}, {"role": "user", "content": "Ok"}]
    assert post(gateway, "block", ask(messages=old)).status_code == 422


@pytest.mark.parametrize("route,message", [
    ("block", {"role": "assistant", "content": FALLBACK}),
    ("refuse", {"role": "assistant", "content": None, "refusal": REFUSAL}),
])  # fmt: skip
def test_a_blocked_input(gateway, m, route, message):
    before = policies.requests_seen(m)
    answer = post(gateway, route, ask(f"I am {MAIL}"))
    assert answer.status_code == 200
    body = answer.json()
    assert body["object"] == "chat.completion" and body["model"] == "m"
    assert body["id"].startswith("chatcmpl-") and isinstance(body["created"], int)
    [choice] = body["choices"]
    assert choice["message"] == message
    assert choice["finish_reason"] == "content_filter" and choice["index"] == 0
    assert set(body["usage"].values()) == {0}
    assert findings(body, "input") == [("email_address", 5, 5 + len(MAIL))]
    assert MAIL not in answer.text
    events = stream(gateway, route, ask(f"I am {MAIL}"))
    assert [e["choices"][0]["finish_reason"] for e in events] == [None, "content_filter"]
    assert events[0]["choices"][0]["delta"] == message
    assert events[1]["choices"][0]["delta"] == {}
    assert events[0]["object"] == "chat.completion.chunk" and events[0]["id"] == events[1]["id"]
    assert policies.requests_seen(m) == before


def test_blocked_prompts(gateway):
    for prompt in (f"I am {MAIL}", ["Hi", f"I am {MAIL}"]):
        body = post(gateway, "block", ask(path=TEXT, prompt=prompt), TEXT).json()
        assert body["object"] == "text_completion"
        assert body["choices"][0]["text"] == FALLBACK
    events = stream(gateway, "refuse", ask(MAIL, path=TEXT), TEXT)
    assert [e["choices"][0]["text"] for e in events] == [REFUSAL, ""]
    for prompt in ([1, 2], [[1], [2]]):
        for route in (None, "block", "redact"):
            answer = post(gateway, route, ask(path=TEXT, prompt=prompt), TEXT)
            assert answer.status_code == 422 and "token_ids" in answer.json()["error"]["message"]
    assert post(gateway, "block", ask(path=TEXT, suffix=MAIL), TEXT).json()["choices"][0][
        "finish_reason"
    ] == "content_filter"


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_redacted_input_is_all_that_changes(weir, service, is_stream):
    chunk = {"id": "1", "choices": [{"index": 0, "delta": {"content": "Ok."}, "finish_reason": "stop"}]}
    whole = {"id": "1", "choices": [{"index": 0, "message": {"content": "Ok."}, "finish_reason": "stop"}]}
    model = service(lambda request: sse(chunk, "[DONE]") if is_stream else reply(whole))

    class Fake:
        ports = {"api": model.port}

    w = weir(policies.config(Fake))
    raw = ('{ "model":"m", "x" : [1.0, 1e400, "\\u00e4"],"messages":[{"role":"user","content":"\\u0041 %s '
           '\\ud83d\\ude00 %s"}], "stream":%s,"n":1 }')  # fmt: skip
    flag = "true" if is_stream else "false"
    answer = w.api.post("/redact" + CHAT, content=raw % (MAIL, CARD, flag),
                        headers={"content-type": "application/json"})  # fmt: skip
    assert answer.status_code == 200
    assert model.requests[-1].body.decode() == (
        '{ "model":"m", "x" : [1.0, 1e400, "\\u00e4"],"messages":[{"role":"user","content":'
        f'"A [email_address] \U0001f600 [credit_card]"}}], "stream":{flag},"n":1 }}'
    )
    assert MAIL not in answer.text and CARD not in answer.text
    carrier = streams.events(answer.text)[0] if is_stream else answer.json()
    assert [f[0] for f in findings(carrier, "input")] == ["email_address", "credit_card"]
    assert all("text" not in r for r in carrier["detections"]["input"][0]["results"])


# --- output ---


def texts_of(gateway, route, mock, **members):
    """The same answer twice: what the stream says and what the unary answer says."""
    events = stream(gateway, route, ask(mock=mock, **members))
    answer = post(gateway, route, ask(mock=mock, **members)).json()
    message = answer["choices"][0]["message"]
    whole = {name: message[name] for name in ("content", "reasoning_content", "refusal")
             if message.get(name)}  # fmt: skip
    assert said(events) == whole
    return events, answer


def test_annotated(gateway):
    events, answer = texts_of(gateway, None, {"text": f"Ask {MAIL} for it."})
    assert said(events)["content"] == f"Ask {MAIL} for it."
    for carrier in (events, answer):
        assert findings(carrier) == [("email_address", 4, 4 + len(MAIL))]
        assert policies.warnings(carrier) == ["UNSUITABLE_OUTPUT"]
    assert answer["detections"]["output"][0]["results"][0]["text"] == MAIL


def test_redacted(gateway):
    text = f"Ask \U0001f600 {MAIL} or pay with {CARD}, " + "please. " * 60 + f"Or {MAIL}?"
    want = text.replace(MAIL, "[email_address]").replace(CARD, "[credit_card]")
    events, answer = texts_of(gateway, "redact", {"text": text})
    assert said(events)["content"] == want
    assert [f[0] for f in findings(events)] == ["email_address", "credit_card", "email_address"]
    assert findings(events) == findings(answer)
    for carrier in (json.dumps(events), json.dumps(answer)):
        assert MAIL not in carrier and CARD not in carrier
        assert '"evidence"' not in carrier
    assert answer["choices"][0]["finish_reason"] == "stop" and answer["usage"]["total_tokens"] > 0
    silent, _ = texts_of(gateway, "silent", {"text": f"({MAIL})"})
    assert said(silent)["content"] == "()"
    named, _ = texts_of(gateway, "named", {"text": f"({MAIL})"})
    assert said(named)["content"] == "(<pii:pii/email_address>)"


def test_a_private_key_leaves_nothing(gateway):
    line = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgwMbRvI0MBZhpI"
    body = "\n".join(line[i % 40 :] + line[: i % 40] for i in range(48))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    text = f"Here it is: {key} and that was it."
    events, _ = texts_of(gateway, "keys", {"text": text})
    assert said(events)["content"] == "Here it is: [private_key] and that was it."


@pytest.mark.parametrize("include_usage", [False, True])
def test_blocked(gateway, include_usage):
    text = "First of all. " * 40 + f"Ask {MAIL}. " + "And so on. " * 400
    members = {"stream_options": {"include_usage": include_usage}}
    events = stream(gateway, "block", ask(mock={"text": text}, **members))
    content = said(events)["content"]
    assert content == text[: text.index(MAIL)] + "\n\n" + FALLBACK
    assert [f[0] for f in findings(events)] == ["email_address"]
    last = [e for e in events if e["choices"]][-1]["choices"][0]
    assert last["finish_reason"] == "content_filter" and last["delta"] == {}
    whole = post(gateway, "block", ask(mock={"text": text})).json()["choices"][0]
    assert whole["message"]["content"] == FALLBACK
    assert whole["finish_reason"] == "content_filter"
    refusal = said(stream(gateway, "refuse", ask(mock={"text": text})))
    assert refusal["refusal"] == REFUSAL


@pytest.mark.parametrize("route", ["block", "redact"])
def test_batched_streams_say_the_same(gateway, route):
    mock = {"text": "First of all. " * 60 + f"Ask {MAIL}. " + "And so on. " * 60}
    plain = streams.gather(stream(gateway, route, ask(mock=mock)))
    batched = stream(gateway, f"{route}-batched", ask(mock=mock))
    assert streams.gather(batched) == plain
    assert [f[0] for f in findings(batched)] == ["email_address"]
    tools = {"scenario": "tools", "tool_calls": 2, "arguments": '{"to": "nobody"}'}
    for one in (tools, {**tools, "arguments": json.dumps({"to": MAIL})}):
        both = [streams.comparable(streams.gather(stream(gateway, name, ask(mock=one))))
                for name in (route, f"{route}-batched")]  # fmt: skip
        assert both[0] == both[1] and MAIL not in json.dumps(both)


def test_the_model_is_stopped(gateway, m):
    """It would speak for a minute; nobody reads it any longer."""
    mock = {"text": f"Hi {MAIL}. " + "x " * 3000, "rate": 100, "burst": 10}
    before = len(m.log("caller gone"))
    events = stream(gateway, "block", ask(mock=mock))
    assert [e["choices"][0]["finish_reason"] for e in events][-1] == "content_filter"
    harness.wait_until(lambda: len(m.log("caller gone")) > before, "the mock to be left alone")


def test_one_choice_is_blocked_the_others_go_on(gateway):
    tail = [" and", " so", " on."] * 40
    pieces = [["Fine,", " really."] + tail, [f"Ask {MAIL}", "."] + tail]
    mock = {"pieces": pieces, "scenario": "usage"}
    members = {"n": 2, "stream_options": {"include_usage": True}}
    events = stream(gateway, "block", ask(mock=mock, **members))
    whole = streams.gather(events)
    assert whole["choices"][0]["texts"]["content"] == "".join(pieces[0])
    assert whole["choices"][1]["texts"]["content"] == f"Ask \n\n{FALLBACK}"
    assert [whole["choices"][i]["finish"] for i in (0, 1)] == [["stop"], ["content_filter"]]
    assert whole["usage"]["total_tokens"] > 0 and events[-1]["choices"] == []
    unary = post(gateway, "block", ask(mock=mock, n=2)).json()
    assert [c["message"]["content"] for c in unary["choices"]] == ["".join(pieces[0]), FALLBACK]


CHANNELS = ["content", "reasoning", "reasoning_content", "refusal", "audio.transcript"]


def member(channel, text):
    return {"audio": {"id": "a", "transcript": text}} if "audio" in channel else {channel: text}


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("route", ["redact", "block"])
def test_every_channel(gateway, route, channel):
    name, _, rest = f"So {MAIL} it is.".partition("@")
    pieces = [streams.delta(role="assistant", content=""), streams.delta(**member(channel, name + "@")),
              streams.delta(**member(channel, rest)), streams.delta(finish="stop")]  # fmt: skip
    mock = {"events": streams.raw_events(*pieces, "data: [DONE]\n\n")}
    events = stream(gateway, route, ask(mock=mock))
    message = {"role": "assistant", **member(channel, name + "@" + rest)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = post(gateway, route, ask(mock={"answer": {"id": "1", "choices": [choice]}})).json()
    for carrier in (events, whole):
        text = json.dumps(carrier)
        assert "example.org" not in text
        assert ("So [email_address] it is." if route == "redact" else FALLBACK) in text
        entries = [entry for part in (carrier if isinstance(carrier, list) else [carrier])
                   for entry in part.get("detections", {}).get("output", []) if entry["results"]]  # fmt: skip
        assert [e.get("channel", "content") for e in entries] == [channel]
    assert "jane" in json.dumps(stream(gateway, None, ask(mock=mock)))  # annotate changes nothing


@pytest.mark.parametrize("route", ["redact", "block"])
def test_tool_calls(gateway, route):
    tools = [{"type": "function", "function": {"name": "mail", "parameters": {}}}]
    clean = {"scenario": "tools", "tool_calls": 2, "arguments": '{"to": "nobody"}'}
    dirty = {**clean, "arguments": json.dumps({"to": MAIL})}
    events = stream(gateway, route, ask(mock=clean, tools=tools))
    calls = streams.gather(events)["choices"][0]["calls"]
    assert [call["arguments"] for call in calls] == ['{"to": "nobody"}'] * 2
    assert len([e for e in events if e["choices"] and e["choices"][0]["delta"].get("tool_calls")]) == 1
    for is_stream in (False, True):
        answer = post(gateway, route, ask(mock=dirty, tools=tools, stream=is_stream))
        assert MAIL not in answer.text and '"channel":"tool_calls"' in answer.text
        if route == "block":
            assert '"arguments":"' not in answer.text and '"content_filter"' in answer.text
        else:
            assert answer.text.count(r'"arguments":"{\"to\": \"[email_address]\"}"') == 2


# As a model server writes it, what leaves on redact (None: the choice is blocked), and the entry.
ARGUMENTS = {
    "as written": ('{"to": "So %s it is"}' % MAIL, '{"to": "So [email_address] it is"}', "/to"),
    "escaped": ('{"to":"jane\\u0040example.org"}', '{"to":"[email_address]"}', "/to"),
    "in a list": ('{"a":[1,{"b~/":"x\\n%s"}]}' % MAIL, '{"a":[1,{"b~/":"x\\n[email_address]"}]}', "/a/1/b~0~1"),
    "broken": ('{"to": "jane\\u0040example.org', '{"to": "[email_address]', None),
    "a string alone": ('"%s"' % MAIL, '"[email_address]"', None),
    "a key": ('{"x": {"%s": 1}}' % MAIL, None, "/x"),
    "an escaped key": ('{"x": {"jane\\u0040example.org": 1}}', None, "/x"),
    "a name": (None, None, None),
}


@pytest.mark.parametrize("what", ARGUMENTS)
def test_findings_in_tool_calls(gateway, what):
    """Replaced inside of the decoded leaf, so that JSON stays JSON, however the server cuts it; what
    cannot be replaced blocks; annotate tells the same places."""
    arguments, wanted, path = ARGUMENTS[what]
    function = {"name": "f" if arguments else MAIL, "arguments": arguments or "{}"}
    cuts = [{"index": 0, "id": "c0", "type": "function", "function": {**function, "arguments": ""}}]
    cuts += [{"index": 0, "function": {"arguments": piece}} for piece in function["arguments"]]
    events = [streams.delta(tool_calls=[cut]) for cut in cuts] + [streams.delta(finish="tool_calls")]
    whole = {"id": "c", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": None, "tool_calls": [{**cuts[0], "function": function}]}}]}  # fmt: skip
    entry = {"choice_index": 0, "channel": "tool_calls", "tool_index": 0,
             "member": "arguments" if arguments else "name", "path": path}  # fmt: skip
    entry = {name: value for name, value in entry.items() if value is not None}
    for route in ("redact", "block", None):
        mock = {"events": streams.raw_events(*events, "data: [DONE]\n\n")}
        streamed = stream(gateway, route, ask(mock=mock))
        answer = post(gateway, route, ask(mock={"answer": whole})).json()
        choice = streams.gather(streamed)["choices"][0]
        calls = [choice.get("calls") or [], answer["choices"][0]["message"].get("tool_calls") or []]
        found = [e for part in [*streamed, answer] for e in part.get("detections", {}).get("output", [])]
        found = [{**e, "results": len(e["results"])} for e in found if e["results"]]
        key = {**entry, "path": path + "/" + MAIL} if "key" in what and route is None else entry
        assert found == [{**key, "results": 1}] * 2, found
        if route is None:
            assert calls[0][0]["arguments"] == calls[1][0]["function"]["arguments"] == function["arguments"]
        elif route == "block" or wanted is None:
            assert calls == [[], []] and MAIL not in json.dumps([streamed, answer])
            assert answer["choices"][0]["finish_reason"] == "content_filter"
        else:
            assert calls[0][0]["arguments"] == calls[1][0]["function"]["arguments"] == wanted


def fragment(arguments, finish=None, index=0):
    call = {"index": index, "id": f"c{index}", "type": "function",
            "function": {"name": "f", "arguments": arguments}}  # fmt: skip
    return streams.delta(finish=finish, tool_calls=[call])


BEHIND = {
    "another call": [fragment("{}", "tool_calls"), fragment('{"m": "X-42"}', "tool_calls", 1)],
    "another call, no finish": [fragment("{}", "tool_calls"), fragment('{"m": "X-42"}', None, 1)],
    "more arguments": [fragment('{"m": "X-', "tool_calls"), fragment('42"}', "tool_calls")],
    "text, then a call": [fragment("{}", "tool_calls"), streams.delta(content="So. "),
                          fragment('{"m": "X-42"}', None, 1)],
    "much more": [fragment("a" * 100, "tool_calls"), fragment("b" * 5000), fragment(" X-42")],
}  # fmt: skip


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("route", ["far", "slow", "slow-redact"])
def test_tool_calls_behind_a_finish_reason(gateway, route, behind):
    """Judged with the others, however slow the detector is and however the server sends them."""
    clean = json.loads(json.dumps(BEHIND[behind]).replace("X-42", "fine").replace('X-', "fi"))
    for how in ({}, {"burst": 100}, {"rate": 20}):
        mock = {"events": streams.raw_events(*BEHIND[behind], "data: [DONE]\n\n"), **how}
        answer = post(gateway, route, ask(mock=mock, stream=True))
        assert "X-42" not in answer.text and '"channel":"tool_calls"' in answer.text
        assert ('"arguments":"' in answer.text) == (route == "slow-redact")
        assert ('"content_filter"' in answer.text) == (route != "slow-redact")
        mock = {"events": streams.raw_events(*clean, "data: [DONE]\n\n"), **how}
        events = stream(gateway, route, ask(mock=mock))
        sent = [c["function"]["arguments"] for e in clean
                for c in e["choices"][0]["delta"].get("tool_calls", [])]  # fmt: skip
        calls = streams.gather(events)["choices"][0]["calls"]
        assert "".join(call["arguments"] for call in calls) == "".join(sent)
        reasons = [e["choices"][0]["finish_reason"] for e in events if e["choices"]]
        assert reasons[-1] == "tool_calls" and not any(reasons[:-1])


@pytest.mark.parametrize("route", ["redact", "block", None])
def test_a_finish_reason_cuts_nothing(gateway, route):
    for pieces in ([MAIL[:6], MAIL[6:]], list(MAIL)):
        said_so = ["mail ", *pieces, " now"]
        events = [streams.delta(content=piece, finish="stop") for piece in said_so]
        mock = {"events": streams.raw_events(*events, "data: [DONE]\n\n")}
        found = stream(gateway, route, ask(mock=mock))
        assert [f[0] for f in findings(found)] == ["email_address"]
        assert route is None or MAIL not in streams.content(found)
        reasons = [e["choices"][0]["finish_reason"] for e in found if e["choices"]]
        assert reasons[-1] in ("stop", "content_filter") and not any(reasons[:-1])


def test_a_blocked_choice_takes_no_other_with_it(gateway):
    """The request does not say `n`: the model may send as many choices as it likes."""
    pieces = [streams.delta(content=f"Ask {MAIL}. " + "x" * 400)]
    pieces += [streams.delta(content="More. ") for _ in range(20)]
    pieces += [streams.delta(choice=1, content="Fine. "), streams.delta(choice=1, finish="stop")]
    mock = {"events": streams.raw_events(*pieces, "data: [DONE]\n\n")}
    whole = streams.gather(stream(gateway, "block", ask(mock=mock)))
    assert whole["choices"][0]["finish"] == ["content_filter"]
    assert whole["choices"][1]["texts"]["content"] == "Fine. "
    assert whole["choices"][1]["finish"] == ["stop"]


def test_the_promise_was_never_broken(gateway):
    assert "\nweir_promise_broken_total 0\n" in gateway.health.get("/metrics").text


def test_logprobs_of_what_was_redacted(gateway):
    long = "So far so good, " * 20
    mock = {"text": f"{long}{MAIL} and {long}"}
    members = {"logprobs": True, "top_logprobs": 1}
    events = stream(gateway, "redact", ask(mock=mock, **members))
    entries = [one for e in events if e["choices"] and e["choices"][0].get("logprobs")
               for one in e["choices"][0]["logprobs"]["content"]]  # fmt: skip
    whole = post(gateway, "redact", ask(mock=mock, **members)).json()
    assert whole["choices"][0]["logprobs"]["content"] == entries
    for one in entries:  # the mock's own, but for the other candidates
        assert one["top_logprobs"] == [] and one["logprob"] < 0
    before, behind = mock["text"].split(MAIL)
    joined = "".join(one["token"] for one in entries)
    assert joined.startswith(before[:-40]) and joined.endswith(behind[40:])
    assert MAIL.split("@")[0] not in json.dumps(events) + json.dumps(whole)
    clean = post(gateway, "redact", ask(mock={"text": "Fine."}, **members)).json()
    assert "".join(e["token"] for e in clean["choices"][0]["logprobs"]["content"]) == "Fine."


# --- detectors of whole documents, and of the conversation ---


def test_a_whole_document_is_held(gateway):
    events, _ = texts_of(gateway, "whole", {"text": "The code is X-42, " * 3})
    assert said(events)["content"] == "The code is [Code], " * 3
    texts = [e for e in events if e["choices"] and e["choices"][0]["delta"].get("content")]
    assert len(texts) == 1


def test_what_has_no_span_blocks(gateway):
    for is_stream in (False, True):
        answer = post(gateway, "chat", ask(mock={"text": "Anything."}, stream=is_stream))
        assert "Anything" not in answer.text and "content_filter" in answer.text


def test_detectors_of_prompt_and_answer(gateway):
    mock = {"text": "Anything."}
    for is_stream in (False, True):
        answer = post(gateway, "pair", ask(mock=mock, path=TEXT, stream=is_stream), TEXT)
        assert "Anything" not in answer.text and "content_filter" in answer.text
    assert post(gateway, "pair", ask(path=TEXT, prompt=["a", "b"]), TEXT).status_code == 422
    assert post(gateway, "pair", ask()).status_code == 422  # chats have none
    assert post(gateway, "chat", ask(path=TEXT), TEXT).status_code == 422  # nor texts of the other


def test_the_limit_of_what_is_held_is_named(weir, m):
    tree = policies.config(m, ROUTES, limits={"max_held_bytes_per_stream": 20000})
    w = weir(tree)
    answer = post(w, "whole", ask(mock={"tokens": 5000}, stream=True))
    assert answer.status_code == 500 or 'data: {"error":' in answer.text
    assert "max_held_bytes_per_stream" in answer.text
    short = stream(w, "whole", ask(mock={"tokens": 5}))
    assert said(short)["content"]


# --- history ---

CALLED = {"role": "assistant", "tool_calls": [{"id": "t1", "type": "function",
                                               "function": {"name": "f", "arguments": "{}"}}]}  # fmt: skip
RESULT = {"role": "tool", "tool_call_id": "t1", "content": "x"}
USER = {"role": "user", "content": "Hi"}
BROKEN = {
    "a result without a call": ([USER, RESULT, USER], "no earlier tool call has this id: `t1`"),
    "a call without a result": ([USER, CALLED, USER], "this tool call has no result: `t1`"),
    "one id twice": ([USER, CALLED, RESULT, CALLED, RESULT, USER], "used twice: `t1`"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_history(gateway, name):
    messages, words = BROKEN[name]
    for is_stream in (False, True):
        answer = post(gateway, "history-reject", ask(messages=messages, stream=is_stream))
        assert answer.status_code == 400 and words in answer.json()["error"]["message"]
    warned = post(gateway, "history-warn", ask(messages=messages)).json()
    told = [w["message"] for w in warned["warnings"] if w["type"] == "HISTORY"]
    assert told and words in told[0]
    events = stream(gateway, "history-warn", ask(messages=messages))
    assert "HISTORY" in policies.warnings([events[0]]) and not policies.warnings(events[1:])
    assert "warnings" not in post(gateway, None, ask(messages=messages)).json()


def test_a_sound_history(gateway):
    messages = [USER, CALLED, RESULT, USER]
    for route in ("history-warn", "history-reject"):
        answer = post(gateway, route, ask(messages=messages))
        assert answer.status_code == 200 and "warnings" not in answer.json()


# --- windows ---


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_what_stands_before_a_finding_may_be_in_another_window(gateway, path):
    password = "v9#Kq2!xTf7Lw4Zp"  # a window of this gateway answers for 136 characters
    for n in range(112, 138):
        text = f'{"la " * 60}'[:n] + f' db_password = "{password}" and so on. ' + "la " * 60
        body = ask(path=path, mock={"text": text})
        unary = post(gateway, "keys", body, path).json()
        events = stream(gateway, "keys", body, path)
        assert said(events)["content"] == text.replace(password, "[password]"), n
        at = text.index(password)
        for told in (unary, events):
            assert findings(told) == [("password", at, at + len("[password]"))], n


def test_a_finding_between_two_windows_is_told_once(gateway):
    for n in range(120, 138):
        text = f'{"la " * 60}'[:n] + f" {MAIL} and so on. " + "la " * 60
        body = ask(text, mock={"text": text})
        at = text.index(MAIL)
        for told in (post(gateway, None, body).json(), stream(gateway, None, body)):
            for side in ("input", "output"):
                assert findings(told, side) == [("email_address", at, at + len(MAIL))], n


# --- what goes wrong ---


def test_a_detector_that_fails_lets_nothing_through(weir, mock):
    m = mock()
    routes = [{"name": "down", "output": {"far": {"status": 503, "fail_rate": 1}}, "on_detection": "redact"}]
    w = weir(policies.config(m, routes))
    for is_stream in (False, True):
        answer = post(w, "down", ask(mock={"text": "Hello there."}, stream=is_stream))
        assert "Hello" not in answer.text
        assert "error" in answer.text


def test_an_error_in_the_middle(gateway):
    mock = {"text": "A word. " * 200, "fail_at": 150}
    answer = post(gateway, "redact", ask(mock=mock, stream=True))
    events = mocks.events(answer.text)
    assert events[-1].keys() == {"error"}
    assert said([e for e in events[:-1]])["content"].startswith("A word.")
    refused = post(gateway, "redact", ask(mock={"status": 429, "fail_rate": 1, "message": "later"}))
    assert refused.status_code == 429 and set(refused.json()["error"]) >= {"message", "type", "code"}


def test_a_caller_who_goes(gateway, m):
    before = len(m.log("caller gone"))
    body = ask(mock={"text": "A word. " * 5000, "rate": 200}, stream=True)
    with gateway.api.stream("POST", "/redact" + CHAT, json=body) as answer:
        next(answer.iter_lines())
    harness.wait_until(lambda: len(m.log("caller gone")) > before, "the mock to be left alone")
