"""What the scripted detectors say: findings that follow from the text alone, and faults."""

import json
import re

# word: (detection, type, score). Detectors have a threshold of 0.5, or 0.3 by request.
WORDS = {
    "rotten": ("insult", "hap", 0.9),
    "meh": ("insult", "hap", 0.4),
    "faint": ("insult", "hap", 0.1),
    "jane@example.org": ("email", "pii", 0.8),
    "гнилой": ("insult", "hap", 0.7),
    "🔥🔥": ("fire", "hap", 1.0),
    "two words": ("pair", "hap", 0.6),
}
PATTERN = re.compile("|".join(re.escape(word) for word in sorted(WORDS, key=len, reverse=True)))
FAULTS = ["500", "404", "503", "nonsense", "empty", "surplus", "span", "score", "close"]


def findings(text):
    found = []
    for match in PATTERN.finditer(text):
        detection, kind, score = WORDS[match.group()]
        found.append({
            "start": match.start(), "end": match.end(), "text": match.group(),
            "detection": detection, "detection_type": kind, "score": score,
        })  # fmt: skip
    return found


def about_whole(text):
    """Findings without a place: one for each kind that occurs."""
    kinds = sorted({WORDS[match][:2] for match in PATTERN.findall(text)})
    score = 0.9 if "rotten" in text else 0.6
    return [{"detection": d, "detection_type": t, "score": score} for d, t in kinds]


def answer(path, body, fault=None):
    """(status, body) of one call; without a body the answer begins and breaks off."""
    if fault == "close":
        return 200, None
    if fault in ("500", "404", "503"):
        return int(fault), json.dumps({"code": int(fault), "message": "the script says so"})
    if fault == "nonsense":
        return 200, '{"not": "a list"'
    if path.endswith("/models"):
        return 200, json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]})
    try:
        asked = json.loads(body)
    except ValueError:
        return 400, json.dumps({"code": 400, "message": "the body is not JSON"})
    if path.endswith("/tokenize"):
        n = len(asked["prompt"].split()) if isinstance(asked.get("prompt"), str) else 1
        return 200, json.dumps({"count": n, "max_model_len": 4096, "tokens": list(range(n))})
    if not path.endswith("/contents"):
        asked.pop("detector_params", None)
        text = json.dumps(asked, ensure_ascii=False)
        return 200, json.dumps([] if fault == "empty" else about_whole(text))
    lists = [findings(text) for text in asked["contents"]]
    return 200, json.dumps(spoil(lists, fault))


def spoil(lists, fault):
    if fault == "empty":
        return []
    if fault == "surplus":
        return [*lists, []]
    wrong = {"start": 0, "end": 9999, "text": "x", "detection": "d", "detection_type": "t", "score": 1}
    if fault == "span":
        return [[wrong], *lists[1:]]
    if fault == "score":
        return [[{**wrong, "end": 1, "score": "high"}], *lists[1:]]
    return lists
