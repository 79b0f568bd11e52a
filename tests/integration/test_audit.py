"""The audit log: what it keeps, that nothing can be changed in it unnoticed, files that come and go."""

import concurrent.futures
import hashlib
import hmac
import json
import os
import random
import signal
import subprocess

import pytest
from harness import StartFailed, wait_until
from policies import CHAT, MAIL
from service import Service
from test_seen import says

KEY = "an-audit-key-of-ours"
ENV = {"AUDIT": KEY, "WEIR_AUDIT_KEY": KEY}
OTHER = "john@example.net"


class Stage:
    def __init__(self, weir, audit, **parts):
        self.weir = weir
        self.model = Service(says("Fine."))
        self.path = weir.folder / "audit.jsonl"
        self.audit = {"path": str(self.path), "key_env": "AUDIT", **audit}
        self.parts = parts
        self.config = weir.write_config(self.tree(), f"audited-{weir.n_started}.yaml")
        self.w = weir(self.config, env=ENV)

    def tree(self):
        pii = {"type": "text_contents", "builtin": "regex", "chunker_id": "windows",
               "params": {"regex": ["email"]}}  # fmt: skip
        both = {"input": {"pii": {}}, "output": {"pii": {}}}
        return {
            "openai": {"service": self.model.config()},
            "chunkers": {"windows": {"builtin": "window", "size": 200, "overlap": 64}},
            "detectors": {"pii": pii},
            "routes": [{"name": "default", **both}, {"name": "redact", **both, "on_detection": "redact"},
                       {"name": "block", **both, "on_detection": "block"}],
            "audit": {name: value for name, value in self.audit.items() if value is not None},
            **self.parts,
        }  # fmt: skip

    def post(self, route="redact", text="Hi", is_stream=False, **headers):
        body = {"model": "m", "messages": [{"role": "user", "content": text}], "stream": is_stream}
        return self.w.api.post(f"/{route}{CHAT}", json=body, headers=headers)

    def lines(self, path=None):
        """Without those that begin a file."""
        text = (path or self.path).read_text()
        return [line for line in map(json.loads, text.splitlines()) if "begins" not in line]

    def wait_lines(self, n, path=None):
        return wait_until(lambda: len(self.lines(path)) >= n and self.lines(path), f"{n} lines")

    def stop(self):
        self.w.stop()
        self.model.close()

    def verify(self, *files, env=ENV, **flags):
        words = [word for name, value in flags.items() for word in (f"--{name}", value)]
        done = self.weir.run("audit", "verify", *words, *(files or [self.path]), env=env)
        return done.returncode, done.stdout.decode()


# --- what is kept ---


def test_one_line_per_decision(weir):
    made = Stage(weir, {})
    made.model.answer = says(f"Ask {MAIL} or {OTHER}, {MAIL}.")
    first = made.post("redact", f"I am {MAIL}")
    lines = made.wait_lines(2)
    assert [(line["side"], line["action"]) for line in lines] == [("input", "redact"), ("output", "redact")]
    for line in lines:
        assert line["request_id"] == first.headers["x-request-id"]
        assert (line["route"], line["model"], line["provider"]) == ("redact", "m", "default")
        assert line["revision"] == made.w.health.get("/info").json()["revision"]
        assert line["time"].endswith("Z") and line["status"] == 200
    found = lines[1]["findings"]
    assert [f["detection"] for f in found] == ["email_address"] * 3
    assert all(f["detector"] == "pii" and f["channel"] == "content" and f["score"] == 1.0 for f in found)
    assert [(f["start"], f["end"]) for f in found] == [(4, 19), (23, 38), (40, 55)]  # of what leaves
    # Equal values can be counted, and cannot be read.
    assert found[0]["hash"] == found[2]["hash"] == lines[0]["findings"][0]["hash"] != found[1]["hash"]
    made.stop()
    text = made.path.read_text()
    assert MAIL not in text and OTHER not in text
    assert hashlib.sha256(MAIL.encode()).hexdigest()[:32] not in text


