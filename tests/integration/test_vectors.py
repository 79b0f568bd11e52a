"""/v1/embeddings, /v1/rerank and /v1/score: the question is guarded, the answer is passed on."""

import json

import pytest
from configs import config
from service import reply

MAIL = "write to ann@example.com today"
QUESTIONS = {
    "/v1/embeddings": [{"input": MAIL}, {"input": ["fine", MAIL]}],
    "/v1/rerank": [{"query": MAIL, "documents": ["a", "b"]},
                   {"query": "q", "documents": ["a", {"text": MAIL}]}],
    "/v1/score": [{"text_1": "a", "text_2": [MAIL, "b"]}, {"text_1": MAIL, "text_2": "b"}],
}
CASES = [(path, body) for path, bodies in QUESTIONS.items() for body in bodies]


@pytest.fixture
def gateway(weir, service):
    """A gateway with a route for each action, and the requests that reached its server."""
    server = service(lambda request: reply({"data": [1.5], "model": request.json()["model"]}))
    routes = [{"name": name, "input": {"pii": {}}, "on_detection": name}
              for name in ("annotate", "block", "redact")]
    tree = config(routes=routes, models={"emb": {"provider": "p", "model": "real"}},
                  providers={"p": {"kind": "openai",
                                   "base_url": f"http://127.0.0.1:{server.port}/v1"}})
    del tree["openai"]
    return weir(tree), server


def strings(value):
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if not isinstance(value, str):
            yield from strings(inner)


@pytest.mark.parametrize("path,body", CASES)
def test_what_is_found_in_the_question(gateway, path, body):
    w, server = gateway
    body = {"model": "emb", **body}
    told = w.api.post("/annotate" + path, json=body)
    assert told.status_code == 200, told.text
    assert told.json()["model"] == "emb"
    assert told.json()["data"] == [1.5]
    assert len(told.json()["detections"]["input"]) == 1
    assert server.requests[-1].path == path
    assert server.requests[-1].json() == {**body, "model": "real"}

    blocked = w.api.post("/block" + path, json=body)
    assert blocked.status_code == 400
    assert blocked.json()["error"]["code"] == "content_filter"
    assert blocked.json()["error"]["type"] == "invalid_request_error"
    assert "blocked" in blocked.json()["error"]["message"]
    assert len(server.requests) == 1

    redacted = w.api.post("/redact" + path, json=body)
    assert redacted.status_code == 200
    sent = list(strings(server.requests[-1].json()))
    assert "write to [email_address] today" in sent
    assert not [text for text in sent if "ann@" in text]


@pytest.mark.parametrize("path,body", CASES)
def test_a_clean_question_passes_unchanged(gateway, path, body):
    w, server = gateway
    clean = json.loads(json.dumps(body).replace(MAIL, "hello"))
    for route in ("annotate", "block", "redact"):
        answer = w.api.post(f"/{route}{path}", json={"model": "emb", **clean})
        assert answer.json() == {"data": [1.5], "model": "emb"}
        assert server.requests[-1].json() == {"model": "real", **clean}


def test_tokens_cannot_be_looked_at(gateway):
    w, server = gateway
    for tokens in ([1, 2], [[1, 2], [3]]):
        body = {"model": "emb", "input": tokens}
        assert w.api.post("/block/v1/embeddings", json=body).status_code == 422
        assert w.api.post("/redact/v1/embeddings", json=body).status_code == 422
        assert w.api.post("/annotate/v1/embeddings", json=body).status_code == 422
    assert not server.requests


def test_what_is_wrong_with_a_request(gateway):
    w, server = gateway
    for body, status in [({}, 422), ({"model": ""}, 422), ({"model": 1}, 422),
                         ({"model": "emb", "detectors": {}}, 422), ({"model": "x"}, 404)]:
        answer = w.api.post("/block/v1/embeddings", json={"input": "a", **body})
        assert answer.status_code == status, answer.text
    assert server.requests == []


def test_the_mock_has_vectors(weir, mock):
    m = mock()
    w = weir(config(openai={"service": {"hostname": "127.0.0.1", "port": m.api_port}}))
    answer = w.api.post("/v1/embeddings", json={"model": "m", "input": ["a", "b"]}).json()
    assert [d["index"] for d in answer["data"]] == [0, 1]
    answer = w.api.post("/v1/rerank", json={"model": "m", "query": "a", "documents": ["b"]}).json()
    assert answer["results"][0]["index"] == 0
    answer = w.api.post("/v1/score", json={"model": "m", "text_1": "a", "text_2": "b"}).json()
    assert answer["data"][0]["object"] == "score"


def test_the_demonstration_model_has_none(weir):
    w = weir(config())
    answer = w.api.post("/v1/embeddings", json={"model": "m", "input": "a"})
    assert answer.status_code == 404
