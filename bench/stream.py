#!/usr/bin/python3
"""Streamed completions: processor time per token and memory per stream.

Answers of 200 tokens from `weir-mock`, every token an event and a packet of its own, to many
callers at once: through bench/relay (the floor), nginx, and weir without detectors (a), with the
built-in sentence chunker and a built-in detector that finds nothing (b), with a remote chunker
and two remote detectors (c), and on a route with all output detectors of the embedded default, which
read along and let every token go with the next one, where it annotates (d) and where it redacts (e).
What nginx takes is printed beside (d) and (e) as a ratio: both have run in the same rounds.

Everything runs on one core, so that no wake-up crosses cores: that costs more than the work, and
differs from run to run. The subjects take turns in short rounds.
"""

import argparse
import contextlib
import os
import statistics

import cpu
import peers
from load import StreamLoad

# 15 tokens a sentence.
TEXT = "The gateway holds every sentence for a moment until all the detectors have seen it. "
GUARDED = "/api/v2/chat/completions-detection"

MODEL = "openai: {{service: {{hostname: 127.0.0.1, port: {port}}}}}\ncompat: fms\n"
BUILTIN = """
chunkers: {{sentences: {{builtin: sentence}}}}
detectors: {{one: {{builtin: keywords, params: {{deny: [unlikely]}}, chunker_id: sentences}}}}
"""
ROUTE = """
openai: {{service: {{hostname: 127.0.0.1, port: {port}}}}}
detectors:
  regex: {{builtin: regex, params: {{regex: [email, credit-card, phone, us-ssn, ipv4, ipv6, iban]}}}}
  secrets: {{builtin: secrets}}
  keywords: {{builtin: keywords, params: {{deny: [idiot, idiots, stupid, moron, fool, shut up, get lost]}}}}
  unicode: {{builtin: unicode}}
  links: {{builtin: links}}
routes:
  - name: default
    output: {{regex: {{}}, secrets: {{}}, keywords: {{}}, unicode: {{}}, links: {{}}}}
    on_detection: {action}
"""
REMOTE = """
cache: false
chunkers:
  sentences: {{type: sentence, service: {{hostname: 127.0.0.1, port: {port}}}}}
detectors:
  one: {{type: text_contents, service: {{hostname: 127.0.0.1, port: {port}}},
        chunker_id: sentences, default_threshold: 0.5}}
  two: {{type: text_contents, service: {{hostname: 127.0.0.1, port: {port}}},
        chunker_id: sentences, default_threshold: 0.5}}
"""
LIMITS = "limits: {{max_connections: 20000}}\n"
NGINX = """
upstream model {{ server 127.0.0.1:{port}; keepalive 6000; keepalive_requests 1000000; }}
server {{
    listen 127.0.0.1:{own} backlog=8192;
    location / {{
        proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection "";
        proxy_buffering off;
    }}
}}
"""


class Subject:
    """Something between the callers and the model server."""

    def __init__(self, name, start, path="/v1/chat/completions", detectors=None, floor="relay"):
        self.name = name
        self.start = start
        self.path = path
        self.members = {"detectors": detectors} if detectors is not None else {}
        self.floor = floor
        self.is_ours = path == GUARDED

    def body(self, tokens, rate):
        said = {"role": "user", "content": "Hi"}
        mock = {"text": TEXT, "tokens": tokens, "rate": rate}
        return {"model": "m", "messages": [said], "stream": True, "mock": mock, **self.members}


def route(action):
    return ROUTE.replace("{action}", action)


def start_weir(*parts, model=MODEL):
    def start(mock_port, rate):
        text = "".join(part.format(port=mock_port) for part in (model, LIMITS, *parts))
        return peers.weir("--workers", "1", config=text)

    return start


def start_gathering_relay(mock_port, rate):
    hold_ms = 15 * 1000 // rate + 20  # a sentence's time; what is left at the end waits as long
    return peers.relay(mock_port, "--every", "15", "--hold-ms", str(hold_ms))


def start_nginx(mock_port, rate):
    own = peers.free_port()
    return peers.nginx(NGINX.format(port=mock_port, own=own), own=own)


SUBJECTS = [
    Subject("relay", lambda port, rate: peers.relay(port)),
    Subject("relay, every 15th", start_gathering_relay),
    Subject("nginx", start_nginx),
    Subject("(a) no detectors", start_weir(), GUARDED),
    Subject("(b) built-in chunker and detector", start_weir(BUILTIN), GUARDED,
            {"output": {"one": {}}}, "relay, every 15th"),
    Subject("(c) remote chunker, two remote detectors", start_weir(REMOTE), GUARDED,
            {"output": {"one": {}, "two": {}}}, "relay, every 15th"),
    Subject("(d) all detectors of the default, reading along", start_weir(model=route("annotate"))),
    Subject("(e) the same on a route that redacts", start_weir(model=route("redact"))),
]  # fmt: skip


