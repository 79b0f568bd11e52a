"""`make install` ends in CMake's install step, run here from the build folder under test."""

import os
import subprocess

import pytest


@pytest.fixture
def installed(weir, tmp_path):
    """The folder that PREFIX=/opt/weir became, within DESTDIR."""
    build = weir.program.parent
    env = os.environ | {"DESTDIR": str(tmp_path)}
    command = ["cmake", "--install", str(build), "--prefix", "/opt/weir"]
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=60)
    return tmp_path / "opt" / "weir"


def test_nothing_but_the_program_and_its_documents(installed):
    files = sorted(str(p.relative_to(installed)) for p in installed.rglob("*") if p.is_file())
    assert files == [
        "bin/weir",
        "share/doc/weir/README.md",
        "share/doc/weir/configuration.md",
        "share/doc/weir/mock.md",
        "share/doc/weir/operations.md",
        "share/doc/weir/try-it.yaml",
        "share/doc/weir/weir.example.yaml",
    ]


def test_the_installed_example_is_good(weir, installed):
    example = installed / "share" / "doc" / "weir" / "weir.example.yaml"
    done = weir.run("--check-config", "--config", example)
    assert done.returncode == 0, done.stdout.decode()
    assert b" 0 errors" in done.stdout or b": ok" in done.stdout
