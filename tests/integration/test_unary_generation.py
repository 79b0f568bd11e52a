"""Generation with detectors, on TGIS and on caikit-nlp: A (unary) and B."""

import threading

import harness
import pytest
from grpcpeer import CHUNK, M, NLP, NLP_TOKENIZE, TGIS, TGIS_TOKENIZE
from peers import (
    CLASSIFICATION,
    GENERATION,
    UNSUITABLE_INPUT,
    UNSUITABLE_OUTPUT,
    World,
    answers,
    contents,
    finding,
    finds,
    nlp_answer,
    sentences,
    tgis_answer,
    whole,
)

DETECTORS = {
    "a": contents(),
    "b": contents(),
    "sent": contents("en"),
    "gen": whole("text_generation"),
    "gen2": whole("text_generation"),
}
PATHS = {"tgis": (TGIS, TGIS_TOKENIZE), "nlp": (NLP, NLP_TOKENIZE)}


@pytest.fixture(scope="module", params=["tgis", "nlp"])
def world(tmp_path_factory, request):
    with World(tmp_path_factory, DETECTORS, {"en": sentences}, request.param, openai=False) as w:
        w.provider = request.param
        w.generate, w.tokenize = PATHS[request.param]
        yield w


@pytest.fixture(autouse=True)
def fresh(world):
    world.reset()


def generates(world, text, **more):
    make = tgis_answer if world.provider == "tgis" else nlp_answer
    made = make(text, **more)
    world.grpc_answers[world.generate] = lambda request, context: made


def classify(inputs="text", **config):
    """input=…, output=…: detectors; masks=…"""
    sides = {side: {"models": models} for side, models in config.items() if side != "masks"}
    if "masks" in config:
        sides["input"]["masks"] = config["masks"]
    return {"model_id": "m", "inputs": inputs, "guardrail_config": sides}


def entity(start, end, word, name, **more):
    return {
        "start": start,
        "end": end,
        "word": word,
        "entity": "d",
        "entity_group": "t",
        "detector_id": name,
        "score": 0.9,
        **more,
    }


DETAILS = {"finish_reason": "EOS_TOKEN", "generated_token_count": 2, "seed": 5, "input_token_count": 3}


# --- A ---


def test_without_detectors(world):
    for body in (
        {"model_id": "m", "inputs": "text"},
        {"model_id": "m", "inputs": "text", "guardrail_config": None, "text_gen_parameters": None},
        classify(),
        classify(input={}, output={}),
        {"model_id": "m", "inputs": "text", "guardrail_config": {"input": None, "output": None}},
    ):
        assert world.ok(CLASSIFICATION, body) == {
            "generated_text": "fine",
            "token_classification_results": {},
            **DETAILS,
        }
    assert len(world.asked_grpc(world.generate)) == 5
    assert world.detectors.requests == []


def test_nothing_found(world):
    got = world.post(CLASSIFICATION, classify(input={"a": {}}, output={"b": {}}))
    assert got.text == (
        '{"generated_text":"fine","token_classification_results":{},"finish_reason":"EOS_TOKEN",'
        '"generated_token_count":2,"seed":5,"input_token_count":3}'
    )
    assert world.asked("a")[0].json()["contents"] == ["text"]
    assert world.asked("b")[0].json()["contents"] == ["fine"]


def test_input_detections_end_it(world):
    world.detector["a"] = finds("evil")
    world.detector["b"] = finds("an")
    body = classify("an evil text", input={"b": {}, "a": {}}, output={"sent": {}})
    got = world.post(CLASSIFICATION, body)
    assert got.text.startswith(
        '{"token_classification_results":{"input":[{"start":0,"end":2,"word":"an","entity":"d",'
        '"entity_group":"t","detector_id":"b","score":0.9},'
    )
    assert got.json() == {
        "token_classification_results": {"input": [entity(0, 2, "an", "b"), entity(3, 7, "evil", "a")]},
        "input_token_count": 9,
        "warnings": [{"id": "UNSUITABLE_INPUT", "message": UNSUITABLE_INPUT}],
    }
    assert world.asked_grpc(world.generate) == [] and world.asked("sent") == []
    (call,) = world.asked_grpc(world.tokenize)
    if world.provider == "tgis":
        assert call.request == M["fmaas.Tokenize"](model_id="m", requests=[{"text": "an evil text"}])
        assert "mm-model-id" not in call.metadata
    else:
        assert call.request.text == "an evil text"
        assert call.metadata["mm-model-id"] == "m"


def test_output_detections(world):
    generates(world, "So evil. Not ëvil. Evil evil!")
    world.detector["sent"] = finds("evil")
    got = world.ok(CLASSIFICATION, classify(input={"a": {}}, output={"sent": {}}))
    assert got == {
        "generated_text": "So evil. Not ëvil. Evil evil!",
        "token_classification_results": {"output": [entity(3, 7, "evil", "sent"), entity(24, 28, "evil", "sent")]},
        **DETAILS,
        "warnings": [{"id": "UNSUITABLE_OUTPUT", "message": UNSUITABLE_OUTPUT}],
    }
    assert world.asked("sent")[0].json()["contents"] == ["So evil.", " Not ëvil.", " Evil evil!"]
    assert world.asked_grpc(CHUNK)[0].request.text == "So evil. Not ëvil. Evil evil!"


