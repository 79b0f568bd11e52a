"""Detection alone: content, chat history, context, generated text."""

import json

import pytest
from peers import (
    CHAT_HISTORY,
    CONTENT,
    CONTEXT,
    GENERATED,
    World,
    answers,
    contents,
    finding,
    finds,
    sentences,
    whole,
    words,
)

DETECTORS = {
    "whole": contents(),
    "b-whole": contents(),
    "strict": contents(default_threshold=0.95),
    "sent": contents("en"),
    "sent2": contents("en"),
    "word": contents("words"),
    "chat": whole("text_chat"),
    "a-chat": whole("text_chat"),
    "doc": whole("text_context_doc"),
    "gen": whole("text_generation"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    chunkers = {"en": sentences, "words": words}
    with World(tmp_path_factory, DETECTORS, chunkers, openai=False) as w:
        yield w


@pytest.fixture(autouse=True)
def fresh(world):
    world.reset()


def content(text, **detectors):
    return {"content": text, "detectors": detectors}


def spans(answer):
    return [(d["start"], d["end"], d["text"], d["detector_id"]) for d in answer["detections"]]


# --- C ---


def test_content(world):
    world.detector["whole"] = finds("evil", evidence=[{"name": "n"}], metadata={"k": 1})
    got = world.post(CONTENT, content("an evil word", whole={}))
    assert got.text == (
        '{"detections":[{"start":3,"end":7,"text":"evil","detection":"d","detection_type":"t",'
        '"detector_id":"whole","score":0.9,"evidence":[{"name":"n"}],"metadata":{"k":1}}]}'
    )


def test_nothing_found(world):
    assert world.post(CONTENT, content("fine", whole={})).text == '{"detections":[]}'


def test_results_are_ordered(world):
    """By start, end, detector id; what ranks the same stays as the detector gave it."""
    world.detector["b-whole"] = answers([[finding(4, 5), finding(0, 3), finding(0, 2)]])
    same = [finding(0, 2, detection=name) for name in "zxy"]
    world.detector["whole"] = answers([[finding(4, 5), *same]])
    for order in (["whole", "b-whole"], ["b-whole", "whole"]):
        got = world.ok(CONTENT, content("012345", **{name: {} for name in order}))
        assert [(d["start"], d["end"], d["detector_id"], d["detection"]) for d in got["detections"]] == [
            (0, 2, "b-whole", "d"),
            (0, 2, "whole", "z"),
            (0, 2, "whole", "x"),
            (0, 2, "whole", "y"),
            (0, 3, "b-whole", "d"),
            (4, 5, "b-whole", "d"),
            (4, 5, "whole", "d"),
        ]


def test_thresholds(world):
    world.detector["whole"] = world.detector["strict"] = answers(
        [[finding(score=0.5), finding(score=0.94), finding(score=1), finding(score=0.499)]]
    )

    def scores(**detectors):
        got = world.ok(CONTENT, content("text", **detectors))
        return [d["score"] for d in got["detections"]]

    assert scores(whole={}) == [0.5, 0.94, 1]
    assert scores(strict={}) == [1]
    assert scores(strict={"threshold": 0.5}) == [0.5, 0.94, 1]
    assert scores(strict={"threshold": None}) == [1]
    assert scores(whole={"threshold": 0}) == [0.5, 0.94, 1, 0.499]
    assert scores(whole={"threshold": 1}) == [1]
    assert scores(whole={"threshold": 9.4e-1}) == [0.94, 1]


def test_scores_keep_their_spelling(world):
    world.detector["whole"] = answers(
        '[[{"start":0,"end":1,"detection":"d","detection_type":"t","score":0.90000000000000000001}]]'
    )
    assert '"score":0.90000000000000000001' in world.post(CONTENT, content("t", whole={})).text


def test_parameters_are_sent_on(world):
    body = (
        '{"content":"x","detectors":{"whole":{"z":1.50,"threshold":0.5,"a":{"y":[ 1 ],"x":"\\u00e9"},'
        '"é":1e2,"Z":null}}}'
    )
    world.ok(CONTENT, body)
    assert world.asked("whole")[0].body.decode() == (
        '{"contents":["x"],"detector_params":{"Z":null,"a":{"y":[1],"x":"\\u00e9"},"z":1.50,"é":1e2}}'
    )


def test_detector_id_is_ours(world):
    world.detector["whole"] = answers([[finding(detector_id="other")]])
    assert world.ok(CONTENT, content("x", whole={}))["detections"][0]["detector_id"] == "whole"


def test_text_of_the_detector_is_believed(world):
    world.detector["whole"] = answers([[finding(0, 4, text="[masked]")]])
    assert spans(world.ok(CONTENT, content("evil", whole={}))) == [(0, 4, "[masked]", "whole")]


# --- chunkers ---


def test_chunks_go_in_one_request(world):
    world.detector["sent"] = finds("evil")
    text = "No evil. Really none!  But evil?"
    got = world.ok(CONTENT, content(text, sent={}))
    assert spans(got) == [(3, 7, "evil", "sent"), (27, 31, "evil", "sent")]
    (request,) = world.asked("sent")
    assert request.json()["contents"] == ["No evil.", " Really none!", "  But evil?"]
    (call,) = world.grpc.calls
    assert call.request.text == text
    assert call.metadata["mm-model-id"] == "en"


def test_a_chunker_cuts_a_text_once(world):
    detectors = {"sent": {}, "sent2": {}, "word": {}, "whole": {}}
    for name in detectors:
        world.detector[name] = finds("evil")
    got = world.ok(CONTENT, content("So evil. ", **detectors))
    assert spans(got) == [(3, 7, "evil", name) for name in ("sent", "sent2", "whole", "word")]
    assert sorted(call.metadata["mm-model-id"] for call in world.grpc.calls) == ["en", "words"]
    assert world.asked("word")[0].json()["contents"] == ["So", "evil."]
    assert world.asked("whole")[0].json()["contents"] == ["So evil. "]


def test_white_space_only(world):
    """Nothing to look at: neither chunks nor requests."""
    assert world.ok(CONTENT, content(" \n\u2003", sent={}))["detections"] == []
    assert world.asked("sent") == []


UNICODE = [
    "👩‍👩‍👧‍👦 is evil 👍🏽.",  # joined emoji and a modifier: many code points each
    "e\u0301vil and evil, n\u0303o.",  # combining marks are code points of their own
    "这是坏人 evil 词。再来 evil！",
    "هذا evil نص עם evil טקסט.",
    "𝕖𝕧𝕚𝕝 evil 𐍈.",  # beyond the basic plane: two units in UTF-16, one here
    "\u202eevil\u202c\u0000evil\uffff\U0010ffff.",
    "ｅｖｉｌ ﬁ evil\r\n\tevil.",
]


@pytest.mark.parametrize("text", UNICODE)
def test_spans_are_code_points(world, text):
    for name in ("whole", "sent", "word"):
        world.detector[name] = finds("evil")
    got = world.ok(CONTENT, content(text, whole={}, sent={}, word={}))
    expected = [(m, m + 4) for m in range(len(text)) if text.startswith("evil", m)]
    for name in ("whole", "sent", "word"):
        found = [d for d in got["detections"] if d["detector_id"] == name]
        assert [(d["start"], d["end"]) for d in found] == expected
        assert all(text[d["start"] : d["end"]] == d["text"] == "evil" for d in found)


def test_escapes_are_read(world):
    world.detector["whole"] = finds("evil")
    body = r'{"content":"\ud83d\ude00 \u0065vil \"","detectors":{"whole":{}}}'
    assert spans(world.ok(CONTENT, body)) == [(2, 6, "evil", "whole")]
    assert world.asked("whole")[0].json()["contents"] == ['😀 evil "']


# --- E, F, G ---


def result(name, **more):
    return {"detection_type": "t", "detection": "d", "detector_id": name, "score": 0.9, **more}


def test_chat(world):
    found = [finding(None, evidence=[{"name": "n"}], metadata={"k": [1]}, unknown=1), finding(None, score=0.1)]
    world.detector["chat"] = answers(found)
    world.detector["a-chat"] = answers([finding(None)])
    messages = [
        {"role": "system", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": "a"}], "name": "n", "unknown": {"x": 1.0}},
        {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {}}]},
        {"role": "tool", "content": "out", "tool_call_id": "1"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": []},
    ]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"x": [1, 2]}}}]
    body = {"messages": messages, "tools": tools, "detectors": {"chat": {"p": 1}, "a-chat": {}}}
    got = world.post(CHAT_HISTORY, json.dumps(body, indent=2))
    assert got.status_code == 200, got.text
    assert got.json()["detections"] == [
        result("a-chat"),
        result("chat", evidence=[{"name": "n"}], metadata={"k": [1]}),
    ]
    assert got.text.startswith('{"detections":[{"detection_type":"t","detection":"d","detector_id":"a-chat"')
    compact = {"separators": (",", ":")}
    assert world.asked("chat")[0].path == "/api/v1/text/chat"
    assert world.asked("chat")[0].body.decode() == (
        f'{{"messages":{json.dumps(messages, **compact)},"tools":{json.dumps(tools, **compact)},'
        '"detector_params":{"p":1}}'
    )


