"""Starts the server under test, knows its ports and its log, and stops it with a verdict."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx
import rawh2
import rawhttp

ROOT = Path(__file__).resolve().parents[2]
# How long anything may take that will come for certain: a test that waits must not fail because a
# sanitizer build on a busy machine is slow. Nobody waits so long for what is there.
PATIENCE = 60
STOP_SECONDS = PATIENCE + 30  # a drain may take its 30 s

# What would change the server's behaviour behind a test's back.
OUR_VARIABLES = """ORCHESTRATOR_CONFIG HTTP_PORT HEALTH_HTTP_PORT TLS_CERT_PATH TLS_KEY_PATH
    TLS_CLIENT_CA_CERT_PATH START_UP_HEALTH_CHECK LOG_LEVEL RUST_LOG LOG_FORMAT QUIET OTLP_EXPORT
    OTLP_SERVICE_NAME""".split()
REPORTS = ["ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "LeakSanitizer:", "runtime error:"]
REPORTS += ["WARNING: ThreadSanitizer", "internal error:"]


class StartFailed(Exception):
    """The server ended, or did not become ready, before the test began."""


def build_folder():
    return Path(os.environ.get("WEIR_BUILD_DIR", ROOT / "build" / "asan"))


def binary(name="weir"):
    """The server, or another program that stands beside it in the build folder."""
    path = build_folder() / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is not built (make test builds it)")
    return path


def wait_until(condition, what, seconds=PATIENCE):
    """Polls until the condition is true and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.01)


def has_services(config):
    """Does a tree have detectors that are services?"""
    detectors = config.get("detectors")
    each = detectors.values() if isinstance(detectors, dict) else []
    return any(isinstance(detector, dict) and "service" in detector for detector in each)


def environment(extra):
    """Ours without the server's variables, with sanitizers that stop at the first finding."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in OUR_VARIABLES
        and not name.startswith(("WEIR_", "OTEL_"))
        and not name.lower().endswith("_proxy")
    }
    env["ASAN_OPTIONS"] = "detect_leaks=1:abort_on_error=0:exitcode=99"
    env["UBSAN_OPTIONS"] = "print_stacktrace=1:halt_on_error=1:exitcode=99"
    env["TSAN_OPTIONS"] = "halt_on_error=1:exitcode=99"
    env.update(extra or {})
    return env


def dying_with_us(command):
    """The same command; a test run that is killed leaves no servers behind. Not with a preexec_fn:
    that is a fork of a process with threads, and now and then one of them holds a lock for ever."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)]


def assert_no_report(text, where):
    for report in REPORTS:
        if report in text:
            raise AssertionError(f"{where} reports:\n{text[max(0, text.find(report) - 200):]}")


def send_at_once(client):
    """httpx writes the head and the body of a request one after the other; where its sockets wait for
    the other side in between (Nagle's algorithm, in older versions), each request takes 40 ms."""
    backend = client._transport._pool._network_backend
    connect = backend.connect_tcp

    def connect_tcp(*args, **options):
        stream = connect(*args, **options)
        stream.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return stream

    backend.connect_tcp = connect_tcp


