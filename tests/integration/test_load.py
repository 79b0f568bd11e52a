"""Many connections and many requests, on one worker and on several: all answered, nothing kept."""

import contextlib
import threading

import pytest
import rawhttp
from configs import CONTENT, config

JSON = [("Content-Type", "application/json")]
H2_JSON = [("content-type", "application/json")]


@pytest.fixture(scope="module", params=[1, 4], ids=["one worker", "four workers"])
def server(request, module_weir):
    return module_weir(config(limits={"header_timeout": 60}), args=["--workers", request.param])


@pytest.fixture
def w(server):
    with server.unharmed():
        yield server


def test_five_hundred_connections_one_after_the_other(w):
    for n in range(500):
        with contextlib.closing(rawhttp.connect(w.api_port)) as c:
            assert c.get("/nothing").status == 404
            if n % 10 == 0:
                c.reset()


def test_five_hundred_connections_at_once(w):
    held = [w.raw() for _ in range(500)]
    for c in held:
        c.request("POST", CONTENT, JSON, b"[1")
    for c in held:
        assert c.read_response().status == 400
    for c in held:
        assert c.get("/nothing").status == 404


def test_many_threads(w):
    failures = []

    def work(n):
        try:
            for _ in range(5):
                with contextlib.closing(rawhttp.connect(w.api_port)) as c:
                    c.send(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % n * 20)
                    assert [c.read_response().status for _ in range(20)] == [404] * 20
        except Exception as failure:  # the test must see it
            failures.append(repr(failure))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_many_streams_on_many_http2_connections(w):
    connections = [w.h2() for _ in range(20)]
    asked = []
    for c in connections:
        for _ in range(50):
            asked.append((c, c.request("POST", CONTENT, H2_JSON, b"[1")))
    for c, stream in asked:
        assert c.response(stream).status == 400


def test_every_worker_gets_its_share(w):
    """The kernel spreads connections over the workers' sockets; one that is deaf would be seen."""
    for _ in range(5):
        held = [w.raw() for _ in range(40)]
        for c in held:
            assert c.get("/nothing").status == 404
        for c in held:
            c.close()


def test_mixed_traffic_leaves_nothing(w):
    for n in range(40):
        plain, h2 = w.raw(), w.h2()
        plain.request("POST", CONTENT, [*JSON, ("Content-Length", "100")])
        stream = h2.request("POST", CONTENT, H2_JSON, b"[", end_stream=n % 2 == 0)
        if n % 3 == 0:
            plain.reset()
        elif n % 3 == 1:
            h2.reset_stream(stream)
        else:
            plain.close()
            h2.close()
