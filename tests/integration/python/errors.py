"""Asks routes with the openai package and says what it raises: jobs as JSON on standard input.

    {"base": URL, "key": …, "call": "create" | "stream", "ask": {…}}  ->  {"class", "status", …}
"""

import json
import sys

import openai


def what(error):
    told = {"class": type(error).__name__, "text": str(error)}
    for name in ("status_code", "code", "type", "param", "request_id"):
        told[name] = getattr(error, name, None)
    return told


def run(job):
    client = openai.OpenAI(base_url=job["base"], api_key=job["key"], max_retries=0, timeout=60)
    said = ""
    try:
        if job["call"] == "create":
            answer = client.chat.completions.create(**job["ask"])
            return {"text": answer.choices[0].message.content, "finish": answer.choices[0].finish_reason}
        for event in client.chat.completions.create(**job["ask"], stream=True):
            said += (event.choices[0].delta.content or "") if event.choices else ""
        return {"text": said}
    except openai.OpenAIError as error:
        return {**what(error), "said": said}


json.dump([run(job) for job in json.load(sys.stdin)], sys.stdout)
