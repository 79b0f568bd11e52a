"""The endpoints of the fault matrix, every service they wait for, and how an answer ended.

A new endpoint is one line of ENDPOINTS (and, where its model server speaks otherwise, one of
MODEL_ANSWERS): the matrix makes its cells from `waits_for`.
"""

import http.client
import json
import re
import ssl
from dataclasses import dataclass, field

import fault_dialects
import grpcpeer
import harness
import peers
import responses
from faults import FaultPeer, FaultProxy, event_answer, json_answer

SECRET = "sesame-4711"
PIECES = ["One fine", " day. Wri", "te to sesa", "me-4711 now.", " Then rest", " well."]
TEXT = "".join(PIECES)
WORDS = ["fine", "day", SECRET, "Then", "rest", "well"]
CHUNKED = {"type": "text_contents", "chunker_id": "cut", "default_threshold": 0.1}
DETECTORS = {
    "far": CHUNKED,
    "chat": {"type": "text_chat", "default_threshold": 0.1},
    "doc": {"type": "text_context_doc", "default_threshold": 0.1},
    "gen": {"type": "text_generation", "default_threshold": 0.1},
}
KEYS = {"MATRIX_IDS": responses.SECRET, "MATRIX_MASK": "a key of the matrix, long enough"}
LIMITS = {"max_service_body_bytes": 65536, "max_event_bytes": 65536, "max_held_bytes_per_stream": 65536}
# Made for each answer, or for who has answered.
NEW_IDS = re.compile(r'(?<=")(msg|modr|resp)(?:[_-][0-9a-f]{16,}|_1\.\w+\.[\w-]{22})(?=")')
D_LINES = '{"detectors":{"far":{}},"content":"One fine day. Write"}\n{"content":" to ' + SECRET + ' now. Then"}\n'


@dataclass(frozen=True)
class Endpoint:
    name: str
    path: str
    body: dict = field(hash=False)
    waits_for: str  # which services, in this order
    checks_output: bool = True  # words of the answer must have been looked at
    policy: str = ""  # of a route; "" under /api
    method: str = "POST"

    @property
    def is_stream(self):
        return self.name.endswith("stream")

    @property
    def is_route(self):
        return bool(self.policy)

    @property
    def is_openai(self):
        return "completions" in self.path

    @property
    def dialect(self):
        """Of errors and streams; "" for all but the two that have their own."""
        return next((name for name in ("messages", "responses") if f"/v1/{name}" in self.path), "")

    @property
    def is_spoken(self):
        """A model server answers it with text that it says now."""
        return self.method == "POST" and (self.is_openai or self.path.endswith(("/v1/messages", "/v1/responses")))

    def request(self):
        """(body, headers)"""
        if self.method != "POST" or not self.body:
            return None, {}
        if isinstance(self.body, str):
            return self.body.encode(), {"content-type": "application/x-ndjson"}
        body = {**self.body, "stream": True} if self.is_stream and self.is_spoken else self.body
        return json.dumps(body).encode(), {"content-type": "application/json"}


ASK = {"model": "m", "messages": [{"role": "user", "content": "Hi there."}]}
ASK_TEXT = {"model": "m", "prompt": "Hi there."}
ASK_MESSAGE = {**ASK, "max_tokens": 100}
ASK_RESPONSE = {"model": "m", "input": "Hi there.", "store": False}
ASKED = {"chat": ("/v1/chat/completions", ASK), "text": ("/v1/completions", ASK_TEXT),
         "messages": ("/v1/messages", ASK_MESSAGE), "responses": ("/v1/responses", ASK_RESPONSE)}  # fmt: skip
OUTPUT = {"detectors": {"output": {"far": {}}}}
INPUT = {"detectors": {"input": {"far": {}}}}
FAR = {"far": {}}
GENERATE = {"model_id": "m", "inputs": "Hi", "guardrail_config": {"output": {"models": FAR}}}
ALL = "model detector chunker"


def on_routes():
    for policy in ("annotate", "redact", "block", "mask"):
        for word, (path, body) in ASKED.items():
            for mode in ("unary", "stream"):
                yield Endpoint(f"{policy} {word} {mode}", f"/{policy}{path}", body, ALL, policy=policy)
    for policy in ("asked", "beside"):
        for word in ("chat", "messages", "responses"):
            path, body = ASKED[word]
            for mode in ("unary", "stream"):
                yield Endpoint(f"{policy} {word} {mode}", f"/{policy}{path}", body, ALL, False, policy)
    for word in ("chat", "messages", "responses"):
        path, body = ASKED[word]
        yield Endpoint(f"after {word} stream", f"/after{path}", body, ALL, policy="after")
    questions = {"embeddings": {"input": "Hi."}, "rerank": {"query": "Hi.", "documents": ["a."]},
                 "score": {"text_1": "Hi.", "text_2": "a."}, "messages/count_tokens": ASK,
                 "responses/input_tokens": {"input": "Hi there."}}  # fmt: skip
    for word, body in questions.items():
        yield Endpoint(f"asked {word}", f"/asked/v1/{word}", {"model": "m", **body}, ALL, False, "asked")
    yield Endpoint("asked moderations", "/asked/v1/moderations", {"input": "Hi there."}, "detector chunker", False, "asked")


