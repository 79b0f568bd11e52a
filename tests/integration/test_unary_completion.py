"""Chat and text completions with detectors, not streamed: H and I."""

import json
import re
import time

import pytest
from grpcpeer import CHUNK
from peers import (
    CHAT,
    TEXT,
    UNSUITABLE_INPUT,
    UNSUITABLE_OUTPUT,
    World,
    answers,
    chat_completion,
    choice,
    contents,
    finding,
    finds,
    sentences,
    whole,
)
from service import reply

DETECTORS = {
    "a": contents(),
    "b": contents(),
    "sent": contents("en"),
    "chat": whole("text_chat"),
    "chat2": whole("text_chat"),
    "gen": whole("text_generation"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    limits = {"max_choices": 5}
    with World(tmp_path_factory, DETECTORS, {"en": sentences}, limits=limits) as w:
        yield w


@pytest.fixture(autouse=True)
def fresh(world):
    world.reset()


def chat(*messages, **detectors):
    made = [m if isinstance(m, dict) else {"role": "user", "content": m} for m in messages or ["hi"]]
    return {"model": "m", "messages": made, "detectors": detectors}


def text(prompt="hi", **detectors):
    return {"model": "m", "prompt": prompt, "detectors": detectors}


def result(start, end, word, name, **more):
    found = {"detector_id": name, "detection_type": "t", "detection": "d", "score": 0.9, **more}
    return found if start is None else {"start": start, "end": end, "text": word, **found}


INPUT_WARNING = {"type": "UNSUITABLE_INPUT", "message": UNSUITABLE_INPUT}
OUTPUT_WARNING = {"type": "UNSUITABLE_OUTPUT", "message": UNSUITABLE_OUTPUT}


# --- what the model server gets ---


def test_request_goes_on_untouched(world):
    """Members in their order, numbers and escapes as spelled, white space too, minus what is ours."""
    body = (
        '{ "temperature" : 0.70, "detectors" : {"output":{"a":{}}},\n "messages":[{"role":"user",'
        '"content":"h\\u0069","x":[1.0,1e2]}],"unknown":{"b":1,"a":12345678901234567890123},'
        '"model":"m", "stream":false, "n":null }'
    )
    world.ok(CHAT, body)
    (request,) = world.asked_model()
    assert request.body.decode() == (
        '{ "temperature" : 0.70, "messages":[{"role":"user",'
        '"content":"h\\u0069","x":[1.0,1e2]}],"unknown":{"b":1,"a":12345678901234567890123},'
        '"model":"m", "stream":false, "n":null }'
    )
    assert request.method == "POST"
    assert request.header("content-type") == "application/json"
    assert request.header("content-length") == str(len(request.body))
    assert request.header("transfer-encoding") is None


@pytest.mark.parametrize(
    "options, left",
    [
        ('{"include_usage":true,"batching":{"mode":"off"}}', '"stream_options":{"include_usage":true},'),
        ('{"batching":{"mode":"off"},"x":1}', '"stream_options":{"x":1},'),
        ('{"include_usage":true}', '"stream_options":{"include_usage":true},'),
        ("null", '"stream_options":null,'),
        ("{}", '"stream_options":{},'),
        ('{"batching":{}}', ""),  # it was there for us alone
    ],
)
def test_batching_stays_here(world, options, left):
    body = '{"model":"m","stream_options":%s,"messages":[{"role":"user","content":"x"}],"detectors":{"output":{"a":{}}}}'
    world.ok(CHAT, body % options)
    assert world.asked_model()[0].body.decode() == (
        '{"model":"m",%s"messages":[{"role":"user","content":"x"}]}' % left
    )


def test_masks_stay_here(world):
    body = '{"_prompt_masks":[[0,1]],"model":"m","prompt":"hi","suffix":null,"detectors":{"input":{"a":{}}}}'
    world.ok(TEXT, body)
    assert world.asked_model("/v1/completions")[0].body.decode() == '{"model":"m","prompt":"hi","suffix":null}'


def test_masks_mean_nothing_on_chat(world):
    """There they are a member like any other unknown one."""
    world.ok(CHAT, {**chat(output={"a": {}}), "_prompt_masks": "x"})
    assert world.asked_model()[0].json()["_prompt_masks"] == "x"


# --- what the caller gets ---

SERVER_ANSWER = (
    '{ "id":"c-1",\n "object":"chat.completion", "created":1700000000,"model":"m-2024","choices":[{"index":0,'
    '"message":{"role":"assistant","content":"%s","annotations":[]},"logprobs":null,"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":1e1,"completion_tokens":2.0},"system_fingerprint":"fp","x":[ 1,2 ]%s }\n'
)


def model_says(world, body):
    world.model_answers["/v1/chat/completions"] = world.model_answers["/v1/completions"] = answers(body)


def test_answer_comes_back_untouched(world):
    model_says(world, SERVER_ANSWER % ("f\\u0069ne", ""))
    for detectors in ({"output": {"a": {}}}, {"input": {"a": {}}}, {"input": {"a": {}}, "output": {"sent": {}}}):
        got = world.post(CHAT, chat(**detectors))
        assert got.text == SERVER_ANSWER % ("f\\u0069ne", "")


def test_answer_is_only_added_to(world):
    model_says(world, SERVER_ANSWER % ("\\u0065vil", ""))
    world.detector["a"] = finds("evil")
    got = world.post(CHAT, chat(output={"a": {}}))
    ours = (
        ',"detections":{"output":[{"choice_index":0,"results":[{"start":0,"end":4,"text":"evil",'
        '"detector_id":"a","detection_type":"t","detection":"d","score":0.9}]}]},"warnings":['
        '{"type":"UNSUITABLE_OUTPUT","message":"Unsuitable output detected."}]'
    )
    whole_answer = SERVER_ANSWER % ("\\u0065vil", "")
    assert got.text == whole_answer.replace("[ 1,2 ]", "[ 1,2 ]" + ours)


def test_their_detections_and_warnings(world):
    """Ours replace, ours follow."""
    theirs = ',"detections":{"mine":1},"warnings":[{"type":"OTHER" ,"message":"x"}]'
    model_says(world, SERVER_ANSWER % ("evil", theirs))
    world.detector["a"] = finds("evil")
    got = world.ok(CHAT, chat(output={"a": {}}))
    assert got["detections"] == {"output": [{"choice_index": 0, "results": [result(0, 4, "evil", "a")]}]}
    assert got["warnings"] == [{"type": "OTHER", "message": "x"}, OUTPUT_WARNING]
    world.detector["a"] = finds("good")
    for detectors in ({"output": {"a": {}}}, {"input": {"a": {}}}):
        got = world.post(CHAT, chat(**detectors))
        assert got.text == SERVER_ANSWER % ("evil", ',"warnings":[{"type":"OTHER" ,"message":"x"}]')
    for strange in ('"detections":null', '"detections":[]', '"warnings":null', '"warnings":"x"'):
        model_says(world, SERVER_ANSWER % ("evil", "," + strange))
        world.detector["a"] = finds("evil")
        got = world.ok(CHAT, chat(output={"a": {}}))
        assert got["detections"]["output"][0]["choice_index"] == 0
        assert got["warnings"] == [OUTPUT_WARNING]


def test_results(world):
    """With spans first, by start, end and id; then those without, by id."""
    world.chat_answers("An evil one. An evil two.")
    world.detector["sent"] = finds("evil", evidence=[{"name": "x"}])
    world.detector["b"] = finds("An evil")
    world.detector["a"] = finds("evil one")
    world.detector["chat"] = answers([finding(None, detection="z"), finding(None, detection="y")])
    world.detector["chat2"] = answers([finding(None, metadata={"k": 1})])
    names = ["chat2", "sent", "chat", "b", "a"]
    got = world.ok(CHAT, chat(output={name: {} for name in names}))
    assert got["detections"]["output"][0]["results"] == [
        result(0, 7, "An evil", "b"),
        result(3, 7, "evil", "sent", evidence=[{"name": "x"}]),
        result(3, 11, "evil one", "a"),
        result(13, 20, "An evil", "b"),
        result(16, 20, "evil", "sent", evidence=[{"name": "x"}]),
        result(None, None, None, "chat", detection="z"),
        result(None, None, None, "chat", detection="y"),
        result(None, None, None, "chat2", metadata={"k": 1}),
    ]


# --- input detections ---


def test_input_detections_end_it(world):
    world.detector["a"] = finds("evil")
    body = chat("evil before", {"role": "assistant", "content": "evil too"}, "now évil evil", input={"a": {}}, output={"b": {}})
    began = int(time.time())
    got = world.ok(CHAT, body)
    assert re.fullmatch("chatcmpl-[0-9a-f]{32}", got.pop("id"))
    # The clock of whole seconds may be a tick behind the one Python reads.
    assert began - 1 <= got.pop("created") <= time.time()
    assert got == {
        "object": "chat.completion",
        "model": "m",
        "choices": [],
        "usage": {"prompt_tokens": 7, "total_tokens": 0, "completion_tokens": 0},
        "detections": {"input": [{"message_index": 2, "results": [result(9, 13, "evil", "a")]}]},
        "warnings": [INPUT_WARNING],
    }
    assert [request.path for request in world.model.requests] == ["/tokenize"]
    assert world.model.requests[0].body.decode() == '{"model":"m","prompt":"now évil evil"}'
    assert world.asked("a")[0].json()["contents"] == ["now évil evil"]
    assert world.asked("b") == []
    assert world.ok(CHAT, body)["id"] != world.ok(CHAT, body)["id"]


def test_input_detections_on_text(world):
    world.detector["a"] = finds("evil")
    got = world.ok(TEXT, text("an evil one", input={"a": {}}))
    assert re.fullmatch("cmpl-[0-9a-f]{32}", got.pop("id"))
    assert isinstance(got.pop("created"), int)
    assert got == {
        "object": "text_completion",
        "model": "m",
        "choices": [],
        "usage": {"prompt_tokens": 7, "total_tokens": 0, "completion_tokens": 0},
        "detections": {"input": [{"message_index": 0, "results": [result(3, 7, "evil", "a")]}]},
        "warnings": [INPUT_WARNING],
    }


@pytest.mark.parametrize("status", [404, 405, 501, 400, 401, 500, 503])
def test_without_a_tokenizer(world, status):
    world.model_answers["/tokenize"] = answers({"error": "no"}, status)
    world.detector["a"] = finds("evil")
    for path, body in ((CHAT, chat("evil", input={"a": {}})), (TEXT, text("evil", input={"a": {}}))):
        assert world.ok(path, body)["usage"] == {"prompt_tokens": 0, "total_tokens": 0, "completion_tokens": 0}


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"count":"7"}', '{"count":-1}', "x", '{"count":1,"count":2}'])
def test_a_tokenizer_that_talks_nonsense(world, body):
    world.model_answers["/tokenize"] = answers(body)
    world.detector["a"] = finds("evil")
    assert world.ok(CHAT, chat("evil", input={"a": {}}))["usage"]["prompt_tokens"] == 0


def test_nothing_in_the_input(world):
    got = world.ok(CHAT, chat("fine", input={"a": {}, "sent": {}}))
    assert "detections" not in got and "warnings" not in got
    assert world.asked("sent")[0].json()["contents"] == ["fine"]
    assert len(world.asked_model()) == 1


@pytest.mark.parametrize("role", ["user", "assistant", "system", "developer"])
def test_roles_of_the_last_message(world, role):
    world.detector["a"] = finds("evil")
    got = world.ok(CHAT, chat("fine", {"role": role, "content": "evil"}, input={"a": {}}))
    assert got["detections"]["input"][0]["message_index"] == 1


def test_any_last_message_without_input_detectors(world):
    for last in (
        {"role": "tool", "content": "x", "tool_call_id": "1"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "user"},
        {},
    ):
        world.ok(CHAT, chat("fine", last, output={"a": {}}, input=None))


def test_prompt_masks(world):
    world.detector["a"] = finds("evil")
    body = {**text("evil evil evil", input={"a": {}}), "_prompt_masks": [[5, 9], [0, 2]]}
    got = world.ok(TEXT, body)
    assert got["detections"]["input"] == [{"message_index": 0, "results": [result(5, 9, "evil", "a")]}]
    assert world.asked("a")[0].json()["contents"] == ["evil", "ev"]
    for none in ([], None):
        world.reset()
        world.ok(TEXT, {**text("all of it", input={"a": {}}), "_prompt_masks": none})
        assert world.asked("a")[0].json()["contents"] == ["all of it"]


def test_any_prompt_without_input_detectors(world):
    for prompt in ("", ["a", "b"], [1, 2], [[1], [2]]):
        world.ok(TEXT, text(prompt, output={"a": {}}))
        assert world.asked_model("/v1/completions")[-1].json()["prompt"] == prompt


# --- output detections ---


def empty(index, is_chat=True):
    words = f"Choice of index {index} has no content"
    return {
        "type": "EMPTY_OUTPUT",
        "message": words if is_chat else words + ". Output detection was not executed",
    }


def test_every_choice_on_its_own(world):
    world.chat_answers("evil", choice(None, 1), "fine", choice("so evil", 7), choice("", 4))
    world.detector["a"] = finds("evil")
    got = world.ok(CHAT, chat(output={"a": {}, "sent": {}}))
    assert got["detections"] == {
        "output": [
            {"choice_index": 0, "results": [result(0, 4, "evil", "a")]},
            {"choice_index": 7, "results": [result(3, 7, "evil", "a")]},
        ]
    }
    assert got["warnings"] == [empty(1), empty(4), OUTPUT_WARNING]
    assert sorted(r.json()["contents"] for r in world.asked("a")) == [["evil"], ["fine"], ["so evil"]]
    assert len(world.asked_grpc(CHUNK)) == 3


def test_every_choice_of_text(world):
    world.text_answers("evil", "", "fine", {"index": 3, "finish_reason": "length"})
    world.detector["a"] = finds("evil")
    world.detector["gen"] = answers([finding(None)])
    got = world.ok(TEXT, text("the prompt", output={"a": {}, "gen": {}}))
    assert got["detections"] == {
        "output": [
            {"choice_index": 0, "results": [result(0, 4, "evil", "a"), result(None, None, None, "gen")]},
            {"choice_index": 2, "results": [result(None, None, None, "gen")]},
        ]
    }
    assert got["warnings"] == [empty(1, False), empty(3, False), OUTPUT_WARNING]
    assert sorted(r.body.decode() for r in world.asked("gen")) == [
        '{"prompt":"the prompt","generated_text":"evil","detector_params":{}}',
        '{"prompt":"the prompt","generated_text":"fine","detector_params":{}}',
    ]


def test_whole_findings_alone_are_not_unsuitable(world):
    """UNSUITABLE_OUTPUT is for text_contents findings only."""
    world.detector["chat"] = world.detector["gen"] = answers([finding(None)])
    got = world.ok(CHAT, chat(output={"chat": {}, "a": {}}))
    assert "warnings" not in got and got["detections"]["output"][0]["results"] == [result(None, None, None, "chat")]
    got = world.ok(TEXT, text(output={"gen": {}}))
    assert "warnings" not in got and got["detections"]["output"][0]["results"] == [result(None, None, None, "gen")]


TOOL_CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"p": 1.50}}}]


