"""Holds a conversation with the anthropic package, or with openai's Responses, calling tools as an
application does and sending all of it again with each turn.

    {"api": "messages" | "responses", "base": URL, "stream": bool, "turns": [TEXT, …],
     "result": {name: JSON}}
      -> {"said": [TEXT, …], "called": [[name, arguments], …]}

A tool answers with `result` of its name; `{to}` in it is the argument of that name.
"""

import json
import sys

import anthropic
import openai

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}}


class Messages:
    def __init__(self, job):
        self.client = anthropic.Anthropic(base_url=job["base"], api_key="none", max_retries=0, timeout=120)
        self.job, self.history = job, []

    def ask(self):
        tools = [{"name": name, "input_schema": SCHEMA} for name in ("find", "send")]
        more = {"model": "m", "max_tokens": 99, "messages": self.history, "tools": tools}
        if self.job["stream"]:
            with self.client.messages.stream(**more) as stream:
                message = stream.get_final_message()
        else:
            message = self.client.messages.create(**more)
        blocks = [block.model_dump(exclude_none=True) for block in message.content]
        self.history.append({"role": "assistant", "content": blocks})
        calls = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
        return "".join(b["text"] for b in blocks if b["type"] == "text"), calls

    def answer(self, results):
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in results]
        self.history.append({"role": "user", "content": blocks})


class Responses:
    def __init__(self, job):
        base = job["base"] + "/v1"
        self.client = openai.OpenAI(base_url=base, api_key="none", max_retries=0, timeout=120)
        self.job, self.history = job, []

    def ask(self):
        tools = [{"type": "function", "name": name, "parameters": SCHEMA, "strict": False} for name in ("find", "send")]
        more = {"model": "m", "input": self.history, "tools": tools, "store": False}
        if self.job["stream"]:
            with self.client.responses.stream(**more) as stream:
                response = stream.get_final_response()
        else:
            response = self.client.responses.create(**more)
        items = [json.loads(item.model_dump_json(exclude_none=True)) for item in response.output]
        for item in items:
            item.pop("parsed_arguments", None)
        self.history += items
        calls = [(i["call_id"], i["name"], json.loads(i["arguments"])) for i in items if i["type"] == "function_call"]
        return response.output_text, calls

    def answer(self, results):
        self.history += [{"type": "function_call_output", "call_id": c, "output": text} for c, text in results]


def run(job):
    talk = {"messages": Messages, "responses": Responses}[job["api"]](job)
    said, called = [], []
    for text in job["turns"]:
        talk.history.append({"role": "user", "content": text})
        words, calls = talk.ask()
        while calls:
            called += [[name, arguments] for _, name, arguments in calls]
            talk.answer([(call, json.dumps(job["result"][name]).replace("{to}", arguments["to"]))
                         for call, name, arguments in calls])  # fmt: skip
            words, calls = talk.ask()
        said.append(words)
    return {"said": said, "called": called}


json.dump([run(job) for job in json.load(sys.stdin)], sys.stdout)
