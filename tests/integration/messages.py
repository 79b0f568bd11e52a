"""Anthropic's Messages: answers as a model server writes them, and what a client puts together."""

import json
import re

from service import Service, in_chunks, reply

PATH = "/v1/messages"
USAGE = {"input_tokens": 7, "output_tokens": 5}


def start(**members):
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": USAGE}  # fmt: skip
    return {"type": "message_start", "message": {**message, **members}}


def opened(index, block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index, kind, **members):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **members}}


def closed(index):
    return {"type": "content_block_stop", "index": index}


def text(index, *pieces):
    said = [delta(index, "text_delta", text=piece) for piece in pieces]
    return [opened(index, {"type": "text", "text": ""}), *said, closed(index)]


def thinking(index, *pieces, signature="c2lnbmF0dXJl"):
    said = [delta(index, "thinking_delta", thinking=piece) for piece in pieces]
    said.append(delta(index, "signature_delta", signature=signature))
    return [opened(index, {"type": "thinking", "thinking": "", "signature": ""}), *said, closed(index)]


def tool(index, name, *pieces, call="toolu_1"):
    block = {"type": "tool_use", "id": call, "name": name, "input": {}}
    said = [delta(index, "input_json_delta", partial_json=piece) for piece in pieces]
    return [opened(index, block), *said, closed(index)]


def ending(reason="end_turn", **members):
    stop = {"stop_reason": reason, "stop_sequence": None, **members}
    return [{"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}},
            {"type": "message_stop"}]  # fmt: skip


def message(*parts, **members):
    """All events of an answer."""
    events = [start(**members)]
    for part in parts:
        events += part if isinstance(part, list) else [part]
    return events if events[-1]["type"] == "message_stop" else events + ending()


def whole(*blocks, **members):
    return {**start()["message"], "content": list(blocks), "stop_reason": "end_turn", **members}


def sse(events):
    """As the server writes them."""
    lines = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events]
    return "".join(lines)


def read(answer):
    """The events of an answer, each named as it says that it is."""
    events = []
    for block in answer.replace("\r\n", "\n").split("\n\n")[:-1]:
        lines = dict(line.split(": ", 1) for line in block.split("\n") if line[:1] not in ("", ":"))
        if not lines:
            continue  # a comment
        event = json.loads(lines["data"])
        assert lines["event"] == event["type"], block
        events.append(event)
    return events


def gather(events):
    """The message that a client puts together, as strictly as Anthropic's own does."""
    assert events[0]["type"] == "message_start", events
    result = json.loads(json.dumps(events[0]["message"]))
    content = result["content"]
    is_open = False
    for event in events[1:]:
        kind = event["type"]
        if kind == "content_block_start":
            assert not is_open and event["index"] == len(content), event
            content.append(json.loads(json.dumps(event["content_block"])))
            content[-1]["json"] = ""
            is_open = True
        elif kind == "content_block_delta":
            assert is_open and event["index"] == len(content) - 1, event
            add(content[-1], event["delta"])
        elif kind == "content_block_stop":
            assert is_open and event["index"] == len(content) - 1, event
            is_open = False
        elif kind == "message_delta":
            assert not is_open
            result.update(event["delta"])
            result["usage"] = {**result["usage"], **event["usage"]}
    assert not is_open and events[-1]["type"] == "message_stop", events[-1]
    for block in content:
        for name in block.keys() & {"text", "thinking"}:  # characters that came in two halves
            block[name] = block[name].encode("utf-16", "surrogatepass").decode("utf-16")
        arguments = block.pop("json")
        if arguments:
            block["input"] = json.loads(arguments)
    return result


def add(block, change):
    kind = change["type"]
    if kind == "text_delta":
        block["text"] += change["text"]
    elif kind == "thinking_delta":
        block["thinking"] += change["thinking"]
    elif kind == "signature_delta":
        block["signature"] = change["signature"]
    elif kind == "input_json_delta":
        block["json"] += change["partial_json"]
    elif kind == "citations_delta":
        block["citations"] = (block.get("citations") or []) + [change["citation"]]
    else:
        raise AssertionError(change)


def findings(carrier, side="output"):
    """[(index, channel, detection, start, end)] of an event or message."""
    found = []
    for entry in carrier.get("detections", {}).get(side, []):
        where = (entry.get("index"), entry.get("channel"))
        found += [(*where, r["detection"], r.get("start"), r.get("end")) for r in entry["results"]]
    return found


# --- a server ---


def finding(match):
    return {"start": match.start(), "end": match.end(), "text": match[0], "detection": "Code",
            "detection_type": "code", "score": 0.9}  # fmt: skip


class Server:
    """A model server that says what the test wants: `said`, or what `by_model` has for the model that
    is asked for. Events are put together where no stream is asked for."""

    def __init__(self):
        self.said = None
        self.by_model = {}
        self.service = Service(self.answer)
        self.ports = {"api": self.service.port}  # as policies.config asks a mock

    def answer(self, request):
        if request.path == "/api/v1/text/contents":
            return reply([[finding(f) for f in re.finditer("X-[0-9]+", text)]
                          for text in request.json()["contents"]])  # fmt: skip
        body = request.json()
        said = self.by_model.get(body["model"], self.said)
        if isinstance(said, bytes):
            return said
        if body.get("stream"):
            return stream(said)
        return reply(gather(said) if isinstance(said, list) else said)


def stream(events, end=True):
    return in_chunks(events if isinstance(events, str) else sse(events), end)
