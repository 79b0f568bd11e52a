"""OpenAI's Responses: answers as a model server writes them, and what a client puts together.

`gather` is stricter than any client: numbers, order, and that everything that was said in deltas is
repeated word for word in `*.done`, in its item and in the last event."""

import base64
import copy
import hashlib
import hmac
import json
import re

from service import Service, in_chunks, reply

PATH = "/v1/responses"
SECRET = "a secret of at least sixteen"  # of ids that routes hand out
USAGE = {"input_tokens": 7, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
         "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 12}  # fmt: skip
ENDINGS = ("response.completed", "response.incomplete", "response.failed")

# --- events as a server writes them: sequence numbers are put in by `stream` ---


def response(*items, **members):
    return {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
            "error": None, "incomplete_details": None, "instructions": None, "model": "m",
            "output": list(items), "parallel_tool_calls": True, "temperature": 1.0,
            "tool_choice": "auto", "tools": [], "top_p": 1.0, "metadata": {}, "usage": USAGE,
            **members}  # fmt: skip


def begun(**members):
    head = response(status="in_progress", usage=None, **members)
    return [{"type": "response.created", "response": head},
            {"type": "response.in_progress", "response": head}]  # fmt: skip


def ended(*items, kind="completed", **members):
    return {"type": f"response.{kind}", "response": response(*items, status=kind, **members)}


def added(index, item):
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index, item):
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def output_text(text, **members):
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": [], **members}


def message(*parts, id="msg_1", **members):
    return {"id": id, "type": "message", "role": "assistant", "status": "completed",
            "content": list(parts), **members}  # fmt: skip


def say(index, *pieces, id="msg_1", **part):
    """(events, item) of a message that says this."""
    where = {"item_id": id, "output_index": index, "content_index": 0}
    whole = output_text("".join(pieces), **part)
    item = message(whole, id=id)
    events = [added(index, {**item, "content": [], "status": "in_progress"}),
              {"type": "response.content_part.added", **where, "part": output_text("")},
              *[{"type": "response.output_text.delta", **where, "delta": piece, "logprobs": []}
                for piece in pieces],
              *[{"type": "response.output_text.annotation.added", **where, "annotation_index": i,
                 "annotation": one} for i, one in enumerate(whole["annotations"])],
              {"type": "response.output_text.done", **where, "text": whole["text"], "logprobs": []},
              {"type": "response.content_part.done", **where, "part": whole},
              done(index, item)]  # fmt: skip
    return events, item


def think(index, *pieces, id="rs_1"):
    """A reasoning item whose summary says this."""
    where = {"item_id": id, "output_index": index, "summary_index": 0}
    part = {"type": "summary_text", "text": "".join(pieces)}
    item = {"id": id, "type": "reasoning", "summary": [part], "encrypted_content": "c2VhbGVk"}
    events = [added(index, {**item, "summary": []}),
              {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}},
              *[{"type": "response.reasoning_summary_text.delta", **where, "delta": piece}
                for piece in pieces],
              {"type": "response.reasoning_summary_text.done", **where, "text": part["text"]},
              {"type": "response.reasoning_summary_part.done", **where, "part": part},
              done(index, item)]  # fmt: skip
    return events, item


def call(index, name, *pieces, id="fc_1", call_id="call_1"):
    where = {"item_id": id, "output_index": index}
    item = {"id": id, "type": "function_call", "call_id": call_id, "name": name,
            "arguments": "".join(pieces), "status": "completed"}  # fmt: skip
    deltas = [{"type": "response.function_call_arguments.delta", **where, "delta": piece}
              for piece in pieces]  # fmt: skip
    events = [added(index, {**item, "arguments": "", "status": "in_progress"}), *deltas,
              {"type": "response.function_call_arguments.done", **where, "name": name,
               "arguments": item["arguments"]}, done(index, item)]  # fmt: skip
    return events, item


def answer(*said, **members):
    """All events of an answer made of (events, item) pairs."""
    events = begun()
    for part, _ in said:
        events += part
    return events + [ended(*[item for _, item in said], **members)]