@pytest.mark.parametrize("is_stream", [False, True])
def test_every_action(weir, is_stream):
    made = Stage(weir, {})
    made.model.answer = says(MAIL)
    for route in ("default", "redact", "block"):
        made.post(route, is_stream=is_stream)
    made.post("block", MAIL, is_stream)
    lines = made.wait_lines(4)
    assert sorted((line["route"], line["side"], line["action"]) for line in lines) == [
        ("block", "input", "block"), ("block", "output", "block"), ("default", "output", "annotate"),
        ("redact", "output", "redact")]  # fmt: skip
    made.stop()


def test_clean_decisions_are_sampled(weir):
    none, all = Stage(weir, {}), Stage(weir, {"sample_clean": 1.0, "path": str(weir.folder / "all")})
    for _ in range(3):
        none.post(), all.post()
    all.wait_lines(6, weir.folder / "all")
    all.stop(), none.stop()
    assert [line["action"] for line in all.lines(weir.folder / "all")] == ["pass"] * 6
    assert none.lines() == []


def test_the_key_has_a_name(weir):
    env = {**ENV, "TEAM": "team-key"}
    model = Service(says("Fine."))
    made = Stage.__new__(Stage)
    made.weir, made.model, made.path = weir, model, weir.folder / "audit.jsonl"
    made.audit = {"path": str(made.path)}
    made.parts = {"auth": {"keys": [{"name": "team", "env": "TEAM", "routes": ["*"]}]}}
    made.w = weir(made.tree(), env=env)
    made.post("redact", MAIL, **{"x-api-key": "team-key"})
    line = made.wait_lines(1)[0]
    assert line["key"] == "team"
    assert "chain" not in line and "hash" not in line["findings"][0]  # no key_env
    made.stop()
    assert "team-key" not in made.path.read_text()


def test_stdout(weir):
    made = Stage(weir, {"path": "stdout"})
    made.post("redact", MAIL)
    wait_until(lambda: "email_address" in made.w.stdout(), "a line on standard output")
    made.stop()
    (weir.folder / "kept").write_text(made.w.stdout())
    assert made.verify(weir.folder / "kept")[0] == 0


def test_findings_without_end_are_counted(weir):
    made = Stage(weir, {})
    made.model.answer = says(f"{MAIL} " * 400)
    made.post("redact")
    line = made.wait_lines(1)[0]
    assert len(line["findings"]) == 256 and line["more"] == 144
    made.stop()


# --- the chain ---


def chain_of(text, key=KEY):
    """Checks a file with a computation of our own; its last chain."""
    last = None
    for line in text.splitlines():
        body, chain = line.removesuffix('"}').rsplit(',"chain":"', 1)
        last = json.loads(line)["begins"] if last is None else last
        assert hmac.new(key.encode(), (last + body).encode(), "sha256").hexdigest() == chain
        last = chain
    return last


@pytest.fixture(scope="module")
def written(module_weir):
    """A file of some thirty lines, and a way to check copies of it."""
    made = Stage(module_weir, {})
    for i in range(30):
        made.post("redact", f"I am {MAIL} {i}")
    made.wait_lines(30)
    made.stop()
    return made, made.path.read_text().splitlines(keepends=True)


def test_a_good_file(written):
    made, lines = written
    last = chain_of("".join(lines))
    assert made.verify() == (0, f"{len(lines)} lines, last {last}\n")
    assert made.verify(expect=last)[0] == 0
    assert [json.loads(line)["n"] for line in lines] == list(range(1, len(lines) + 1))
    assert made.w.log("file closed", last=last)
    status, told = made.verify(env={"WEIR_AUDIT_KEY": "another"})
    assert status == 1 and ":1: " in told


def check(made, lines, name="changed", **flags):
    path = made.weir.folder / name
    path.write_text("".join(lines))
    return made.verify(path, **flags)


def test_any_line_changed(written):
    made, lines = written
    dice = random.Random(7)
    for at, line in enumerate(lines):
        position = dice.randrange(len(line) - 1)
        new = chr((ord(line[position]) - 32 + dice.randrange(1, 94)) % 95 + 32)
        changed = [*lines[:at], line[:position] + new + line[position + 1 :], *lines[at + 1 :]]
        status, told = check(made, changed)
        assert status == 1 and f":{at + 1}: " in told, (at, position, told)