@pytest.mark.parametrize("tools", [{}, {"tools": None}, {"tools": []}])
def test_chat_without_tools(world, tools):
    messages = [{"role": "user", "content": "x"}]
    world.ok(CHAT_HISTORY, {"messages": messages, "detectors": {"chat": {}}, **tools})
    assert world.asked("chat")[0].json() == {"messages": messages, "tools": [], "detector_params": {}}


def test_spans_of_whole_detectors_do_not_show(world):
    world.detector["chat"] = answers([finding(0, 5)])
    messages = [{"role": "user", "content": "x"}]
    got = world.ok(CHAT_HISTORY, {"messages": messages, "detectors": {"chat": {}}})
    assert got["detections"] == [result("chat")]


@pytest.mark.parametrize("kind", ["docs", "url"])
def test_context(world, kind):
    world.detector["doc"] = answers([finding(None), finding(None, score=0.2)])
    body = {"detectors": {"doc": {}}, "content": "c", "context_type": kind, "context": ["a", "", "é"]}
    assert world.ok(CONTEXT, body) == {"detections": [result("doc")]}
    assert world.asked("doc")[0].path == "/api/v1/text/context/doc"
    assert world.asked("doc")[0].body.decode() == (
        f'{{"content":"c","context_type":"{kind}","context":["a","","é"],"detector_params":{{}}}}'
    )


def test_generated(world):
    world.detector["gen"] = answers([finding(None)])
    body = {"prompt": "p", "generated_text": "g", "detectors": {"gen": {"threshold": 0.9, "x": True}}}
    assert world.ok(GENERATED, body) == {"detections": [result("gen")]}
    assert world.asked("gen")[0].path == "/api/v1/text/generation"
    assert world.asked("gen")[0].body.decode() == (
        '{"prompt":"p","generated_text":"g","detector_params":{"x":true}}'
    )


# --- over HTTP/2 as well ---


def test_http2(world):
    world.detector["whole"] = finds("evil")
    with world.weir.client(http2=True) as client:
        got = world.post(CONTENT, content("evil", whole={}), client=client)
        assert got.http_version == "HTTP/2"
        assert spans(got.json()) == [(0, 4, "evil", "whole")]
        assert world.post(CONTENT, content("", whole={}), client=client).status_code == 422
