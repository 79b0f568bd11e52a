#!/usr/bin/python3
"""Streamed completions: processor time per token and memory per stream.

Answers of 200 tokens from `weir mock`, every token an event and a packet of its own, to many
callers at once: through bench/relay (the floor), nginx, and weir without detectors (a), with the
built-in sentence chunker and a built-in detector that finds nothing (b), and with a remote chunker
and two remote detectors (c).
"""

import argparse
import json
import os
import statistics
import subprocess
import time

import cpu
import peers

# 15 tokens a sentence.
TEXT = "The gateway holds every sentence for a moment until all the detectors have seen it. "
GUARDED = "/api/v2/chat/completions-detection"

MODEL = "openai: {{service: {{hostname: 127.0.0.1, port: {port}}}}}\ncompat: fms\n"
BUILTIN = """
chunkers: {{sentences: {{builtin: sentence}}}}
detectors: {{one: {{builtin: keywords, params: {{deny: [unlikely]}}, chunker_id: sentences}}}}
"""
REMOTE = """
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


def start_weir(*parts):
    def start(mock_port):
        text = "".join(part.format(port=mock_port) for part in (MODEL, LIMITS, *parts))
        return peers.weir("--workers", "1", config=text)

    return start


def start_nginx(mock_port):
    own = peers.free_port()
    return peers.nginx(NGINX.format(port=mock_port, own=own), own=own)


SUBJECTS = [
    Subject("relay", peers.relay),
    Subject("relay, every 15th", lambda port: peers.relay(port, "--every", "15")),
    Subject("nginx", start_nginx),
    Subject("(a) no detectors", start_weir(), GUARDED),
    Subject("(b) built-in chunker and detector", start_weir(BUILTIN), GUARDED,
            {"output": {"one": {}}}, "relay, every 15th"),
    Subject("(c) remote chunker, two remote detectors", start_weir(REMOTE), GUARDED,
            {"output": {"one": {}, "two": {}}}, "relay, every 15th"),
]  # fmt: skip


def pin(pids, core):
    for pid in pids:
        for task in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(task), {core})


class Load:
    """bench/stream_load: warmed up, and then run."""

    def __init__(self, server, subject, streams, rounds, args):
        rate = max(1, min(args.per_second // streams, 1000))
        folder = server.folder
        (folder / "warm").write_text(json.dumps(subject.body(2, 0)))
        (folder / "body").write_text(json.dumps(subject.body(args.tokens, rate)))
        port = server.ports.get("api") or next(iter(server.ports.values()))
        words = [peers.RELEASE / "bench" / "stream_load", "--port", str(port)]
        words += ["--path", subject.path, "--streams", str(streams), "--rounds", str(rounds)]
        words += ["--body", folder / "body", "--warm", folder / "warm"]
        words += ["--spread-ms", str(1000 // rate)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
        pin([self.process.pid], 1)
        self.expect("ready")

    def expect(self, word):
        line = self.process.stdout.readline()
        if line.strip() != word:
            raise RuntimeError(f"stream_load said {line!r} instead of {word!r}")

    def run(self, while_running):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.expect("running")
        while_running()
        said = json.loads(self.process.stdout.readline())
        if self.process.wait() != 0:
            raise RuntimeError(f"streams failed: {said}")
        return said


def dirty(server):
    return sum(cpu.memory(pid)["private_dirty"] for pid in server.pids)


def measure(server, subject, streams, args):
    """One run: µs and reads per token, bytes per stream, time to the first event."""
    rounds = max(1, args.min_tokens // (streams * args.tokens))
    before = dirty(server)
    load = Load(server, subject, streams, rounds, args)
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


def measure_all(mock, subjects, streams, args):
    """{name: [a run, …]}: the subjects take turns, so that all see the same neighbours."""
    runs = {subject.name: [] for subject in subjects}
    for _ in range(args.turns):
        for subject in subjects:
            with subject.start(mock.ports["mock"]) as server:
                pin(server.pids, 0)
                measure(server, subject, 1, argparse.Namespace(**{**vars(args), "min_tokens": 1}))
                runs[subject.name].append(measure(server, subject, streams, args))
                time.sleep(0.2)
    return runs


def summary(runs):
    """Medians over the turns, but for memory, where the first process is as good as any."""
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def rows(subjects, runs, streams):
    found = {name: summary(of) for name, of in runs.items()}
    for subject in subjects:
        one = found[subject.name]
        above = ""
        if subject.floor in found and subject.name not in ("relay", "relay, every 15th"):
            pairs = zip(runs[subject.name], runs[subject.floor])
            above = f"{statistics.median(a['us'] - b['us'] for a, b in pairs):.2f}"
        memory = f"{one['bytes']:,.0f}" if streams > 1 else ""
        print(f"| {streams:,} | {subject.name} | {one['us']:.2f} | {above} | {one['sends']:.2f} "
              f"| {one['core'] * 100:.0f} % | {memory} | {one['first_ms']:.1f} |", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", default="1,100,5000")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--per-second", type=int, default=15000, help="tokens, all streams together")
    parser.add_argument("--min-tokens", type=int, default=40000, help="of a run")
    parser.add_argument("--only", help="subjects whose name contains one of these, by commas")
    args = parser.parse_args()
    words = args.only.split(",") if args.only else [""]
    subjects = [s for s in SUBJECTS if any(word in s.name for word in words)]

    print("## Streams\n")
    print("`make bench B=stream`: …")
    print(f"{peers.machine()}.\n")
    print("| streams | through | µs per token | above the relay | sends per token | core used "
          "| bytes per stream | first event ms |")  # fmt: skip
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    with peers.mock() as mock:
        pin(mock.pids, 1)
        for streams in map(int, args.streams.split(",")):
            rows(subjects, measure_all(mock, subjects, streams, args), streams)
    print()


main()
