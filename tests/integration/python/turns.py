"""Holds a conversation with the openai package, calling tools as an application does.

    {"base": URL, "key": …, "stream": bool, "turns": [TEXT, …], "result": {name: JSON}}
      -> {"said": [TEXT, …], "called": [[name, arguments], …]}

A tool answers with `result` of its name; `{to}` in it is the argument of that name.
"""

import json
import sys

import openai

TOOLS = [{"type": "function", "function": {"name": name, "parameters": {
    "type": "object", "properties": {"to": {"type": "string"}}}}} for name in ("find", "send")]  # fmt: skip


def ask(client, job, messages):
    """The next message of the model, as the application keeps it."""
    more = {"model": "m", "messages": messages, "tools": TOOLS}
    if not job["stream"]:
        return client.chat.completions.create(**more).choices[0].message.model_dump(exclude_none=True)
    with client.chat.completions.stream(**more) as stream:
        return stream.get_final_completion().choices[0].message.model_dump(exclude_none=True)


def keep(message):
    calls = [{"id": c["id"], "type": "function",
              "function": {"name": c["function"]["name"], "arguments": c["function"]["arguments"]}}
             for c in message.get("tool_calls") or []]  # fmt: skip
    kept = {"role": "assistant", "content": message.get("content")}
    return {**kept, "tool_calls": calls} if calls else kept


def run(job):
    client = openai.OpenAI(base_url=job["base"], api_key=job["key"], max_retries=0, timeout=120)
    messages, said, called = [{"role": "system", "content": "Help."}], [], []
    for text in job["turns"]:
        messages.append({"role": "user", "content": text})
        while True:
            message = keep(ask(client, job, messages))
            messages.append(message)
            if not message.get("tool_calls"):
                said.append(message["content"])
                break
            for call in message["tool_calls"]:
                arguments = json.loads(call["function"]["arguments"])
                called.append([call["function"]["name"], arguments])
                result = json.dumps(job["result"][call["function"]["name"]]).replace("{to}", arguments["to"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return {"said": said, "called": called}


json.dump([run(job) for job in json.load(sys.stdin)], sys.stdout)
