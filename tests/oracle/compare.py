"""Are two transcripts the same? And the rules of intended.md for where they need not be."""

import json
import re
from pathlib import Path

INTENDED = Path(__file__).with_name("intended.md")
PARTS = ["caller", "calls", "model", "gone", "left", "after", "counters"]
# Ids and times that the program makes itself, on answers without a model server.
MADE = [
    (re.compile(r'"(?:chatcmpl|cmpl)-[0-9a-zA-Z-]+"'), '"made"'),
    (re.compile(r'"created":(?!1700000000\b)\d{9,}'), '"created":0'),
]


def tidy(transcript):
    """The transcript without what differs from run to run."""
    for step in transcript:
        if '"created"' in step.get("caller", ""):
            for pattern, text in MADE:
                step["caller"] = pattern.sub(text, step["caller"])
    return transcript


def record(script, transcript):
    """What is compared: of a race only what does not depend on who was faster."""
    transcript = tidy(transcript)
    if script["timing"]["class"] != "race":
        return transcript
    joined = join(transcript)
    heard = summary(joined.get("caller", ""))
    # How much had left, and was asked about, when a choice was blocked or the request failed.
    is_short = "content_filter" in joined.get("caller", "") or heard["errors"]
    if heard["errors"]:
        heard = {"errors": heard["errors"]}
    elif is_short:
        heard = {"head": heard["head"], "ends": heard["ends"]}
    kept = {"after": joined["after"], "caller": json.dumps(heard, sort_keys=True, indent=1)}
    if not is_short:
        kept |= {name: joined[name] for name in ("calls", "model") if name in joined}
    return [kept]


def join(transcript):
    """All steps as one."""
    whole = {"after": transcript[-1]["after"]}
    for step in transcript:
        for name, value in step.items():
            if name == "caller":
                whole["caller"] = whole.get("caller", "") + value
            elif name != "after":
                whole[name] = sorted(whole.get(name, []) + value)
    return whole


# --- what a caller makes of a stream ---


def summary(heard):
    """Status, and per choice texts, findings and endings of whatever the caller read. Errors look
    the same whether they came before the first event, as a status, or behind it."""
    head, _, body = heard.partition("\n\n")
    found = {"head": head, "texts": {}, "findings": [], "ends": [], "other": [], "errors": []}
    for line in body.split("\n"):
        data = line[5:].strip() if line.startswith("data:") else line.strip()
        if data in ("", "[DONE]") or line.startswith(":"):
            found["ends"] += [data] * (data != "")
            continue
        try:
            take(json.loads(data), found)
        except (ValueError, AttributeError, TypeError):
            found["other"].append(data)
    found["findings"].sort()
    found["ends"].sort()
    return found


def take(event, found):
    for side, entries in (event.get("detections") or {}).items():
        if isinstance(entries, list):
            for entry in entries:
                found["findings"] += flat(side, entry)
    for entry in event.get("token_classification_results", {}).get("output", []):
        found["findings"].append(json.dumps(entry, sort_keys=True))
    if isinstance(event.get("detections"), list):
        found["findings"] += [json.dumps(entry, sort_keys=True) for entry in event["detections"]]
    if "generated_text" in event:
        add(found, "generated", event["generated_text"])
    if "error" in event or "details" in event:
        error = event.get("error", event)
        found["errors"].append(error.get("message", event.get("details")))
    for choice in event.get("choices", []):
        index = choice.get("index", 0)
        if choice.get("finish_reason"):
            found["ends"].append(f"{index} {choice['finish_reason']}")
        said = choice.get("delta", choice.get("message", {"text": choice.get("text")}))
        add_strings(found, str(index), said)


def flat(side, entry):
    where = entry.get("choice_index", entry.get("message_index"))
    return [json.dumps([side, where, result], sort_keys=True) for result in entry["results"]]


def add(found, name, text):
    found["texts"][name] = found["texts"].get(name, "") + text


def add_strings(found, name, tree):
    """Every string of a delta, joined under its path; calls go by their index."""
    if isinstance(tree, str):
        add(found, name, tree)
    elif isinstance(tree, dict):
        for member, value in tree.items():
            if member not in ("role", "index"):
                add_strings(found, f"{name}.{member}", value)
    elif isinstance(tree, list):
        for n, value in enumerate(tree):
            at = value.get("index", n) if isinstance(value, dict) else n
            add_strings(found, f"{name}.{at}", value)


# --- rules ---


