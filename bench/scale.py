#!/usr/bin/python3
"""How weir scales: processor time per token and memory per stream, by streams, workers and policy.

    bench/scale.py                  the tables of docs/sizing.md
    bench/scale.py --only knee      more and more tokens a second, until the server cannot keep up

Streams say two tokens a second (--rate), so that 9,000 of them leave room for others on the machine: processor
time is the server's own, of all its threads, and does not depend on who else runs; how long anything took is not
looked at. The load generator is bench/stream_load, one process on bare epoll.

The knee: each step asks all streams together for more tokens a second. One worker has the first core, the model
server and the callers the second; two workers share both with them. Printed is what the busiest worker, weir-mock and
stream_load had of a core each, and what the worker had or wanted: what is wanted and not had, others on the machine
had. At the end of its core a worker reads several tokens of a stream at once and sends them at once (sends per event), and
at last streams take longer than their tokens do. Linux shares processors by session first: `setsid -w sh -c 'echo -19
> /proc/self/autogroup; exec bench/scale.py --only knee'` is before others, who wait meanwhile.
"""

import argparse
import contextlib
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
    for workers in map(int, args.workers.split(",")):
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


# --- the knee ---

SECONDS = 6  # of a stream
FULL = 0.97  # of a core: had, or wanted
SLOWED = 1.1  # times as long as its tokens take


class Watch:
    """What processes have of a core, and want of it, between two looks."""

    def __init__(self, **pids):
        self.pids = pids
        self.began = time.monotonic()
        self.before = {name: cpu.threads(pid) for name, pid in pids.items()}

    def busiest(self, name):
        """(had, wanted) of the thread that wanted most, as shares of the time."""
        ns = (time.monotonic() - self.began) * 1e9
        shares = []
        for thread, (ran, waited) in cpu.threads(self.pids[name]).items():
            ran_before, waited_before = self.before[name].get(thread, (0, 0))
            had = (ran - ran_before) / ns
            shares.append((had + (waited - waited_before) / ns, had))
        wanted, had = max(shares)
        return had, wanted


@contextlib.contextmanager
def on_core(*cores):
    """What is started meanwhile runs there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def step(mock, workers, streams, rate):
    """One row of the table, as a dictionary."""
    tokens, watched = SECONDS * rate, {}
    with on_core(*range(workers)):
        started = peers.weir("--workers", str(workers), config=json.dumps(config(mock.ports["mock"])))
    with started as server:
        with on_core(1):
            load = load_of(server, "all", "chat", streams, tokens, rate)

        def look():
            """All have begun; until the first of them end."""
            watch = Watch(weir=server.pid, mock=mock.pid, load=load.pid)
            time.sleep(SECONDS / 3)
            watched.update({name: watch.busiest(name) for name in watch.pids})

        with cpu.Meter(server.pid) as meter:
            said = load.run(look)
    slowed = said["total_ms"]["p50"] / 1000 / SECONDS
    return {"us": meter.us_per(streams * tokens), "slowed": slowed, "sends": said["reads"] / said["events"], **watched}


def is_beyond(row):
    return row["weir"][1] >= FULL or row["slowed"] >= SLOWED


def print_step(workers, streams, rate, row):
    shares = " | ".join(f"{100 * row[name][0]:.0f} %" for name in ("weir", "mock", "load"))
    print(f"| {workers} | {streams:,} | {streams * rate:,} | {row['us']:.1f} | {shares} "
          f"| {100 * row['weir'][1]:.0f} % | {row['sends']:.2f} | {row['slowed']:.2f} |", flush=True)  # fmt: skip


def knee(mock, args):
    print("| workers | streams | tokens a second | µs per token | a core: worker | mock | load | worker wants | sends per event | a stream takes |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for workers in map(int, args.workers.split(",")):
        for streams in map(int, args.streams.split(",")):
            per_second = args.from_tokens
            while True:
                rate = max(1, round(per_second / streams))
                row = step(mock, workers, streams, rate)
                print_step(workers, streams, rate, row)
                if is_beyond(row):
                    break
                per_second = max(1.4 * per_second, streams * (rate + 1))
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", default="100,1000,5000,9000")
    parser.add_argument("--policy-streams", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=60, help="of a stream")
    parser.add_argument("--rate", type=int, default=2, help="tokens a second and stream")
    parser.add_argument("--only", choices=["streams", "policies", "knee"])
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--from-tokens", type=int, default=20000, help="a second, the knee's first step")
    args = parser.parse_args()
    os.environ.update(soak_kinds.MASK_KEY)
    said = "" if args.only == "knee" else f"{args.tokens} tokens a stream, {args.rate} a second. "
    print(f"{said}{peers.machine()}.\n")
    if args.only == "knee":
        with on_core(1):
            started = peers.mock("--quiet")
        with started as mock:
            knee(mock, args)
        return
    with peers.mock("--quiet") as mock:
        if args.only != "policies":
            by_streams(mock, args)
        if args.only != "streams":
            by_policy(mock, args)


if __name__ == "__main__":
    main()
