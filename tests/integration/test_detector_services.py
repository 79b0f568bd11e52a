"""Detectors of other people's: every protocol through the whole gateway, and every way it can fail."""

import json
import socket
import threading

import harness
import httpx
import judges
import pytest
import service as services
from service import HANG, reply

CHAT = "/v1/chat/completions"
CONTENT = "/api/v2/text/detection/content"
ANSWER = {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
          "choices": [{"index": 0, "message": {"role": "assistant", "content": "Fine."},
                       "finish_reason": "stop"}]}  # fmt: skip
EVERY = pytest.mark.parametrize("kind", judges.ALL, ids=lambda kind: kind.__name__.lower())


class World:
    """A gateway with a route that redacts, a model server, and one judge."""

    def __init__(self, weir, judge, detector=None, **parts):
        self.judge = judge
        self.model = services.Service(lambda request: reply(ANSWER))
        use = {"input": {"judge": {}}, "on_detection": "redact"}
        tree = {
            "openai": {"service": self.model.config()},
            "detectors": {"judge": {**judge.config(), **(detector or {})}},
            "routes": [{"name": "default", **use},
                       {"name": "block", **use, "on_detection": "block", "block_as": "error"},
                       {"name": "out", "output": {"judge": {}}, "on_detection": "block"}],
            **parts,
        }  # fmt: skip
        self.weir = weir(tree, args=["--workers", "1"], env={"JUDGE_KEY": judges.KEY})

    def say(self, *texts, route="", **members):
        messages = [{"role": "user", "content": text} for text in texts]
        body = {"model": "m", "messages": messages, **members}
        return self.weir.api.post(f"{route}{CHAT}", json=body)

    def sent(self):
        return [m["content"] for m in self.model.requests[-1].json()["messages"]]

    def gauge(self, name):
        for line in self.weir.health.get("/metrics").text.splitlines():
            if line.startswith(name + " ") or line.startswith(name + "{"):
                yield float(line.rsplit(" ", 1)[1])

    def n_misses(self):
        return sum(value for value in self.gauge('weir_detector_cache_total{detector="judge",result="miss"}'))

    def assert_nothing_left(self):
        """No call under way, nothing held, the next question is answered."""
        harness.wait_until(lambda: sum(self.gauge("weir_held_bytes")) < 32768, "held text to go")


@EVERY
def test_found_and_not_found(weir, kind):
    w = World(weir, kind())
    assert w.say("a good day").status_code == 200
    assert w.sent() == ["a good day"]
    answer = w.say("that is BAD, w\u00f6lf", route="/block")
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] == "content_filter"
    answer = w.say("that is BAD, w\u00f6lf")
    assert answer.status_code == 200, answer.text
    assert "BAD" not in w.sent()[0]
    if kind in (judges.Fms, judges.Presidio):  # they say where
        assert w.sent() == ["that is [test], w\u00f6lf"] or w.sent()[0].startswith("that is ")
    assert set(w.judge.texts) == {"a good day", "that is BAD, w\u00f6lf"}


@EVERY
def test_results_have_their_names_and_places(weir, kind):
    w = World(weir, kind())
    answer = w.weir.api.post(CONTENT, json={"content": "\u00f6 bad", "detectors": {"judge": {}}})
    assert answer.status_code == 200, answer.text
    [found] = answer.json()["detections"]
    has_place = kind in (judges.Fms, judges.Presidio)
    assert (found["start"], found["end"]) == ((2, 5) if has_place else (0, 5))
    assert (found["detection"], found["detection_type"], found["detector_id"]) == (
        "badness", "test", "judge")  # fmt: skip
    assert 0.8 < found["score"] <= 1


@EVERY
def test_many_texts_go_in_as_few_requests_as_it_takes(weir, kind):
    w = World(weir, kind())
    texts = [f"text {i}" for i in range(69)] + ["a bad one"]
    answer = w.say(*texts)
    assert answer.status_code == 200, answer.text
    assert sorted(w.judge.texts) == sorted(texts)
    most = 70 if kind is judges.Fms else 1 if kind.max_texts == 1 else 32
    assert max(w.judge.sizes) == most
    assert len(w.judge.sizes) == -(-70 // most)
    assert w.sent()[:69] == texts[:69]
    assert "a bad one" != w.sent()[69]


@EVERY
def test_refusals_and_overload_are_failures(weir, kind):
    w = World(weir, kind())
    w.judge.poison = "poison"
    answer = w.say("some poison")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "detector_failed")
    assert "judge" in answer.json()["error"]["message"]
    usual = w.judge.answer
    w.judge.answer = lambda request: w.judge.overload()
    answer = w.say("more")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "detector_failed")
    w.judge.answer = usual
    assert w.say("a good day").status_code == 200
    assert len(w.model.requests) == 1  # the others never reached it


