"""What a request may not be: every message of docs/api/endpoints.md, and no service is asked before."""

import json

import pytest
from peers import (
    CHAT,
    CHAT_HISTORY,
    CLASSIFICATION,
    CONTENT,
    CONTEXT,
    GENERATED,
    GENERATION,
    TEXT,
    World,
    contents,
    sentences,
    whole,
)

DETECTORS = {
    "det": contents(),
    "sent": contents("en"),
    "chat": whole("text_chat"),
    "doc": whole("text_context_doc"),
    "gen": whole("text_generation"),
}


def pytest_generate_tests(metafunc):
    """Each test runs in both modes, one that asks for `strict` only where its rule holds."""
    if "world" in metafunc.fixturenames:
        modes = ["adr"] if "strict" in metafunc.fixturenames else ["adr", "fms"]
        metafunc.parametrize("world", modes, indirect=True, scope="module")


@pytest.fixture(scope="module")
def world(tmp_path_factory, request):
    limits = {"max_body_bytes": 100_000, "max_json_depth": 20, "max_json_nodes": 100_000}
    compat = request.param
    with World(tmp_path_factory, DETECTORS, {"en": sentences}, "tgis", limits=limits, compat=compat) as w:
        w.is_fms = compat == "fms"
        yield w


@pytest.fixture
def strict(world):
    """The mode that refuses what compat: fms lets pass (test_unary_fms.py)."""
    return world


@pytest.fixture(autouse=True)
def nobody_is_asked(world):
    world.reset()
    yield
    assert world.detectors.requests == [] and world.model.requests == []
    assert world.grpc.calls == []


GOOD = {
    CLASSIFICATION: {"model_id": "m", "inputs": "text", "guardrail_config": {}, "text_gen_parameters": {}},
    GENERATION: {"model_id": "m", "prompt": "p", "detectors": {"gen": {}}},
    CONTENT: {"content": "text", "detectors": {"det": {}}},
    CHAT_HISTORY: {"messages": [{"role": "user", "content": "c"}], "detectors": {"chat": {}}},
    CONTEXT: {"content": "c", "context_type": "docs", "context": ["d"], "detectors": {"doc": {}}},
    GENERATED: {"prompt": "p", "generated_text": "g", "detectors": {"gen": {}}},
    CHAT: {
        "model": "m",
        "messages": [{"role": "user", "content": "c"}],
        "detectors": {"input": {"det": {}}, "output": {"det": {}}},
    },
    TEXT: {"model": "m", "prompt": "p", "detectors": {"input": {"det": {}}}},
}
ALL = list(GOOD)


def but(path, **changes):
    """The good body with members changed; a change to `...` takes the member out."""
    body = {**GOOD[path], **changes}
    return {name: value for name, value in body.items() if value is not ...}


# --- the body as such ---


@pytest.mark.parametrize("path", ALL)
@pytest.mark.parametrize(
    "text, what",
    [
        (b"", "line 1, column 1"),
        (b"{", "line 1, column 2"),
        (b'{"a":1}\n x', "line 2, column 2"),
        (b"{'a':1}", "line 1, column 2"),
        (b'{"a":01}', "line 1"),
        (b'{"a":NaN}', "line 1"),
        (b'{"a":"\xff"}', "line 1"),
        (b'{"a":"\xed\xa0\x80"}', "line 1"),
        (b'\xef\xbb\xbf{"a":1}', "line 1"),
        (b'{"detectors":{},"content":"a","detectors":{"det":{}}}', "line 1, column 31"),
        (b'{"content":"a","cont\\u0065nt":"b"}', "line 1, column 16"),
        (b'{"detectors":{"det":{"a":1,"a":2}}}', "line 1, column 28"),
    ],
)
def test_not_json(world, path, text, what):
    status, details = world.refused(path, text)
    assert status == 400
    assert details.startswith("the request body is not JSON: ") and what in details


def test_too_deep(world):
    status, details = world.refused(CONTENT, "[" * 21 + "]" * 21)
    assert status == 400 and "limits.max_json_depth" in details


def test_too_large(world):
    status, details = world.refused(CONTENT, {"content": "x" * 100_000, "detectors": {"det": {}}})
    assert status == 413 and "100000 bytes" in details and "limits.max_body_bytes" in details


