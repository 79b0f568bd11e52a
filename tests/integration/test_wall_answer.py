"""The wall around an answer, as a property: a marker is put in every place of an answer that the
format has, one place at a time, whole and streamed, in every type that can carry text. What leaves
a route that redacts or blocks is then exactly what the tables of docs/policies.md let through.

The places are generated from FORMAT, which has the members of chat completions and completions as
OpenAI, vLLM and Azure write them; and from what nobody knows, in every object."""

import copy
import json
import re

import harness
import mock as mocks
import policies
import pytest
import streams
from policies import CHAT, TEXT, ask, post

ENFORCING = ["redact", "block"]

# Kinds of members: "text" may say anything and is looked at; "arguments" likewise, as JSON; "name"
# cannot be replaced; "id", "word" and "call id" have forms; "number" and "flag" say nothing; "plain"
# is any tree of numbers, flags and words; "gone" never leaves.
LOGPROB = {"token": "logprob", "bytes": ["number"], "logprob": "number",
           "top_logprobs": [{"token": "gone", "bytes": ["gone"], "logprob": "gone"}]}  # fmt: skip
FILTERS = {"hate": {"filtered": "flag", "severity": "word"},
           "protected_material_code": {"detected": "flag", "citation": {"URL": "plain", "license": "plain"}},
           "error": {"code": "word", "message": "plain"},
           "custom_blocklists": {"details": [{"id": "word", "filtered": "flag"}]}}  # fmt: skip
USAGE = {"prompt_tokens": "number", "note": "word",
         "prompt_tokens_details": {"cached_tokens": "number", "kind": "word"}}  # fmt: skip
TOP = {"id": "id", "object": "id", "created": "number", "model": "id", "service_tier": "word",
       "system_fingerprint": "id", "usage": USAGE, "prompt_logprobs": ["gone"], "prompt_token_ids": ["gone"],
       "prompt_filter_results": [{"prompt_index": "number", "content_filter_results": FILTERS}]}  # fmt: skip
CHOICE = {"index": "place", "finish_reason": "reason", "stop_reason": "reason", "token_ids": ["gone"],
          "content_filter_results": FILTERS,
          "content_filter_offsets": {"check_offset": "number", "start_offset": "number"}}  # fmt: skip
BODY = {"role": "role", "content": "text", "reasoning": "text", "reasoning_content": "text", "refusal": "text",
        "audio": {"id": "id", "data": "gone", "expires_at": "number", "transcript": "text"},
        "tool_calls": [{"index": "place", "id": "call id", "type": "word",
                        "function": {"name": "name", "arguments": "arguments"}},
                       {"index": "place", "id": "call id", "type": "word",
                        "custom": {"name": "name", "input": "text"}}],
        "function_call": {"name": "name", "arguments": "arguments"},
        "annotations": [{"type": "gone", "url_citation": {"url": "gone", "title": "gone"}}]}  # fmt: skip
CHAT_LOGPROBS = {"content": [LOGPROB], "refusal": [LOGPROB]}
TEXT_LOGPROBS = {"tokens": ["gone"], "token_logprobs": ["gone"], "top_logprobs": [{"a": "gone"}],
                 "text_offset": ["gone"]}  # fmt: skip
FORMAT = {
    CHAT: {**TOP, "choices": [{**CHOICE, "logprobs": CHAT_LOGPROBS, "message": BODY}]},
    TEXT: {**TOP, "choices": [{**CHOICE, "logprobs": TEXT_LOGPROBS, "text": "text"}]},
}

# What may leave although nobody looks at it, by its form (docs/policies.md): a marker that has the
# form passes, one that has not must not.
NO_ADDRESS = r"(?!.*\w@[\w-]+\.[a-z])"
FORMS = {"id": NO_ADDRESS + r"[A-Za-z0-9_.:/+=@-]{1,128}", "call id": NO_ADDRESS + r"[A-Za-z0-9_.:/+=@-]{1,16384}",
         "word": r"[A-Za-z_]{1,32}", "reason": r"[A-Za-z_]{1,32}", "plain": r"[A-Za-z_]{1,32}"}  # fmt: skip
DEFAULTS = {"number": 7, "flag": False, "place": 0, "gone": None, "text": None, "arguments": "{}", "name": "f",
            "role": "assistant", "reason": None, "id": "a-1", "call id": "call_1", "word": "safe", "plain": None,
            "logprob": None}  # fmt: skip