def test_chat_detectors_see_everything(world):
    body = (
        '{"model":"m","tools":[ {"type":"function", "x":1.50} ],"messages":[{"role":"system","content":"s"},'
        ' {"role":"user", "content":[{"type":"text","text":"\\u0068i"}]}],"detectors":{"output":{"chat":{"k":true}}}}'
    )
    model_says(world, SERVER_ANSWER % ("f\\u0069ne", ""))
    world.ok(CHAT, body)
    assert world.asked("chat")[0].body.decode() == (
        '{"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"\\u0068i"}]},'
        '{"role":"assistant","content":"f\\u0069ne","annotations":[]}],"tools":[{"type":"function","x":1.50}],'
        '"detector_params":{"k":true}}'
    )


def test_a_choice_of_tool_calls_only(world):
    """text_chat looks at it, text_contents has nothing to see; the warning is there all the same."""
    message = {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}
    world.chat_answers({"index": 0, "message": message, "finish_reason": "tool_calls"}, choice("fine", 1))
    world.detector["chat"] = answers([finding(None)])
    body = {**chat("hi", output={"chat": {}, "a": {}}), "tools": TOOLS}
    got = world.ok(CHAT, body)
    assert got["detections"] == {
        "output": [{"choice_index": i, "results": [result(None, None, None, "chat")]} for i in (0, 1)]
    }
    assert got["warnings"] == [empty(0)]
    assert [r.json()["contents"] for r in world.asked("a")] == [["fine"]]
    histories = [r.json() for r in world.asked("chat")]
    assert all(h["tools"] == TOOLS for h in histories)
    assert message in [h["messages"][-1] for h in histories]