@pytest.mark.parametrize("path", ALL)
@pytest.mark.parametrize("kind", ["text/plain", "application/x-ndjson", "application/jsonx", ""])
def test_content_type(world, path, kind):
    status, details = world.refused(path, GOOD[path], headers={"content-type": kind})
    assert (status, details) == (415, "expected `content-type: application/json`")


@pytest.mark.parametrize("path", ALL)
@pytest.mark.parametrize("value, came", [("[]", "array"), ('"x"', 'string "x"'), ("null", "null"), ("5", "number `5`")])
def test_not_an_object(world, path, value, came):
    assert world.refused(path, value) == (422, f"invalid type: {came}, expected an object")


@pytest.mark.parametrize("path", ALL)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_methods(world, path, method):
    got = world.weir.api.request(method, path)
    assert got.status_code == 405 and got.headers["allow"] == "POST, OPTIONS"
    assert got.json() == {"code": 405, "details": "method not allowed: use POST"}


@pytest.mark.parametrize("path", ["/", "/api", "/api/v2/text/detection", CONTENT + "/", CONTENT.upper(), "/v1/models"])
def test_unknown_paths(world, path):
    got = world.weir.api.post(path, json={})
    assert got.status_code == 404
    why = "no route is configured" if path == "/v1/models" else "unknown path"
    assert why in got.text


# --- fields ---

REQUIRED = {
    CLASSIFICATION: ["model_id", "inputs"],
    GENERATION: ["model_id", "prompt", "detectors"],
    CONTENT: ["content", "detectors"],
    CHAT_HISTORY: ["detectors", "messages"],
    CONTEXT: ["detectors", "content", "context_type", "context"],
    GENERATED: ["prompt", "generated_text", "detectors"],
    CHAT: ["model", "messages"],
    TEXT: ["model", "prompt"],
}
FIELDS = {
    **{path: names for path, names in REQUIRED.items() if path not in (CHAT, TEXT)},
    CLASSIFICATION: ["model_id", "inputs", "guardrail_config", "text_gen_parameters"],
    GENERATION: ["model_id", "prompt", "detectors", "text_gen_parameters"],
    CHAT_HISTORY: ["detectors", "messages", "tools"],
}


@pytest.mark.parametrize("path, name", [(path, name) for path in ALL for name in REQUIRED[path]])
def test_missing(world, path, name):
    assert world.refused(path, but(path, **{name: ...})) == (422, f"missing field `{name}`")


@pytest.mark.parametrize("path", FIELDS)
def test_unknown(world, path):
    known = ", ".join(f"`{name}`" for name in FIELDS[path])
    for name in ("detector", "content_", "x.y"):
        expected = f"{name}: unknown field `{name}`, expected one of {known}"
        assert world.refused(path, but(path, **{name: 1})) == (422, expected)


@pytest.mark.parametrize("path, name", [(path, name) for path in ALL for name in REQUIRED[path]])
def test_null_is_not_there(world, path, name):
    """A required field that is null is of the wrong type."""
    status, details = world.refused(path, but(path, **{name: None}))
    assert status == 422
    assert details.startswith(f"{name}: invalid type: null, expected a")


EMPTY = [(path, name) for path in FIELDS for name in REQUIRED[path] if name != "context_type"]


@pytest.mark.parametrize("path, name", EMPTY)
def test_empty(world, path, name):
    empty = type(GOOD[path][name])()
    assert world.refused(path, but(path, **{name: empty})) == (422, f"`{name}` is required")


def test_the_first_empty_one_is_told(world):
    for path, names in REQUIRED.items():
        if path in (CHAT, TEXT):
            continue
        names = [name for name in names if name != "context_type"]
        body = but(path, **{name: type(GOOD[path][name])() for name in names})
        assert world.refused(path, body) == (422, f"`{names[0]}` is required")


