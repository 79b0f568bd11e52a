"""OpenAI's Responses: answers as a model server writes them, and what a client puts together."""

import json

import messages
from service import reply

PATH = "/v1/responses"
USAGE = {"input_tokens": 7, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
         "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 12}  # fmt: skip
HEAD = {"id": "resp_1", "object": "response", "created_at": 1700000000, "model": "m", "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
        "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0}  # fmt: skip


def response(*items, status="completed", **members):
    return {**HEAD, "status": status, "output": list(items), "usage": USAGE, **members}


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


def whole_text(text):
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def gather(stream):
    """The response at its end; everything that was said before it is the same, in an order that
    OpenAI's own client accepts."""
    assert [e["sequence_number"] for e in stream] == list(range(len(stream))), stream
    assert stream[0]["type"] == "response.created", stream[0]
    items, said, done = [], {}, {}
    for e in stream[1:-1]:
        kind = e["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert e["output_index"] == len(items), e
            items.append(e["item"])
            continue
        if "output_index" not in e:
            continue
        where = (e["output_index"], e.get("content_index"), e.get("summary_index"))
        assert e["output_index"] == len(items) - 1, e
        if kind.endswith(".delta"):
            said.setdefault((*where, kind[:-6]), []).append(e["delta"])
        elif kind == "output_item.done":
            items[-1] = e["item"]
        elif kind.endswith("_part.done"):
            part = e["part"]
            text = part.get("text", part.get("refusal"))
            key = {"output_text": "output_text", "refusal": "refusal", "reasoning_text": "reasoning_text",
                   "summary_text": "reasoning_summary_text"}[part["type"]]  # fmt: skip
            assert text == whole_text("".join(said.get((*where, key), []))), e
            parts = items[-1]["summary" if e.get("summary_index") is not None else "content"]
            assert len(parts) == (e.get("content_index", 0) or 0) + (e.get("summary_index", 0) or 0), e
            parts.append(part)
            done[where] = part
        elif kind.endswith(".done"):
            text = next(e[n] for n in ("text", "refusal", "arguments", "input", "code") if n in e)
            assert text == whole_text("".join(said.get((*where, kind[:-5]), []))), e
    end = stream[-1]
    assert end["type"] in ("response.completed", "response.incomplete", "response.failed"), end
    assert end["response"]["output"] == items
    for (index, content, summary), part in done.items():
        parts = items[index]["summary" if summary is not None else "content"]
        assert parts[summary if summary is not None else content] == part
    return end["response"]


def texts(whole):
    return "".join(p.get("text", "") for i in whole["output"] if i["type"] == "message" for p in i["content"])


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
