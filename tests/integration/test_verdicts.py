"""Verdicts that are known already: a detector is not asked twice about the same text."""

import collections
import json
import signal
import threading

import harness
import messages
import pytest
import responses
import service as services
from service import HANG, reply

CHAT = "/v1/chat/completions"
ANSWER = {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
          "choices": [{"index": 0, "message": {"role": "assistant", "content": "Fine."},
                       "finish_reason": "stop"}]}  # fmt: skip


class Detector(services.Service):
    """Finds `bad` wherever it stands, and counts what it is asked about."""

    def __init__(self):
        self.asked = collections.Counter()
        super().__init__(self.judge)

    def judge(self, request):
        if request.path != "/api/v1/text/contents":
            return reply({"status": "ok"})
        texts = request.json()["contents"]
        self.asked.update(texts)
        return reply([self.found(text) for text in texts])

    def found(self, text):
        at = text.find("bad")
        return [] if at < 0 else [{"start": at, "end": at + 3, "text": "bad", "score": 0.9,
                                   "detection": "bad", "detection_type": "test"}]  # fmt: skip


def config(model, detector, **parts):
    return {
        "openai": {"service": model.config()},
        "detectors": {
            "far": {"type": "text_contents", "service": detector.config(),
                    "chunker_id": "whole_doc_chunker"},
        },
        "routes": [{"name": "default", "input": {"far": {}}, "on_detection": "redact"},
                   {"name": "other", "input": {"far": {}}, "on_detection": "redact"}],
        "cache": {},
        **parts,
    }  # fmt: skip


def start(weir, detector, **parts):
    model = services.Service(lambda request: reply(ANSWER))
    return weir(config(model, detector, **parts), args=["--workers", "1"]), model


def say(w, *texts, path=CHAT, **options):
    roles = ["user", "assistant"]
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]
    return w.api.post(path, json={"model": "m", "messages": messages}, **options)


def counts(w):
    text = w.health.get("/metrics").text
    return {result: int(float(line.rsplit(" ", 1)[1]))
            for line in text.splitlines() for result in ("hit", "joined", "miss")
            if line.startswith(f'weir_detector_cache_total{{detector="far",result="{result}"')}  # fmt: skip


def test_forty_turns_ask_for_each_message_once(weir):
    detector = Detector()
    w, model = start(weir, detector)
    texts = []
    for turn in range(40):
        texts.append(f"question {turn} is {'bad' if turn % 7 == 3 else 'good'}")
        answer = say(w, *texts)
        assert answer.status_code == 200, answer.text
        sent = [m["content"] for m in json.loads(model.requests[-1].body)["messages"]]
        assert len(sent) == len(texts)
        assert not any("bad" in text for text in sent)  # the fresh one and all the known ones
        texts.append(f"answer {turn}")
    assert set(detector.asked) >= {text for text in texts[:-1]}
    assert max(detector.asked.values()) == 1, detector.asked.most_common(3)
    seen = counts(w)
    assert seen["miss"] == sum(detector.asked.values())
    assert seen["hit"] >= sum(2 * turn - 1 for turn in range(1, 40))
    assert 'weir_detector_cache_bytes 0' not in w.health.get("/metrics").text


def history_of(path, texts):
    """The conversation so far, as each API has it."""
    said = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    if path == "/v1/responses":
        return {"model": "m", "input": said}
    return {"model": "m", "messages": said, "max_tokens": 9}


def answer_of(request):
    if request.path.endswith("/messages"):
        return reply(messages.whole({"type": "text", "text": "Fine."}))
    if request.path.endswith("/responses"):
        return reply(responses.response(responses.message(responses.output_text("Fine."))))
    return reply(ANSWER)


@pytest.mark.parametrize("path", [CHAT, "/v1/messages", "/v1/responses"])
def test_forty_turns_of_every_api(weir, path):
    detector = Detector()
    w = weir(config(services.Service(answer_of), detector), args=["--workers", "1"])
    texts = []
    for turn in range(40):
        texts.append(f"question {turn} is {'bad' if turn % 7 == 3 else 'good'}")
        answer = w.api.post(path, json=history_of(path, texts))
        assert answer.status_code == 200, answer.text
        texts.append(f"answer {turn}")
    assert set(detector.asked) >= set(texts[:-1])
    assert max(detector.asked.values()) == 1, detector.asked.most_common(3)


