"""POST /api/v1/streams/ID/render: a user interface says how long it took to show a stream."""

import pytest
from configs import config
from service import events

CHUNK = {"choices": [{"index": 0, "delta": {"content": "hello. "}}]}
CHAT = "/v1/chat/completions"
PATH = "/api/v1/streams/4f0c/render"


@pytest.fixture
def w(weir, service):
    model = service(lambda request: events(CHUNK, CHUNK, "[DONE]"))
    streaming = {
        "batching": {"mode": "on"},
        "models": {
            "gpt-4o*": {"batching": {"max_latency_ms": 150}, "coalescer": {"mode": "on"}},
            "odd; \u00fc*": {"batching": {"mode": "off"}},
        },
    }
    own = {"name": "own", "unguarded": True, "streaming": {"batching": {"min_chars_per_emit": 40}}}
    return weir(config(openai={"service": model.config()}, streaming=streaming, routes=[
        {"name": "default", "unguarded": True}, own]))  # fmt: skip


def settings(w, model, path=CHAT, **headers):
    """What the header of a stream says: (model, settings)."""
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    answer = w.api.post(path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    model, settings = answer.headers["x-weir-streaming"].split("; settings=")
    return model.removeprefix("model="), settings


def series(w):
    """{(model, settings): (count, sum)} of what was reported."""
    found = {}
    for line in w.health.get("/metrics").text.splitlines():
        for i, part in enumerate(("count", "sum")):
            start = f"weir_ui_render_seconds_{part}" + '{model="'
            if line.startswith(start):
                model, rest = line.removeprefix(start).split('",settings="')
                values = found.setdefault((model, rest.split('"}')[0]), [0, 0])
                values[i] = float(line.split()[-1])
    return {key: tuple(value) for key, value in found.items()}


def report(w, ms, model, settings, path=PATH):
    return w.api.post(path, json={"ms": ms, "model": model, "settings": settings})


def test_what_the_header_gave_is_what_is_counted(w):
    said = [settings(w, "gpt-4o-mini"), settings(w, "llama"), settings(w, "llama", "/own" + CHAT)]
    assert said == [
        ("gpt-4o*", "batching=on/120/150/0,coalescer=on/40/8/400"),
        ("*", "batching=on/120/200/0,coalescer=off"),
        ("*", "batching=on/40/200/0,coalescer=off"),
    ]
    for one in said:
        answer = report(w, [1.5, 20, 0], *one)
        assert answer.status_code == 204 and answer.content == b""
    assert series(w) == {one: (3, 0.0215) for one in said}
    lines = w.log("rendered")
    assert [(f["model"], f["settings"]) for f in lines] == said
    assert {(f["stream"], f["pieces"], f["longest_ms"]) for f in lines} == {("4f0c", 3, 20)}


def test_what_nobody_configured_is_other(w):
    asked = settings(w, "llama", **{"x-stream-batching": "min_chars=7"})
    assert asked == ("*", "batching=on/7/200/0,coalescer=off")
    assert report(w, [1], *asked).status_code == 204
    assert report(w, [1], "evil" * 99, "x" * 9999).status_code == 204
    # a pattern that no header could carry is shown as one could, and is not known then
    odd = settings(w, "odd; \u00fcber")
    assert odd[0] == "odd; ??*" and report(w, [1], *odd).status_code == 204
    assert set(series(w)) == {("*", "other"), ("other", "other")}


@pytest.mark.parametrize(
    "body, words",
    [
        ([], "expected an object"),
        ({}, "`ms`"),
        ({"ms": [1], "model": "m"}, "`settings`"),
        ({"ms": 1, "model": "m", "settings": "s"}, "ms"),
        ({"ms": ["1"], "model": "m", "settings": "s"}, "ms[0]"),
        ({"ms": [1, -1], "model": "m", "settings": "s"}, "ms[1]"),
        ({"ms": [3600001], "model": "m", "settings": "s"}, "ms[0]"),
        ({"ms": [None], "model": "m", "settings": "s"}, "ms[0]"),
        ({"ms": [0] * 10001, "model": "m", "settings": "s"}, "more than 10000"),
        ({"ms": [1], "model": 7, "settings": "s"}, "model"),
        ({"ms": [1], "model": "m", "settings": "s", "more": 1}, "more"),
    ],
)
def test_nonsense_is_refused(w, body, words):
    answer = w.api.post(PATH, json=body)
    assert answer.status_code == 422 and words in answer.json()["details"], answer.text
    assert not series(w)


def test_paths(w):
    assert w.api.get(PATH).status_code == 405
    for path in ("/api/v1/streams//render", "/api/v1/streams/render", "/api/v1/streams/a/b/render",
                 "/api/v1/streams/a", "/api/v1/streams/" + "a" * 129 + "/render"):  # fmt: skip
        assert report(w, [1], "*", "x", path).status_code == 404, path


def test_a_key_is_needed_where_keys_are(weir):
    w = weir(config(auth={"keys_env": "KEYS"}), env={"KEYS": "secret"})
    assert report(w, [1], "*", "x").status_code == 401
    assert not series(w)