def test_no_choices(world):
    model_says(world, '{"choices":[]}')
    assert world.post(CHAT, chat(output={"a": {}, "chat": {}})).text == '{"choices":[]}'
    assert world.detectors.requests == []


def test_choice_without_an_index(world):
    model_says(world, '{"choices":[{"message":{"content":"evil"}},{"message":{"content":"evil"},"index":null}]}')
    world.detector["a"] = finds("evil")
    got = world.ok(CHAT, chat(output={"a": {}}))
    assert [o["choice_index"] for o in got["detections"]["output"]] == [0, 1]


def test_input_and_output(world):
    world.chat_answers("evil")
    world.detector["b"] = finds("evil")
    got = world.ok(CHAT, chat("fine", input={"a": {}}, output={"b": {}}))
    assert got["detections"] == {"output": [{"choice_index": 0, "results": [result(0, 4, "evil", "b")]}]}
    assert got["warnings"] == [OUTPUT_WARNING]
    assert len(world.asked("a")) == len(world.asked("b")) == 1


def test_one_detector_on_both_sides(world):
    """Thresholds and parameters are those of the side."""
    world.chat_answers("evil")
    world.detector["a"] = finds("evil", score=0.6)
    body = chat("evil", input={"a": {"threshold": 0.7, "side": "in"}}, output={"a": {"threshold": 0.5, "side": "out"}})
    got = world.ok(CHAT, body)
    assert got["detections"]["output"][0]["results"][0]["score"] == 0.6
    assert [r.json()["detector_params"] for r in world.asked("a")] == [{"side": "in"}, {"side": "out"}]


