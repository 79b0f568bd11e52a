"""Many detectors, long texts, and how many calls are under way at once."""

import json
import threading

import harness
import pytest
from grpcpeer import CHUNK
from peers import (
    CHAT,
    CLASSIFICATION,
    CONTENT,
    Caller,
    World,
    answers,
    chat_completion,
    contents,
    finding,
    finds,
    scripted,
    sentences,
    tokens,
    whole,
    words,
)
from service import reply

MANY = [f"d{i:02}" for i in range(50)]
DETECTORS = {
    **{name: contents() for name in MANY},
    "sent": contents("en"),
    "word": contents("words"),
    "chat": whole("text_chat"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    chunkers = {"en": sentences, "words": words}
    with World(
        tmp_path_factory,
        DETECTORS,
        chunkers,
        "tgis",
        detector_concurrent_requests=3,
        chunker_concurrent_requests=2,
    ) as w:
        yield w


@pytest.fixture(autouse=True)
def fresh(world):
    world.reset()


def test_fifty_detectors_at_once(world):
    """All of them are asked before the first answers."""
    all_here = threading.Barrier(50, timeout=harness.PATIENCE)

    def answer(request):
        all_here.wait()
        return reply([[finding(0, 4)]])

    for name in MANY:
        world.detector[name] = answer
    got = world.ok(CONTENT, {"content": "evil", "detectors": {name: {} for name in reversed(MANY)}})
    assert [d["detector_id"] for d in got["detections"]] == MANY


def test_fifty_detectors_on_five_choices(world):
    for name in MANY:
        world.detector[name] = finds("evil")
    world.chat_answers(*["evil"] * 5)
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "detectors": {"output": {name: {} for name in MANY}},
    }
    got = world.ok(CHAT, body)
    assert [o["choice_index"] for o in got["detections"]["output"]] == [0, 1, 2, 3, 4]
    for output in got["detections"]["output"]:
        assert [r["detector_id"] for r in output["results"]] == MANY
    assert all(0 < world.detectors.most_open[name] <= 3 for name in MANY)


def test_calls_of_one_detector(world):
    """Three at once, no more; the others follow as these end."""
    three = threading.Semaphore(0)
    lock = threading.Lock()
    count = {"now": 0, "most": 0, "seen": 0}

    def answer(request):
        with lock:
            count["now"] += 1
            count["seen"] += 1
            count["most"] = max(count["most"], count["now"])
            if count["seen"] == 3:
                for _ in range(12):
                    three.release()
        assert three.acquire(timeout=harness.PATIENCE)
        with lock:
            count["now"] -= 1
        return reply([])

    world.detector["chat"] = answer
    world.model_answers["/v1/chat/completions"] = answers(chat_completion(*"abcdefghijkl"))
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "detectors": {"output": {"chat": {}}},
    }
    world.ok(CHAT, body)
    assert count == {"now": 0, "most": 3, "seen": 12}
    said = sorted(r.json()["messages"][-1]["content"] for r in world.asked("chat"))
    assert said == list("abcdefghijkl")


def test_calls_of_one_chunker(world):
    two = threading.Semaphore(0)
    lock = threading.Lock()
    count = {"now": 0, "most": 0, "seen": 0}

    def chunk(request, context):
        with lock:
            count["now"] += 1
            count["seen"] += 1
            count["most"] = max(count["most"], count["now"])
            if count["seen"] == 2:
                for _ in range(9):
                    two.release()
        assert two.acquire(timeout=harness.PATIENCE)
        with lock:
            count["now"] -= 1
        return tokens(request.text, sentences(request.text))

    world.chunkers["en"] = scripted(chunk)
    masks = [[i, i + 1] for i in range(9)]
    config = {"input": {"models": {"sent": {}}, "masks": masks}}
    world.ok(CLASSIFICATION, {"model_id": "m", "inputs": "abcdefghi", "guardrail_config": config})
    assert count == {"now": 0, "most": 2, "seen": 9}
    assert world.asked("sent")[0].json()["contents"] == list("abcdefghi")


