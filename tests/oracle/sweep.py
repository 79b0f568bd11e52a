"""Plays a share of the streams, tells the parent what differs: one process of `tools/oracle`."""

import json
import time

import bench
import compare
import generate
import play
import servers

WIDTH = 24  # streams under way at a time
MOST_SUSPECTS = 60  # per configuration: whoever differs that often need not be played further
MOST_JUDGED = 10  # differences that are made sure of
# How often a suspect is played again, alone. Races have more than one outcome.
REPLAYS = {"step": 3, "burst": 3, "race": 12}


class Sweep:
    """`tell(kind, …)`: progress N; difference N; once N (never again); varies N; counters KIND
    {name: (old, new)}; complaint TEXT; end."""

    def __init__(self, options, job, tell):
        self.options = options
        self.job = job
        self.tell = tell
        self.rules = compare.read_rules()
        self.n_done = 0
        self.told_at = 0
        self.suspects = {}
        self.n_differ = 0

    def run(self):
        for kind in servers.CONFIGS:
            mine = [n for n in range(self.job, self.options.streams, self.options.jobs)
                    if generate.config_of(n) == kind]  # fmt: skip
            if mine:
                self.run_config(kind, mine)
        self.progress(last=True)
        self.tell("end")

    def run_config(self, kind, numbers):
        table = bench.Bench(self.options.programs, kind, self.options.spoil)
        try:
            self.suspects = {}
            races = []
            table.run_many(self.scripts(numbers, races), WIDTH, self.on_done)
            if not self.suspects and not table.complaints:
                self.compare_counters(table, kind)
            table.run_many(self.scripts(races, None), WIDTH, self.on_done)
            for n in sorted(self.suspects):
                self.judge(table, n, self.suspects[n])
        finally:
            for complaint in table.stop():
                self.tell("complaint", complaint)

    def scripts(self, numbers, races):
        """Those to play, one after the other; races, whose counters vary, are put off."""
        for n in numbers:
            if len(self.suspects) >= MOST_SUSPECTS:
                return
            script = generate.script(self.options.seed, n)
            if not wanted(script, self.options.only):
                self.n_done += 1
            elif races is not None and script["timing"]["class"] == "race":
                races.append(n)
            else:
                yield n, script

    def on_done(self, n, script, old, new):
        self.n_done += 1
        self.progress()
        used = compare.same(script, old, new, self.rules)
        if used is None:
            self.suspects[n] = (script, old, new)
        elif used:
            self.tell("intended", used)

    def progress(self, last=False):
        now = time.monotonic()
        if last or now - self.told_at > 0.5:
            self.told_at = now
            self.tell("progress", self.n_done)

    def compare_counters(self, table, kind):
        differ = counters_of(table, self.rules)
        if differ:
            self.tell("counters", kind, differ)

    def judge(self, table, n, found):
        script, old, new = found
        if self.n_differ >= MOST_JUDGED:  # there is no doubt any more
            verdict = "difference"
        else:
            verdict = replay(table, script, self.rules, (old, new))
        self.n_differ += verdict == "difference"
        self.tell(verdict, n)


def counters_of(table, rules):
    """The counters that differ, also after a while."""
    for _ in range(20):
        differ = compare.counters_differ(*[side.counters() for side in table.sides], rules)
        if not differ:
            break
        time.sleep(0.1)
    return differ


def wanted(script, only):
    return not only or only in (script["timing"]["class"], script["kind"], script["config"])


def replay(table, script, rules, seen=None):
    """Plays a suspect again, alone and waiting longer: difference, varies, once, or same.

    A difference is one where no answer of OLD is an answer of NEW, and OLD has said one of its own
    twice: who never does (freed memory in an answer) cannot be compared."""
    olds, news = ([seen[0]], [seen[1]]) if seen else ([], [])
    for _ in range(REPLAYS[script["timing"]["class"]]):
        old, new = table.run_one(script, 2 * play.QUIET_ROUNDS)
        olds.append(old)
        news.append(new)
    if not any(compare.same(script, old, new, rules) is not None for old in olds for new in news):
        is_steady = len({json.dumps(old) for old in olds}) < len(olds)
        return "difference" if is_steady else "varies"
    after = slice(1, None) if seen else slice(None)
    again = olds[after] + news[after]
    if any(one != again[0] for one in again):
        return "varies"
    return "once" if seen else "same"


def narrow_counters(options, kind, numbers, rules):
    """The fewest streams of these that make counters differ, played to fresh programs."""

    def differ(some):
        table = bench.Bench(options.programs, kind, options.spoil)
        try:
            scripts = ((n, generate.script(options.seed, n)) for n in some)
            table.run_many(scripts, WIDTH, lambda *done: None)
            return counters_of(table, rules)
        finally:
            table.stop()

    found = differ(numbers)
    while found and len(numbers) > 1:
        half = len(numbers) // 2
        for part in (numbers[:half], numbers[half:]):
            less = differ(part)
            if less:
                numbers, found = part, less
                break
        else:
            break
    return numbers, found
