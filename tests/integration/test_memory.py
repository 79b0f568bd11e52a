"""What callers and models can make the server hold, all of it, stays under one limit; who is over
it is told so and may come again, and the others are served."""

import json
import re
import threading

import messages
import pytest
from configs import CHAT, CONTENT, config
from harness import wait_until
from hyperframe import frame as frames
from service import HANG, events, reply

TOTAL = 2 << 20
BODY = 400000
SLACK = 64 * 1024  # connections and heads; a thread settles every 16 KiB
JSON = [("Content-Type", "application/json")]
H2_JSON = [("content-type", "application/json")]
LIMITS = {"max_held_bytes_total": TOTAL, "max_body_bytes": BODY}
GOOD = json.dumps({"detectors": {"pii": {}}, "content": "nothing"}).encode()


@pytest.fixture(scope="module")
def server(module_weir):
    return module_weir(config(limits=LIMITS), args=["--workers", "2"])


@pytest.fixture
def w(server):
    with server.unharmed():
        yield server
    wait_until(lambda: held(server) < SLACK, "what was held to be given back")


def metric(w, name):
    text = w.health.get("/metrics").text
    return float(re.search(rf"^{name} (\S+)$", text, re.M).group(1))


def held(w):
    return metric(w, "weir_held_bytes")


def refused(w):
    return metric(w, "weir_held_refused_total")


def assert_full(response, words="limits.max_held_bytes_total"):
    assert response.status == 503
    assert response.get("retry-after") == "1"
    assert words in response.body.decode()


def assert_served(w):
    c = w.raw()
    c.request("POST", CONTENT, JSON, GOOD)
    assert c.read_response().status == 200


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_unfinished_bodies_stay_under_the_total(w, framing):
    """Twenty callers send nearly all of a body and stop: there is room for five."""
    before = refused(w)
    callers = []
    for _ in range(20):
        c = w.raw()
        callers.append(c)
        try:
            if framing == "length":
                c.request("POST", CONTENT, [*JSON, ("Content-Length", str(BODY - 1000))])
                c.send(b" " * (BODY - 2000))
            else:
                c.request("POST", CONTENT, [*JSON, ("Transfer-Encoding", "chunked")])
                c.send_chunk(b" " * (BODY - 2000))
        except OSError:
            pass  # refused before all of it was sent
    wait_until(lambda: refused(w) - before >= 15, "fifteen refusals")
    assert held(w) <= TOTAL + SLACK
    n_refused = 0
    for c in callers:
        if not c.is_quiet():
            response = c.read_response()
            assert_full(response)
            assert response.get("connection") == "close"
            n_refused += 1
    assert n_refused >= 15
    assert_served(w)  # small ones still go through
    w.close_clients()
    wait_until(lambda: held(w) < SLACK, "what was held to be given back")
    assert_served(w)


def test_an_announced_body_for_which_there_is_no_room_is_not_read(w):
    callers = []
    for _ in range(5):
        c = w.raw()
        callers.append(c)
        c.request("POST", CONTENT, [*JSON, ("Content-Length", str(BODY))])
        c.send(b" " * (BODY - 1))
        n = len(callers)
        wait_until(lambda: held(w) >= n * (BODY - SLACK), "the body to be held")
    c = w.raw()
    c.request("POST", CONTENT, [*JSON, ("Content-Length", str(BODY))])
    assert_full(c.read_response())


