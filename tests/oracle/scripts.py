"""A script as a tree of JSON, and what the caller and the model server say because of it.

    kind      of request, for --only
    config    which configuration: adr, joined (batching also under /api), fms, tight (low limits too)
    request   method (POST), path, headers, body (any JSON, or {"raw": text})
    source    who speaks in steps: model, caller (streamed content) or tgis
    items     what the source says: {"event": any JSON} is an event of a stream, {"line": …} a line
              of streamed content, {"raw": text} these characters, {"say": text, "why": n} a message
              of TGIS. "join": true sends it together with the one before; "cuts": [n, …] sends it
              in pieces. "ascii": false writes letters of all languages as they are.
    head      the model server's status and, where it is no stream, the whole body
    end       done, eof (no [DONE]), cut (the connection breaks)
    faults    [{who, nth, kind}]: how a detector's nth answer is spoiled (answers.FAULTS), or the
              chunker's, whose name is chunky (grpcpeer.FAULTS)
    leave     after how many steps the caller goes away
    timing    class: step, burst (everything in one write) or race (nobody waits for anybody);
              hold: for how many writes an answer is held back, -1 until all is said;
              order: of answers: forward, reverse, shuffle
"""

import json

import grpcpeer


def is_model(path):
    return path.endswith("/completions")


def dump(value, ascii_only=True):
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"))


def request(script, number):
    asked = script["request"]
    body = asked["body"]
    data = body["raw"].encode("utf-8", "surrogatepass") if "raw" in body else dump(body).encode()
    head = [f"{asked.get('method', 'POST')} {asked['path']} HTTP/1.1", "host: oracle", f"x-play: {number}"]
    head += [f"{name}: {value}" for name, value in asked.get("headers", {}).items()]
    if script["source"] == "caller":
        head += ["content-type: application/x-ndjson", "transfer-encoding: chunked", "", ""]
        return "\r\n".join(head).encode()
    head += ["content-type: application/json", f"content-length: {len(data)}", "", ""]
    return "\r\n".join(head).encode() + data


def bytes_of(item):
    if "raw" in item:
        return item["raw"].encode("utf-8", "surrogatepass")
    ascii_only = item.get("ascii", True)
    if "line" in item:
        return dump(item["line"], ascii_only).encode("utf-8", "surrogatepass") + b"\n"
    text = dump(item["event"], ascii_only).encode("utf-8", "surrogatepass")
    return b"data: " + text + b"\n\n"


def pieces_of(items):
    """The writes that these items make, joined and cut as they ask. What comes behind a `[DONE]`
    comes with it: the program waits for it, but not long."""
    pieces, is_done = [], False
    for item in items:
        data = bytes_of(item)
        cuts = sorted({cut % len(data) for cut in item.get("cuts", [])} - {0}) if data else []
        parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]
        if is_done:
            parts = [data]
        if (is_done or item.get("join")) and pieces:
            pieces[-1] += parts.pop(0)
        pieces += parts
        is_done = is_done or is_end(item)
    return [piece for piece in pieces if piece]


def is_end(item):
    return item.get("raw", "").startswith("data: [DONE]")


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def render(script):
    """The writes of the source. None at the end breaks the connection."""
    if script["source"] == "tgis":
        return tgis(script)
    items = list(script["items"])
    if "body" in script.get("head", {}):
        return unary(script["head"])
    if script["end"] == "done" and script["source"] == "model":
        items.append({"raw": "data: [DONE]\n\n", "join": script.get("join_done", False)})
    pieces = [chunk(piece) for piece in pieces_of(items)]
    if script["source"] == "model":
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        if pieces and script["timing"].get("join_head", True):
            pieces[0] = head + pieces[0]
        else:
            pieces.insert(0, head)
    is_cut = script["end"] == "cut" and not any(map(is_end, items))
    last = None if is_cut else b"0\r\n\r\n"
    if script["timing"]["class"] == "burst":
        pieces = [b"".join(pieces)]
    if last is not None and pieces and script["source"] == "model":
        pieces[-1] += last
        return pieces
    return [*pieces, last]


def unary(head):
    data = head["body"].encode("utf-8", "surrogatepass")
    lines = f"HTTP/1.1 {head['status']} Said\r\ncontent-type: application/json\r\n"
    whole = f"{lines}content-length: {len(data)}\r\n\r\n".encode() + data
    if head.get("cut"):
        return [whole[: len(whole) - 1 - len(data) // 2], None]
    return [whole]


def tgis(script):
    field = grpcpeer.field
    messages = []
    for n, item in enumerate(script["items"]):
        text = item["say"].encode("utf-8", "replace")
        told = field(2, n + 1) + field(4, text) + field(6, 7 if n == 0 else 0)
        tokens = b"".join(field(8, field(2, word)) for word in text.split())
        messages.append(told + field(7, item.get("why", 0)) + tokens + field(10, 42 if n == 0 else 0))
    if "streaming" not in script["request"]["path"]:
        whole = "".join(item["say"] for item in script["items"]).encode("utf-8", "replace")
        messages = [field(1, field(2, 9) + field(4, whole) + field(6, 7) + field(7, 2))]
    ends = {"done": "0", "eof": "0", "cut": "14"}
    return [*messages, ends[script["end"]]]
