"""Anthropic's own client: jobs on stdin, what it made of each on stdout.

A job has a base URL, how to ask ("create", "events", "stream") and the arguments."""

import json
import sys

import anthropic


def plain(message):
    return json.loads(message.to_json())


def create(client, ask):
    return {"message": plain(client.messages.create(**ask))}


def events(client, ask):
    """The stream as it is: every event, one after the other."""
    said = [event.type for event in client.messages.create(**ask, stream=True)]
    return {"events": said}


def stream(client, ask):
    """The helper that puts the message together, and its text beside it."""
    with client.messages.stream(**ask) as running:
        text = "".join(running.text_stream)
        message = running.get_final_message()
    return {"text": text, "message": plain(message)}


def count(client, ask):
    return {"input_tokens": client.messages.count_tokens(**ask).input_tokens}


WAYS = {"create": create, "events": events, "stream": stream, "count": count}


def run(job):
    client = anthropic.Anthropic(base_url=job["url"], api_key=job.get("key", "k"), max_retries=0)
    try:
        return WAYS[job["way"]](client, job["ask"])
    except anthropic.APIError as error:
        status = getattr(error, "status_code", None)
        return {"error": type(error).__name__, "status": status, "message": str(error),
                "request_id": getattr(error, "request_id", None), "body": error.body}


json.dump([run(job) for job in json.load(sys.stdin)], sys.stdout)
