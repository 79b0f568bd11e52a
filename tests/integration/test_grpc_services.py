"""Chunkers and models over gRPC, called by tests/tools/grpc_probe.c, against grpcio and against a
bare HTTP/2 peer that does what no gRPC server would."""

import json
import socket
import struct
import subprocess
import threading
import time

import grpc
import h2.config
import h2.connection
import h2.events
import harness
import pytest
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

Generated = M["fmaas.Generated"]
TokenInfo = M["fmaas.TokenInfo"]
Whole = M["caikit_data_model.nlp.GeneratedTextResult"]
Part = M["caikit_data_model.nlp.GeneratedTextStreamResult"]
Details = M["caikit_data_model.nlp.TokenStreamDetails"]
GeneratedToken = M["caikit_data_model.nlp.GeneratedToken"]


def probe(port, do, texts, **options):
    """Runs the probe; the lines it printed."""
    words = {"port": port, "do": do, "id": "en", **options}
    command = [str(harness.build_folder() / "tests" / "grpc_probe")]
    command += [f"{key}={value}" for key, value in words.items()]
    command += [f"text={text}" for text in texts]
    done = subprocess.run(
        command, env=harness.environment({}), capture_output=True, timeout=200, text=True
    )
    harness.assert_no_report(done.stderr, "the probe")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def chunk(start, end, first, last, text):
    return {"chunk": [start, end, first, last], "text": text}


def fault_of(lines):
    """[origin, id, err, status], and the service's words."""
    assert lines[-1] == {"end": "fault"}
    return lines[-2]["fault"], lines[-2]["message"]


def words(request, context):
    """Tokenizes into words."""
    results, at = [], 0
    for word in request.text.split(" "):
        results.append(Token(start=at, end=at + len(word), text=word))
        at += len(word) + 1
    return TokenizationResults(results=results, token_count=len(results))


def echo(frames, context):
    """A chunk per frame with text, and which frame it was."""
    at = 0
    for frame in frames:
        text, index = frame.text_stream, frame.input_index_stream
        if text:
            yield StreamResult(
                results=[Token(start=at, end=at + len(text), text=text)],
                start_index=at,
                processed_index=at + len(text),
                token_count=1,
                input_start_index=index,
                input_end_index=index,
            )
        at += len(text)


def joined(frames, context):
    """One chunk of all the frames, at the end, without input indexes."""
    text = "".join(frame.text_stream for frame in frames)
    yield StreamResult(results=[Token(text=text)], processed_index=len(text))


# --- chunkers ---


def test_whole_text():
    with Peer({CHUNK: words}) as peer:
        lines = probe(peer.port, "chunk", ["ein schöner Tag 😀!"], whole=1, start=100)
    assert lines == [
        chunk(100, 103, 0, 0, "ein"),
        chunk(104, 111, 0, 0, "schöner"),
        chunk(112, 115, 0, 0, "Tag"),
        chunk(116, 118, 0, 0, "😀!"),
        {"end": "done"},
    ]
    (call,) = peer.calls
    assert call.request.text == "ein schöner Tag 😀!"
    assert call.metadata["mm-model-id"] == "en"
    assert 0 < call.seconds_left <= 60


def test_stream_answers_while_the_request_is_open():
    """The next frame leaves when the chunk of the one before has come: both ways at once."""
    frames = [f"frame {i} äöü. " for i in range(50)]
    with Peer({CHUNK_STREAM: echo}) as peer:
        lines = probe(peer.port, "chunk", frames, pingpong=1)
    assert [line.get("text") for line in lines[:-1]] == frames
    assert [line["chunk"][2:] for line in lines[:-1]] == [[i, i] for i in range(50)]
    assert lines[-1] == {"end": "done"}


def test_one_frame_is_one_message():
    frames = ["", "a", "", "bc", "d" * 5000, ""] + ["x"] * 2000
    with Peer({CHUNK_STREAM: echo}) as peer:
        lines = probe(peer.port, "chunk", frames)
    (call,) = peer.calls
    assert [m.text_stream for m in call.requests] == frames
    assert [m.input_index_stream for m in call.requests] == list(range(len(frames)))
    assert "".join(line["text"] for line in lines[:-1]) == "".join(frames)


def test_frames_are_derived_from_offsets():
    with Peer({CHUNK_STREAM: joined}) as peer:
        lines = probe(peer.port, "chunk", ["", "Hallo", "", " Wält", ""])
    assert lines == [chunk(0, 10, 1, 3, "Hallo Wält"), {"end": "done"}]


