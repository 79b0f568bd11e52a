"""npm `openai` with `/api/v2` as its baseURL and `detectors` beside its own members: it reads every
answer, with findings and without, and knows an error when it sees one."""

import json

import clients
import pytest
from peers import (
    UNSUITABLE_INPUT,
    UNSUITABLE_OUTPUT,
    World,
    answers,
    chat_completion,
    choice,
    completion,
    contents,
    finding,
    finds,
    sentences,
    whole,
)

pytestmark = clients.needed

DETECTORS = {
    "words": contents("en"),
    "quiet": contents(),
    "history": whole("text_chat"),
    "pair": whole("text_generation"),
}
USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
TOOL_CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": [1, "é"]}'}}
TOOLS = [{"type": "function", "function": {"name": "f", "strict": True, "parameters": {"type": "object"}}}]
LOGPROBS = {
    "content": [{"token": "Hi", "logprob": -0.25, "bytes": [72, 105], "top_logprobs": []}],
    "refusal": None,
}
TEXT_LOGPROBS = {"tokens": ["Hi"], "token_logprobs": [-0.25], "top_logprobs": None, "text_offset": [0]}


@pytest.fixture(scope="module", params=["adr", "fms"])
def world(tmp_path_factory, request):
    with World(tmp_path_factory, DETECTORS, {"en": sentences}, compat=request.param) as w:
        yield w


@pytest.fixture(autouse=True)
def fresh(world):
    world.reset()
    world.detector["words"] = finds("evil", evidence=[{"name": "n", "value": "v"}], metadata={"k": 1})


def chat(world, detectors, resource="chat", text="Hi", **more):
    ask = {"model": "m", "messages": [{"role": "user", "content": text}], "detectors": detectors, **more}
    return job(world, resource, "/chat/completions-detection", ask)


def text(world, detectors, resource="text", prompt="Hi", **more):
    ask = {"model": "m", "prompt": prompt, "detectors": detectors, **more}
    return job(world, resource, "/text/completions-detection", ask)


def job(world, resource, path, ask):
    return {"base": world.weir.url("/api/v2"), "resource": resource, "path": path, "ask": ask}


def read(*jobs):
    """What the client has of each answer, without what it adds itself."""
    found = clients.run("openai_unary.cjs", list(jobs))
    for result in found:
        assert "error" not in result, result
        if "completion" in result:
            assert result["status"] == 200
            result["completion"].pop("_request_id", None)
    return found


def completions(*jobs):
    return [result["completion"] for result in read(*jobs)]


def evil(start):
    return {
        "start": start,
        "end": start + 4,
        "text": "evil",
        "detector_id": "words",
        "detection_type": "t",
        "detection": "d",
        "score": 0.9,
        "evidence": [{"name": "n", "value": "v"}],
        "metadata": {"k": 1},
    }


OUTPUT_WARNING = {"type": "UNSUITABLE_OUTPUT", "message": UNSUITABLE_OUTPUT}
INPUT_WARNING = {"type": "UNSUITABLE_INPUT", "message": UNSUITABLE_INPUT}


def test_chat_as_the_model_said_it(world):
    """Every shape of an answer; nothing is found, nothing is added."""
    shapes = [
        chat_completion("Good. Really.", usage=USAGE, system_fingerprint="fp", service_tier=None),
        chat_completion(choice("Hi 😀 e\u0301 世界", 0, refusal=None, annotations=[])),
        chat_completion({**choice("Hi"), "logprobs": LOGPROBS}),
        chat_completion("one", "two", "three"),
        chat_completion(choice("No.", 0, refusal="I cannot"), unknown={"deep": [1.5, None]}),
    ]
    for shape in shapes:
        world.model_answers["/v1/chat/completions"] = answers(shape)
        words, history = completions(
            chat(world, {"output": {"words": {}}}, n=len(shape["choices"]), temperature=0.5),
            chat(world, {"output": {"history": {}}}),
        )
        assert words == history == shape
    sent = world.asked_model()[-2].json()
    assert sent == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "n": 1,
        "temperature": 0.5,
    }


