"""The client (tests/tools/call_probe.c) against servers that are not ours: nginx and Python's own."""

import http.server
import json
import shutil
import socket
import subprocess
import threading

import harness
import pytest


def probe(**options):
    """What call_probe says. Underscores stay, True is 1."""
    words = [f"{key}={int(value) if value is True else value}" for key, value in options.items()]
    done = subprocess.run(
        [harness.build_folder() / "tests" / "call_probe", *words],
        capture_output=True,
        env=harness.environment({}),
        timeout=200,
    )
    harness.assert_no_report(done.stderr.decode(), "call_probe")
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Nginx:
    def __init__(self, folder, server):
        self.port = free_port()
        conf = folder / "nginx.conf"
        conf.write_text(
            f"""daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
            events {{ worker_connections 256; }}
            http {{
              access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
              fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
              server {{ {server.replace("PORT", f"127.0.0.1:{self.port}")} }}
            }}"""
        )
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen(
            harness.dying_with_us([program, "-c", conf, "-p", folder, "-e", f"{folder}/error.log"]),
            stderr=subprocess.DEVNULL,
        )
        harness.wait_until(self.is_up, "nginx")

    def is_up(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=20).close()
            return True
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(harness.PATIENCE)


@pytest.fixture
def nginx(tmp_path):
    started = []

    def start(server):
        started.append(Nginx(tmp_path, server))
        return started[-1]

    yield start
    for server in started:
        server.stop()


ANSWER = 'location / { default_type application/json; return 200 "[[]]"; }'


def test_connections_that_nginx_closes_after_some_requests(nginx):
    server = nginx(f"listen PORT; keepalive_requests 3; {ANSWER}")
    said = probe(port=server.port, calls=500, at_once=8)
    assert said == {"status": {"200": 500}, "errors": {}, "bytes": 2000}


def test_connections_that_nginx_closes_just_as_they_are_used(nginx):
    """The idle time of the service and the pause between two calls are the same: the race is on."""
    server = nginx(f"listen PORT; keepalive_timeout 1s; {ANSWER}")
    said = probe(port=server.port, calls=40, at_once=10, wait_ms=1000)
    assert said == {"status": {"200": 40}, "errors": {}, "bytes": 160}


def test_nginx_over_http2(nginx):
    server = nginx(f"listen PORT http2; {ANSWER}")
    said = probe(port=server.port, h2=True, calls=500, at_once=20)
    assert said == {"status": {"200": 500}, "errors": {}, "bytes": 2000}


def test_nginx_says_goodbye_after_some_streams(nginx):
    server = nginx(f"listen PORT http2; keepalive_requests 10; {ANSWER}")
    said = probe(port=server.port, h2=True, calls=500, at_once=20)
    assert said == {"status": {"200": 500}, "errors": {}, "bytes": 2000}


def test_few_streams_per_connection(nginx):
    server = nginx(f"listen PORT http2; http2_max_concurrent_streams 2; {ANSWER}")
    said = probe(port=server.port, h2=True, calls=200, at_once=20)
    assert said == {"status": {"200": 200}, "errors": {}, "bytes": 800}


@pytest.mark.parametrize("http2", ["", "http2"])
def test_tls(nginx, certs, http2):
    tls = f"ssl_certificate {certs.server.cert}; ssl_certificate_key {certs.server.key};"
    server = nginx(f"listen PORT ssl {http2}; {tls} {ANSWER}")
    said = probe(host="localhost", port=server.port, ca=certs.ca.cert, calls=50, at_once=4)
    assert said == {"status": {"200": 50}, "errors": {}, "bytes": 200}


class Slow(http.server.BaseHTTPRequestHandler):
    """HTTP/1.0, as Python answers by default: every answer ends with the connection."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"[[]]")

    def log_message(self, *args):
        pass


def test_a_server_of_http_1_0():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        said = probe(port=server.server_port, path="/x", body="{}", calls=50, at_once=4)
        server.shutdown()
    assert said == {"status": {"200": 50}, "errors": {}, "bytes": 200}
