"""Makes a script smaller as long as the two programs still differ on it."""

import copy
import json
import time

MOST_TRIES = 1500
MOST_SECONDS = 90  # programs that stall take their time


class Shrinker:
    """`differs(script)` plays a candidate; one that does is kept."""

    def __init__(self, script, differs):
        self.script = script
        self.differs = differs
        self.n_tries = 0
        self.deadline = time.monotonic() + MOST_SECONDS
        self.seen = set()

    def has_time(self):
        return self.n_tries < MOST_TRIES and time.monotonic() < self.deadline

    def attempt(self, change):
        """Keeps `change(copy)` if what it makes still differs."""
        candidate = copy.deepcopy(self.script)
        if change(candidate) is False:
            return False
        text = json.dumps(candidate)
        if text in self.seen or not self.has_time() or text == json.dumps(self.script):
            return False
        self.seen.add(text)
        self.n_tries += 1
        if not self.differs(candidate):
            return False
        self.script = candidate
        return True

    def run(self):
        before = None
        while before != json.dumps(self.script) and self.has_time():
            before = json.dumps(self.script)
            self.simplify_timing()
            self.drop_items()
            self.tidy_items()
            self.fuse_items()
            self.shrink_tree(["items"])
            self.shrink_tree(["request", "body"])
            self.shrink_answer()
        return self.script

    def simplify_timing(self):
        simple = {"class": "step", "hold": 0, "order": "forward", "shuffle": 0, "join_head": True}
        for name, value in simple.items():
            self.attempt(lambda s, n=name, v=value: s["timing"].__setitem__(n, v))
        self.attempt(lambda s: s.__setitem__("faults", []))
        self.attempt(lambda s: s.__setitem__("end", "done"))
        self.attempt(lambda s: s.__setitem__("join_done", False))
        self.attempt(lambda s: s.pop("leave", None) and None)
        self.attempt(lambda s: s["request"].__setitem__("headers", {}))

    def drop_items(self):
        size = max(1, len(self.script["items"]) // 2)
        while size >= 1:
            at = 0
            while at < len(self.script["items"]):
                if not self.attempt(lambda s, a=at, n=size: s["items"].__delitem__(slice(a, a + n))):
                    at += size
            size //= 2

    def tidy_items(self):
        for n in range(len(self.script["items"])):
            for name in ("cuts", "join", "ascii"):
                if name in self.script["items"][n]:
                    self.attempt(lambda s, i=n, m=name: s["items"][i].pop(m) and None)

    def fuse_items(self):
        """Two deltas in a row become one with both texts."""
        n = 0
        while n + 1 < len(self.script["items"]):
            if not self.attempt(lambda s, i=n: fuse(s["items"], i)):
                n += 1

    def shrink_answer(self):
        """A unary answer's body, taken apart where it is JSON."""
        try:
            body = json.loads(self.script.get("head", {}).get("body", ""))
        except ValueError:
            return
        inner = Shrinker({"body": body}, None)
        inner.seen = self.seen

        def differs(candidate):
            self.n_tries += 1
            whole = copy.deepcopy(self.script)
            whole["head"]["body"] = json.dumps(candidate["body"])
            return self.has_time() and self.differs(whole)

        inner.differs = differs
        inner.shrink_tree(["body"])
        self.script["head"]["body"] = json.dumps(inner.script["body"])

    # --- any JSON ---

    def shrink_tree(self, path):
        """Takes members, elements and halves of strings out of the tree at `path`."""
        for where in reversed(list(paths(at(self.script, path)))):
            if not where:
                continue
            place = [*path, *where]
            if is_keyword(place):
                continue
            if self.attempt(lambda s, p=place: remove(s, p)):
                continue
            self.shorten(place)

    def shorten(self, place):
        while True:
            try:
                value = at(self.script, place)
            except (KeyError, IndexError):
                return
            if not isinstance(value, str) or len(value) < 2:
                return
            middle = len(value) // 2
            halves = [value[:middle], value[middle:], value[1:], value[:-1]]
            if not any(self.attempt(lambda s, v=v: replace(s, place, v)) for v in halves):
                return


def fuse(items, n):
    """Joins the texts of items n and n + 1; False where they are not of the same kind."""
    places = [[p for p in paths(item) if p and p[0] not in ("cuts",)] for item in items[n : n + 2]]
    texts = [p for p in places[0] if is_said(p) and isinstance(at(items[n], p), str)]
    if places[0] != places[1] or len(texts) != 1:
        return False
    whole = at(items[n], texts[0]) + at(items[n + 1], texts[0])
    replace(items[n], texts[0], whole)
    del items[n + 1]


def is_said(path):
    """Is it text that a model or a caller said, not a label?"""
    names = ("content", "text", "say", "arguments", "reasoning", "reasoning_content", "refusal",
             "transcript")  # fmt: skip
    return path[-1] in names


def is_keyword(place):
    """`event`, `line`, `raw`, `say` are how an item is written, not what it says."""
    return len(place) == 3 and place[0] == "items" and place[2] in ("event", "line")


def paths(tree):
    """Every path into the tree, parents before children."""
    yield []
    members = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(members):
        if isinstance(value, (dict, list)):
            for path in paths(value):
                yield [key, *path]
        else:
            yield [key]


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def remove(tree, path):
    try:
        del at(tree, path[:-1])[path[-1]]
    except (KeyError, IndexError):
        return False


def replace(tree, path, value):
    at(tree, path[:-1])[path[-1]] = value
