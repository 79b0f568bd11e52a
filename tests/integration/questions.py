"""OpenAI's requests as a table: every member that can hold a string, with what it is.

`chat(slot)` and `completion(slot)` build a request and call `slot(kind, plain)` for each string. The
kinds are those of docs/questions.md: control, identifier, sealed, media, and text for everything else. This table is
written from the API's reference and from what vLLM adds, not from the program under test.
"""

import base64
import json


def escaped(text):
    """JSON that says the same, every character as \\uXXXX."""
    return "".join(f"\\u{ord(c):04x}" for c in text)


def inner(value, is_escaped=False):
    """JSON for a string; strings inside of it may be written in escapes."""
    text = json.dumps(value)
    if not is_escaped:
        return text
    out = []
    for i, piece in enumerate(text.split('"')):
        out.append(escaped(piece) if i % 2 == 1 else piece)
    return '"'.join(out)


def unknown(slot, depth=0):
    """Members that nobody knows: a string, in a list, in an object, deep down, in a number's place."""
    deep = slot("text", "deep")
    for i in range(depth):
        deep = {f"d{i}": deep} if i % 2 else [deep]
    return {"x_text": slot("text", "x"), "x_list": [1, slot("text", "y"), None],
            "x_object": {"a": {"b": slot("text", "z")}}, "x_deep": deep,
            slot("key", "x_key"): True}  # fmt: skip


def schema(slot):
    return {
        "type": "object", "title": slot("text", "T"), "description": slot("text", "D"),
        "$comment": slot("text", "C"), "default": {"a": slot("text", "e")},
        "examples": [slot("text", "e"), [slot("text", "f")]],
        "properties": {
            slot("identifier", "city"): {
                "type": "string", "description": slot("text", "d"),
                "enum": [slot("identifier", "a"), "b"], "pattern": slot("identifier", "^a"),
                "format": slot("identifier", "date"), "x-own": slot("text", "own")},
            "nested": {"type": "array", "items": {"$ref": slot("identifier", "#/$defs/n")},
                       "anyOf": [{"const": slot("identifier", "c")}]}},
        "required": [slot("identifier", "city")],
        "$defs": {slot("identifier", "n"): {"type": slot("text", "thing")}},
        "additionalProperties": False, "minProperties": 1, **unknown(slot),
    }  # fmt: skip


def parts(slot):
    return [
        {"type": "text", "text": slot("text", "part"), **unknown(slot)},
        {"type": "refusal", "refusal": slot("text", "no")},
        {"type": slot("text", "odd"), "text": slot("text", "odd")},
        {"type": "image_url", "image_url": {"url": slot("identifier", "https://x.example/i.png"),
                                            "detail": slot("control", "low")}},
        {"type": "file", "file": {"filename": slot("text", "f.txt"),
                                  "file_data": data_url(slot("text", "words"))}},
        {"type": "thinking", "thinking": slot("text", "hm"), "signature": slot("sealed", "/v8B")},
        slot("text", "a bare part"),
    ]  # fmt: skip


def data_url(text):
    return "data:text/plain;base64," + base64.b64encode(text.encode()).decode()


def call(slot, is_escaped):
    arguments = {"to": slot("text", "v"), "list": [slot("text", "w"), {"deep": slot("text", "x")}]}
    return {"id": slot("control", "call_1"), "type": "function",
            "function": {"name": slot("identifier", "f"), "arguments": inner(arguments, is_escaped)},
            **unknown(slot)}  # fmt: skip


def result(slot, is_escaped):
    return inner([{"mail": slot("text", "v")}, slot("text", "w")], is_escaped)


def messages(slot):
    return [
        {"role": "system", "content": slot("text", "s"), "name": slot("identifier", "sys")},
        {"role": "developer", "content": slot("text", "d")},
        {"role": "user", "content": parts(slot)},
        {"role": "assistant", "content": slot("text", "a"), "refusal": slot("text", "r"),
         "reasoning": slot("text", "t"), "reasoning_content": slot("text", "t"),
         "reasoning_details": [{"type": "reasoning.text", "text": slot("text", "t"),
                                "signature": slot("sealed", "/v8B"), "id": slot("control", "i")}],
         "audio": {"id": slot("control", "audio_1")},
         "tool_calls": [call(slot, False), call(slot, True),
                        {"id": "c3", "type": "custom",
                         "custom": {"name": slot("identifier", "g"), "input": slot("text", "i")}}],
         **unknown(slot)},
        {"role": "assistant", "content": None,
         "function_call": {"name": slot("identifier", "f"), "arguments": slot("text", "not JSON")}},
        {"role": "tool", "tool_call_id": slot("control", "call_1"), "content": result(slot, False)},
        {"role": "tool", "tool_call_id": "c3", "content": result(slot, True)},
        {"role": "tool", "tool_call_id": "c4", "content": [{"type": "text", "text": slot("text", "p")}]},
        {"role": "function", "name": slot("identifier", "f"), "content": slot("text", "plain")},
        {"role": "user", "content": slot("text", "an older question")},
        {"role": slot("text", "Robot 1"), "content": slot("text", "robot")},
        {"role": "user", "content": slot("text", "the question"), **unknown(slot, 40)},
        {"role": "assistant", "content": slot("text", "the answer begins")},
    ]  # fmt: skip


