"""Services as they are called, and everything they can answer: the mapping tables of the API."""

import json
import re
import signal
import socket
import ssl
from concurrent import futures

import grpc
import harness
import pytest
from service import HANG, events, reply

CONTENT = "/api/v2/text/detection/content"
UNEXPECTED = {
    "code": 500,
    "details": "unexpected error occurred while processing request",
}


def finding(**more):
    found = {"start": 0, "end": 4, "detection": "d", "detection_type": "t", "score": 0.9}
    return {key: value for key, value in {**found, **more}.items() if value is not None}


def detectors(**of_kind):
    """{id: (type, service)} to the configuration's section."""
    section = {}
    for name, (kind, target) in of_kind.items():
        section[name] = {"type": kind, "service": target}
        if kind == "text_contents":
            section[name]["chunker_id"] = "whole_doc_chunker"
    return section


@pytest.fixture
def gone():
    """What `service:` says of a port on which nobody listens. It stays ours: a port that was given
    back is the next server's."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield {"hostname": "127.0.0.1", "port": bound.getsockname()[1]}


def with_detector(weir, target, **more):
    return weir(config={"detectors": detectors(det=("text_contents", target)), **more})


def ask(w, content="text", **params):
    return w.api.post(CONTENT, json={"content": content, "detectors": {"det": params}})


# --- what detectors are sent ---


def test_contents_request(weir, service):
    det = service(lambda request: reply([[]]))
    w = with_detector(weir, det.config(path_prefix="/x"))
    answer = ask(w, 'grüße "x"\n', zebra=[1, 2.50], apple={"b": 1, "a": 2}, threshold=0.1)
    assert (answer.status_code, answer.json()) == (200, {"detections": []})
    request = det.requests[0]
    assert (request.method, request.path) == ("POST", "/x/api/v1/text/contents")
    params = '{"apple":{"b":1,"a":2},"zebra":[1,2.5]}'
    expected = '{"contents":["grüße \\"x\\"\\n"],"detector_params":' + params + "}"
    assert request.body.decode() == expected
    assert request.header("content-type") == "application/json"
    assert request.header("detector-id") == "det"
    assert request.header("x-model-name") == "det"
    assert request.header("content-length") == str(len(request.body))
    assert request.header("transfer-encoding") is None
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]", request.header("traceparent"))
    names = [name.lower() for name, _ in request.headers]
    assert len(names) == len(set(names))


def test_one_request_for_all_chunks(weir, service):
    det = service(lambda request: reply([[] for _ in request.json()["contents"]]))
    section = detectors(det=("text_contents", det.config()))
    section["det"]["chunker_id"] = "sentences"
    chunkers = {"sentences": {"builtin": "sentence"}}
    w = weir(config={"chunkers": chunkers, "detectors": section})
    assert ask(w, "One is here. Two is there.").status_code == 200
    assert len(det.requests) == 1
    contents = det.requests[0].json()["contents"]
    assert len(contents) == 2
    assert "".join(contents).replace(" ", "") == "Oneishere.Twoisthere."


def test_requests_of_the_other_types(weir, service):
    det = service(lambda request: reply([]))
    section = detectors(
        chat=("text_chat", det.config()),
        doc=("text_context_doc", det.config()),
        gen=("text_generation", det.config()),
    )
    w = weir(config={"detectors": section})
    messages = [{"role": "user", "content": "a b"}]
    asked = [
        ("chat", {"messages": messages, "detectors": {"chat": {}}}),
        (
            "context",
            {
                "content": "c",
                "context_type": "docs",
                "context": ["d 1", "d2"],
                "detectors": {"doc": {"k": None}},
            },
        ),
        ("generated", {"prompt": "p", "generated_text": "g", "detectors": {"gen": {}}}),
    ]
    for path, body in asked:
        answer = w.api.post(f"/api/v2/text/detection/{path}", json=body)
        assert (answer.status_code, answer.json()) == (200, {"detections": []})
    assert [(request.path, request.body.decode()) for request in det.requests] == [
        (
            "/api/v1/text/chat",
            '{"messages":[{"role":"user","content":"a b"}],"tools":[],"detector_params":{}}',
        ),
        (
            "/api/v1/text/context/doc",
            '{"content":"c","context_type":"docs","context":["d 1","d2"],'
            '"detector_params":{"k":null}}',
        ),
        (
            "/api/v1/text/generation",
            '{"prompt":"p","generated_text":"g","detector_params":{}}',
        ),
    ]


def test_token_and_passthrough(weir, service):
    det = service(lambda request: reply([[]]))
    section = detectors(det=("text_contents", det.config(api_token="DET_TOKEN")))
    w = weir(
        config={"detectors": section, "passthrough_headers": ["X-Tenant", "Authorization"]},
        env={"DET_TOKEN": "s3cret"},
    )
    body = {"content": "text", "detectors": {"det": {}}}
    headers = {"x-tenant": "t1", "authorization": "Bearer theirs", "x-other": "no"}
    assert w.api.post(CONTENT, json=body, headers=headers).status_code == 200
    request = det.requests[0]
    assert request.header("x-tenant") == "t1"
    assert request.header("authorization") == "Bearer s3cret"
    assert request.header("x-other") is None


# --- what detectors answer ---


def test_findings(weir, service):
    found = [
        finding(start=3, end=4, score=0.5, detector_id="other", unknown=[1]),
        finding(start=0, end=2, text="XX", evidence=[{"name": "n"}], metadata={"k": 1}),
        finding(score=0.49),
    ]
    det = service(lambda request: reply([found]))
    w = with_detector(weir, det.config())
    assert ask(w, "grüß").json()["detections"] == [
        {
            "start": 0,
            "end": 2,
            "text": "XX",
            "detection": "d",
            "detection_type": "t",
            "detector_id": "det",
            "score": 0.9,
            "evidence": [{"name": "n"}],
            "metadata": {"k": 1},
        },
        {
            "start": 3,
            "end": 4,
            "text": "ß",
            "detection": "d",
            "detection_type": "t",
            "detector_id": "det",
            "score": 0.5,
        },
    ]
    assert len(ask(w, "grüß", threshold=0.1).json()["detections"]) == 3
    assert ask(w, "grüß", threshold=0.95).json()["detections"] == []


def error(code, message="no\x07pe"):
    return {"code": code, "message": message}


PASSED_ON = "detector request failed for `det`: "


@pytest.mark.parametrize(
    "status, body, expected, details",
    [
        (400, error(400), 400, "no pe"),
        (404, error(404), 404, "no pe"),
        (422, error(422), 422, "no pe"),
        (503, error(503), 503, "no pe"),
        (500, error(422), 422, "no pe"),
        (400, error(500), 500, None),
        (401, error(401), 500, None),
        (403, {}, 500, None),
        (429, error(429), 500, None),
        (500, error(500), 500, None),
        (502, "bad gateway", 500, None),
        (504, "", 500, None),
        (201, [[]], 500, None),
        (204, "", 500, None),
        (302, "", 500, None),
        (422, "{not json", 422, ""),
        (404, {"detail": "x"}, 404, ""),
        (422, error(422, "x" * 3000), 422, "x" * 900),
    ],
)
def test_detector_statuses(weir, service, status, body, expected, details):
    det = service(lambda request: reply(body, status))
    w = with_detector(weir, det.config())
    answer = ask(w)
    assert answer.status_code == expected
    if details is None:
        assert answer.json() == UNEXPECTED
    else:
        assert answer.json()["code"] == expected
        assert answer.json()["details"].startswith(PASSED_ON + details)
        assert len(answer.json()["details"]) <= 1024 + len(PASSED_ON)
    assert len(det.requests) == 1  # detectors are not retried


NONSENSE = [
    b"",
    b"null",
    b"{}",
    b"[]",
    b"[[],[]]",
    b"[{}]",
    b"[[1]]",
    b"[[]",
    b"[[]] x",
    b"<html>",
    b"[[]]\xff",
    json.dumps([[finding(start=None)]]).encode(),
    json.dumps([[finding(end=None)]]).encode(),
    json.dumps([[finding(start=-1)]]).encode(),
    json.dumps([[finding(start=0.5)]]).encode(),
    json.dumps([[finding(end=5)]]).encode(),
    json.dumps([[finding(start=3, end=2)]]).encode(),
    json.dumps([[finding(end=2**64)]]).encode(),
    json.dumps([[finding(score=None)]]).encode(),
    json.dumps([[finding(score="0.9")]]).encode(),
    json.dumps([[finding(score=float("inf"))]]).encode(),
    json.dumps([[finding(detection=None)]]).encode(),
    json.dumps([[finding(detection_type=7)]]).encode(),
    json.dumps([[finding(text=7)]]).encode(),
    json.dumps([[finding()]]).replace('"end"', '"start"').encode(),
    b'[[{"start":0,"end":1,"detection":"\xed\xa0\x80","detection_type":"t","score":1}]]',
]


def test_detector_nonsense(weir, service):
    det = service()
    w = with_detector(weir, det.config())
    for body in NONSENSE:
        det.answer = lambda request: reply(body)
        answer = ask(w)
        assert (answer.status_code, answer.json()) == (500, UNEXPECTED), body
    lines = w.log("service failed")
    assert len(lines) == len(NONSENSE)
    assert all(line["error"] == "EPEER" and line["why"] for line in lines)


def test_lists_by_position_in_fms(weir, service):
    det = service()
    w = with_detector(weir, det.config(), compat="fms")
    for body, n in [([], 0), ([[finding()], [1]], 1)]:
        det.answer = lambda request: reply(body)
        answer = ask(w)
        assert answer.status_code == 200
        assert len(answer.json()["detections"]) == n


def test_detector_that_does_not_answer(weir, service):
    det = service()
    w = with_detector(weir, det.config(request_timeout=0.3))
    half = reply([[]])[:-2]
    answers = [
        lambda request: None,
        lambda request: HANG,
        lambda request: iter([half]) if len(det.requests) % 2 else None,
        lambda request: b"SSH-2.0-x\r\n\r\n",
        lambda request: b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\n[[]]",
    ]
    for answer in answers:
        det.answer = answer
        got = ask(w)
        assert (got.status_code, got.json()) == (500, UNEXPECTED)
    text = w.stderr()
    assert "s3cret" not in text


def test_detector_that_is_not_there(weir, gone):
    w = with_detector(weir, gone)
    answer = ask(w)
    assert (answer.status_code, answer.json()) == (500, UNEXPECTED)
    assert str(gone["port"]) not in answer.text


def test_answer_too_large(weir, service):
    det = service(lambda request: reply(b"[" + b" " * 5000 + b"[]]"))
    w = with_detector(weir, det.config(), limits={"max_service_body_bytes": 4096})
    assert ask(w).json() == UNEXPECTED
    assert w.log("service failed")[0]["error"] == "ELIMIT"


def test_connections_are_reused(weir, service):
    det = service(lambda request: reply([[]]))
    section = detectors(det=("text_contents", det.config()))
    w = weir(config={"detectors": section}, args=["--workers", "1"])
    for _ in range(20):
        assert ask(w).status_code == 200
    assert det.n_connections == 1
    assert len(det.requests) == 20


# --- TLS ---


def server_context(pair, client_ca=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.cert, pair.key)
    if client_ca:
        context.load_verify_locations(client_ca.cert)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_tls_services(weir, service, certs):
    det = service(lambda request: reply([[]]), server_context(certs.server, certs.ca))
    us = {"cert_path": str(certs.client.cert), "key_path": str(certs.client.key)}
    ours = {"client_ca_cert_path": str(certs.ca.cert)}
    cases = [
        ({**us, **ours}, 200),
        ({**us, "insecure": True}, 200),
        (ours, 500),  # no certificate of ours
        ({**us, "client_ca_cert_path": str(certs.stranger_ca.cert)}, 500),
    ]
    for tls, expected in cases:
        w = with_detector(weir, det.config(tls=tls))
        assert ask(w).status_code == expected, tls
    assert len(det.requests) == 2


def test_wrong_tls_files_are_found_at_the_start(weir, service, certs):
    tls = {"cert_path": str(certs.client.cert), "key_path": str(certs.server.key)}
    section = detectors(det=("text_contents", service().config(tls=tls)))
    path = weir.write_config({"detectors": section})
    done = weir.run("--check-config", "--config", path)
    assert done.returncode == 1
    assert re.search(rb"config.yaml:\d+: error: .*server.key", done.stdout + done.stderr)


# --- the model server ---

CHAT = "/api/v2/chat/completions-detection"


def with_model(weir, model, det, **options):
    section = detectors(det=("text_contents", det.config()))
    openai = {"service": model.config(**options)}
    return weir(config={"openai": openai, "detectors": section})


def chat(w, **more):
    body = {"model": "m1", "messages": [{"role": "user", "content": "hi"}]}
    return w.api.post(CHAT, json={**body, "detectors": {"output": {"det": {}}}, **more})


def completion(text):
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "1", "object": "chat.completion", "model": "m1", "choices": [choice]}


def test_model_request(weir, service):
    model = service(lambda request: reply(completion("hello")))
    w = with_model(weir, model, service(lambda request: reply([[]])))
    answer = chat(w, extra={"b": 1, "a": 2})
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"] == "hello"
    request = model.requests[0]
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.header("content-type") == "application/json"
    assert request.json()["extra"] == {"b": 1, "a": 2}
    assert "detectors" not in request.json()


@pytest.mark.parametrize(
    "status, body, expected, message",
    [
        (400, {"error": {"message": "too long", "code": 404}}, 400, "too long"),
        (404, {"object": "error", "message": "no model"}, 404, "no model"),
        (422, {"detail": [{"msg": "field required"}]}, 422, "field required"),
        (503, {"error": "loading"}, 503, "loading"),
        (401, {"error": {"message": "who are you"}}, 500, None),
        (429, {"error": {"message": "slow down"}}, 500, None),
        (500, {"error": {"message": "s3cret"}}, 500, None),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_model_statuses(weir, service, status, body, expected, message, stream):
    model = service(lambda request: reply(body, status))
    w = with_model(weir, model, service(lambda request: reply([[]])), max_retries=0)
    answer = chat(w, stream=stream)
    assert answer.status_code == expected
    if message is None:
        assert answer.json() == UNEXPECTED
    else:
        assert answer.json()["details"] == f"chat completion request failed for `m1`: {message}"


@pytest.mark.parametrize("body", ["", "data: {}\n\n", '{"choices":[]', '{"a":1,"a":2}'])
def test_model_nonsense(weir, service, body):
    model = service(lambda request: reply(body))
    w = with_model(weir, model, service(lambda request: reply([[]])))
    answer = chat(w)
    assert (answer.status_code, answer.json()) == (500, UNEXPECTED)
    assert len(model.requests) == 1


@pytest.mark.parametrize("status", [502, 503, 504])
def test_model_is_retried(weir, service, status):
    model = service()
    model.answer = lambda request: (
        reply("", status) if len(model.requests) < 3 else reply(completion("hello"))
    )
    w = with_model(weir, model, service(lambda request: reply([[]])))
    assert chat(w).status_code == 200
    assert len(model.requests) == 3


def chunk(text, finish=None):
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion.chunk", "model": "m1", "choices": [choice]}


def test_model_stream_reuses_its_connection(weir, service):
    answer = [chunk("hello "), chunk("world", "stop"), "[DONE]"]
    model = service(lambda request: events(*answer))
    section = detectors(det=("text_contents", service(lambda request: reply([[]])).config()))
    config = {"openai": {"service": model.config()}, "detectors": section}
    w = weir(config=config, args=["--workers", "1"])
    for _ in range(3):
        got = chat(w, stream=True)
        assert got.status_code == 200
        assert "world" in got.text and got.text.endswith("data: [DONE]\n\n")
    assert model.n_connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        lambda request: events(chunk("hello"), end=False),
        lambda request: events(chunk("hello"), {"error": {"message": "s3cret", "code": 500}}),
        lambda request: events(chunk("hello"), {"object": "error", "message": "s3cret"}),
        lambda request: events(chunk("hello"), "x" * 2000000),
    ],
    ids=["cut", "error", "flat error", "too large"],
)
def test_model_stream_fails(weir, service, answer):
    model = service()

    def then_close(request):
        yield from answer(request)
        raise OSError  # closes the connection

    model.answer = then_close
    w = with_model(weir, model, service(lambda request: reply([[]])))
    got = chat(w, stream=True)
    if got.status_code == 200:
        assert "event: error" in got.text
        assert got.text.endswith("data: [DONE]\n\n")
    else:
        assert got.json() == UNEXPECTED
    assert "s3cret" not in got.text


# --- health ---


def states(w, query=""):
    answer = w.health.get(f"/info{query}")
    assert answer.status_code == 200
    return answer.json()["services"]


def test_info(weir, service, gone):
    answers = {
        "silent": reply(""),
        "well": reply({"status": "HEALTHY"}),
        "ill": reply({"status": "UNHEALTHY", "reason": "no\ndisk"}),
        "odd": reply({"status": "UNKNOWN"}),
        "e404": reply("", 404),
        "e503": reply({"reason": "loading"}, 503),
    }
    all_ids = [*answers, "slow", "gone"]
    peers = {name: service(lambda request, a=answer: a) for name, answer in answers.items()}
    peers["slow"] = service(lambda request: HANG)
    section = detectors(
        **{name: ("text_chat", peers[name].config()) for name in answers},
        slow=("text_chat", peers["slow"].config(request_timeout=0.5)),
        gone=("text_chat", gone),
    )
    w = weir(config={"detectors": section})
    assert states(w) == {name: {"status": "UNKNOWN"} for name in all_ids}
    assert all(peer.requests == [] for peer in peers.values())  # nobody is asked unasked
    expected = {
        "silent": {"status": "HEALTHY"},
        "well": {"status": "HEALTHY"},
        "ill": {"status": "UNHEALTHY", "reason": "no disk"},
        "odd": {"status": "UNKNOWN"},
        "e404": {"status": "UNKNOWN", "code": 404},
        "e503": {"status": "UNHEALTHY", "code": 503, "reason": "loading"},
        "gone": {"status": "UNHEALTHY", "reason": "connection refused"},
        "slow": {"status": "UNHEALTHY", "reason": "timed out"},
    }
    assert states(w, "?probe=true") == expected
    assert states(w) == expected
    assert states(w, "?probe=false") == expected
    assert peers["well"].paths() == ["/health"]


HEALTH_CHECK = "/grpc.health.v1.Health/Check"
MODEL_INFO = "/fmaas.GenerationService/ModelInfo"


class GrpcService(grpc.GenericRpcHandler):
    """One method that answers with bytes or a status; the others do not exist."""

    def __init__(self, path, answer):
        self.path = path
        self.answer = answer
        self.requests = []
        self.server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[self])
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def service(self, details):
        if details.method == self.path:
            return grpc.unary_unary_rpc_method_handler(self.call)
        return None

    def call(self, request, context):
        self.requests.append(request)
        if not isinstance(self.answer, bytes):
            context.abort(self.answer, "its words")
        return self.answer

    def config(self):
        return {"hostname": "127.0.0.1", "port": self.port}


@pytest.mark.parametrize(
    "answer, expected",
    [
        (b"\x08\x01", {"status": "HEALTHY"}),
        (b"\x08\x02", {"status": "UNHEALTHY"}),
        (b"\x08\x03", {"status": "UNKNOWN"}),
        (b"", {"status": "UNKNOWN"}),
        (grpc.StatusCode.NOT_FOUND, {"status": "HEALTHY"}),
        (grpc.StatusCode.INVALID_ARGUMENT, {"status": "HEALTHY"}),
        (
            grpc.StatusCode.UNAVAILABLE,
            {"status": "UNHEALTHY", "code": 503, "reason": "its words"},
        ),
        (
            grpc.StatusCode.UNAUTHENTICATED,
            {"status": "UNKNOWN", "code": 401, "reason": "its words"},
        ),
    ],
)
def test_grpc_health(weir, answer, expected):
    peer = GrpcService(HEALTH_CHECK, answer)
    config = {
        "generation": {"provider": "nlp", "service": peer.config()},
        "chunkers": {"en": {"type": "sentence", "service": peer.config()}},
    }
    w = weir(config=config)
    assert states(w, "?probe=true") == {"generation": expected, "en": expected}
    assert peer.requests == [b"", b""]
    peer.server.stop(None)


def test_tgis_health(weir):
    peer = GrpcService(MODEL_INFO, b"\x10\x80\x10")
    w = weir(config={"generation": {"provider": "tgis", "service": peer.config()}})
    assert states(w, "?probe=true") == {"generation": {"status": "HEALTHY"}}
    peer.answer = grpc.StatusCode.NOT_FOUND
    assert states(w, "?probe=true") == {"generation": {"status": "HEALTHY"}}
    peer.answer = grpc.StatusCode.INTERNAL
    expected = {"status": "UNHEALTHY", "code": 500, "reason": "its words"}
    assert states(w, "?probe=true") == {"generation": expected}
    peer.server.stop(None)
    gone = states(w, "?probe=true")["generation"]
    assert gone["status"] == "UNHEALTHY" and "code" not in gone


def test_grpc_service_without_health(weir):
    peer = GrpcService(MODEL_INFO, b"")
    w = weir(config={"generation": {"provider": "nlp", "service": peer.config()}})
    found = states(w, "?probe=true")["generation"]
    assert (found["status"], found["code"]) == ("UNKNOWN", 501)
    peer.server.stop(None)


def test_health_service(weir, service):
    main = service()
    health = service(lambda request: reply("", 500))
    config = {
        "openai": {"service": main.config(), "health_service": health.config(path_prefix="/h")}
    }
    w = weir(config=config)
    assert states(w, "?probe=true") == {"openai": {"status": "UNHEALTHY", "code": 500}}
    assert health.paths() == ["/h/health"]
    assert main.requests == []


def test_info_always_asks_in_fms(weir, service):
    det = service(lambda request: reply(""))
    w = with_detector(weir, det.config(), compat="fms")
    assert states(w) == {"det": {"status": "HEALTHY"}}
    assert det.paths() == ["/health"]


def test_caller_of_info_goes_away(weir, service):
    det = service(lambda request: HANG)
    w = with_detector(weir, det.config(request_timeout=0.5))
    c = w.raw("health")
    c.send(b"GET /info?probe=true HTTP/1.1\r\nhost: x\r\n\r\n")
    harness.wait_until(lambda: det.requests, "the probe")
    c.close()
    assert states(w, "?probe=true") == {"det": {"status": "UNHEALTHY", "reason": "timed out"}}


def test_stop_during_a_probe(weir, service):
    det = service(lambda request: HANG)
    w = with_detector(weir, det.config())
    c = w.raw("health")
    c.send(b"GET /info?probe=true HTTP/1.1\r\nhost: x\r\n\r\n")
    harness.wait_until(lambda: det.requests, "the probe")
    w.signal(signal.SIGTERM)
    w.finish()


def test_reload_changes_services(weir, service):
    first, second = service(lambda request: reply([[]])), service(lambda request: reply([[]]))
    path = weir.write_config({"detectors": detectors(det=("text_contents", first.config()))})
    w = weir(config=path)
    assert ask(w).status_code == 200
    assert states(w, "?probe=true")["det"] == {"status": "HEALTHY"}
    section = detectors(
        det=("text_contents", second.config()), more=("text_chat", second.config())
    )
    weir.write_config({"detectors": section})
    w.signal(signal.SIGHUP)
    w.wait_log("configuration reloaded")
    assert states(w) == {"det": {"status": "HEALTHY"}, "more": {"status": "UNKNOWN"}}
    harness.wait_until(lambda: ask(w).status_code == 200 and second.requests, "the new one")


def test_start_up_check(weir, service):
    well = service(lambda request: reply(""))
    section = detectors(det=("text_contents", well.config()))
    w = weir(config={"detectors": section}, args=["--start-up-health-check"])
    assert states(w) == {"det": {"status": "HEALTHY"}}
    assert w.wait_log("start-up health check passed")


def test_start_up_check_stops_the_start(weir, service):
    ill = service(lambda request: reply({"reason": "loading"}, 503))
    section = detectors(det=("text_contents", ill.config()))
    with pytest.raises(harness.StartFailed) as failure:
        weir(config={"detectors": section}, args=["--start-up-health-check"])
    text = str(failure.value)
    assert "exit status 1" in text
    assert "service is not healthy" in text and "loading" in text
    assert "start-up health check failed, not starting" in text


def test_start_up_check_warns_in_fms(weir, service):
    ill = service(lambda request: reply("", 503))
    section = detectors(det=("text_contents", ill.config()))
    w = weir(config={"detectors": section, "compat": "fms"}, args=["--start-up-health-check"])
    assert w.wait_log("start-up health check failed, starting all the same")
