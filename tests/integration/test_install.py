"""`make install` ends in CMake's install step, run here from the build folder under test."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
INSTALLED = ["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "try-it.yaml", "weir.example.yaml"]


@pytest.fixture
def installed(weir, tmp_path):
    """The folder that PREFIX=/opt/weir became, within DESTDIR."""
    build = weir.program.parent
    env = os.environ | {"DESTDIR": str(tmp_path)}
    command = ["cmake", "--install", str(build), "--prefix", "/opt/weir"]
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=250)
    return tmp_path / "opt" / "weir"


def test_nothing_but_the_program_and_its_documents(installed):
    files = sorted(str(p.relative_to(installed)) for p in installed.rglob("*") if p.is_file())
    documents = {f"share/doc/weir/docs/{p.relative_to(DOCS)}" for p in DOCS.rglob("*") if p.is_file()}
    documents |= {f"share/doc/weir/{n}" for n in INSTALLED}
    assert len(documents) > 6
    assert files == sorted(documents | {"bin/weir"})


def test_the_installed_example_is_good(weir, installed):
    example = installed / "share" / "doc" / "weir" / "weir.example.yaml"
    done = weir.run("--check-config", "--config", example)
    assert done.returncode == 0, done.stdout.decode()
    assert b" 0 errors" in done.stdout or b": ok" in done.stdout


def test_make_install_asks_for_no_package(tmp_path):
    """Nor does it build: it is run as root, and says what to run before."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "bootstrap").write_text("#!/bin/sh\ntouch asked\n")
    (tools / "bootstrap").chmod(0o755)
    command = ["make", "-C", str(tmp_path), "install", f"DESTDIR={tmp_path}/root"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode != 0 and "run make build" in done.stderr
    assert not (tmp_path / "asked").exists()
