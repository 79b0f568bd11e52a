#!/usr/bin/python3
"""Stream batching through the server: how many messages are left, and what they wait.

`weir-mock` says 200 tokens at a pace, evenly or in bursts; the same answer is read through the
gateway with batching off and with different settings, in the same run. The delay is per code point:
when it came, less when it came with batching off, both counted from the request.

Three tables: what each setting costs and saves, unguarded and behind a detector; the profiles of
config/weir.example.yaml at their models' paces; guarded streams of every kind.
"""

import argparse
import asyncio
import json
import math
import re
import statistics
import time

import peers

# What each setting does, alone, beside the defaults.
SETTINGS = {
    "off": {},
    "`batching: {mode: on}`, all defaults": {"batching": {}},
    "`max_latency_ms: 100`": {"batching": {"max_latency_ms": 100}},
    "`max_latency_ms: 400`": {"batching": {"max_latency_ms": 400}},
    "`min_chars_per_emit: 40`": {"batching": {"min_chars_per_emit": 40}},
    "`min_chars_per_emit: 400`": {"batching": {"min_chars_per_emit": 400}},
    "`idle_flush_ms: 30`": {"batching": {"idle_flush_ms": 30}},
    "`idle_flush_ms: auto`": {"batching": {"idle_flush_ms": "auto"}},
    "`flush_on_sentence: false`": {"batching": {"flush_on_sentence": False}},
    "`first_emit_immediate: false`": {"batching": {"first_emit_immediate": False}},
    "`ramp_factor: 4`": {"batching": {"ramp_factor": 4}},
    "`coalescer: {mode: on}` alone": {"coalescer": {}},
    "both, all defaults": {"batching": {}, "coalescer": {}},
    "both, `hold_from: own`": {"batching": {}, "coalescer": {"hold_from": "own"}},
    "both, `max_hold_ms: 200`": {"batching": {}, "coalescer": {"max_hold_ms": 200}},
    "both, `min_delta_chars: 120`": {"batching": {}, "coalescer": {"min_delta_chars": 120}},
    "both, `boundary: none`": {"batching": {}, "coalescer": {"boundary": "none"}},
}
CHUNKERS = {
    "sentences": {"builtin": "sentence"},
    "windows": {"builtin": "window", "size": 32, "overlap": 16},
}
ACTIONS = ["annotate", "redact", "block"]
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
RATES = [25, 50, 100]
BURST_MS = 400
# At which of these paces such a model speaks: there the profile must be worth its while.
OWN_PACE = {
    "gpt-4o*": (50, "even"),
    "gpt-4o-mini*": (100, "even"),
    "azure/*": (50, "bursts"),
    "azure-async/*": (50, "even"),
    "vllm/*": (50, "even"),
    "llama.cpp/*": (25, "even"),
}


def profiles():
    """The `models` of the example configuration, as it stands there: (text, patterns)."""
    text = (peers.ROOT / "config" / "weir.example.yaml").read_text()
    block = re.search(r"(?m)^  models:\n((?:    .*\n)+)", text).group(1)
    return block, re.findall(r'(?m)^    "([^"]+)":', block)


def detector(chunker):
    params = {"regex": ["email"]}
    return {"type": "text_contents", "builtin": "regex", "params": params, "chunker_id": chunker}


def stage_on(stages):
    return {name: {"mode": "on", **keys} for name, keys in stages.items()}


def config(port):
    """JSON is YAML, but for the block of the example, which is put in as it stands."""
    routes = [{"name": "default", "unguarded": True}] + [
        {"name": f"{action}-{chunker}", "output": {chunker: {}}, "on_detection": action}
        for action in ACTIONS
        for chunker in CHUNKERS
    ]
    tree = {
        "openai": {"service": {"hostname": "127.0.0.1", "port": port}},
        "chunkers": CHUNKERS,
        "detectors": {chunker: detector(chunker) for chunker in CHUNKERS},
        "routes": routes,
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in tree.items()]
    lines += ["streaming:", "  models:", profiles()[0]]
    lines += [f"    setting-{i}: {json.dumps(stage_on(s))}" for i, s in enumerate(SETTINGS.values())]
    return "\n".join(lines) + "\n"


