"""tools/run-tests on small trees of tests: what its closing lines say. tools/bootstrap-node, with an
npm of ours: what it leaves for them to say."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PYTHON_TESTS = """\
import pytest

def test_good():
    pass

@pytest.mark.parametrize("n", range(3))
@pytest.mark.skip(reason="no clients: npm said (E1)")
def test_clients(n):
    pass

def test_terminal():
    pytest.skip("no terminal")
"""


class Tree:
    """Two folders of tests: programs for ctest, Python for pytest."""

    def __init__(self, folder):
        self.build, self.integration = folder / "build", folder / "integration"
        self.build.mkdir()
        self.integration.mkdir()

    def programs(self, **commands):
        lines = [f'add_test({name} "/bin/sh" "-c" "{text}")' for name, text in commands.items()]
        (self.build / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")

    def python(self, text):
        (self.integration / "test_some.py").write_text(text)

    def run(self):
        """(exit status, the lines behind the last ==, the count that is left in the build folder)"""
        command = [sys.executable, str(ROOT / "tools" / "run-tests"), "--build", str(self.build)]
        command += ["--integration", str(self.integration)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=250)
        closing = done.stdout.split("\n==\n")[-1].splitlines()
        return done.returncode, closing, (self.build / "test-count.txt").read_text()


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_nothing_is_skipped(tree):
    tree.programs(one="exit 0", two="exit 0")
    tree.python("def test_good():\n    pass\n")
    assert tree.run() == (0, ["3 passed, 0 failed"], "3 passed, 0 failed\n")


def test_skips_are_counted_by_reason(tree):
    # A program in C that left out two of its tests, with a lot to say around it.
    words = "seq 1 2000; echo skipped because: no IPv6; seq 1 2000; echo skipped because: no IPv6"
    tree.programs(one=words)
    tree.python(PYTHON_TESTS)
    closing = [
        "skipped: 3 (no clients: npm said (E1))",
        "skipped: 2 (no IPv6)",
        "skipped: 1 (no terminal)",
        "2 passed, 0 failed, 6 skipped",
    ]
    assert tree.run() == (0, closing, closing[-1] + "\n")


def test_failures_are_named(tree):
    tree.programs(one="exit 1", two="exit 0")
    tree.python("def test_bad():\n    assert False\n")
    status, closing, _ = tree.run()
    assert status == 1
    assert closing[0] == "failed: one" and closing[1].endswith("test_some::test_bad")
    assert closing[2:] == ["1 passed, 2 failed"]


def test_a_program_that_is_not_there_has_failed(tree):
    (tree.build / "CTestTestfile.cmake").write_text('add_test(gone "/no/such/program")\n')
    tree.python("def test_good():\n    pass\n")
    assert tree.run()[:2] == (1, ["failed: gone", "1 passed, 1 failed"])


def test_no_test_at_all_is_a_failure(tree):
    tree.programs()
    status, closing, _ = tree.run()
    assert (status, closing[-1]) == (1, "0 passed, 1 failed")


# --- the npm clients ---

OFFLINE = """\
npm ERR! code SELF_SIGNED_CERT_IN_CHAIN
npm ERR! errno SELF_SIGNED_CERT_IN_CHAIN
npm ERR! request to https://registry.test/zod failed, reason: self-signed certificate in chain
"""


class Npm:
    """A copy of the script and its lock file, with an npm that does as it is told."""

    def __init__(self, folder):
        (folder / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "bootstrap-node", folder / "tools")
        scripts = folder / "tests" / "integration" / "node"
        scripts.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(ROOT / "tests" / "integration" / "node" / name, scripts)
        self.folder, self.packages, self.bin = folder, folder / "build" / "node", folder / "bin"
        self.bin.mkdir()

    def does(self, script):
        (self.bin / "npm").write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / "npm").chmod(0o755)

    def run(self):
        env = dict(os.environ, PATH=f"{self.bin}:{os.environ['PATH']}")
        env.pop("WEIR_NO_BOOTSTRAP", None)
        command = [str(self.folder / "tools" / "bootstrap-node")]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stderr


@pytest.fixture
def npm(tmp_path):
    return Npm(tmp_path)


@pytest.mark.parametrize(
    "words, why",
    [
        (OFFLINE, "self-signed certificate in chain"),
        ("npm ERR! code ENOTCACHED\nnpm ERR! more\n", "code ENOTCACHED"),
        ("npm error code E403\n", "code E403"),
        ("", "npm failed"),
    ],
)
def test_why_there_are_no_clients(npm, words, why):
    npm.does(f"printf '%s' '{words}' >&2; exit 1")
    said = npm.run()
    told = (npm.packages / "missing.txt").read_text()
    assert told == f"npm clients could not be fetched: {why}\n"
    assert words in said and told.strip() in said
    assert not (npm.packages / "installed.json").exists()


def test_the_reason_goes_when_the_clients_come(npm):
    npm.does("exit 1")
    npm.run()
    npm.does(f"mkdir -p {npm.packages}/node_modules")
    assert npm.run() == ""
    assert (npm.packages / "installed.json").exists()
    assert not (npm.packages / "missing.txt").exists()
    npm.does("exit 1")  # and is not asked again
    assert npm.run() == ""
