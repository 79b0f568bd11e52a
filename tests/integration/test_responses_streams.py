"""Responses of every shape that weir-mock has, through routes, batched and not: what a client puts
together is what the model server said; and of what a detector finds, nothing leaves in any item."""

import json
import random

import harness
import mock as mocks
import pytest
import responses
from policies import FALLBACK, MAIL, config

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
    "reasoning": {"scenario": ["reasoning", "tools", "text"]},
    "refusal": {"scenario": ["refusal", "text"]},
    "halves": {"scenario": ["split-utf8"], "text": "One \U0001f600 two \U0001f601\U0001f602 three."},
    "lines": {"scenario": ["crlf", "comments"]},
    "cut": {"cut_bytes": 7},
    "others": {"scenario": ["extras", "reasoning"]},
    "length": {"finish": "length"},
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
    body = {"model": "m", "input": "Hi", **members}
    answer = server.api.post(path, json=body, headers={"x-mock-model": json.dumps(shape)})
    assert answer.status_code == 200, answer.text
    return answer


def stream(server, path, shape, **members):
    return responses.read(ask(server, path, shape, stream=True, **members).text)


def plain(response):
    """Without what differs from one answer to the next, ids, and without members that are null."""
    items = [{k: v for k, v in item.items() if k not in ("id", "call_id") and v is not None}
             for item in response["output"]]  # fmt: skip
    return items, response["status"], response["usage"], response["incomplete_details"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_client_puts_the_same_together(gateway, m, shape):
    said = responses.gather(stream(m, responses.PATH, SHAPES[shape]))
    for name in NAMES:
        left = responses.gather(stream(gateway, f"/{name}{responses.PATH}", SHAPES[shape]))
        assert plain(left.response) == plain(said.response), name
        assert left.said == {key: text for key, text in said.said.items() if text}, name
        whole = ask(gateway, f"/{name}{responses.PATH}", SHAPES[shape]).json()
        assert plain(whole) == plain(said.response), name


@pytest.mark.parametrize("name", ["redact", "block", "redact-batched", "block-batched"])
@pytest.mark.parametrize("is_stream", [True, False])
def test_nothing_of_a_finding_leaves_in_any_item(gateway, name, is_stream):
    """Every item of the API, with the address in every text of it."""
    shape = {"scenario": ["items", "text", "tools", "reasoning", "refusal"], "text": f"Write to {MAIL} now.",
             "arguments": json.dumps({"to": MAIL})}  # fmt: skip
    answer = ask(gateway, f"/{name}{responses.PATH}", shape, stream=is_stream)
    assert MAIL not in answer.text and "jane" not in answer.text
    if is_stream:
        got = responses.gather(responses.read(answer.text))
        assert (got.ending == "incomplete") == name.startswith("block")
    if name.startswith("block"):
        assert FALLBACK in answer.text or "can't help" in answer.text


def test_what_leaves_does_not_depend_on_the_cuts(gateway):
    """Redacted: stream and whole are the same bytes. Blocked: the text up to the finding, then the words."""
    text = f"One \U0001f600 {MAIL}, two 4111 1111 1111 1111 and jöhn.doe@exämple.de or {MAIL.upper()}. End\u00e9."
    whole = responses.text_of(ask(gateway, f"/redact{responses.PATH}", {"pieces": [text]}).json())
    assert whole.count("[email_address]") >= 2 and "[credit_card]" in whole
    for seed in range(25):
        chance = random.Random(seed)
        cuts = sorted(chance.sample(range(1, len(text)), chance.randrange(1, 30)))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)])]
        shape = {"pieces": pieces, "scenario": ["items"] if seed % 5 == 0 else ["text"]}
        for name in ("redact", "redact-batched"):
            got = responses.gather(stream(gateway, f"/{name}{responses.PATH}", shape))
            assert got.said[0, "text", 0] == whole, (seed, name)
        blocked = responses.gather(stream(gateway, f"/block{responses.PATH}", shape))
        assert responses.text_of(blocked.response) == f"One \U0001f600 \n\n{FALLBACK}", seed


def test_every_item_passes_where_nothing_is_found(gateway, m):
    shape = {"scenario": ["items"], "text": "Nothing here."}
    said = responses.gather(stream(m, responses.PATH, shape)).response
    whole = ask(gateway, f"/redact{responses.PATH}", shape).json()
    left = responses.gather(stream(gateway, f"/redact{responses.PATH}", shape)).response
    kinds = [item["type"] for item in said["output"]]
    for one in (whole, left):
        assert [item["type"] for item in one["output"]] == [
            kind for kind in kinds if kind != "image_generation_call"] or [
            item["type"] for item in one["output"]] == kinds  # fmt: skip


@pytest.mark.parametrize("error", ["event", "cut", "end", "garbage"])
@pytest.mark.parametrize("name", ["default", "redact", "block-batched"])
def test_what_goes_wrong_midway_is_an_error(gateway, name, error):
    last = stream(gateway, f"/{name}{responses.PATH}", {"fail_at": 8, "error": error})[-1]
    assert last["type"] == "error" and last["error"], last


@pytest.mark.parametrize("name", ["redact", "block"])
def test_events_out_of_order_never_break_a_client(gateway, name):
    """Either everything is put in order, or the stream ends with an error."""
    events = stream(gateway, f"/{name}{responses.PATH}", {"scenario": ["shuffled"]})
    if events[-1]["type"] != "error":
        responses.gather(events)


def test_what_is_said_in_other_words_at_the_end(gateway):
    shape = {"scenario": ["differs"], "text": f"Write to {MAIL} now."}
    for name in ("redact", "block"):
        answer = ask(gateway, f"/{name}{responses.PATH}", shape, stream=True).text
        assert MAIL not in answer
        responses.gather(responses.read(answer), differs=True)


def test_what_nobody_knows_passes_where_nothing_is_enforced(gateway):
    shape = {"scenario": ["unknown"]}
    kinds = {name: {e["type"] for e in stream(gateway, f"/{name}{responses.PATH}", shape)}
             for name in ("default", "redact")}  # fmt: skip
    assert "response.news" in kinds["default"] and "response.news" not in kinds["redact"]