class Rule:
    """One rule of intended.md; its text says what each key means."""

    KEYS = {"path", "config", "class", "part", "replace", "drop", "steps", "ignore"}

    def __init__(self, name):
        self.name = name
        self.where = {}
        self.part = None
        self.changes = []

    def add(self, key, value):
        if key not in self.KEYS:
            raise ValueError(f"intended.md: rule {self.name}: unknown key `{key}`")
        if key == "part":
            if value not in PARTS:
                raise ValueError(f"intended.md: rule {self.name}: no part `{value}`")
            self.part = value
        elif key in ("path", "config", "class"):
            self.where[key] = re.compile(value)
        elif key == "replace":
            pattern, _, text = value.partition(" => ")
            self.changes.append(("replace", re.compile(pattern), text))
        elif key == "drop":
            self.changes.append(("drop", re.compile(value), ""))
        else:
            self.changes.append((key, None, value))

    def fits(self, script):
        said = {"path": script["request"]["path"], "config": script["config"],
                "class": script["timing"]["class"]}  # fmt: skip
        return all(pattern.search(said[key]) for key, pattern in self.where.items())

    def apply(self, transcript):
        for kind, pattern, text in self.changes:
            if kind == "steps":
                transcript = [join(transcript)]
                continue
            for step in transcript:
                if self.part in step:
                    self.change(step, kind, pattern, text)
        return transcript

    def change(self, step, kind, pattern, text):
        value = step[self.part]
        if kind == "ignore":
            del step[self.part]
        elif kind == "replace":
            one = isinstance(value, str)
            step[self.part] = pattern.sub(text, value) if one else [pattern.sub(text, v) for v in value]
        elif isinstance(value, str):
            kept = [event for event in value.split("\n\n") if not pattern.search(event)]
            step[self.part] = "\n\n".join(kept)
        else:
            step[self.part] = [v for v in value if not pattern.search(v)]
        if not step.get(self.part):
            step.pop(self.part, None)


def read_rules(path=INTENDED):
    """The rules of the file: a heading `### name` and a block marked `rule` below it."""
    rules, name, is_inside = [], None, False
    for line in path.read_text().splitlines():
        if line.startswith("### "):
            name = line[4:].strip()
        elif line.strip() == "```rule":
            is_inside = True
            rules.append(Rule(name))
        elif line.strip() == "```":
            is_inside = False
        elif is_inside and line.strip():
            key, _, value = line.partition(":")
            rules[-1].add(key.strip(), value.strip())
    return rules


def same(script, old, new, rules=()):
    """None when they differ, else the names of the rules that it took."""
    if old == new:
        return []
    fitting = [rule for rule in rules if rule.part != "counters" and rule.fits(script)]
    if not fitting:
        return None
    old, new = json.loads(json.dumps(old)), json.loads(json.dumps(new))
    used = []
    for rule in fitting:
        before = (json.dumps(old), json.dumps(new))
        old, new = rule.apply(old), rule.apply(new)
        if before != (json.dumps(old), json.dumps(new)):
            used.append(rule.name)
        if old == new:
            return used
    return None


def counters_differ(old, new, rules=()):
    """{name: (old, new)} of counters that differ and may not."""
    dropped = [change[1] for rule in rules if rule.part == "counters"
               for change in rule.changes if change[0] == "drop"]  # fmt: skip
    names = sorted(set(old) | set(new))
    return {name: (old.get(name), new.get(name)) for name in names
            if old.get(name) != new.get(name) and not any(p.search(name) for p in dropped)}  # fmt: skip


def show(old, new):
    """The first step that differs, as lines of text."""
    lines = []
    for n in range(max(len(old), len(new))):
        a = old[n] if n < len(old) else {"after": "nothing: it has ended"}
        b = new[n] if n < len(new) else {"after": "nothing: it has ended"}
        if a == b:
            continue
        lines.append(f"step {n}, after {a['after']}:")
        if a["after"] != b["after"]:
            lines += [f"    OLD after: {a['after']}", f"    NEW after: {b['after']}"]
        for part in PARTS[:-2]:
            if a.get(part) != b.get(part):
                lines += side_by_side(part, indented(a.get(part)), indented(b.get(part)))
        return lines
    return ["no difference"]


def side_by_side(part, old, new):
    """Both, without the lines that are the same at their beginning and end."""
    n = 0
    while n < min(len(old), len(new)) and old[n] == new[n]:
        n += 1
    last = 0
    while last < min(len(old), len(new)) - n and old[-1 - last] == new[-1 - last]:
        last += 1
    lines = []
    for name, side in (("OLD", old), ("NEW", new)):
        rest = side[n : len(side) - last]
        lines += [f"    {name} {part}:" + (f" ({n} lines alike, then)" if n else "")]
        lines += rest or ["        (nothing more)"]
    return [*lines, f"    ({last} lines alike)"] if last else lines


def indented(value):
    if value is None:
        return ["        (nothing)"]
    values = value if isinstance(value, list) else [value]
    return [f"        {line}" for v in values for line in v.split("\n") if line]