def chat(slot):
    return {
        "model": slot("control", "m"), "messages": messages(slot),
        "tools": [{"type": "function",
                   "function": {"name": slot("identifier", "f"), "description": slot("text", "d"),
                                "parameters": schema(slot), "strict": True}, **unknown(slot)},
                  {"type": "custom",
                   "custom": {"name": slot("identifier", "g"), "description": slot("text", "d"),
                              "format": {"type": "grammar",
                                         "grammar": {"syntax": slot("control", "lark"),
                                                     "definition": slot("identifier", "start: A")}}}}],
        "functions": [{"name": slot("identifier", "old"), "description": slot("text", "d"),
                       "parameters": {"description": slot("text", "p")}}],
        "tool_choice": {"type": "function", "function": {"name": slot("identifier", "f")}},
        "response_format": {"type": "json_schema",
                            "json_schema": {"name": slot("identifier", "n"),
                                            "description": slot("text", "d"),
                                            "schema": {"description": slot("text", "d")}}},
        "prediction": {"type": "content", "content": slot("text", "predicted")},
        "metadata": {"k": slot("text", "v"), slot("key", "own"): "w"},
        "user": slot("text", "u"), "safety_identifier": slot("text", "s"),
        "prompt_cache_key": slot("control", "k"), "service_tier": slot("control", "auto"),
        "reasoning_effort": slot("control", "low"), "verbosity": slot("control", "low"),
        "modalities": ["text"], "stop": [slot("identifier", "END"), "x"],
        "web_search_options": {"search_context_size": "low",
                               "user_location": {"type": "approximate",
                                                 "approximate": {"city": slot("text", "c")}}},
        "documents": [{"title": slot("text", "t"), "text": slot("text", "d")}],
        "guided_json": inner({"description": slot("text", "g")}),
        "guided_choice": [slot("identifier", "yes"), "no"], "guided_regex": slot("identifier", "a+"),
        "chat_template_kwargs": {"who": slot("text", "w")},
        "temperature": 0.5, "n": 1, "logit_bias": {"12": 1}, "seed": 7, "stream": False,
        "stream_options": None, **unknown(slot, 6),
    }  # fmt: skip


def completion(slot):
    return {
        "model": slot("control", "m"), "prompt": [slot("text", "one"), slot("text", "two")],
        "suffix": slot("text", "end"), "user": slot("text", "u"), "stop": slot("identifier", "END"),
        "guided_grammar": slot("identifier", "root ::= x"), "cache_salt": slot("control", "salt"),
        "max_tokens": 5, "logprobs": 1, "echo": False, **unknown(slot, 6),
    }  # fmt: skip


FORMATS = {"/v1/chat/completions": chat, "/v1/completions": completion}


def marker(i):
    return f"MRK{i:06}Q"


class Slots:
    """Puts markers where `chooses(i, kind)` says so, and remembers the kinds."""

    def __init__(self, chooses=lambda i, kind: False, wrap="{}"):
        self.chooses = chooses
        self.wrap = wrap
        self.kinds = []

    def __call__(self, kind, plain):
        i = len(self.kinds)
        self.kinds.append(kind)
        return self.wrap.format(marker(i)) if self.chooses(i, kind) else plain


def kinds_of(form):
    slots = Slots()
    form(slots)
    return slots.kinds


def strings(value):
    """All strings of a JSON value, names included; those that hold JSON or base64 also decoded."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from strings(key)
            yield from strings(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from strings(inside)
    elif isinstance(value, str):
        yield value
        yield from hidden(value)


def hidden(text):
    if text[:1] in "{[" and text:
        try:
            yield from strings(json.loads(text))
        except ValueError:
            pass
    if text.startswith("data:") and ";base64," in text:
        yield base64.b64decode(text.split(",", 1)[1]).decode("utf-8", "replace")
