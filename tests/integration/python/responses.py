"""OpenAI's own client in Responses: jobs on stdin, what it made of each on stdout.

A job has a base URL, how to ask and the arguments; headers where it has any."""

import json
import sys

import openai
import pydantic


class Person(pydantic.BaseModel):
    name: str
    mail: str


def plain(response):
    return json.loads(response.to_json())


def made(response):
    return {"response": plain(response), "text": response.output_text}


def create(client, ask):
    return made(client.responses.create(**ask))


def events(client, ask):
    """The stream as it is: every event, one after the other, and what deltas and `done` said."""
    seen = [event for event in client.responses.create(**ask, stream=True)]
    return {"events": [event.type for event in seen],
            "numbers": [event.sequence_number for event in seen],
            "deltas": "".join(e.delta for e in seen if e.type == "response.output_text.delta"),
            "done": "".join(e.text for e in seen if e.type == "response.output_text.done"),
            "last": plain(seen[-1])}


def stream(client, ask):
    """The helper that puts the response together; its final object needs `response.completed`."""
    with client.responses.stream(**ask) as running:
        seen = list(running)
        ends = {event.type for event in seen}
        made_of = {"deltas": "".join(e.delta for e in seen if e.type == "response.output_text.delta"),
                   "snapshot": next((e.snapshot for e in reversed(seen)
                                     if e.type == "response.output_text.delta"), "")}
        if "response.completed" not in ends:
            return {**made_of, **made(seen[-1].response), "ending": seen[-1].type}
        return {**made_of, **made(running.get_final_response()), "ending": seen[-1].type}


def parse(client, ask):
    response = client.responses.parse(**ask, text_format=Person)
    parsed = response.output_parsed
    return {**made(response), "parsed": parsed and parsed.model_dump()}


def parse_stream(client, ask):
    with client.responses.stream(**ask, text_format=Person) as running:
        last = list(running)[-1]
    return {"ending": last.type, "response": plain(last.response)}


def stored(client, ask):
    """Asks, then fetches, lists and deletes what was kept."""
    first = client.responses.create(**ask)
    again = client.responses.retrieve(first.id)
    items = [json.loads(item.to_json()) for item in client.responses.input_items.list(first.id)]
    more = client.responses.create(**{**ask, "previous_response_id": first.id})
    client.responses.delete(first.id)
    try:
        client.responses.retrieve(first.id)
        gone = None
    except openai.APIError as error:
        gone = type(error).__name__
    return {"first": plain(first), "again": plain(again), "items": items, "more": plain(more),
            "gone": gone}


WAYS = {"create": create, "events": events, "stream": stream, "parse": parse,
        "parse_stream": parse_stream, "stored": stored}


def run(job):
    client = openai.OpenAI(base_url=f"{job['url']}/v1", api_key=job.get("key", "k"), max_retries=0,
                           default_headers=job.get("headers"))
    try:
        return WAYS[job["way"]](client, job["ask"])
    except openai.APIError as error:
        status = getattr(error, "status_code", None)
        return {"error": type(error).__name__, "status": status, "message": str(error),
                "code": getattr(error, "code", None)}


json.dump([run(job) for job in json.load(sys.stdin)], sys.stdout)