def test_any_line_removed_doubled_or_moved(written):
    made, lines = written
    for at in range(len(lines) - 1):
        status, told = check(made, lines[:at] + lines[at + 1 :])
        assert status == 1 and f":{at + 1}: " in told and "missing" in told
        status, told = check(made, [*lines[: at + 1], *lines[at:]])
        assert status == 1 and f":{at + 2}: " in told
        if at:
            status, told = check(made, [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]])
            assert status == 1 and f":{at + 1}: " in told


def test_an_end_that_was_cut_off(written):
    made, lines = written
    last = chain_of("".join(lines))
    for n in range(1, len(lines)):
        assert check(made, lines[:n])[0] == 0  # the file alone cannot tell
        status, told = check(made, lines[:n], expect=last)
        assert status == 1 and "the end is missing" in told
    status, told = check(made, [*lines[:5], lines[5][:-10]])
    assert status == 1 and ":6: was cut" in told
    assert check(made, [])[0] == 1


def test_a_line_of_somebody_else(written):
    made, lines = written
    forged = json.loads(lines[3])
    del forged["chain"]
    body = json.dumps(forged)[:-1]
    chain = hmac.new(b"guess", body.encode(), "sha256").hexdigest()
    for line in ('{"n":4}\n', body + "}\n", body + f',"chain":"{chain}"}}\n', "x\n", "\n"):
        status, told = check(made, [*lines[:3], line, *lines[4:]])
        assert status == 1 and ":4: " in told


# --- files that come and go ---


def test_a_file_moved_away_and_opened_again(weir):
    made = Stage(weir, {})
    moved = [weir.folder / f"old-{i}" for i in range(2)]
    for i, path in enumerate(moved):
        made.post("redact", f"{MAIL} {i}")
        made.wait_lines(1)
        os.rename(made.path, path)
        made.w.signal(signal.SIGUSR1)
        wait_until(made.path.exists, "the new file")
    made.post("redact", MAIL)
    made.wait_lines(1)
    made.stop()
    files = [*moved, made.path]
    assert made.verify(*files)[0] == 0
    status, told = made.verify(files[0], files[2])
    assert status == 1 and "missing" in told
    # The end of a file that is followed by another cannot be cut off.
    text = moved[0].read_text().splitlines(keepends=True)
    moved[0].write_text("".join(text[:-1]))
    status, told = made.verify(*files)
    assert status == 1 and f"{moved[1]}:1: " in told


def test_a_full_file_is_set_aside(weir):
    made = Stage(weir, {"max_bytes": 65536})
    made.model.answer = says(f"{MAIL} " * 100)
    for _ in range(20):
        made.post("redact")
    wait_until(lambda: len(list(weir.folder.glob("audit.jsonl.*"))) >= 3, "files set aside")
    made.stop()
    files = [*sorted(weir.folder.glob("audit.jsonl.*")), made.path]
    assert made.verify(*files)[0] == 0
    assert sum(len(made.lines(path)) for path in files) == 20


def test_a_restart_goes_on_with_the_chain(weir):
    made = Stage(weir, {})
    made.post("redact", MAIL)
    made.wait_lines(1)
    made.w.stop()
    with open(made.path, "a") as file:
        file.write('{"time":"2026-01-01T00:00:00.000Z","request_id":"torn')
    made.w = weir(made.config, env=ENV)
    made.post("redact", MAIL)
    made.wait_lines(2)
    assert made.w.log("a line without its end was taken off")
    made.stop()
    assert made.verify()[0] == 0
    assert [json.loads(line)["n"] for line in made.path.read_text().splitlines()] == [1, 2, 3, 4]


def test_a_reload_changes_the_file(weir):
    made = Stage(weir, {})
    made.post("redact", MAIL)
    made.wait_lines(1)
    other = weir.folder / "other"
    made.audit["path"] = str(other)
    weir.write_config(made.tree(), made.config.name)
    made.w.signal(signal.SIGHUP)
    made.w.wait_log("configuration reloaded")
    wait_until(lambda: made.post("redact", MAIL) and other.exists() and made.lines(other), "a line")
    made.stop()
    assert made.verify()[0] == 0 and made.verify(other)[0] == 0


# --- many at once, and a disk that is full ---


