"""The harness itself: it notices a bad exit, a sanitizer's report, and improper HTTP."""

import socket
import subprocess
import textwrap

import harness
import pytest
import rawhttp

# Behaves as the server does as far as the harness looks, with ways to misbehave.
STAND_IN = """\
    #!/usr/bin/python3
    import http.server, json, os, signal, sys, threading

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")
        def log_message(self, *args):
            pass

    if os.environ.get("DIE") == "early":
        sys.exit("no such key")
    def stop(number, frame):
        print(os.environ.get("LAST_WORDS", ""), file=sys.stderr, flush=True)
        os._exit(int(os.environ.get("STATUS", "0")))
    signal.signal(signal.SIGTERM, stop)
    for name in ("api", "health"):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        fields = {"listener": name, "port": server.server_port}
        line = {"level": "INFO", "message": "listening", "fields": fields}
        print(json.dumps(line), file=sys.stderr, flush=True)
    while True:
        signal.pause()
"""


@pytest.fixture
def servers(tmp_path):
    program = tmp_path / "stand-in"
    program.write_text(textwrap.dedent(STAND_IN))
    program.chmod(0o755)
    return harness.Servers(program, tmp_path)


def test_starts_talks_and_stops(servers):
    w = servers()
    assert w.health.get("/readyz").text == "ok"
    assert w.api.get("/").status_code == 200
    assert w.log("listening", listener="api")[0]["port"] == w.api_port
    servers.stop_all()
    assert w.process.returncode == 0


@pytest.mark.parametrize(
    "env",
    [
        {"STATUS": "3"},
        {"LAST_WORDS": "==7==ERROR: LeakSanitizer: detected memory leaks"},
        {"LAST_WORDS": "src/a.c:3:4: runtime error: signed integer overflow"},
    ],
)
def test_a_bad_end_is_an_error(servers, env):
    servers(env=env)
    with pytest.raises(AssertionError):
        servers.stop_all()


def test_a_server_that_does_not_start(servers):
    with pytest.raises(harness.StartFailed, match="no such key"):
        servers(env={"DIE": "early"})


@pytest.fixture
def say():
    """say(bytes) -> a connection whose peer said exactly that and closed."""
    pairs = []

    def make(data):
        ours, theirs = socket.socketpair()
        pairs.extend([ours, theirs])
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        ours.settimeout(harness.PATIENCE)
        return rawhttp.RawConnection(ours)

    yield make
    for sock in pairs:
        sock.close()


def test_reads_two_responses_in_a_row(say):
    c = say(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\nX: y\r\n\r\n"
    )
    assert c.read_response().body == b"hi"
    second = c.read_response()
    assert (second.chunks, second.trailers) == ([b"abc", b"d"], [("x", "y")])
    c.expect_closed()


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 99 OK\r\n\r\n",
        b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_forgives_nothing(say, data):
    with pytest.raises(rawhttp.ProtocolError):
        say(data).read_response()


def test_notices_a_short_body(say):
    with pytest.raises(rawhttp.Closed):
        say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi").read_response()


def test_notices_bytes_after_the_end(say):
    c = say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi!")
    c.read_response()
    with pytest.raises(rawhttp.ProtocolError):
        c.expect_closed()


def test_certificates(certs):
    check = ["openssl", "verify", "-CAfile"]
    subprocess.run([*check, certs.ca.cert, certs.server.cert, certs.client.cert], check=True)
    done = subprocess.run([*check, certs.ca.cert, certs.stranger.cert])
    assert done.returncode != 0
    certs.context(client=certs.client)
