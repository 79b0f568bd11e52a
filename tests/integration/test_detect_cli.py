"""`weir detect`: files, folders and standard input; lines and JSON; exit statuses. Its other inputs and
outputs are in test_detect_sources.py."""

import json
import os
import pty
import subprocess

import harness
import pytest

TOKEN = "ghp_4kTz9XqLm2Wv7RbNc5YhPd8JsGf3EuAo1Ki6"
KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "\n".join("MIIEpAIBAAKCAQEA%048d" % (i * 7919**9) for i in range(12))
    + "\n-----END RSA PRIVATE KEY-----\n"
)
REMOTE = {
    "type": "text_contents",
    "service": {"hostname": "localhost", "port": 9},
    "chunker_id": "whole_doc_chunker",
}


def builtin(kind, **params):
    tree = {"type": "text_contents", "builtin": kind, "chunker_id": "whole_doc_chunker"}
    return {**tree, "params": params} if params else tree


def detect(weir, *args, stdin=b"", status=None, env=None):
    stdin = stdin if isinstance(stdin, bytes) else stdin.encode()
    done = weir.run("detect", *args, stdin=stdin, env=env)
    done.out = done.stdout.decode()
    done.err = done.stderr.decode()
    if status is not None:
        assert done.returncode == status, done.out + done.err
    return done


def found(weir, *args, **options):
    done = detect(weir, "--json", *args, **options)
    assert done.err == ""
    return [json.loads(line) for line in done.out.splitlines()]


# --- what is printed ---


def test_standard_input(weir):
    text = f"Grüße 😀 an ann@example.com\n\n  token {TOKEN}\n"
    done = detect(weir, stdin=text, status=2)
    assert done.out.splitlines() == [
        "-:1:12: pii/email_address (regex, 1.00) ann@example.com",
        f"-:3:9: secret/github_token (secrets, 1.00) {TOKEN}",
    ]
    assert done.err == "2 findings in 1 of 1 file\n"
    assert detect(weir, "-", stdin=text, status=2).out == done.out
    clean = detect(weir, stdin="nothing here", status=0)
    assert (clean.out, clean.err) == ("", "0 findings in 0 of 1 file\n")
    assert detect(weir, stdin="", status=0).err == "0 findings in 0 of 1 file\n"


def test_json(weir):
    text = "\ufeffGrüße 😀\r\nan ann@example.com"
    assert found(weir, stdin=text, status=2) == [
        {
            "file": "-",
            "line": 2,
            "column": 4,
            "start": 12,
            "end": 27,
            "text": "ann@example.com",
            "detection": "email_address",
            "detection_type": "pii",
            "detector_id": "regex",
            "score": 1.0,
            "fingerprint": "c9f44f2d9f1bf3ddb24e10f80f6bee86",
        }
    ]
    assert found(weir, stdin="nothing", status=0) == []


def test_nothing_in_a_line_moves_the_cursor(weir, tmp_path):
    config = weir.write_config({"detectors": {"all": builtin("regex", regex=["a[^z]*z"])}})
    name = tmp_path / "evil\n\x1b[2J.txt"
    name.write_bytes(b"x a\n\x1b[31m\xe2\x80\xae\t\x9b" + b"b" * 200 + b"z")
    out = detect(weir, "--config", config, name, status=2).out
    assert out.count("\n") == 1 and "\x1b" not in out and "\u202e" not in out
    assert "evil\\n\\u{1b}[2J.txt:1:3:" in out
    assert "a\\n\\u{1b}[31m\\u{202e}\\t\ufffdbbb" in out and out.endswith("b…\n")


def test_colours_are_for_terminals(weir, tmp_path):
    path = tmp_path / "x"
    path.write_text("ann@example.com")

    def on_terminal(**extra):
        try:
            ours, theirs = pty.openpty()
        except OSError:
            pytest.skip("this machine has no pseudo-terminals: /dev/pts is not mounted")
        env = harness.environment({"TERM": "xterm", **extra})
        subprocess.run([harness.binary(), "detect", path], env=env, stdout=theirs, stderr=theirs)
        os.close(theirs)
        text = os.read(ours, 65536).decode()
        os.close(ours)
        return text

    assert "\x1b[" in on_terminal()
    assert "ann@…****" in on_terminal(NO_COLOR="1")
    assert "\x1b[" not in on_terminal(NO_COLOR="1")
    assert "\x1b[" not in on_terminal(TERM="dumb")
    assert "\x1b[" not in detect(weir, path).out


