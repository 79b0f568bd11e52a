"""Tests of what `make dist` has made, each installed and started as its user would (`make dist-test`).
They need root, mounts and the network of Debian's packages, so they are not part of `make test`."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = Path(os.environ.get("WEIR_DIST", ROOT / "build/dist"))
PATIENCE = 120
HOSTS = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def need(*programs):
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (tools/bootstrap dist)")


def one(pattern):
    found = list(DIST.glob(pattern))
    assert len(found) == 1, f"{pattern} in {DIST}: {found or 'nothing'}; make dist makes it"
    return found[0]


@pytest.fixture(scope="session")
def deb():
    return one("weir_*.deb")


@pytest.fixture(scope="session")
def image():
    return one("weir-*-oci.tar")


@pytest.fixture(scope="session")
def sbom():
    return one("weir-*.spdx.json")


def free_ports(n):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def get(url):
    """Status and body; 0 when nobody answers."""
    try:
        with HOSTS.open(url, timeout=PATIENCE) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""


def post(url, body):
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with HOSTS.open(request, timeout=PATIENCE) as answer:
        return answer.status, answer.read()


class Server:
    """A process that is to become a weir that answers."""

    def __init__(self, command, api, health, **kwargs):
        self.api, self.health = f"http://127.0.0.1:{api}", f"http://127.0.0.1:{health}"
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **kwargs)

    def wait_ready(self):
        until = time.monotonic() + PATIENCE
        while get(f"{self.health}/readyz")[0] != 200:
            if self.process.poll() is not None:
                raise AssertionError(f"it ended: {self.process.stderr.read()}")
            assert time.monotonic() < until, "not ready"
            time.sleep(0.1)
        return self

    def redacts(self):
        """The whole way through the gateway: the demonstration model's secret does not leave."""
        body = b'{"model":"demo","messages":[{"role":"user","content":"secrets please"}]}'
        status, answer = post(f"{self.api}/redact/v1/chat/completions", body)
        return status == 200 and b"[aws_access_key_id]" in answer and b"AKIA" not in answer

    def stop(self):
        """Tells the program itself, the only child of what confines it. Returns its status."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        try:
            os.kill(int(children[0]) if children else pid, signal.SIGTERM)
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()


def unit_setting(name):
    """The values of a setting of the unit, in order."""
    text = (ROOT / "deploy/systemd/weir.service").read_text()
    return re.findall(rf"(?m)^{name}=(.*)$", text)
