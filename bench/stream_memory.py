#!/usr/bin/python3
"""Memory of a stream that waits for its next token.

Streams run in step (bench/lockstep.py), 20 at a time, until there are twice as many as asked for and all
are open: each has said a sentence and the first token of the next one, so that nothing but that
token is held back; then half a sentence more. What the process has written for the second half of them
(private dirty bytes; the first half uses up what was free before) is divided by their number: the
caller's connection, that to the model server and what a stream needs of connections to services are
in it. Nothing depends on how busy the machine is.
"""

import argparse
import contextlib

import cpu
import instructions
import lockstep
import peers

CASES = [
    "passed",
    "annotate-builtin",
    "redact-builtin",
    "annotate-readers",
    "redact-readers",
    "annotate-remote",
    "redact-remote",
    "messages-redact-builtin",
    "responses-redact-builtin",
]
HALF_A_SENTENCE = 7


def dirty(server):
    return cpu.memory(server.pid)["private_dirty"]


def measure(case, n_streams, binary):
    """(bytes a stream between two sentences, in the middle of one)."""
    with contextlib.ExitStack() as stack:
        model = stack.enter_context(lockstep.Model())
        mock = stack.enter_context(peers.mock("--quiet"))
        text = instructions.config([case], model.port, mock.ports["mock"])
        server = stack.enter_context(peers.weir("--workers", "1", config=text, binary=binary))
        groups = []
        written = [0]
        for _ in range(2):
            for _ in range(n_streams // instructions.STREAMS):
                of = [model, server, [mock], case.name, instructions.STREAMS, case.dialect]
                groups.append(stack.enter_context(lockstep.Streams(*of)))
                groups[-1].say(case.tokens + case.tokens[:1])
            written.append(dirty(server))
        for group in groups:
            group.say(case.tokens[1 : 1 + HALF_A_SENTENCE])
        n_all = len(groups) * instructions.STREAMS
        between = (written[2] - written[1]) / n_streams
        return between, between + (dirty(server) - written[2]) / n_all


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of bench/instructions.py; {', '.join(CASES)} unless named")
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--binary", default=peers.RELEASE / "weir")
    args = parser.parse_args()
    cases = {case.name: case for case in instructions.all_cases()}
    if unknown := [name for name in args.cases if name not in cases]:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(cases)}")
    print("| case | bytes a stream, between sentences | half a sentence later |")
    print("| --- | ---: | ---: |")
    for name in args.cases or CASES:
        between, within = measure(cases[name], args.streams, args.binary)
        print(f"| {name} | {between:,.0f} | {within:,.0f} |", flush=True)


main()
