"""Runs the Python clients in tests/integration/python, whose packages are in build/python."""

import json
import os
import subprocess

import harness
import pytest

SCRIPTS = harness.ROOT / "tests" / "integration" / "python"
PACKAGES = harness.ROOT / "build" / "python"


def why_missing():
    """Nothing, or the sentence that says why there are no clients."""
    if (PACKAGES / "installed.txt").exists():
        return ""
    told = PACKAGES / "missing.txt"
    return told.read_text().strip() if told.exists() else "no Python clients: tools/bootstrap-python"


needed = pytest.mark.skipif(why_missing() != "", reason=why_missing())


def run(script, jobs, seconds=250):
    """The results of these jobs, in order."""
    env = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    env["PYTHONPATH"] = str(PACKAGES)
    done = subprocess.run(["/usr/bin/python3", str(SCRIPTS / script)], input=json.dumps(jobs), env=env,
                          capture_output=True, text=True, timeout=seconds)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
