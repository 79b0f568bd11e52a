"""Requests as tables: every member that can hold a string, with what it is.

`chat(slot)`, `completion(slot)`, `messages_of(slot)` and `responses(slot)` build a request and call `slot(kind, plain)` for each string. The
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


# --- Anthropic's Messages ---


def document(slot):
    source = {"type": "text", "media_type": "text/plain", "data": slot("text", "words")}
    return {"type": "document", "title": slot("text", "t"), "context": slot("text", "c"), "source": source}


def tool_result(slot):
    found = {"type": "search_result", "source": slot("text", "s"), "title": slot("text", "t"),
             "content": [{"type": "text", "text": slot("text", "w")}]}  # fmt: skip
    return [
        {"type": "tool_result", "tool_use_id": slot("control", "toolu_1"), "content": slot("text", "plain")},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": result(slot, False)},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": result(slot, True)},
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True,
         "content": [{"type": "text", "text": slot("text", "p")}, document(slot), found], **unknown(slot)},
    ]  # fmt: skip


def blocks(slot):
    return [
        {"type": "thinking", "thinking": slot("identifier", "hm"), "signature": "/v8B"},
        {"type": "thinking", "thinking": slot("text", "hm")},
        {"type": "redacted_thinking", "data": slot("sealed", "/v8B")},
        {"type": "text", "text": slot("text", "w"),
         "citations": [{"type": "char_location", "cited_text": slot("text", "c"),
                        "document_title": slot("text", "d"), "document_index": 0}]},
        {"type": "tool_use", "id": slot("control", "toolu_1"), "name": slot("identifier", "f"),
         "input": {"to": slot("text", "v"), "list": [{"deep": slot("text", "x")}]}},
        {"type": "web_fetch_tool_result", "tool_use_id": "srv_1",
         "content": {"type": "web_fetch_result", "url": slot("text", "u"), "content": document(slot)}},
        {"type": "code_execution_tool_result", "tool_use_id": "srv_1",
         "content": {"type": "code_execution_result", "stdout": slot("text", "o"), "stderr": slot("text", "e"),
                     "return_code": 0, "content": []}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1",
         "content": [{"type": "web_search_result", "url": slot("text", "u"), "title": slot("text", "t"),
                      "encrypted_content": slot("sealed", "/v8B"), "page_age": slot("text", "a")}]},
    ]  # fmt: skip


def messages_of(slot):
    return {
        "model": slot("control", "m"), "max_tokens": 5,
        "system": [{"type": "text", "text": slot("text", "s"), "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": slot("text", "q")}, document(slot),
                                         {"type": "image", "source": {
                                             "type": "url", "url": slot("identifier", "https://x.example/i")}}]},
            {"role": "assistant", "content": blocks(slot)},
            {"role": "user", "content": tool_result(slot)},
            {"role": "assistant", "content": slot("text", "a"), **unknown(slot)},
            {"role": slot("text", "Robot 1"), "content": slot("text", "robot")},
            {"role": "user", "content": [{"type": slot("text", "odd"), "text": slot("text", "odd")},
                                         {"type": "text", "text": slot("text", "q"), **unknown(slot, 20)}]},
            {"role": "assistant", "content": slot("text", "the answer begins")},
        ],
        "tools": [{"type": "custom", "name": slot("identifier", "f"), "description": slot("text", "d"),
                   "input_schema": schema(slot), "input_examples": [{"a": slot("text", "e")}], **unknown(slot)},
                  {"type": "web_search_20250305", "name": slot("identifier", "g"),
                   "allowed_domains": [slot("identifier", "x.example")]}],
        "tool_choice": {"type": "tool", "name": slot("identifier", "f")},
        "output_config": {"effort": slot("control", "low"),
                          "format": {"type": "json_schema", "schema": {"description": slot("text", "d")}}},
        "metadata": {"user_id": slot("text", "u"), slot("key", "own"): "w"},
        "service_tier": slot("control", "auto"), "container": slot("control", "c_1"),
        "stop_sequences": [slot("identifier", "END")], "thinking": {"type": "enabled", "budget_tokens": 1024},
        "mcp_servers": [{"type": "url", "name": slot("identifier", "n"), "url": slot("identifier", "https://x.example"),
                         "authorization_token": slot("control", "t")}],
        "chat_template_kwargs": {"who": slot("text", "w")}, **unknown(slot, 6),
    }  # fmt: skip


# --- OpenAI's Responses ---


def items(slot):
    output = [{"type": "input_text", "text": slot("text", "p")},
              {"type": "input_file", "file_data": data_url(slot("text", "words")), "filename": slot("text", "f")}]  # fmt: skip
    said = {"type": "output_text", "text": slot("text", "w"),
            "annotations": [{"type": "url_citation", "title": slot("text", "t"), "url": slot("text", "u"),
                             "start_index": 0, "end_index": 1}]}  # fmt: skip
    return [
        {"role": "user", "content": slot("text", "q")},
        {"role": "user", "content": [{"type": "input_image", "detail": slot("control", "low"),
                                      "image_url": slot("identifier", "https://x.example/i")}]},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": slot("text", "d")}]},
        {"type": "message", "id": slot("control", "msg_1"), "role": "assistant", "status": "completed",
         "content": [said, {"type": "refusal", "refusal": slot("text", "r")}], **unknown(slot)},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": slot("text", "t")}],
         "content": [{"type": "reasoning_text", "text": slot("text", "t")}],
         "encrypted_content": slot("sealed", "/v8B")},
        {"type": "function_call", "call_id": slot("control", "call_1"), "name": slot("identifier", "f"),
         "arguments": inner({"to": slot("text", "v"), "deep": [{"x": slot("text", "w")}]}, True)},
        {"type": "function_call_output", "call_id": "call_1", "output": result(slot, False)},
        {"type": "function_call_output", "call_id": "call_1", "output": result(slot, True)},
        {"type": "function_call_output", "call_id": "call_1", "output": output},
        {"type": "custom_tool_call", "call_id": "c2", "name": slot("identifier", "g"), "input": slot("text", "i")},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": slot("text", "o")},
        {"type": "shell_call", "call_id": "c3", "action": {"commands": [slot("text", "ls")]}},
        {"type": "shell_call_output", "call_id": "c3", "output": [
            {"stdout": slot("text", "o"), "stderr": slot("text", "e"), "outcome": {"type": "exit", "exit_code": 0}}]},
        {"type": "mcp_call", "id": "m1", "server_label": slot("identifier", "l"), "name": slot("identifier", "n"),
         "arguments": slot("text", "not JSON"), "output": slot("text", "o"), "error": slot("text", "e")},
        {"type": "mcp_list_tools", "id": "m2", "server_label": "l", "tools": [
            {"name": slot("identifier", "n"), "description": slot("text", "d"), "input_schema": schema(slot)}]},
        {"type": "code_interpreter_call", "id": "ci", "code": slot("text", "c"),
         "outputs": [{"type": "logs", "logs": slot("text", "l")}]},
        {"type": "item_reference", "id": slot("control", "msg_0")},
        {"type": slot("text", "no such item"), "words": slot("text", "w")},
        {"role": "user", "content": [{"type": "input_text", "text": slot("text", "q"), **unknown(slot, 20)},
                                     {"type": "input_image", "image_url": slot("identifier", "https://x.example/i"),
                                      "detail": "low"}]},
        {"role": "assistant", "content": slot("text", "the answer begins")},
    ]  # fmt: skip


def responses(slot):
    return {
        "model": slot("control", "m"), "input": items(slot), "instructions": slot("text", "i"), "store": False,
        "tools": [{"type": "function", "name": slot("identifier", "f"), "description": slot("text", "d"),
                   "parameters": schema(slot), "strict": True, **unknown(slot)},
                  {"type": "custom", "name": slot("identifier", "g"), "format": {
                      "type": "grammar", "syntax": slot("control", "lark"),
                      "definition": slot("identifier", "start: A")}},
                  {"type": "mcp", "server_label": slot("identifier", "l"), "server_description": slot("text", "d"),
                   "server_url": slot("identifier", "https://x.example"), "authorization": slot("control", "t"),
                   "headers": {"x-key": "Bearer a"}, "require_approval": "never"}],
        "tool_choice": {"type": "function", "name": slot("identifier", "f")},
        "text": {"format": {"type": "json_schema", "name": slot("identifier", "n"), "description": slot("text", "d"),
                            "schema": {"description": slot("text", "d")}}, "verbosity": slot("control", "low")},
        "prompt": {"id": slot("control", "p"), "version": slot("control", "1"),
                   "variables": {"v": slot("text", "w"), slot("identifier", "n"): "x",
                                 "part": {"type": "input_text", "text": slot("text", "w")}}},
        "metadata": {"k": slot("text", "v"), slot("key", "own"): "w"}, "user": slot("text", "u"),
        "safety_identifier": slot("text", "s"), "prompt_cache_key": slot("control", "k"),
        "service_tier": slot("control", "auto"), "truncation": slot("control", "auto"),
        "stop": [slot("identifier", "END")], "structured_outputs": {"regex": slot("identifier", "a+")},
        "chat_template_kwargs": {"who": slot("text", "w")}, "temperature": 0.5, **unknown(slot, 6),
    }  # fmt: skip


# These answer no text: a question that is blocked there is an error.
COUNTS = {"/v1/messages/count_tokens": messages_of, "/v1/responses/input_tokens": responses}
FORMATS = {"/v1/chat/completions": chat, "/v1/completions": completion,
           "/v1/messages": messages_of, **COUNTS}  # fmt: skip


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