def test_large_frames_wait_for_the_window():
    frames = [letter * 100_000 for letter in "abcdefgh"]
    with Peer({CHUNK_STREAM: echo}) as peer:
        lines = probe(peer.port, "chunk", frames)
    assert [line["text"] for line in lines[:-1]] == frames


def test_chunks_before_an_error_come_first():
    def fails(frames, context):
        yield next(echo(frames, context))
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "frame 2 is 100% böse\nreally")

    with Peer({CHUNK_STREAM: fails}) as peer:
        lines = probe(peer.port, "chunk", ["a", "b", "c"])
    assert lines[0] == chunk(0, 1, 0, 0, "a")
    assert fault_of(lines) == (["chunker", "en", "EPEER", 400], "frame 2 is 100% böse really")


def test_a_stream_that_ends_early():
    with Peer({CHUNK_STREAM: lambda frames, context: iter([next(echo(frames, context))])}) as peer:
        lines = probe(peer.port, "chunk", ["a", "b", "c"], pingpong=1)
    # Whether the last frame was sent before the end came decides which of the two it is.
    assert fault_of(lines)[0] == ["chunker", "en", "EPEER", 0]


def test_nonsense_names_the_chunker():
    backwards = TokenizationResults(
        results=[Token(start=1, end=5, text="ello"), Token(start=0, end=6, text="hello!")]
    )
    with Peer({CHUNK: lambda request, context: backwards}) as peer:
        lines = probe(peer.port, "chunk", ["hello!"], whole=1)
        assert lines[0] == chunk(1, 5, 0, 0, "ello")
        assert fault_of(lines) == (["chunker", "en", "EPEER", 0], "")
        lines = probe(peer.port, "chunk", ["hello!"], whole=1, lenient=1)
        assert lines[1:] == [chunk(0, 6, 0, 0, "hello!"), {"end": "done"}]


def test_a_chunk_that_overlaps_answers_for_the_rest():
    overlap = TokenizationResults(
        results=[Token(start=0, end=5, text="hello"), Token(start=4, end=6, text="o!")]
    )
    with Peer({CHUNK: lambda request, context: overlap}) as peer:
        lines = probe(peer.port, "chunk", ["hello!"], whole=1)
        assert lines == [chunk(0, 5, 0, 0, "hello"), chunk(5, 6, 0, 0, "o!"), {"end": "done"}]


def test_chunkers_are_not_retried():
    def unavailable(request, context):
        context.abort(grpc.StatusCode.UNAVAILABLE, "restarting")

    with Peer({CHUNK: unavailable}) as peer:
        lines = probe(peer.port, "chunk", ["hello"], whole=1, retries=3)
    assert fault_of(lines) == (["chunker", "en", "EPEER", 503], "restarting")
    assert len(peer.calls) == 1


def test_closing_cancels_the_stream():
    gone = threading.Event()

    def slow(frames, context):
        context.add_callback(gone.set)
        yield from echo(frames, context)
        gone.wait(harness.PATIENCE)

    with Peer({CHUNK_STREAM: slow}) as peer:
        lines = probe(peer.port, "chunk", ["a", "b"], pingpong=1, stop_after=1)
        assert gone.wait(harness.PATIENCE)
    assert lines == [chunk(0, 1, 0, 0, "a"), {"end": "stopped"}]


# --- what any call may meet ---

HTTP_STATUSES = {
    "INVALID_ARGUMENT": 400,
    "NOT_FOUND": 404,
    "DEADLINE_EXCEEDED": 408,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
}


def test_every_status():
    def fails(request, context):
        context.abort(grpc.StatusCode[request.text], f"for {request.text}")

    with Peer({CHUNK: fails}) as peer:
        for code in grpc.StatusCode:
            if code != grpc.StatusCode.OK:
                lines = probe(peer.port, "chunk", [code.name], whole=1)
                status = HTTP_STATUSES.get(code.name, 500)
                assert fault_of(lines) == (["chunker", "en", "EPEER", status], f"for {code.name}")


def test_a_method_nobody_has():
    with Peer({}) as peer:
        lines = probe(peer.port, "chunk", ["a"], whole=1)
    assert fault_of(lines)[0] == ["chunker", "en", "EPEER", 501]


