"""Starts what the benchmarks measure: the server, nginx and the relay, each on free ports."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASE = ROOT / "build" / "release"
NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fetch(url):
    """(status, body) of a GET; status 0 when nobody answers."""
    try:
        with NO_PROXY.open(url, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except (OSError, http.client.HTTPException):
        return 0, b""


def answer_bytes(port, path="/"):
    """How long the whole HTTP/1.1 answer is, head included."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        total = 0
        while data := sock.recv(65536):
            total += len(data)
        return total


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Peer:
    """A started process. Leaving its `with` ends it."""

    def __init__(self, name, command, stdout=subprocess.DEVNULL):
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix="weir-bench-"))
        self.began = time.monotonic()
        self.stderr = self.folder / "stderr"
        with open(self.stderr, "wb") as err:
            self.process = subprocess.Popen(command(self.folder), stdout=stdout, stderr=err)
        self.pids = [self.process.pid]
        self.ports = {}

    @property
    def pid(self):
        return self.pids[0]

    def wait_ready(self, *conditions, seconds=60):
        """Waits for each in turn. A peer that does not come up is ended, and its words are told."""
        deadline = time.monotonic() + seconds
        try:
            for condition in conditions:
                while not condition():
                    if self.process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError(f"{self.name} is not ready:\n{self.stderr.read_text()}")
                    time.sleep(0.0005)
        except BaseException:
            self.__exit__()
            raise
        self.ready_ms = (time.monotonic() - self.began) * 1000

    def tell(self):
        """A run that failed must not take the reason with it: did the peer end, what did it say?"""
        status = self.process.poll()
        state = "still running" if status is None else f"ended with status {status}"
        print(f"{self.name} is {state}; it said:", file=sys.stderr)
        print(self.stderr.read_text(errors="replace")[-4000:], file=sys.stderr)

    def __enter__(self):
        return self

    def __exit__(self, kind=None, *exc):
        if kind is not None:
            self.tell()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder)


def log_lines(peer, message):
    """The fields of every line it has logged with this message."""
    found = []
    for line in peer.stderr.read_text(errors="replace").splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if said.get("message") == message:
            found.append(said["fields"])
    return found


def read_ports(peer):
    for fields in log_lines(peer, "listening"):
        peer.ports[fields["listener"]] = fields["port"]


def weir(*args, config=None, binary=None, under=lambda folder: []):
    """The release build. ports: api, health. ready_ms: from the start to /readyz. `under`: a
    command that runs it, told the folder its files may be left in."""

    def command(folder):
        words = [*under(folder), binary or RELEASE / "weir"]
        words += ["--http-port", "0", "--health-http-port", "0"]
        words += ["--host", "127.0.0.1", "--log-format", "json"]
        if config is not None:
            # In a directory of its own: the server watches it, and the log is a busy file.
            (folder / "config").mkdir()
            (folder / "config" / "config.yaml").write_text(config)
            words += ["--config", folder / "config" / "config.yaml"]
        return [*words, *args]

    peer = Peer("weir", command)

    def has_ports():
        read_ports(peer)
        return {"api", "health"} <= peer.ports.keys()

    def is_ready():
        return fetch(f"http://127.0.0.1:{peer.ports['health']}/readyz")[0] == 200

    peer.wait_ready(has_ports, is_ready)
    return peer


def mock(*args, binary=None):
    """`weir-mock`, the scripted peers. ports: mock."""
    words = [binary or RELEASE / "weir-mock", "--port", "0", "--log-format", "json", *args]
    peer = Peer("mock", lambda folder: words)

    def has_port():
        read_ports(peer)
        return "mock" in peer.ports

    peer.wait_ready(has_port)
    return peer


NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
worker_rlimit_nofile 20000;
events {{ worker_connections 19000; }}
http {{
    access_log off; default_type application/json; server_tokens off;
    keepalive_requests 1000000000; keepalive_timeout 1h;
    client_body_temp_path {folder}/t; proxy_temp_path {folder}/t; fastcgi_temp_path {folder}/t;
    uwsgi_temp_path {folder}/t; scgi_temp_path {folder}/t;
    {servers}
}}
"""


def nginx(servers, **ports):
    """`servers` is the text of its server blocks. Measured is the one worker."""

    def command(folder):
        conf = folder / "nginx.conf"
        conf.write_text(NGINX.format(folder=folder, servers=servers))
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        return [program, "-e", str(folder / "error.log"), "-c", str(conf)]

    peer = Peer("nginx", command)
    peer.ports = ports
    url = f"http://127.0.0.1:{next(iter(ports.values()))}/"
    peer.wait_ready(lambda: fetch(url)[0] != 0)
    children = Path(f"/proc/{peer.process.pid}/task/{peer.process.pid}/children")
    peer.pids = [int(pid) for pid in children.read_text().split()]
    return peer


def nginx_constant(body):
    """nginx that answers everything with this body: `h1` speaks HTTP/1.1, `h2` HTTP/2."""
    ports = {"h1": free_port(), "h2": free_port()}
    text = body.decode().replace("'", "\\'")
    servers = "".join(
        f"server {{ listen 127.0.0.1:{port}{' http2' if name == 'h2' else ''};"
        f" location / {{ return 200 '{text}'; }} }}\n"
        for name, port in ports.items()
    )
    return nginx(servers, **ports)


def relay(upstream_port, *options):
    """bench/relay in front of a port of loopback. ports: relay."""
    program = RELEASE / "bench" / "relay"
    words = [program, "--listen", "0", "--upstream", f"127.0.0.1:{upstream_port}", *options]
    peer = Peer("relay", lambda folder: words, stdout=subprocess.PIPE)
    peer.ports = {"relay": int(peer.process.stdout.readline().split()[1])}
    return peer


def machine():
    """One line about where the figures come from."""
    model = next(
        (line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "?"
    )
    memory_kb = int(open("/proc/meminfo").readline().split()[1])
    return f"{os.cpu_count()} × {model}, {memory_kb / 2**20:.0f} GiB, Linux {os.uname().release}"
