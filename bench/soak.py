#!/usr/bin/python3
"""Hours of load: many streams over all dialects and policies (soak_kinds.py), callers that leave, detectors
that fail, reloads, few descriptors left. Every answer that is complete is compared with what it must say.

    bench/soak.py --seconds 3600 --streams 5000 --rate 1 --out build/soak

writes soak.csv (a line every --every seconds) and soak.svg, its curve, and fails when an answer was
wrong, a stream was older than it may be, or memory grew by more than 5 % behind the warm-up.
"""

import argparse
import asyncio
import collections
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import curve
import soak_kinds
from soak_kinds import KINDS

ROOT = Path(__file__).resolve().parent.parent
LEAVING = 0.10  # of all callers, at some moment of the stream
DETECTORS_FAILING = 0.01
USED = 0.90  # of the descriptors
FOR_DETECTORS = 64  # descriptors
GROWTH = 0.05
FIELDS = ["t", "open", "done", "left", "refused", "failed", "wrong", "fds", "rss_kib", "held_bytes", "cpu_s"]
# Of a stream: its tokens at --rate, and what a busy machine adds.
SLACK_SECONDS = 60
STEP_SECONDS = 0.5


class Program:
    """A server that tells its ports in its log."""

    def __init__(self, command, log, names, limit=None, env=None):
        self.log = log

        def limited():
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

        with open(log, "wb") as err:
            self.process = subprocess.Popen([*map(str, command), "--log-format", "json"], stderr=err,
                                            stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})},
                                            preexec_fn=limited if limit else None)  # fmt: skip
        self.ports = {}
        deadline = time.monotonic() + 60
        while not names <= self.ports.keys():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{command[0]} did not start:\n{log.read_text()}")
            for found in re.finditer(r'"listener":"(\w+)","host":"[^"]*","port":(\d+)', log.read_text()):
                self.ports[found[1]] = int(found[2])
            time.sleep(0.05)

    def rss_kib(self):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1])

    def cpu_s(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def stop(self):
        self.process.terminate()
        return self.process.wait(90)


def request(kind, text, rate):
    headers, body = kind.question(text)
    headers += [("host", "x"), kind.mock(text, rate), ("connection", "close"), ("content-length", len(body))]
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"POST {kind.path} HTTP/1.1\r\n{lines}\r\n".encode() + body


class Call(asyncio.Protocol):
    """One request; bytes are only kept as they come, which thousands of streams can afford."""

    def __init__(self, loop, question):
        self.question, self.pieces, self.over = question, [], loop.create_future()

    def connection_made(self, transport):
        self.transport = transport
        transport.write(self.question)

    def data_received(self, data):
        self.pieces.append(data)

    def connection_lost(self, error):
        if not self.over.done():
            self.over.set_result(error)

    async def until_over(self, leaves_after):
        """All that came, or None for who has left."""
        timer = asyncio.get_running_loop().call_later(leaves_after, self.leave) if leaves_after is not None else None
        try:
            error = await self.over
        finally:
            if timer:
                timer.cancel()
        if error is not None and error is not LEFT:
            raise error
        return None if error is LEFT else b"".join(self.pieces)

    def leave(self):
        if not self.over.done():
            self.over.set_result(LEFT)
        self.transport.abort()


LEFT = object()


class Soak:
    def __init__(self, args):
        self.args = args
        self.count = dict.fromkeys(["done", "left", "refused", "failed", "wrong"], 0)
        self.begun = {}  # streams that are open: when they began
        self.oldest = 0.0
        self.stood_still = 0.0  # seconds in which this process was not given a processor
        self.refusals = collections.Counter()  # by what they looked like
        self.examples = []
        self.is_over = False

    # --- one caller ---

    async def ask(self, port, dice):
        kind, text = dice.choice(KINDS), soak_kinds.text_of(dice)
        leaves_after = dice.random() * self.longest() if dice.random() < LEAVING else None
        loop = asyncio.get_running_loop()
        _, call = await loop.create_connection(lambda: Call(loop, request(kind, text, self.args.rate)), "127.0.0.1", port)
        raw = await call.until_over(leaves_after)
        if raw is None:
            self.count["left"] += 1
        else:
            self.judge(kind, text, raw)

    def longest(self):
        """Seconds of an answer."""
        return soak_kinds.WORDS[1] / self.args.rate

    def refuse(self, how):
        self.count["refused"] += 1
        self.refusals[how] += 1

    def judge(self, kind, text, raw):
        head, _, body = raw.partition(b"\r\n\r\n")
        status = int(head.split()[1]) if head else 0
        # Without a descriptor for it a model server cannot be reached.
        if status == 503 or not head or (status == 502 and b"upstream_unreachable" in body):
            self.refuse(str(status) if head else "closed without an answer")
            return
        if b"chunked" in head:
            body = unchunked(body)
        said, is_failed = kind.read(body.decode(errors="replace"))
        if is_failed and kind.may_fail(body):
            self.count["failed"] += 1
        elif status == 200 and not is_failed and kind.is_right(text, said):
            self.count["done"] += 1
        else:
            self.count["wrong"] += 1
            self.examples.append((kind, status, text, said, raw[-600:]))

    async def caller(self, port, number):
        dice = random.Random(f"{self.args.seed} {number}")
        await asyncio.sleep(dice.random() * self.longest())
        while not self.is_over:
            self.begun[number] = self.clock()
            try:
                await self.ask(port, dice)
            except OSError as error:
                self.refuse(type(error).__name__)
                await asyncio.sleep(0.5)
            self.oldest = max(self.oldest, self.clock() - self.begun.pop(number))

    def clock(self):
        """Seconds in which this process could have noticed something."""
        return time.monotonic() - self.stood_still

    async def notice_stalls(self):
        """A machine with others on it may leave the callers without a processor for a minute."""
        while not self.is_over:
            before = time.monotonic()
            await asyncio.sleep(STEP_SECONDS)
            self.stood_still += max(0, time.monotonic() - before - 2 * STEP_SECONDS)

    # --- all of it ---

    async def held(self, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        text = (await reader.read(-1)).decode()
        writer.close()
        found = re.search(r"^weir_held_bytes (\S+)", text, re.M)
        return int(float(found[1])) if found else -1

    async def watch(self, weir, out):
        began = last_reload = time.monotonic()
        rows = []
        with open(out, "w") as csv:
            csv.write(",".join(FIELDS) + "\n")
            while time.monotonic() - began < self.args.seconds:
                await asyncio.sleep(self.args.every)
                if weir.process.poll() is not None:
                    raise SystemExit(f"the server ended with {weir.process.returncode}")
                if time.monotonic() - last_reload > self.args.reload:
                    weir.process.send_signal(signal.SIGHUP)
                    last_reload = time.monotonic()
                try:
                    held = await self.held(weir.ports["health"])
                except OSError:
                    held = -1
                row = dict(t=round(time.monotonic() - began), open=len(self.begun), **self.count, fds=weir.fds(),
                           rss_kib=weir.rss_kib(), held_bytes=held, cpu_s=round(weir.cpu_s(), 2))  # fmt: skip
                rows.append(row)
                csv.write(",".join(str(row[name]) for name in FIELDS) + "\n")
                csv.flush()
        return rows

    async def run(self, weir, out):
        stalls = asyncio.create_task(self.notice_stalls())
        callers = [asyncio.create_task(self.caller(weir.ports["api"], i)) for i in range(self.args.streams)]
        rows = await self.watch(weir, out)
        self.is_over = True
        await asyncio.wait([stalls, *callers], timeout=SLACK_SECONDS)
        return rows


def unchunked(body):
    out = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        n = int(size or b"0", 16)
        if n == 0:
            break
        out, body = out + body[:n], body[n + 2 :]
    return out


def flat(rows):
    """(memory behind the warm-up, memory at the end), means of quarters, in KiB"""
    quarter = max(1, len(rows) // 4)
    mean = lambda part: sum(row["rss_kib"] for row in part) / len(part)
    return mean(rows[quarter : 2 * quarter]), mean(rows[-quarter:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--rate", type=int, default=10, help="tokens a second and stream")
    parser.add_argument("--every", type=float, default=5, help="seconds between two lines of the CSV")
    parser.add_argument("--reload", type=float, default=60, help="seconds between two reloads")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "soak")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="weir-soak-"))
    soak = Soak(args)
    mock = [args.build / "weir-mock", "--port", "0", "--log-level", "warn"]
    model = Program(mock, folder / "model.log", {"mock"})
    detector = Program([*mock, "--fail-rate", DETECTORS_FAILING], folder / "detector.log", {"mock"})
    path = folder / "weir.yaml"
    path.write_text(json.dumps(soak_kinds.config(model.ports["mock"], detector.ports["mock"])))
    # A descriptor for each caller and its model server, and what the process keeps for itself
    # (docs/operations.md).
    limit = int(2 * args.streams / USED) + FOR_DETECTORS + 8 * (args.workers + 1) + 64
    command = [args.build / "weir", "--config", path, "--http-port", 0, "--health-http-port", 0]
    command += ["--host", "127.0.0.1", "--workers", args.workers, "--log-level", "warn"]
    weir = Program(command, folder / "weir.log", {"api", "health"}, limit, soak_kinds.MASK_KEY)
    try:
        rows = asyncio.run(soak.run(weir, args.out / "soak.csv"))
    finally:
        status = weir.stop()
        model.stop(), detector.stop()
    curve.draw(rows, args.out / "soak.svg", f"{args.streams} streams, {args.seconds} s")
    return verdict(soak, rows, status, args)


def verdict(soak, rows, status, args):
    before, after = flat(rows)
    longest = soak.longest() + SLACK_SECONDS
    print(f"{soak.count}, oldest {soak.oldest:.1f} s, memory {before / 1024:.1f} to {after / 1024:.1f} MiB,"
          f" descriptors up to {max(row['fds'] for row in rows)}, exit status {status}")  # fmt: skip
    print(f"refused: {dict(soak.refusals)}; the callers stood still for {soak.stood_still:.0f} s")
    for example in soak.examples[:3]:
        print("wrong:", *example, sep="\n  ")
    problems = [what for what, is_so in {
        "an answer was wrong": soak.count["wrong"],
        "memory grew": after > before * (1 + GROWTH),
        "a stream was older than it may be": soak.oldest > longest,
        "the server did not end well": status != 0,
        "nothing was served": soak.count["done"] == 0,
    }.items() if is_so]  # fmt: skip
    print("\n".join(problems) or "all is well")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
