"""Headers that go on, tokens, keys, traces; endpoints that are there or not."""

import re

import harness
import pytest
from grpcpeer import CHUNK, NLP
from peers import (
    CHAT,
    CHAT_HISTORY,
    CLASSIFICATION,
    CONTENT,
    CONTEXT,
    GENERATED,
    GENERATION,
    TEXT,
    World,
    contents,
    finds,
    sentences,
    whole,
)

DETECTORS = {
    "a": contents(),
    "sent": contents("en"),
    "token": contents(service={"api_token": "DETECTOR_TOKEN"}),
    "gen": whole("text_generation"),
}
CONTENT_BODY = {"content": "text", "detectors": {"a": {}, "sent": {}, "token": {}}}
CHAT_BODY = {
    "model": "m",
    "messages": [{"role": "user", "content": "x"}],
    "detectors": {"input": {"a": {}}, "output": {"sent": {}}},
}
CLASSIFY_BODY = {"model_id": "m", "inputs": "x"}


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Worlds by configuration, each made once."""
    made = {}

    def world(**config):
        key = repr(config)
        if key not in made:
            env = {"DETECTOR_TOKEN": "d-t0ken", "OPENAI_TOKEN": "o-t0ken", "KEYS": "key-1,key-2"}
            made[key] = World(tmp_path_factory, DETECTORS, {"en": sentences}, "nlp", env=env, **config)
        made[key].reset()
        return made[key]

    yield world
    for one in made.values():
        one.__exit__()


def ask_all(world, headers):
    """One request to each kind of service; what each of them got, as {name: value}."""
    for path, body in ((CONTENT, CONTENT_BODY), (CHAT, CHAT_BODY), (CLASSIFICATION, CLASSIFY_BODY)):
        world.ok(path, body, headers=headers)

    def of(request):
        names = [name.lower() for name, _ in request.headers]
        assert len(names) == len(set(names)), names
        return {name.lower(): value for name, value in request.headers}

    return {
        "detector": of(world.asked("a")[0]),
        "token": of(world.asked("token")[0]),
        "model": of(world.asked_model()[0]),
        "chunker": world.asked_grpc(CHUNK)[0].metadata,
        "generation": world.asked_grpc(NLP)[0].metadata,
    }


def test_nothing_goes_on_unasked(make):
    sent = {"x-tenant": "t", "authorization": "Bearer theirs", "cookie": "c", "x-forwarded-access-token": "f"}
    for name, got in ask_all(make(), sent).items():
        assert "x-tenant" not in got and "cookie" not in got, name
        assert "x-forwarded-access-token" not in got
        assert got.get("authorization") == ("Bearer d-t0ken" if name == "token" else None)


def test_passthrough(make):
    world = make(passthrough_headers=["X-Tenant", "x-Other", "Authorization", "Content-Type", "x-absent"])
    sent = {"X-TENANT": "tenant 7", "x-other": "", "authorization": "Basic theirs"}
    sent |= {"content-type": "application/json; charset=utf-8"}
    for name, got in ask_all(world, sent).items():
        assert got["x-tenant"] == "tenant 7"
        assert got["x-other"] == ""
        assert got["authorization"] == ("Bearer d-t0ken" if name == "token" else "Basic theirs")
        assert "x-absent" not in got
        assert got.get("content-type", "application/json") == "application/json"


def test_a_header_sent_twice_goes_once(make):
    world = make(passthrough_headers=["x-tenant"])
    c = world.weir.raw()
    body = b'{"content":"x","detectors":{"a":{}}}'
    c.send(
        b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-tenant: one\r\n"
        b"X-Tenant: two\r\ncontent-length: %d\r\n\r\n%s" % (CONTENT.encode(), len(body), body)
    )
    assert c.read_response("POST").status == 200
    assert world.asked("a")[0].header("x-tenant") == "one"


def test_fixed_headers_win(make):
    """A caller cannot choose another detector behind our back."""
    world = make(passthrough_headers=["detector-id", "x-model-name", "mm-model-id", "user-agent"])
    sent = {"detector-id": "evil", "x-model-name": "evil", "mm-model-id": "evil"}
    got = ask_all(world, sent)
    assert got["detector"]["detector-id"] == got["detector"]["x-model-name"] == "a"
    assert got["chunker"]["mm-model-id"] == "en"
    assert got["generation"]["mm-model-id"] == "m"


def test_forwarded_access_token(make):
    world = make(rewrite_forwarded_access_header=True, passthrough_headers=["authorization", "x-forwarded-access-token"])
    sent = {"X-Forwarded-Access-Token": "f-token", "authorization": "Bearer theirs"}
    for name, got in ask_all(world, sent).items():
        expected = "d-t0ken" if name == "token" else "f-token"
        assert got["authorization"] == f"Bearer {expected}"
        assert "x-forwarded-access-token" not in got
    world.reset()
    for name, got in ask_all(world, {"authorization": "Bearer theirs"}).items():
        assert got["authorization"] == ("Bearer d-t0ken" if name == "token" else "Bearer theirs")


def test_forwarded_access_token_by_itself(make):
    for name, got in ask_all(make(rewrite_forwarded_access_header=True), {"x-forwarded-access-token": "f"}).items():
        assert got["authorization"] == ("Bearer d-t0ken" if name == "token" else "Bearer f")


# --- keys of our own ---


def test_keys(make):
    world = make(auth={"keys_env": "KEYS"}, passthrough_headers=["authorization", "x-tenant"])
    for wrong in ({}, {"authorization": "Bearer key-3"}, {"authorization": "key-1"}, {"authorization": "Bearer "}):
        got = world.post(CONTENT, CONTENT_BODY, headers=wrong)
        assert got.status_code == 401 and got.headers["www-authenticate"] == "Bearer"
        assert list(got.json()) == ["code", "details"]
    assert world.detectors.requests == []
    for key in ("key-1", "key-2"):
        world.reset()
        for name, got in ask_all(world, {"authorization": f"bearer {key}", "x-tenant": "t"}).items():
            assert got.get("authorization") == ("Bearer d-t0ken" if name == "token" else None)
            assert got["x-tenant"] == "t"
    assert "key-1" not in world.weir.stderr()


def test_keys_and_a_forwarded_token(make):
    world = make(auth={"keys_env": "KEYS"}, rewrite_forwarded_access_header=True)
    sent = {"authorization": "Bearer key-1", "x-forwarded-access-token": "f"}
    for name, got in ask_all(world, sent).items():
        assert got["authorization"] == ("Bearer d-t0ken" if name == "token" else "Bearer f")


# --- traces ---

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("trusts", [False, True])
def test_traceparent(make, trusts):
    world = make(trust_traceparent=trusts, passthrough_headers=["traceparent"])
    seen = set()
    for path, body in ((CONTENT, CONTENT_BODY), (CHAT, CHAT_BODY)):
        world.ok(path, body, headers={"traceparent": PARENT})
    for request in [*world.detectors.requests, *world.model.requests]:
        value = request.header("traceparent")
        assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]", value)
        assert (value.split("-")[1] == PARENT.split("-")[1]) == trusts
        seen.add(value.split("-")[2])
    assert len(seen) == len(world.detectors.requests) + len(world.model.requests)  # a span each
    assert "b7ad6b7169203331" not in seen
    for call in world.grpc.calls:
        assert (PARENT.split("-")[1] in call.metadata["traceparent"]) == trusts


# --- what is there ---

ALWAYS = [CONTENT, CHAT_HISTORY, CONTEXT, GENERATED]
OF_GENERATION = [CLASSIFICATION, GENERATION, CLASSIFICATION.replace("task/", "task/server-streaming-")]
OF_OPENAI = [CHAT, TEXT]


def statuses(world, paths):
    return {world.post(path, "{}").status_code for path in paths}


def test_endpoints_of_what_is_configured(tmp_path_factory):
    with World(tmp_path_factory, {"a": contents()}, openai=False) as world:
        assert statuses(world, ALWAYS) == {422}
        assert statuses(world, OF_GENERATION + OF_OPENAI) == {404}
        assert world.refused(CHAT, CHAT_BODY) == (404, "unknown path")
        assert world.weir.api.get(CHAT).status_code == 404
    with World(tmp_path_factory, {"a": contents()}, generation="tgis", openai=False) as world:
        assert 404 not in statuses(world, OF_GENERATION)
        assert statuses(world, OF_OPENAI) == {404}
    with World(tmp_path_factory, {"a": contents()}) as world:
        assert statuses(world, OF_OPENAI) == {422}
        assert statuses(world, OF_GENERATION) == {404}


def test_public_api_closed(tmp_path_factory):
    with World(tmp_path_factory, {"a": contents()}, generation="tgis", public_api=False) as world:
        assert statuses(world, OF_GENERATION + OF_OPENAI) == {404}
        assert statuses(world, ALWAYS) == {422}
        world.detector["a"] = finds("x")
        assert len(world.ok(CONTENT, {"content": "x", "detectors": {"a": {}}})["detections"]) == 1


def test_services_are_not_contacted_before_they_are_used(make):
    world = make(passthrough_headers=["x-nobody"])
    before = (world.detectors.n_connections, world.model.n_connections)
    assert before == (0, 0)
    world.ok(CONTENT, {"content": "x", "detectors": {"a": {}}})
    assert world.model.n_connections == 0


def test_embedded_configuration_does_not_fall(tmp_path):
    """No file, no services: whatever is asked, it answers."""
    servers = harness.Servers(harness.binary(), tmp_path)
    w = servers()
    for path in [*ALWAYS, *OF_GENERATION, *OF_OPENAI]:
        assert w.api.post(path, json=CHAT_BODY).status_code in (200, 404, 422)
    servers.stop_all()
