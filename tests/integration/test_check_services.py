"""`weir check-services`: every service is asked, a table says what failed."""

import re

import pytest
from configs import config
from service import reply


def rows(done):
    """Service to (kind, address, status, words)."""
    lines = done.stdout.decode().splitlines()
    assert re.fullmatch(r"service +kind +address +status +time", lines[0])
    found = {}
    for line in lines[1:-1]:
        match = re.fullmatch(r"(\S+) +(\w+) +(\S+) +(\w+) +(\d+) ms(?:  (.*))?", line)
        assert match, line
        found[match[1]] = (match[2], match[3], match[4], match[6] or "")
    return found, lines[-1]


@pytest.fixture
def tree(service):
    """A gateway of many services, of which some are not well."""
    listing = reply({"object": "list", "data": []})
    good = service(lambda request: listing if request.path == "/v1/models" else reply({}, 404))
    picky = service(lambda request: reply({}, 401))
    detector = service(lambda request: reply({"status": "HEALTHY"}))
    gone = service()
    gone.close()

    def url(s):
        return f"http://127.0.0.1:{s.port}"

    made = config(
        providers={
            "good": {"kind": "openai", "base_url": url(good) + "/v1", "api_key_env": "KEY"},
            "picky": {"kind": "anthropic", "base_url": url(picky), "api_key_env": "KEY"},
            "open": {"kind": "azure", "base_url": url(picky), "pass_caller_key": True},
            "lost": {"kind": "openai", "base_url": url(good) + "/v2"},
            "gone": {"kind": "openai", "base_url": url(gone) + "/v1"},
        },
        models={name: {"provider": name} for name in ("good", "picky", "open", "lost", "gone")},
        detectors={"det": {"type": "text_contents", "chunker_id": "whole_doc_chunker",
                           "service": detector.config()}},
        routes=[{"name": "default", "output": {"det": {}}}],
    )
    del made["openai"]
    return made, good, picky


def test_the_table(weir, tree):
    made, good, picky = tree
    path = weir.write_config(made)
    done = weir.run("check-services", "--config", path, env={"KEY": "secret-key"})
    assert done.returncode == 1, done.stderr
    found, last = rows(done)
    assert last == "6 services, 2 failed"
    assert found["good"][0::2] == ("model", "ok")
    assert found["good"][1] == f"http://127.0.0.1:{good.port}"
    assert found["det"] == ("detector", found["det"][1], "ok", "")
    assert found["picky"][2:] == (
        "failed", "status 401: the key was refused: look at `api_key_env` or `api_key_file`")
    assert found["open"][2] == "ok"
    assert found["lost"][2:] == (
        "unknown",
        "status 404: there is no list of models at this address: look at `base_url`")
    assert found["gone"][2] == "failed"
    assert "connection refused" in found["gone"][3]
    keys = {request.path: request.header("authorization") for request in good.requests}
    assert keys == {"/v1/models": "Bearer secret-key", "/v2/models": None}
    heads = [request.header("x-api-key") for request in picky.requests]
    assert sorted(map(str, heads)) == ["None", "secret-key"]
    assert b"secret-key" not in done.stdout + done.stderr


def test_all_well(weir, service):
    server = service(lambda request: reply({"data": []}))
    path = weir.write_config(config(openai={"service": server.config()}))
    done = weir.run("check-services", "--config", path)
    assert done.returncode == 0
    assert rows(done)[0]["openai"][2] == "ok"
    assert server.paths() == ["/v1/models"]


def test_a_wrong_configuration_asks_nobody(weir):
    path = weir.write_config(config(models={"a": {"provider": "b"}}))
    done = weir.run("check-services", "--config", path)
    assert done.returncode == 1
    assert b"provider `b` does not exist" in done.stderr
    assert done.stdout == b""


def test_check_config_asks_nobody(weir, tree):
    made, good, picky = tree
    done = weir.run("--check-config", "--config", weir.write_config(made), env={"KEY": "k"})
    assert done.returncode == 0, done.stdout
    assert good.requests == picky.requests == []