TYPES = [
    (CONTENT, {"content": 5}, "content: invalid type: number `5`, expected a string"),
    (CONTENT, {"content": ["a"]}, "content: invalid type: array, expected a string"),
    (CONTENT, {"detectors": ["det"]}, "detectors: invalid type: array, expected an object"),
    (CONTENT, {"detectors": "det"}, 'detectors: invalid type: string "det", expected an object'),
    (CONTENT, {"detectors": {"det": 5}}, "detectors.det: invalid type: number `5`, expected an object"),
    (CONTENT, {"detectors": {"det": None}}, "detectors.det: invalid type: null, expected an object"),
    (CONTENT, {"detectors": {"no": []}}, "detectors.no: invalid type: array, expected an object"),
    (CONTENT, {"content": "y" * 100, "detectors": "x" * 100}, "detectors: invalid type: string, expected an object"),
    (CONTENT, {"content": 10**80}, "content: invalid type: number, expected a string"),
    (CLASSIFICATION, {"model_id": True}, "model_id: invalid type: boolean `true`, expected a string"),
    (CLASSIFICATION, {"guardrail_config": 1}, "guardrail_config: invalid type: number `1`, expected an object"),
    (CLASSIFICATION, {"guardrail_config": {"input": []}}, "guardrail_config.input: invalid type: array, expected an object"),
    (CLASSIFICATION, {"guardrail_config": {"input": {}}}, "guardrail_config.input: missing field `models`"),
    (CLASSIFICATION, {"guardrail_config": {"output": {}}}, "guardrail_config.output: missing field `models`"),
    (
        CLASSIFICATION,
        {"guardrail_config": {"input": {"models": {"det": "x"}}}},
        'guardrail_config.input.models.det: invalid type: string "x", expected an object',
    ),
    (
        CLASSIFICATION,
        {"guardrail_config": {"output": {"models": {"det": None}}}},
        "guardrail_config.output.models.det: invalid type: null, expected an object",
    ),
    (
        CLASSIFICATION,
        {"guardrail_config": {"aggregation": "fast"}},
        "guardrail_config.aggregation: unknown variant `fast`, expected one of `max_processed_index`,"
        " `aligned`, `min_processed_index`",
    ),
    (GENERATION, {"prompt": {}}, "prompt: invalid type: object, expected a string"),
    (GENERATION, {"detectors": {"gen": []}}, "detectors.gen: invalid type: array, expected an object"),
    (CHAT_HISTORY, {"messages": {}}, "messages: invalid type: object, expected an array"),
    (CHAT_HISTORY, {"messages": ["x"]}, 'messages[0]: invalid type: string "x", expected an object'),
    (CHAT_HISTORY, {"messages": [{"content": "x"}]}, "messages[0]: missing field `role`"),
    (
        CHAT_HISTORY,
        {"messages": [{"role": "user", "content": "x"}, {"role": "user", "content": 5}]},
        "messages[1].content: invalid type: number `5`, expected a string",
    ),
    (
        CHAT_HISTORY,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, "b"]}]},
        'messages[0].content[1]: invalid type: string "b", expected an object',
    ),
    (
        CHAT_HISTORY,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": 1}]}]},
        "messages[0].content[0].text: invalid type: number `1`, expected a string",
    ),
    (
        CHAT_HISTORY,
        {"messages": [{"role": "user", "content": [{"text": "a"}]}]},
        "messages[0].content[0]: missing field `type`",
    ),
    (CHAT_HISTORY, {"tools": {}}, "tools: invalid type: object, expected an array"),
    (CONTEXT, {"context_type": "doc"}, "context_type: unknown variant `doc`, expected `docs` or `url`"),
    (CONTEXT, {"context_type": ""}, "context_type: unknown variant ``, expected `docs` or `url`"),
    (CONTEXT, {"context_type": 1}, "context_type: invalid type: number `1`, expected a string"),
    (CONTEXT, {"context": "d"}, 'context: invalid type: string "d", expected an array'),
    (CONTEXT, {"context": ["a", 5]}, "context[1]: invalid type: number `5`, expected a string"),
    (GENERATED, {"generated_text": 1.5}, "generated_text: invalid type: number `1.5`, expected a string"),
    (CHAT, {"model": 1}, "model: invalid type: number `1`, expected a string"),
    (CHAT, {"messages": "hi"}, 'messages: invalid type: string "hi", expected an array'),
    (CHAT, {"messages": [1]}, "messages[0]: invalid type: number `1`, expected an object"),
    (CHAT, {"messages": [{"role": "user", "content": 5}]}, "messages[0].content: invalid type: number `5`, expected a string"),
    (CHAT, {"stream": "yes"}, 'stream: invalid type: string "yes", expected a boolean'),
    (CHAT, {"tools": "x"}, 'tools: invalid type: string "x", expected an array'),
    (CHAT, {"detectors": []}, "detectors: invalid type: array, expected an object"),
    (CHAT, {"detectors": {"input": []}}, "detectors.input: invalid type: array, expected an object"),
    (CHAT, {"detectors": {"input": {"det": 1}}}, "detectors.input.det: invalid type: number `1`, expected an object"),
    (CHAT, {"detectors": {"output": {"det": None}}}, "detectors.output.det: invalid type: null, expected an object"),
    (
        CHAT,
        {"detectors": {"ouput": {"det": {}}, "input": {"det": {}}}},
        "detectors.ouput: unknown field `ouput`, expected one of `input`, `output`, `aggregation`",
    ),
    (
        CHAT,
        {"detectors": {"input": {"det": {}}, "aggregation": "x"}},
        "detectors.aggregation: unknown variant `x`, expected one of `max_processed_index`, `aligned`,"
        " `min_processed_index`",
    ),
    (TEXT, {"prompt": 5}, "prompt: invalid type: number `5`, expected a string"),
    (TEXT, {"prompt": {}, "detectors": {"output": {"det": {}}}}, "prompt: invalid type: object, expected a string"),
    (TEXT, {"_prompt_masks": {}}, "_prompt_masks: invalid type: object, expected an array"),
    (TEXT, {"_prompt_masks": ["x"]}, '_prompt_masks[0]: invalid type: string "x", expected an array'),
    (TEXT, {"_prompt_masks": [[0, "1"]]}, '_prompt_masks[0]: invalid type: string "1", expected an integer'),
]


