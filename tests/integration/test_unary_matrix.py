"""Every origin of a failure with every way to fail, in both modes and with both generation servers;
then every endpoint with texts of all scripts, texts of a mebibyte, and nothing found."""

import json
import re
import socket

import harness
import pytest
from grpcpeer import NLP, NLP_TOKENIZE, TGIS, TGIS_TOKENIZE
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
    finding,
    finds,
    grpc_hang,
    nlp_answer,
    scripted,
    sentences,
    tgis_answer,
    whole,
)
from service import reply

SECONDS = 0.5  # what services get to answer
DETECTORS = {
    "a": contents(),
    "b": contents(),
    "sent": contents("en"),
    "chat": whole("text_chat"),
    "doc": whole("text_context_doc"),
    "gen": whole("text_generation"),
}
PATHS = {"tgis": (TGIS, TGIS_TOKENIZE), "nlp": (NLP, NLP_TOKENIZE)}


MODES = [("adr", "tgis"), ("fms", "nlp"), ("adr", "nlp"), ("fms", "tgis")]


def make(tmp_path_factory, mode, detectors=DETECTORS, **options):
    compat, provider = mode
    w = World(tmp_path_factory, detectors, {"en": sentences}, provider, compat=compat, **options)
    w.is_fms = compat == "fms"
    w.provider = provider
    w.generate, w.tokenize = PATHS[provider]
    return w


@pytest.fixture(scope="module", params=MODES, ids="-".join)
def world(tmp_path_factory, request):
    with make(tmp_path_factory, request.param) as w:
        yield w


@pytest.fixture(scope="module", params=MODES, ids="-".join)
def hasty(tmp_path_factory, request):
    """The same, with services that get SECONDS to answer; `b`, which answers, may take its time."""
    detectors = {**DETECTORS, "b": contents(service={"request_timeout": 600})}
    options = {"service_options": {"request_timeout": SECONDS}, "detectors": detectors}
    with make(tmp_path_factory, request.param, **options) as w:
        yield w


@pytest.fixture(autouse=True)
def fresh(request):
    for name in {"world", "hasty"} & set(request.fixturenames):
        request.getfixturevalue(name).reset()


def chat(text="hi", **detectors):
    return CHAT, {"model": "mod", "messages": [{"role": "user", "content": text}], "detectors": detectors}


def text(prompt="hi", **detectors):
    return TEXT, {"model": "mod", "prompt": prompt, "detectors": detectors}


def classify(inputs="hi", **sides):
    config = {side: {"models": models} for side, models in sides.items()}
    return CLASSIFICATION, {"model_id": "mod", "inputs": inputs, "guardrail_config": config}


def content(text="hi", **detectors):
    return CONTENT, {"content": text, "detectors": detectors}


def history(text="hi"):
    return CHAT_HISTORY, {"messages": [{"role": "user", "content": text}], "detectors": {"chat": {}}}


def context(text="hi"):
    return CONTEXT, {"content": text, "context_type": "docs", "context": [text], "detectors": {"doc": {}}}


def generated(text="hi"):
    return GENERATED, {"prompt": text, "generated_text": text, "detectors": {"gen": {}}}


def generation(text="hi"):
    return GENERATION, {"model_id": "mod", "prompt": text, "detectors": {"gen": {}}}


