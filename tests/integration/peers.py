"""Everything a unary endpoint talks to, on loopback, and the server in front of it: one World per
test module.

    @pytest.fixture(scope="module")
    def world(tmp_path_factory):
        with World(tmp_path_factory, detectors={"words": contents()}) as w:
            yield w

    world.detector["words"] = finds("evil")      # answers, until the next test
    world.post(CONTENT, {"content": "evil", "detectors": {"words": {}}})
    world.asked("words")                         # the requests it got

All detectors are one service: requests name the one they are for. So are all chunkers. What a test
scripts is forgotten at its end (World.reset).
"""

import http.client
import json
import re
import threading
from types import SimpleNamespace

import grpc
import harness
import service
from grpcpeer import (
    CHUNK,
    CHUNK_STREAM,
    M,
    NLP,
    NLP_STREAM,
    NLP_TOKENIZE,
    TGIS,
    TGIS_STREAM,
    TGIS_TOKENIZE,
    Peer,
    StreamResult,
    Token,
    TokenizationResults,
)
from service import reply

CLASSIFICATION = "/api/v1/task/classification-with-text-generation"
GENERATION = "/api/v2/text/generation-detection"
CONTENT = "/api/v2/text/detection/content"
CHAT_HISTORY = "/api/v2/text/detection/chat"
CONTEXT = "/api/v2/text/detection/context"
GENERATED = "/api/v2/text/detection/generated"
CHAT = "/api/v2/chat/completions-detection"
TEXT = "/api/v2/text/completions-detection"

UNEXPECTED = {"code": 500, "details": "unexpected error occurred while processing request"}
UNSUITABLE_INPUT = (
    "Unsuitable input detected. Please check the detected entities on your input and try again"
    " with the unsuitable input removed."
)
UNSUITABLE_OUTPUT = "Unsuitable output detected."


class Hang:
    """An answer that never comes. `begun`: the request is here; `gone`: the caller has left."""

    def __init__(self):
        self.begun = threading.Event()
        self.gone = threading.Event()


class HttpPeer(service.Service):
    """A service that also knows Hang, and counts how many requests it holds at once."""

    def __init__(self, answer):
        self.lock = threading.Lock()
        self.n_open = {}
        self.most_open = {}
        super().__init__(answer)

    def exchange(self, stream):
        request = self.read(stream)
        if request is None:
            return False
        self.requests.append(request)
        key = request.header("detector-id") or request.path
        with self.lock:
            self.n_open[key] = self.n_open.get(key, 0) + 1
            self.most_open[key] = max(self.most_open.get(key, 0), self.n_open[key])
        try:
            return self.give(stream, self.answer(request))
        finally:
            with self.lock:
                self.n_open[key] -= 1

    def give(self, stream, answer):
        if isinstance(answer, Hang):
            answer.begun.set()
            try:
                stream.recv(1)
            finally:
                answer.gone.set()
            return False
        if answer is None:
            return False
        for piece in [answer] if isinstance(answer, bytes) else answer:
            stream.sendall(piece)
        return True


class Answer:
    """What httpx would give, as far as the tests look at it."""

    def __init__(self, answer):
        self.status_code = answer.status
        self.headers = answer.headers
        self.content = answer.read()

    @property
    def text(self):
        return self.content.decode()

    def json(self):
        return json.loads(self.content)