def upload(h2, stream, n):
    """A part of a body, as the windows allow: the connection's is larger than all of this."""
    window = 65535
    for _ in range(n // 10000):
        while window < 10000:
            kinds = (frames.WindowUpdateFrame, frames.HeadersFrame)
            frame = h2.wait_frame(kinds, stream)
            if isinstance(frame, frames.HeadersFrame):
                h2.waiting.append(frame)  # answered: what is still sent is dropped
                return
            window += frame.window_increment
        window -= 10000
        h2.send_data(stream, b" " * 10000)


def test_one_http2_connection_gets_half(w):
    """Its streams are refused while others' requests are not."""
    before = refused(w)
    h2 = w.h2()
    streams = [h2.request("POST", CONTENT, H2_JSON, end_stream=False) for _ in range(10)]
    for stream in streams:
        upload(h2, stream, BODY // 2)
    wait_until(lambda: refused(w) - before >= 5, "five refusals")
    assert held(w) <= TOTAL // 2 + SLACK
    assert_served(w)
    assert_full(h2.response(streams[-1]), "half of limits.max_held_bytes_total")


def test_json_values_have_a_limit(w):
    """An eighth of max_body_bytes by default."""
    most = BODY // 8
    for n, status in ((most - 2, 422), (most - 1, 413)):
        c = w.raw()
        c.request("POST", CONTENT, JSON, b'{"x":[' + b",".join([b"0"] * (n - 1)) + b"]}")
        response = c.read_response()
        assert response.status == status, response.body
        assert ("limits.max_json_nodes" in response.json()["details"]) == (status == 413)


def test_json_values_that_do_not_fit_into_what_is_left(weir):
    w = weir(config(limits=LIMITS | {"max_json_nodes": 1000000}))
    c = w.raw()
    c.request("POST", CONTENT, JSON, b'{"x":[' + b",".join([b"0"] * 150000) + b"]}")
    assert_full(c.read_response())


def chat(stream=False, **more):
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": stream}
    return json.dumps(body | more).encode()


def hold_until_refused(w, body):
    """Sends the request again and again, each on a connection of its own, until one is refused."""
    for _ in range(20):
        before = held(w)
        c = w.raw()
        c.request("POST", CHAT, JSON, body)
        wait_until(lambda: held(w) > before + SLACK or not c.is_quiet(0.01), "an effect")
        if not c.is_quiet():
            return c.read_response()
    raise AssertionError("nobody was refused")


def test_what_is_read_of_a_body_counts(weir, service):
    """The model does not answer: bodies and their JSON are held meanwhile."""
    model = service(lambda request: HANG)
    w = weir(config(openai={"service": model.config()}, limits=LIMITS))
    assert_full(hold_until_refused(w, chat(x=[0] * 40000)))
    assert held(w) <= TOTAL + SLACK


def test_text_that_waits_for_a_detector_counts(weir, service):
    text = "word " * 60000
    model = service(
        lambda request: events({"choices": [{"index": 0, "delta": {"content": text}}]}, "[DONE]")
    )
    detector = service(lambda request: HANG)
    tree = config(openai={"service": model.config()}, limits=LIMITS)
    tree["detectors"]["slow"] = {
        "type": "text_contents",
        "service": detector.config(),
        "chunker_id": "windows",
    }
    tree["routes"] = [{"name": "default", "output": {"slow": {}}, "on_detection": "annotate"}]
    w = weir(tree)
    assert_full(hold_until_refused(w, chat(stream=True)))


SOURCE = {"type": "char_location", "document_index": 0, "cited_text": "word " * 200}
CITED = [messages.delta(0, "citations_delta", citation=SOURCE) for _ in range(2 * TOTAL // 1000)]


class Citing:
    """A model server that says Messages with CITED behind these pieces of text, and ends them when it
    is told to."""

    def __init__(self, weir, service, action, *pieces):
        text = messages.opened(0, {"type": "text", "text": "", "citations": []})
        said = [messages.delta(0, "text_delta", text=piece) for piece in pieces]
        self.said = messages.message([text, *said, *CITED, messages.closed(0)])
        self.may_end = threading.Event()
        tree = config(openai={"service": service(self.answer).config()}, limits=LIMITS)
        tree["routes"] = [{"name": "default", "output": {"pii": {}}, "on_detection": action}]
        self.weir = weir(tree)

    def answer(self, request):
        yield from messages.stream(self.said[:-3], end=False)
        self.may_end.wait()
        data = messages.sse(self.said[-3:]).encode()
        yield b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data)

    def ask(self):
        body = {"model": "m", "max_tokens": 9, "stream": True,
                "messages": [{"role": "user", "content": "Hi"}]}  # fmt: skip
        return self.weir.api.stream("POST", messages.PATH, json=body)


@pytest.mark.parametrize("action", ["annotate", "redact", "block"])
def test_lines_that_were_judged_are_given_back_while_the_stream_goes_on(weir, service, action):
    """Each is looked at, leaves, and is forgotten."""
    model = Citing(weir, service, action)
    with model.ask() as answer:
        pieces = answer.iter_text()
        got = ""
        while got.count("citations_delta") < len(CITED):
            got += next(pieces)
        wait_until(lambda: held(model.weir) < TOTAL / 8, "what was held for them to be given back")
        model.may_end.set()
        got += "".join(pieces)
    said = messages.gather(messages.read(got))
    assert len(said["content"][0]["citations"]) == len(CITED)


@pytest.mark.parametrize("action", ["annotate", "redact", "block"])
def test_lines_behind_text_that_waits_end_the_stream_at_the_limit(weir, service, action):
    """They were looked at, but the text before them has not filled a window: nobody is at work who
    could let them go, so waiting for that would be waiting for ever."""
    model = Citing(weir, service, action, "word ")
    model.may_end.set()
    with model.ask() as answer:
        got = messages.read(answer.read().decode())
    assert "max_held_bytes_per_stream" in got[-1]["error"]["message"]


def test_an_answer_of_the_model_for_which_there_is_no_room(weir, service):
    answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "x" * TOTAL}}]}
    model = service(lambda request: reply(answer))
    w = weir(config(openai={"service": model.config()}, limits=LIMITS))
    c = w.raw()
    c.request("POST", CHAT, JSON, chat())
    assert_full(c.read_response())
    model.answer = lambda request: reply(
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "short"}}]}
    )
    c = w.raw()
    c.request("POST", CHAT, JSON, chat())
    assert c.read_response().status == 200


def test_heads_that_never_end_count(weir):
    """Many callers each send most of a head: beyond the total they are told to come again."""
    w = weir(config(limits={"max_held_bytes_total": TOTAL, "header_timeout": 300}))
    callers = []
    for _ in range(60):
        c = w.raw()
        callers.append(c)
        c.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 60000)
    wait_until(lambda: not all(c.is_quiet(0.001) for c in callers), "a refusal")
    assert_full(next(c for c in callers if not c.is_quiet()).read_response())
