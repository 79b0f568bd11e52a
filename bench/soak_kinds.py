"""What callers of a soak (soak.py) ask, in every dialect and on every policy, and what must come back.

A Kind is one way to ask. `read` puts an answer together as a client does; `is_right` compares it with
what the model server was told to say.
"""

import json
import re
from dataclasses import dataclass

MAIL = "jane@example.org"
REFUSAL = "I can't help with that."
MASK_KEY = {"SOAK_MASK_KEY": "a key of the soak, long enough"}
WORDS = (20, 60)  # of an answer, fewest and most


def text_of(dice):
    words = [f"word{dice.randrange(1000)}" for _ in range(dice.randrange(*WORDS))]
    for _ in range(dice.randrange(3)):
        words.insert(dice.randrange(len(words)), MAIL)
    for at in range(9, len(words), 10):
        words[at] += "."
    return " ".join(words)


def config(model_port, detector_port):
    model = {"hostname": "127.0.0.1", "port": model_port}
    detector = {"hostname": "127.0.0.1", "port": detector_port, "max_retries": 0}
    pii = {"type": "text_contents", "builtin": "regex", "params": {"regex": ["email"]}}
    output = {"output": {"pii": {}}}
    mask = {"on_detection": "mask", "mask": {"key_env": "SOAK_MASK_KEY", "scope": "route"}}
    joined = {"batching": {"mode": "on", "max_latency_ms": 2000}, "coalescer": {"mode": "on"}}
    return {
        "openai": {"service": model},
        "generation": {"provider": "tgis", "service": model},
        "chunkers": {"windows": {"builtin": "window", "size": 200, "overlap": 64},
                     "sentences": {"builtin": "sentence"}},
        "detectors": {"pii": pii, "chunked": {**pii, "chunker_id": "windows"},
                      "far": {"type": "text_contents", "service": detector, "chunker_id": "sentences",
                              "default_threshold": 0.1}},
        "routes": [{"name": "default", **output},
                   {"name": "annotate", "output": {"chunked": {}}},
                   {"name": "redact", **output, "on_detection": "redact"},
                   {"name": "block", **output, "on_detection": "block"},
                   {"name": "windows", "output": {"chunked": {}}, "on_detection": "redact"},
                   {"name": "far", "output": {"far": {}}, "on_detection": "redact"},
                   {"name": "after", "output": {"far": {}}, "output_check": "after"},
                   {"name": "joined", **output, "on_detection": "redact", "streaming": joined},
                   {"name": "mask", "input": {"pii": {}}, **output, **mask}],
        "passthrough_headers": ["x-mock", "x-mock-model"],
        # Callers that a busy machine lets wait between connecting and asking are not the question here.
        "limits": {"header_timeout": 120},
    }  # fmt: skip


ROUTES = ("annotate", "redact", "block", "windows", "far", "after", "joined", "mask")
# What stands instead of an address; elsewhere it stays.
REPLACED = {"redact": "[email_address]", "windows": "[email_address]", "joined": "[email_address]",
            "far": "[EmailAddress]"}  # fmt: skip
FALLIBLE = ("far", "after")  # have a detector that may fail


@dataclass(frozen=True)
class Kind:
    route: str  # "" under /api
    dialect: str
    is_stream: bool

    @property
    def path(self):
        return f"/{self.route}{PATHS[self.dialect]}" if self.route else PATHS[self.dialect]

    def question(self, text):
        """(headers, body)"""
        asked = text if self.route == "mask" else "Hi"
        body = BODIES[self.dialect](asked, text)
        if isinstance(body, str):
            return [("content-type", "application/x-ndjson")], body.encode()
        if "model_id" not in body and self.dialect in ANSWERS:
            body = {**body, "model": "m", "stream": self.is_stream}
        return [("content-type", "application/json")], json.dumps(body).encode()

    def mock(self, text, rate):
        """The model server says the text; behind a masked question it gives back what it was asked,
        tokens in the place of addresses."""
        if self.dialect == "generation":
            return "x-mock", f"rate={rate}; text={text}"
        said = {"scenario": "echo"} if self.route == "mask" else {"text": text}
        return "x-mock-model", json.dumps({"rate": rate, **said})

    def read(self, body):
        """(what a client puts together, did it end with an error)"""
        events, is_whole = events_of(body, self.is_stream)
        if not events or any(is_error(event) for event in events):
            return "", True
        if self.dialect in ANSWERS:
            read = ANSWERS[self.dialect][self.is_stream]
            return read(events if self.is_stream else events[0]), not is_whole(self.dialect)
        return FOUND[self.dialect](events), False

    def is_right(self, text, said):
        if self.dialect in ("content", "lines"):
            return said == [(at, at + len(MAIL)) for at in places(text)]
        if self.route == "block" and MAIL in text:
            before = text.split(MAIL)[0] if self.is_stream else ""
            return said == (f"{before}\n\n{REFUSAL}" if before else REFUSAL)
        return said == text.replace(MAIL, REPLACED.get(self.route, MAIL))

    def may_fail(self, body):
        """A detector that failed ends the answer, and only what was checked has left."""
        is_its = self.route in FALLIBLE and re.search(rb"detector_failed|detector `far`", body)
        return bool(is_its) and (self.route == "after" or MAIL.encode() not in body)


