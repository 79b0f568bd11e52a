"""Signed thinking that a route has changed: it leaves under a seal and goes back to the model server as it was."""

import random
import re

import messages
import pytest
from configs import config
from service import Service, reply

MAIL = "jane@example.org"
KEY = "a key of twenty and more characters"
SIGNATURE = "EqoBCkgIARABGAIiQL"
THOUGHT = f"They are {MAIL}, I think."
SAID = "Hello there."


class World:
    def __init__(self, weir, **members):
        self.server = Service(lambda request: self.answer(request))
        self.thought, self.signature = THOUGHT, SIGNATURE
        look = {"input": {"pii": {}}, "output": {"pii": {}}}
        base = f"http://127.0.0.1:{self.server.port}"
        tree = config(routes=[{"name": "redact", **look, "on_detection": "redact"},
                              {"name": "other", **look, "on_detection": "redact"},
                              {"name": "out", "output": {"pii": {}}, "on_detection": "redact"},
                              {"name": "block", **look, "on_detection": "block"},
                              {"name": "tell", **look}],
                      models={"m": {"provider": "claude"}},
                      providers={"claude": {"kind": "anthropic", "base_url": base}}, **members)  # fmt: skip
        del tree["openai"]
        self.w = weir(tree, env={"SEAL_KEY": KEY})

    def answer(self, request):
        if request.path.endswith("count_tokens"):
            return reply({"input_tokens": 7})
        if not request.json().get("stream"):
            thought = {"type": "thinking", "thinking": self.thought, "signature": self.signature}
            return reply(messages.whole(thought, {"type": "text", "text": SAID}))
        rng = random.Random(len(self.server.requests))
        cuts = sorted(rng.randrange(len(self.thought) + 1) for _ in range(rng.randrange(6)))
        pieces = [self.thought[a:b] for a, b in zip([0, *cuts], [*cuts, len(self.thought)])]
        events = messages.message(messages.thinking(0, *pieces, signature=self.signature), messages.text(1, SAID))
        return reply(messages.sse(events), content_type="text/event-stream")

    def ask(self, route, *history, is_stream=False, path=messages.PATH):
        body = {"model": "m", "max_tokens": 5, "messages": [*history, {"role": "user", "content": "Hi"}]}
        return self.w.api.post(f"/{route}{path}", json={**body, "stream": is_stream} if is_stream else body)

    def said(self, route, is_stream):
        answer = self.ask(route, is_stream=is_stream)
        assert answer.status_code == 200, answer.text
        return messages.gather(messages.read(answer.text)) if is_stream else answer.json()

    def thinking_sent(self):
        return self.server.requests[-1].json()["messages"][0]["content"][0]


@pytest.fixture(scope="module")
def world(module_weir):
    made = World(module_weir, seal_key_env="SEAL_KEY")
    yield made
    made.server.close()


BOTH = pytest.mark.parametrize("is_stream", [False, True])


@BOTH
def test_there_and_back(world, is_stream):
    for _ in range(8 if is_stream else 1):
        content = world.said("redact", is_stream)["content"]
        thought, text = content
        assert thought["thinking"] == THOUGHT.replace(MAIL, "[email_address]") and text["text"] == SAID
        assert re.fullmatch(r"weir1\.[A-Za-z0-9_-]+", thought["signature"])
        for path in (messages.PATH, "/v1/messages/count_tokens"):
            answer = world.ask("redact", {"role": "assistant", "content": content}, path=path)
            assert answer.status_code == 200, answer.text
            assert world.thinking_sent() == {"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE}


@BOTH
def test_a_route_that_does_not_look_at_questions_restores_too(world, is_stream):
    content = world.said("out", is_stream)["content"]
    assert content[0]["signature"].startswith("weir1.")
    assert world.ask("out", {"role": "assistant", "content": content}).status_code == 200
    assert world.thinking_sent()["thinking"] == THOUGHT


@BOTH
def test_what_is_clean_keeps_its_signature(world, is_stream):
    world.thought = "Nothing of note."
    try:
        for route in ("redact", "block", "tell"):
            thought = world.said(route, is_stream)["content"][0]
            assert (thought["thinking"], thought["signature"]) == (world.thought, SIGNATURE)
    finally:
        world.thought = THOUGHT


@BOTH
def test_annotate_changes_nothing(world, is_stream):
    thought = world.said("tell", is_stream)["content"][0]
    assert (thought["thinking"], thought["signature"]) == (THOUGHT, SIGNATURE)


@BOTH
def test_block_blocks(world, is_stream):
    answer = world.said("block", is_stream)
    assert answer["stop_reason"] == "refusal" and MAIL not in str(answer)


def test_a_broken_seal(world):
    block = world.said("redact", False)["content"][0]
    n = len(world.server.requests)
    broken = [block["signature"][:-4] + "AAAA", "weir1.AAAA", "weir1.", "weir1.not a seal", block["signature"][:40]]
    for signature in broken:
        answer = world.ask("redact", {"role": "assistant", "content": [{**block, "signature": signature}]})
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"]["type"] == "invalid_request_error"
        assert "`/messages/0/content/0/signature`" in answer.json()["error"]["message"]
    assert world.ask("other", {"role": "assistant", "content": [block]}).status_code == 400
    assert len(world.server.requests) == n


def test_what_stands_beside_a_seal_is_not_sent(world):
    block = {**world.said("redact", False)["content"][0], "thinking": f"Changed: {MAIL}"}
    assert world.ask("redact", {"role": "assistant", "content": [block]}).status_code == 200
    assert world.thinking_sent()["thinking"] == THOUGHT


@BOTH
def test_without_a_key_a_finding_ends_the_answer(weir, is_stream):
    made = World(weir)
    answer = made.said("redact", is_stream)
    assert answer["stop_reason"] == "refusal" and MAIL not in str(answer)
    assert made.ask("redact", {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "x", "signature": "weir1.AAAA"}]}).status_code == 400  # fmt: skip
    made.server.close()


def test_the_configuration(weir):
    import harness

    look = {"name": "r", "output": {"pii": {}}, "on_detection": "redact"}
    tree = config(routes=[look], models={"m": {"provider": "c"}},
                  providers={"c": {"kind": "anthropic", "base_url": "http://127.0.0.1:9"}})  # fmt: skip
    del tree["openai"]
    warned = weir.run("--check-config", "--config", weir.write_config(tree))
    assert warned.returncode == 0 and "`seal_key_env`" in (warned.stdout + warned.stderr).decode()
    quiet = weir.run("--check-config", "--config", weir.write_config({**tree, "seal_key_env": "K"}), env={"K": KEY})
    assert "seal_key_env" not in (quiet.stdout + quiet.stderr).decode()

    with pytest.raises(harness.StartFailed, match="too short"):
        weir(config(seal_key_env="SHORT"), env={"SHORT": "x"})
    with pytest.raises(harness.StartFailed, match="SEAL_KEY"):
        weir(config(seal_key_env="SEAL_KEY"))
