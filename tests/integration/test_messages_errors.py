"""What Anthropic's package raises for each error of ours on /v1/messages: class, status, type, words; and a
conversation with redacted thinking that it carries on."""

import messages
import pyclients
import pytest
from configs import config
from service import HANG, Service, reply
from test_error_clients import named

pytestmark = pyclients.needed

KEY, LIMITED, ELSEWHERE = "a-good-key", "a-limited-key", "a-key-for-another-route"
MAIL = "jane@example.org"
HI = [{"role": "user", "content": "Hi"}]
THOUGHT = {"type": "thinking", "thinking": f"They are {MAIL}.", "signature": "EqoBCkg"}


class Stage:
    def __init__(self, weir):
        self.model, self.gone = Service(lambda request: self.answer(request)), Service()
        self.gone.close()
        far = {"type": "text_contents", "service": self.gone.config(max_retries=0), "chunker_id": "whole_doc_chunker",
               "default_threshold": 0.5}  # fmt: skip
        keys = [named("good", KEY, ["*"]), named("few", LIMITED, ["*"], requests_per_minute=1),
                named("other", ELSEWHERE, ["far"])]  # fmt: skip
        base = f"http://127.0.0.1:{self.model.port}"
        tree = config(routes=[{"name": "redact", "input": {"pii": {}}, "output": {"pii": {}}, "on_detection": "redact"},
                              {"name": "error", "input": {"pii": {}}, "on_detection": "block", "block_as": "error"},
                              {"name": "far", "input": {"far": {}}, "on_detection": "redact"}],
                      models={"m": {"provider": "claude"}, "silent": {"provider": "claude"}, "lost": {"provider": "lost"}, "chat": {"provider": "chat"}},
                      providers={"claude": {"kind": "anthropic", "base_url": base, "request_timeout": 2},
                                 "lost": {"kind": "anthropic", "base_url": f"http://127.0.0.1:{self.gone.port}"},
                                 "chat": {"kind": "openai", "base_url": f"{base}/v1", "dialects": ["chat"]}},
                      limits={"max_body_bytes": 4096}, auth={"keys": keys}, seal_key_env="SEAL_KEY")  # fmt: skip
        tree["detectors"]["far"] = far
        del tree["openai"]
        self.w = weir(tree, env={"SEAL_KEY": "a secret of some length"})

    def answer(self, request):
        if request.json()["model"] == "silent":
            return HANG
        if request.path.endswith("count_tokens"):
            return reply({"input_tokens": 7})
        return reply(messages.whole(THOUGHT, {"type": "text", "text": "Hello."}))

    def job(self, way="create", route="redact", key=KEY, **members):
        ask = {"model": "m", "messages": HI, **members} | ({} if way == "count" else {"max_tokens": 5})
        return {"url": self.w.url(f"/{route}"), "key": key, "way": way, "ask": ask}


@pytest.fixture(scope="module")
def stage(module_weir):
    made = Stage(module_weir)
    yield made
    made.model.close()


@pytest.fixture(scope="module")
def told(stage):
    """(name, way): what was raised. All of it in one process: to start one takes longer than to ask."""
    jobs = {("once", way): stage.job(way, key=LIMITED) for way in WAYS[:1]}
    jobs |= {(name, way): stage.job(way, **TABLE[name][0]) for name, way in CASES}
    return dict(zip(jobs, pyclients.run("messages.py", list(jobs.values()))))


WAYS = ["create", "stream", "count"]
# how it is asked: class, status, type, a part of the words
TABLE = {
    "a wrong key": ({"key": "nobody's"}, "AuthenticationError", 401, "authentication_error", "key is required"),
    "a key for another route": ({"key": ELSEWHERE}, "PermissionDeniedError", 403, "permission_error", "this route"),
    "no such route": ({"route": "nobody"}, "NotFoundError", 404, "not_found_error", "/redact/v1"),
    "a body too large": ({"system": "x" * 5000},
        "ContentTooLargeError", 413, "request_too_large", "max_body_bytes"),
    "a model nobody has": ({"model": "x"}, "NotFoundError", 404, "not_found_error", "`x`"),
    "a provider without messages": ({"model": "chat"}, "NotFoundError", 404, "not_found_error", "messages"),
    "a member that is not for callers": ({"extra_body": {"detectors": {}}},
        "UnprocessableEntityError", 422, "invalid_request_error", "detectors"),
    "a finding in an identifier": ({"stop_sequences": [MAIL]},
        "UnprocessableEntityError", 422, "invalid_request_error", "`/stop_sequences/0`"),
    "a blocked question": ({"route": "error", "messages": [{"role": "user", "content": MAIL}]},
        "BadRequestError", 400, "invalid_request_error", ""),
    "too many": ({"key": LIMITED}, "RateLimitError", 429, "rate_limit_error", "requests_per_minute"),
    "a model server that is gone": ({"model": "lost"}, "InternalServerError", 502, "api_error", "cannot be reached"),
    "a model server that is silent": ({"model": "silent"},
        "GatewayTimeoutError", 504, "timeout_error", "in time"),
    "a detector that is gone": ({"route": "far"}, "InternalServerError", 502, "api_error", "`far`"),
}  # fmt: skip


# The package's count_tokens has no stop_sequences.
CASES = [(name, way) for name, (how, *_) in TABLE.items() for way in WAYS
         if way != "count" or "stop_sequences" not in how]  # fmt: skip


@pytest.mark.parametrize(("name", "way"), CASES)
def test_what_is_raised(stage, told, name, way):
    _, *expected, words = TABLE[name]
    error = told[name, way]
    assert [error["error"], error["status"], error["body"]["error"]["type"]] == expected, error
    assert words in error["message"] and MAIL not in error["message"]
    assert error["body"]["type"] == "error" and error["body"]["request_id"] == error["request_id"]
    stage.w.wait_log("request", request_id=error["request_id"])


def test_a_conversation_with_sealed_thinking(stage):
    """The package sends the content of an answer back as it has read it."""
    [first] = pyclients.run("messages.py", [stage.job()])
    said = first["message"]["content"]
    assert MAIL not in str(said)
    [second] = pyclients.run("messages.py", [stage.job(messages=[*HI, {"role": "assistant", "content": said}, *HI])])
    assert "error" not in second, second
    assert stage.model.requests[-1].json()["messages"][1]["content"][0] == THOUGHT
