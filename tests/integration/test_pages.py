"""Manual pages and completions, made by tools/make-pages: what they offer is what --help shows."""

import pathlib
import re
import shlex
import subprocess
import sys

import pytest
from harness import binary

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = ["serve", "detect", "check-services"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    out = tmp_path_factory.mktemp("pages")
    command = [sys.executable, str(ROOT / "tools/make-pages"), "--weir", str(binary()), "--out", str(out)]
    subprocess.run(command, check=True, timeout=300)
    return out


def flags_of(weir, command):
    """The flags that --help begins a line with."""
    text = weir.run(*[command] * (command != "serve"), "--help").stdout.decode()
    found = re.findall(r"(?m)^  (?:(-\w), )?(--[\w-]+)", text)
    assert len(found) > 3
    return {word for pair in found for word in pair if word}


def complete(pages, *words):
    """What bash offers for the last word."""
    script = f"""source {shlex.quote(str(pages / "bash-completion/completions/weir"))}
        COMP_WORDS=({shlex.join(["weir", *words])}); COMP_CWORD={len(words)}
        _weir; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return {line for line in done.stdout.split("\n") if line}


@pytest.mark.parametrize("command", COMMANDS)
def test_bash_offers_what_the_help_shows(weir, pages, command):
    assert complete(pages, command, "-") == flags_of(weir, command)


def test_bash_offers_commands_values_and_files(pages):
    assert complete(pages, "") == {*COMMANDS, "audit", "help"}
    assert complete(pages, "--otlp") == complete(pages, "serve", "--otlp") != set()
    assert complete(pages, "--log-format", "") == {"terminal", "full", "compact", "pretty", "json"}
    assert complete(pages, "--log-level", "e") == {"error"}
    assert complete(pages, "--config", "READ") == {"README.md"}
    assert complete(pages, "detect", "READ") == {"README.md"}
    assert complete(pages, "--http-port", "") == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_zsh_and_fish_have_the_same(weir, pages, command):
    text = (pages / "zsh/vendor-completions/_weir").read_text()
    case = re.search(rf"(?s)'{command}'\)\n(.*?)\n        ;;", text).group(1)
    offered = set(re.findall(r"(?m)^\s+'(?:'\{)?(-[\w-]+)", case))
    offered |= set(re.findall(r"(?m)^\s+''\{-\w,(--[\w-]+)\}", case))
    assert offered == flags_of(weir, command)

    text = (pages / "fish/vendor_completions.d/weir.fish").read_text()
    which = f"'__fish_seen_subcommand_from {command}'" if command != "serve" else "'not __fish"
    lines = [line for line in text.splitlines() if f"-n {which}" in line]
    offered = {f"--{name}" for line in lines for name in re.findall(r" -l ([\w-]+)", line)}
    offered |= {f"-{name}" for line in lines for name in re.findall(r" -s (\w) ", line)}
    assert offered == flags_of(weir, command)


@pytest.mark.parametrize("name, command", [("weir.1", "serve"), ("weir-detect.1", "detect")])
def test_manual_pages_have_every_flag(weir, pages, name, command):
    text = (pages / "man/man1" / name).read_text().replace("\\-", "-")
    for flag in flags_of(weir, command):
        assert f"\\fB{flag}\\fP" in text, flag


def test_the_manual_of_the_configuration_has_every_key(pages):
    text = (pages / "man/man5/weir.yaml.5").read_text().replace("\\-", "-")
    example = (ROOT / "config/weir.example.yaml").read_text()
    for key in re.findall(r"(?m)^\s*([a-z_]+):", example):
        assert f"{key}:" in text, key


def test_the_packaged_configuration_is_good(weir, pages):
    done = weir.run("--check-config", "--config", pages / "etc/weir.yaml")
    assert done.returncode == 0, done.stdout.decode()


def test_tables_of_the_manual_come_from_data():
    done = subprocess.run([sys.executable, str(ROOT / "tools/make-tables"), "--check"], timeout=60)
    assert done.returncode == 0