# An answer for each kind of nonsense; what the detector API itself answers is in test_services.py.
NONSENSE = {"no json": "<html>", "nothing": "", "null": "null", "an empty object": "{}",
            "an object": '{"data":[{}],"results":[{}],"outputs":[{}],"categoriesAnalysis":[{}]}',
            "a number": "1", "deep": "[" * 500, "numbers": "[[1]]",
            "cut off": '[[{"score":1'}  # fmt: skip


@EVERY
@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_is_a_failure(module_world, kind, case):
    w = module_world(kind)
    w.judge.answer = lambda request: reply(NONSENSE[case])
    answer = w.say(f"text for {case}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "detector_failed")


@pytest.mark.parametrize("kind", [kind for kind in judges.ALL if kind.max_texts != 1],
                         ids=lambda kind: kind.__name__.lower())  # fmt: skip
def test_too_few_and_too_many_answers(module_world, kind):
    w = module_world(kind)
    for change in (lambda texts: texts[:-1], lambda texts: texts + ["more"]):
        w.judge.answer = lambda request: reply(
            w.judge.answer_for(change(w.judge.texts_of(request, request.json()))))
        answer = w.say("one", "two")
        assert answer.status_code == 502, answer.text


@pytest.fixture(scope="module")
def module_world(module_weir):
    worlds = {}

    def make(kind):
        if kind not in worlds:
            worlds[kind] = World(module_weir, kind())
        return worlds[kind]

    return make


def half(request):
    """The head of an answer and a part of its body, then nothing more."""
    yield reply("x" * 100)[:-50]


FAULTS = {
    "closed without a word": lambda request: None,
    "no HTTP": lambda request: b"hello\r\n\r\n",
    "half a head": lambda request: iter([reply("x" * 100)[:20], None]),
    "too busy": lambda request: reply("later", 429, "text/plain"),
    "cut off": lambda request: iter([reply("x" * 100)[:-50], None]),
    "server error": lambda request: reply("oops", 500, "text/plain"),
    "redirect": lambda request: reply("", 302, headers=[("location", "/elsewhere")]),
}


@EVERY
@pytest.mark.parametrize("case", FAULTS)
def test_faults_end_clearly(module_world, kind, case):
    w = module_world(kind)

    def answer(request):
        made = FAULTS[case](request)
        if case in ("cut off", "half a head"):
            return CutOff(next(made))
        return made

    w.judge.answer = answer
    got = w.say(f"text for {case}")
    assert (got.status_code, got.json()["error"]["code"]) == (502, "detector_failed"), got.text
    w.judge.answer = w.judge.serve_one
    assert w.say(f"after {case}").status_code == 200
    w.assert_nothing_left()


class CutOff:
    """Sends a part, then closes."""

    def __init__(self, part):
        self.part = part

    def __iter__(self):
        yield self.part
        raise ConnectionResetError


@EVERY
def test_a_service_that_is_not_there(weir, kind):
    judge = kind()
    w = World(weir, judge)
    judge.close()
    answer = w.say("hello")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "detector_failed")
    w.assert_nothing_left()


@EVERY
def test_time_is_limited(weir, kind):
    judge = kind()
    limited = judge.config(service={"request_timeout": 0.3})["service"]
    w = World(weir, judge, detector={"service": limited})
    judge.answer = lambda request: HANG
    answer = w.say("hello")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "detector_failed")
    harness.wait_until(lambda: not judge.connections, "the call to be broken off")
    w.assert_nothing_left()


@EVERY
@pytest.mark.parametrize("when", ["before the answer", "in the middle of the answer"])
def test_a_caller_that_leaves_takes_its_question_along(module_world, kind, when):
    w = module_world(kind)
    w.judge.answer = (lambda request: HANG) if when == "before the answer" else HalfThenHang
    asked = len(w.judge.requests)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"{when}"}]}).encode()
    caller = socket.create_connection(("127.0.0.1", w.weir.ports["api"]))
    caller.sendall(b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                   b"content-length: %d\r\n\r\n%s"
                   % (CHAT.encode(), len(body), body))  # fmt: skip
    harness.wait_until(lambda: len(w.judge.requests) > asked, "the question")
    busy = len(w.judge.connections)
    caller.close()
    harness.wait_until(lambda: len(w.judge.connections) < busy, "the call to be broken off")
    w.judge.answer = w.judge.serve_one
    assert w.say("the next").status_code == 200
    w.assert_nothing_left()


class HalfThenHang:
    def __init__(self, request):
        self.never = threading.Event()

    def __iter__(self):
        yield reply("x" * 100)[:-50]
        self.never.wait(1)