# Origin as errors name it: (the id they name, every way to it).
ORIGINS = {
    "detector": ("a", [content(a={}), chat(input={"a": {}}), chat(output={"a": {}}), text(input={"a": {}}),
                       text(output={"a": {}}), classify(input={"a": {}}), classify(output={"a": {}})]),
    "detector of histories": ("chat", [history(), chat(output={"chat": {}})]),
    "detector of documents": ("doc", [context()]),
    "detector of generations": ("gen", [generated(), generation(), text(output={"gen": {}})]),
    "chunker": ("en", [content(sent={}), chat(input={"sent": {}}), chat(output={"sent": {}}), text(input={"sent": {}}),
                       text(output={"sent": {}}), classify(input={"sent": {}}), classify(output={"sent": {}})]),
    "generate": ("mod", [classify(), classify(output={"a": {}}), generation()]),
    "tokenize": ("mod", [classify(input={"b": {}})]),
    "chat completion": ("mod", [chat(output={"a": {}}), chat(input={"a": {}})]),
    "completion": ("mod", [text(output={"a": {}}), text(input={"a": {}})]),
    "tokenize of chats": ("mod", [chat(input={"b": {}}), text(input={"b": {}})]),
}  # fmt: skip
HTTP_PATHS = {
    "chat completion": "/v1/chat/completions",
    "completion": "/v1/completions",
    "tokenize of chats": "/tokenize",
}
GRPC_ORIGINS = ("chunker", "generate", "tokenize")
HTTP_FAILURES = [400, 404, 422, 503, 500, "garbage", "gone"]
GRPC_STATUSES = {"INVALID_ARGUMENT": 400, "NOT_FOUND": 404, "UNAVAILABLE": 503, "INTERNAL": 500}
GRPC_FAILURES = [*GRPC_STATUSES, "garbage"]


def fail_http(world, origin, how):
    """Makes it fail; returns the status it is mapped to."""
    if isinstance(how, int):
        body = {"code": how, "message": "no\tway"} if origin.startswith("detector") else {"error": {"message": "no\tway"}}
        answer = answers(body, how)
    else:
        answer = answers({"timeout": Hang(), "garbage": '{"choices":[{]', "gone": None}[how])
    if origin.startswith("detector"):
        world.detector[ORIGINS[origin][0]] = answer
    else:
        world.model_answers[HTTP_PATHS[origin]] = answer
    return how if how in (400, 404, 422, 503) else 500


def fail_grpc(world, origin, how):
    if how in GRPC_STATUSES:
        answer = abort(how, "no\tway")
    elif how == "timeout":
        answer = grpc_hang(Hang())
    else:
        answer = lambda request, context: b"\xff\xff"
    if origin == "chunker":
        world.chunkers["en"] = scripted(answer)
    else:
        world.grpc_answers[world.generate if origin == "generate" else world.tokenize] = answer
    return GRPC_STATUSES.get(how, 500)


def check_failure(world, origin, how, ways):
    name = ORIGINS[origin][0]
    is_grpc = origin in GRPC_ORIGINS
    world.detector["b"] = finds("hi")
    status = (fail_grpc if is_grpc else fail_http)(world, origin, how)
    expected = (500, UNEXPECTED["details"])
    if status != 500:
        expected = (status, f"{origin.split(' of')[0]} request failed for `{name}`: no way")
    for path, body in ways:
        if origin == "tokenize of chats" and not world.is_fms:
            assert world.ok(path, body)["usage"]["prompt_tokens"] == 0
        else:
            assert world.refused(path, body) == expected, (how, path)


@pytest.mark.parametrize("origin", ORIGINS)
def test_failures(world, origin):
    is_grpc = origin in GRPC_ORIGINS
    for how in GRPC_FAILURES if is_grpc else HTTP_FAILURES:
        check_failure(world, origin, how, ORIGINS[origin][1])


@pytest.mark.parametrize("origin", ORIGINS)
def test_time_outs(hasty, origin):
    check_failure(hasty, origin, "timeout", ORIGINS[origin][1][:1])


def test_a_detectors_own_code_is_its_status(world):
    """Not what its server made of it."""
    for code, status, told in [(422, 500, 422), (404, 400, 404), (500, 422, 500), (503, 200, None), (999, 400, 400)]:
        world.detector["a"] = answers({"code": code, "message": "no"}, status)
        expected = (told, "detector request failed for `a`: no")
        if told in (500, None):
            expected = (500, UNEXPECTED["details"])
        assert world.refused(*content(a={})) == expected


def test_failures_without_words(world):
    """An error page is none of the caller's business: the status by its name."""
    page = "<html><h1>10.1.2.3 nginx</h1></html>"
    for status, reason in [(400, "Bad Request"), (404, "Not Found"), (503, "Service Unavailable")]:
        world.detector["a"] = answers(page, status)
        assert world.refused(*content(a={})) == (status, f"detector request failed for `a`: {reason}")
        world.model_answers["/v1/chat/completions"] = answers(page, status)
        expected = (status, f"chat completion request failed for `mod`: {reason}")
        assert world.refused(*chat(output={"b": {}})) == expected