def rate_of(streams, args):
    """Tokens a second of one stream."""
    total = args.per_second if streams < 1000 else args.per_second_many
    return max(1, min(total // streams, 1000))


def load_of(server, subject, streams, rounds, args):
    rate = rate_of(streams, args)
    # Over the time of a sentence: streams are not in step, and their beginnings not at once.
    spread_ms = 15 * 1000 // rate if streams > 1 else 0
    bodies = subject.body(2, 0), subject.body(args.tokens, rate)
    return StreamLoad(server, subject.path, *bodies, streams, rounds, spread_ms)


def dirty(server):
    return sum(cpu.memory(pid)["private_dirty"] for pid in server.pids)


def measure(server, subject, streams, args):
    """One round: processor time per token, bytes per stream, sends per token."""
    rounds = max(1, min(args.min_tokens // (streams * args.tokens), 10))
    before = dirty(server)
    load = load_of(server, subject, streams, rounds, args)
    grown = []
    with cpu.Meter(*server.pids) as meter:
        said = load.run(lambda: grown.append(dirty(server) - before))
    n = streams * rounds * args.tokens
    return {
        "us": meter.us_per(n),
        "core": meter.ns / 1e9 / said["seconds"],
        "bytes": grown[0] / streams,
        "sends": said["reads"] / n,
        "first_ms": said["first_ms"]["p50"],
    }


def measure_all(mock, subjects, streams, turns, args):
    """{name: [a round, …]}. The subjects take turns, so that all have the same neighbours; the
    first turn shows the memory, which later ones only use again."""
    runs = {subject.name: [] for subject in subjects}
    with contextlib.ExitStack() as stack:
        rate = rate_of(streams, args)
        servers = [stack.enter_context(s.start(mock.ports["mock"], rate)) for s in subjects]
        pairs = list(zip(subjects, servers))
        warm = argparse.Namespace(**{**vars(args), "min_tokens": 1})
        for subject, server in pairs:
            measure(server, subject, 1, warm)  # what the first stream ever costs
        for turn in range(turns):
            for subject, server in pairs if turn % 2 == 0 else reversed(pairs):
                runs[subject.name].append(measure(server, subject, streams, args))
    return runs


def undisturbed(of):
    """A machine that stands still for a moment joins tokens, which is cheap: not those rounds."""
    most = max(run["sends"] for run in of)
    return [run for run in of if run["sends"] >= 0.95 * most]


def rows(subjects, runs, streams):
    """Prints them; returns {name: µs above the relay}."""
    above = {}
    us = {name: statistics.median(run["us"] for run in undisturbed(of)) for name, of in runs.items()}
    for subject in subjects:
        of = runs[subject.name]
        if subject.floor in us and not subject.name.startswith("relay"):
            above[subject.name] = us[subject.name] - us[subject.floor]
        extra = f"{above[subject.name]:.2f}" if subject.name in above else ""
        memory = f"{of[0]['bytes']:,.0f}" if streams > 1 else ""
        sends = statistics.median(run["sends"] for run in of)
        core = statistics.median(run["core"] for run in of)
        first = statistics.median(run["first_ms"] for run in of)
        print(f"| {streams:,} | {subject.name} | {us[subject.name]:.2f} | {extra} | {sends:.2f} "
              f"| {core * 100:.0f} % | {memory} | {first:.1f} |", flush=True)  # fmt: skip
    if "nginx" in us:
        ratios = [f"{name[:3]} {us[name] / us['nginx']:.2f}" for name in us if name[:3] in ("(d)", "(e)")]
        print(f"\n{streams:,} streams, times what nginx takes: {', '.join(ratios)}\n", flush=True)
    return above


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", default="1,100,5000")
    parser.add_argument("--tokens", type=int, default=200, help="of a stream")
    parser.add_argument("--turns", type=int, default=8, help="of 5,000 streams an eighth of them")
    parser.add_argument("--per-second", type=int, default=15000, help="tokens, all streams together")
    parser.add_argument("--per-second-many", type=int, default=25000, help="with 1,000 and more")
    parser.add_argument("--min-tokens", type=int, default=20000, help="of a round")
    parser.add_argument("--only", help="subjects whose name contains one of these, by commas")
    args = parser.parse_args()
    words = args.only.split(",") if args.only else [""]
    subjects = [s for s in SUBJECTS if any(word in s.name for word in words)]
    os.sched_setaffinity(0, {0})
    with contextlib.suppress(PermissionError):
        os.nice(-15)  # a token that had to wait for a neighbour is read together with the next

    print("## Streams\n")
    print(f"`make bench B=stream`: answers of {args.tokens} tokens from `weir-mock`, sentences of 15,")
    print(f"{args.per_second:,} tokens a second in all (5,000 streams: {5000 * rate_of(5000, args):,},")
    print("1 stream: 1,000), each an event of some 240 bytes and a packet of its own; everything on")
    print(f"one core, with priority. Processor time is the median of {args.turns} rounds in turn but")
    print("for those in which a stall of the machine joined tokens (5,000 streams: of")
    print(f"{max(1, args.turns // 8)}); memory is private dirty bytes a stream, its two connections")
    print(f"and what it holds back included. {peers.machine()}.\n")
    print("| streams | through | µs per token | above the relay | sends per token | core used "
          "| bytes per stream | first event ms |")  # fmt: skip
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    with peers.mock("--quiet") as mock:
        for streams in map(int, args.streams.split(",")):
            turns = args.turns if streams < 1000 else max(1, args.turns // 8)
            rows(subjects, measure_all(mock, subjects, streams, turns, args), streams)
    print()


main()
