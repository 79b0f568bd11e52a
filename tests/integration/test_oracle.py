"""The recorder (tools/oracle): agrees with itself, finds what differs, and its rules hold."""

import json
import subprocess
import sys

import harness
import pytest

FOLDER = harness.ROOT / "tests" / "oracle"
SPOIL = '"role":"assistant"=>"role":"robot"'


@pytest.fixture(scope="module")
def compare():
    sys.path.insert(0, str(FOLDER))
    try:
        import compare as module

        yield module
    finally:
        sys.path.remove(str(FOLDER))


def oracle(*words, old=None, new=None):
    binary = harness.binary()
    command = [sys.executable, harness.ROOT / "tools" / "oracle", old or binary, new or binary]
    return subprocess.run([*map(str, command), *map(str, words)], capture_output=True, text=True,
                          env=harness.environment(None), timeout=280)  # fmt: skip


def test_a_program_agrees_with_itself(tmp_path):
    done = oracle("--streams", 300, "--jobs", 1, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "300 streams of seed 1" in done.stdout and ": 0 differ\n" in done.stdout


def test_a_difference_is_found_shrunk_and_played_again(tmp_path):
    done = oracle("--streams", 30, "--jobs", 1, "--only", "chat", "--show", 1, "--out", tmp_path,
                  "--spoil", SPOIL)  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert '"role":"robot"' in done.stdout
    (kept,) = tmp_path.glob("stream-1-*.json")
    script = json.loads(kept.read_text())
    assert len(script["items"]) <= 2, script
    again = oracle("--replay", kept, "--spoil", SPOIL)
    assert again.returncode == 1 and "\ndifference\n" in again.stdout, again.stdout
    alike = oracle("--replay", kept)
    assert alike.returncode == 0 and "\nsame\n" in alike.stdout, alike.stdout


def test_what_it_cannot_do_is_told(tmp_path):
    for words, message in [
        (["--streams", "none"], "is not a number above 0"),
        (["--only", "nothing"], "invalid choice"),
        (["--stream"], "expected one argument"),
        (["--spoil", "x"], "needs REGEX=>TEXT"),
        (["--no-such-flag"], "unrecognized arguments"),
        (["--replay", tmp_path / "missing"], "missing"),
    ]:
        done = oracle(*words)
        assert done.returncode == 2 and message in done.stderr, (words, done.stderr)
    done = oracle(new=tmp_path)
    assert done.returncode == 2 and "is no program" in done.stderr
    done = oracle("--streams", 3, new="/bin/false")
    assert done.returncode == 2 and "ended with status 1" in done.stderr


# --- the comparison by itself ---

SCRIPT = {"config": "adr", "timing": {"class": "step"}, "request": {"path": "/block-near-plain/v1/x"}}


def rule(compare, *lines):
    made = compare.Rule("r")
    for line in lines:
        key, _, value = line.partition(": ")
        made.add(key, value)
    return made


def test_a_rule_excuses_only_what_it_names(compare):
    old = [{"after": "a", "caller": "data: 1\n\n", "calls": ["x 1"]}]
    new = [{"after": "a", "caller": "data: 2\n\n", "calls": ["x 1"]}]
    assert compare.same(SCRIPT, old, old) == []
    assert compare.same(SCRIPT, old, new) is None
    number = rule(compare, "path: ^/block-", "part: caller", "replace: [0-9] => n")
    assert compare.same(SCRIPT, old, new, [number]) == ["r"]
    elsewhere = rule(compare, "path: ^/redact-", "part: caller", "ignore: yes")
    other_part = rule(compare, "part: calls", "drop: x")
    assert compare.same(SCRIPT, old, new, [elsewhere, other_part]) is None
    assert compare.same(SCRIPT, old, [*new, new[0]], [number]) is None
    assert old[0]["caller"] == "data: 1\n\n", "rules work on copies"


def test_a_rule_may_look_away_from_when(compare):
    old = [{"after": "a", "caller": "1"}, {"after": "b", "caller": "2"}]
    new = [{"after": "a"}, {"after": "b", "caller": "12"}]
    assert compare.same(SCRIPT, old, new) is None
    assert compare.same(SCRIPT, old, new, [rule(compare, "steps: joined")]) == ["r"]
    lost = [{"after": "a", "caller": "1"}, {"after": "b"}]
    assert compare.same(SCRIPT, old, lost, [rule(compare, "steps: joined")]) is None


def test_counters_are_compared_but_for_rules(compare):
    old, new = {"a_total": "1", "b_total": "2"}, {"a_total": "1", "b_total": "3", "c_total": "0"}
    assert compare.counters_differ(old, new) == {"b_total": ("2", "3"), "c_total": (None, "0")}
    meant = [rule(compare, "part: counters", "drop: ^[bc]_")]
    assert compare.counters_differ(old, new, meant) == {}


def test_the_file_of_rules_is_read(compare, tmp_path):
    path = tmp_path / "intended.md"
    path.write_text("### one\nWhy.\n```rule\nconfig: fms\npart: caller\nignore: yes\n```\n")
    (one,) = compare.read_rules(path)
    assert one.name == "one" and one.part == "caller" and not one.fits(SCRIPT)
    for bad in ("what: x", "part: nothing"):
        path.write_text(f"### one\n```rule\n{bad}\n```\n")
        with pytest.raises(ValueError, match="rule one"):
            compare.read_rules(path)
    compare.read_rules()


def test_races_are_compared_by_what_was_said(compare):
    script = {**SCRIPT, "timing": {"class": "race"}}

    def told(*texts, results="[]"):
        events = "".join(
            f'data: {{"choices":[{{"index":0,"delta":{{"content":"{t}"}}}}],'
            f'"detections":{{"output":[{{"choice_index":0,"results":{results}}}]}}}}\n\n'
            for t in texts
        )
        return [{"after": "the end", "caller": f"200\n\n{events}data: [DONE]\n\n"}]

    def record(transcript):
        return compare.record(script, transcript)

    assert record(told("ab", "c")) == record(told("a", "bc"))
    assert record(told("ab")) != record(told("a"))
    assert record(told("ab")) != record(told("ab", results='[{"start":0,"end":1}]'))
