"""Providers under load: balance, one of them failing, reload, TLS."""

import json
import re
import signal
import ssl
import threading

import httpx
import pytest
from configs import config
from harness import wait_until
from mock import events
from service import reply

CHAT = "/v1/chat/completions"


def at(mock, name, **more):
    """The provider that the mock plays below that name."""
    return {"kind": "openai", "base_url": mock.url(f"/providers/{name}/v1"), **more}


def tree(providers, models, **parts):
    made = config(providers=providers, models=models, **parts)
    del made["openai"]
    return made


def counts(w):
    """Good answers by provider, from the metrics."""
    text = w.health.get("/metrics").text
    found = re.findall(r'weir_service_requests_total\{service="(\w+)",result="2xx"\} (\d+)', text)
    return {name: int(n) for name, n in found}


def together(n_threads, work):
    """Runs work(thread) in threads and gives what failed."""
    failures = []

    def run(i):
        try:
            work(i)
        except Exception as failure:  # it must be seen by the test, whatever it is
            failures.append(repr(failure))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


@pytest.mark.parametrize("fails", [False, True])
def test_replicas_are_balanced(weir, mock, fails):
    """Many conversations at once: within a tenth of each other, one that fails or not."""
    m = mock()
    busy = {"headers": {"x-mock": "delay_ms=20; tokens=1"}}
    ill = {"headers": {"x-mock": "status=503"}} if fails else busy
    w = weir(tree({"a": at(m, "a", **busy), "b": at(m, "b", **busy), "c": at(m, "c", **ill)},
                  {"m": {"providers": ["a", "b", "c"]}}), args=["--workers", 2])
    n_threads, n_each = 24, 40

    def talk(thread):
        with httpx.Client(base_url=w.url(), timeout=60, trust_env=False) as client:
            for i in range(n_each):
                body = {"model": "m", "messages": [
                    {"role": "user", "content": f"question {i} of {thread}"}]}
                answer = client.post(CHAT, json=body)
                assert answer.status_code == 200, answer.text

    assert together(n_threads, talk) == []
    found = counts(w)
    good = [name for name in "abc" if not (fails and name == "c")]
    mean = n_threads * n_each / len(good)
    assert sum(found[name] for name in good) == n_threads * n_each
    for name in good:
        assert abs(found[name] - mean) <= mean / 10, found


def test_a_conversation_stays_with_its_replica(weir, mock):
    m = mock("--tokens", 1)
    w = weir(tree({name: at(m, name) for name in "abc"}, {"m": {"providers": list("abc")}}),
             args=["--workers", 2])
    seen = set()
    for talk in range(12):
        messages = [{"role": "system", "content": "be kind"},
                    {"role": "user", "content": f"talk {talk}"}]
        servers = set()
        for turn in range(3):
            answer = w.client().post(CHAT, json={"model": "m", "messages": messages})
            servers.add(answer.json()["system_fingerprint"])
            messages += [{"role": "assistant", "content": "yes"},
                         {"role": "user", "content": f"turn {turn}"}]
        assert len(servers) == 1
        seen |= servers
    assert len(seen) > 1
    keyed = {w.api.post(CHAT, json={"model": "m", "prompt_cache_key": "k", "messages": [
        {"role": "user", "content": f"other {i}"}]}).json()["system_fingerprint"]
        for i in range(6)}
    assert len(keyed) == 1


def test_reload_loses_no_stream(weir, mock):
    """Streams go on with the provider they began with; new ones go to the new one."""
    m = mock("--tokens", 30, "--rate", 60)
    path = weir.write_config(tree({"p": at(m, "old")}, {"m": {"provider": "p"}}))
    w = weir(path, args=["--workers", 2])
    stopping = threading.Event()
    streams = []

    def talk(thread):
        with httpx.Client(base_url=w.url(), timeout=60, trust_env=False) as client:
            while not stopping.is_set():
                body = {"model": "m", "stream": True,
                        "messages": [{"role": "user", "content": f"of {thread}"}]}
                streams.append(events(client.post(CHAT, json=body).text))

    def reload():
        for i in range(6):
            name = "new" if i % 2 == 0 else "old"
            revision = w.health.get("/info").json()["revision"]
            weir.write_config(tree({"p": at(m, name)}, {"m": {"provider": "p"}}))
            w.signal(signal.SIGHUP)
            wait_until(lambda: w.health.get("/info").json()["revision"] != revision, "a reload")
            before = len(streams)
            wait_until(lambda: len(streams) > before + 8, "streams to end")
        stopping.set()

    failures = together(7, lambda i: reload() if i == 0 else talk(i))
    assert failures == []
    seen = set()
    for stream in streams:
        assert stream[-1] == "[DONE]"
        servers = {event["system_fingerprint"] for event in stream[:-1]}
        assert len(servers) == 1
        seen |= servers
        text = "".join(c["delta"].get("content") or "" for e in stream[:-1] for c in e["choices"])
        assert len(text.split()) >= 20
    assert seen == {"fp_old", "fp_new"}


def test_a_key_file_is_read_again(weir, service, tmp_path):
    key = tmp_path / "key"
    key.write_text("one")
    server = service(lambda request: reply({"id": "x", "object": "chat.completion", "model": "m",
                                            "choices": []}))
    made = tree({"p": {"kind": "openai", "base_url": f"http://127.0.0.1:{server.port}/v1",
                       "api_key_file": str(key)}}, {"m": {"provider": "p"}})
    w = weir(made)

    def sent():
        w.api.post(CHAT, json={"model": "m", "messages": [{"role": "user", "content": "x"}]})
        return server.requests[-1].header("authorization")

    assert sent() == "Bearer one"
    key.write_text("two")
    w.signal(signal.SIGHUP)
    wait_until(lambda: sent() == "Bearer two", "the new key")
    assert "Bearer" not in w.stderr()


@pytest.mark.parametrize("trusts", ["private", "system", "insecure"])
def test_tls_with_a_name_and_a_private_authority(weir, service, certs, trusts):
    names = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs.server.cert, certs.server.key)
    context.sni_callback = lambda sock, name, ctx: names.append(name)
    server = service(lambda request: reply({"object": "chat.completion", "model": "m",
                                            "choices": []}), tls=context)
    tls = {"private": {"client_ca_cert_path": str(certs.ca.cert)}, "insecure": {"insecure": True},
           "system": None}[trusts]
    entry = {"kind": "openai", "base_url": f"https://localhost:{server.port}/v1"}
    made = tree({"p": {**entry, **({"tls": tls} if tls else {})}}, {"m": {"provider": "p"}})
    w = weir(made)
    answer = w.api.post(CHAT, json={"model": "m",
                                    "messages": [{"role": "user", "content": "x"}]})
    assert (answer.status_code == 200) == (trusts != "system"), answer.text
    assert set(names) == {"localhost"}


def test_tls_failure_goes_to_the_fallback(weir, service, certs):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs.server.cert, certs.server.key)
    first = service(tls=context)
    second = service(lambda request: reply({"object": "chat.completion", "model": "m",
                                            "choices": []}))
    w = weir(tree({"p": {"kind": "openai", "base_url": f"https://localhost:{first.port}/v1"},
                   "q": {"kind": "openai", "base_url": f"http://localhost:{second.port}/v1"}},
                  {"m": {"provider": "p", "fallback": [{"provider": "q"}]}}))
    answer = w.api.post(CHAT, json={"model": "m", "messages": [{"role": "user", "content": "x"}]})
    assert answer.status_code == 200
    assert answer.headers["x-weir-model"] == "q/m"
    assert json.dumps(first.paths()) == "[]"
