"""TLS on the API port: versions, protocols, client certificates, and what is no TLS at all."""

import contextlib
import random
import socket
import ssl
import struct

import httpx
import pytest
import rawh2
import rawhttp
from certs import RSA_KEY
from configs import CONTENT, config
from harness import wait_until

HASTE = {"header_timeout": 0.4, "idle_timeout": 0.6}


@pytest.fixture(scope="module")
def server(module_weir, certs):
    limits = {"header_timeout": 60}
    return module_weir(config(limits=limits), args=certs.server_args(), tls=certs.context())


@pytest.fixture
def w(server):
    with server.unharmed():
        yield server


@pytest.fixture
def hasty(weir, certs):
    return weir(config(limits=HASTE), args=certs.server_args(), tls=certs.context())


@pytest.fixture(scope="module")
def mutual_server(module_weir, certs):
    context = certs.context(client=certs.client)
    return module_weir(config(), args=certs.server_args(mutual=True), tls=context)


@pytest.fixture
def mutual(mutual_server):
    with mutual_server.unharmed():
        yield mutual_server


@pytest.fixture(scope="module")
def rsa(module_weir, certs):
    """A server with an RSA key; the others have one on an elliptic curve."""
    made = certs.make("rsa", certs.ca, "subjectAltName=DNS:localhost,IP:127.0.0.1", key=RSA_KEY)
    args = ["--tls-cert-path", made.cert, "--tls-key-path", made.key]
    return module_weir(config(), args=args, tls=certs.context())


def connect(w, context, alpn=None):
    """A TLS socket with exactly these protocols offered."""
    sock = socket.create_connection(("127.0.0.1", w.api_port), timeout=60)
    if alpn:
        context.set_alpn_protocols(alpn)
    return context.wrap_socket(sock, server_hostname="localhost")


# --- versions and protocols ---


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_supported_versions(w, certs, version):
    context = certs.context()
    context.minimum_version = context.maximum_version = version
    c = w.raw(tls=context)
    assert c.sock.version() == version.name.replace("_", ".")
    assert c.get("/nothing").status == 404


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_old_versions_are_refused(w, certs, version):
    context = certs.context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    with pytest.raises(ssl.SSLError, match="(?i)protocol.version"):
        connect(w, context)


# Without ECDHE, without an AEAD, without both; a server with an RSA key could do all of them.
WEAK = ["AES256-GCM-SHA384", "ECDHE-RSA-AES256-SHA384", "ECDHE-RSA-AES128-SHA", "AES128-SHA"]
STRONG = ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"]


def tls12(certs, ciphers):
    context = certs.context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
    return context


@pytest.mark.parametrize("cipher", WEAK)
def test_tls_1_2_without_ecdhe_and_aead_is_refused(rsa, certs, cipher):
    with pytest.raises(ssl.SSLError, match="(?i)handshake.failure"):
        connect(rsa, tls12(certs, cipher))


@pytest.mark.parametrize("cipher", STRONG)
def test_tls_1_2_with_both_is_served(w, rsa, certs, cipher):
    for server, kind in ((w, "ECDSA"), (rsa, "RSA")):
        c = server.raw(tls=tls12(certs, f"ECDHE-{kind}-{cipher}"))
        assert c.sock.cipher()[0] == f"ECDHE-{kind}-{cipher}"
        assert c.get("/nothing").status == 404


@pytest.mark.parametrize(
    "offered, chosen",
    [
        (["h2"], "h2"),
        (["http/1.1"], "http/1.1"),
        (["http/1.1", "h2"], "h2"),
        (["spdy/3", "http/1.1"], "http/1.1"),
        (["spdy/3"], None),
        (None, None),
    ],
)
def test_the_protocol_is_negotiated(w, certs, offered, chosen):
    sock = connect(w, certs.context(), offered)
    assert sock.selected_alpn_protocol() == chosen
    if chosen == "h2":
        c = rawh2.H2Connection(sock)
        c.open({})
        assert c.response(c.request("GET", "/nothing", scheme="https")).status == 404
    else:
        assert rawhttp.RawConnection(sock).get("/nothing").status == 404
    sock.close()


def test_http2_without_negotiation(w, certs):
    c = rawh2.H2Connection(connect(w, certs.context()))
    c.open({})
    assert c.response(c.request("GET", "/nothing", scheme="https")).status == 404
    c.close()