@EVERY
def test_an_answer_is_looked_at_too(weir, kind):
    w = World(weir, kind())
    w.model.answer = lambda request: reply(json.loads(json.dumps(ANSWER).replace("Fine.", "A bad answer.")))
    answer = w.say("hello", route="/out")
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["finish_reason"] == "content_filter"
    assert "bad" not in answer.json()["choices"][0]["message"]["content"]


@EVERY
def test_health_is_asked_where_the_service_has_it(weir, kind):
    w = World(weir, kind())
    info = w.weir.health.get("/info", params={"probe": "true"}).json()
    assert info["services"]["judge"]["status"] == "HEALTHY", info


def test_a_wrong_key_is_a_failure(weir):
    for kind in (judges.Moderation, judges.Azure):
        judge = kind()
        w = World(weir, judge)
        judges_key, judges.KEY = judges.KEY, "another"
        try:
            assert w.say("hello").status_code == 502
        finally:
            judges.KEY = judges_key


def test_a_provider_may_be_asked(weir):
    judge = judges.Moderation()
    detector = judge.config()
    del detector["service"]
    detector["provider"] = "openai"
    providers = {"openai": {"kind": "openai", "base_url": f"http://127.0.0.1:{judge.port}/v1", "api_key_env": "JUDGE_KEY"}}
    model = services.Service(lambda request: reply(ANSWER))
    w = weir({"openai": {"service": model.config()}, "providers": providers,
              "detectors": {"judge": detector},
              "routes": [{"name": "default", "input": {"judge": {}}, "on_detection": "block"}]},
             env={"JUDGE_KEY": judges.KEY})  # fmt: skip
    body = {"model": "m", "messages": [{"role": "user", "content": "bad"}]}
    assert w.api.post(CHAT, json=body).headers["x-weir-action"] == "block"
    assert judge.texts == ["bad"]