def test_chat_findings(world):
    said = chat_completion("So evil. And evil.", choice(None, 1), "fine", usage=USAGE)
    world.model_answers["/v1/chat/completions"] = answers(said)
    world.detector["history"] = answers([finding(None)])
    whole_one = {"detector_id": "history", "detection_type": "t", "detection": "d", "score": 0.9}
    detectors = {"input": {"quiet": {}}, "output": {"words": {}, "history": {}}}
    got, raw = completions(chat(world, detectors), chat(world, detectors, "raw"))
    assert got == raw
    detections = got.pop("detections")
    warnings = got.pop("warnings")
    assert got == said
    listed = {one["choice_index"]: one["results"] for one in detections["output"]}
    assert listed[0] == [evil(3), evil(13), whole_one] and listed[2] == [whole_one]
    assert list(detections) == ["output"]
    assert warnings == [
        {"type": "EMPTY_OUTPUT", "message": "Choice of index 1 has no content"},
        OUTPUT_WARNING,
    ]


def test_chat_unsuitable_input(world):
    [got] = completions(chat(world, {"input": {"words": {}}}, text="so evil"))
    assert got.pop("id").startswith("chatcmpl-") and isinstance(got.pop("created"), int)
    assert got == {
        "object": "chat.completion",
        "model": "m",
        "choices": [],
        "usage": {"prompt_tokens": 7, "total_tokens": 0, "completion_tokens": 0},
        "detections": {"input": [{"message_index": 0, "results": [evil(3)]}]},
        "warnings": [INPUT_WARNING],
    }


def test_chat_tool_calls(world):
    """parse() reads the arguments: it must find them as the model wrote them."""
    message = {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}
    said = chat_completion({"index": 0, "message": message, "finish_reason": "tool_calls"})
    world.model_answers["/v1/chat/completions"] = answers(said)
    plain, parsed = completions(
        chat(world, {"output": {"history": {}}}, tools=TOOLS),
        chat(world, {"output": {"history": {}}}, "parse", tools=TOOLS),
    )
    assert plain.pop("warnings") == [{"type": "EMPTY_OUTPUT", "message": "Choice of index 0 has no content"}]
    assert plain == said
    [call] = parsed["choices"][0]["message"]["tool_calls"]
    assert call["function"]["parsed_arguments"] == json.loads(TOOL_CALL["function"]["arguments"])
    assert world.asked("history")[0].json()["tools"] == TOOLS


def test_text_as_the_model_said_it(world):
    logprobs = {"index": 0, "text": "Hi", "logprobs": TEXT_LOGPROBS, "finish_reason": "length"}
    for shape in (
        completion("Good. Really.", usage=USAGE),
        completion("one", "two"),
        completion(logprobs, unknown=1),
    ):
        world.model_answers["/v1/completions"] = answers(shape)
        words, pair = completions(
            text(world, {"output": {"words": {}}}, max_tokens=5),
            text(world, {"output": {"pair": {}}}, "raw"),
        )
        assert words == pair == shape


def test_text_findings(world):
    said = completion("evil", "", usage=USAGE)
    world.model_answers["/v1/completions"] = answers(said)
    [got] = completions(text(world, {"output": {"words": {}}}))
    assert got.pop("detections") == {"output": [{"choice_index": 0, "results": [evil(0)]}]}
    empty = "Choice of index 1 has no content. Output detection was not executed"
    assert got.pop("warnings") == [{"type": "EMPTY_OUTPUT", "message": empty}, OUTPUT_WARNING]
    assert got == said
    [got] = completions(text(world, {"input": {"words": {}}}, prompt="evil evil", _prompt_masks=[[5, 9]]))
    assert got["choices"] == [] and got["object"] == "text_completion"
    assert got["detections"] == {"input": [{"message_index": 0, "results": [evil(5)]}]}


def test_errors_are_the_clients_own(world):
    """By the status; what it says of them has our details."""
    failing = {
        "BadRequestError": 400,
        "NotFoundError": 404,
        "UnprocessableEntityError": 422,
        "InternalServerError": 503,
    }
    for kind, status in failing.items():
        world.model_answers["/v1/chat/completions"] = answers({"error": {"message": "no way"}}, status)
        world.model_answers["/v1/completions"] = answers({"error": {"message": "no way"}}, status)
        for ask in (chat, text):
            [got] = read(ask(world, {"output": {"quiet": {}}}))
            assert (got["kind"], got["status"]) == (kind, status)
            assert str(status) in got["message"]
    unknown, wrong = read(chat(world, {"input": {"nobody": {}}}), chat(world, {"ouput": {}}))
    assert (unknown["kind"], wrong["kind"]) == ("NotFoundError", "UnprocessableEntityError")