MAIL = "m{}@leak.example.org"  # found, and of characters that ids may have
SENTENCE = "so m{}@leak.example.org it is"  # found, and is nothing but text
WORD = "marker_{}_word"  # not found: only a form could let it through
MODEL = "marker-{}@2024.06"  # likewise, and with an `@` that is no address's
LENGTH = len(MAIL.format(0))


def places(node, path=()):
    """(path, kind) of every member."""
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, list):
        for i, inner in enumerate(node):
            yield from places(inner, (*path, i))
    else:
        for name, inner in node.items():
            yield from places(inner, (*path, name))


def objects(node, path=()):
    """The path of every object."""
    if isinstance(node, dict):
        yield path
    for key, inner in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from objects(inner, (*path, key))


def fill(node, path=()):
    """An answer in which every member has a value that says nothing."""
    if isinstance(node, str):
        return path[-2] if node == "place" and "tool_calls" in path else DEFAULTS[node]
    if isinstance(node, list):
        return [fill(inner, (*path, i)) for i, inner in enumerate(node)]
    return {name: fill(inner, (*path, name)) for name, inner in node.items()}


def put(tree, path, value):
    """The answer with that value there; the other body of a choice is left out where it would not be true."""
    tree = copy.deepcopy(tree)
    at = tree
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return tree


def clean(path):
    """Nothing in it is found; logprobs are there only where they are the subject: they must be the text."""
    tree = fill(FORMAT[path])
    tree["choices"][0]["finish_reason"] = "stop"
    tree["choices"][0]["logprobs"] = None
    return tree


def as_events(tree, path):
    """The same as a stream: one event that says all, and its end."""
    event = copy.deepcopy(tree)
    for choice in event["choices"]:
        if path == CHAT:
            choice["delta"] = choice.pop("message")
    return [event, "data: [DONE]\n\n"]


def carriers(marker):
    """Every type that can carry it."""
    return {"string": marker, "list": [marker], "object": {"k": marker}, "name": {marker: 1},
            "deep": [{"k": [marker, {"a": {"b": marker}}]}], "escaped": Escaped(marker),
            "JSON": json.dumps({"k": [marker]}), "JSON with escapes": dump({"k": [1, {"a": Escaped(marker)}]}),
            "JSON with its name": dump({"k": {Escaped(marker): 1}})}  # fmt: skip


class Escaped(str):
    """Written with every character as \\uXXXX."""


def dump(tree):
    found = []

    def mark(node):
        if isinstance(node, Escaped):
            found.append("".join(f"\\u{ord(c):04x}" for c in node))
            return f"<<{len(found) - 1}>>"
        if isinstance(node, dict):
            return {mark(k): mark(v) for k, v in node.items()}
        return [mark(v) for v in node] if isinstance(node, list) else node

    text = json.dumps(mark(tree))
    return re.sub("<<([0-9]+)>>", lambda m: found[int(m[1])], text)


def answers(gateway, route, path, tree):
    """What the caller gets, whole and streamed; of a stream each choice's texts are put together."""
    events = [f"data: {dump(e)}\n\n" if isinstance(e, dict) else e for e in as_events(tree, path)]
    whole = post(gateway, route, ask(mock={"answer": json.loads(dump(tree))}, path=path, n=1), path)
    streamed = post(gateway, route, ask(mock={"events": events}, path=path, stream=True, n=1), path)
    return {"whole": whole, "stream": streamed}


def decoded(answer):
    """All that it says, escapes decoded, tool calls too."""
    return answer.text.encode().decode("unicode_escape", "replace") + answer.text.replace("\\", "")


