"""Routes that mask, in front of a model server that the test writes."""

import json
import re

import service as services
import streams
from service import reply

KEY = "a key of the tests, long enough"
ENV = {"MASK_KEY": KEY, "TEAM_A": "secret-a", "TEAM_B": "secret-b"}
CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
MESSAGES = "/v1/messages"
TOKEN = re.compile(r"(?<![A-Za-z0-9_])[A-Z0-9_]{1,24}_[0-9A-HJKMNP-TV-Z]{10}")


def route(name, **more):
    """A route on which everybody has one scope."""
    mask = {"key_env": "MASK_KEY", "scope": "route", **more.pop("mask", {})}
    sides = {"input": {"pii": {}, "keys": {}}, "output": {"pii": {}, "keys": {}}}
    return {"name": name, **sides, "on_detection": "mask", "mask": mask, **more}


def config(port, *routes, **parts):
    service = {"hostname": "127.0.0.1", "port": port}
    remote = {"type": "text_contents", "service": service, "default_threshold": 0.1}
    return {
        "openai": {"service": service},
        "chunkers": {"windows": {"builtin": "window", "size": 200, "overlap": 64},
                     "sentences": {"builtin": "sentence"}},
        "detectors": {
            "pii": {"type": "text_contents", "builtin": "regex",
                    "params": {"regex": ["email", "credit-card", "us-phone-number"]}},
            "keys": {"type": "text_contents", "builtin": "secrets"},
            "words": {"type": "text_contents", "builtin": "regex", "chunker_id": "sentences",
                      "params": {"regex": ["MRK\\d{6}Q", "email"]}},
            "far": {**remote, "chunker_id": "windows"},
        },
        "routes": list(routes),
        **parts,
    }  # fmt: skip


def chat(*messages, **more):
    """Texts are the user's."""
    made = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    return {"model": "m", "messages": made, **more}


def answer(message=None, **more):
    message = {"content": message} if isinstance(message, str) else message
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{**choice, **more}]}  # fmt: skip


def event(delta, finish=None, **more):
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}  # fmt: skip


def streamed(pieces, channel="content"):
    """An answer of the server: an event for each piece."""
    said = [event({channel: piece}) for piece in pieces]
    return services.events(*said, event({}, "stop"), "[DONE]")


class World:
    """A gateway and a model server. `says` is a text or a function of the request's text; `cut` how
    a stream cuts it; `finds` what the remote detector finds in a text."""

    def __init__(self, module_weir, *routes, **parts):
        self.says = "Ok."
        self.cut = lambda text: [text]
        self.finds = lambda text: []
        self.model = services.Service(lambda request: self.serve(request))
        self.weir = module_weir(config(self.model.port, *routes, **parts), env=ENV)

    def serve(self, request):
        if request.path == "/api/v1/text/contents":
            return reply([self.finds(text) for text in request.json()["contents"]])
        body = request.json()
        said = self.says(body) if callable(self.says) else self.says
        if request.path == MESSAGES and not isinstance(said, (bytes, str)) and not isinstance(said, dict):
            return said
        if request.path == MESSAGES:
            blocks = [{"type": "text", "text": said}] if isinstance(said, str) else said["blocks"]
            return reply({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": blocks,
                          "stop_reason": "end_turn", "stop_sequence": None,
                          "usage": {"input_tokens": 1, "output_tokens": 1}})  # fmt: skip
        if isinstance(said, dict):
            return reply(answer(said))
        if not isinstance(said, str):
            return said
        if body.get("stream"):
            return streamed(self.cut(said))
        if "prompt" in body:
            return reply({"id": "1", "object": "text_completion", "created": 1, "model": "m",
                          "choices": [{"index": 0, "text": said, "finish_reason": "stop"}]})  # fmt: skip
        return reply(answer(said))

    def post(self, route, body, path=CHAT, **headers):
        return self.weir.api.post(f"/{route}{path}", json=body, headers=headers)

    def sent(self):
        """What the model server was sent last, as text and as JSON."""
        last = [r for r in self.model.requests if r.path.startswith("/v1/")][-1]
        return last.body.decode(), last.json()

    def ask(self, route, body, path=CHAT, **headers):
        answer = self.post(route, body, path, **headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def text(self, route, body, **headers):
        """What a whole answer says."""
        return self.ask(route, body, **headers)["choices"][0]["message"]["content"]

    def stream(self, route, body, **headers):
        answer = self.post(route, {**body, "stream": True}, **headers)
        assert answer.status_code == 200, answer.text
        return streams.events(answer.text)

    def streamed_text(self, route, body, channel="content", **headers):
        found = streams.gather(self.stream(route, body, **headers))
        return found["choices"][0]["texts"].get(channel, "")


def tokens(text):
    return TOKEN.findall(text if isinstance(text, str) else json.dumps(text))
