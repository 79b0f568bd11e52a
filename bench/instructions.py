#!/usr/bin/python3
"""Instructions, allocations, JSON parses and JSON writers per token of a streamed answer.

One server under callgrind with a route for every case. On each, streams run in step
(bench/lockstep.py). Counting begins when they are under way and ends before they do, so what a
request costs once is not in the figures: they are what one more token costs.

With --gate the figures are compared with bench/instructions.txt, and one that grew by more than
3 % is an error; --store writes that file.
"""

import argparse
import contextlib
import json
import platform
import re
import subprocess
import sys

import callgrind
import figures
import lockstep
import peers

STORED = peers.ROOT / "bench" / "instructions.txt"

# 15 tokens each; the second has an address that all detectors find.
PLAIN = "The gateway holds every sentence for a moment until all the detectors have seen it."
FOUND = "The gateway writes every answer only once to jane@example.org before all the callers have it."
ADDRESS = b"jane@example.org"
FINDINGS = [b'"detection":"email_address"', b'"detection":"EmailAddress"']  # built in, the mock's

# Calls of any of these functions by others are counted.
COUNTED = {
    "allocations": ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign"],
    "parses": ["weir_json_parse", "weir_json_parse_reuse"],
    "writers": ["weir_json_write_init", "weir_json_edit_write"],
}

# builtin: chunker and detector in the server. remote: a chunker over gRPC, two detectors over HTTP.
# readers: the output detectors of the embedded default, which read along; all events are sent.
OUTPUT = {
    "builtin": {"near": {}},
    "remote": {"one": {}, "two": {}},
    "readers": {"regex": {}, "secrets": {}, "keywords": {}, "unicode": {}, "links": {}},
}
DIALECTS = {"messages": lockstep.Messages, "responses": lockstep.Responses}
FINDERS = {"near", "one", "two", "regex"}  # of the address
STREAMS = 20  # that share a turn of the loop
WARM_SENTENCES = 2  # before counting begins


class Case:
    """A route, what the model says on it, and on how many streams."""

    def __init__(self, name, route, n_streams=STREAMS, dialect=lockstep.Chat):
        self.name = name
        self.dialect = dialect
        self.n_streams = n_streams
        # Of one stream more is counted: what a timer does in between then weighs as little.
        self.n_sentences = 4 if n_streams > 1 else 20
        self.is_found = name.endswith("-found")
        self.tokens = [f" {word}" for word in (FOUND if self.is_found else PLAIN).split()]
        self.route = {"name": name, **route}


def all_cases():
    unguarded = {"unguarded": True}
    yield Case("passed", unguarded)
    yield Case("passed-alone", unguarded, n_streams=1)
    for policy in ("annotate", "block", "redact"):
        for where, output in OUTPUT.items():
            route = {"output": output, "on_detection": policy}
            yield Case(f"{policy}-{where}", route)
            if policy != "block":  # a finding ends that stream
                yield Case(f"{policy}-{where}-found", route)
    for name, dialect in DIALECTS.items():
        yield Case(f"{name}-passed", unguarded, dialect=dialect)
        for policy, where in (("annotate", "builtin"), ("redact", "builtin"), ("redact", "readers")):
            route = {"output": OUTPUT[where], "on_detection": policy}
            yield Case(f"{name}-{policy}-{where}", route, dialect=dialect)
    yield Case("redact-remote-alone", {"output": OUTPUT["remote"], "on_detection": "redact"}, 1)


def readers():
    """As config/default.yaml has them."""
    kinds = ["email", "credit-card", "phone", "us-ssn", "ipv4", "ipv6", "iban"]
    words = ["idiot", "idiots", "stupid", "moron", "fool", "shut up", "get lost"]
    params = {"regex": {"regex": kinds}, "keywords": {"deny": words}}
    return {
        name: {"type": "text_contents", "builtin": name, "params": params.get(name, {})}
        for name in OUTPUT["readers"]
    }


def config(cases, model_port, mock_port):
    model = {"hostname": "127.0.0.1", "port": model_port}
    mock = {"hostname": "127.0.0.1", "port": mock_port}
    builtin = {"type": "text_contents", "builtin": "regex", "params": {"regex": ["email"]}}
    remote = {"type": "text_contents", "service": mock, "default_threshold": 0.5}
    tree = {
        "openai": {"service": model},
        "chunkers": {
            "here": {"builtin": "sentence"},
            "there": {"type": "sentence", "service": mock},
        },
        "detectors": {
            "near": {**builtin, "chunker_id": "here"},
            "one": {**remote, "chunker_id": "there"},
            "two": {**remote, "chunker_id": "there"},
            **readers(),
        },
        "routes": [case.route for case in cases],
        "cache": False,  # the same sentences come again and again, and asking is what is measured
    }
    return json.dumps(tree)


def check_names(binary):
    """A function that has another name by now would be counted as never called."""
    symbols = subprocess.run(["nm", binary], check=True, capture_output=True, text=True).stdout
    gone = {*COUNTED["parses"], *COUNTED["writers"]} - set(symbols.split())
    if gone:
        sys.exit(f"{binary} has no {', '.join(sorted(gone))}: mend COUNTED in {__file__}")


