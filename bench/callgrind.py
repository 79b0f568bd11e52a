"""Counts what a running server does: it runs under valgrind's callgrind, is told when to begin
counting and when to write down what it counted, and the file is read here.

Counted are user-space instructions of all its threads, its libraries' among them, and calls of
functions. The kernel's work is not counted.
"""

import re
import subprocess
from pathlib import Path

OPTIONS = ["--tool=callgrind", "--instr-atstart=no", "--dump-line=no", "--quiet"]
POSITION = re.compile(r"(fn|cfn)=\((\d+)\)(?: (.*))?")


def command(folder):
    """What stands before the server's own command line. Files go to this folder."""
    folder = Path(folder)
    prefix = f"--vgdb-prefix={folder}/vgdb"
    return ["valgrind", *OPTIONS, prefix, f"--callgrind-out-file={folder}/callgrind"]


class Counter:
    """Of a server started with `command`."""

    def __init__(self, pid, folder):
        self.pid = pid
        self.folder = Path(folder)
        self.n_dumps = 0

    def tell(self, *words):
        done = subprocess.run(
            ["vgdb", f"--vgdb-prefix={self.folder}/vgdb", f"--pid={self.pid}", *words],
            capture_output=True,
            text=True,
            timeout=60,
        )
        if done.returncode != 0:
            raise RuntimeError(f"vgdb {' '.join(words)}: {done.stdout}{done.stderr}")

    def switch_on(self):
        self.tell("instrumentation", "on")

    def begin(self):
        self.tell("zero")

    def end(self):
        """Counts since begin()."""
        self.tell("dump")
        self.n_dumps += 1
        return Counts((self.folder / f"callgrind.{self.n_dumps}").read_text())


class Counts:
    """`instructions`, and how often functions called each other."""

    def __init__(self, dump):
        totals = re.search(r"^totals: (\d+)$", dump, re.M)
        if totals is None:
            raise ValueError("callgrind's file has no total")
        self.instructions = int(totals[1])
        self.calls = {}  # (caller, called): times
        self.read_calls(dump)

    def read_calls(self, dump):
        # Names are spelled out where they stand first and numbered from then on.
        names = {}
        caller = called = None
        for line in dump.splitlines():
            if line.startswith("calls="):
                pair = caller, called
                times = int(line[len("calls=") :].split()[0])
                self.calls[pair] = self.calls.get(pair, 0) + times
            elif match := POSITION.match(line):
                kind, number, name = match.groups()
                if name is not None:
                    names[number] = name
                if kind == "fn":
                    caller = names[number]
                else:
                    called = names[number]

    def calls_of(self, *functions):
        """Calls of any of these by others: realloc that calls malloc is one allocation."""
        return sum(
            times
            for (caller, called), times in self.calls.items()
            if called in functions and caller not in functions
        )