# --- files and folders ---


def test_folders(weir, tmp_path):
    tree = tmp_path / "tree"
    for name in ("b.txt", "a/z.txt", "a/deep/er/x.txt", ".git/config", "a/.svn/x", ".hidden"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("ann@example.com")
    (tree / "c.bin").write_bytes(b"\x7fELF\0\0 ann@example.com")
    (tree / "a.txt").write_text("clean")
    (tree / "empty").mkdir()
    (tree / "loop").symlink_to(tree)
    (tree / "a/up").symlink_to("..")
    (tree / "link.txt").symlink_to("b.txt")
    os.mkfifo(tree / "pipe")
    done = detect(weir, tree, status=2)
    expected = [".hidden", "a/deep/er/x.txt", "a/z.txt", "b.txt"]
    assert [line.split(":")[0] for line in done.out.splitlines()] == [
        str(tree / name) for name in expected
    ]
    assert done.err == "4 findings in 4 of 5 files\n"
    # What is named is read: a link, a folder through one, a binary file, with a slash or without.
    for name in ("link.txt", "c.bin", "a/up/b.txt"):
        assert len(found(weir, tree / name, status=2)) == 1
    assert len(found(weir, tree / "loop", status=2)) == 4
    slashed = found(weir, f"{tree}/a/", status=2)
    assert [one["file"] for one in slashed] == [f"{tree}/a/deep/er/x.txt", f"{tree}/a/z.txt"]


def test_several_paths_in_their_order(weir, tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(f"{name}@example.com")
    files = [one["file"] for one in found(weir, tmp_path / "b", "-", tmp_path / "a", stdin="c@example.com")]
    assert files == [str(tmp_path / "b"), "-", str(tmp_path / "a")]
    (tmp_path / "--json").write_text("x@example.com")
    done = weir.run("detect", "--", str(tmp_path / "--json"))
    assert done.returncode == 2 and b"x@example.com" in done.stdout


def test_what_cannot_be_read_is_an_error(weir, tmp_path):
    good = tmp_path / "good"
    good.write_text("ann@example.com")
    done = detect(weir, tmp_path / "missing", good, status=1)
    assert "missing: No such file or directory" in done.err
    assert "ann@example.com" in done.out
    assert done.err.endswith("1 finding in 1 of 1 file; 1 error\n")
    if os.geteuid() != 0:
        good.chmod(0)
        assert "Permission denied" in detect(weir, tmp_path, status=1).err
    deep = tmp_path / "deep"
    deep.mkdir()
    here = os.open(deep, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert "more than 256 folders deep" in detect(weir, deep, status=1).err
    assert "Not a directory" in detect(weir, good / "x", status=1).err


def test_a_closed_pipe_ends_it(weir, tmp_path):
    path = tmp_path / "many"
    path.write_text("ann@example.com\n" * 100000)
    env = harness.environment({})
    command = f"{harness.binary()} detect {path} | head -n 1"
    done = subprocess.run(command, shell=True, env=env, capture_output=True, timeout=200)
    assert done.stdout.count(b"\n") == 1
    full = subprocess.run(
        f"{harness.binary()} detect {path} >/dev/full", shell=True, env=env, capture_output=True
    )
    assert full.returncode == 1 and b"standard output" in full.stderr


# --- texts ---


def test_bytes_that_are_no_text(weir):
    text = b"\xff\xfd \xc3 \xe2\x82 ann@example.com \xf0\x9f\x98\x80 b@example.com\xe2"
    assert [(one["column"], one["text"]) for one in found(weir, stdin=text, status=2)] == [
        (9, "ann@example.com"),
        (27, "b@example.com"),
    ]


@pytest.mark.parametrize("filler", ["short line of text\n", "a word or two ", "ü😀", "x"])
def test_large_texts(weir, filler):
    """Findings are told once and whole, wherever blocks end."""
    width = len(filler.encode())
    parts = []
    expected = []
    for i in range(60):
        parts.append(filler * ((4096 + 37 * i) // width))
        mail = f"user{i}@example.com"
        expected.append((sum(map(len, parts)) + 1, mail))
        parts.append(f" {mail} ")
    text = "".join(parts)
    got = found(weir, "--detector", "regex", stdin=text, status=2)
    assert [(one["start"], one["text"]) for one in got] == expected
    for one in got:
        assert text[one["start"] : one["end"]] == one["text"]
        before = text[: one["start"]]
        assert one["line"] == before.count("\n") + 1
        assert one["column"] == one["start"] - (before.rfind("\n") + 1) + 1


def test_a_key_across_blocks_is_one_finding(weir):
    for n in range(45000, 48500, 250):
        text = "y" * 20 + "\n" * (n - 20) + KEY
        got = found(weir, "--detector", "secrets", stdin=text + "x\n" * 40000, status=2)
        assert [one["text"] for one in got] == [KEY.rstrip("\n")], n


# --- which detectors ---


def test_detectors_of_a_configuration(weir, tmp_path):
    tree = {
        "mails": builtin("regex", regex=["email"]),
        "orders": builtin("regex", regex=["ORD-\\d{6}"]),
        "words": builtin("keywords", deny=["forbidden"]),
        "idle": builtin("keywords"),
        "links": builtin("links"),
        "hap": REMOTE,
    }
    config = weir.write_config({"detectors": tree})
    text = "ORD-123456 to a@example.com is Forbidden, see https://x.example/"

    def ids(*args, **options):
        got = found(weir, "--config", config, *args, stdin=text, **options)
        return [one["detector_id"] for one in got]

    assert ids(status=2) == ["orders", "mails", "words"]
    assert ids("--detector", "words", "--detector=mails", status=2) == ["mails", "words"]
    assert ids("--detector", "links", status=2) == ["links"]
    done = detect(weir, stdin=text, status=2, env={"ORCHESTRATOR_CONFIG": str(config)})
    assert "(orders, 1.00)" in done.out
    done = weir.run("--config", config, "detect", stdin=text.encode())
    assert b"(orders, 1.00)" in done.stdout
    for name, reason in (
        ("hap", "is a service"),
        ("idle", "have no `deny`"),
        ("word", "there is no detector `word` in the configuration; did you mean `words`?"),
        ("regex", "there is no detector `regex`"),
    ):
        done = detect(weir, "--config", config, "--detector", name, stdin=text, status=1)
        assert reason in done.err and done.out == ""


def test_whole_documents(weir, tmp_path):
    config = weir.write_config({"detectors": {"json": builtin("file_type", file_type=["json"])}})
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(list(range(50000))))
    bad.write_text(good.read_text()[:-1])
    assert found(weir, "--config", config, good, status=0) == []
    got = found(weir, "--config", config, bad, status=2)
    assert [(one["detection"], one["line"], one["column"]) for one in got] == [
        ("invalid_json", 1, 1)
    ]
    large = tmp_path / "large.json"
    with open(large, "wb") as file:
        file.truncate((64 << 20) + 1)
    assert "larger than 64 MiB" in detect(weir, "--config", config, large, status=1).err


def test_a_detector_that_gives_up_is_an_error(weir):
    config = weir.write_config({"detectors": {"slow": builtin("regex", regex=["(a+)+$"])}})
    done = detect(weir, "--config", config, stdin="a" * 5000 + "b", status=1)
    assert "detector `slow`: " in done.err


# --- mistakes ---


def test_help_and_mistakes(weir, tmp_path):
    for flag in ("--help", "-h"):
        done = detect(weir, flag, status=0)
        assert "--detector ID" in done.out and "Exit status" in done.out
    assert b"weir detect" in weir.run("--help").stdout
    assert "did you mean --detector?" in detect(weir, "--detectr", "x", status=1).err
    assert "--detector needs a value" in detect(weir, "--detector", status=1).err
    assert "unknown flag -x" in detect(weir, "-x", status=1).err
    broken = tmp_path / "broken.yaml"
    broken.write_text("detektors: {}\n")
    done = detect(weir, "--config", broken, status=1)
    assert "detektors" in done.err and done.out == ""
    assert detect(weir, "--config", tmp_path / "none.yaml", status=1).err
    # The server's variables are none of its business.
    assert detect(weir, stdin="x", env={"HTTP_PORT": "many"}, status=0).out == ""
