#!/usr/bin/python3
"""The price of the smallest request: GET /health on kept-alive connections.

The server's health port against nginx answering a constant of the same size, driven by wrk and
h2load, in turns (A B A B …) so that a busy minute of the machine hits both. Prints processor time
of the serving process per request, and the ratio.
"""

import argparse
import re
import statistics
import subprocess
import sys

import cpu
import peers


def run(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wrk(port, args):
    """(requests answered, all with 2xx; seconds)."""
    said = run(["wrk", "-t1", f"-c{args.connections}", f"-d{args.seconds}s",
                f"http://127.0.0.1:{port}/health"])  # fmt: skip
    if "Non-2xx" in said or "Socket errors" in said:
        sys.exit(f"wrk met errors:\n{said}")
    return int(re.search(r"(\d+) requests in", said)[1]), args.seconds


def h2load(port, args, *options):
    said = run(["h2load", "-t1", f"-c{args.connections}", f"-n{args.requests}", *options,
                f"http://127.0.0.1:{port}/health"])  # fmt: skip
    done = int(re.search(r"status codes: (\d+) 2xx", said)[1])
    if done != args.requests:
        sys.exit(f"h2load met errors:\n{said}")
    took, unit = re.search(r"finished in ([\d.]+)(ms|s|m)\b", said).groups()
    return done, float(took) * {"ms": 0.001, "s": 1, "m": 60}[unit]


LOADS = {
    "wrk, HTTP/1.1": ("h1", lambda port, args: wrk(port, args)),
    "h2load, HTTP/1.1": ("h1", lambda port, args: h2load(port, args, "--h1")),
    "h2load, HTTP/2, 1 stream": ("h2", lambda port, args: h2load(port, args, "-m1")),
    "h2load, HTTP/2, 10 streams": ("h2", lambda port, args: h2load(port, args, "-m10")),
}


def measure(load, server, protocol, args):
    """(µs of processor time per request, requests per second) of one turn."""
    with cpu.Meter(*server.pids) as meter:
        n, seconds = load(server.ports[protocol], args)
    return meter.us_per(n), n / seconds


def compare(name, servers, args):
    protocol, load = LOADS[name]
    turns = {server.name: [] for server in servers}
    for _ in range(args.rounds):
        for server in servers:
            turns[server.name].append(measure(load, server, protocol, args))
    return {
        server: (statistics.median(us for us, _ in got), statistics.median(r for _, r in got))
        for server, got in turns.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=3, help="of one turn of wrk")
    parser.add_argument("--requests", type=int, default=200000, help="of one turn of h2load")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--binary", help="another server than build/release/weir")
    args = parser.parse_args()

    with peers.weir(binary=args.binary) as ours:
        health = ours.ports["health"]
        ours.ports.update(h1=health, h2=health)
        status, body = peers.fetch(f"http://127.0.0.1:{health}/health")
        assert status == 200, (status, body)
        with peers.nginx_constant(body) as theirs:
            print("## GET /health\n")
            print("`make bench B=health`: processor time of the serving process per request,")
            print(f"{args.connections} kept-alive connections, a body of {len(body)} bytes, medians")
            print(f"of {args.rounds} turns ({args.seconds} s of wrk, {args.requests:,} requests of")
            print(f"h2load), weir and nginx in alternation. {peers.machine()}.\n")
            sizes = [peers.answer_bytes(s.ports["h1"], "/health") for s in (ours, theirs)]
            print(f"The whole HTTP/1.1 answer is {sizes[0]} bytes from weir, {sizes[1]} from nginx.\n")
            print("| load | weir µs | nginx µs | ratio | weir req/s | nginx req/s |")
            print("| --- | ---: | ---: | ---: | ---: | ---: |")
            for name in LOADS:
                found = compare(name, [ours, theirs], args)
                (our_us, our_rate), (their_us, their_rate) = found["weir"], found["nginx"]
                print(f"| {name} | {our_us:.2f} | {their_us:.2f} | {our_us / their_us:.2f} "
                      f"| {our_rate:,.0f} | {their_rate:,.0f} |", flush=True)  # fmt: skip
            print()


main()
