#!/usr/bin/python3
"""Stream batching through the server: how many messages are left, and what they wait.

`weir-mock` says 200 tokens at a pace; the same answer is read through the gateway with batching off
and with different settings. The delay is per code point: when it came, less when it came with
batching off, both counted from the request. Then the same behind detectors: how many events leave.
"""

import argparse
import asyncio
import json
import statistics
import time

import peers

CONFIG = """
openai: {{service: {{hostname: 127.0.0.1, port: {port}}}}}
chunkers:
  windows: {{builtin: window, size: 32, overlap: 16}}
  sentences: {{builtin: sentence}}
detectors:
  windows: {{type: text_contents, builtin: regex, params: {{regex: [email]}}, chunker_id: windows}}
  sentences: {{type: text_contents, builtin: regex, params: {{regex: [email]}}, chunker_id: sentences}}
routes:
  - {{name: default, unguarded: true}}
  - {{name: annotate-sentences, output: {{sentences: {{}}}}, on_detection: annotate}}
  - {{name: redact-sentences, output: {{sentences: {{}}}}, on_detection: redact}}
  - {{name: annotate-windows, output: {{windows: {{}}}}, on_detection: annotate}}
  - {{name: redact-windows, output: {{windows: {{}}}}, on_detection: redact}}
streaming:
  models:
    default: {{batching: {{mode: "on"}}}}
    patient: {{batching: {{mode: "on", max_latency_ms: 400}}}}
    fast: {{batching: {{mode: "on", min_chars_per_emit: 160, max_latency_ms: 200, ramp_factor: 4}}}}
    quick: {{batching: {{mode: "on", min_chars_per_emit: 60, max_latency_ms: 80, idle_flush_ms: 20}}}}
    both: {{batching: {{mode: "on"}}, coalescer: {{mode: "on"}}}}
"""
HELLO = {"role": "user", "content": "Hi"}
ROWS = [
    ("off", "off"),
    ("default", "`batching: {mode: on}`, all defaults (120 / 250 ms)"),
    ("patient", "`max_latency_ms: 400`"),
    ("fast", "fast models (160 / 200 ms, ramp 4)"),
    ("quick", "bursty local servers (60 / 80 ms, idle 20 ms)"),
    ("both", "defaults, and the coalescer with its defaults"),
]
PLACES = [
    ("default", "unguarded"),
    ("annotate-sentences", "built-in sentence chunker, annotate"),
    ("redact-sentences", "built-in sentence chunker, redact"),
    ("annotate-windows", "windows of 32, overlap 16, annotate"),
    ("redact-windows", "windows of 32, overlap 16, redact"),
]


async def read_events(reader):
    """Yields (time, data) of every event of a chunked answer."""
    await reader.readuntil(b"\r\n\r\n")
    held = b""
    while size := int(await reader.readline(), 16):
        held += await reader.readexactly(size)
        await reader.readexactly(2)
        now = time.monotonic()
        *events, held = held.split(b"\n\n")
        for event in events:
            yield now, event.removeprefix(b"data: ")


async def ask(port, model, args, path="", rate=None):
    """Reads a stream: (messages with text, ms of every code point, the whole text, all events)."""
    mock = {"tokens": args.tokens, "rate": args.rate if rate is None else rate}
    said = {"model": model, "messages": [HELLO], "stream": True, "mock": mock}
    body = json.dumps(said).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    began = time.monotonic()
    writer.write(b"POST " + path.encode() + b"/v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
                 b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body)  # fmt: skip
    messages, times, text, events = 0, [], "", 0
    async for now, data in read_events(reader):
        if data == b"[DONE]":
            continue
        events += 1
        delta = json.loads(data)["choices"][0]["delta"].get("content")
        if delta:
            messages += 1
            text += delta
            times += [(now - began) * 1000] * len(delta)
    writer.close()
    return messages, times, text, events


async def count_all(port, args):
    """Events of each place, at the rate and as fast as it goes, with batching off, on, and both."""
    asked = [(path, rate, model) for path, _ in PLACES for rate in (args.rate, 0)
             for model in ("off", "default", "both")]  # fmt: skip
    answers = await asyncio.gather(*(ask(port, model, args, f"/{path}", rate)
                                     for path, rate, model in asked))  # fmt: skip
    assert len({text for _, _, text, _ in answers}) == 1, "text changed"
    return {what: events for what, (*_, events) in zip(asked, answers)}


def print_guarded(found, args):
    print("Behind detectors (nothing is found): all events of one stream, the role's and the finish")
    print(f"reason's among them; the model sends {args.tokens + 2}. Batching and the coalescer with their defaults.\n")
    print(f"| {args.tokens} tokens | off | batching | and coalescer | at once: off | batching | and coalescer |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for path, name in PLACES:
        cells = [str(found[path, rate, model]) for rate in (args.rate, 0)
                 for model in ("off", "default", "both")]  # fmt: skip
        print(f"| {name} | {' | '.join(cells)} |")
    print()


async def ask_many(port, model, args):
    tasks = []
    for _ in range(args.streams):
        tasks.append(asyncio.create_task(ask(port, model, args)))
        await asyncio.sleep(1 / args.rate / args.streams)
    return await asyncio.gather(*tasks)


def mean_times(answers):
    """When each code point came, over all streams."""
    return [statistics.median(column) for column in zip(*(times for _, times, *_ in answers))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=10, help="at once, per row")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rate", type=int, default=50, help="tokens a second")
    args = parser.parse_args()

    with peers.mock() as mock, peers.weir(config=CONFIG.format(port=mock.ports["mock"])) as weir:
        asyncio.run(ask_many(weir.ports["api"], "off", args))  # the first requests ever
        found = {row[0]: asyncio.run(ask_many(weir.ports["api"], row[0], args)) for row in ROWS}
        guarded = asyncio.run(count_all(weir.ports["api"], args))

    before, base = found["off"][0], mean_times(found["off"])
    assert len({text for answers in found.values() for _, _, text, _ in answers}) == 1, "text changed"
    print("## Batching\n")
    print(f"`make bench B=batching`: {args.streams} streams of {args.tokens} tokens at {args.rate} a")
    print("second, read through the server. The delay is the mean over all code points, against")
    print(f"batching off in the same run; the text was the same in every row. {peers.machine()}.\n")
    print("| settings | messages | fewer by | mean delay ms | longest ms | first token ms |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for model, name in ROWS:
        times = mean_times(found[model])
        added = [late - early for late, early in zip(times, base)]
        n = statistics.median(messages for messages, *_ in found[model])
        print(f"| {name} | {n:.0f} | {before[0] / n:.1f} × | {statistics.mean(added):.0f} "
              f"| {max(added):.0f} | {added[0]:+.1f} |")  # fmt: skip
    print()
    print_guarded(guarded, args)


main()
