"""Both programs side by side with one configuration: plays scripts to them, many at a time."""

import os
import re

import compare
import play
import wire


class Bench:
    def __init__(self, programs, kind, spoil=None):
        self.programs = programs
        self.kind = kind
        self.spoil = alter(spoil)
        self.loop = wire.Loop()
        self.sides = [None, None]
        self.n_played = 0
        self.complaints = []
        for n in (0, 1):
            self.start(n)

    def start(self, n):
        self.sides[n] = play.Side(self.loop, self.programs[n], self.kind, self.spoil if n else None)

    def stop(self):
        for n in (0, 1):
            self.stop_side(n)
        self.loop.close()
        return self.complaints

    def stop_side(self, n):
        said = self.sides[n].stop()
        if said:
            self.complaints.append(("OLD", "NEW")[n] + " said at its end:\n" + said[-3000:])

    def restart_ended(self):
        """A program that has ended by itself is started again."""
        for n in (0, 1):
            if self.sides[n].fence.has_ended:
                self.stop_side(n)
                self.start(n)
                return True
        return False

    def run_many(self, scripts, width, done):
        """Plays all; calls done(key, script, old, new). `scripts` yields (key, script).

        A program that ends takes every stream down that was under way: these are played again one
        by one, so that the one to blame is found."""
        scripts = iter(scripts)
        running, victims = {}, []
        while True:
            while len(running) < width and (following := next(scripts, None)) is not None:
                key, script = following
                running[key] = Pair(self, script, play.QUIET_ROUNDS)
            if not running:
                break
            self.loop.turn()
            ended = any(side.fence.has_ended for side in self.sides)
            for key in [key for key, pair in running.items() if pair.is_done() or ended]:
                pair = running.pop(key)
                if ended:
                    pair.abandon()
                    victims.append((key, pair.script))
                else:
                    done(key, pair.script, *pair.records())
            if ended:
                self.restart_ended()
        for key, script in victims:
            done(key, script, *self.run_one(script))

    def run_one(self, script, quiet_rounds=play.QUIET_ROUNDS):
        """(old, new) of one script, nothing else under way."""
        pair = Pair(self, script, quiet_rounds)
        while not pair.is_done():
            self.loop.turn()
        self.restart_ended()
        return pair.records()


class Pair:
    """One script, played to both."""

    def __init__(self, bench, script, quiet_rounds):
        self.script = script
        bench.n_played += 1
        number = bench.n_played
        self.plays = [play.Play(side, number, script, lambda p: None, quiet_rounds)
                      for side in bench.sides]  # fmt: skip
        for one in self.plays:
            one.start()

    def is_done(self):
        return self.plays[0].is_over and self.plays[1].is_over

    def abandon(self):
        for one in self.plays:
            if not one.is_over:
                one.finish("abandoned")

    def records(self):
        return [compare.record(self.script, one.transcript) for one in self.plays]


def on_one_cpu(job=0):
    """This process, and the programs it starts, on the processor of this number."""
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[job % len(cpus)]})


def alter(spoil):
    """`REGEX=>TEXT` as a function on bytes: the way to see the comparison fail."""
    if spoil is None:
        return None
    pattern, _, text = spoil.partition("=>")
    compiled = re.compile(pattern.encode())
    return lambda data: compiled.sub(text.encode(), data)