def test_the_deadline():
    def sleeps(request, context):
        done = threading.Event()
        context.add_callback(done.set)
        assert done.wait(harness.PATIENCE)
        return words(request, context)

    with Peer({CHUNK: sleeps}) as peer:
        lines = probe(peer.port, "chunk", ["a"], whole=1, timeout_ms=3000)
        assert peer.calls[0].ended.wait(harness.PATIENCE)
    (origin, _, err, status), _ = fault_of(lines)
    # Both ends count the same time: whoever is first says so.
    assert (origin, err, status) in [("chunker", "ETIMEOUT", 0), ("chunker", "EPEER", 408)]
    assert 0 < peer.calls[0].seconds_left <= 3


def test_nobody_listens():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        lines = probe(unused.getsockname()[1], "chunk", ["a"], whole=1)
    assert fault_of(lines) == (["chunker", "en", "EREFUSED", 0], "")


def test_a_larger_answer_than_allowed():
    with Peer({CHUNK: words}) as peer:
        lines = probe(peer.port, "chunk", ["hello world " * 50], whole=1, max_bytes=500)
    assert fault_of(lines) == (["chunker", "en", "ELIMIT", 0], "")


def test_a_server_that_compresses_unasked():
    with Peer({CHUNK: words}, compression=grpc.Compression.Gzip) as peer:
        lines = probe(peer.port, "chunk", ["a b " * 200], whole=1)
    assert fault_of(lines) == (["chunker", "en", "EPEER", 0], "")
    assert lines[-2]["why"] == "a message is compressed"


def test_a_model_id_that_is_no_header():
    with Peer({NLP: lambda request, context: Whole()}) as peer:
        lines = probe(peer.port, "nlp", ["hi"], id="a\nb: c")
    assert fault_of(lines)[0] == ["generate", "a\nb: c", "EINVAL", 400]
    assert peer.calls == []


# --- models ---


def test_nlp_generates():
    answer = Whole(
        generated_text="fünf",
        generated_tokens=2,
        finish_reason=2,
        input_token_count=5,
        seed=2**64 - 1,
        tokens=[GeneratedToken(text="fü", logprob=-0.25, rank=1), GeneratedToken(text="nf")],
        input_tokens=[GeneratedToken(text="hi", logprob=-1.5, rank=7)],
    )
    with Peer({NLP: lambda request, context: answer}) as peer:
        lines = probe(peer.port, "nlp", ["hi"], id="flan")
        probe(peer.port, "nlp", ["hi"], params="empty")
        probe(peer.port, "nlp", ["hi"], params="all")
    assert lines == [
        {
            "frame": "fünf",
            "details": ["EOS_TOKEN", 2, 2**64 - 1],
            "input_token_count": 5,
            "tokens": [["fü", -0.25, 1], ["nf", 0.0, 0]],
            "input_tokens": [["hi", -1.5, 7]],
        },
        {"end": "done"},
    ]
    plain, empty, full = [call.request for call in peer.calls]
    assert peer.calls[0].metadata["mm-model-id"] == "flan"
    assert plain == empty == M["caikit.runtime.Nlp.Generate"](text="hi")
    assert full == M["caikit.runtime.Nlp.Generate"](
        text="hi",
        max_new_tokens=99,
        min_new_tokens=1,
        truncate_input_tokens=500,
        decoding_method="SAMPLE",
        top_k=2,
        top_p=0.9,
        typical_p=0.5,
        temperature=0.8,
        repetition_penalty=2.5,
        max_time=1234.7,
        exponential_decay_length_penalty={"start_index": 2, "decay_factor": 1.5},
        stop_sequences=["\n", "END"],
        seed=2**64 - 1,
        preserve_input_text=True,
        input_tokens=True,
        generated_tokens=True,
        token_logprobs=True,
        token_ranks=True,
        include_stop_sequence=False,
    )


def test_nlp_streams():
    def stream(request, context):
        yield Part(details=Details(input_token_count=3, seed=4))
        for word in ["Guten ", "Mörgen"]:
            yield Part(generated_text=word, tokens=[GeneratedToken(text=word, logprob=-1.0)])
        yield Part(details=Details(finish_reason=5, generated_tokens=2, seed=4))

    with Peer({NLP_STREAM: stream}) as peer:
        lines = probe(peer.port, "nlp", ["hi"], stream=1)
    assert [line.get("frame") for line in lines] == ["", "Guten ", "Mörgen", "", None]
    assert lines[0]["details"] == ["NOT_FINISHED", 0, 4] and lines[0]["input_token_count"] == 3
    assert "details" not in lines[1]
    assert lines[3]["details"] == ["STOP_SEQUENCE", 2, 4]


