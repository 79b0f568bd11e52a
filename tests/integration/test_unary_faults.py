"""Services that fail, from each origin in each way, and what becomes of the others' calls."""

import threading
import time

import grpc
import harness
import pytest
from grpcpeer import TGIS, TGIS_TOKENIZE, Token, TokenizationResults
from peers import (
    CHAT,
    CHAT_HISTORY,
    CLASSIFICATION,
    CONTENT,
    CONTEXT,
    GENERATED,
    GENERATION,
    TEXT,
    UNEXPECTED,
    Caller,
    Hang,
    World,
    abort,
    answers,
    contents,
    finds,
    grpc_hang,
    nothing,
    scripted,
    sentences,
    whole,
)
from service import reply

DETECTORS = {
    "a": contents(),
    "b": contents(),
    "sent": contents("en"),
    "other": contents("en2"),
    "chat": whole("text_chat"),
    "doc": whole("text_context_doc"),
    "gen": whole("text_generation"),
}
SECONDS = 0.4
CHUNKERS = {"en": sentences, "en2": sentences}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with World(tmp_path_factory, DETECTORS, CHUNKERS, "tgis") as w:
        yield w


IN_HASTE = {"request_timeout": SECONDS}


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    """The same, with services that get SECONDS to answer; detectors may take their time."""
    options = {"service_options": IN_HASTE, "detector_options": {}}
    with World(tmp_path_factory, DETECTORS, CHUNKERS, "tgis", **options) as w:
        yield w


@pytest.fixture(scope="module")
def hasty_detectors(tmp_path_factory):
    """The other way round."""
    with World(tmp_path_factory, DETECTORS, CHUNKERS, "tgis", detector_options=IN_HASTE) as w:
        yield w


@pytest.fixture(autouse=True)
def fresh(world, hasty, hasty_detectors):
    for each in (world, hasty, hasty_detectors):
        each.reset()


def chat(**detectors):
    return CHAT, {"model": "mod", "messages": [{"role": "user", "content": "hi"}], "detectors": detectors}


def text(**detectors):
    return TEXT, {"model": "mod", "prompt": "hi", "detectors": detectors}


def classify(**sides):
    config = {side: {"models": models} for side, models in sides.items()}
    return CLASSIFICATION, {"model_id": "mod", "inputs": "hi", "guardrail_config": config}


# Every way to a detector: the request, which detector it is.
TO_DETECTORS = {
    "content": (CONTENT, {"content": "hi", "detectors": {"a": {}}}, "a"),
    "chat": (CHAT_HISTORY, {"messages": [{"role": "user", "content": "x"}], "detectors": {"chat": {}}}, "chat"),
    "context": (CONTEXT, {"content": "c", "context_type": "docs", "context": ["d"], "detectors": {"doc": {}}}, "doc"),
    "generated": (GENERATED, {"prompt": "p", "generated_text": "g", "detectors": {"gen": {}}}, "gen"),
    "generation": (GENERATION, {"model_id": "mod", "prompt": "p", "detectors": {"gen": {}}}, "gen"),
    "classification input": (*classify(input={"a": {}}), "a"),
    "classification output": (*classify(output={"a": {}}), "a"),
    "chat completion input": (*chat(input={"a": {}}), "a"),
    "chat completion output": (*chat(output={"a": {}}), "a"),
    "chat completion whole": (*chat(output={"chat": {}}), "chat"),
    "completion input": (*text(input={"a": {}}), "a"),
    "completion output": (*text(output={"a": {}}), "a"),
    "completion whole": (*text(output={"gen": {}}), "gen"),
}
PASSED_ON = (400, 404, 422, 503)
HTTP_STATUSES = [400, 404, 422, 503, 401, 403, 409, 429, 500, 501, 502, 504, 302, 204]


@pytest.mark.parametrize("way", TO_DETECTORS)
def test_detector_statuses(world, way):
    path, body, name = TO_DETECTORS[way]
    for status in HTTP_STATUSES:
        world.detector[name] = answers({"code": status, "message": f"no\n{status}"}, status)
        if status in PASSED_ON:
            expected = (status, f"detector request failed for `{name}`: no {status}")
        else:
            expected = (500, UNEXPECTED["details"])
        assert world.refused(path, body) == expected


