"""Responses that a model server keeps, behind routes: ids with the route's own tag, what is fetched
looked at like an answer, and everything asked of the provider that has it."""

import json

import harness
import mock as mocks
import openapi
import pytest
import responses
from policies import FALLBACK, MAIL, config
from responses import PATH, SECRET, tagged

KEYS = {"TEAM_A": "key-of-team-a", "TEAM_B": "key-of-team-b"}
SAID = f"Write to {MAIL} now."


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--seed", 1, "--log-level", "debug")
    servers.stop_all()


@pytest.fixture(scope="module")
def gateway(module_weir, m):
    return module_weir(config(m, id_key_env="ID_KEY"), env={"ID_KEY": SECRET})


def keep(m, says=SAID, path=PATH, **members):
    """Kept by the server: (its id, the object)."""
    body = {"model": "m", "input": f"Where is {MAIL}?", "mock": {"text": says}, **members}
    whole = m.api.post(path, json=body).json()
    return whole["id"], whole


# --- ids ---


@pytest.mark.parametrize("way", ["get", "delete", "cancel", "input_items"])
def test_an_id_needs_this_routes_tag(gateway, m, way):
    id, _ = keep(m)
    good = tagged(id)
    swapped = good[:-1] + ("A" if good[-1] != "A" else "Q")
    wrong = [id, tagged(id, route="block"), tagged(id, key="team"), tagged(id, secret="x" * 16), swapped,
             tagged(id, server="other").replace(".other.", ".default."), good.upper(), good + ".", "." + good,
             "..", "a" * 300, "a%00b", "%2e%2e%2fmodels"]  # fmt: skip
    for one in wrong:
        assert ask(gateway, one, way).status_code == 404, one
    assert m.api.get(f"{PATH}/{id}").status_code == 200, "nothing reached the server"


def ask(gateway, id, way, route="redact", **options):
    at = f"/{route}{PATH}/{id}"
    if way == "cancel":
        return gateway.api.post(f"{at}/cancel", **options)
    if way == "input_items":
        return gateway.api.get(f"{at}/input_items", **options)
    return gateway.api.request(way.upper(), at, **options)


def test_what_is_not_a_path(gateway, m):
    id = tagged(keep(m)[0])
    assert ask(gateway, f"{id}/else", "get").status_code == 404
    assert gateway.api.post(f"/redact{PATH}/{id}").status_code == 405
    assert gateway.api.put(f"/redact{PATH}/{id}").headers["allow"] == "GET, HEAD, DELETE, OPTIONS"


@pytest.mark.parametrize("id", ["a%2F..%2F..%2Fmodels", "a%2f..%2ffiles", "a%5Cb", "%2Fa"])
def test_an_id_is_no_path(gateway, m, id):
    """Where ids have no tag they reach the server: one that decodes them must not read another path."""
    for way in ("get", "delete", "cancel", "input_items"):
        answer = ask(gateway, id, way, route="default")
        assert answer.status_code == 404
        assert "x-weir-attempts" not in answer.headers, "nobody is asked for it"


def test_without_a_key_for_ids_nothing_kept_is_served(module_weir, m):
    w = module_weir(config(m))
    id, whole = keep(m)
    for way in ("get", "delete", "cancel", "input_items"):
        answer = ask(w, id, way)
        assert answer.status_code == 400 and "id_key_env" in answer.text
    assert m.api.get(f"{PATH}/{id}").json() == whole


def test_a_tag_is_one_keys_own(module_weir, m):
    keys = [{"name": "a", "env": "TEAM_A", "routes": ["*"]}, {"name": "b", "env": "TEAM_B", "routes": ["*"]}]
    w = module_weir(config(m, auth={"keys": keys}, id_key_env="ID_KEY"), env={"ID_KEY": SECRET, **KEYS})
    id = tagged(keep(m)[0], key="a")
    for name, status in (("TEAM_A", 200), ("TEAM_B", 404)):
        headers = {"authorization": f"Bearer {KEYS[name]}"}
        assert ask(w, id, "input_items", headers=headers).status_code == status
    assert ask(w, tagged(id), "input_items").status_code == 401


# --- what is said of them ---


def test_a_deletion_is_said_with_the_id_that_was_asked_for(gateway, m):
    id, _ = keep(m)
    answer = ask(gateway, tagged(id), "delete")
    assert answer.json() == {"id": tagged(id), "object": "response", "deleted": True}
    assert answer.headers["x-weir-model"] == "default"
    assert openapi.faults(answer.json(), {"$ref": "#/components/schemas/DeletedResponse"}) == []
    again = ask(gateway, tagged(id), "delete")
    assert again.status_code == 404 and "not found" in again.json()["error"]["message"]