def test_http1_where_http2_was_negotiated(w, certs):
    sock = connect(w, certs.context(), ["h2"])
    sock.sendall(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
    answer = b""
    while data := sock.recv(4096):
        answer += data
    assert b"HTTP/1.1" not in answer
    sock.close()


def test_a_real_client_on_both(w):
    for http2 in (False, True):
        answer = w.client(http2=http2).post(CONTENT, json=[])
        assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
        assert answer.status_code >= 400


def test_large_messages_cross(w):
    c = w.raw()
    c.request("POST", CONTENT, [("Content-Type", "application/json")], b"[" + b" " * (9 << 20))
    assert c.read_response().status == 400


def test_the_end_is_announced(w):
    """close_notify, not a bare end of the connection, which an attacker could have made."""
    c = w.raw()
    c.sock.suppress_ragged_eofs = False
    assert c.get("/nothing", [("Connection", "close")]).status == 404
    assert c.sock.recv(100) == b""


def test_sessions_are_resumed(w, certs):
    context = certs.context()
    first = connect(w, context)
    rawhttp.RawConnection(first).get("/nothing")  # the ticket comes with the answer
    session = first.session
    first.close()
    sock = socket.create_connection(("127.0.0.1", w.api_port), timeout=60)
    second = context.wrap_socket(sock, server_hostname="localhost", session=session)
    assert second.session_reused
    assert rawhttp.RawConnection(second).get("/nothing").status == 404
    second.close()


# --- client certificates ---


def test_a_known_caller(mutual):
    assert mutual.raw().get("/nothing").status == 404
    h = mutual.h2()
    assert h.response(h.request("GET", "/nothing", scheme="https")).status == 404


@pytest.mark.parametrize("who", ["nobody", "stranger"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_an_unknown_caller(mutual, certs, who, version):
    context = certs.context(client=certs.stranger if who == "stranger" else None)
    context.maximum_version = version
    with pytest.raises((ssl.SSLError, ConnectionError, rawhttp.Closed)):
        # With TLS 1.3 the refusal comes after the client's end of the handshake.
        rawhttp.RawConnection(connect(mutual, context)).get("/nothing")
    assert not mutual.log(path="/nothing", status=200)


def test_mutual_tls_for_a_real_client(mutual, certs):
    assert mutual.api.get("/nothing").status_code == 404
    with pytest.raises(httpx.TransportError):
        mutual.client(verify=certs.context()).get("/nothing")


def test_the_health_port_needs_no_certificate(mutual):
    assert mutual.health.get("/health").status_code == 200


# --- what is no TLS ---


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", rawh2.PREFACE])
def test_plain_http_on_a_tls_port(w, data):
    c = rawhttp.connect(w.api_port)
    c.send(data)
    c.half_close()
    while c.fill():
        pass
    assert not c.received.startswith(b"HTTP/")
    c.close()


def test_garbage(w):
    noise = random.Random(5)
    for n in range(60):
        c = rawhttp.connect(w.api_port)
        record = struct.pack(">BHH", 22, 0x0301, noise.randrange(0, 20000)) if n % 2 else b""
        try:
            c.send(record + noise.randbytes(noise.randrange(1, 5000)))
            c.half_close()
            while c.fill():
                pass
        except OSError:
            pass
        c.close()


def client_hello(certs):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    shaking = certs.context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        shaking.do_handshake()
    return outgoing.read()


def test_a_handshake_cut_anywhere(w, certs):
    hello = client_hello(certs)
    for at in range(0, len(hello), 3):
        c = rawhttp.connect(w.api_port)
        c.send(hello[:at])
        c.reset() if at % 2 else c.close()


@pytest.mark.parametrize("n", [0, 1, 100])
def test_a_handshake_that_stops(hasty, certs, n):
    c = rawhttp.connect(hasty.api_port)
    with contextlib.suppress(ConnectionError):  # it may be too late already
        c.send(client_hello(certs)[:n])
    c.expect_closed()
    c.close()


def test_a_tls_connection_that_says_nothing(hasty):
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        hasty.raw().expect_closed()


def test_a_connection_cut_inside_a_record(w):
    c = w.raw()
    plain = socket.socket(fileno=c.sock.detach())
    plain.sendall(b"\x17\x03\x03\x40\x00" + bytes(100))
    plain.close()


def test_too_many_connections_are_told_inside_tls(weir, certs):
    tree = config(limits={"max_connections": 2})
    w = weir(tree, args=certs.server_args(), tls=certs.context())
    with w.unharmed():
        held = [w.raw() for _ in range(2)]
        for c in held:
            assert c.get("/nothing").status == 404
        c = w.raw()
        assert c.read_response().status == 503
        c.expect_closed()


# --- the server's own files ---


def test_new_certificates_come_with_a_reload(weir, certs, tmp_path):
    first = certs.make("first", certs.ca, "subjectAltName=DNS:localhost")
    second = certs.make("second", certs.ca, "subjectAltName=DNS:localhost")
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def install(pair):
        cert.write_bytes(pair.cert.read_bytes())
        key.write_bytes(pair.key.read_bytes())

    def subject():
        with connect(w, certs.context()) as sock:
            return dict(pair[0] for pair in sock.getpeercert()["subject"])["commonName"]

    install(first)
    args = ["--tls-cert-path", cert, "--tls-key-path", key]
    w = weir(config(), args=args, tls=certs.context())
    old = w.raw()
    assert subject() == "first"
    install(second)
    w.signal(1)
    w.wait_log("configuration reloaded")
    wait_until(lambda: subject() == "second", "every worker to know")
    assert old.get("/nothing").status == 404  # keeps what it began with
    cert.write_text("nonsense")
    w.signal(1)
    w.wait_log("reload refused, the old configuration stays")
    assert subject() == "second"


@pytest.mark.parametrize(
    "args, message",
    [
        (["--tls-cert-path", "server.crt"], "--tls-key-path"),
        (["--tls-key-path", "server.key"], "--tls-cert-path"),
        (["--tls-client-ca-cert-path", "ca.crt"], "--tls-cert-path"),
        (["--tls-cert-path", "none.crt", "--tls-key-path", "server.key"], "none.crt"),
        (["--tls-cert-path", "server.crt", "--tls-key-path", "client.key"], "does not match"),
        (["--tls-cert-path", "server.key", "--tls-key-path", "server.key"], "certificate"),
    ],
)
def test_what_is_wrong_with_the_files(weir, certs, args, message):
    args = [str(certs.folder / word) if "." in word else word for word in args]
    for command in (["--check-config"], ["--http-port", "0", "--health-http-port", "0"]):
        done = weir.run(*command, *args)
        assert done.returncode != 0
        assert message in (done.stdout + done.stderr).decode()