def test_what_failed_cancels_the_rest(world):
    """One of many calls of two choices fails: the services see that nobody waits any more."""
    hangs = []

    def hang(request):
        hangs.append(Hang())
        return hangs[-1]

    def fail(request):
        harness.wait_until(lambda: len(hangs) == 4 and all(h.begun.is_set() for h in hangs), "the others")
        return reply({"code": 400, "message": "no"}, 400)

    world.chat_answers("one", "two")
    world.detector |= {"chat": hang, "sent": hang, "b": fail}
    expected = (400, "detector request failed for `b`: no")
    assert world.refused(*chat(output={"chat": {}, "sent": {}, "b": {}})) == expected
    assert all(h.gone.wait(harness.PATIENCE) for h in hangs)


# --- nobody there ---


@pytest.fixture(scope="module", params=["adr", "fms"])
def lonely(tmp_path_factory, request):
    """A server whose services do not exist: a port nobody listens on, a name nobody has."""
    unused = socket.socket()  # bound, so that nobody else gets it, and nobody listens
    unused.bind(("127.0.0.1", 0))
    port = unused.getsockname()[1]
    service = {"hostname": "127.0.0.1", "port": port, "connect_timeout": 5, "max_retries": 0}
    unnamed = {**service, "hostname": "nobody.invalid"}
    detectors = {name: {**one, "service": service} for name, one in DETECTORS.items()}
    detectors["b"]["service"] = unnamed
    config = {
        "compat": request.param,
        "detectors": detectors,
        "chunkers": {"en": {"type": "sentence", "service": service}},
        "generation": {"provider": "tgis", "service": service},
        "openai": {"service": service},
    }
    servers = harness.Servers(harness.binary(), tmp_path_factory.mktemp("lonely"))
    yield servers(config=config)
    servers.stop_all()
    unused.close()


def test_services_that_are_not_there(lonely, request):
    """Unavailable is what a service says; one that says nothing is our trouble. No address is told.
    Under compat fms a chunker that cannot be reached is a 503; of outputs the model fails first."""
    caller = Caller(lonely.api_port)
    is_fms = request.node.callspec.params["lonely"] == "fms"
    ways = [way for _, all_ways in ORIGINS.values() for way in all_ways]
    for path, body in [*ways, content(b={})]:
        got = World.post(None, path, body, client=caller)
        words = json.dumps(body)
        if is_fms and '"sent"' in words and '"output"' not in words:
            assert got.status_code == 503 and "127.0.0.1" not in got.text, (path, body)
        else:
            assert (got.status_code, got.json()) == (500, UNEXPECTED), (path, body)
    caller.close()
    assert lonely.log("service failed", kind="detector", id="b")


# --- texts ---

TEXTS = [
    "👩‍👩‍👧‍👦 is evil 👍🏽. evil 🏴‍☠️",
    "e\u0301vil and evil, n\u0303o evi\u0301l. evil",
    "这是坏人 evil 词。再来 evil！ｅｖｉｌ",
    "هذا evil نص. עם evil טקסט.",
    "\u202eevil\u202c 𝕖𝕧𝕚𝕝 evil 𐍈. \u0000evil\U0010ffff",
]


def spans_of(text):
    return [(m.start(), m.end(), "evil") for m in re.finditer("evil", text)]


def spans(results, word="text"):
    return [(r["start"], r["end"], r[word]) for r in results]


def generates(world, said):
    make = {"tgis": tgis_answer, "nlp": nlp_answer}[world.provider]
    world.grpc_answers[world.generate] = lambda request, context: make(said)