@pytest.mark.parametrize("way", TO_DETECTORS)
def test_detector_nonsense(world, way):
    path, body, name = TO_DETECTORS[way]
    for nonsense in ("", "{}", "[", "[1]", "[[1]]", "null", "<html>", '[[{"start":0}]]', b"\xff"):
        world.detector[name] = answers(nonsense)
        assert world.refused(path, body) == (500, UNEXPECTED["details"]), nonsense
    world.detector[name] = answers(None)  # closes without a word
    assert world.refused(path, body) == (500, UNEXPECTED["details"])


@pytest.mark.parametrize("way", ["content", "chat", "classification output", "chat completion whole"])
def test_detector_times_out(hasty_detectors, way):
    path, body, name = TO_DETECTORS[way]
    hang = Hang()
    hasty_detectors.detector[name] = lambda request: hang
    began = time.monotonic()
    assert hasty_detectors.refused(path, body) == (500, UNEXPECTED["details"])
    assert time.monotonic() - began >= SECONDS * 0.9
    assert hang.gone.wait(harness.PATIENCE)


def test_more_or_fewer_lists(world):
    for lists in ([], [[], []]):
        world.detector["a"] = answers(lists)
        assert world.refused(CONTENT, {"content": "hi", "detectors": {"a": {}}})[0] == 500


def test_message_is_cut_and_clean(world):
    for sent, told in [("x" * 3000, "x" * 1024), ("é" * 600, "é" * 512), ("a\u0000\u001b[1m\u0085b", "a  [1m b")]:
        world.detector["a"] = answers({"code": 422, "message": sent}, 422)
        got = world.refused(CONTENT, {"content": "hi", "detectors": {"a": {}}})
        assert got == (422, f"detector request failed for `a`: {told}")


# --- the model servers ---

TO_MODELS = {
    "chat completion": (*chat(output={"a": {}}), "/v1/chat/completions"),
    "completion": (*text(output={"a": {}}), "/v1/completions"),
}


@pytest.mark.parametrize("what", TO_MODELS)
def test_model_statuses(world, what):
    path, body, upstream = TO_MODELS[what]
    shapes = [
        {"error": {"message": "no", "type": "t", "param": None, "code": "c"}},
        {"object": "error", "message": "no", "type": "t", "code": 1},
        {"detail": "no"},
        {"error": "no"},
    ]
    for status in HTTP_STATUSES:
        for shape in shapes if status == 400 else shapes[:1]:
            world.model_answers[upstream] = answers(shape, status)
            if status in PASSED_ON:
                expected = (status, f"{what} request failed for `mod`: no")
            else:
                expected = (500, UNEXPECTED["details"])
            assert world.refused(path, body) == expected
    assert world.asked("a") == []


@pytest.mark.parametrize("what", TO_MODELS)
def test_model_does_not_answer(hasty, what):
    path, body, upstream = TO_MODELS[what]
    hang = Hang()
    for answer in (None, hang):
        hasty.model_answers[upstream] = answers(answer)
        assert hasty.refused(path, body) == (500, UNEXPECTED["details"])
    assert hang.gone.wait(harness.PATIENCE)
    hasty.model_answers[upstream] = lambda request: iter([reply({"choices": []})[:-3]])
    assert hasty.refused(path, body) == (500, UNEXPECTED["details"])


def test_tokenizer_does_not_answer(hasty):
    """The count is a courtesy: the answer goes without."""
    hang = Hang()
    hasty.detector["a"] = finds("hi")
    hasty.model_answers["/tokenize"] = answers(hang)
    assert hasty.ok(*chat(input={"a": {}}))["usage"]["prompt_tokens"] == 0
    assert hang.gone.wait(harness.PATIENCE)


GRPC_STATUSES = {
    "INVALID_ARGUMENT": 400,
    "NOT_FOUND": 404,
    "UNAVAILABLE": 503,
    "UNAUTHENTICATED": None,
    "PERMISSION_DENIED": None,
    "UNIMPLEMENTED": None,
    "INTERNAL": None,
    "UNKNOWN": None,
    "RESOURCE_EXHAUSTED": None,
    "DEADLINE_EXCEEDED": None,
}
TO_GRPC = {
    "generate": [classify(), (GENERATION, {"model_id": "mod", "prompt": "p", "detectors": {"gen": {}}})],
    "tokenize": [classify(input={"a": {}})],
}
GRPC_PATHS = {"generate": TGIS, "tokenize": TGIS_TOKENIZE}


@pytest.mark.parametrize("what", TO_GRPC)
def test_generation_statuses(world, what):
    world.detector["a"] = finds("hi")
    for path, body in TO_GRPC[what]:
        for code, status in GRPC_STATUSES.items():
            world.grpc_answers[GRPC_PATHS[what]] = abort(code, "no\tway")
            expected = (500, UNEXPECTED["details"])
            if status is not None:
                expected = (status, f"{what} request failed for `mod`: no way")
            assert world.refused(path, body) == expected