@pytest.mark.parametrize("side", ["input", "output"])
def test_null_is_absent(world, side):
    other = {"input": "output", "output": "input"}[side]
    body = {**chat(), "detectors": {side: None, other: {"a": {}}, "aggregation": None}}
    body |= {"stream": None, "tools": None, "stream_options": None}
    world.ok(CHAT, body)
    assert len(world.asked("a")) == 1


def test_aggregation_is_named_and_stays_here(world):
    for name in ("max_processed_index", "aligned", "min_processed_index"):
        world.ok(CHAT, {**chat(), "detectors": {"output": {"a": {}}, "aggregation": name}})
    assert all("detectors" not in r.json() for r in world.asked_model())


# --- answers that are none ---

NONSENSE = [
    "",
    "x",
    "[]",
    "null",
    "5",
    '"x"',
    "{}",
    '{"choices":null}',
    '{"choices":{}}',
    '{"choices":[1]}',
    '{"choices":[{}]}',
    '{"choices":[{"message":null}]}',
    '{"choices":[{"message":"x"}]}',
    '{"choices":[{"message":{"content":5}}]}',
    '{"choices":[{"message":{"content":[{"type":"text","text":"x"}]}}]}',
    '{"choices":[{"index":-1,"message":{"content":"x"}}]}',
    '{"choices":[{"index":"0","message":{"content":"x"}}]}',
    '{"choices":[],"choices":[]}',
    '{"choices":[]} {}',
    '{"choices":[{"message":{"content":"\\ud800","content":"x"}}]}',
    json.dumps(chat_completion(*"abcdef")),  # one more than max_choices
    b'{"choices":[{"message":{"content":"\xff"}}]}',
]