def test_tgis_generates():
    answer = Generated(
        text="fünf",
        generated_token_count=2,
        input_token_count=5,
        stop_reason=1,
        seed=6,
        tokens=[TokenInfo(text="fünf", logprob=-0.5, rank=3)],
        stop_sequence="x",
    )
    batch = M["fmaas.Batch"](responses=[answer])
    with Peer({TGIS: lambda request, context: batch}) as peer:
        lines = probe(peer.port, "tgis", ["hi"], id="flan")
        probe(peer.port, "tgis", ["hi"], params="empty")
        probe(peer.port, "tgis", ["hi"], params="all")
    assert lines == [
        {
            "frame": "fünf",
            "details": ["MAX_TOKENS", 2, 6],
            "input_token_count": 5,
            "tokens": [["fünf", -0.5, 3]],
            "input_tokens": [],
        },
        {"end": "done"},
    ]
    assert "mm-model-id" not in peer.calls[0].metadata
    plain, empty, full = [call.request for call in peer.calls]
    Generate = M["fmaas.Generate"]
    assert plain == Generate(model_id="flan", requests=[{"text": "hi"}])
    groups = {"sampling": {}, "stopping": {}, "response": {}, "decoding": {}}
    assert empty == Generate(model_id="en", requests=[{"text": "hi"}], params=groups)
    assert full == Generate(
        model_id="en",
        requests=[{"text": "hi"}],
        params={
            "method": 1,
            "sampling": {
                "temperature": 0.8,
                "top_k": 2,
                "top_p": 0.9,
                "typical_p": 0.5,
                "seed": 2**64 - 1,
            },
            "stopping": {
                "max_new_tokens": 99,
                "min_new_tokens": 1,
                "time_limit_millis": 1234,
                "stop_sequences": ["\n", "END"],
                "include_stop_sequence": False,
            },
            "response": {
                "input_text": True,
                "generated_tokens": True,
                "input_tokens": True,
                "token_logprobs": True,
                "token_ranks": True,
            },
            "decoding": {
                "repetition_penalty": 2.5,
                "length_penalty": {"start_index": 2, "decay_factor": 1.5},
            },
            "truncate_input_tokens": 500,
        },
    )


def test_tgis_streams_and_stops():
    gone = threading.Event()

    def stream(request, context):
        context.add_callback(gone.set)
        assert request.request.text == "hi"
        for i in range(1000):
            if not context.is_active():
                return
            yield Generated(text=f"{i} ", generated_token_count=i)

    with Peer({TGIS_STREAM: stream}) as peer:
        lines = probe(peer.port, "tgis", ["hi"], stream=1)
        assert [line["frame"] for line in lines[:-1]] == [f"{i} " for i in range(1000)]
        gone.clear()
        lines = probe(peer.port, "tgis", ["hi"], stream=1, stop_after=3)
        assert len(lines) == 4 and lines[-1] == {"end": "stopped"}
        assert gone.wait(harness.PATIENCE)


def test_tokenizers():
    counted = M["fmaas.TokenizedBatch"](responses=[M["fmaas.Tokenized"](token_count=7)])
    answers = {
        TGIS_TOKENIZE: lambda request, context: counted,
        NLP_TOKENIZE: lambda request, context: TokenizationResults(token_count=8),
    }
    with Peer(answers) as peer:
        assert probe(peer.port, "tgis", ["hi"], tokenize=1)[0] == {"n_tokens": 7}
        assert probe(peer.port, "nlp", ["hi"], tokenize=1)[0] == {"n_tokens": 8}
    tgis, nlp = [call.request for call in peer.calls]
    assert tgis == M["fmaas.Tokenize"](model_id="en", requests=[{"text": "hi"}])
    assert nlp == M["caikit.runtime.Nlp.Tokenize"](text="hi")


def test_models_are_retried_while_unavailable():
    times = []

    def flaky(request, context):
        times.append(time.monotonic())
        if len(times) < 3:
            context.abort(grpc.StatusCode.UNAVAILABLE, "starting")
        return iter([Part(generated_text="ok")])

    with Peer({NLP_STREAM: flaky}) as peer:
        lines = probe(peer.port, "nlp", ["hi"], stream=1, retries=3)
        assert [line.get("frame") for line in lines] == ["ok", None]
        assert [call.request.text for call in peer.calls] == ["hi"] * 3
        times.clear()
        lines = probe(peer.port, "nlp", ["hi"], stream=1, retries=1)
    assert fault_of(lines) == (["generate", "en", "EPEER", 503], "starting")
    assert len(times) == 2


# --- a peer that is only HTTP/2 ---


