"""Both listeners of the real binary, over every transport the harness speaks."""

import re
import ssl

import httpx
import pytest
import rawhttp


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
def test_clear_text(weir, http2):
    w = weir()
    assert w.client("health", http2).get("/health").json().keys() == {"weir"}
    answer = w.client("api", http2).get("/no/such/path")
    assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
    assert (answer.status_code, answer.json()["code"]) == (404, 404)


def test_by_hand(weir):
    w = weir()
    c = w.raw("health")
    c.send_bytewise(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    first = c.read_response()
    assert first.status == 200
    assert c.get("/health").body == first.body  # the same connection
    h = w.h2("health")
    assert h.response(h.request("GET", "/health")).body == first.body


def test_tls_offers_both_protocols(weir, certs):
    w = weir(args=certs.server_args(), tls=certs.context())
    assert w.raw().get("/no/such/path").status == 404
    h = w.h2()
    assert h.response(h.request("GET", "/no/such/path", scheme="https")).status == 404
    assert w.health.get("/health").status_code == 200  # the health port stays in the clear


def test_mutual_tls(weir, certs):
    w = weir(args=certs.server_args(mutual=True), tls=certs.context(client=certs.client))
    assert w.api.get("/no/such/path").status_code == 404
    for context in (certs.context(), certs.context(client=certs.stranger)):
        with pytest.raises((httpx.TransportError, ssl.SSLError)):
            w.client(verify=context).get("/no/such/path")


def test_a_client_that_does_not_trust_us(weir, certs):
    w = weir(args=certs.server_args(), tls=certs.context())
    with pytest.raises(ssl.SSLCertVerificationError):
        rawhttp.connect(w.api_port, tls=certs.context(trust=certs.stranger_ca))


def test_version(weir):
    done = weir.run("--version")
    assert done.returncode == 0
    assert re.search(rb"\d+\.\d+\.\d+", done.stdout)
