#!/usr/bin/python3
"""What waiting costs: the idle process, and 10,000 idle kept-alive connections.

Memory is private dirty bytes: what the process has written to and nobody shares.
"""

import argparse
import socket
import statistics
import time

import cpu
import peers

REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
# 10,000 is the default limit, and the readiness probe is one more.
ROOM = """
openai: {service: {hostname: localhost, port: 8000}}
limits: {max_connections: 20000, idle_timeout: 600}
"""


def idle_process(binary, starts):
    """Medians over some starts: (private dirty, rss, ms to ready)."""
    rows = []
    for _ in range(starts):
        with peers.weir(binary=binary) as server:
            used = cpu.memory(server.pid)
            rows.append((used["private_dirty"], used["rss"], server.ready_ms))
    return [statistics.median(column) for column in zip(*rows)]


def open_idle(port, n):
    """n connections that have each had one answer."""
    connections = []
    for _ in range(n):
        sock = socket.create_connection(("127.0.0.1", port), timeout=20)
        sock.sendall(REQUEST)
        answer = sock.recv(4096)
        assert answer.startswith(b"HTTP/1.1 200"), answer
        connections.append(sock)
    return connections


def settled(pid):
    """Private dirty bytes once two readings in a row agree."""
    before = -1
    while True:
        now = cpu.memory(pid)["private_dirty"]
        if now == before:
            return now
        before = now
        time.sleep(0.5)


def bytes_per_connection(server, port, n):
    open_idle(port, 1)[0].close()  # what the first request ever costs is not a connection's
    before = settled(server.pid)
    connections = open_idle(port, n)
    grown = settled(server.pid) - before
    with cpu.Meter(*server.pids) as meter:
        time.sleep(2)
    for sock in connections:
        sock.close()
    return grown / n, meter.ns / 2e9 * 100


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=10000)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--binary", help="another server than build/release/weir")
    args = parser.parse_args()
    n = args.connections

    dirty, rss, ready_ms = idle_process(args.binary, args.starts)
    with peers.weir(config=ROOM, binary=args.binary) as server:
        ours, our_load = bytes_per_connection(server, server.ports["health"], n)
    with peers.nginx_constant(b'{"weir":"0.0.0"}') as server:
        theirs, their_load = bytes_per_connection(server, server.ports["h1"], n)

    print("## Idle\n")
    print(f"`make bench B=idle`: medians of {args.starts} starts with the embedded configuration;")
    print(f"{n:,} HTTP/1.1 connections, each after one `GET /health`. {peers.machine()}.\n")
    print("| | weir | nginx |")
    print("| --- | ---: | ---: |")
    print(f"| idle process, private dirty | {dirty / 2**20:.2f} MiB | |")
    print(f"| idle process, resident | {rss / 2**20:.2f} MiB | |")
    print(f"| start to `/readyz` | {ready_ms:.0f} ms | |")
    print(f"| bytes per idle connection | {ours:,.0f} | {theirs:,.0f} |")
    print(f"| processor while they idle | {our_load:.2f} % | {their_load:.2f} % |")
    print()


main()