@pytest.fixture(scope="module")
def gateway(module_weir, tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    hole = {"name": "hole", "output": {"pii": {}}, "on_detection": "redact", "unguarded": ["unknown_members"]}
    check = [{"name": f"check-{action}", "output": {"pii": {}}, "on_detection": action, "unknown_members": "check"}
             for action in ENFORCING]  # fmt: skip
    tree = policies.config(servers("--seed", 1), [hole, *check])
    tree["limits"] = {"max_header_bytes": 262144}
    yield module_weir(tree)
    servers.stop_all()


def leaks(gateway, route, path, tree, marker):
    return sorted(how for how, answer in answers(gateway, route, path, tree).items()
                  if marker.lower() in decoded(answer).lower())  # fmt: skip


# Members that fail a request, or end a choice, when they are wrong: each has an answer of its own. The
# others share one, each with its own marker.
ALONE = ("text", "arguments", "name", "call id", "place")


def with_logprobs(path):
    """Each entry is the text it stands for, by its bytes."""
    tree = clean(path)
    choice = tree["choices"][0]
    choice["logprobs"] = fill(FORMAT[path])["choices"][0]["logprobs"]
    for name, text in {"content": "Hi.", "refusal": "No."}.items() if path == CHAT else ():
        choice["message"][name] = text
        choice["logprobs"][name][0] |= {"token": text, "bytes": list(text.encode())}
    return tree


def passing(gateway, route, path, shape, type_):
    """{place: [how]} of the markers that leave, over all places."""
    found = {}
    several = {}
    for n, (place, kind) in enumerate(places(FORMAT[path])):
        marker = shape.format(n)
        value = carriers(marker)[type_]
        tree = clean(path)
        if "with" in type_ and kind != "arguments":
            continue  # escapes inside of a text are text
        if kind in ALONE:
            found[place] = leaks(gateway, route, path, put(tree, place, value), marker)
        else:
            several[place] = (marker, value)
    tree = with_logprobs(path)
    for place, (_, value) in several.items():
        tree = put(tree, place, value)
    got = answers(gateway, route, path, tree)
    for place, (marker, _) in several.items():
        found[place] = sorted(how for how, answer in got.items() if marker.lower() in decoded(answer).lower())
    assert all(answer.status_code == 200 for answer in got.values())
    return found


def test_the_format_passes_where_it_is_clean(gateway):
    """Else the tests below would be about answers that fail for other reasons."""
    for path in FORMAT:
        for route in (*ENFORCING, None):
            for how, answer in answers(gateway, route, path, clean(path)).items():
                assert answer.status_code == 200 and "data: {\"error" not in answer.text, (route, how, answer.text)


@pytest.mark.parametrize("route", ENFORCING)
@pytest.mark.parametrize("path", FORMAT)
def test_what_leaves_is_what_the_tables_say(gateway, path, route):
    """Every member with a text that is found, with one that has its form, and with neither, in every type."""
    kinds = dict(places(FORMAT[path]))
    wrong = []
    for shape in (MAIL, SENTENCE, WORD, MODEL):
        for type_ in carriers(""):
            for place, got in passing(gateway, route, path, shape, type_).items():
                kind = kinds[place]
                marker = shape.format(0)
                has_form = bool(re.fullmatch(FORMS.get(kind, "(?!)"), marker)) and type_ in ("string", "escaped")
                is_string = type_ in ("string", "escaped") or "JSON" in type_
                is_text = kind in ("text", "arguments", "name", "logprob") and is_string
                is_plain = kind in ("plain", "word", "number", "flag") and len(place) > 1
                may_pass = has_form or (shape in (WORD, MODEL) and (is_text or is_plain))
                if got and not may_pass:
                    wrong.append((place, kind, type_, shape, got))
                if has_form and type_ == "string" and len(got) != 2 and kind != "reason":
                    wrong.append((place, kind, type_, shape, "passes only as", got))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("route", [*ENFORCING, "check-redact", "check-block"])
@pytest.mark.parametrize("path", FORMAT)
def test_members_nobody_knows(gateway, path, route):
    """In every object at once, by value and by name."""
    where = [place for place in objects(FORMAT[path]) if clean_has(path, place)]
    for type_ in (*carriers(""), "its name"):
        tree = clean(path)
        for n, place in enumerate(where):
            value = carriers(MAIL.format(n)).get(type_)
            tree = put(tree, (*place, "x_new") if value else (*place, MAIL.format(n)), value or 1)
        for how, answer in answers(gateway, route, path, tree).items():
            assert answer.status_code == 200 and "leak.example" not in decoded(answer), (type_, how, answer.text)


# Where members nobody knows are looked at: what a choice, its body and the answer have of them.
CHECKED = {CHAT: [(), ("choices", 0), ("choices", 0, "message")], TEXT: [(), ("choices", 0)]}


@pytest.mark.parametrize("path", FORMAT)
def test_unknown_members_that_are_looked_at(gateway, path):
    """`unknown_members: check`: they leave, with what is found in them replaced or, in a name, taken out."""
    deep = {"k": [1, True, {"a": "so %s it is"}], "n": 5.5}
    for place in CHECKED[path]:
        name = f"x_{len(place)}"
        put_there = put(clean(path), (*place, name), json.loads(json.dumps(deep).replace("%s", MAIL.format(1))))
        whole, streamed = answers(gateway, "check-redact", path, put_there).values()
        events = streams.events(streamed.text)
        for text in (whole.text, json.dumps(events)):
            left = json.dumps({name: deep}).replace("%s", "[email_address]")[1:-1].replace(" ", "")
            assert left in text.replace(" ", ""), (place, text)
        entries = [e for part in [whole.json(), *events] for e in part.get("detections", {}).get("output", [])]
        told = {e["path"] for e in entries if e.get("channel") == "unknown_members"}
        assert len(told) == 1 and told.pop().endswith(f"/{name}/k/2/a")
        named = put(clean(path), (*place, name), {"fine": 1, MAIL.format(2): 1})
        for how, answer in answers(gateway, "check-redact", path, named).items():
            assert f'"{name}":{{"fine":1}}' in answer.text.replace(" ", ""), (place, how, answer.text)
        for how, answer in answers(gateway, "check-block", path, put_there).items():
            assert "content_filter" in answer.text and f'"{name}"' not in answer.text, (place, how, answer.text)
        image = put(clean(path), (*place, name), [{"url": " DATA:image/png;base64,AAAA"}])
        for how, answer in answers(gateway, "check-redact", path, image).items():
            assert answer.status_code == 200 and "base64" not in answer.text, (place, how)


@pytest.mark.parametrize("at", range(1, LENGTH))
def test_unknown_members_cut_at_every_position(gateway, at):
    """A string that goes on in the next event's string of the same name is one text."""
    marker = MAIL.format(0)
    events = [{"id": "c", "choices": [{"index": 0, "delta": {"content": "a", "mood": {"say": piece}}}]}
              for piece in (f"so {marker[:at]}", marker[at:], " it is")]  # fmt: skip
    events.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    said = heard(gateway, "check-redact", CHAT, events)
    assert said[("delta", "mood", "say")] == "so [email_address][email_address] it is"
    assert said[("delta", "content")] == "aaa"
    said = heard(gateway, "check-block", CHAT, events)
    assert ("delta", "mood", "say") not in said and said[("finish_reason",)] == "content_filter"


def test_unknown_lists_are_joined_by_index(gateway):
    """As clients put them together: by `index`, not by the place in the event."""
    marker = MAIL.format(0)
    lists = [[{"index": 0, "text": "zz"}, {"index": 1, "text": marker[:6]}, {"index": 2, "text": "yy"}],
             [{"index": 1, "text": marker[6:]}]]  # fmt: skip
    events = [{"id": "c", "choices": [{"index": 0, "delta": {"content": "a", "x": one}}]} for one in lists]
    events.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    said = heard(gateway, "check-redact", CHAT, events)
    assert marker[:6] not in str(said) and marker[6:] not in str(said) and "zz" in str(said)


@pytest.mark.parametrize("pieces", [["\ndata:image/png;base64,QUJD"], ["D\tATA:x,QUJD"], ["da", "ta:x,QUJD"]])
def test_unknown_members_that_are_data(gateway, pieces):
    events = [{"id": "c", "choices": [{"index": 0, "delta": {"content": "a", "x": piece}}]} for piece in pieces]
    events.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    assert "QUJD" not in str(heard(gateway, "check-redact", CHAT, events))


def test_a_hole_is_seen(gateway):
    """The tests above can fail: what a route lets through by its configuration is found by them."""
    tree = put(clean(CHAT), ("choices", 0, "message", "x_new"), [MAIL.format(1)])
    assert leaks(gateway, "hole", CHAT, tree, MAIL.format(1)) == ["stream", "whole"]
    assert leaks(gateway, "redact", CHAT, tree, MAIL.format(1)) == []


def clean_has(path, place):
    at = clean(path)
    for step in place:
        at = at[step] if at is not None else None
    return isinstance(at, dict)


def test_annotate_tells_every_text(gateway):
    """Nothing is changed; what is found in a text is told, with its channel."""
    for path in FORMAT:
        for n, (place, kind) in enumerate(places(FORMAT[path])):
            if kind not in ("text", "arguments", "name"):
                continue
            tree = put(clean(path), place, SENTENCE.format(n))
            for how, answer in answers(gateway, None, path, tree).items():
                told = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
                told = told if how == "stream" else [answer.json()]
                entries = [e for part in told for e in part.get("detections", {}).get("output", []) if e["results"]]
                assert len(entries) == 1 and MAIL.format(n) in decoded(answer), (place, how, answer.text)


# --- cut over events ---


def cut_event(path, place, piece, finish=None):
    """An event in which that text says the piece."""
    value = piece
    for step in reversed(place):
        value = [value] if isinstance(step, int) else {step: value}
    if "tool_calls" in place:
        i = place[place.index("tool_calls") + 1]
        kind, member = place[-2:]
        value = {"tool_calls": [{"index": i, "id": f"c{i}", "type": kind, kind: {"name": "f", member: piece}}]}
    choice = {"index": 0, "finish_reason": finish}
    choice |= {"delta": value} if path == CHAT else value
    return {"id": "c", "choices": [choice]}


def texts_of(path):
    """Places of texts, inside of what a choice says."""
    depth = 3 if path == CHAT else 2
    return [(p[depth:], k) for p, k in places(FORMAT[path]) if k in ("text", "arguments")]


def gathered(answer):
    """Each text of the choice, put together, and tool calls by their index."""
    said = {}
    for event in streams.events(answer.text):
        for choice in event["choices"]:
            for place, text in leaves(choice):
                said[place] = said.get(place, "") + text
    return said


def leaves(node, path=()):
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, dict):
        for name, inner in node.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(node, list):
        for i, inner in enumerate(node):
            key = inner.get("index", i) if isinstance(inner, dict) else i
            yield from leaves(inner, (*path, key))