def test_order_of_work(world):
    """Input detectors, then the model, then output detectors."""
    order = []

    def note(name, answer):
        def noted(*args):
            order.append(name)
            return answer(*args)

        return noted

    world.detector["a"] = note("input", finds("evil"))
    world.detector["b"] = note("output", finds("evil"))
    answer = world.grpc_answers[world.generate]
    world.grpc_answers[world.generate] = note("model", answer)
    world.ok(CLASSIFICATION, classify(input={"a": {}}, output={"b": {}}))
    assert order == ["input", "model", "output"]


def test_empty_generation(world):
    generates(world, "")
    got = world.ok(CLASSIFICATION, classify(output={"a": {}, "sent": {}}))
    assert got["generated_text"] == "" and "warnings" not in got
    assert world.detectors.requests == [] and world.asked_grpc(CHUNK) == []


def test_tokens(world):
    token = {"text": "é", "logprob": -0.5, "rank": 3}
    generates(world, "x", tokens=[token, {"text": ""}], input_tokens=[token])
    got = world.ok(CLASSIFICATION, classify())
    assert got["tokens"] == [token, {"text": "", "logprob": 0.0, "rank": 0}]
    assert got["input_tokens"] == [token]
    assert list(got)[-3:] == ["input_token_count", "tokens", "input_tokens"]


@pytest.mark.parametrize(
    "number, name",
    enumerate(
        "NOT_FINISHED MAX_TOKENS EOS_TOKEN CANCELLED TIME_LIMIT STOP_SEQUENCE TOKEN_LIMIT ERROR".split()
    ),
)
def test_finish_reasons(world, number, name):
    generates(world, "x", **{"stop_reason" if world.provider == "tgis" else "finish_reason": number})
    assert world.ok(CLASSIFICATION, classify())["finish_reason"] == name


def test_large_numbers(world):
    generates(world, "x", seed=2**64 - 1)
    assert f'"seed":{2**64 - 1}' in world.post(CLASSIFICATION, classify()).text


# --- masks ---


def test_masks(world):
    """Only the masked parts are looked at, together, and spans are of the whole input."""
    text = "évil👍 evil and evil."
    world.detector["a"] = finds("e?vil")
    body = classify(text, input={"a": {}}, masks=[[11, 20], [1, 5], [0, 3]])
    got = world.ok(CLASSIFICATION, body)
    assert world.asked("a")[0].json()["contents"] == [text[11:20], text[1:5], text[0:3]]
    assert len(world.asked("a")) == 1
    found = [(f["start"], f["end"]) for f in got["token_classification_results"]["input"]]
    expected = [(m, m + 3) for m in [1]] + [(15, 19)]
    assert found == expected
    assert all(f["word"] == text[f["start"] : f["end"]] for f in got["token_classification_results"]["input"])


def test_masks_through_a_chunker(world):
    """Every mask is a text of its own to the chunker; one request to the detector, in mask order."""
    text = "Evil. evil! EVIL? Go. évil. evil."
    world.detector["sent"] = finds("(?i)evil")
    masks = [[22, 33], [0, 17], [6, 9]]
    got = world.ok(CLASSIFICATION, classify(text, input={"sent": {}}, masks=masks))
    cut = [text[start:end] for start, end in masks]
    assert sorted(call.request.text for call in world.asked_grpc(CHUNK)) == sorted(cut)
    (request,) = world.asked("sent")
    chunks = [piece[s:e] for piece in cut for s, e in sentences(piece)]
    assert request.json()["contents"] == chunks
    found = [(f["start"], f["end"], f["word"]) for f in got["token_classification_results"]["input"]]
    assert found == [(0, 4, "Evil"), (6, 10, "evil"), (12, 16, "EVIL"), (28, 32, "evil")]


def test_mask_order_does_not_depend_on_the_chunker(world):
    """The first mask's chunks come first though its answer comes last."""
    slow = threading.Event()

    def chunk(text):
        if text.startswith("one"):
            assert slow.wait(harness.PATIENCE)
        else:
            slow.set()
        return sentences(text)

    world.chunkers["en"] = chunk
    world.ok(CLASSIFICATION, classify("one two", input={"sent": {}}, masks=[[0, 3], [4, 7]]))
    assert world.asked("sent")[0].json()["contents"] == ["one", "two"]


@pytest.mark.parametrize("masks", [[], None])
def test_no_masks(world, masks):
    world.ok(CLASSIFICATION, classify("all of it", input={"a": {}}, masks=masks))
    assert world.asked("a")[0].json()["contents"] == ["all of it"]