def test_the_input_is_looked_at(gateway, m):
    id, _ = keep(m)
    answer = ask(gateway, tagged(id), "input_items")
    listed = answer.json()
    assert MAIL not in answer.text and answer.headers["x-weir-action"] == "redact"
    assert listed["data"][0]["content"][0]["text"] == "Where is [email_address]?"
    assert (listed["object"], listed["has_more"], listed["first_id"]) == ("list", False, "msg_in000")
    assert openapi.faults(listed, {"$ref": "#/components/schemas/InputItems"}) == []
    assert listed["detections"]["output"][0]["results"][0]["detection"] == "email_address"
    blocked = ask(gateway, tagged(id, route="block"), "input_items", route="block")
    assert blocked.status_code == 400 and blocked.json()["error"]["code"] == "content_filter"
    plain = ask(gateway, id, "input_items", route="default")
    assert plain.json() == m.api.get(f"{PATH}/{id}/input_items").json()
    clean, _ = keep(m, input="Hi there.")
    answer = ask(gateway, tagged(clean), "input_items")
    assert answer.headers["x-weir-action"] == "pass" and "detections" not in answer.json()


def test_a_response_is_looked_at_again(gateway, m):
    id, whole = keep(m)
    answer = ask(gateway, tagged(id), "get")
    got = answer.json()
    assert MAIL not in answer.text and answer.headers["x-weir-action"] == "redact"
    assert (got["id"], got["status"], got["object"]) == (tagged(id), "completed", "response")
    assert responses.text_of(got) == "Write to [email_address] now."
    assert responses.findings(got)[0][3] == "email_address"
    assert (got["usage"], got["model"]) == (whole["usage"], "m")
    assert openapi.faults(got, {"$ref": "#/components/schemas/Response"}) == []
    blocked = ask(gateway, tagged(id, route="block"), "get", route="block").json()
    assert responses.text_of(blocked) == FALLBACK
    assert blocked["incomplete_details"] == {"reason": "content_filter"}
    told = ask(gateway, id, "get", route="default").json()
    assert (told["id"], told["output"]) == (id, whole["output"])
    assert responses.findings(told)[0][3] == "email_address"
    clean, said = keep(m, says="Nothing here.")
    assert ask(gateway, tagged(clean), "get").json()["output"] == said["output"]
    assert ask(gateway, clean, "get", route="default").json() == said


def test_what_repeats_the_request_is_looked_at_and_never_blocks(gateway, m):
    about = {"instructions": f"You work for {MAIL}.", "metadata": {"who": MAIL}}
    id, _ = keep(m, says="Nothing here.", **about)
    for route in ("redact", "block"):
        answer = ask(gateway, tagged(id, route=route), "get", route=route)
        assert answer.status_code == 200 and MAIL not in answer.text, route
        assert responses.text_of(answer.json()) == "Nothing here.", route


@pytest.mark.parametrize("found_in", ["instructions", "tools", "metadata", None])
@pytest.mark.parametrize("route", ["redact", "block"])
def test_only_the_member_with_the_finding_is_taken_out(gateway, m, route, found_in):
    tool = {"type": "function", "name": "f", "description": "Looks.", "parameters": {"type": "object"}, "strict": True}
    about = {"instructions": "Be kind.", "tools": [tool], "metadata": {"team": "a"}}
    hot = {"instructions": f"Ask {MAIL}.", "tools": [{**tool, "description": MAIL}], "metadata": {"team": MAIL}}
    blank = {"instructions": None, "tools": [], "metadata": {}}
    id, _ = keep(m, says="Nothing here.", **{**about, **({found_in: hot[found_in]} if found_in else {})})
    answer = ask(gateway, tagged(id, route=route), "get", route=route).json()
    wanted = {name: blank[name] if name == found_in else value for name, value in about.items()}
    assert {name: answer[name] for name in about} == wanted
    assert MAIL not in json.dumps(answer) and responses.text_of(answer) == "Nothing here."


def test_json_that_was_asked_for_stays_json(gateway, m):
    wants = {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}}
    id, _ = keep(m, says=json.dumps({"to": MAIL, "n": 1}), **wants)
    got = ask(gateway, tagged(id), "get").json()
    assert json.loads(responses.text_of(got)) == {"to": "[email_address]", "n": 1}


def test_one_in_the_background_is_fetched_and_cancelled(gateway, m):
    id, _ = keep(m, background=True)
    assert responses.text_of(ask(gateway, tagged(id), "get").json()) == "Write to [email_address] now."
    answer = ask(gateway, tagged(id), "cancel")
    assert answer.json()["status"] == "cancelled" and MAIL not in answer.text
    assert answer.json()["id"] == tagged(id)
    finished, _ = keep(m)
    answer = ask(gateway, tagged(finished), "cancel")
    assert answer.status_code == 400 and "synchronous" in answer.json()["error"]["message"]


def test_an_id_of_the_server_never_leaves(gateway, m):
    first, _ = keep(m)
    second, _ = keep(m, previous_response_id=first)
    answer = ask(gateway, tagged(second), "get")
    assert first not in answer.text and answer.json()["previous_response_id"] is None