@pytest.mark.parametrize("path, changes, details", TYPES)
def test_wrong_types(world, path, changes, details):
    assert world.refused(path, but(path, **changes)) == (422, details)


@pytest.mark.parametrize(
    "config, details",
    [
        (
            {"ouput": {"models": {}}},
            "guardrail_config.ouput: unknown field `ouput`, expected one of `input`, `output`, `aggregation`",
        ),
        (
            {"output": {"models": {}, "masks": []}},
            "guardrail_config.output.masks: unknown field `masks`, expected `models`",
        ),
        (
            {"input": {"models": {}, "mask": []}},
            "guardrail_config.input.mask: unknown field `mask`, expected one of `models`, `masks`",
        ),
    ],
)
def test_unknown_within(strict, config, details):
    assert strict.refused(CLASSIFICATION, but(CLASSIFICATION, guardrail_config=config)) == (422, details)


PARAMS = {
    "max_new_tokens": "an integer",
    "min_new_tokens": "an integer",
    "truncate_input_tokens": "an integer",
    "decoding_method": "a string",
    "top_k": "an integer",
    "top_p": "a number",
    "typical_p": "a number",
    "temperature": "a number",
    "repetition_penalty": "a number",
    "max_time": "a number",
    "exponential_decay_length_penalty": "an object",
    "stop_sequences": "an array",
    "seed": "an integer",
    "preserve_input_text": "a boolean",
    "input_tokens": "a boolean",
    "generated_tokens": "a boolean",
    "token_logprobs": "a boolean",
    "token_ranks": "a boolean",
    "include_stop_sequence": "a boolean",
}
COUNT = "a whole number from 0 to 4294967295"


@pytest.mark.parametrize("path", [CLASSIFICATION, GENERATION])
def test_generation_parameters(world, path):
    def refused(params):
        return world.refused(path, but(path, text_gen_parameters=params))

    where = "text_gen_parameters"
    for name, kind in PARAMS.items():
        wrong = "x" if kind != "a string" else 5
        came = 'string "x"' if kind != "a string" else "number `5`"
        assert refused({name: wrong}) == (422, f"{where}.{name}: invalid type: {came}, expected {kind}")
    assert refused({"stop_sequences": ["a", 1]})[1].startswith(f"{where}.stop_sequences[1]: invalid type")
    penalty = f"{where}.exponential_decay_length_penalty"
    for name in ("max_new_tokens", "min_new_tokens", "truncate_input_tokens", "top_k"):
        for value in (-1, 2**32):
            expected = f"{where}.{name}: invalid value: number `{value}`, expected {COUNT}"
            assert refused({name: value}) == (422, expected)
    assert refused({"exponential_decay_length_penalty": {"start_index": -1}}) == (
        422,
        f"{penalty}.start_index: invalid value: number `-1`, expected {COUNT}",
    )
    assert refused({"seed": -1})[1].startswith(f"{where}.seed: invalid value: number `-1`")
    assert refused({"seed": 1.5})[1].endswith("expected an integer")
    assert refused({"max_new_tokens": 1e3})[1].endswith("expected an integer")