@pytest.mark.parametrize("body", NONSENSE)
def test_model_that_talks_nonsense(world, body):
    model_says(world, body)
    got = world.post(CHAT, chat(output={"a": {}}))
    assert got.status_code == 500, got.text
    assert got.json()["details"] == "unexpected error occurred while processing request"
    assert world.asked("a") == []


@pytest.mark.parametrize("body", ["", "x", "[]", "5", '{"choices":[]}}', '{"a":1,"a":2}'])
def test_nonsense_without_output_detectors(world, body):
    model_says(world, body)
    assert world.post(CHAT, chat(input={"a": {}})).status_code == 500


@pytest.mark.parametrize("body", ['{"choices":[{"text":5}]}', '{"choices":["x"]}', '{"choices":[{"text":["x"]}]}'])
def test_text_nonsense(world, body):
    model_says(world, body)
    assert world.post(TEXT, text(output={"a": {}})).status_code == 500


def test_lone_surrogates(world):
    """What cannot be said in UTF-8 is seen as U+FFFD and comes back as it was written."""
    model_says(world, '{"choices":[{"index":0,"message":{"content":"a\\ud83d evil"}}]}')
    world.detector["a"] = finds("evil")
    got = world.post(CHAT, chat(output={"a": {}}))
    assert got.text.startswith('{"choices":[{"index":0,"message":{"content":"a\\ud83d evil"}}],"detections":')
    assert world.asked("a")[0].json()["contents"] == ["a\ufffd evil"]
    results = got.json()["detections"]["output"][0]["results"]
    assert [(r["start"], r["end"]) for r in results] == [(3, 7)]


def test_streamed_answer_to_an_unary_request(world):
    world.model_answers["/v1/chat/completions"] = lambda request: reply(
        "data: {}\n\ndata: [DONE]\n\n", content_type="text/event-stream"
    )
    assert world.post(CHAT, chat(output={"a": {}})).status_code == 500