class Caller:
    """One kept-alive connection that sends a request in one piece: httpx as packaged writes head
    and body apart, and the second waits for the kernel to acknowledge the first, 40 ms each."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.PATIENCE)

    def post(self, path, content, headers):
        self.connection.request("POST", path, content, headers)
        return Answer(self.connection.getresponse())

    def close(self):
        self.connection.close()


# --- detectors ---


def contents(chunker="whole_doc_chunker", **more):
    return {"type": "text_contents", "chunker_id": chunker, **more}


def whole(kind, **more):
    return {"type": kind, **more}


def finding(start=0, end=1, detection="d", kind="t", score=0.9, **more):
    spans = {} if start is None else {"start": start, "end": end}
    return {**spans, "detection": detection, "detection_type": kind, "score": score, **more}


def finds(pattern, score=0.9, **more):
    """A text_contents detector: every match of the pattern in every content."""

    def answer(request):
        lists = [
            [
                finding(m.start(), m.end(), score=score, text=m.group(), **more)
                for m in re.finditer(pattern, text)
            ]
            for text in request.json()["contents"]
        ]
        return reply(lists)

    return answer


def answers(value, status=200):
    """Always the same: a tree is JSON, bytes stand as they are, Hang and None as in service."""

    def answer(request):
        if value is None or isinstance(value, Hang):
            return value
        return reply(value, status)

    return answer


def nothing(request):
    is_contents = request.path.endswith("/contents")
    return reply([[] for _ in request.json()["contents"]] if is_contents else [])


# --- chunkers: a function of (text) gives [(start, end)] or Token messages ---


def sentences(text):
    return [m.span() for m in re.finditer(r"[^.!?]*[.!?]|[^.!?]+$", text) if m.group().strip()]


def words(text):
    return [m.span() for m in re.finditer(r"\S+", text)]


def tokens(text, spans):
    made = [
        span if not isinstance(span, tuple) else Token(start=span[0], end=span[1], text=text[slice(*span)])
        for span in spans
    ]
    return TokenizationResults(results=made, token_count=len(made))


def told(start, end, text, first=0, last=0):
    """One answer of a chunker on a stream."""
    return StreamResult(
        start_index=start, processed_index=end, input_start_index=first, input_end_index=last,
        results=[Token(start=start, end=end, text=text)],
    )  # fmt: skip


def stream_sentences(requests, context):
    """A well-behaved chunker: sentences, each as soon as it is complete, and the rest at the end."""
    text, start, first, last = "", 0, None, 0
    for request in requests:
        last = request.input_index_stream
        first = last if first is None else first
        text += request.text_stream
        while m := re.match(r"[^.!?]*[.!?]", text):
            yield told(start, start + m.end(), m.group(), first, last)
            text, start = text[m.end() :], start + m.end()
            first = last if text else None
    if text:
        yield told(start, start + len(text), text, first, last)


# --- the model server ---


def choice(content, index=0, **more):
    message = {"role": "assistant", "content": content, **more}
    return {"index": index, "message": message, "finish_reason": "stop"}


def chat_completion(*choices, **more):
    made = [c if isinstance(c, dict) else choice(c, i) for i, c in enumerate(choices)]
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": made, **more}


def completion(*texts, **more):
    made = [
        c if isinstance(c, dict) else {"index": i, "text": c, "finish_reason": "stop"}
        for i, c in enumerate(texts)
    ]
    return {"id": "x", "object": "text_completion", "created": 1, "model": "m", "choices": made, **more}


MODEL_ANSWERS = {
    "/v1/chat/completions": answers(chat_completion("fine")),
    "/v1/completions": answers(completion("fine")),
    "/tokenize": answers({"count": 7, "max_model_len": 100, "tokens": [1] * 7}),
}


def tgis_answer(text="fine", **more):
    fields = {"input_token_count": 3, "generated_token_count": 2, "stop_reason": 2, "seed": 5}
    return M["fmaas.Batch"](responses=[{"text": text, **fields, **more}])


def nlp_answer(text="fine", **more):
    fields = {"input_token_count": 3, "generated_tokens": 2, "finish_reason": 2, "seed": 5}
    return M["caikit_data_model.nlp.GeneratedTextResult"](generated_text=text, **{**fields, **more})


def abort(code, message="no"):
    """A gRPC answer that is an error."""

    def answer(request, context):
        context.abort(grpc.StatusCode[code], message)

    return answer


def grpc_hang(hang):
    def answer(request, context):
        context.add_callback(hang.gone.set)
        hang.begun.set()
        hang.gone.wait(harness.PATIENCE)
        context.abort(grpc.StatusCode.CANCELLED, "")

    return answer


# --- all of it ---

GRPC_ANSWERS = {
    TGIS: lambda request, context: tgis_answer(),
    TGIS_TOKENIZE: lambda request, context: M["fmaas.TokenizedBatch"](responses=[{"token_count": 9}]),
    NLP: lambda request, context: nlp_answer(),
    NLP_TOKENIZE: lambda request, context: TokenizationResults(token_count=9),
}
STREAMED = (CHUNK_STREAM, TGIS_STREAM, NLP_STREAM)


def tgis_stream(*texts):
    """Messages of a streamed generation, the last with the reason for the end."""
    for i, text in enumerate(texts):
        is_last = i + 1 == len(texts)
        yield M["fmaas.Generated"](
            text=text,
            tokens=[{"text": text}] if text else [],
            generated_token_count=i + 1,
            seed=5,
            input_token_count=3 if i == 0 else 0,
            input_tokens=[{"text": "q"}] if i == 1 else [],
            stop_reason=2 if is_last else 0,
        )


class World:
    """`detectors`: {id: configuration without service}; `chunkers`: {id: function}; `generation`:
    tgis or nlp; `openai`: false, or the section for a model server of the test's own;
    `service_options`: of every service, `detector_options`: of detectors instead; other keywords
    are the configuration's."""

    def __init__(
        self,
        tmp_path_factory,
        detectors,
        chunkers=None,
        generation=None,
        openai=True,
        service_options=None,
        detector_options=None,
        args=(),
        env=None,
        **config,
    ):
        options = service_options or {}
        self.detectors = HttpPeer(self.answer_detector)
        self.model = HttpPeer(self.answer_model)
        self.chunker_functions = dict(chunkers or {})
        self.grpc = Peer(
            {path: self.grpc_answer(path) for path in [CHUNK, *GRPC_ANSWERS]}
            | {path: self.grpc_stream(path) for path in STREAMED}
        )
        self.reset()
        # Tests here fail detectors many times in a row, and want the next one to be asked.
        target = self.detectors.config(**(options if detector_options is None else detector_options))
        config["detectors"] = {
            name: {"service": {**target, **one.pop("service", {})}, "breaker": False, **one}
            for name, one in {name: dict(one) for name, one in detectors.items()}.items()
        }
        grpc_target = {"hostname": "127.0.0.1", "port": self.grpc.port, "max_retries": 0, **options}
        if chunkers:
            config["chunkers"] = {
                name: {"type": "sentence", "service": grpc_target} for name in chunkers
            }
        if generation:
            config["generation"] = {"provider": generation, "service": grpc_target}
        if openai:
            ours = {"service": self.model.config(max_retries=0, **options)}
            config["openai"] = openai if isinstance(openai, dict) else ours
        self.servers = harness.Servers(harness.binary(), tmp_path_factory.mktemp("world"))
        self.weir = self.servers(config=config, args=args, env=env)
        self.caller = Caller(self.weir.api_port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.caller.close()
        self.servers.stop_all()
        self.detectors.close()
        self.model.close()
        self.grpc.__exit__()

    def reset(self):
        """As if nothing had been asked yet; everybody answers as by default."""
        self.detector = {}
        self.model_answers = dict(MODEL_ANSWERS)
        self.chunkers = dict(self.chunker_functions)
        self.grpc_answers = dict(GRPC_ANSWERS)
        self.chunk_streams = {}
        for peer in (self.detectors, self.model):
            peer.requests.clear()
            peer.most_open.clear()
        self.grpc.calls.clear()

    # --- what they answer ---

    def answer_detector(self, request):
        return self.detector.get(request.header("detector-id"), nothing)(request)

    def answer_model(self, request):
        return self.model_answers[request.path](request)

    def grpc_answer(self, path):
        def answer(request, context):
            if path == CHUNK:
                name = dict(context.invocation_metadata())["mm-model-id"]
                chunker = self.chunkers[name]
                if isinstance(chunker, SimpleNamespace):
                    return chunker.answer(request, context)
                return tokens(request.text, chunker(request.text))
            return self.grpc_answers[path](request, context)

        return answer

    def grpc_stream(self, path):
        """`chunk_streams`: {id: a function of (requests, context) that gives messages}."""

        def answer(request, context):
            if path == CHUNK_STREAM:
                name = dict(context.invocation_metadata())["mm-model-id"]
                yield from self.chunk_streams.get(name, stream_sentences)(request, context)
            else:
                yield from self.grpc_answers[path](request, context)

        return answer

    def chat_answers(self, *choices, **more):
        self.model_answers["/v1/chat/completions"] = answers(chat_completion(*choices, **more))

    def text_answers(self, *texts, **more):
        self.model_answers["/v1/completions"] = answers(completion(*texts, **more))

    # --- what they were asked ---

    def asked(self, detector):
        return [r for r in self.detectors.requests if r.header("detector-id") == detector]

    def asked_model(self, path="/v1/chat/completions"):
        return [r for r in self.model.requests if r.path == path]

    def asked_grpc(self, path):
        return [call for call in self.grpc.calls if call.path == path]

    # --- asking ---

    def post(self, path, body, headers=None, client=None):
        """JSON as given when it is text, otherwise written compactly."""
        text = body if isinstance(body, (str, bytes)) else json.dumps(body, ensure_ascii=False)
        data = text.encode() if isinstance(text, str) else text
        sent = {"content-type": "application/json", **(headers or {})}
        return (client or self.caller).post(path, content=data, headers=sent)

    def ok(self, path, body, **more):
        answer = self.post(path, body, **more)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        return answer.json()

    def refused(self, path, body, **more):
        """(status, details) of an error of our own shape."""
        answer = self.post(path, body, **more)
        told = answer.json()
        assert list(told) == ["code", "details"], told
        assert told["code"] == answer.status_code
        assert answer.headers["content-type"] == "application/json"
        return told["code"], told["details"]


def scripted(answer):
    """A chunker whose whole gRPC answer the test writes: a function of (request, context)."""
    return SimpleNamespace(answer=answer)