def test_it_can_be_turned_off(weir):
    detector = Detector()
    off = {"far": {"type": "text_contents", "service": detector.config(), "cache": False,
                   "chunker_id": "whole_doc_chunker"}}  # fmt: skip
    for parts in ({"cache": False}, {"detectors": off}):
        detector.asked.clear()
        w, _ = start(weir, detector, **parts)
        say(w, "hello")
        say(w, "hello")
        assert detector.asked["hello"] == 2


def test_routes_share_and_keys_do_not(weir):
    detector = Detector()
    keys = [{"name": name, "env": f"KEY_{name.upper()}", "routes": ["*"]} for name in ("a", "b")]
    model = services.Service(lambda request: reply(ANSWER))
    w = weir(config(model, detector, auth={"keys": keys}), args=["--workers", "1"],
             env={"KEY_A": "key-of-a", "KEY_B": "key-of-b"})  # fmt: skip
    for key, path, n in (("key-of-a", CHAT, 1), ("key-of-a", "/other" + CHAT, 1),
                         ("key-of-b", CHAT, 2), ("key-of-b", CHAT, 2)):  # fmt: skip
        answer = say(w, "hello", path=path, headers={"authorization": f"Bearer {key}"})
        assert answer.status_code == 200, answer.text
        assert detector.asked["hello"] == n


def test_a_reload_forgets(weir):
    detector = Detector()
    model = services.Service(lambda request: reply(ANSWER))
    path = weir.write_config(config(model, detector))
    w = weir(path, args=["--workers", "1"])
    say(w, "hello")
    say(w, "hello")
    assert detector.asked["hello"] == 1
    w.signal(signal.SIGHUP)
    w.wait_log("configuration reloaded")

    def asked_again():
        say(w, "hello")
        return detector.asked["hello"] == 2

    harness.wait_until(asked_again, "a question to the new detector")


def test_many_at_once_ask_once(weir):
    """Identical questions wait for the one that is under way."""
    detector = Detector()
    w, _ = start(weir, detector)
    released = threading.Event()
    judge = detector.answer

    def held(request):
        if request.path == "/api/v1/text/contents":
            released.wait(harness.PATIENCE)
        return judge(request)

    detector.answer = held
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(say(w, "all bad").status_code))
               for _ in range(8)]  # fmt: skip
    for thread in threads:
        thread.start()
    harness.wait_until(lambda: counts(w).get("joined", 0) == 7, "seven who wait")
    released.set()
    for thread in threads:
        thread.join()
    assert answers == [200] * 8
    assert detector.asked["all bad"] == 1


def test_the_last_caller_who_leaves_ends_the_question(weir):
    detector = Detector()
    w, _ = start(weir, detector)
    detector.answer = lambda request: HANG
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "slow"}]}).encode()
    callers = [w.raw() for _ in range(2)]
    for caller in callers:
        caller.send(f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                    f"content-length: {len(body)}\r\n\r\n".encode() + body)  # fmt: skip
    harness.wait_until(lambda: counts(w).get("joined", 0) == 1, "one who waits")
    callers[0].close()
    harness.wait_until(lambda: gauge(w, 'weir_http_connections{listener="api"}') == 1, "one to go")
    assert len(detector.connections) == 1
    callers[1].close()
    harness.wait_until(lambda: not detector.connections, "the call to be broken off")
    harness.wait_until(lambda: gauge(w, "weir_held_bytes") < 32768, "everything given back")
    assert gauge(w, "weir_detector_cache_bytes") == 0


def gauge(w, name):
    for line in w.health.get("/metrics").text.splitlines():
        if line.startswith(name + " "):
            return float(line.rsplit(" ", 1)[1])
    raise AssertionError(name)
