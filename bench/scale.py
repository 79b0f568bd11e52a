#!/usr/bin/python3
"""How weir scales: processor time per token and memory per stream, by streams, workers and policy.

    bench/scale.py                  the tables of docs/sizing.md

Streams say two tokens a second (--rate), so that 9,000 of them leave room for others on the machine: processor
time is the server's own, of all its threads, and does not depend on who else runs; how long anything took is not
looked at. The load generator is bench/stream_load, one process on bare epoll.
"""

import argparse
import json
import os
import time

import cpu
import peers
import soak_kinds
from load import StreamLoad

TEXT = "The gateway holds every sentence for a moment until all the detectors have seen it. "
READERS = {
    "regex": {"builtin": "regex", "params": {"regex": ["email", "credit-card", "phone", "us-ssn", "ipv4", "iban"]}},
    "secrets": {"builtin": "secrets"},
    "keywords": {"builtin": "keywords", "params": {"deny": ["idiot", "stupid", "moron", "get lost"]}},
    "unicode": {"builtin": "unicode"},
    "links": {"builtin": "links"},
}
CHAT = {"messages": [{"role": "user", "content": "I am jane@example.org. How do I reach you?"}]}
ASK = {
    "chat": ("/v1/chat/completions", CHAT),
    "messages": ("/v1/messages", {**CHAT, "max_tokens": 1000}),
    "responses": ("/v1/responses", {"input": "How do I reach you?", "store": False}),
}
# (what it is called, route, dialect)
POLICIES = [
    ("no detectors", "plain", "chat"),
    ("annotate, one detector on windows", "annotate", "chat"),
    ("annotate, five detectors that read along", "told", "chat"),
    ("redact, one that reads along", "redact", "chat"),
    ("redact, five that read along", "all", "chat"),
    ("block, five that read along", "stop", "chat"),
    ("mask, one that reads along", "mask", "chat"),
    ("redact, a service on sentences", "far", "chat"),
    ("redact, five that read along, Messages", "all", "messages"),
    ("redact, five that read along, Responses", "all", "responses"),
    ("redact, joined by `streaming`", "joined", "chat"),
]


def config(port):
    tree = soak_kinds.config(port, port)
    tree["detectors"] |= {name: {"type": "text_contents", **one} for name, one in READERS.items()}
    output = {"output": {name: {} for name in READERS}}
    tree["routes"] += [{"name": "plain", "unguarded": "all"}, {"name": "told", **output},
                       {"name": "all", **output, "on_detection": "redact"},
                       {"name": "stop", **output, "on_detection": "block"}]  # fmt: skip
    tree["limits"] = {"max_connections": 20000, "header_timeout": 120, "idle_timeout": 600}
    return tree


def body(dialect, tokens, rate):
    mock = {"text": TEXT, "tokens": tokens, "rate": rate}
    return {"model": "m", "stream": True, "mock": mock, **ASK[dialect][1]}


def load_of(server, route, dialect, streams, tokens, rate):
    """Streams that begin within a third of their time."""
    bodies = body(dialect, 2, 0), body(dialect, tokens, rate)
    path = f"/{route}{ASK[dialect][0]}"
    return StreamLoad(server, path, *bodies, streams, spread_ms=tokens * 1000 // rate // 3)


def measure(mock, workers, streams, route, dialect, args):
    """(µs per token, bytes per stream)"""
    with peers.weir("--workers", str(workers), config=json.dumps(config(mock.ports["mock"]))) as server:
        load_of(server, route, dialect, 1, 5, 50).run()  # what the first stream ever costs
        before = cpu.memory(server.pids[0])["private_dirty"]
        load = load_of(server, route, dialect, streams, args.tokens, args.rate)
        grown = []

        def look():
            """When all have begun and none has ended, half of their text has been said."""
            time.sleep(args.tokens / args.rate / 6)
            grown.append(cpu.memory(server.pids[0])["private_dirty"] - before)

        with cpu.Meter(*server.pids) as meter:
            load.run(look)
        return meter.us_per(streams * args.tokens), grown[0] / streams


def by_streams(mock, args):
    print("| workers | streams | µs per token | tokens a second for a full core | KiB per stream |")
    print("| ---: | ---: | ---: | ---: | ---: |", flush=True)
    for workers in (1, 2):
        for streams in map(int, args.streams.split(",")):
            us, grown = measure(mock, workers, streams, "all", "chat", args)
            print(f"| {workers} | {streams:,} | {us:.1f} | {1e6 / us:,.0f} | {grown / 1024:.1f} |", flush=True)
    print()


def by_policy(mock, args):
    print("| route | µs per token | KiB per stream |")
    print("| --- | ---: | ---: |", flush=True)
    for name, route, dialect in POLICIES:
        us, grown = measure(mock, 1, args.policy_streams, route, dialect, args)
        print(f"| {name} | {us:.1f} | {grown / 1024:.1f} |", flush=True)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", default="100,1000,5000,9000")
    parser.add_argument("--policy-streams", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=60, help="of a stream")
    parser.add_argument("--rate", type=int, default=2, help="tokens a second and stream")
    parser.add_argument("--only", choices=["streams", "policies"])
    args = parser.parse_args()
    os.environ.update(soak_kinds.MASK_KEY)
    print(f"{args.tokens} tokens a stream, {args.rate} a second. {peers.machine()}.\n")
    with peers.mock("--quiet") as mock:
        if args.only != "policies":
            by_streams(mock, args)
        if args.only != "streams":
            by_policy(mock, args)


if __name__ == "__main__":
    main()
