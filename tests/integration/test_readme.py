"""The README, walked: each command is run, or is one of make's, and each output has the shape that is
printed. `make fresh` runs the first two on a bare system."""

import ast
import importlib.machinery
import importlib.util
import json
import re
import shlex
import subprocess

import harness
import pytest
from harness import ROOT

TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", TEXT)


def commands():
    """Of all shell blocks, continued lines joined, comments left out."""
    for kind, body in BLOCKS:
        if kind == "sh":
            for line in body.replace("\\\n", " ").splitlines():
                yield shlex.split(line, comments=True)


@pytest.fixture(scope="module")
def readme():
    loader = importlib.machinery.SourceFileLoader("fresh", str(ROOT / "tools" / "fresh"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fresh", loader))
    loader.exec_module(module)
    return module.Readme(TEXT)


def run(words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=200, **options)


def try_make(words, weir, readme, folder):
    assert re.search(rf"(?m)^{words[1]}:.*##", (ROOT / "Makefile").read_text()), words


def try_curl(words, weir, readme, folder):
    server = weir()
    done = run([word.replace("localhost:8033", f"127.0.0.1:{server.api_port}") for word in words])
    assert done.returncode == 0 and readme.is_answer(done.stdout), done.stdout


def try_weir(words, weir, readme, folder):
    program = [str(harness.binary()), *words[1:]]
    if words[1] == "detect":
        (folder / "notes.txt").write_text("write to ann@example.com\n")
        done = run(program, cwd=folder, env=harness.environment(None))
        assert done.returncode == 2 and done.stdout.startswith("./notes.txt:1:10: pii/email_address")
    elif words[1] == "--version":
        assert re.match(r"weir \d+\.\d+\.\d+", run(program).stdout)
    else:
        assert words[1] == "--config" and (ROOT / words[2]).exists()
        assert weir(ROOT / words[2]).api.get("/").status_code == 200


def test_every_command(weir, readme, tmp_path):
    tried = {"make": try_make, "curl": try_curl, "build/release/weir": try_weir}
    walked = [words for words in commands() if words]
    assert len(walked) >= 6
    for words in walked:
        assert words[0] in tried, f"nobody tries {words}: teach this test"
        tried[words[0]](words, weir, readme, tmp_path)


def test_the_snippet_names_a_route_that_is_there(weir):
    (snippet,) = [body for kind, body in BLOCKS if kind == "python"]
    ast.parse(snippet)
    base = re.search(r'base_url="http://localhost:8033(/[^"]+)"', snippet).group(1)
    assert weir().api.get(f"{base}/models").status_code == 200


def test_figures_are_those_of_the_results():
    """What the README says of speed and memory stands in bench/RESULTS.md, rounded at most."""
    results = (ROOT / "bench" / "RESULTS.md").read_text()
    table = TEXT.split("## Figures")[1].split("\n## ")[0]
    numbers = {float(n) for n in re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)", results.replace(",", ""))}
    for figure, unit in re.findall(r"(\d+(?:\.\d+)?) (µs|KB|MiB private|ms|s)\b", table):
        value = float(figure) * (1000 if unit == "KB" else 1)
        places = len(figure.partition(".")[2])
        rounded = {round(n / 1000) * 1000.0 if unit == "KB" else round(n, places) for n in numbers}
        assert value in rounded, f"{figure} {unit} is not in bench/RESULTS.md"


def test_the_picture_is_there_and_small():
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+\.png)\)", TEXT)
    data = (ROOT / picture).read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) < 100_000


def test_a_detection_that_the_readme_prints(readme):
    assert {d["detection"] for d in json.loads(re.sub(r"\n", "", readme.answer))["detections"]["output"][0]["results"]} == {
        "aws_access_key_id",
        "github_token",
        "password",
    }
