"""OpenAI's Responses from the whole: the events in which a model server says it, cut in pieces. Other tests
say a response event by event: responses.py."""

import messages
import responses
from service import reply

PATH = responses.PATH
USAGE = responses.USAGE
response = responses.response


def part(text, annotations=(), **members):
    return {"type": "output_text", "text": text, "annotations": list(annotations), "logprobs": [], **members}


def message(*parts, id="msg_1"):
    parts = [part(p) if isinstance(p, str) else p for p in parts]
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": parts}


def thought(*summaries, id="rs_1", **members):
    said = [{"type": "summary_text", "text": s} for s in summaries]
    return {"type": "reasoning", "id": id, "summary": said, **members}


def call(name, arguments, id="fc_1"):
    return {"type": "function_call", "id": id, "call_id": "call_" + id, "name": name,
            "arguments": arguments, "status": "completed"}  # fmt: skip


def cut(text, pieces):
    n = max(1, -(-len(text) // pieces))
    return [text[i : i + n] for i in range(0, len(text), n)] or []


SAID = {"function_call": ("arguments", "function_call_arguments"),
        "custom_tool_call": ("input", "custom_tool_call_input"),
        "mcp_call": ("arguments", "mcp_call_arguments"),
        "code_interpreter_call": ("code", "code_interpreter_call_code")}  # fmt: skip


def parts_of(item):
    """(index name, event of the part, event of its text, member of the text) with each part."""
    kinds = {"output_text": ("content_index", "content_part", "output_text", "text"),
             "refusal": ("content_index", "content_part", "refusal", "refusal"),
             "reasoning_text": ("content_index", "content_part", "reasoning_text", "text"),
             "summary_text": ("summary_index", "reasoning_summary_part", "reasoning_summary_text", "text")}  # fmt: skip
    for name in ("content", "summary"):
        for i, one in enumerate(item.get(name) or []):
            yield i, one, kinds[one["type"]]


def item_events(index, item, pieces=3):
    """As OpenAI streams an item."""
    at = {"output_index": index}
    begun = {**item, "status": "in_progress"}
    for name in ("content", "summary"):
        if name in item:
            begun[name] = []
    member, events = SAID.get(item["type"], (None, None))
    if member:
        begun[member] = ""
    yield {"type": "response.output_item.added", **at, "item": begun}
    if item["type"] in ("message", "reasoning"):
        for i, one, (index_name, part_event, text_event, text_name) in parts_of(item):
            where = {"item_id": item["id"], **at, index_name: i}
            empty = {**one, text_name: ""}
            if "annotations" in one:
                empty["annotations"] = []
            yield {"type": f"response.{part_event}.added", **where, "part": empty}
            more = {"logprobs": []} if one["type"] == "output_text" else {}
            for piece in cut(one[text_name], pieces):
                yield {"type": f"response.{text_event}.delta", **where, "delta": piece, **more}
            for n, note in enumerate(one.get("annotations", [])):
                yield {"type": "response.output_text.annotation.added", **where, "annotation_index": n, "annotation": note}
            yield {"type": f"response.{text_event}.done", **where, text_name: one[text_name], **more}
            yield {"type": f"response.{part_event}.done", **where, "part": one}
    elif member:
        where = {"item_id": item["id"], **at}
        for piece in cut(item[member], pieces):
            yield {"type": f"response.{events}.delta", **where, "delta": piece}
        yield {"type": f"response.{events}.done", **where, member: item[member]}
    yield {"type": "response.output_item.done", **at, "item": item}


def events(whole, pieces=3, end=None):
    """All events of a response, counted."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    said = [{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}]
    for index, item in enumerate(whole["output"]):
        said += item_events(index, item, pieces)
    said.append({"type": "response." + (end or whole["status"]), "response": whole})
    return numbered(said)


def numbered(said):
    return [{"type": e["type"], "sequence_number": n, **{k: v for k, v in e.items() if k not in ("type", "sequence_number")}}
            for n, e in enumerate(said)]  # fmt: skip


sse = messages.sse
read = messages.read
findings_of = messages.findings


def findings(carrier, side="output"):
    """[(output_index, content or summary index, channel, detection, start, end)]"""
    found = []
    for entry in carrier.get("detections", {}).get(side, []):
        where = (entry.get("output_index"), entry.get("content_index", entry.get("summary_index")), entry.get("channel"))
        found += [(*where, r["detection"], r.get("start"), r.get("end")) for r in entry["results"]]
    return found


def gather(stream):
    """The response at its end; everything that was said before it is the same."""
    return responses.gather(stream).response


texts = responses.text_of


class Server(messages.Server):
    """A model server that says what the test wants: `said`, or what `by_model` has for the model that
    is asked for: a response, events, or raw text."""

    asked = None

    def answer(self, request):
        if request.path == "/api/v1/text/contents":
            return super().answer(request)
        self.asked = body = request.json()
        said = self.by_model.get(body["model"], self.said)
        if isinstance(said, bytes):
            return said
        if body.get("stream"):
            return messages.stream(said if isinstance(said, (str, list)) else events(said))
        return reply(said[-1]["response"] if isinstance(said, list) else said)