# --- asking ---

PATHS = {
    "chat": "/v1/chat/completions",
    "text": "/v1/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "chat api": "/api/v2/chat/completions-detection",
    "text api": "/api/v2/text/completions-detection",
    "generation": "/api/v1/task/server-streaming-classification-with-text-generation",
    "content": "/api/v2/text/detection/content",
    "lines": "/api/v2/text/detection/stream-content",
}
DETECTORS = {"detectors": {"output": {"pii": {}}}}


def lines_of(text):
    """The caller's text, a piece of 20 characters a line."""
    pieces = [text[at : at + 20] for at in range(0, len(text), 20)]
    rows = [{"content": piece} for piece in pieces]
    rows[0]["detectors"] = {"chunked": {}}
    return "".join(json.dumps(row) + "\n" for row in rows)


def talk(asked):
    return {"messages": [{"role": "user", "content": asked}]}


BODIES = {
    "chat": lambda asked, text: talk(asked),
    "text": lambda asked, text: {"prompt": asked},
    "messages": lambda asked, text: {**talk(asked), "max_tokens": 1000},
    "responses": lambda asked, text: {"input": asked, "store": False},
    "chat api": lambda asked, text: {**talk(asked), **DETECTORS},
    "text api": lambda asked, text: {"prompt": asked, **DETECTORS},
    "generation": lambda asked, text: {"model_id": "m", "inputs": asked,
                                       "guardrail_config": {"output": {"models": {"pii": {}}}}},
    "content": lambda asked, text: {"content": text, "detectors": {"pii": {}}},
    "lines": lambda asked, text: lines_of(text),
}  # fmt: skip


# --- reading ---


def is_error(event):
    return event.get("error") is not None or event.get("type") == "error" or "details" in event


def events_of(body, is_stream):
    """(all events, how a stream of a dialect is known to be complete)"""
    if not is_stream:
        return [json.loads(body or "{}")], lambda dialect: True
    found, is_done = [], False
    for line in body.splitlines():
        if line == "data: [DONE]":
            is_done = True
        elif line.startswith("data: "):
            found.append(json.loads(line[6:]))
        elif line.startswith("{"):
            found.append(json.loads(line))
    last = found[-1].get("type") if found else None
    ends = {"messages": last == "message_stop",
            "responses": last in ("response.completed", "response.incomplete"),
            "generation": bool(found) and found[-1].get("finish_reason") != "NOT_FINISHED"}  # fmt: skip
    return found, lambda dialect: ends.get(dialect, is_done)


def choices_said(events):
    choices = [choice for event in events for choice in event.get("choices", [])]
    return "".join((c.get("delta") or {}).get("content") or c.get("text") or "" for c in choices)


def choice_said(whole):
    choice = whole["choices"][0]
    return (choice.get("message") or {}).get("content") or choice.get("text") or ""


def blocks_said(events):
    """Text by block; the words of a refusal are a block of their own."""
    blocks = {}
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = event["content_block"].get("text", "")
        elif event["type"] == "content_block_delta":
            blocks[event["index"]] += event["delta"].get("text", "")
    return "\n\n".join(text for text in blocks.values() if text)


def parts_said(events):
    """Deltas joined; what is said again at the end of each part must be the same."""
    parts = {}
    for event in events:
        key = (event.get("output_index"), event.get("content_index"))
        if event["type"] == "response.output_text.delta":
            parts[key] = parts.get(key, "") + event["delta"]
        elif event["type"] == "response.output_text.done" and event["text"] != parts.get(key, ""):
            return f"{parts.get(key)!r} was repeated as {event['text']!r}"
    said = "".join(parts.values())
    whole = response_said(events[-1]["response"])
    return said if whole == said else f"{said!r} is {whole!r} in the last event"


def response_said(whole):
    return "".join(part.get("text", "") for item in whole["output"] for part in item.get("content", []))


ANSWERS = {  # whole, streamed
    "chat": (choice_said, choices_said),
    "text": (choice_said, choices_said),
    "chat api": (choice_said, choices_said),
    "text api": (choice_said, choices_said),
    "messages": (lambda whole: "\n\n".join(b["text"] for b in whole["content"] if b["text"]), blocks_said),
    "responses": (response_said, parts_said),
    "generation": (None, lambda events: "".join(event.get("generated_text") or "" for event in events)),
}  # fmt: skip
FOUND = {
    "content": lambda events: spans(events[0]["detections"]),
    "lines": lambda events: spans([d for event in events for d in event["detections"]]),
}


def spans(findings):
    return sorted((one["start"], one["end"]) for one in findings)


def places(text):
    at, found = text.find(MAIL), []
    while at >= 0:
        found.append(at)
        at = text.find(MAIL, at + 1)
    return found


KINDS = [
    *[Kind(route, dialect, is_stream)
      for route in ROUTES
      for dialect in ("chat", "text", "messages", "responses")
      for is_stream in (True, True, True, False)],
    *[Kind("", dialect, is_stream)
      for dialect in ("chat api", "text api")
      for is_stream in (True, True, True, False)],
    *[Kind("", "generation", True)] * 4,
    Kind("", "content", False),
    Kind("", "lines", True),
]  # fmt: skip