def check_answer(case, got, n_sentences):
    """Is the case what its name says? All sentences came, and their addresses were found."""
    n_findings = sum(got.count(finding) for finding in FINDINGS)
    n_finders = len(FINDERS & set(case.route.get("output", {})))
    expected = n_sentences * n_finders if case.is_found else 0
    has_address = case.is_found and case.route.get("on_detection") == "annotate"
    if (
        got.count(b" gateway") < n_sentences
        or n_findings != expected
        or (ADDRESS in got) != has_address
    ):
        sys.exit(f"{case.name}: {n_findings} findings, not {expected}, in {got[:4000]}")


def measure(case, streams, counter):
    """{measure: figure per token}."""
    streams.say(case.tokens * WARM_SENTENCES)
    n_events = streams.n_events()
    counter.begin()
    streams.say(case.tokens * case.n_sentences)
    counts = counter.end()
    n_events = streams.n_events() - n_events
    for got in streams.finish():
        check_answer(case, got, WARM_SENTENCES + case.n_sentences)
    totals = {name: counts.calls_of(*functions) for name, functions in COUNTED.items()}
    totals |= {"instructions": counts.instructions, "events": n_events}
    n_tokens = len(case.tokens) * case.n_sentences * case.n_streams
    return {name: total / n_tokens for name, total in totals.items()}


def measure_all(cases, binary):
    check_names(binary)
    found = {}
    with contextlib.ExitStack() as stack:
        model = stack.enter_context(lockstep.Model())
        mock = stack.enter_context(peers.mock("--quiet"))
        text = config(cases, model.port, mock.ports["mock"])
        options = {"config": text, "binary": binary, "under": callgrind.command}
        server = stack.enter_context(peers.weir("--workers", "1", **options))
        counter = callgrind.Counter(server.pid, server.folder)
        counter.switch_on()
        for case in cases:
            of = [case.name, case.n_streams, case.dialect]
            with lockstep.Streams(model, server, [mock], *of) as streams:
                found[case.name] = measure(case, streams, counter)
    return found


def made_with(binary):
    """What the figures depend on besides our sources: the compiler, the C library and which of its
    string functions the processor gets, valgrind."""
    comment = ["readelf", "-p", ".comment", binary]
    built = subprocess.run(comment, check=True, capture_output=True, text=True).stdout
    compiler = re.search(r"(GCC|clang)[^\n]*?([\d.]+)\s*$", built, re.M)
    version = subprocess.run(["valgrind", "--version"], check=True, capture_output=True, text=True)
    with open("/proc/cpuinfo") as file:
        avx2 = "AVX2" if "avx2" in file.read().split() else "no AVX2"
    words = [" ".join(compiler.groups()), " ".join(platform.libc_ver()), version.stdout.strip()]
    return ", ".join([*words, f"{platform.machine()} with {avx2}"])


def report(found):
    print("## Instructions per token\n")
    print(f"`make bench B=instructions`: what one more token costs, {STREAMS} streams in step (alone:")
    print("one), sentences of 15 tokens, events of some 230 bytes, a read each. `valgrind")
    print("--tool=callgrind`, user space of the whole process. builtin: sentence chunker and one")
    print("detector; remote: a chunker over gRPC and two detectors over HTTP; found: with a finding")
    print("of each detector in every sentence, without one otherwise.\n")
    print("| case | instructions | allocations | JSON parses | JSON writers | events sent |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for case in sorted(found):
        instructions, *others = [found[case][name] for name in figures.MEASURES]
        print(f"| {case} | {instructions:,.0f} | {' | '.join(f'{x:.2f}' for x in others)} |")
    print()
    report_dialects(found)


def report_dialects(found):
    """Each case of another dialect next to that of chat completions."""
    pairs = {case: case.split("-", 1)[1] for case in found if case.split("-")[0] in DIALECTS}
    for case in sorted(case for case, chat in pairs.items() if chat in found):
        ratio = found[case]["instructions"] / found[pairs[case]]["instructions"]
        print(f"{case}: {ratio:.2f} × {pairs[case]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="all unless named")
    parser.add_argument("--gate", action="store_true", help="compare with bench/instructions.txt")
    parser.add_argument("--store", action="store_true", help="write bench/instructions.txt")
    parser.add_argument("--binary", default=peers.RELEASE / "weir")
    args = parser.parse_args()
    cases = {case.name: case for case in all_cases()}
    if unknown := [name for name in args.cases if name not in cases]:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(cases)}")
    if args.store and args.cases:
        parser.error("all cases are stored together")
    names = args.cases or list(cases)
    found = measure_all([cases[name] for name in names], args.binary)
    if args.store:
        STORED.write_text(figures.write(found, made_with(args.binary)))
    if not args.gate:
        report(found)
        return 0
    passes, said = figures.gate(STORED.read_text(), found, made_with(args.binary), set(names))
    if said:
        print(said)
    return 0 if passes else 1


if __name__ == "__main__":
    sys.exit(main())