@pytest.mark.parametrize("path", [CLASSIFICATION, GENERATION])
def test_unknown_generation_parameters(strict, path):
    where = "text_gen_parameters"
    known = ", ".join(f"`{name}`" for name in PARAMS)
    assert strict.refused(path, but(path, text_gen_parameters={"max_tokens": 1})) == (
        422,
        f"{where}.max_tokens: unknown field `max_tokens`, expected one of {known}",
    )
    penalty = {"exponential_decay_length_penalty": {"x": 1}}
    assert strict.refused(path, but(path, text_gen_parameters=penalty)) == (
        422,
        f"{where}.exponential_decay_length_penalty.x: unknown field `x`, expected one of `start_index`,"
        " `decay_factor`",
    )


# --- E's history ---


@pytest.mark.parametrize(
    "message, details",
    [
        ({"role": "user"}, "Message content cannot be empty"),
        ({"role": "user", "content": None}, "Message content cannot be empty"),
        ({"role": "assistant", "tool_calls": None}, "Message content cannot be empty"),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
            "Only content of type text is allowed",
        ),
        (
            {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "input_audio"}]},
            "Only content of type text is allowed",
        ),
    ],
)
def test_history(world, message, details):
    messages = [{"role": "user", "content": "fine"}, message]
    assert world.refused(CHAT_HISTORY, but(CHAT_HISTORY, messages=messages)) == (422, details)


# --- masks ---

BAD_MASKS = [
    [[0, 0]],
    [[1, 1]],
    [[2, 1]],
    [[0, 5]],
    [[4, 5]],
    [[-1, 2]],
    [[0, 2], [3, 9]],
    [[0]],
    [[]],
    [[0, 1, 2]],
    [[0, 2**64]],
]


@pytest.mark.parametrize("masks", BAD_MASKS)
def test_masks(world, masks):
    """Four code points, eight bytes."""
    config = {"input": {"models": {"det": {}}, "masks": masks}}
    body = but(CLASSIFICATION, inputs="éééé", guardrail_config=config)
    assert world.refused(CLASSIFICATION, body) == (422, "invalid masks")
    assert world.refused(TEXT, but(TEXT, prompt="éééé", _prompt_masks=masks)) == (422, "invalid masks")


def test_too_many_masks(world):
    masks = json.dumps([[0, 1]] * 10_000, separators=(",", ":"))
    text = "x" * 10_000
    body = f'{{"model":"m","prompt":"{text}","detectors":{{"input":{{"no":{{}}}}}},"_prompt_masks":%s}}'
    assert world.refused(TEXT, body % masks)[1] == "detector `no` not found"  # the masks are well
    masks = json.dumps([[0, 10_000]] * 200, separators=(",", ":"))
    assert world.refused(TEXT, body % masks) == (422, "invalid masks: together more than 1048576")


# --- detectors ---


def with_detectors(path, name, params):
    """The body that asks for this detector, on each side it can be asked for."""
    models = {name: params}
    if path == CLASSIFICATION:
        return [but(path, guardrail_config={side: {"models": models}}) for side in ("input", "output")]
    if path in (CHAT, TEXT):
        return [but(path, detectors={side: models}) for side in ("input", "output")]
    return [but(path, detectors=models)]


@pytest.mark.parametrize("path", ALL)
@pytest.mark.parametrize("name", ["nobody", "", "de`t", "whole_doc_chunker", "DET"])
def test_unknown_detector(world, path, name):
    for body in with_detectors(path, name, {}):
        assert world.refused(path, body) == (404, f"detector `{name}` not found")


TAKES = {
    CLASSIFICATION: ("det", "det"),
    GENERATION: ("gen",),
    CONTENT: ("det",),
    CHAT_HISTORY: ("chat",),
    CONTEXT: ("doc",),
    GENERATED: ("gen",),
    CHAT: ("det", "det chat"),
    TEXT: ("det", "det gen"),
}


