#!/usr/bin/python3
"""The price of content detection: one remote detector, and ten, that answer at once.

The server and the relay take turns in front of the same mock (A B A B …), so that a busy minute of
the machine hits both. Prints processor time of the gateway per request, the relay's for the same
number of messages, and the difference.

The relay does a caller's half (one message in, one out) and a detector's half of the same size.
A request with N detectors is one caller's half and N detectors' halves, so that is its floor: half
the relay's price in the caller's protocol, and N times half its price with as many sockets in use
as the server has. A relay between HTTP/2 peers shares its reads and writes among the streams of a
connection as the server does.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile

import cpu
import peers

CONTENT = "/api/v2/text/detection/content"
CONTENTS = "/api/v1/text/contents"
TEXT = "Nothing to be found in a sentence of some sixty characters. "
IDS = [f"det{i}" for i in range(10)]
UNDER_WAY = 64  # requests, in each of these
PROTOCOLS = {
    "HTTP/1.1, 64 connections": ["--h1", "-c64"],
    "HTTP/2, 64 connections": ["-m1", "-c64"],
    "HTTP/2, 8 connections of 8 streams": ["-m8", "-c8"],
}
AIMS = {1: "≤ 12", 10: "≤ 60"}


def config(mock_port):
    service = {"hostname": "127.0.0.1", "port": mock_port}
    detector = {
        "type": "text_contents",
        "service": service,
        "chunker_id": "whole_doc_chunker",
        "default_threshold": 0.5,
    }
    return json.dumps({"detectors": {name: detector for name in IDS}})


def sockets(n_detectors):
    """That the server has in use: a caller's and its detectors', for each request under way. The
    more there are, the more each costs the kernel."""
    return UNDER_WAY * (1 + n_detectors)


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
    """µs per request. Neither the first connections to the detectors are in it nor those of
    h2load: a short run, which has as many of them, is taken off a long one."""
    few = args.requests // 5
    h2load(port, path, body, options, few)
    with cpu.Meter(*peer.pids) as short:
        h2load(port, path, body, options, few)
    with cpu.Meter(*peer.pids) as long:
        n = h2load(port, path, body, options, args.requests)
    return (long.ns - short.ns) / 1000 / (n - few)


def ours(server, n_detectors, options, args):
    body = {"content": TEXT, "detectors": {name: {} for name in IDS[:n_detectors]}}
    return turn(server, server.ports["api"], CONTENT, body, options, args)


def theirs(relay, options, args):
    body = {"contents": [TEXT], "detector_params": {}}
    return turn(relay, relay.ports["relay"], CONTENTS, body, options, args)


def measure(args, server, relay):
    """{what: µs per request}: (protocol, n detectors) of the server, (protocol, 0) and "n
    detectors" of the relay. The best turn of each, since what else runs on the machine can only
    add to a turn."""
    turns = {}

    def note(what, us):
        turns.setdefault(what, []).append(us)

    for _ in range(args.rounds):
        for n in args.detectors:
            note(f"{n} detectors", theirs(relay, ["--h1", f"-c{sockets(n) // 2}"], args))
        for name, options in PROTOCOLS.items():
            note((name, 0), theirs(relay, options, args))
            for n in args.detectors:
                note((name, n), ours(server, n, options, args))
    return {what: min(got) for what, got in turns.items()}


def report(found, args):
    print("## Content detection\n")
    print("`make bench B=unary`: processor time of the gateway, one worker, per request to")
    print(f"`{CONTENT}` with detectors on the mock that answer at once; 64 requests under way.")
    print(f"Best of {args.rounds} turns of {args.requests:,} requests of h2load, gateway and relay")
    print(f"in alternation. {peers.machine()}.\n")
    print("The relay's price is that of a caller's half (a message in, one out) and a detector's")
    print("half of the same size. The floor of a request is half a relay of the caller's protocol")
    print("and, for each detector, half an HTTP/1.1 relay that has as many sockets in use as the")
    print("gateway. Opening connections is in neither.\n")
    print("| caller | detectors | weir µs | floor µs | above | aim |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in PROTOCOLS:
        for n in args.detectors:
            floor = found[name, 0] / 2 + n * found[f"{n} detectors"] / 2
            us = found[name, n]
            aim = AIMS.get(n, "")
            print(f"| {name} | {n} | {us:.1f} | {floor:.1f} | {us - floor:.1f} | {aim} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=20000, help="of one turn")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--detectors", type=int, nargs="*", default=[1, 10])
    parser.add_argument("--binary", help="another server than build/release/weir")
    args = parser.parse_args()

    with (
        peers.mock("--quiet") as mock,
        peers.relay(mock.ports["mock"]) as relay,
        peers.weir("--workers", "1", config=config(mock.ports["mock"]), binary=args.binary) as server,
    ):
        found = measure(args, server, relay)
    report(found, args)


main()
