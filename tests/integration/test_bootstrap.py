"""tools/bootstrap with a scripted dpkg-query, sudo and apt-get: nothing is really installed."""

import os
import subprocess
from pathlib import Path

import pytest

BOOTSTRAP = Path(__file__).resolve().parents[2] / "tools" / "bootstrap"


class Machine:
    """A PATH on which every program is a script of ours; sudo records what it was asked to do."""

    def __init__(self, folder):
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "asked"
        self.log.touch()
        self.has("id", "echo 1000")

    def has(self, name, script):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def lacks(self, *packages):
        """dpkg-query knows every package but these."""
        tests = " ".join(f'[ "$p" = {name} ] && continue;' for name in packages)
        self.has("dpkg-query", f'for p; do {tests} echo "$p installed"; done')

    def sudo(self, script="exit 0"):
        """The script sees its command line as $*."""
        self.has("sudo", f'echo "$*" >>{self.log}\n{script}')

    def bootstrap(self, *groups):
        env = {"PATH": str(self.bin), "HOME": os.environ.get("HOME", "/")}
        return subprocess.run(
            [str(BOOTSTRAP), *groups],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def asked(self, words):
        return [line for line in self.log.read_text().splitlines() if words in line]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_nothing_missing_is_silent(machine):
    machine.lacks()
    machine.sudo()
    done = machine.bootstrap("build", "test", "check", "fresh", "fuzz", "bench")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert machine.log.read_text() == ""


def test_installs_only_what_is_missing(machine):
    machine.lacks("cmake", "libuv1-dev")
    machine.sudo()
    assert machine.bootstrap("build").returncode == 0
    (install,) = machine.asked("apt-get -q -o DPkg::Lock::Timeout=120 install")
    assert install.endswith("--no-install-recommends cmake libuv1-dev")
    assert not machine.asked("update")


def test_what_another_package_provides_is_there(machine):
    machine.lacks("npm")
    query = (machine.bin / "dpkg-query").read_text()
    provided = 'case "$3" in "\\${db:Status-Status} "*) echo "installed nodejs-dev (= 20), npm";; esac'
    (machine.bin / "dpkg-query").write_text(f"{query}\n{provided}\n")
    machine.sudo()
    done = machine.bootstrap("test")
    assert (done.returncode, done.stderr, machine.log.read_text()) == (0, "", "")


def test_names_a_package_of_two_groups_once(machine):
    machine.lacks("clang")
    machine.sudo()
    assert machine.bootstrap("check", "fuzz").returncode == 0
    (install,) = machine.asked("Timeout=120 install")
    assert install.count("clang") == 1


def test_updates_empty_lists_first(machine):
    machine.lacks("cmake")
    machine.sudo('case "$*" in *" -s "*) exit 100;; esac')
    assert machine.bootstrap("build").returncode == 0
    words = [line for line in machine.asked("apt-get") if " -s " not in line]
    assert [("update" in line, "install" in line) for line in words] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize(
    "sudo, says",
    [
        (None, "there is no sudo"),
        ('case "$*" in -n*) exit 1;; esac', "sudo wants a password"),
        ('case "$*" in *apt-get*) exit 100;; esac', "the package lists cannot be fetched"),
    ],
)
def test_says_what_to_do_by_hand(machine, sudo, says):
    machine.lacks("cmake", "libuv1-dev")
    if sudo:
        machine.sudo(sudo)
    done = machine.bootstrap("build")
    assert done.returncode == 1
    assert says in done.stderr
    assert "    cmake\n    libuv1-dev\n" in done.stderr
    assert "apt-get install -y cmake libuv1-dev\n" in done.stderr


def test_not_debian(machine):
    done = machine.bootstrap("build")
    assert done.returncode == 1
    assert "not Debian" in done.stderr and "libuv1-dev" in done.stderr


def test_unknown_group(machine):
    machine.lacks()
    assert machine.bootstrap("bulid").returncode == 2
    assert machine.bootstrap().returncode == 2


def test_package_list_is_sorted():
    lines = (BOOTSTRAP.parent / "packages.txt").read_text().splitlines()[1:]
    assert lines == sorted(set(lines))
