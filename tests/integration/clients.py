"""Runs the npm clients in tests/integration/node, whose packages are in build/node."""

import json
import os
import shutil
import subprocess

import harness
import pytest

SCRIPTS = harness.ROOT / "tests" / "integration" / "node"
PACKAGES = harness.ROOT / "build" / "node"


def why_missing():
    """Nothing, or the sentence that says why there are no clients."""
    if shutil.which("node") is None:
        return "node is not installed: tools/bootstrap test"
    if (PACKAGES / "installed.json").exists():
        return ""
    told = PACKAGES / "missing.txt"
    return told.read_text().strip() if told.exists() else "no npm clients: tools/bootstrap-node"


needed = pytest.mark.skipif(why_missing() != "", reason=why_missing())


def run(script, jobs, seconds=250):
    """The results of these jobs, in order: see node/common.cjs."""
    env = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    env["NODE_PATH"] = str(PACKAGES / "node_modules")
    done = subprocess.run(
        ["node", str(SCRIPTS / script)],
        input=json.dumps(jobs),
        env=env,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