def halves(path, at):
    """[(place, before, behind)] of every text, its marker cut there."""
    for n, (place, kind) in enumerate(texts_of(path)):
        text = f"so {MAIL.format(n)} it is"
        text = json.dumps({"to": text}) if kind == "arguments" else text
        start = text.index(MAIL.format(n))
        yield place, text[: start + at], text[start + at :]


def heard(gateway, route, path, events):
    mock = {"events": streams.raw_events(*events, "data: [DONE]\n\n")}
    answer = post(gateway, route, ask(mock=mock, path=path, stream=True, n=1), path)
    assert answer.status_code == 200 and "data: {\"error" not in answer.text, answer.text
    return gathered(answer)


@pytest.mark.parametrize("at", range(1, LENGTH))
@pytest.mark.parametrize("path", FORMAT)
def test_cut_at_every_position(gateway, path, at):
    """Each text's marker over two events, with all the other texts between them, and with a finish_reason on
    each event or on the last one."""
    parts = list(halves(path, at))
    for finish in (None, "stop"):
        first = [cut_event(path, place, before, finish) for place, before, _ in parts]
        then = [cut_event(path, place, behind, finish) for place, _, behind in parts]
        end = cut_event(path, parts[0][0], "", "stop")
        said = heard(gateway, "redact", path, [*first, *then, end])
        text = json.dumps(list(said.values()))
        assert "leak.example" not in text and text.count("[email_address]") == len(parts), said
        for place, before, behind in parts if finish is None else ():
            others = [cut_event(path, other, " ") for other, _, _ in parts if other != place]
            events = [cut_event(path, place, before), *others, cut_event(path, place, behind), end]
            text = json.dumps(list(heard(gateway, "block", path, events).values()))
            assert "leak.example" not in text and policies.FALLBACK in text, (place, text)


@pytest.mark.parametrize("path", [CHAT, TEXT])
@pytest.mark.parametrize("route", ENFORCING)
def test_credentials_do_not_leave_as_ids(gateway, route, path):
    """Many have the form of an id, and nobody looks at ids."""
    drawn = ["gh" + "p_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5", "AKI" + "AQWERTYUIOPASDFGH"]
    kinds = ("id", "call id", "word", "reason", "plain")
    for place, _ in [one for one in places(FORMAT[path]) if one[1] in kinds]:
        for credential in drawn:
            tree = put(clean(path), place, credential)
            assert leaks(gateway, route, path, tree, credential) == [], place