def test_mask_to_the_last_code_point(world):
    world.ok(CLASSIFICATION, classify("éé", input={"a": {}}, masks=[[0, 2], [1, 2]]))
    assert world.asked("a")[0].json()["contents"] == ["éé", "é"]


# --- what the model is sent ---

ALL_PARAMS = {
    "max_new_tokens": 99,
    "min_new_tokens": 1,
    "truncate_input_tokens": 500,
    "decoding_method": "SAMPLE",
    "top_k": 2,
    "top_p": 0.5,
    "typical_p": 0.25,
    "temperature": 0.75,
    "repetition_penalty": 2.5,
    "max_time": 1234.5,
    "exponential_decay_length_penalty": {"start_index": 2, "decay_factor": 1.5},
    "stop_sequences": ["\n", "END"],
    "seed": 2**64 - 1,
    "preserve_input_text": True,
    "input_tokens": True,
    "generated_tokens": True,
    "token_logprobs": True,
    "token_ranks": True,
    "include_stop_sequence": False,
}


def sent(world, params):
    world.grpc.calls.clear()
    world.ok(CLASSIFICATION, {"model_id": "m", "inputs": "hé", "text_gen_parameters": params})
    (call,) = world.asked_grpc(world.generate)
    return call.request


def test_parameters(world):
    if world.provider == "nlp":
        Generate = M["caikit.runtime.Nlp.Generate"]
        assert sent(world, ALL_PARAMS) == Generate(text="hé", **ALL_PARAMS)
        assert sent(world, {}) == sent(world, None) == Generate(text="hé")
        assert sent(world, {"top_k": 0, "seed": None}) == Generate(text="hé", top_k=0)
        return
    Generate = M["fmaas.Generate"]
    full = sent(world, ALL_PARAMS)
    assert full.model_id == "m" and [r.text for r in full.requests] == ["hé"]
    assert full.params == M["fmaas.Params"](
        method=1,
        sampling={"temperature": 0.75, "top_k": 2, "top_p": 0.5, "typical_p": 0.25, "seed": 2**64 - 1},
        stopping={
            "max_new_tokens": 99,
            "min_new_tokens": 1,
            "time_limit_millis": 1234,
            "stop_sequences": ["\n", "END"],
            "include_stop_sequence": False,
        },
        response={
            "input_text": True,
            "generated_tokens": True,
            "input_tokens": True,
            "token_logprobs": True,
            "token_ranks": True,
        },
        decoding={"repetition_penalty": 2.5, "length_penalty": {"start_index": 2, "decay_factor": 1.5}},
        truncate_input_tokens=500,
    )
    groups = {"sampling": {}, "stopping": {}, "response": {}, "decoding": {}}
    assert sent(world, {}) == Generate(model_id="m", requests=[{"text": "hé"}], params=groups)
    assert sent(world, None) == Generate(model_id="m", requests=[{"text": "hé"}])
    assert sent(world, {"decoding_method": "BEAM"}).params.method == 0


def test_penalty_in_part(world):
    """All parameters are optional, the penalty's members too."""
    got = sent(world, {"exponential_decay_length_penalty": {"decay_factor": 2}})
    where = got.params.decoding.length_penalty if world.provider == "tgis" else got.exponential_decay_length_penalty
    assert (where.start_index, where.decay_factor) == (0, 2)


def test_model_id(world):
    world.ok(CLASSIFICATION, {"model_id": "org/flan-t5", "inputs": "x"})
    (call,) = world.asked_grpc(world.generate)
    if world.provider == "nlp":
        assert call.metadata["mm-model-id"] == "org/flan-t5"
    else:
        assert call.request.model_id == "org/flan-t5" and "mm-model-id" not in call.metadata


# --- B ---


def test_generation_with_detection(world):
    generates(world, "gené")
    world.detector["gen"] = answers([finding(None, evidence=[]), finding(None, score=0.3)])
    world.detector["gen2"] = answers([finding(None, detection="x")])
    body = {"model_id": "m", "prompt": "p\n", "detectors": {"gen2": {"a": 1}, "gen": {}}}
    got = world.post(GENERATION, {**body, "text_gen_parameters": {"max_new_tokens": 4}})
    one = '{"detection_type":"t","detection":"%s","detector_id":"%s","score":0.9%s}'
    assert got.text == (
        '{"generated_text":"gené","detections":[%s,%s],"input_token_count":3}'
        % (one % ("d", "gen", ',"evidence":[]'), one % ("x", "gen2", ""))
    )
    assert world.asked("gen2")[0].body.decode() == (
        '{"prompt":"p\\n","generated_text":"gené","detector_params":{"a":1}}'
    )
    assert len(world.asked_grpc(world.generate)) == 1


def test_generation_with_nothing_found(world):
    body = {"model_id": "m", "prompt": "p", "detectors": {"gen": {}}, "text_gen_parameters": None}
    assert world.ok(GENERATION, body) == {
        "generated_text": "fine",
        "detections": [],
        "input_token_count": 3,
    }