def test_many_workers_one_chain(weir):
    made = Stage(weir, {})
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: made.post("redact", f"{MAIL} {i}"), range(200)))
    made.wait_lines(200)
    made.stop()
    assert made.verify()[0] == 0
    assert len({line["request_id"] for line in made.lines()}) == 200


def value(w, result):
    for line in w.health.get("/metrics").text.splitlines():
        if line.startswith(f'weir_audit_lines_total{{result="{result}"}}'):
            return float(line.split()[-1])
    return 0


def test_a_file_that_cannot_be_opened_is_no_start(weir):
    with pytest.raises(StartFailed, match="audit"):
        Stage(weir, {"path": str(weir.folder / "no" / "such")})


def limited(made, n):
    """From now on no file of the server grows beyond this."""
    subprocess.run(["prlimit", f"--pid={made.w.pid}", f"--fsize={n}:"], check=True)


def test_a_disk_that_is_full_drops_lines(weir):
    made = Stage(weir, {"on_error": "drop"})
    made.post("redact", MAIL)
    made.wait_lines(1)
    limited(made, made.path.stat().st_size + 100)
    answers = [made.post("redact", MAIL).status_code for _ in range(3)]
    assert answers == [200] * 3
    wait_until(lambda: value(made.w, "dropped") == 3, "three lines to be counted as dropped")
    limited(made, "unlimited")
    made.post("redact", MAIL)
    made.wait_lines(2)
    assert value(made.w, "written") == 2
    made.stop()
    assert made.verify()[0] == 0, "what could not be written is not in the chain"


def test_a_disk_that_is_full_stops_requests_where_that_is_asked_for(weir):
    made = Stage(weir, {"on_error": "fail"})
    made.post("redact", MAIL)
    made.wait_lines(1)
    limited(made, made.path.stat().st_size + 100)
    made.post("redact", MAIL)
    refused = wait_until(lambda: (a := made.post("redact", MAIL)).status_code == 503 and a, "503")
    assert refused.headers["retry-after"] and "audit" in refused.json()["error"]["message"]
    body = {"content": "x", "detectors": {"pii": {}}}
    assert made.w.api.post("/api/v2/text/detection/content", json=body).status_code == 200
    limited(made, "unlimited")
    wait_until(lambda: made.post("redact", MAIL).status_code == 200, "requests to be taken again")
    made.stop()
    assert made.verify()[0] == 0
    assert len(made.lines()) >= 3, "nothing that was decided is missing"


@pytest.mark.parametrize("on_error", ["drop", "fail"])
def test_a_file_that_cannot_be_opened_again_is_tried_until_it_can(weir, on_error):
    """Nothing waits to be written when it fails: no request is refused for ever because of it."""
    folder, moved = weir.folder / "logs", weir.folder / "old"
    folder.mkdir()
    made = Stage(weir, {"on_error": on_error, "path": str(folder / "audit.jsonl")})
    made.post("redact", MAIL)
    made.wait_lines(1, folder / "audit.jsonl")
    folder.rename(moved)
    made.w.signal(signal.SIGUSR1)
    made.w.wait_log("the audit log cannot be opened again, the old file is kept")
    assert made.post("redact", MAIL).status_code == 200
    made.wait_lines(2, moved / "audit.jsonl")
    folder.mkdir()
    made.w.wait_log("the audit log is opened again")
    assert made.post("redact", MAIL).status_code == 200
    made.wait_lines(1, folder / "audit.jsonl")
    made.stop()
    assert made.verify(moved / "audit.jsonl", folder / "audit.jsonl")[0] == 0


# --- the command ---


def test_the_command_explains_itself(weir):
    help = weir.run("audit", "--help")
    assert help.returncode == 0 and b"--expect" in help.stdout
    for words in ((), ("check",), ("verify",), ("verify", "--what", "x", "f"), ("verify", "--expect", "x")):
        done = weir.run("audit", *words, env=ENV)
        assert done.returncode == 2 and b"weir audit --help" in done.stderr, words
    assert weir.run("audit", "verify", "f").returncode == 2  # no key
    missing = weir.run("audit", "verify", weir.folder / "none", env=ENV)
    assert missing.returncode == 1 and b"cannot be read" in missing.stderr
