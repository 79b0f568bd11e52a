"""The command line: help, mistakes, the check of a configuration, ports, and the environment."""

import contextlib
import json
import os
import pty
import re
import socket
import subprocess

import pytest
import rawhttp
from configs import config
from harness import PATIENCE, ROOT, StartFailed, environment

FLAGS = """--config --check-config --host --http-port --health-http-port --tls-cert-path
    --tls-key-path --tls-client-ca-cert-path --workers --start-up-health-check --log-level
    --log-format --quiet --otlp-export --otlp-endpoint --otlp-traces-endpoint
    --otlp-metrics-endpoint --otlp-protocol --otlp-traces-protocol --otlp-metrics-protocol
    --otlp-service-name --version --help -q -V""".split()


def text(done):
    return done.stdout.decode() + done.stderr.decode()


# --- help and mistakes ---


def test_help_names_every_flag(weir):
    for words in (["--help"], ["-h"], ["help"], ["serve", "--help"]):
        done = weir.run(*words)
        assert (done.returncode, done.stderr) == (0, b"")
        for flag in FLAGS:
            assert f"{flag}" in done.stdout.decode(), flag
        for variable in ("ORCHESTRATOR_CONFIG", "HTTP_PORT", "WEIR_HOST", "LOG_LEVEL"):
            assert variable in done.stdout.decode()


LIBRARIES = """c-ares ICU libuv libxml2 libyaml nghttp2 OpenSSL PCRE2 protobuf-c Vectorscan zlib""".split()


def test_version(weir):
    for word in ("--version", "-V"):
        done = weir.run(word)
        assert done.returncode == 0
        first, second = done.stdout.decode().splitlines()
        assert re.fullmatch(r"weir \d+\.\d+\.\d+( \([0-9a-f]{12}(\+changes)?\))?", first)
        libraries = re.findall(r"(\S+) (\d+\.\d+(?:\.\d+)*)(?:, |$)", second)
        assert [name for name, _ in libraries] == LIBRARIES


