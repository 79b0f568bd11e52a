"""What a process has used so far: processor time of all its threads, and memory.

Budgets are processor time of our process, total: user and system, since the kernel does the
sending within our calls.
"""

from pathlib import Path


def cpu_ns(*pids):
    """Nanoseconds on a processor of all live threads of these processes (not the tick-grained
    utime and stime)."""
    total = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
    return total


def threads(pid):
    """{thread: (nanoseconds on a processor, nanoseconds in which it wanted one and had none)}"""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        ran, waited = (task / "schedstat").read_text().split()[:2]
        found[task.name] = (int(ran), int(waited))
    return found


def cpu_split_s(pid):
    """(user, system) seconds, to the tick: for a look at where the time goes."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) / 100, int(fields[12]) / 100


def memory(pid):
    """{"private_dirty", "rss", "pss"…} in bytes."""
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split(":")
        found[name.lower()] = int(value.split()[0]) * 1024
    return found


class Meter:
    """Processor time between two points: `with Meter(pid) as m: …; m.us_per(n)`."""

    def __init__(self, *pids):
        self.pids = pids
        self.ns = 0

    def __enter__(self):
        self.began = cpu_ns(*self.pids)
        return self

    def __exit__(self, *exc):
        self.ns = cpu_ns(*self.pids) - self.began

    def us_per(self, units):
        return self.ns / 1000 / units
