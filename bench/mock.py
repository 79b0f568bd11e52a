#!/usr/bin/python3
"""The mock's own speed: it must never be what a benchmark measures.

Streams as fast as possible and at a pace, read by wrk, and a detector's answers; one worker. Prints
events of the mock per second, its processor time per event, and what one core of it would do.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time

import cpu
import peers

SCRIPT = """
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.body = [==[{body}]==]
"""


def wrk(port, path, body, connections, seconds):
    """(requests answered, seconds)."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT.format(body=json.dumps(body)))
        script.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s"]
        command += ["-s", script.name, f"http://127.0.0.1:{port}{path}"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        sys.exit(f"wrk met errors:\n{said}")
    done, took = re.search(r"(\d+) requests in ([\d.]+)s", said).groups()
    return int(done), float(took)


def events_of_the_gone(mock, n):
    """Streams that wrk left in the middle: their events count too."""
    deadline = time.monotonic() + 10
    while len(gone := peers.log_lines(mock, "caller gone")) < n and time.monotonic() < deadline:
        time.sleep(0.05)
    return sum(fields["event"] for fields in gone)


def stream(args, connections, tokens, **settings):
    """(events sent, seconds, ns of processor time)."""
    body = {"messages": [], "stream": True, "mock": {"tokens": tokens, **settings}}
    with peers.mock(binary=args.binary) as mock, cpu.Meter(mock.pid) as meter:
        port = mock.ports["mock"]
        done, took = wrk(port, "/v1/chat/completions", body, connections, args.seconds)
        events = done * (tokens + 3) + events_of_the_gone(mock, connections)
        meter.__exit__()
        return events, took, meter.ns


def detector(args):
    text = "Nothing to be found in a sentence of some sixty characters. "
    body = {"contents": [text], "detector_params": {}}
    with peers.mock(binary=args.binary) as mock, cpu.Meter(mock.pid) as meter:
        done, took = wrk(mock.ports["mock"], "/api/v1/text/contents", body, 64, args.seconds)
        meter.__exit__()
        return done, took, meter.ns


def row(name, measured):
    n, seconds, ns = measured
    print(f"| {name} | {n / seconds:,.0f} | {ns / 1000 / n:.3f} | {n / (ns / 1e9):,.0f} "
          f"| {100 * ns / 1e9 / seconds:.0f} % |", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5, help="of each row")
    parser.add_argument("--binary", help="another program than build/release/weir-mock")
    args = parser.parse_args()

    print("## The mock\n")
    print("`make bench B=mock`: `weir-mock` with one worker, read by wrk on loopback,")
    print(f"{args.seconds} s a row. Events of some 240 bytes, each a chunk of its own. The last but")
    print(f"one column is what a core would do that had nothing else to do. {peers.machine()}.\n")
    print("| load | events/s | µs per event | events/s of one core | core used |")
    print("| --- | ---: | ---: | ---: | ---: |")
    row("1 stream, as fast as possible", stream(args, 1, 1000000))
    row("100 streams, as fast as possible", stream(args, 100, 10000))
    row("5,000 streams, 20 tokens/s each", stream(args, 5000, 200, rate=20))
    bursts = stream(args, 1000, 2000, rate=200, burst=10)
    row("1,000 streams, 200 tokens/s each, in bursts of 10", bursts)
    row("detector answers", detector(args))
    print()


main()