@pytest.mark.parametrize("what", TO_GRPC)
def test_generation_nonsense(world, what):
    world.detector["a"] = finds("hi")
    for path, body in TO_GRPC[what]:
        for raw in (b"\xff\xff", b"\x0a\x05", b""):
            world.grpc_answers[GRPC_PATHS[what]] = lambda request, context: raw
            assert world.refused(path, body) == (500, UNEXPECTED["details"]), raw


@pytest.mark.parametrize("what", TO_GRPC)
def test_generation_times_out(hasty, what):
    hasty.detector["a"] = finds("hi")
    hang = Hang()
    hasty.grpc_answers[GRPC_PATHS[what]] = grpc_hang(hang)
    path, body = TO_GRPC[what][0]
    assert hasty.refused(path, body) == (500, UNEXPECTED["details"])
    assert hang.gone.wait(harness.PATIENCE)


# --- chunkers ---

TO_CHUNKERS = {
    "content": (CONTENT, {"content": "hi", "detectors": {"sent": {}}}),
    "classification input": classify(input={"sent": {}}),
    "classification output": classify(output={"sent": {}}),
    "chat completion input": chat(input={"sent": {}}),
    "chat completion output": chat(output={"sent": {}}),
    "completion input": text(input={"sent": {}}),
    "completion output": text(output={"sent": {}}),
}


@pytest.mark.parametrize("way", TO_CHUNKERS)
def test_chunker_statuses(world, way):
    path, body = TO_CHUNKERS[way]
    for code, status in GRPC_STATUSES.items():
        world.chunkers["en"] = scripted(abort(code, "no way"))
        expected = (500, UNEXPECTED["details"])
        if status is not None:
            expected = (status, "chunker request failed for `en`: no way")
        assert world.refused(path, body) == expected
    assert world.asked("sent") == []


def test_chunker_times_out(hasty):
    hang = Hang()
    hasty.chunkers["en"] = scripted(grpc_hang(hang))
    assert hasty.refused(*TO_CHUNKERS["content"]) == (500, UNEXPECTED["details"])
    assert hang.gone.wait(harness.PATIENCE)


def spans(*pairs):
    """Tokens with the right text of "Hello, World"."""
    whole_text = "Hello, World"
    return [Token(start=s, end=e, text=whole_text[max(s, 0) : e]) for s, e in pairs]


UNCOVERED = {
    "nothing at all": [],
    "a gap": spans((0, 5), (7, 12)),
    "the end is missing": spans((0, 6)),
    "the beginning is missing": spans((1, 12)),
    "out of order": spans((7, 12), (0, 7)),
    "beyond the text": [Token(start=0, end=13, text="Hello, World!")],
    "end before start": [Token(start=5, end=0, text="Hello"), *spans((0, 12))],
    "negative": [Token(start=-1, end=12, text="Hello, World")],
    "another text": [Token(start=0, end=12, text="Hello, Werld")],
    "no text": [Token(start=0, end=12)],
    "text without a place": [*spans((0, 12)), Token(start=12, end=12, text="more")],
}


@pytest.mark.parametrize("case", UNCOVERED)
def test_chunks_must_cover_the_text(world, case):
    result = TokenizationResults(results=UNCOVERED[case])
    world.chunkers["en"] = scripted(lambda request, context: result)
    body = {"content": "Hello, World", "detectors": {"sent": {}}}
    assert world.refused(CONTENT, body) == (500, UNEXPECTED["details"])
    assert world.asked("sent") == []
    assert world.weir.log("service failed", kind="chunker", id="en")


COVERED = {
    "exactly": spans((0, 6), (6, 12)),
    "but for white space": spans((0, 6), (7, 12)),
    "an empty chunk": [*spans((0, 6)), Token(start=6, end=6), *spans((6, 12)), Token(start=12, end=12)],
    "trimmed texts": [Token(start=0, end=7, text="Hello,"), *spans((7, 12))],
}


@pytest.mark.parametrize("case", COVERED)
def test_chunks_that_do(world, case):
    """Detectors get the slices of our text, whatever white space the chunker had left out."""
    result = TokenizationResults(results=COVERED[case])
    world.chunkers["en"] = scripted(lambda request, context: result)
    world.detector["sent"] = finds("World")
    got = world.ok(CONTENT, {"content": "Hello, World", "detectors": {"sent": {}}})
    assert [(d["start"], d["end"]) for d in got["detections"]] == [(7, 12)]
    slices = ["Hello, World"[t.start : t.end] for t in COVERED[case] if t.end > t.start]
    assert world.asked("sent")[0].json()["contents"] == slices