@pytest.mark.parametrize("said", TEXTS)
@pytest.mark.parametrize("name", ["a", "sent"])
def test_spans_are_code_points_everywhere(world, said, name):
    world.detector[name] = finds("evil")
    expected = spans_of(said)
    use = {name: {}}
    assert spans(world.ok(*content(said, **use))["detections"]) == expected
    for ask in (chat, text):
        got = world.ok(*ask(said, input=use))["detections"]["input"]
        assert spans(got[0]["results"]) == expected
    got = world.ok(*classify(said, input=use))["token_classification_results"]["input"]
    assert spans(got, "word") == expected
    generates(world, said)
    world.chat_answers("fine", said)
    world.text_answers(said)
    got = world.ok(*classify(output=use))
    assert spans(got["token_classification_results"]["output"], "word") == expected
    assert got["generated_text"] == said
    [found] = world.ok(*chat(output=use))["detections"]["output"]
    assert found["choice_index"] == 1 and spans(found["results"]) == expected
    [found] = world.ok(*text(output=use))["detections"]["output"]
    assert spans(found["results"]) == expected


@pytest.mark.parametrize("said", TEXTS)
def test_masked_spans_are_code_points(world, said):
    world.detector["a"] = world.detector["sent"] = finds("evil")
    start, end, _ = spans_of(said)[-1]
    for name in ("a", "sent"):
        path, body = text(said, input={name: {}})
        got = world.ok(path, {**body, "_prompt_masks": [[start - 1, end]]})
        assert spans(got["detections"]["input"][0]["results"]) == [(start, end, "evil")]
        path, body = classify(said, input={name: {}})
        body["guardrail_config"]["input"]["masks"] = [[start, end], [0, 2]]
        got = world.ok(path, body)["token_classification_results"]["input"]
        assert spans(got, "word") == [(start, end, "evil")]


MIB = 1024 * 1024


def test_a_mebibyte_everywhere(world):
    long = ("An évil thing, 世界. " * 60_000)[: MIB - 4] + "evil"
    generates(world, long)
    world.chat_answers(long)
    world.text_answers(long)
    at = (len(long) - 4, len(long), "evil")
    for name in ("a", "sent"):
        world.detector[name] = finds("evil")
        use = {name: {}}
        assert spans(world.ok(*chat(long, input=use))["detections"]["input"][0]["results"]) == [at]
        assert spans(world.ok(*chat(output=use))["detections"]["output"][0]["results"]) == [at]
        assert spans(world.ok(*text(long, input=use))["detections"]["input"][0]["results"]) == [at]
        assert spans(world.ok(*text(output=use))["detections"]["output"][0]["results"]) == [at]
        got = world.ok(*classify(long, input=use))["token_classification_results"]
        assert spans(got["input"], "word") == [at]
        got = world.ok(*classify(output=use))["token_classification_results"]
        assert spans(got["output"], "word") == [at]
    for path, body in (history(long), context(long), generated(long), generation(long)):
        world.ok(path, body)
    assert world.asked("chat")[0].json()["messages"][0]["content"] == long
    assert world.asked("doc")[0].json()["context"] == [long]
    assert [r.json()["prompt"] == r.json()["generated_text"] == long for r in world.asked("gen")] == [True, True]


def test_nothing_found_anywhere(world):
    """Findings below the threshold are nothing, too."""
    low = [finding(0, 1, score=0.1)]
    world.detector |= {"a": answers([low]), "sent": answers([low])}
    world.detector |= {name: answers([finding(None, score=0.1)]) for name in ("chat", "doc", "gen")}
    for path, body in (content(a={"threshold": 0.2}), history(), context(), generated()):
        body["detectors"] = {name: {"threshold": 0.2} for name in body["detectors"]}
        assert world.post(path, body).text == '{"detections":[]}'
    use = {"a": {"threshold": 0.2}, "sent": {"threshold": 0.10001}}
    for path, body in (chat(input=use, output={**use, "chat": {"threshold": 1}}), text(input=use, output=use)):
        assert not {"detections", "warnings"} & world.ok(path, body).keys()
    got = world.ok(*classify(input=use, output=use))
    assert got["token_classification_results"] == {} and "warnings" not in got


def test_members_that_are_null_are_not_there(world):
    """A detector's nulls do not reach the caller."""
    nulls = {"evidence": None, "metadata": None, "text": None, "detector_id": None}
    world.detector["a"] = answers([[finding(0, 2, **nulls)]])
    assert world.post(*content(a={})).text == (
        '{"detections":[{"start":0,"end":2,"text":"hi","detection":"d","detection_type":"t","detector_id":"a",'
        '"score":0.9}]}'
    )
