"""Messages of every shape that weir-mock has, through routes, batched and not: what a client puts
together is what the model server said."""

import json

import harness
import messages
import mock as mocks
import pytest
from policies import config

BATCHED = {"batching": {"mode": "on", "min_chars_per_emit": 400, "flush_on_sentence": False},
           "coalescer": {"mode": "on"}}  # fmt: skip
ROUTES = [
    {"name": "open", "unguarded": True},
    *({"name": f"{action}-batched", "output": {"pii": {}}, "on_detection": action,
       "streaming": BATCHED} for action in ("annotate", "block", "redact")),
]  # fmt: skip
NAMES = ["open", "default", "redact", "block", "annotate-batched", "redact-batched", "block-batched"]
SHAPES = {
    "text": {},
    "tools": {"scenario": ["tools"], "tool_calls": 3},
    "empty arguments": {"scenario": ["tools"], "tool_calls": 1, "arguments": ""},
    "reasoning": {"scenario": ["reasoning", "tools"]},
    "halves": {"scenario": ["split-utf8"], "text": "One \U0001f600 two \U0001f601\U0001f602 three."},
    "lines": {"scenario": ["crlf", "comments"]},
    "cut": {"cut_bytes": 7},
    "nothing": {"scenario": ["empty"]},
}


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1)
    servers.stop_all()


@pytest.fixture(scope="module")
def gateway(module_weir, m):
    return module_weir(config(m, ROUTES))


def ask(server, path, shape, **members):
    body = {"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": "Hi"}], **members}
    answer = server.api.post(path, json=body, headers={"x-mock-model": json.dumps(shape)})
    assert answer.status_code == 200, answer.text
    return answer


def plain(message):
    """Without what differs from one answer to the next: ids."""
    rest = [{k: v for k, v in block.items() if k != "id"} for block in message["content"]]
    return rest, message["stop_reason"], message["usage"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_client_puts_the_same_together(gateway, m, shape):
    said = messages.gather(messages.read(ask(m, "/v1/messages", SHAPES[shape], stream=True).text))
    for name in NAMES:
        left = messages.read(ask(gateway, f"/{name}/v1/messages", SHAPES[shape], stream=True).text)
        assert plain(messages.gather(left)) == plain(said), name
        if "signature" in json.dumps(said):
            continue
        whole = ask(gateway, f"/{name}/v1/messages", SHAPES[shape]).json()
        assert plain(whole) == plain(said), name


@pytest.mark.parametrize("error", ["event", "cut", "end", "garbage"])
@pytest.mark.parametrize("name", ["default", "redact", "block-batched"])
def test_what_goes_wrong_midway_is_an_error(gateway, name, error):
    text = ask(gateway, f"/{name}/v1/messages", {"fail_at": 5, "error": error}, stream=True).text
    last = messages.read(text)[-1]
    assert last["type"] == "error" and last["error"]["type"] == "api_error", last


@pytest.mark.parametrize("name", ["default", "redact", "block"])
def test_events_out_of_order_are_an_error(gateway, name):
    text = ask(gateway, f"/{name}/v1/messages", {"scenario": ["shuffled"]}, stream=True).text
    assert messages.read(text)[-1]["type"] == "error"


def test_what_nobody_knows_passes_where_nothing_is_enforced(gateway):
    shape = {"scenario": ["unknown"]}
    kinds = {name: {e["type"] for e in messages.read(
        ask(gateway, f"/{name}/v1/messages", shape, stream=True).text)} for name in ("default", "redact")}  # fmt: skip
    assert "news" in kinds["default"] and "news" not in kinds["redact"]