PROBLEMS = {
    "needs a chunker": ({"chunker_id": None}, "needs a `chunker_id`"),
    "wrong type": ({"type": "text_chat"}, "protocol `tei` does not serve this `type`"),
    "not its key": ({"language": "en"}, "`language` does not belong to protocol `tei`"),
    "no such protocol": ({"protocol": "tie"}, "did you mean `tei`?"),
    "azure without version": ({"protocol": "azure_content_safety", "labels": {}}, "`api_version` is missing"),
    "oip without labels": ({"protocol": "oip", "labels": {}, "model": "m", "input_name": "a",
                            "output_name": "b"}, "`labels` is missing"),
    "a judge without a verdict": ({"protocol": "chat_judge", "labels": {}, "model": "m"},
                                  "`verdict` and `positive` are missing"),
    "a verdict that is no pattern": ({"protocol": "chat_judge", "labels": {}, "model": "m",
                                      "verdict": "(", "positive": ["x"]}, "not a regular expression"),
    "batches of one": ({"protocol": "presidio", "labels": {}, "batch": {"max_items": 8}},
                       "takes one text a request"),
    "unknown provider": ({"protocol": "openai_moderation", "labels": {}, "provider": "nobody"},
                         "provider `nobody` does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("case", PROBLEMS)
def test_mistakes_in_the_configuration(weir, case):
    change, words = PROBLEMS[case]
    detector = {**judges.Tei.extra, "type": "text_contents", "protocol": "tei",
                "service": {"hostname": "h", "port": 1}, "chunker_id": "whole_doc_chunker", **change}  # fmt: skip
    done = weir.run("--check-config", "--config", weir.write_config({"detectors": {"judge": detector}}))
    assert done.returncode == 1
    assert words in (done.stdout + done.stderr).decode()


def test_labels_are_asked_for(weir):
    detector = {"type": "text_contents", "protocol": "tei", "service": {"hostname": "h", "port": 1},
                "chunker_id": "whole_doc_chunker"}  # fmt: skip
    done = weir.run("--check-config", "--config", weir.write_config({"detectors": {"judge": detector}}))
    assert done.returncode == 0
    assert b"every label of its model is a finding" in done.stdout + done.stderr


def test_a_judge_of_conversations(weir):
    """text_chat: the conversation as it stands is the judge's question."""
    judge = judges.Qwen()
    judge.text_in = lambda messages: " / ".join(f"{m['role']}: {m['content']}" for m in messages)
    detector = {**judge.config(), "type": "text_chat"}
    del detector["chunker_id"]
    w = weir({"detectors": {"judge": detector}})
    for last, n in (("fine", 0), ("bad", 1)):
        messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"},
                    {"role": "user", "content": last}]  # fmt: skip
        body = {"messages": messages, "detectors": {"judge": {}}}
        answer = w.api.post("/api/v2/text/detection/chat", json=body)
        assert [d["detection"] for d in answer.json()["detections"]] == ["badness"] * n
        assert judge.texts[-1] == f"user: hello / assistant: hi / user: {last}"


# --- how much at once ---


def batched(kind, **batch):
    return pytest.param(kind, batch, id=kind.__name__.lower())


BATCHED = pytest.mark.parametrize("kind,batch", [
    batched(judges.Tei), batched(judges.Vllm), batched(judges.Moderation), batched(judges.Oip),
    batched(judges.Fms, max_items=32)])  # fmt: skip


class Gate:
    """Holds what a judge is asked until it is opened."""

    def __init__(self, judge):
        self.judge, self.opened = judge, threading.Event()
        judge.answer = self.serve

    def serve(self, request):
        if request.method == "POST":
            self.opened.wait(harness.PATIENCE)
        return self.judge.serve_one(request)


def together(w, texts):
    """All at once, while the first holds the only call; {text: answer}."""
    gate = Gate(w.judge)
    answers = {}

    def ask(text):
        with httpx.Client(base_url=w.weir.url(), timeout=harness.PATIENCE) as client:
            body = {"model": "m", "messages": [{"role": "user", "content": text}]}
            answers[text] = client.post(f"/block{CHAT}", json=body)

    threads = [threading.Thread(target=ask, args=["the first"])]
    threads[0].start()
    harness.wait_until(lambda: len(w.judge.requests) == 1, "the first question")
    threads += [threading.Thread(target=ask, args=[text]) for text in texts]
    for thread in threads[1:]:
        thread.start()
    harness.wait_until(lambda: sum(w.gauge('weir_http_connections{listener="api"}')) >= len(threads),
                       "everybody")  # fmt: skip
    harness.wait_until(lambda: w.n_misses() == len(threads), "every question to wait")
    gate.opened.set()
    for thread in threads:
        thread.join()
    return answers


@BATCHED
def test_texts_of_different_requests_go_together(weir, kind, batch):
    w = World(weir, kind(), detector={"batch": batch} if batch else None, cache={})
    texts = [f"{'bad' if i % 3 == 0 else 'good'} text {i}" for i in range(40)]
    answers = together(w, texts)
    for text in texts:
        assert answers[text].status_code == (400 if "bad" in text else 200), text
    assert w.judge.sizes == [1, 32, 8]
    metrics = w.weir.health.get("/metrics").text
    assert 'weir_detector_batch_size_count{detector="judge"} 3' in metrics
    assert 'weir_detector_batch_size_sum{detector="judge"} 41' in metrics
    assert 'weir_detector_batch_wait_seconds_count{detector="judge"} 41' in metrics


@BATCHED
def test_one_bad_text_fails_one_request(weir, kind, batch):
    w = World(weir, kind(), detector={"batch": batch} if batch else None, cache={})
    w.judge.poison = "poison"
    texts = [f"text {i}" for i in range(9)] + ["the poison"]
    answers = together(w, texts)
    for text in texts:
        assert answers[text].status_code == (502 if "poison" in text else 200), text
    assert answers["the poison"].json()["error"]["code"] == "detector_failed"


def test_it_can_be_turned_off(weir):
    """The texts of one request still go together."""
    w = World(weir, judges.Tei(), detector={"batch": {"max_items": 1}})
    assert w.say("one", "two", "three").status_code == 200
    assert w.judge.sizes == [3]
    assert "weir_detector_batch_size" not in w.weir.health.get("/metrics").text


def test_who_waits_too_long_in_line_is_refused(weir):
    """At most two texts wait for the one call; the others are told to come later."""
    w = World(weir, judges.Tei(), detector={"max_waiting": 2, "cache": False})
    gate = Gate(w.judge)
    bodies = [json.dumps({"model": "m", "messages": [{"role": "user", "content": f"text {i}"}]}).encode()
              for i in range(4)]  # fmt: skip
    callers = [w.weir.raw() for _ in bodies]
    for i, (caller, body) in enumerate(zip(callers, bodies)):
        caller.request("POST", CHAT, [("content-type", "application/json")], body)
        if i == 0:
            harness.wait_until(lambda: len(w.judge.requests) == 1, "the first question")
    late = [caller for caller in callers if caller_is_answered(caller)]
    assert len(late) == 1
    answer = late[0].read_response()
    assert (answer.status, answer.json()["error"]["code"]) == (503, "detector_overloaded")
    gate.opened.set()
    assert all(caller.read_response().status == 200 for caller in callers if caller not in late)


def caller_is_answered(caller):
    caller.sock.settimeout(2)
    try:
        return bool(caller.fill())
    except TimeoutError:
        return False
    finally:
        caller.sock.settimeout(harness.PATIENCE)


def test_a_detector_has_a_time_of_its_own(weir):
    judge = judges.Tei()
    w = World(weir, judge, detector={"timeout": 0.2})
    judge.answer = lambda request: HANG
    answer = w.say("hello")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "detector_failed")
    w.assert_nothing_left()
