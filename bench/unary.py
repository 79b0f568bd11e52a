#!/usr/bin/python3
"""The price of content detection: one remote detector, and ten, that answer at once.

The server and the relay take turns in front of the same mock (A B A B …), so that a busy minute of
the machine hits both. Prints processor time of the gateway per request, the relay's for the same
number of messages, and the difference.

The relay does a caller's half (one message in, one out) and a detector's half of the same size.
A request with N detectors is one caller's half and N detectors' halves, so its floor is
relay / 2 * (1 + N). Over HTTP/2 the caller's half is that of a relay between two HTTP/2 peers.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import cpu
import peers

CONTENT = "/api/v2/text/detection/content"
CONTENTS = "/api/v1/text/contents"
TEXT = "Nothing to be found in a sentence of some sixty characters. "
IDS = [f"det{i}" for i in range(10)]
# The same number of requests under way in each.
PROTOCOLS = {
    "HTTP/1.1, 64 connections": ["--h1", "-c64"],
    "HTTP/2, 64 connections": ["-m1", "-c64"],
    "HTTP/2, 8 connections of 8 streams": ["-m8", "-c8"],
}
H1 = "HTTP/1.1, 64 connections"


def config(mock_port):
    service = {"hostname": "127.0.0.1", "port": mock_port}
    detector = {
        "type": "text_contents",
        "service": service,
        "chunker_id": "whole_doc_chunker",
        "default_threshold": 0.5,
    }
    return json.dumps({"detectors": {name: detector for name in IDS}})


def h2load(port, path, body, options, n_requests):
    """Requests answered, all with 2xx."""
    with tempfile.NamedTemporaryFile("w") as file:
        json.dump(body, file)
        file.flush()
        command = ["h2load", "-t1", f"-n{n_requests}", *options]
        command += ["-H", "content-type: application/json", "-d", file.name]
        command.append(f"http://127.0.0.1:{port}{path}")
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    done = int(re.search(r"status codes: (\d+) 2xx", said)[1])
    if done != n_requests:
        sys.exit(f"h2load met errors:\n{said}")
    return done


def turn(peer, port, path, body, options, args):
    """µs per request. Connections to the detectors are open before it is measured."""
    h2load(port, path, body, options, args.requests // 10)
    with cpu.Meter(*peer.pids) as meter:
        n = h2load(port, path, body, options, args.requests)
    return meter.us_per(n)


def ours(server, n_detectors, options, args):
    body = {"content": TEXT, "detectors": {name: {} for name in IDS[:n_detectors]}}
    return turn(server, server.ports["api"], CONTENT, body, options, args)


def theirs(relay, options, args):
    body = {"contents": [TEXT], "detector_params": {}}
    return turn(relay, relay.ports["relay"], CONTENTS, body, options, args)


def measure(args, server, relay):
    """{what: µs per request}: the best turn of each, and the median."""
    turns = {}
    for _ in range(args.rounds):
        for name, options in PROTOCOLS.items():
            turns.setdefault((name, 0), []).append(theirs(relay, options, args))
            for n in args.detectors:
                turns.setdefault((name, n), []).append(ours(server, n, options, args))
    return {what: statistics.median(got) for what, got in turns.items()}


def report(found, args):
    h1 = found[H1, 0] / 2
    print("| caller | detectors | weir µs | floor µs | above | aim |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in PROTOCOLS:
        for n in args.detectors:
            floor = found[name, 0] / 2 + n * h1
            us = found[name, n]
            aim = {1: "12", 10: "60"}.get(n, "")
            print(f"| {name} | {n} | {us:.1f} | {floor:.1f} | {us - floor:.1f} | {aim} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=40000, help="of one turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--detectors", type=int, nargs="*", default=[1, 10])
    parser.add_argument("--binary", help="another server than build/release/weir")
    args = parser.parse_args()

    with (
        peers.mock("--quiet") as mock,
        peers.relay(mock.ports["mock"]) as relay,
        peers.weir("--workers", "1", config=config(mock.ports["mock"]), binary=args.binary) as server,
    ):
        found = measure(args, server, relay)
    print("## Content detection\n")
    report(found, args)


main()
