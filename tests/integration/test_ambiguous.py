"""Requests that two servers could read in two ways, and requests that are none: refused, each of
them, and nothing behind them is read as a request.
"""

import pytest
from configs import CONTENT, config
from harness import wait_until

POST = f"POST {CONTENT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server(module_weir):
    return module_weir(config())


@pytest.fixture
def w(server):
    with server.unharmed():
        yield server


AMBIGUOUS = {
    "negative length": POST + "Content-Length: -1\r\n\r\n",
    "signed length": POST + "Content-Length: +2\r\n\r\n{}",
    "length in words": POST + "Content-Length: two\r\n\r\n{}",
    "empty length": POST + "Content-Length:\r\n\r\n{}",
    "huge length": POST + "Content-Length: 99999999999999999999999\r\n\r\n{}",
    "two lengths": POST + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "two different lengths": POST + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "a list of lengths": POST + "Content-Length: 2, 2\r\n\r\n{}",
    "length and chunked": POST + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked and length": POST + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
    "chunked twice": POST + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunked on 1.0": POST.replace("1.1", "1.0") + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bare LF": "GET / HTTP/1.1\nHost: x\n\n",
    "one bare LF": "GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n",
    "bare CR": "GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n",
    "folded field": "GET / HTTP/1.1\r\nHost: x\r\nX: y\r\n z\r\n\r\n",
    "folded first field": "GET / HTTP/1.1\r\n Host: x\r\n\r\n",
    "space before the colon": "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    "no colon": "GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n",
    "empty name": "GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n",
    "NUL in a value": "GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n",
    "no host": "GET / HTTP/1.1\r\n\r\n",
    "two hosts": "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
    "two spaces": "GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
    "tab for a space": "GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "no version": "GET /\r\n\r\n",
    "lower-case version": "GET / http/1.1\r\nHost: x\r\n\r\n",
    "space in the target": "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
    "relative target": "GET nothing HTTP/1.1\r\nHost: x\r\n\r\n",
    "star for GET": "GET * HTTP/1.1\r\nHost: x\r\n\r\n",
    "CONNECT": "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    "bad chunk size": POST + "Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "negative chunk size": POST + "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
    "huge chunk size": POST + "Transfer-Encoding: chunked\r\n\r\n" + "f" * 17 + "\r\n",
    "chunk without its end": POST + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n",
    "chunk with bare LF": POST + "Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n",
    "a response": "HTTP/1.1 200 OK\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "SMTP": "EHLO example.org\r\n",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_can_be_misread_is_refused(w, name):
    c = w.raw()
    c.send(AMBIGUOUS[name] + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
    response = c.read_response()
    assert (response.status, response.get("connection")) == (400, "close")
    assert response.json()["code"] == 400
    c.expect_closed()
    assert "/smuggled" not in w.stderr()


@pytest.mark.parametrize("version", ["HTTP/1.2", "HTTP/2.0", "HTTP/3.0"])
def test_another_version(w, version):
    c = w.raw()
    c.send(f"GET / {version}\r\nHost: x\r\n\r\n")
    assert c.read_response().status == 505


def test_another_transfer_coding(w):
    c = w.raw()
    c.send(POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
    assert c.read_response().status == 501
    c.expect_closed()


def test_what_is_refused_is_counted(w):
    def refused():
        text = w.raw("health").get("/metrics").body.decode()
        name = 'weir_http_requests_total{listener="api",status="4xx"}'
        return int(text.split(name)[1].split()[0])

    before = refused()
    c = w.raw()
    c.send("nonsense\n")
    assert c.read_response().status == 400
    wait_until(lambda: refused() == before + 1, "the count")