# --- a mebibyte and more ---

MIB = 1024 * 1024


def test_a_mebibyte(world):
    text = ("évil evil 世界 👍 . " * 70_000)[:MIB]
    world.detector["d00"] = finds("evil ")
    got = world.ok(CONTENT, {"content": text, "detectors": {"d00": {}}})
    found = got["detections"]
    assert len(found) == text.count("evil ")
    assert all(text[d["start"] : d["end"]] == "evil " for d in found)
    assert world.asked("d00")[0].json()["contents"] == [text]


def test_a_mebibyte_in_sentences(world):
    text = ("An évil, evil thing. So it is! " * 40_000)[:MIB]
    world.detector["sent"] = finds("evil")
    got = world.ok(CONTENT, {"content": text, "detectors": {"sent": {}}})
    assert len(got["detections"]) == text.count("evil")
    assert all(text[d["start"] : d["end"]] == "evil" for d in got["detections"])
    (request,) = world.asked("sent")
    assert "".join(request.json()["contents"]) == text.rstrip() or request.json()["contents"][-1]


def test_a_mebibyte_through_the_model(world):
    text = "fine " * (MIB // 5)
    world.chat_answers(text + "evil")
    world.detector["d00"] = finds("evil")
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": text}],
        "detectors": {"input": {"d01": {}}, "output": {"d00": {}}},
    }
    got = world.ok(CHAT, body)
    assert got["choices"][0]["message"]["content"] == text + "evil"
    (result,) = got["detections"]["output"][0]["results"]
    assert (result["start"], result["end"]) == (len(text), len(text) + 4)
    assert world.asked_model()[0].json()["messages"][0]["content"] == text


def test_ten_thousand_masks(world):
    text = "é" * 20_000
    masks = [[i, i + 1] for i in range(19_998, 0, -2)]
    config = {"input": {"models": {"d00": {}}, "masks": masks}}
    world.ok(CLASSIFICATION, {"model_id": "m", "inputs": text, "guardrail_config": config})
    assert world.asked("d00")[0].json()["contents"] == ["é"] * len(masks)


def test_deep_parameters(world):
    """As deep as a request may be, and they arrive."""
    deep = current = {}
    for _ in range(58):
        current["x"] = {}
        current = current["x"]
    world.ok(CONTENT, {"content": "x", "detectors": {"d00": {"p": deep}}})
    assert world.asked("d00")[0].json()["detector_params"] == {"p": deep}


def test_many_callers(world):
    """Answers go to those who asked."""
    world.detector["word"] = finds("evil")
    failures = []

    def caller(number):
        client = Caller(world.weir.api_port)
        try:
            for i in range(20):
                text = "x" * (number * 20 + i) + " evil"
                got = world.post(CONTENT, {"content": text, "detectors": {"word": {}}}, client=client).json()
                starts = [d["start"] for d in got["detections"]]
                if starts != [number * 20 + i + 1]:
                    failures.append((number, i, got))
        except Exception as error:
            failures.append(error)
        finally:
            client.close()

    threads = [threading.Thread(target=caller, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(world.asked_grpc(CHUNK)) == 160


def test_http2_streams_at_once(world):
    """Thirty requests on one connection, answered in any order."""
    world.detector["d00"] = finds("evil")
    c = world.weir.h2()
    texts = {}
    for i in range(30):
        text = "é" * i + "evil"
        body = json.dumps({"content": text, "detectors": {"d00": {}}}).encode()
        texts[c.request("POST", CONTENT, body=body, headers=[("content-type", "application/json")])] = i
    for stream, i in texts.items():
        answer = c.response(stream)
        assert answer.status == 200
        assert [d["start"] for d in json.loads(answer.body)["detections"]] == [i]