@pytest.mark.parametrize(
    "words, said",
    [
        (["--htpp-port", "1"], "--http-port"),  # did you mean
        (["--nonsense"], "--nonsense"),
        (["-x"], "-x"),
        (["--http-port", "x"], "http-port"),
        (["--http-port", "-1"], "http-port"),
        (["--http-port", "65536"], "http-port"),
        (["--http-port"], "needs a value"),
        (["--http-port="], "http-port"),
        (["--workers", "0"], "workers"),
        (["--log-level", "loud"], "trace, debug, info, warn, error"),
        (["--log-format", "xml"], "terminal, full, compact, pretty, json"),
        (["--quiet=maybe"], "true or false"),
        (["sevre"], "serve"),
        (["serve", "surplus"], "surplus"),
    ],
)
def test_a_mistake_is_named_and_ends_with_2(weir, words, said):
    done = weir.run(*words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()


@pytest.mark.parametrize("words", [["mock"], ["mock", "--port", "8090"], ["mock", "--help"]])
def test_where_the_mock_went(weir, words):
    done = weir.run(*words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert "build/release/weir-mock" in done.stderr.decode()
    assert "mock" not in weir.run("--help").stdout.decode()


def test_a_mistake_in_the_environment(weir):
    done = weir.run(env={"HTTP_PORT": "http"})
    assert done.returncode == 2
    assert "HTTP_PORT" in done.stderr.decode()


# --- --check-config ---


def test_a_good_configuration(weir):
    path = weir.write_config(config())
    done = weir.run("--check-config", "--config", path)
    assert done.returncode == 0, text(done)
    assert str(path) in done.stdout.decode()
    assert weir.run("--check-config").returncode == 0  # the embedded one


def test_every_problem_is_told_with_its_line(weir):
    path = weir.write_config(
        "openai: {builtin: demo}\n"
        "limits:\n"
        "  max_json_depht: 3\n"
        "  max_connections: many\n"
        "detectors:\n"
        "  pii: {type: text_contents, builtin: regex, chunker_id: nowhere}\n"
        "nonsense: 1\n"
    )
    done = weir.run("--check-config", "--config", path)
    assert done.returncode == 1
    lines = done.stdout.decode().splitlines()
    expected = {3: "max_json_depth", 4: "max_connections", 6: "nowhere", 7: "nonsense"}
    for number, word in expected.items():
        assert any(line.startswith(f"{path}:{number}:") and word in line for line in lines), lines
    numbers = [int(n) for n in re.findall(rf"^{path}:(\d+):", done.stdout.decode(), re.M)]
    assert numbers == sorted(numbers) and set(numbers) == set(expected)


def test_warnings_alone_are_no_failure(weir):
    tree = config(compat="fms", nonsense=1)
    done = weir.run("--check-config", "--config", weir.write_config(tree))
    assert done.returncode == 0
    assert "nonsense" in done.stdout.decode() and "warning" in done.stdout.decode()


def test_a_guard_in_name_only_is_a_warning(weir):
    tree = config()
    tree["detectors"]["bare"] = {"builtin": "regex", "chunker_id": "windows"}
    tree["routes"] = [
        {"name": "default", "output": {"pii": {}, "bare": {"regex": ["ipv4"]}}},
        {"name": "idle", "input": {"bare": {}}, "output": {"bare": {"regex": []}}},
    ]
    done = weir.run("--check-config", "--config", weir.write_config(tree))
    assert done.returncode == 0
    lines = [line for line in done.stdout.decode().splitlines() if ": warning: " in line]
    assert len(lines) == 2 and all("`bare` looks for nothing here" in line for line in lines)


def test_a_misspelt_name_is_an_error(weir):
    tree = config()
    tree["detectors"]["pii"]["params"] = {"regex": ["email", "credit-crad"]}
    tree["detectors"]["own"] = {"builtin": "regex", "chunker_id": "windows",
                                "params": {"regex": [{"name": "order", "pattern": "ORD-\\d{8}"}]}}  # fmt: skip
    tree["routes"] = [{"name": "default", "output": {"own": {"regex": ["emial"]}, "pii": {}}}]
    done = weir.run("--check-config", "--config", weir.write_config(tree))
    assert done.returncode == 1
    errors = [line for line in done.stdout.decode().splitlines() if ": error: " in line]
    assert len(errors) == 2
    assert "`credit-crad`" in errors[0] + errors[1] and "did you mean `credit-card`" in errors[0] + errors[1]
    assert "did you mean `email`" in errors[0] + errors[1]


def check(weir, tree):
    """Its exit status and what it prints."""
    done = weir.run("--check-config", "--config", weir.write_config(tree))
    return done.returncode, done.stdout.decode()


@pytest.mark.parametrize(
    "text, said",
    [
        ("openai:\n  service: {hostname: h, port: 443}\n", ["https://", "`tls: {}`"]),
        ("openai:\n  service: {hostname: h, tls: true}\n", ["`tls: {}`"]),
        ("openai:\n\tservice: {hostname: h}\n", ["TAB"]),
        ("detectors: {}\nroutes: [{name: default, unguarded: true}]\n", ["`openai:`"]),
    ],
)
def test_what_to_write_is_said(weir, text, said):
    status, out = check(weir, text)
    assert status == 1
    (line,) = [line for line in out.splitlines() if ": error: " in line]
    assert ".yaml:2: " in line and all(word in line for word in said)


def test_a_certificate_without_a_key_path(weir, certs, tmp_path):
    """The key may be in the certificate's file; where nobody uses the entry it may be nowhere."""
    both = tmp_path / "both.pem"
    both.write_text(certs.client.cert.read_text() + certs.client.key.read_text())
    for path, is_used, expected in [
        (certs.client.cert, False, 0),
        (certs.client.cert, True, 1),
        (both, False, 0),
        (both, True, 0),
    ]:
        service = {"hostname": "h", "port": 1, "tls": "mine" if is_used else "other"}
        entries = {"mine": {"cert_path": str(path)}, "other": {}}
        status, out = check(weir, {"openai": {"service": service}, "tls": entries})
        assert status == expected, out
        assert ("holds no PEM private key" in out) == (path != both), out


def test_an_unknown_log_format_in_the_environment(weir):
    done = weir.run("--config", "missing.yaml", env={"LOG_FORMAT": "logfmt"})
    assert done.returncode == 1  # not 2: it was started, and in vain for another reason
    warning, *_ = [json.loads(line) for line in done.stderr.decode().splitlines()]
    assert warning["level"] == "WARN" and "LOG_FORMAT: `logfmt`" in warning["message"]


def test_a_configuration_that_is_not_there(weir):
    for words in (["--check-config"], []):
        done = weir.run(*words, "--config", "missing.yaml")
        assert done.returncode == 1
        assert "missing.yaml" in text(done)


def test_a_broken_configuration_does_not_start(weir):
    with pytest.raises(StartFailed) as failed:
        weir("detectors: {}\nnonsense: 1\n")
    assert re.search(r"\.yaml:2: .*nonsense", str(failed.value))
    assert "exit status 1" in str(failed.value)


def test_the_embedded_file_is_good_on_its_own(weir):
    done = weir.run("--check-config", "--config", ROOT / "config" / "default.yaml")
    assert done.returncode == 0, text(done)


# --- ports ---


def test_port_0_is_said(weir):
    w = weir()
    lines = w.log("listening")
    assert {line["listener"] for line in lines} == {"api", "health"}
    assert all(line["port"] > 0 and line["host"] == "127.0.0.1" for line in lines)
    assert w.api.get("/nothing").status_code == 404


@pytest.mark.parametrize("listener", ["api", "health"])
def test_a_port_in_use(weir, listener):
    flag = "--http-port" if listener == "api" else "--health-http-port"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartFailed) as failed:
            weir(args=[flag, port])
    assert "exit status 1" in str(failed.value)
    said = next(line for line in str(failed.value).splitlines() if "cannot listen" in line)
    fields = json.loads(said)["fields"]
    assert (fields["listener"], fields["port"]) == (listener, port)
    assert "in use" in fields["why"] and f"{flag} PORT" in fields["why"]


def test_two_servers_do_not_share_a_port(weir):
    """SO_REUSEPORT would let them; each would then get half of the connections."""
    first = weir()
    with pytest.raises(StartFailed, match="in use"):
        weir(args=["--http-port", first.api_port])
    with pytest.raises(StartFailed, match="in use"):
        weir(args=["--health-http-port", first.health_port])
    assert first.api.get("/nothing").status_code == 404


def test_a_port_can_be_taken_again_at_once(weir):
    first = weir()
    ports = ["--http-port", first.api_port, "--health-http-port", first.health_port]
    held = first.raw()
    assert held.get("/nothing").status == 404
    first.stop()
    second = weir(args=ports)
    assert second.api.get("/nothing").status_code == 404


def test_an_address_that_is_none(weir):
    with pytest.raises(StartFailed, match="cannot listen"):
        weir(args=["--host", "300.0.0.1"])


def test_ipv6(weir):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    w = weir(args=["--host", "::1"], ready=False)
    with socket.create_connection(("::1", w.health_port), timeout=PATIENCE) as sock:
        sock.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert sock.recv(100).startswith(b"HTTP/1.1 200 ")


# --- the environment ---


def test_variables_stand_in_for_flags(weir):
    path = weir.write_config(config(compat="fms"))
    w = weir(env={"ORCHESTRATOR_CONFIG": str(path), "WEIR_WORKERS": "3"})
    assert "fms-guardrails-orchestr8" in w.health.get("/health").json()
    assert w.log("listening", listener="api")[0]["workers"] == 3


def test_a_flag_wins_over_its_variable(weir):
    w = weir(env={"HTTP_PORT": "1", "HEALTH_HTTP_PORT": "1", "WEIR_HOST": "300.0.0.1"})
    assert w.health.get("/health").status_code == 200


# --- what it says ---


def test_quiet_says_nothing_but_errors(weir):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = weir.run("--quiet", "--http-port", "0", "--health-http-port", port)
    lines = [json.loads(line) for line in done.stderr.decode().splitlines()]
    assert done.returncode == 1
    assert [line["level"] for line in lines] == ["ERROR"]


@pytest.mark.parametrize("args", [["--quiet"], ["--log-level", "warn"], ["--log-level", "off"]])
def test_a_picked_port_is_told_at_any_level(weir, args):
    w = weir(args=args)
    assert w.api.get("/nothing").status_code == 404
    w.stop()
    told = [json.loads(line) for line in w.stderr().splitlines()]
    assert [line["message"] for line in told] == ["listening", "listening"]


def test_a_port_that_was_given_is_not_told_when_quiet(weir):
    first = weir()
    ports = ["--http-port", first.api_port, "--health-http-port", first.health_port]
    first.stop()
    second = weir(args=["--quiet", *ports], known_ports=first.ports)
    assert second.api.get("/nothing").status_code == 404
    second.stop()
    assert second.stderr() == ""


def test_an_endpoint_alone_is_no_export(weir):
    """Platforms set the variable for every process."""
    w = weir(env={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
    assert "OTLP" not in w.stderr()


def test_every_log_line_is_json(weir):
    w = weir(config())
    w.api.get("/weird\x01path\u2028".encode("unicode_escape").decode())
    w.api.get('/a"b\\c')
    w.stop()
    for line in w.stderr().splitlines():
        entry = json.loads(line)
        assert entry.keys() >= {"timestamp", "level", "target", "message"}


@pytest.mark.parametrize("format", ["terminal", "full", "compact", "pretty"])
def test_other_formats(weir, format):
    done = weir.run("--http-port", "99999", "--log-format", format)
    assert done.returncode == 2
    w = weir.run("--config", "missing.yaml", "--log-format", format)
    assert "missing.yaml" in w.stderr.decode()
    assert not w.stderr.startswith(b"{")


def on_a_terminal(program, *args, **env):
    """Exit status and what a person sees, line by line."""
    try:
        ours, theirs = pty.openpty()
    except OSError:
        pytest.skip("this machine has no pseudo-terminals: /dev/pts is not mounted")
    command = [program, *map(str, args)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=theirs, env=environment({"TERM": "xterm", **env})
    )
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # EIO: the other end is closed
        while piece := os.read(ours, 4096):
            seen += piece
    os.close(ours)
    return process.wait(PATIENCE), seen.decode().split("\r\n")[:-1]


PAINT = re.compile(r"\x1b\[[0-9;]*m")


def test_a_person_gets_a_line_each(weir, tmp_path):
    """A broken file and a taken port, as who starts it by hand sees them."""
    broken = tmp_path / "broken.yaml"
    broken.write_text("detectors: {}\nnonsense: 1\n")
    status, lines = on_a_terminal(weir.program, "--config", broken)
    assert status == 1 and all("\x1b[" in line for line in lines)
    plain = [PAINT.sub("", line) for line in lines]
    assert all(re.match(r"\d\d:\d\d:\d\d (ERROR| WARN) \w+ +\S", line) for line in plain), plain
    assert any("broken.yaml:2: " in line and "nonsense" in line for line in plain)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        args = ["--http-port", port, "--health-http-port", 0]
        status, lines = on_a_terminal(weir.program, *args, NO_COLOR="1")
    assert status == 1
    line = next(line for line in lines if "ERROR" in line)
    assert line[8:].startswith(" ERROR server  cannot listen")
    assert f"port={port}" in line and "--http-port PORT moves it" in line


def test_it_goes_on_when_nobody_reads_its_log(weir):
    command = [weir.program, "--http-port", "0", "--health-http-port", "0", "--log-format", "json"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment(None))
    with contextlib.closing(process.stderr):
        ports = {}
        while len(ports) < 2:
            fields = json.loads(process.stderr.readline()).get("fields", {})
            if "listener" in fields:
                ports[fields["listener"]] = fields["port"]
    for _ in range(3):
        with contextlib.closing(rawhttp.connect(ports["api"])) as c:
            assert c.get("/nothing").status == 404
    process.terminate()
    assert process.wait(PATIENCE) == 0