@pytest.mark.parametrize("raw", [b"\xff", b"\x0a\x05\x08", b"\x0a\x03\x1a\x01\xff"])
def test_chunker_nonsense(world, raw):
    world.chunkers["en"] = scripted(lambda request, context: raw)
    assert world.refused(*TO_CHUNKERS["content"]) == (500, UNEXPECTED["details"])


# --- the first one wins, the others are cancelled ---


def test_a_failed_detector_cancels_the_others(world):
    hangs = {name: Hang() for name in ("b", "sent")}
    for name, hang in hangs.items():
        world.detector[name] = lambda request, hang=hang: hang
    chunker = Hang()
    world.chunkers["en2"] = scripted(grpc_hang(chunker))

    def fail(request):
        assert all(hang.begun.wait(harness.PATIENCE) for hang in [*hangs.values(), chunker])
        return reply({"code": 404, "message": "gone"}, 404)

    world.detector["a"] = fail
    body = {"content": "hi", "detectors": {"b": {}, "sent": {}, "other": {}, "a": {}}}
    assert world.refused(CONTENT, body) == (404, "detector request failed for `a`: gone")
    assert all(hang.gone.wait(harness.PATIENCE) for hang in [*hangs.values(), chunker])
    assert world.asked("other") == []


def test_a_failed_chunker_cancels_the_detectors(world):
    hang = Hang()
    world.detector["a"] = lambda request: hang

    def fail(request, context):
        assert hang.begun.wait(harness.PATIENCE)
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no")

    world.chunkers["en"] = scripted(fail)
    body = {"content": "hi", "detectors": {"a": {}, "sent": {}}}
    assert world.refused(CONTENT, body) == (400, "chunker request failed for `en`: no")
    assert hang.gone.wait(harness.PATIENCE)


# --- callers that go away ---


def leave(world, path, body):
    """Asks on a connection of its own; returns what closes it."""
    caller = Caller(world.weir.api_port)

    def ask():
        try:
            world.post(path, body, client=caller)
        except Exception:
            pass

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return caller


def gone_after(world, hang, path, body):
    caller = leave(world, path, body)
    assert hang.begun.wait(harness.PATIENCE)
    caller.connection.sock.shutdown(2)
    assert hang.gone.wait(harness.PATIENCE)
    caller.close()


@pytest.mark.parametrize("way", ["content", "chat completion input", "classification output"])
def test_caller_goes_while_a_detector_works(world, way):
    path, body, name = TO_DETECTORS[way]
    hang = Hang()
    world.detector[name] = lambda request: hang
    gone_after(world, hang, path, body)


def test_caller_goes_while_a_chunker_works(world):
    hang = Hang()
    world.chunkers["en"] = scripted(grpc_hang(hang))
    gone_after(world, hang, *TO_CHUNKERS["content"])


@pytest.mark.parametrize("what", TO_MODELS)
def test_caller_goes_while_the_model_works(world, what):
    path, body, upstream = TO_MODELS[what]
    hang = Hang()
    world.model_answers[upstream] = answers(hang)
    gone_after(world, hang, path, body)


def test_caller_goes_while_generating(world):
    hang = Hang()
    world.grpc_answers[TGIS] = grpc_hang(hang)
    gone_after(world, hang, *classify(output={"a": {}}))


def test_after_all_that_it_works(world):
    world.detector["a"] = nothing
    assert world.ok(*chat(input={"a": {}}, output={"sent": {}}))["id"] == "x"
    harness.assert_no_report(world.weir.stderr(), "the server")


def test_the_log_has_the_cause(world):
    """With the request's trace, and with nothing of the caller's text."""
    world.detector["a"] = answers("[[1]]")
    world.refused(CONTENT, {"content": "s3cret-text", "detectors": {"a": {}}})
    line = world.weir.wait_log("service failed", kind="detector", id="a", error="EPEER")
    line = world.weir.log("service failed", kind="detector", id="a", error="EPEER")[-1]
    assert "finding 0" in line["why"]
    traces = {r.header("traceparent").split("-")[1] for r in world.asked("a")}
    assert str(line).count(traces.pop()) == 1
    assert "s3cret-text" not in world.weir.stderr()