def on_stored_responses():
    """What a model server keeps; looked at again when it is fetched."""
    for policy in ("annotate", "redact", "block"):
        path = f"/{policy}{fault_dialects.stored_path(policy)}"
        yield Endpoint(f"{policy} stored", path, {}, ALL, policy=policy, method="GET")
        yield Endpoint(f"{policy} stored stream", f"{path}?stream=true", {}, ALL, policy=policy, method="GET")
        yield Endpoint(f"{policy} cancelled", f"{path}/cancel", {}, ALL, policy=policy)
        yield Endpoint(f"{policy} deleted", path, {}, "model", False, policy, "DELETE")
    path = f"/redact{fault_dialects.stored_path('redact')}/input_items"
    yield Endpoint("redact input items", path, {}, ALL, policy="redact", method="GET")


def on_the_api():
    for mode in ("unary", "stream"):
        yield Endpoint(f"H {mode}", peers.CHAT, {**ASK, **OUTPUT}, ALL)
        yield Endpoint(f"I {mode}", peers.TEXT, {**ASK_TEXT, **OUTPUT}, ALL)
        yield Endpoint(f"H asked {mode}", peers.CHAT, {**ASK, **INPUT}, ALL, False)
    streamed = "/api/v1/task/server-streaming-classification-with-text-generation"
    yield Endpoint("A unary", peers.CLASSIFICATION, GENERATE, "generation detector chunker")
    yield Endpoint("A stream", streamed, GENERATE, "generation detector chunker")
    body = {"model_id": "m", "prompt": "Hi", "detectors": {"gen": {}}}
    yield Endpoint("B", peers.GENERATION, body, "generation detector")
    yield Endpoint("C", peers.CONTENT, {"content": TEXT, "detectors": FAR}, "detector chunker")
    yield Endpoint("D stream", "/api/v2/text/detection/stream-content", D_LINES, "detector chunker")
    body = {"messages": ASK["messages"], "detectors": {"chat": {}}}
    yield Endpoint("E", peers.CHAT_HISTORY, body, "detector", False)
    body = {"content": "c", "context_type": "docs", "context": ["d"], "detectors": {"doc": {}}}
    yield Endpoint("F", peers.CONTEXT, body, "detector", False)
    body = {"prompt": "p", "generated_text": "g", "detectors": {"gen": {}}}
    yield Endpoint("G", peers.GENERATED, body, "detector", False)


ENDPOINTS = {e.name: e for e in [*on_routes(), *on_stored_responses(), *on_the_api()]}


# --- what healthy services say ---


def chat_events():
    def event(delta, finish=None):
        return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}  # fmt: skip

    middle = [event({"content": piece}) for piece in PIECES]
    return event_answer(event({"role": "assistant"}), *middle, event({}, "stop"), "[DONE]")


