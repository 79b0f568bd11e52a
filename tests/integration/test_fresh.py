"""tools/fresh as far as it goes without making a system: its flags, what it reads in the README and
in a test run, what it hands over. `make fresh` itself is the test of the rest."""

import importlib.machinery
import importlib.util
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FRESH = ROOT / "tools" / "fresh"


@pytest.fixture(scope="module")
def fresh():
    """The script as a module."""
    loader = importlib.machinery.SourceFileLoader("fresh", str(FRESH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fresh", loader))
    loader.exec_module(module)
    return module


def run(*args):
    command = [sys.executable, str(FRESH), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_help():
    done = run("--help")
    assert done.returncode == 0
    assert "bare Debian" in done.stdout and "--keep" in done.stdout


@pytest.mark.parametrize("args", [["--kep"], ["now"], ["--keep=yes"]])
def test_other_flags_are_refused(args):
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage:" in done.stderr


def test_make_lists_it():
    done = subprocess.run(["make", "-C", str(ROOT), "help"], capture_output=True, text=True, timeout=120)
    assert "make fresh " in done.stdout


def test_the_readme(fresh):
    readme = fresh.Readme((ROOT / "README.md").read_text())
    assert (readme.packages, readme.commands) == (["make", "curl"], ["make run", "make test"])
    assert readme.request.startswith("curl -s localhost:8033/")
    assert readme.is_answer(readme.answer)
    assert readme.is_answer(readme.answer.replace("chatcmpl-", "chatcmpl-1").replace(':"\n', ':"'))
    assert not readme.is_answer(readme.answer.replace("[password]", "hunter2"))
    assert not readme.is_answer("")


@pytest.mark.parametrize("old, new", [("make run ", "make start "), ("apt-get install", "apt add"), ("```json", "```")])
def test_a_readme_that_says_something_else(fresh, old, new):
    text = (ROOT / "README.md").read_text()
    assert old in text
    with pytest.raises(fresh.Failed, match="README.md"):
        fresh.Readme(text.replace(old, new))


def test_skips_must_be_documented(fresh):
    lines = ["x", "skipped: 3 (this machine has no IPv6)", "skipped: 42 (no clients (E1))", "1 passed"]
    assert fresh.undocumented(lines) == ["no clients (E1)"]
    documented = (ROOT / "CONTRIBUTING.md").read_text()
    assert all(reason in documented for reason in fresh.DOCUMENTED)


def test_what_it_hands_over(fresh, monkeypatch, tmp_path):
    for name in list(fresh.os.environ):
        monkeypatch.delenv(name)
    extra = tmp_path / "extra.crt"
    extra.write_text("EXTRA")
    given = {"https_proxy": "http://p.test:3128", "NO_PROXY": "x.test", "npm_config_registry": "http://r.test"}
    given["PIP_INDEX_URL"] = "http://i.test"
    for name, value in (given | {"SECRET": "s", "AWS_KEY": "k", "PATH": "/none"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(extra))
    env = fresh.environment()
    assert env.keys() == given.keys() | {"PATH", "HOME", "LANG", "NODE_EXTRA_CA_CERTS", "PIP_CERT"}
    assert given.items() <= env.items() and env["NODE_EXTRA_CA_CERTS"] == fresh.BUNDLE
    assert b"EXTRA" in fresh.certificates()


def test_it_says_what_it_needs(fresh, monkeypatch):
    monkeypatch.setattr(fresh.os, "geteuid", lambda: 1000)
    with pytest.raises(fresh.Failed, match="sudo make fresh"):
        fresh.check_machine()
    monkeypatch.setattr(fresh.os, "geteuid", lambda: 0)
    monkeypatch.setattr(fresh.shutil, "which", lambda name: None)
    with pytest.raises(fresh.Failed, match="tools/bootstrap fresh"):
        fresh.check_machine()
    monkeypatch.setattr(fresh.shutil, "which", lambda name: name)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(fresh, "PORTS", {"api": taken.getsockname()[1]})
        with pytest.raises(fresh.Failed, match="is not free"):
            fresh.check_machine()