@pytest.mark.parametrize("path", ALL)
@pytest.mark.parametrize("name", ["det", "chat", "doc", "gen"])
def test_detector_types(world, path, name):
    for body, taken in zip(with_detectors(path, name, {}), TAKES[path]):
        if name not in taken.split():
            expected = f"detector `{name}` is not supported by this endpoint"
            assert world.refused(path, body) == (422, expected)


@pytest.mark.parametrize("path", ALL)
@pytest.mark.parametrize("threshold", ["0.5", True, [], {}])
def test_thresholds(world, path, threshold):
    """Told before it is asked whether the detector exists."""
    for name in ("det", "nobody"):
        expected = f"`threshold` parameter specified for model `{name}` must be a number"
        for body in with_detectors(path, name, {"threshold": threshold}):
            assert world.refused(path, body) == (422, expected)


def test_threshold_that_is_no_double(world):
    body = '{"content":"x","detectors":{"det":{"threshold":1e400}}}'
    assert world.refused(CONTENT, body)[1].endswith("`det` must be a number")


# --- H and I ---

NO_DETECTOR = "`detectors` is required: name at least one detector in `input` or `output`"
NONE_AT_ALL = [..., None, {}, {"input": {}}, {"output": {}}, {"input": {}, "output": None}, {"aggregation": "aligned"}]


@pytest.mark.parametrize("path", [CHAT, TEXT])
@pytest.mark.parametrize("detectors", NONE_AT_ALL)
def test_no_detectors(strict, path, detectors):
    for stream in (False, True):
        body = but(path, detectors=detectors, stream=stream)
        assert strict.refused(path, body) == (422, NO_DETECTOR)


def test_model_is_empty(world):
    for path in (CHAT, TEXT):
        assert world.refused(path, but(path, model="")) == (422, "`model` must not be empty")


def test_messages_are_empty(world):
    assert world.refused(CHAT, but(CHAT, messages=[])) == (422, "`messages` must not be empty")
    assert world.refused(CHAT, but(CHAT, messages=[], model=""))[1] == "`model` must not be empty"


EMPTY_LAST = "if input detectors are provided, `content` must not be empty on last message"
WRONG_ROLE = "Last message role must be user, assistant, or system"


@pytest.mark.parametrize(
    "last, details",
    [
        ({"role": "user"}, EMPTY_LAST),
        ({"role": "user", "content": None}, EMPTY_LAST),
        ({"role": "user", "content": ""}, EMPTY_LAST),
        ({"role": "assistant", "tool_calls": [{}]}, EMPTY_LAST),
        ({"role": "user", "content": []}, "Detection on array is not supported"),
        ({"role": "user", "content": [{"type": "text", "text": "x"}]}, "Detection on array is not supported"),
        ({"role": "tool", "content": "x"}, WRONG_ROLE),
        ({"role": "function", "content": "x"}, WRONG_ROLE),
        ({"role": "User", "content": "x"}, WRONG_ROLE),
        ({"role": 5, "content": "x"}, WRONG_ROLE),
        ({"content": "x"}, WRONG_ROLE),
    ],
)
def test_last_message(world, last, details):
    messages = [{"role": "user", "content": "fine"}, last]
    # There the role is looked at when the stream has begun.
    is_late = world.is_fms and details == WRONG_ROLE
    for stream in (False,) if is_late else (False, True):
        assert world.refused(CHAT, but(CHAT, messages=messages, stream=stream)) == (422, details)


@pytest.mark.parametrize(
    "changes, details",
    [
        ({"prompt": ""}, "`prompt` must not be empty when input detectors are provided"),
        ({"prompt": ["a"]}, "Detection on array is not supported"),
        ({"prompt": [1, 2]}, "Detection on array is not supported"),
        ({"prompt": ["a"], "detectors": {"output": {"gen": {}}}}, "Detection on array is not supported"),
        (
            {"prompt": ["a"], "detectors": {"output": {"det": {}}}, "_prompt_masks": [[0, 1]]},
            "Detection on array is not supported",
        ),
    ],
)
def test_prompt(world, changes, details):
    assert world.refused(TEXT, but(TEXT, **changes)) == (422, details)
