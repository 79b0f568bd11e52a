"""`compat: fms` where it changes unary answers."""

import json
import re
import socket

import harness
import pytest
from configs import config
from grpcpeer import CHUNK, TGIS, Token, TokenizationResults
from peers import (
    CHAT,
    CLASSIFICATION,
    CONTENT,
    GENERATION,
    TEXT,
    UNEXPECTED,
    World,
    answers,
    contents,
    finding,
    finds,
    scripted,
    sentences,
    whole,
)

DETECTORS = {
    "a": contents(),
    "sent": contents("en"),
    "gen": whole("text_generation"),
    "chat": whole("text_chat"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    chunkers = {"en": sentences}
    with World(
        tmp_path_factory,
        DETECTORS,
        chunkers,
        "tgis",
        compat="fms",
        passthrough_headers=["x-tenant"],
    ) as w:
        yield w


@pytest.fixture(autouse=True)
def fresh(world):
    world.reset()


def unguarded(world):
    for line in world.weir.health.get("/metrics").text.splitlines():
        if line.startswith("weir_unguarded_requests_total "):
            return float(line.split()[1])
    raise AssertionError("weir_unguarded_requests_total is not there")


MESSAGES = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("detectors", [..., None, {}, {"input": {}}, {"output": {}, "input": None}])
def test_no_detectors_pass_unguarded(world, detectors):
    before = unguarded(world)
    for path, upstream, body in (
        (CHAT, "/v1/chat/completions", {"model": "m", "messages": MESSAGES}),
        (TEXT, "/v1/completions", {"model": "m", "prompt": "hi"}),
    ):
        text = '{"choices":[ ],"detections":{"theirs":1}, "x":1.0}'
        world.model_answers[upstream] = answers(text)
        more = {} if detectors is ... else {"detectors": detectors}
        assert world.post(path, {**body, **more}).text == text
        assert world.asked_model(upstream)[-1].json() == body
    assert world.detectors.requests == []
    harness.wait_until(lambda: unguarded(world) == before + 2, "the count")


def test_guarded_ones_are_not_counted(world):
    before = unguarded(world)
    world.ok(CHAT, {"model": "m", "messages": MESSAGES, "detectors": {"input": {"a": {}}}})
    world.refused(CHAT, {"model": "m", "messages": MESSAGES, "detectors": {"input": {"no": {}}}})
    assert unguarded(world) == before


def test_it_warns_at_the_start(world):
    def is_told():
        return any("unguarded" in line.get("message", "") for line in world.weir.log())

    harness.wait_until(is_told, "the warning")


def test_misspelt_sides_are_refused_all_the_same(world):
    body = {"model": "m", "messages": MESSAGES, "detectors": {"ouput": {"a": {}}}}
    status, details = world.refused(CHAT, body)
    assert status == 422 and details.startswith("detectors.ouput: unknown field `ouput`")


def test_order_of_members(world):
    body = (
        '{"z":1.0,"tools":[ {"type":"function"} ],"detectors":{"output":{"a":{}}},"messages":[{"content":"x",'
        '"role":"user"}],"temperature" : 0.70,"stream":false,"a":null,"model":"m","stream_options":null}'
    )
    world.ok(CHAT, body)
    assert world.asked_model()[0].body.decode() == (
        '{"stream":false,"model":"m","messages":[{"content":"x","role":"user"}],"tools":[ {"type":"function"} ],'
        '"z":1.0,"temperature":0.70,"a":null,"stream_options":null}'
    )
    body = '{"max_tokens":5,"prompt":"p","tools":1,"_prompt_masks":null,"stream":null,"model":"m"}'
    world.ok(TEXT, body)
    assert world.asked_model("/v1/completions")[0].body.decode() == (
        '{"model":"m","prompt":"p","max_tokens":5,"tools":1}'
    )


def test_chunks_are_believed(world):
    """The chunker's text goes to the detector and its offsets to the caller, whatever they are."""
    chunks = [
        Token(start=0, end=5, text="HELLO"),
        Token(start=3, end=900, text="évil"),
        Token(start=0, end=0, text="evil zero"),
    ]
    world.chunkers["en"] = scripted(lambda request, context: TokenizationResults(results=chunks))
    world.detector["sent"] = finds("vil")
    got = world.ok(CONTENT, {"content": "Hello, World", "detectors": {"sent": {}}})
    assert world.asked("sent")[0].json()["contents"] == ["HELLO", "évil", "evil zero"]
    assert [(d["start"], d["end"], d["text"]) for d in got["detections"]] == [(1, 4, "vil"), (4, 7, "vil")]


def test_nothing_is_appended(world):
    world.chunkers["en"] = scripted(lambda request, context: TokenizationResults())
    assert world.ok(CONTENT, {"content": "Hello", "detectors": {"sent": {}}}) == {"detections": []}
    assert world.asked("sent") == []


def test_lists_by_position(world):
    body = {"content": "One. Two. Three.", "detectors": {"sent": {}}}
    for lists, n in [([], 0), ([[finding()]], 1), ([[], [finding()], [], [1], "x"], 1)]:
        world.detector["sent"] = answers(lists)
        assert len(world.ok(CONTENT, body)["detections"]) == n
    world.detector["sent"] = answers({"lists": []})
    assert world.refused(CONTENT, body) == (500, UNEXPECTED["details"])


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_the_tokenizer_must_answer(world, path):
    world.detector["a"] = finds("hi")
    prompt = {"messages": MESSAGES} if path == CHAT else {"prompt": "hi"}
    body = {"model": "mod", **prompt, "detectors": {"input": {"a": {}}}}
    for status in (400, 404, 422, 503):
        world.model_answers["/tokenize"] = answers({"error": {"message": "no"}}, status)
        expected = (status, "tokenize request failed for `mod`: no")
        assert world.refused(path, body) == expected
    for status in (405, 501):
        world.model_answers["/tokenize"] = answers({"message": "no"}, status)
        assert world.refused(path, body)[0] in (404, 500)
    for body_of_it, status in (("{}", 200), ("x", 200), ("{}", 500), ("{}", 401)):
        world.model_answers["/tokenize"] = answers(body_of_it, status)
        assert world.refused(path, body) == (500, UNEXPECTED["details"])
    world.model_answers["/tokenize"] = answers({"count": 5})
    assert world.ok(path, body)["usage"]["prompt_tokens"] == 5


@pytest.mark.parametrize("compat, status", [("fms", 503), ("adr", 500)])
def test_a_chunker_that_cannot_be_reached(weir, compat, status):
    details = UNEXPECTED["details"]
    if status == 503:
        details = "chunker request failed for `gone`: Service Unavailable"
    with socket.socket() as bound:  # taken, and nobody listens
        bound.bind(("127.0.0.1", 0))
        gone = {"hostname": "127.0.0.1", "port": bound.getsockname()[1]}
        tree = config(compat=compat, routes=[])
        tree["chunkers"] = {"gone": {"type": "sentence", "service": gone}}
        tree["detectors"]["pii"]["chunker_id"] = "gone"
        w = weir(tree)
        got = w.api.post(CONTENT, json={"content": "Hello.", "detectors": {"pii": {}}})
        assert (got.status_code, got.json()["details"]) == (status, details)
        body = {"model": "m", "messages": MESSAGES, "detectors": {"output": {"pii": {}}}}
        got = w.api.post(CHAT, json={**body, "stream": True})
        said = json.loads(re.findall("^data: ({.*)$", got.text, re.M)[-1])
        assert (said["code"], said["details"]) == (status, details)
        assert len(w.log("service failed", kind="chunker", id="gone")) == 2


def test_roles(world):
    def ask(role):
        messages = [{"role": role, "content": "hi"}]
        return world.post(CHAT, {"model": "m", "messages": messages, "detectors": {"input": {"a": {}}}})

    for role in ("user", "assistant", "system"):
        assert ask(role).status_code == 200
    for role in ("developer", "tool", "function"):
        got = ask(role)
        assert (got.status_code, got.json()["details"]) == (
            422,
            "Last message role must be user, assistant, or system",
        )


def test_unknown_keys_are_ignored(world):
    config = {"input": {"models": {"a": {}}, "x": 1}, "ouput": {}, "output": {"models": {}, "masks": 1}}
    params = {"max_tokens": 1, "top_k": 3, "exponential_decay_length_penalty": {"x": 1}}
    body = {"model_id": "m", "inputs": "hi", "guardrail_config": config, "text_gen_parameters": params}
    world.ok(CLASSIFICATION, body)
    assert world.asked_grpc(TGIS)[0].request.params.sampling.top_k == 3
    body = {"model_id": "m", "prompt": "hi", "detectors": {"gen": {}}, "text_gen_parameters": params}
    world.ok(GENERATION, body)
    for path in (CLASSIFICATION, GENERATION):
        assert world.refused(path, {**body, "x": 1})[1].startswith(("x: unknown", "prompt: unknown"))


def test_passthrough_is_not_for_chunkers(world):
    world.post(CONTENT, {"content": "x", "detectors": {"sent": {}}}, headers={"x-tenant": "t"})
    assert world.asked("sent")[0].header("x-tenant") == "t"
    assert "x-tenant" not in world.asked_grpc(CHUNK)[0].metadata
    body = {"model_id": "m", "inputs": "hi"}
    world.post(CLASSIFICATION, body, headers={"x-tenant": "t"})
    assert world.asked_grpc(TGIS)[0].metadata["x-tenant"] == "t"


def test_the_rest_is_as_ever(world):
    """Input detections, output detections, warnings."""
    world.detector["a"] = finds("evil")
    world.chat_answers("evil")
    body = {"model": "m", "messages": MESSAGES, "detectors": {"output": {"a": {}}}}
    got = world.ok(CHAT, body)
    assert got["detections"]["output"][0]["choice_index"] == 0 and got["warnings"]
    body["detectors"] = {"input": {"a": {}}}
    body["messages"] = [{"role": "user", "content": "evil"}]
    got = world.ok(CHAT, body)
    assert got["detections"]["input"][0]["message_index"] == 0 and got["choices"] == []
    assert "null" not in json.dumps(got)