def sse(events):
    lines = []
    for number, event in enumerate(events):
        event = {"type": event["type"], "sequence_number": number, **event}
        lines.append(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n")
    return "".join(lines)


# --- what comes back ---


def read(body):
    """The events of a stream, each named as it says that it is; [DONE] is the last, if any."""
    events = []
    blocks = body.replace("\r\n", "\n").split("\n\n")
    assert blocks[-1] == "", body[-200:]
    for block in blocks[:-1]:
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if not lines:
            continue  # a comment
        if lines == ["data: [DONE]"]:
            events.append("[DONE]")
            continue
        fields = dict(line.split(": ", 1) for line in lines)
        event = json.loads(fields["data"])
        assert fields["event"] == event["type"], block
        events.append(event)
    assert "[DONE]" not in events[:-1]
    return [event for event in events if event != "[DONE]"]


# type of event: (channel, what tells channels of it apart, the member that repeats it)
CHANNELS = {
    "output_text": ("text", "content_index", "text"),
    "refusal": ("refusal", "content_index", "refusal"),
    "reasoning_text": ("reasoning", "content_index", "text"),
    "reasoning_summary_text": ("summary", "summary_index", "text"),
    "function_call_arguments": ("arguments", None, "arguments"),
    "custom_tool_call_input": ("input", None, "input"),
    "mcp_call_arguments": ("arguments", None, "arguments"),
    "code_interpreter_call_code": ("code", None, "code"),
    "shell_call_command": ("command", "command_index", "command"),
}
PARTS = {"output_text": ("text", "text"), "refusal": ("refusal", "refusal"),
         "reasoning_text": ("reasoning", "text")}  # fmt: skip


def texts_of(index, item):
    """{(output_index, channel, number): text} of an item, for all channels that deltas have."""
    found = {}
    for at, part in enumerate(item.get("content") or []):
        channel, member = PARTS[part["type"]]
        found[index, channel, at] = part[member]
    for at, part in enumerate(item.get("summary") or []):
        found[index, "summary", at] = part["text"]
    for name in ("arguments", "input", "code"):
        if isinstance(item.get(name), str) and item["type"] not in ("program", "mcp_approval_request"):
            found[index, name, 0] = item[name]
    if item["type"] == "shell_call":
        for at, command in enumerate(item["action"]["commands"]):
            found[index, "command", at] = command
    if item["type"] == "shell_call_output":
        for at, output in enumerate(item["output"]):
            found[index, "stdout", at] = output["stdout"]
    return found


def joined(text):
    """Characters that came in two halves."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


class Gathered:
    """What a client puts together of a stream."""

    def __init__(self):
        self.id = None
        self.items = []  # as they ended
        self.open = {}  # output_index: the item as it began, with the parts that were opened
        self.said = {}  # by channel: deltas joined
        self.repeats = {}  # by channel: every time the text was said again
        self.order = []  # channels in which deltas came
        self.response = None
        self.ending = None

    def text(self, channel="text"):
        return "".join(text for key, text in sorted(self.said.items()) if key[1] == channel)

    def take(self, event):
        kind = event["type"].removeprefix("response.")
        stem, _, step = kind.rpartition(".")
        if "response" in event:
            self.take_response(event)
        elif kind in ("output_item.added", "output_item.done"):
            self.take_item(event, step)
        elif stem in ("content_part", "reasoning_part", "reasoning_summary_part"):
            self.take_part(event, step)
        elif stem in CHANNELS and step in ("delta", "done"):
            self.take_said(event, stem, step)
        elif stem == "shell_call_output_content":
            self.take_output(event, step)
        elif "output_index" in event:
            assert event["output_index"] in self.open, event

    def take_response(self, event):
        self.id = self.id or event["response"]["id"]
        assert event["response"]["id"] == self.id, "the id of a response stays"
        if event["type"] in ENDINGS:
            assert not self.open, f"still open: {self.open}"
            self.response, self.ending = event["response"], event["type"].removeprefix("response.")
            for index, item in enumerate(self.response["output"]):
                self.repeat(texts_of(index, item))

    def take_item(self, event, step):
        index, item = event["output_index"], event["item"]
        if step == "added":
            assert index == len(self.items) + len(self.open), event
            self.open[index] = {"type": item["type"], "id": item["id"], "parts": {}}
            return
        begun = self.open.pop(index)
        assert (begun["type"], begun["id"]) == (item["type"], item["id"]), event
        assert all(part == "done" for part in begun["parts"].values()), begun
        assert index == len(self.items) or self.open, event
        self.items.append(item)
        self.repeat(texts_of(index, item))

    def take_part(self, event, step):
        item = self.open[event["output_index"]]
        assert event["item_id"] == item["id"], event
        name = "summary_index" if "summary_index" in event else "content_index"
        at, part = event[name], event["part"]
        if step == "added":
            assert at == len(item["parts"]), event
            item["parts"][at] = part["type"]
            return
        assert item["parts"][at] == part["type"], event
        item["parts"][at] = "done"
        channel, member = PARTS.get(part["type"], ("summary", "text"))
        self.repeat({(event["output_index"], channel, at): part[member]})

    def take_said(self, event, stem, step):
        channel, number, member = CHANNELS[stem]
        item = self.open[event["output_index"]]
        assert event.get("item_id", item["id"]) == item["id"], event
        key = (event["output_index"], channel, event[number] if number else 0)
        if channel in ("text", "refusal"):
            assert item["type"] == "message" and item["parts"][key[2]] == ("output_text" if channel == "text" else "refusal"), event
        if step == "delta":
            self.said[key] = self.said.get(key, "") + event["delta"]
            self.order.append(key)
        else:
            self.repeat({key: event[member]})

    def take_output(self, event, step):
        index, at = event["output_index"], event["command_index"]
        assert index in self.open, event
        if step == "delta":
            key = (index, "stdout", at)
            self.said[key] = self.said.get(key, "") + event["delta"].get("stdout", "")
        else:
            self.repeat({(index, "stdout", at): "".join(one["stdout"] for one in event["output"])})

    def repeat(self, texts):
        for key, text in texts.items():
            self.repeats.setdefault(key, []).append(text)


def gather(events, differs=False):
    """`differs`: what is repeated may be another text than was streamed, but the same everywhere."""
    assert events[0]["type"] == "response.created", events[0]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    got = Gathered()
    for event in events:
        assert got.response is None, f"after the last event: {event}"
        got.take(event)
    assert got.response is not None, f"the last event is missing: {events[-1]}"
    assert [plain(item) for item in got.items] == [plain(item) for item in got.response["output"]]
    got.said = {key: joined(text) for key, text in got.said.items()}
    for key, texts in got.repeats.items():
        assert len(set(texts)) == 1, (key, texts)
        if not differs and key in got.said:
            assert texts[0] == got.said[key], key
    if not differs:
        assert {key for key, text in got.said.items() if text} <= set(got.repeats), got.repeats
    return got


def plain(item):
    """Without what may be said of an item only at one place."""
    item = copy.deepcopy(item)
    item.pop("status", None)
    return item


def text_of(whole):
    """What `output_text` of a response object says."""
    return "".join(part["text"] for item in whole["output"] if item["type"] == "message"
                   for part in item["content"] if part["type"] == "output_text")  # fmt: skip


def findings(carrier, side="output"):
    """[(output_index, content_index, channel, detection)] of an event or a response."""
    return [(entry.get("output_index"), entry.get("content_index"), entry.get("channel"), one["detection"])
            for entry in carrier.get("detections", {}).get(side, []) for one in entry["results"]]  # fmt: skip


# --- ids of stored responses ---


def tagged(id, route="redact", key="", server="default", secret=SECRET):
    """The id as a route hands it out."""
    parts = [b"weir response id", *[part.encode() for part in (route, key, id, server)]]
    text = b"".join(b"%d:%s" % (len(part), part) for part in parts)
    tag = hmac.new(secret.encode(), text, hashlib.sha256).digest()[:16]
    server = server.replace(".", "~")  # a point ends a name
    return f"{id}.{server}.{base64.urlsafe_b64encode(tag).decode().rstrip('=')}"


# --- a server ---


def finding(match):
    return {"start": match.start(), "end": match.end(), "text": match[0], "detection": "Code",
            "detection_type": "code", "score": 0.9}  # fmt: skip


class Server:
    """A model server that says what the test wants: `said`, or what `by_model` has for the model that
    is asked for. Of events the last one's response is the answer where no stream is asked for."""

    def __init__(self):
        self.said = None
        self.by_model = {}
        self.asked = []
        self.service = Service(self.answer)
        self.ports = {"api": self.service.port}  # as policies.config asks a mock

    def answer(self, request):
        if request.path == "/api/v1/text/contents":
            return reply([[finding(f) for f in re.finditer("X-[0-9]+", text)]
                          for text in request.json()["contents"]])  # fmt: skip
        body = request.json()
        self.asked.append(body)
        said = self.by_model.get(body["model"], self.said)
        if isinstance(said, bytes):
            return said
        if body.get("stream"):
            return stream(said)
        return reply(said[-1]["response"] if isinstance(said, list) else said)


def stream(events, end=True):
    return in_chunks(events if isinstance(events, str) else sse(events), end)
