"""Streams of every shape through routes, batched and not: what a client puts together is what the
model server said."""

import json

import harness
import mock as mocks
import pytest
import streams
from test_batching import SHAPES

BATCHED = {
    "batching": {"mode": "on", "min_chars_per_emit": 400, "flush_on_sentence": False},
    "coalescer": {"mode": "on"},
}
ACTIONS = ["annotate", "block", "redact"]


def route(action, **members):
    name = "default" if action == "annotate" else action
    name += "-batched" if "streaming" in members else ""
    return {"name": name, "output": {"pii": {}}, "on_detection": action, **members}


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1)
    servers.stop_all()


@pytest.fixture(scope="module")
def gateway(module_weir, m):
    tree = streams.config(m)
    tree["chunkers"] = {"windows": {"builtin": "window", "size": 100, "overlap": 64}}
    tree["detectors"] = {
        "pii": {
            "type": "text_contents",
            "builtin": "regex",
            "params": {"regex": ["email"]},
            "chunker_id": "windows",
        }
    }
    tree["routes"] = [route(action) for action in ACTIONS]
    tree["routes"] += [route(action, streaming=BATCHED) for action in ACTIONS]
    tree["routes"].append({"name": "open", "unguarded": True, "streaming": BATCHED})
    return module_weir(tree)


def ask(server, path, mock, **members):
    body = streams.upstream_request(streams.request(mock=mock, **members))
    answer = server.api.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer


def name_of(action, is_batched):
    name = "default" if action == "annotate" else action
    return name + ("-batched" if is_batched else "")


@pytest.mark.parametrize("is_batched", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_lost_or_changed(gateway, m, shape, action, is_batched):
    members = {"n": 3} if "choices" in shape else {}
    members["stream_options"] = {"include_usage": True}
    upstream = ask(m, "/v1/chat/completions", SHAPES[shape], **members)
    expected = streams.comparable(streams.gather(without_done(upstream.text)))
    path = f"/{name_of(action, is_batched)}/v1/chat/completions"
    answer = ask(gateway, path, SHAPES[shape], **members)
    got = streams.comparable(streams.gather(streams.events(answer.text)))
    assert answer.headers["x-weir-policy"] == action
    if shape == "no role":
        for choice in expected["choices"].values():
            choice["role"] = "assistant"
    for choice in expected["choices"].values():
        choice["texts"] = {name: join_halves(text) for name, text in choice["texts"].items()}
    assert got == expected


def join_halves(text):
    """Python keeps the halves of a character apart that came in two events."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def without_done(text):
    return [event for event in mocks.events(text) if event != "[DONE]"]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("scenario", ["role-each", "role-with-text", "role-never", "tools"])
def test_the_role_leaves_once_and_first(gateway, action, scenario):
    mock = {"tokens": 120, "scenario": scenario}
    answer = ask(gateway, f"/{name_of(action, False)}/v1/chat/completions", mock)
    spoken = [e for e in streams.events(answer.text) if e["choices"]]
    roles = [e["choices"][0]["delta"].get("role") for e in spoken]
    assert roles == ["assistant"] + [None] * (len(roles) - 1)


def test_a_route_has_its_own_batching(gateway):
    answer = ask(gateway, "/open/v1/chat/completions", {"tokens": 600})
    assert len(streams.events(answer.text)) < 60


@pytest.mark.parametrize("action", ACTIONS)
def test_frames_with_findings_are_merged(gateway, action):
    """Each carries what was found in all of its text, nothing here."""
    mock = {"tokens": 600}
    plain = ask(gateway, f"/{name_of(action, False)}/v1/chat/completions", mock)
    batched = ask(gateway, f"/{name_of(action, True)}/v1/chat/completions", mock)
    texts = [
        [e["choices"][0]["delta"]["content"] for e in streams.events(a.text) if "detections" in e]
        for a in (plain, batched)
    ]
    assert "".join(texts[0]) == "".join(texts[1])
    assert len(texts[0]) > 10 and len(texts[1]) * 3 < len(texts[0])


@pytest.mark.parametrize("name", ["default", "block-batched", "open"])
def test_a_request_may_not_ask_for_nonsense(gateway, name):
    answer = gateway.api.post(
        f"/{name}/v1/chat/completions",
        json=streams.upstream_request(streams.request()),
        headers={"x-stream-batching": "nonsense"},
    )
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_without_detectors_events_pass_byte_for_byte(module_weir, m):
    tree = streams.config(m)
    tree["routes"] = [{"name": "default", "unguarded": True}]
    w = module_weir(tree)
    mock = {"tokens": 5, "scenario": "crlf,comments,unknown"}
    got = ask(w, "/v1/chat/completions", mock).text
    assert [json.loads(line[6:]).keys() for line in got.splitlines() if line[:7] == "data: {"]
    assert "\r\n" in got


def tree_with_params(m, params):
    tree = streams.config(m)
    tree["chunkers"] = {"windows": {"builtin": "window", "size": 160, "overlap": 64}}
    tree["detectors"] = {
        "pii": {
            "type": "text_contents",
            "builtin": "regex",
            "params": {"regex": ["email"]},
            "chunker_id": "windows",
        }
    }
    tree["routes"] = [{"name": "default", "output": {"pii": params}, "on_detection": "redact"}]
    return tree


def test_a_routes_own_parameters_replace_the_detectors(module_weir, m):
    w = module_weir(tree_with_params(m, {"regex": ["credit-card"]}))
    mock = {"text": "Mail jo@example.com, card 4111 1111 1111 1111."}
    answer = ask(w, "/v1/chat/completions", mock)
    text = streams.content(streams.events(answer.text))
    assert text == "Mail jo@example.com, card [credit_card]."


def test_a_routes_parameters_are_checked_at_the_start(weir, m):
    path = weir.write_config(tree_with_params(m, {"regex": ["a(("]}))
    done = weir.run("--check-config", "--config", path)
    assert done.returncode == 1
    assert "detector `pii`: the pattern is not a regular expression" in done.stdout.decode()
