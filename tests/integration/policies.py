"""Routes with policies in front of a mock: the configuration, questions, and what answers say."""

import json

import harness
import streams

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
MAIL = "jane@example.org"
CARD = "4111 1111 1111 1111"
FALLBACK = "That cannot be said here."
REFUSAL = "I can't help with that."


def config(m, routes=(), **parts):
    """Every service is this mock. `pii` is built in; `far` is a service on the same windows, `doc`
    one on whole documents, `whole` looks at the conversation, `pair` at prompt and answer."""
    service = {"hostname": "127.0.0.1", "port": m.ports["api"]}
    both = {"input": {"pii": {}}, "output": {"pii": {}}}
    remote = {"type": "text_contents", "service": service, "default_threshold": 0.1}
    tree = {
        "openai": {"service": service},
        "chunkers": {"windows": {"builtin": "window", "size": 200, "overlap": 64},
                     "sentences": {"builtin": "sentence"}},
        "detectors": {
            "pii": {"type": "text_contents", "builtin": "regex", "chunker_id": "windows",
                    "params": {"regex": ["email", "credit-card"]}},
            "keys": {"type": "text_contents", "builtin": "secrets", "chunker_id": "windows"},
            "lines": {"type": "text_contents", "builtin": "regex", "chunker_id": "sentences",
                      "params": {"regex": ["email"]}},
            "far": {**remote, "chunker_id": "windows"},
            "doc": {**remote, "chunker_id": "whole_doc_chunker"},
            "whole": {"type": "text_chat", "service": service, "default_threshold": 0.1},
            "pair": {"type": "text_generation", "service": service, "default_threshold": 0.1},
        },
        "routes": [
            {"name": "default", **both},
            {"name": "block", **both, "on_detection": "block", "fallback_message": FALLBACK},
            {"name": "refuse", **both, "on_detection": "block", "block_as": "refusal"},
            {"name": "redact", **both, "on_detection": "redact"},
            *routes,
        ],
        "passthrough_headers": ["x-mock-model"],
        **parts,
    }  # fmt: skip
    return tree


def ask(text=None, mock=None, path=CHAT, **members):
    body = {"model": "m", **members}
    if path == CHAT:
        body.setdefault("messages", [{"role": "user", "content": text or "Hi"}])
    else:
        body.setdefault("prompt", text or "Hi")
    return body if mock is None else {**body, "mock": mock}


def script(body):
    """(the question, headers): what the mock is to say goes as a header, since a route looks at all
    members of a question."""
    if not isinstance(body, dict) or "mock" not in body:
        return body, {}
    rest = {key: value for key, value in body.items() if key != "mock"}
    return rest, {"x-mock-model": json.dumps(body["mock"])}


def post(gateway, route, body, path=CHAT):
    """`route` None: the one without a name."""
    body, headers = script(body)
    return gateway.api.post(f"/{route}{path}" if route else path, json=body, headers=headers)


def stream(gateway, route, body, path=CHAT):
    """The events of a stream, [DONE] checked and left out."""
    answer = post(gateway, route, {**body, "stream": True}, path)
    assert answer.status_code == 200, answer.text
    return streams.events(answer.text)


def said(events, choice=0):
    """What a client puts together: texts by channel."""
    return streams.gather(events)["choices"][choice]["texts"]


def findings(carrier, side="output"):
    """[(detection, start, end)] of an answer or of all events."""
    found = []
    for part in carrier if isinstance(carrier, list) else [carrier]:
        for entry in part.get("detections", {}).get(side, []):
            found += [(r["detection"], r.get("start"), r.get("end")) for r in entry["results"]]
    return found


def warnings(carrier):
    parts = carrier if isinstance(carrier, list) else [carrier]
    return [w["type"] for part in parts for w in part.get("warnings", [])]


def requests_seen(m, path=CHAT):
    """How many requests the mock has had under this path; none is under way."""
    harness.wait_until(m.is_asleep, "the mock to have said what there was")
    return len(m.log("request", path=path))
