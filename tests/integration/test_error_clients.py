"""What the openai package for Python raises for each error of a route: class, status, code, words."""

import hashlib

import policies
import pyclients
import pytest
from service import HANG, Service, events, reply
from test_seen import chunk, completion

pytestmark = pyclients.needed

KEY, LIMITED, ELSEWHERE = "a-good-key", "a-limited-key", "a-key-for-another-route"
MAIL = policies.MAIL
ASK = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
CALLS = ["create", "stream"]


def named(name, secret, routes, **more):
    return {"name": name, "sha256": hashlib.sha256(secret.encode()).hexdigest(), "routes": routes, **more}


class Stage:
    def __init__(self, weir):
        self.model, self.gone = Service(), Service()
        self.gone.close()
        pii = {"type": "text_contents", "builtin": "regex", "chunker_id": "windows",
               "params": {"regex": ["email"]}}  # fmt: skip
        far = {"type": "text_contents", "service": self.gone.config(max_retries=0), "chunker_id": "windows",
               "default_threshold": 0.5}  # fmt: skip
        keys = [named("good", KEY, ["*"]), named("few", LIMITED, ["*"], requests_per_minute=1),
                named("other", ELSEWHERE, ["far"])]  # fmt: skip
        service = {**self.model.config(), "request_timeout": 2, "max_retries": 0}
        tree = {
            "openai": {"service": service},
            "chunkers": {"windows": {"builtin": "window", "size": 200, "overlap": 64}},
            "detectors": {"pii": pii, "far": far},
            "routes": [{"name": "redact", "output": {"pii": {}}, "on_detection": "redact"},
                       {"name": "block", "input": {"pii": {}}, "on_detection": "block"},
                       {"name": "far", "output": {"far": {}}, "on_detection": "redact"}],
            "limits": {"max_body_bytes": 4096},
            "auth": {"keys": keys},
        }  # fmt: skip
        self.w = weir(tree)

    def ask(self, call, route="redact", key=KEY, answer=None, **members):
        if answer is not None:
            self.model.answer = lambda request: answer
        job = {"base": self.w.url(f"/{route}/v1"), "key": key, "call": call, "ask": {**ASK, **members}}
        return pyclients.run("errors.py", [job])[0]


@pytest.fixture(scope="module")
def stage(module_weir):
    made = Stage(module_weir)
    yield made
    made.model.close()


def refusal(status, **more):
    return reply({"error": {"message": f"status {status}", "code": "theirs", "param": "p"}}, status, **more)


# how it is asked: class, status, code, type, a part of the words
TABLE = {
    "a wrong key": ({"key": "nobody's"},
        "AuthenticationError", 401, "invalid_api_key", "authentication_error", "key is required"),
    "a key for another route": ({"key": ELSEWHERE},
        "PermissionDeniedError", 403, "key_not_allowed", "authentication_error", "not for this route"),
    "no such route": ({"route": "nobody"},
        "NotFoundError", 404, "not_found", "invalid_request_error", "/redact/v1"),
    "a body too large": ({"user": "x" * 5000},
        "APIStatusError", 413, "request_too_large", "invalid_request_error", "max_body_bytes"),
    "a member that is not for callers": ({"extra_body": {"detectors": {}}},
        "UnprocessableEntityError", 422, "invalid_request", "invalid_request_error", "detectors"),
    "too many": ({"key": LIMITED, "answer": reply(completion("Fine."))},
        "RateLimitError", 429, "rate_limit_exceeded", "invalid_request_error", "requests_per_minute"),
    "the model server's 400": ({"answer": refusal(400)},
        "BadRequestError", 400, "theirs", "invalid_request_error", "status 400"),
    "the model server's 404": ({"answer": refusal(404)},
        "NotFoundError", 404, "theirs", "invalid_request_error", "status 404"),
    "the model server's 409": ({"answer": refusal(409)},
        "ConflictError", 409, "theirs", "invalid_request_error", "status 409"),
    "the model server's 429": ({"answer": refusal(429)},
        "RateLimitError", 429, "theirs", "upstream_error", "status 429"),
    "the model server's 500": ({"answer": refusal(500)},
        "InternalServerError", 500, "theirs", "upstream_error", "status 500"),
    "the model server's 503": ({"answer": refusal(503)},
        "InternalServerError", 503, "theirs", "upstream_error", "status 503"),
    "our key refused": ({"answer": refusal(401)},
        "InternalServerError", 502, "upstream_auth", "upstream_error", "gateway's key"),
    "a model server that is silent": ({"answer": HANG},
        "InternalServerError", 504, "upstream_timeout", "upstream_error", "in time"),
    "nonsense": ({"answer": reply("hello")},
        "InternalServerError", 502, "upstream_invalid", "upstream_error", "cannot be read"),
    "a detector that is gone": ({"route": "far", "answer": None},
        "InternalServerError", 502, "detector_failed", "guardrail_error", "`far`"),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", TABLE)
def test_what_is_raised(stage, name, call):
    how, *expected, words = TABLE[name]
    how = dict(how)
    if name == "a detector that is gone":
        stage.model.answer = lambda request: says(request, "Some words to be looked at.")
    if name == "too many":
        stage.model.answer = lambda request: says(request, "Fine.")
        stage.ask(call, key=LIMITED)
        how.pop("answer")
    told = stage.ask(call, **how)
    assert [told["class"], told["status_code"], told["code"], told["type"]] == expected, told
    assert words in told["text"]
    assert told["request_id"], "the package shows x-request-id"
    stage.w.wait_log("request", request_id=told["request_id"])


def says(request, text):
    if request.json().get("stream"):
        return events(chunk({"role": "assistant", "content": text}), chunk({}, "stop"), "[DONE]")
    return reply(completion(text))


@pytest.mark.parametrize("call", CALLS)
def test_a_model_server_that_is_gone(module_weir, call):
    made = Stage(module_weir)
    made.model.close()
    told = made.ask(call)
    assert (told["class"], told["status_code"], told["code"]) == (
        "InternalServerError", 502, "upstream_unreachable")  # fmt: skip


def test_an_error_in_a_running_stream_is_raised(stage):
    failure = {"error": {"message": f"no more for {MAIL}", "code": "gone"}}
    stage.model.answer = lambda request: events(chunk({"content": "Hello there. " * 40}), failure)
    told = stage.ask("stream")
    assert told["class"] == "APIError" and "no more for [email_address]" in told["text"]
    assert told["said"].startswith("Hello there.") and told["code"] == "gone"


@pytest.mark.parametrize("call", CALLS)
def test_a_blocked_question_is_an_answer(stage, call):
    told = stage.ask(call, "block", messages=[{"role": "user", "content": f"I am {MAIL}"}])
    assert "class" not in told
    assert told.get("finish", "content_filter") == "content_filter"