class Weir:
    """One running server. `api` and `health` are HTTP clients for its two listeners."""

    def __init__(self, command, folder, env, tls=None):
        self.folder = folder
        self.tls = tls
        self.stderr_path = folder / "stderr"
        self.stdout_path = folder / "stdout"
        self.clients = []
        self.ports = {}
        with open(self.stderr_path, "wb") as err, open(self.stdout_path, "wb") as out:
            self.process = subprocess.Popen(
                dying_with_us(command),
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    # --- coming up ---

    def wait_listening(self):
        """Reads both real ports from the log."""

        def both_ports():
            self.fail_if_ended()
            for line in self.log("listening"):
                self.ports[line["listener"]] = line["port"]
            return {"api", "health"} <= self.ports.keys()

        wait_until(both_ports, "two `listening` log lines")

    def wait_ready(self):
        def ready():
            self.fail_if_ended()
            try:
                return self.health.get("/readyz").status_code == 200
            except httpx.TransportError:
                return False

        wait_until(ready, "/readyz to answer 200")

    def fail_if_ended(self):
        if self.process.poll() is not None:
            raise StartFailed(f"exit status {self.process.returncode}:\n{self.stderr()}")

    # --- talking to it ---

    @property
    def pid(self):
        return self.process.pid

    @property
    def api_port(self):
        return self.ports["api"]

    @property
    def health_port(self):
        return self.ports["health"]

    def url(self, path="", listener="api"):
        scheme = "https" if self.tls and listener == "api" else "http"
        return f"{scheme}://127.0.0.1:{self.ports[listener]}{path}"

    def client(self, listener="api", http2=False, **options):
        """A new httpx client, closed with the server. HTTP/2 in clear text is prior knowledge."""
        if self.tls and listener == "api":
            options.setdefault("verify", self.tls)
        options.setdefault("timeout", PATIENCE)
        client = httpx.Client(
            base_url=self.url(listener=listener),
            http1=not http2,
            http2=http2,
            trust_env=False,
            **options,
        )
        send_at_once(client)
        self.clients.append(client)
        return client

    @property
    def api(self):
        return self.shared_client("api")

    @property
    def health(self):
        return self.shared_client("health")

    def shared_client(self, listener):
        name = f"_{listener}"
        if not hasattr(self, name):
            setattr(self, name, self.client(listener))
        return getattr(self, name)

    def raw(self, listener="api", **options):
        """A bare HTTP/1 connection: rawhttp.RawConnection."""
        if self.tls and listener == "api":
            options.setdefault("tls", self.tls)
        connection = rawhttp.connect(self.ports[listener], **options)
        self.clients.append(connection)
        return connection

    def h2(self, listener="api", **options):
        """An HTTP/2 connection, frame by frame: rawh2.H2Connection."""
        if self.tls and listener == "api":
            options.setdefault("tls", self.tls)
        connection = rawh2.connect(self.ports[listener], **options)
        self.clients.append(connection)
        return connection

    # --- what it says ---

    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    def new_stderr(self):
        """What was added since the last time this was asked."""
        with open(self.stderr_path, errors="replace") as file:
            file.seek(getattr(self, "stderr_seen", 0))
            text = file.read()
            self.stderr_seen = file.tell()
        return text

    def stdout(self):
        return self.stdout_path.read_text(errors="replace")

    def log(self, message=None, **fields):
        """The JSON log lines, those with this message and these fields, each as one flat dict."""
        found = []
        for text in self.stderr().splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if not isinstance(line, dict):
                continue
            line.update(line.pop("fields", {}))
            if message is not None and line.get("message") != message:
                continue
            if all(line.get(name) == value for name, value in fields.items()):
                found.append(line)
        return found

    def wait_log(self, message, **fields):
        """The first such line, as soon as it is there."""
        what = f"a log line {message!r} {fields or ''}"
        return wait_until(lambda: self.log(message, **fields), what)[0]

    def is_asleep(self):
        """Every thread waits for something to happen; one that waits for a processor does not."""
        stats = Path(f"/proc/{self.pid}/task").glob("*/stat")
        return all(stat.read_text().rsplit(")", 1)[1].split()[0] == "S" for stat in stats)

    def descriptors(self):
        """How many descriptors the process holds."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def quiet_descriptors(self):
        """The same with every client closed and every connection let go."""
        self.close_clients()
        seen = [-1]

        def is_stable():
            seen.append(self.descriptors())
            time.sleep(0.02)
            return len(seen) > 4 and len(set(seen[-3:])) == 1

        wait_until(is_stable, "a stable number of descriptors")
        return seen[-1]

    @contextlib.contextmanager
    def unharmed(self):
        """
        Whatever is done to the server inside, and its clients closed, it still answers on both
        listeners, gives every descriptor back, and no sanitizer has anything to say.
        """
        if not hasattr(self, "descriptors_at_rest"):
            self.descriptors_at_rest = self.quiet_descriptors()
        yield self
        self.close_clients()
        self.fail_if_ended()
        self.wait_descriptors_at_rest()  # or limits.max_connections may still be met
        for listener, path, status in (("health", "/health", 200), ("api", "/no/such/path", 404)):
            assert self.first_answer(listener, path).status in (status, 401)
        self.close_clients()
        self.wait_descriptors_at_rest()
        assert_no_report(self.new_stderr(), "the server")

    def first_answer(self, listener, path):
        """On a new connection. One that was slower than a server in haste allows is not judged."""
        for _ in range(9):
            with contextlib.suppress(rawhttp.Closed, ConnectionError):
                return self.raw(listener).get(path)
        return self.raw(listener).get(path)

    def wait_descriptors_at_rest(self):
        """Inside unharmed: every connection has been let go."""
        at_rest = self.descriptors_at_rest
        what = f"{at_rest} descriptors, not {self.descriptors()}"
        wait_until(lambda: self.descriptors() <= at_rest, what)
        # A slow server may not have been at rest yet when they were counted first.
        self.descriptors_at_rest = min(at_rest, self.descriptors())

    # --- going down ---

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=STOP_SECONDS):
        """Waits for the process to end by itself; returns its status."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"did not end within {seconds} s:\n{self.stderr()}") from None

    def close_clients(self):
        for client in self.clients:
            client.close()
        self.clients.clear()
        for name in ("_api", "_health"):
            self.__dict__.pop(name, None)

    def stop(self):
        """SIGTERM; must exit with status 0 and without a report. Safe to call twice."""
        self.close_clients()
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        self.finish()

    def finish(self, status=0):
        """Waits for the end and judges it: this status, no sanitizer's report."""
        ended = self.wait()
        assert_no_report(self.stderr(), "the server")
        assert ended == status, f"exit status {ended}, not {status}:\n{self.stderr()[-4000:]}"

    def kill(self):
        """The end of a server whose exit is not judged."""
        self.close_clients()
        self.process.kill()
        self.process.wait()


class Servers:
    """What the `weir` fixture gives: call it for a server, `run` it for a command that ends."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.n_started = 0
        self.servers = []

    def write_config(self, config, name="config.yaml"):
        """YAML text, or a tree written as JSON, which YAML includes. Returns the path. A server that
        watches the file finds the old one or the new one, never half of it. A tree that does not
        speak of `cache` gets `cache: false`: services that a test writes the answers of are asked
        every time."""
        path, new = self.folder / name, self.folder / f".{name}.new"
        if isinstance(config, dict) and has_services(config):
            config = {"cache": False, **config}
            config["cache"] = config.pop("cache")  # at the end: lines of other keys stay
        new.write_text(config if isinstance(config, str) else json.dumps(config, indent=2))
        os.rename(new, path)
        return path

    def __call__(
        self, config=None, args=(), env=None, tls=None, ready=True, known_ports=None
    ):
        """
        Starts a server on free ports of 127.0.0.1 and waits until it is ready.
        config: YAML text, a tree, a path, or None for the embedded one. tls: the ssl context the
        clients use, where `args` turn TLS on. ready=False: wait for the ports only.
        known_ports: not to be read from the log, where `args` name them and keep it quiet.
        """
        folder = self.folder / f"weir-{self.n_started}"
        self.n_started += 1
        folder.mkdir()
        command = [str(self.program), "--http-port", "0", "--health-http-port", "0"]
        command += ["--host", "127.0.0.1", "--log-format", "json"]
        if config is not None:
            is_path = isinstance(config, os.PathLike)
            path = config if is_path else self.write_config(config, f"{folder.name}.yaml")
            command += ["--config", str(path)]
        server = Weir([*command, *map(str, args)], folder, environment(env), tls)
        self.servers.append(server)
        try:
            if known_ports is None:
                server.wait_listening()
            else:
                server.ports = dict(known_ports)
            if ready:
                server.wait_ready()
        except Exception:
            self.servers.remove(server)
            server.kill()
            assert_no_report(server.stderr(), "the server")
            raise
        return server

    def run(self, *args, env=None, stdin=b"", seconds=2 * PATIENCE):
        """Runs a command that ends by itself (--check-config, detect…), sanitizers watching."""
        done = subprocess.run(
            [str(self.program), *map(str, args)],
            cwd=self.folder,
            env=environment(env),
            input=stdin,
            capture_output=True,
            timeout=seconds,
        )
        assert_no_report(done.stderr.decode(errors="replace"), f"weir {args}")
        return done

    def stop_all(self):
        """Stops every server, then raises the first complaint."""
        complaints = []
        for server in self.servers:
            try:
                if server.process.returncode is None:
                    server.stop()
                else:
                    assert_no_report(server.stderr(), "the server")
            except AssertionError as complaint:
                complaints.append(complaint)
            finally:
                server.close_clients()
        self.servers.clear()
        if complaints:
            raise complaints[0]