@pytest.mark.parametrize("route", ["redact", "block", "default"])
def test_a_stream_is_looked_at_again(gateway, m, route):
    answer = m.api.post(PATH, json={"model": "m", "input": "Hi", "stream": True, "mock": {"text": SAID}})
    events = responses.read(answer.text)
    id = events[0]["response"]["id"]
    said = id if route == "default" else tagged(id, route=route)
    got = ask(gateway, said, "get", route=route, params={"stream": "true"})
    left = responses.gather(responses.read(got.text))
    assert left.id == said and responses.findings(left.response)
    assert left.text() == {"redact": "Write to [email_address] now.", "default": SAID,
                           "block": f"Write to \n\n{FALLBACK}"}[route]  # fmt: skip
    assert route == "default" or MAIL not in got.text
    missing = ask(gateway, tagged("resp_0", route=route) if route != "default" else "resp_0", "get", route=route,
                  params={"stream": "true"})  # fmt: skip
    assert missing.status_code == 404 and "not found" in missing.json()["error"]["message"]


def test_where_nothing_is_enforced_a_stream_goes_on_from_where_it_was_read(gateway, m):
    answer = m.api.post(PATH, json={"model": "m", "input": "Hi", "stream": True, "mock": {"text": "One two."}})
    events = responses.read(answer.text)
    at = f"{PATH}/{events[0]['response']['id']}?stream=true&starting_after=3"
    assert responses.read(gateway.api.get(at).text) == events[4:]


def test_what_is_asked_for_reaches_the_server_in_its_form_only(gateway, m):
    kept, _ = keep(m)
    id = tagged(kept)
    assert ask(gateway, id, "input_items", params={"limit": "5", "include[]": "a.b"}).status_code == 200
    assert m.log("request", path=f"{PATH}/{kept}/input_items")
    for params in ({"limit": f"5 {MAIL}"}, {"other": "x"}, {"stream": "maybe"}):
        assert ask(gateway, id, "input_items", params=params).status_code == 400, params
    for params in ({"starting_after": "3"}, {"stream": "true", "starting_after": "3"}):
        answer = ask(gateway, id, "get", params=params)
        assert answer.status_code == 400 and "starting_after" in answer.text
    assert ask(gateway, kept, "input_items", route="default", params={"other": "x"}).status_code == 200


# --- going on from them ---


@pytest.fixture(scope="module")
def asked(module_weir):
    """A model server that shows what it was asked, and a route before it."""
    server = responses.Server()
    server.said = {"object": "response.input_tokens", "input_tokens": 3}
    yield server, module_weir(config(server, id_key_env="ID_KEY"), env={"ID_KEY": SECRET})
    server.service.close()


@pytest.mark.parametrize("path", [PATH, f"{PATH}/input_tokens"])
def test_the_server_is_told_its_own_id(asked, path):
    server, w = asked
    if path == PATH:
        server.said = responses.response(responses.message(responses.output_text("Hi.")))
    for route, said in (("redact", tagged("resp_1")), ("default", "resp_1")):
        body = {"model": "m", "input": "Hi", "previous_response_id": said}
        assert w.api.post(f"/{route}{path}", json=body).status_code == 200
        assert server.asked[-1] == {**body, "previous_response_id": "resp_1"}
    for wrong in ("resp_1", tagged("resp_1", route="block"), tagged("resp_1", key="x"), 7, {"id": "resp_1"}):
        answer = w.api.post(f"/redact{path}", json={"model": "m", "input": "Hi", "previous_response_id": wrong})
        assert answer.status_code == 404 and answer.json()["error"]["code"] == "previous_response_not_found", wrong
    kept = {"model": "m", "input": "Hi", "store": True, "background": True, "previous_response_id": None}
    assert w.api.post(f"/redact{path}", json=kept).status_code == 200


# --- who is asked ---


@pytest.fixture(scope="module")
def many(module_weir, m):
    """Two providers that serve the same model."""
    base = f"http://127.0.0.1:{m.ports['api']}/providers"
    parts = config(m, id_key_env="ID_KEY")
    del parts["openai"]
    parts["providers"] = {name: {"kind": "openai", "base_url": f"{base}/{name}/v1"} for name in ("a.x", "b")}
    parts["models"] = {"m": {"providers": ["a.x", "b"]}}
    return module_weir(parts, env={"ID_KEY": SECRET})


def test_the_provider_that_has_it_is_asked(many, m):
    for name, other in (("a.x", "b"), ("b", "a.x")):
        id, _ = keep(m, path=f"/providers/{name}{PATH}")
        assert ask(many, tagged(id, server=name), "input_items").status_code == 200
        assert ask(many, tagged(id, server=other), "input_items").status_code == 404
        answer = ask(many, tagged(id, server=name), "delete")
        assert answer.status_code == 200 and answer.headers["x-weir-model"] == name
    assert ask(many, tagged("resp_1", server="gone"), "delete").status_code == 404


def test_an_id_without_a_tag_does_not_say_who_has_it(many, m):
    id, _ = keep(m, path=f"/providers/b{PATH}")
    answer = ask(many, id, "get", route="default")
    assert answer.status_code == 404 and "several" in answer.text
