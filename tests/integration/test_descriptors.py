"""Few file descriptors, and none: the server says so, refuses, and comes back."""

import os
import resource
import signal

import harness
import pytest
import rawhttp
import service as services
from configs import CHAT, config
from harness import wait_until

LIMIT = 160  # with two workers: room for some thirty callers
WORKERS = ["--workers", "2"]
OUT = "out of file descriptors"


@pytest.fixture
def limited(tmp_path):
    """Starts servers whose hard limit of open files is given: limited(LIMIT)(config…)."""
    started = []

    def servers(limit):
        program = tmp_path / f"limited-{limit}"
        program.write_text(f'#!/bin/sh\nulimit -n {limit}\nexec {harness.binary()} "$@"\n')
        program.chmod(0o755)
        started.append(harness.Servers(program, tmp_path))
        return started[-1]

    yield servers
    for each in started:
        each.stop_all()


def metric(w, name):
    text = w.raw("health").get("/metrics").body.decode()
    values = [line.split()[1] for line in text.splitlines() if line.startswith(name + " ")]
    return float(values[0])


def exhausted(w, who):
    return metric(w, f'weir_descriptors_exhausted_total{{who="{who}"}}')


def answer(connection, path="/registry"):
    """The status, or None when the server closed without a word."""
    try:
        return connection.get(path).status
    except (rawhttp.Closed, ConnectionError):
        return None


def leave(w, n):
    """The process gets at most n more descriptors. Returns what it could have before."""
    used = {int(name) for name in os.listdir(f"/proc/{w.pid}/fd")}
    free = (number for number in range(1 << 20) if number not in used)
    limit = [next(free) for _ in range(n + 1)][-1]
    before = resource.prlimit(w.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(w.pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    return before


def give_back(w, before):
    resource.prlimit(w.pid, resource.RLIMIT_NOFILE, before)


def test_connections_are_kept_below_the_limit_of_open_files(limited):
    w = limited(LIMIT)(config(), args=WORKERS)
    told = w.log("the limit of open files allows fewer connections than limits.max_connections")
    callers = told[0]["connections"]
    assert 8 <= callers < LIMIT / 2
    connections = [w.raw() for _ in range(2 * callers)]
    statuses = [answer(c) for c in connections]
    assert statuses.count(200) == callers
    assert set(statuses) <= {200, 503, None} and 503 in statuses
    assert w.raw("health").get("/healthz").status == 200
    assert exhausted(w, "caller") == callers
    assert exhausted(w, "accept") == 0
    assert len(w.log(OUT, who="caller")) == 1  # not a line for each
    w.close_clients()
    wait_until(lambda: answer(w.raw()) == 200, "an answer")


def test_a_refused_caller_is_told_why(limited):
    w = limited(LIMIT)(config(), args=WORKERS)
    refused = []

    def is_refused():
        c = w.raw()
        response = c.get("/registry")
        refused.append(response)
        return response.status == 503

    wait_until(is_refused, "a refusal")
    assert refused[-1].get("retry-after") == "1"
    assert "open files" in refused[-1].json()["details"]


def test_half_of_the_descriptors_are_kept_for_services(limited, service):
    """As many guarded streams as callers are let in: none lacks the model server's descriptor."""
    model = service(lambda request: services.HANG)
    tree = config(openai={"service": {"hostname": "127.0.0.1", "port": model.port}})
    w = limited(LIMIT)(tree, args=WORKERS)
    callers = w.log("the limit of open files allows fewer connections than limits.max_connections")
    body = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}'
    for _ in range(callers[0]["connections"]):
        w.raw().request("POST", CHAT, [("Content-Type", "application/json")], body)
    wait_until(lambda: len(model.requests) == callers[0]["connections"], "every stream to begin")
    assert exhausted(w, "service") == exhausted(w, "caller") == 0
    assert w.raw("health").get("/readyz").status == 200


def test_out_of_descriptors_it_comes_back(weir):
    w = weir(config(), args=WORKERS)
    w.quiet_descriptors()
    before = leave(w, 3)
    connections = [w.raw() for _ in range(40)]
    wait_until(lambda: w.log(OUT, who="accept"), "the line about it")
    for c in connections:
        c.close()
    # The limit stays as low as it is: enough for one caller at a time.
    wait_until(lambda: answer(w.raw()) == 200 or w.close_clients(), "an answer")
    wait_until(lambda: answer(w.raw("health"), "/healthz") == 200 or w.close_clients(), "health")
    w.close_clients()
    give_back(w, before)
    assert exhausted(w, "accept") >= 1
    wait_until(w.is_asleep, "every thread to sleep")
    assert answer(w.raw()) == 200
    w.stop()


def test_out_of_descriptors_it_still_stops(weir):
    w = weir(config(), args=WORKERS)
    w.quiet_descriptors()
    leave(w, 1)
    for _ in range(10):
        w.raw()
    wait_until(lambda: w.log(OUT, who="accept"), "the line about it")
    w.stop()


def test_a_service_that_cannot_be_called_is_a_fault(weir, service):
    model = service(lambda request: services.reply({"choices": []}))
    where = {"hostname": "127.0.0.1", "port": model.port, "max_retries": 0}
    w = weir(config(openai={"service": where}), args=WORKERS)
    c = w.raw()
    assert c.get("/registry").status == 200
    before = leave(w, 0)
    response = c.get("/v1/models")
    assert response.status in (500, 502, 503)
    assert w.log(OUT, who="service")
    assert any(OUT in line["why"] for line in w.log("service failed"))
    give_back(w, before)
    assert exhausted(w, "service") >= 1
    assert c.get("/v1/models").status == 200
    assert len(model.requests) == 1


@pytest.mark.parametrize("limit", [16, 40, 64])
def test_too_few_to_start_is_said(limited, limit):
    done = limited(limit).run("--http-port", "0", "--health-http-port", "0", *WORKERS)
    assert done.returncode == 1
    said = done.stderr.decode()
    assert "too few file descriptors" in said and "ulimit -n" in said and "LimitNOFILE" in said
    assert f'"limit":{limit}' in said and '"needed":' in said


def test_a_reload_without_descriptors_changes_nothing(weir):
    path = weir.write_config(config())
    w = weir(path, args=WORKERS)
    w.quiet_descriptors()
    before = leave(w, 0)
    w.signal(signal.SIGHUP)
    w.wait_log("reload refused, the old configuration stays")
    give_back(w, before)
    w.signal(signal.SIGHUP)
    w.wait_log("configuration reloaded")