class RawPeer:
    """Serves one connection: `script(conn, stream, send)` runs when the first request is whole."""

    def __init__(self, script):
        self.script = script
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.resets = []
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.thread.join(harness.PATIENCE)
        assert not self.thread.is_alive()

    def run(self):
        sock, _ = self.listener.accept()
        sock.settimeout(harness.PATIENCE)
        with sock:
            config = h2.config.H2Configuration(client_side=False, validate_outbound_headers=False)
            conn = h2.connection.H2Connection(config)
            conn.initiate_connection()
            send = lambda: sock.sendall(conn.data_to_send())
            send()
            while data := self.receive(sock):
                for event in conn.receive_data(data):
                    if isinstance(event, h2.events.StreamEnded):
                        self.script(conn, event.stream_id, send)
                        if self.script.closes:
                            return
                    elif isinstance(event, h2.events.StreamReset):
                        self.resets.append(event.error_code)
                send()

    @staticmethod
    def receive(sock):
        try:
            return sock.recv(65536)
        except OSError:
            return b""


def script(closes=False):
    def mark(function):
        function.closes = closes
        return function

    return mark


GRPC = ("content-type", "application/grpc")


def framed(message, flag=0):
    raw = message.SerializeToString()
    return struct.pack(">BI", flag, len(raw)) + raw


ANSWER = TokenizationResults(results=[Token(start=0, end=1, text="a")])


def ask(raw):
    return probe(raw.port, "chunk", ["abc"], whole=1)


def test_a_message_in_frames_of_one_byte():
    @script()
    def answer(conn, stream, send):
        conn.send_headers(stream, [(":status", "200"), GRPC])
        for byte in framed(ANSWER):
            conn.send_data(stream, bytes([byte]))
            send()
        conn.send_headers(stream, [("grpc-status", "0")], end_stream=True)

    with RawPeer(answer) as raw:
        assert ask(raw) == [chunk(0, 1, 0, 0, "a"), {"end": "done"}]


@pytest.mark.parametrize(
    "head, body, trailers, expected",
    [
        ([(":status", "200"), GRPC], framed(ANSWER), [("x", "y")], ["EPEER", 0]),
        ([(":status", "200"), GRPC], framed(ANSWER), [("grpc-status", "no")], ["EPEER", 500]),
        ([(":status", "200"), GRPC], framed(ANSWER, 1), [("grpc-status", "0")], ["EPEER", 0]),
        ([(":status", "200"), GRPC], framed(ANSWER)[:-1], [("grpc-status", "0")], ["EPEER", 0]),
        ([(":status", "200"), GRPC], b"", [("grpc-status", "0")], ["EPEER", 0]),
        ([(":status", "200"), GRPC, ("grpc-status", "5")], None, None, ["EPEER", 404]),
        ([(":status", "200"), ("content-type", "text/html")], b"<p>", None, ["EPEER", 0]),
        ([(":status", "503"), ("content-type", "text/html")], b"<p>", None, ["EPEER", 503]),
        ([(":status", "404")], None, None, ["EPEER", 501]),
    ],
)
def test_answers_no_grpc_server_gives(head, body, trailers, expected):
    @script()
    def answer(conn, stream, send):
        conn.send_headers(stream, head, end_stream=body is None)
        if body is not None:
            conn.send_data(stream, body, end_stream=trailers is None)
        if trailers is not None:
            conn.send_headers(stream, trailers, end_stream=True)

    with RawPeer(answer) as raw:
        assert fault_of(ask(raw))[0][2:] == expected


def test_a_connection_lost_within_an_answer():
    @script(closes=True)
    def answer(conn, stream, send):
        conn.send_headers(stream, [(":status", "200"), GRPC])
        conn.send_data(stream, framed(ANSWER))
        send()

    with RawPeer(answer) as raw:
        (origin, _, err, status), message = fault_of(ask(raw))
    assert origin == "chunker" and err in ("ECLOSED", "ERESET")
    assert status == 0 and message == ""


def test_goaway_within_an_answer():
    @script(closes=True)
    def answer(conn, stream, send):
        conn.send_headers(stream, [(":status", "200"), GRPC])
        conn.close_connection(error_code=2, last_stream_id=stream)
        send()

    with RawPeer(answer) as raw:
        (_, _, err, status), _ = fault_of(ask(raw))
    assert err in ("ECLOSED", "ERESET", "EPROTO") and status == 0


def test_a_reset_stream():
    @script()
    def answer(conn, stream, send):
        conn.reset_stream(stream, error_code=2)

    with RawPeer(answer) as raw:
        (_, _, err, status), _ = fault_of(ask(raw))
    assert err in ("ERESET", "EPROTO") and status == 0