def text_events():
    def event(text, finish=None):
        return {"id": "x", "object": "text_completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "text": text, "finish_reason": finish}]}  # fmt: skip

    return event_answer(*[event(piece) for piece in PIECES], event("", "stop"), "[DONE]")


MODEL_ANSWERS = {
    "/v1/chat/completions": (lambda: json_answer(peers.chat_completion(TEXT)), chat_events),
    "/v1/completions": (lambda: json_answer(peers.completion(TEXT)), text_events),
    "/v1/messages": (lambda: fault_dialects.whole_message(TEXT), lambda: fault_dialects.message_events(PIECES)),
    "/v1/responses": (lambda: fault_dialects.whole_response(TEXT), lambda: fault_dialects.response_events(PIECES)),
    "/tokenize": (lambda: json_answer({"count": 7, "max_model_len": 100, "tokens": [1] * 7}), None),
}


def model_answer(request):
    if request.path.startswith(f"/v1/responses/{fault_dialects.STORED}"):
        return fault_dialects.stored_answer(request, TEXT, PIECES)
    whole, stream = MODEL_ANSWERS.get(request.path, (lambda: json_answer({"data": [1.5], "model": "m"}), None))
    return stream() if stream and request.json().get("stream") else whole()


def detector_answer(request):
    if request.path.endswith("/contents"):
        return json_answer(
            [
                [peers.finding(m.start(), m.end(), text=m.group()) for m in re.finditer(SECRET, text)]
                for text in request.json()["contents"]
            ]
        )
    return json_answer([peers.finding(None)])


def grpc_answers():
    def chunk(request, context):
        return peers.tokens(request.text, peers.sentences(request.text))

    return {
        grpcpeer.CHUNK: chunk,
        grpcpeer.CHUNK_STREAM: peers.stream_sentences,
        grpcpeer.TGIS: lambda request, context: peers.tgis_answer(TEXT),
        grpcpeer.TGIS_STREAM: lambda request, context: peers.tgis_stream(*PIECES),
        grpcpeer.TGIS_TOKENIZE: peers.GRPC_ANSWERS[grpcpeer.TGIS_TOKENIZE],
    }


# --- how an answer ended ---


@dataclass
class Ending:
    """`error`: (status, type, code) on routes, (status, details) under /api, or None; `said`: what
    the answer holds, so that two answers can be compared; `raw`: all of it."""

    status: int
    raw: str
    error: tuple = None
    said: object = None
    is_begun: bool = False  # of a stream: something was said before the error
    headers: dict = field(default_factory=dict)


def error_of(told, status, endpoint):
    if not endpoint.is_route:
        return told["code"], told["details"]
    if endpoint.dialect == "messages":
        return fault_dialects.error_of_messages(told, status)
    assert told["error"].keys() == {"message", "type", "param", "code"}, told
    return status, told["error"]["type"], told["error"]["code"]


def events_in(raw):
    """[(name, data)] of a stream; half an event is none."""
    found = []
    for block in raw.split("\n\n")[:-1]:
        lines = dict(line.partition(": ")[::2] for line in block.split("\n") if line and line[0] != ":")
        if "data" in lines:
            found.append((lines.get("event", ""), lines["data"]))
    return found


def is_json(text):
    """What a model server says is passed on as it is where nobody looks at it."""
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


def read_stream(endpoint, answer):
    found = events_in(answer.raw)
    ends = [data for _, data in found].count("[DONE]")
    found = [(name, text) for name, text in found if text == "[DONE]" or is_json(text)]
    data = [json.loads(text) for _, text in found if text != "[DONE]"]
    if endpoint.dialect:
        return fault_dialects.read_stream(endpoint, answer, list(zip([name for name, _ in found], data)))
    texts, findings, error = "", [], None
    for (name, _), event in zip([e for e in found if e[1] != "[DONE]"], data):
        assert error is None, f"something behind an error: {answer.raw}"
        if name == "error" or set(event) == {"error"}:
            error = error_of(event, 200, endpoint)
            continue
        answer.is_begun = True
        for choice in event.get("choices", []):
            texts += (choice.get("delta") or choice).get("content" if "delta" in choice else "text") or ""
        texts += event.get("generated_text") or ""
        for entry in [event.get("detections", [])] if "start_index" in event else event.get("detections", {}).get("output", []):
            findings += entry["results"] if isinstance(entry, dict) else entry
        findings += (event.get("token_classification_results") or {}).get("output", [])
    if endpoint.is_openai:
        expected = 0 if error and endpoint.is_route else 1
        assert ends == expected, f"{ends} [DONE]: {answer.raw}"
    answer.error = error
    answer.said = (texts, [(f.get("start"), f.get("end")) for f in findings])
    return answer


class Stage:
    """A gateway and its services. `hasty` names the service that is not waited for; `extra` changes
    the configuration before the start."""

    def __init__(self, servers, hasty=None, certs=None, extra=None, args=(), env=None):
        context = tls_server(certs) if certs else None
        self.hasty = hasty
        self.model = FaultPeer(model_answer, context)
        self.detector = FaultPeer(detector_answer, context)
        self.grpc = grpcpeer.Peer(grpc_answers())
        self.chunker = FaultProxy(self.grpc.port)
        self.generation = FaultProxy(self.grpc.port)
        self.peers = {"model": self.model, "detector": self.detector, "chunker": self.chunker,
                      "generation": self.generation}  # fmt: skip
        self.fronts = {}
        if certs:  # what fails is what stands before them
            self.fronts = {name: FaultProxy(self.peers[name].port) for name in ("model", "detector")}
        tree = self.tree(certs)
        if extra:
            extra(tree, self)
        self.w = servers(tree, args=["--workers", "1", *args], env={**KEYS, **(env or {})})
        self.connection = None
        self.baselines = {}
        self.at_rest = None

    def service(self, name, certs):
        peer = self.fronts.get(name, self.peers[name])
        made = {"hostname": "localhost" if certs else "127.0.0.1", "port": peer.port, "max_retries": 0}
        if name == self.hasty:
            made |= {"connect_timeout": 0.5, "first_byte_timeout": 0.5, "idle_timeout": 0.5}
        if certs and name in self.fronts:
            made["tls"] = {"client_ca_cert_path": str(certs.ca.cert)}
        return made

    def tree(self, certs):
        routes = [{"name": p, "output": FAR, "on_detection": p} for p in ("annotate", "redact", "block")]
        masked = {"on_detection": "mask", "mask": {"key_env": "MATRIX_MASK", "scope": "route"}}
        beside = {"on_detection": "block", "history_findings": "block", "input_check": "beside"}
        routes += [{"name": "mask", "input": FAR, "output": FAR, **masked}, {"name": "beside", "input": FAR, **beside},
                   {"name": "after", "output": FAR, "output_check": "after"}]  # fmt: skip
        return {
            "openai": {"service": self.service("model", certs)},
            "generation": {"provider": "tgis", "service": self.service("generation", None)},
            "chunkers": {"cut": {"type": "sentence", "service": self.service("chunker", None)}},
            "detectors": {name: {"service": self.service("detector", certs), **one}
                          for name, one in DETECTORS.items()},
            "routes": [{"name": "default", "unguarded": "all"}, *routes, {"name": "asked", "input": FAR, "on_detection": "block"}],
            "limits": LIMITS,
            "id_key_env": "MATRIX_IDS",
        }  # fmt: skip

    def close(self):
        if self.connection:
            self.connection.close()
        for peer in [*self.fronts.values(), *self.peers.values()]:
            peer.close()
        self.grpc.__exit__()

    # --- asking ---

    def ask(self, endpoint):
        """The whole answer, on a kept connection where the server keeps it."""
        body, headers = endpoint.request()
        for attempt in range(2):
            is_new = self.connection is None
            if is_new:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.w.api_port, timeout=harness.PATIENCE)
            try:
                self.connection.request(endpoint.method, endpoint.path, body, headers)
                answer = self.connection.getresponse()
                return self.read(endpoint, answer)
            except (ConnectionError, http.client.RemoteDisconnected):
                self.connection = None
                if is_new:
                    raise
        raise AssertionError("no answer")

    def read(self, endpoint, answer):
        raw = answer.read().decode(errors="replace")
        if answer.will_close:
            self.connection.close()
            self.connection = None
        ending = Ending(answer.status, raw, headers=dict(answer.headers))
        if answer.status != 200:
            ending.error = error_of(json.loads(raw), answer.status, endpoint)
        elif answer.headers["content-type"] == "text/event-stream":
            read_stream(endpoint, ending)
        else:
            ending.said = json.loads(NEW_IDS.sub(r"\1", raw))
        return ending

    def baseline(self, endpoint):
        """What it says when nothing fails."""
        if endpoint.name not in self.baselines:
            for _ in range(5):  # in haste even a service that is well may be late
                ending = self.ask(endpoint)
                if ending.error is None:
                    break
            assert ending.error is None, ending.raw
            self.baselines[endpoint.name] = ending.said
        return self.baselines[endpoint.name]

    # --- what is left behind ---

    def metric(self, name):
        text = self.w.health.get("/metrics").text
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M).group(1))

    def rests(self):
        """Is a detector left alone, since it failed several times in a row?"""
        text = self.w.health.get("/metrics").text
        return re.search(r"^weir_detector_breaker_state{[^}]*} 1$", text, re.M) is not None

    def is_at_rest(self):
        """Only what the server opened for itself is open. A connection that came a moment ago is not
        kept for a minute, as one to a service otherwise is."""
        for peer in [*self.fronts.values(), *self.peers.values()]:
            peer.drop_connections()
        return self.w.descriptors() <= self.at_rest

    def quiet(self):
        """Nobody is connected to anybody, and nothing is held: descriptors, gauges, memory."""
        for peer in [*self.fronts.values(), *self.peers.values()]:
            peer.set_fault(None)
            peer.reset_counts()
        if self.connection:
            self.connection.close()
            self.connection = None
        if self.at_rest is None:
            self.at_rest = self.w.quiet_descriptors()
        self.w.close_clients()
        harness.wait_until(self.is_at_rest, f"{self.at_rest} descriptors")
        harness.wait_until(lambda: self.metric("weir_held_bytes") < 65536, "memory to be given back")
        harness.wait_until(lambda: self.metric('weir_http_connections{listener="api"}') == 0, "no connections")
        self.w.close_clients()
        self.w.fail_if_ended()
        harness.assert_no_report(self.w.new_stderr(), "the server")


def tls_server(certs):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs.server.cert, certs.server.key)
    return context