class Answer:
    def __init__(self):
        self.events, self.bytes, self.times, self.text = 0, 0, [], ""

    def take(self, ms, data):
        self.events += 1
        self.bytes += len(data)
        for choice in json.loads(data)["choices"]:
            words = choice.get("delta", choice).get("content" if "delta" in choice else "text")
            self.text += words or ""
            self.times += [ms] * len(words or "")


async def read_events(reader):
    """Yields (time, data) of every event of a chunked answer."""
    await reader.readuntil(b"\r\n\r\n")
    held = b""
    while size := int(await reader.readline(), 16):
        held += await reader.readexactly(size)
        await reader.readexactly(2)
        now = time.monotonic()
        *events, held = held.split(b"\n\n")
        for event in events:
            yield now, event.removeprefix(b"data: ")


async def ask(port, args, model, place="", path=CHAT, rate=50, shape="even"):
    burst = max(1, rate * BURST_MS // 1000) if shape == "bursts" else 1
    mock = {"tokens": args.tokens, "rate": rate, "burst": burst}
    asked = {"messages": [{"role": "user", "content": "Hi"}]} if path == CHAT else {"prompt": "Hi"}
    body = json.dumps({"model": model, "stream": True, "mock": mock, **asked}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    began = time.monotonic()
    writer.write(f"POST {place}{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
                 f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)  # fmt: skip
    answer = Answer()
    async for now, data in read_events(reader):
        if data != b"[DONE]":
            answer.take((now - began) * 1000, data)
    writer.close()
    return answer


async def ask_all(port, args, asked):
    """{row: answers} of every row of {row: keywords of ask}, all at once, begun a little apart."""
    tasks = {row: [] for row in asked}
    for _ in range(args.streams):
        for row, keywords in asked.items():
            tasks[row].append(asyncio.create_task(ask(port, args, **keywords)))
            await asyncio.sleep(0.003)
    return {row: await asyncio.gather(*of_row) for row, of_row in tasks.items()}


class Row:
    """What is left of a stream, against the same without batching."""

    def __init__(self, answers, off):
        base = [statistics.median(column) for column in zip(*(a.times for a in off))]
        assert {a.text for a in answers} == {a.text for a in off}, "text changed"
        added = sorted(at - before for a in answers for at, before in zip(a.times, base))
        self.events = statistics.median(a.events for a in answers)
        self.bytes = statistics.median(a.bytes for a in answers)
        self.fewer = statistics.median(a.events for a in off) / self.events
        self.less = statistics.median(a.bytes for a in off) / self.bytes
        self.mean = statistics.mean(added)
        self.p99 = added[math.ceil(0.99 * len(added)) - 1]
        self.first = statistics.median(a.times[0] for a in answers) - base[0]


def head(*columns):
    print(f"| {' | '.join(columns)} |\n| --- {'| ---: ' * (len(columns) - 1)}|")


def settings(port, args):
    places = {"": "unguarded", "/annotate-sentences": "guarded"}
    asked = {
        (name, place): {"model": f"setting-{i}", "place": place}
        for i, name in enumerate(SETTINGS)
        for place in places
    }
    found = asyncio.run(ask_all(port, args, asked))
    print(f"### Settings\n\n50 tokens a second, evenly; {args.streams} streams a row. Guarded: a detector on the built-in")
    print("sentence chunker that finds nothing, on an annotating route; its delays are what batching adds to")
    print("those of the detector.\n")
    head("", "events", "fewer by", "bytes", "mean delay ms", "p99", "first token",
         "guarded: events", "bytes", "mean delay ms", "p99", "first token")  # fmt: skip
    for name in SETTINGS:
        cells = [name]
        for place in places:
            row = Row(found[name, place], found["off", place])
            fewer = [f"{row.fewer:.1f} ×"] if place == "" else []
            cells += [f"{row.events:.0f}", *fewer, f"{row.bytes / 1024:.1f} KiB",
                      f"{row.mean:.0f}", f"{row.p99:.0f}", f"{row.first:+.0f}"]  # fmt: skip
        print(f"| {' | '.join(cells)} |")
    print()


def profile_rows(port, args):
    """{(pattern, rate, shape): Row}"""
    rows, patterns = {}, profiles()[1]
    for rate in RATES:
        for shape in ("even", "bursts"):
            pace = {"rate": rate, "shape": shape}
            asked = {p: {"model": p.replace("*", "1"), **pace} for p in patterns}
            found = asyncio.run(ask_all(port, args, {"off": {"model": "setting-0", **pace}, **asked}))
            rows |= {(p, rate, shape): Row(found[p], found["off"]) for p in patterns}
    return rows


def print_profiles(rows):
    print("### Profiles\n\nThose of `config/weir.example.yaml`, at 25, 50 and 100 tokens a second, evenly and in bursts of")
    print(f"{BURST_MS} ms: fewer events by, mean delay, p99, first token, in ms. In bold the pace of such models.\n")
    paces = [(rate, shape) for shape in ("even", "bursts") for rate in RATES]
    head("", *(f"{rate}/s, {shape}" for rate, shape in paces))
    for pattern in profiles()[1]:
        cells = []
        for pace in paces:
            row = rows[(pattern, *pace)]
            cell = f"{row.fewer:.1f} ×, {row.mean:.0f}, {row.p99:.0f}, {row.first:+.0f}"
            cells.append(f"**{cell}**" if OWN_PACE[pattern] == pace else cell)
        print(f"| `{pattern}` | {' | '.join(cells)} |")
    print()
    for pattern, pace in OWN_PACE.items():
        assert rows[(pattern, *pace)].fewer >= 3, f"{pattern} gains less than 3 × at its own pace"


def guarded(port, args):
    kinds = [("", "unguarded")] + [
        (f"/{action}-{chunker}", f"{chunker}, {action}") for chunker in CHUNKERS for action in ACTIONS
    ]
    names = list(SETTINGS)
    models = {kind: f"setting-{names.index(name)}" for kind, name in
              (("off", "off"), ("on", names[1]), ("both", "both, all defaults"))}  # fmt: skip
    asked = {
        (place, path, kind): {"model": model, "place": place, "path": path}
        for place, _ in kinds
        for path in (CHAT, TEXT)
        for kind, model in models.items()
    }
    found = asyncio.run(ask_all(port, args, asked))
    print("### Behind detectors\n\n50 tokens a second, all defaults. Events are all of a stream, role and finish reason")
    print(f"included; the model sends {args.tokens + 2} of chat. The delay is what batching adds to the detector's.\n")
    head("", "off", "`batching`", "fewer than the model by", "mean delay ms", "p99", "first token",
         "and `coalescer`", "mean delay ms", "first token")  # fmt: skip
    for path in (CHAT, TEXT):
        model_events = statistics.median(a.events for a in found["", path, "off"])
        for place, name in kinds:
            off = found[place, path, "off"]
            on, both = (Row(found[place, path, kind], off) for kind in ("on", "both"))
            print(f"| {'chat' if path == CHAT else 'completions'}, {name} | {statistics.median(a.events for a in off):.0f} "
                  f"| {on.events:.0f} | {model_events / on.events:.1f} × | {on.mean:.0f} | {on.p99:.0f} "
                  f"| {on.first:+.0f} | {both.events:.0f} | {both.mean:.0f} | {both.first:+.0f} |")  # fmt: skip
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=6, help="at once, per row")
    parser.add_argument("--tokens", type=int, default=200)
    args = parser.parse_args()

    with peers.mock() as mock, peers.weir(config=config(mock.ports["mock"])) as weir:
        port = weir.ports["api"]
        asyncio.run(ask(port, args, "setting-0", rate=1000))  # the first request ever
        print(f"## Batching\n\n`make bench B=batching`: streams of {args.tokens} tokens, read through the server. The delay is over all")
        print(f"code points, against batching off in the same run; the text was the same in every row. {peers.machine()}.\n")
        settings(port, args)
        print_profiles(profile_rows(port, args))
        guarded(port, args)


main()
