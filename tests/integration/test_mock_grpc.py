"""`weir-mock` over gRPC, as grpcio sees it: chunker, generation, health."""

import queue

import grpc
import harness
import mock as mocks
import protos
import pytest
from hyperframe.frame import HeadersFrame

CHUNK = "/caikit.runtime.Chunkers.ChunkersService/ChunkerTokenizationTaskPredict"
CHUNK_STREAM = "/caikit.runtime.Chunkers.ChunkersService/BidiStreamingChunkerTokenizationTaskPredict"
NLP = "/caikit.runtime.Nlp.NlpService/"
TGIS = "/fmaas.GenerationService/"
TEXT = "One é. Two!  (Three?) four"
SENTENCES = [(0, 6, "One é."), (7, 11, "Two!"), (13, 21, "(Three?)"), (22, 26, "four")]


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers()
    servers.stop_all()


@pytest.fixture
def channel(m):
    opened = protos.Channel(m.api_port)
    yield opened
    opened.close()


def settings(text):
    return [("x-mock", text)] if text else []


def chunk(channel, text, mock=""):
    answer = channel.unary(
        CHUNK,
        "caikit.runtime.Chunkers.ChunkerTokenizationTaskRequest",
        "caikit_data_model.nlp.TokenizationResults",
        settings(mock),
        text=text.encode(),
    )
    assert answer.token_count == len(answer.results)
    return [(t.start, t.end, t.text.decode()) for t in answer.results]


def chunk_stream(channel, frames, mock=""):
    return channel.both_stream(
        CHUNK_STREAM,
        "caikit.runtime.Chunkers.BidiStreamingChunkerTokenizationTaskRequest",
        "caikit_data_model.nlp.ChunkerTokenizationStreamResult",
        frames,
        settings(mock),
    )


def frames_of(text, size):
    """The text in frames of `size` characters, numbered."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [{"text_stream": p.encode(), "input_index_stream": i} for i, p in enumerate(pieces)]


def chunks(results):
    return [(r.start_index, r.processed_index, b"".join(t.text for t in r.results).decode())
            for r in results]  # fmt: skip


# --- the chunker ---


def test_a_text_is_cut_into_sentences(channel):
    assert chunk(channel, TEXT) == SENTENCES
    assert chunk(channel, "") == []
    assert chunk(channel, " \n ") == []
    assert chunk(channel, 'He said "no." Then 3.14 left.') == [
        (0, 13, 'He said "no."'),
        (14, 29, "Then 3.14 left."),
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_stream_is_cut_alike(channel, size):
    results = list(chunk_stream(channel, frames_of(TEXT, size)))
    assert chunks(results) == SENTENCES
    for r in results:
        assert r.input_start_index == r.start_index // size
        assert r.input_end_index == (r.processed_index - 1) // size
        assert r.token_count == 1


def test_a_chunk_leaves_as_soon_as_its_end_is_certain(channel):
    said = queue.Queue()
    results = chunk_stream(channel, iter(said.get, None))
    said.put({"text_stream": b"A. ", "input_index_stream": 5})
    first = next(results)
    assert chunks([first]) == [(0, 2, "A.")]
    assert (first.input_start_index, first.input_end_index) == (5, 5)
    said.put({"text_stream": b"", "input_index_stream": 6})
    said.put({"text_stream": b"B", "input_index_stream": 7})
    said.put({"text_stream": b"! C", "input_index_stream": 8})
    second = next(results)
    assert chunks([second]) == [(3, 5, "B!")]
    assert (second.input_start_index, second.input_end_index) == (7, 8)
    said.put(None)
    assert chunks(results) == [(6, 7, "C")]


def test_the_head_comes_before_the_first_message(channel):
    """Clients may wait for it before they say anything."""
    said = queue.Queue()
    results = chunk_stream(channel, iter(said.get, None))
    assert results.initial_metadata() is not None  # waits for it, within the call's time
    assert results.is_active()
    said.put({"text_stream": b"A. ", "input_index_stream": 0})
    assert chunks([next(results)]) == [(0, 2, "A.")]
    said.put(None)
    assert list(results) == [] and results.code() == grpc.StatusCode.OK


def test_a_long_stream(channel):
    frames = frames_of("Word word word. " * 5000, 5)
    results = list(chunk_stream(channel, frames))
    assert len(results) == 5000
    assert chunks(results)[-1] == (79984, 79999, "Word word word.")
    assert results[-1].input_end_index == 79998 // 5


def test_wrong_chunks(channel):
    def wrong(word):
        return list(chunk_stream(channel, frames_of(TEXT, 4), f"chunks={word}"))

    assert chunks(wrong("overlap"))[1][0] == 5
    assert [c[2] for c in chunks(wrong("gap"))] == ["One é.", "(Three?)", "four"]
    assert chunks(wrong("text"))[0][2] == "Something else entirely."
    assert {(r.input_start_index, r.input_end_index) for r in wrong("zero-input")} == {(0, 0)}
    assert chunks(wrong("beyond"))[0][1] == 1006
    assert chunks(wrong("no-end")) == SENTENCES[:3]
    assert chunk(channel, TEXT, "chunks=gap") == [SENTENCES[0], *SENTENCES[2:]]
    assert chunk(channel, TEXT, "chunks=no-end") == SENTENCES[:3]


def test_chunkers_that_break(channel):
    with pytest.raises(grpc.RpcError) as error:
        list(chunk_stream(channel, frames_of(TEXT, 4), "chunks=garbage"))
    assert error.value.code() == grpc.StatusCode.INTERNAL  # grpcio cannot read the message
    results = chunk_stream(channel, frames_of(TEXT, 4), "chunks=cut")
    assert chunks([next(results)]) == SENTENCES[:1]
    with pytest.raises(grpc.RpcError):
        next(results)
    with pytest.raises(grpc.RpcError):
        chunk(channel, TEXT, "chunks=cut")


def test_a_chunker_that_stalls(m):
    h = m.h2()
    head = [("content-type", "application/grpc"), ("te", "trailers"), ("x-mock", "chunks=stall")]
    s = h.request("POST", CHUNK_STREAM, head, end_stream=False)
    name = "caikit.runtime.Chunkers.BidiStreamingChunkerTokenizationTaskRequest"
    message = protos.make(name, text_stream=b"A. B. ").SerializeToString()
    h.send_data(s, b"\0" + len(message).to_bytes(4, "big") + message)
    h.ping()
    h.ping()
    answered = [type(frame) for frame in h.waiting if frame.stream_id == s]
    assert answered == [HeadersFrame]  # and nothing behind it
    h.reset_stream(s)
    assert m.wait_log("caller gone", path=CHUNK_STREAM)["event"] == 0


def test_texts_that_are_not_utf8(channel):
    with pytest.raises(grpc.RpcError) as error:
        list(chunk_stream(channel, [{"text_stream": b"\xff"}]))
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT


# --- statuses ---


def test_statuses(mock):
    channel = protos.Channel(mock("--message", "weil ä").api_port)
    for code in grpc.StatusCode:
        number = code.value[0]
        if number == 0:
            continue
        with pytest.raises(grpc.RpcError) as error:
            chunk(channel, TEXT, f"grpc_status={number}")
        assert error.value.code() == code and error.value.details() == "weil ä"
    channel.close()


def test_a_status_in_the_middle(channel):
    results = chunk_stream(channel, frames_of(TEXT, 4), "fail_at=2;grpc_status=14;message=gone")
    assert chunks([next(results), next(results)]) == SENTENCES[:2]
    with pytest.raises(grpc.RpcError) as error:
        next(results)
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE


def test_http_between(channel):
    with pytest.raises(grpc.RpcError) as error:
        chunk(channel, TEXT, "status=503")
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE


def test_failing_the_first(channel):
    with pytest.raises(grpc.RpcError) as error:
        chunk(channel, TEXT, "fail_first=1;key=grpc")
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    assert chunk(channel, TEXT, "fail_first=1;key=grpc;delay_ms=30") == SENTENCES


def test_unknown_methods(channel):
    with pytest.raises(grpc.RpcError) as error:
        channel.unary("/x.Y/Z", "grpc.health.v1.HealthCheckRequest", "grpc.health.v1.HealthCheckResponse")
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_broken_frames(m):
    for body, status in ((b"\x02\0\0\0\0", "13"), (b"\0\0\0\0\5abc", "13"), (b"\0\xff\xff\xff\xff", "8")):
        h = m.h2()
        head = [("content-type", "application/grpc"), ("te", "trailers")]
        answer = h.response(h.request("POST", CHUNK, head, body))
        assert dict(answer.headers)["grpc-status"] == status, body


# --- health ---


def health(channel, mock=""):
    return channel.unary(
        "/grpc.health.v1.Health/Check",
        "grpc.health.v1.HealthCheckRequest",
        "grpc.health.v1.HealthCheckResponse",
        settings(mock),
        service=b"any",
    ).status


def test_health(channel):
    assert health(channel) == 1
    assert health(channel, "health=bad") == 2
    for word, code in (("error", "UNAVAILABLE"), ("absent", "NOT_FOUND")):
        with pytest.raises(grpc.RpcError) as error:
            health(channel, f"health={word}")
        assert error.value.code().name == code


# --- generation ---


def generate(channel, mock="", **fields):
    return channel.unary(
        NLP + "TextGenerationTaskPredict",
        "caikit.runtime.Nlp.TextGenerationTaskRequest",
        "caikit_data_model.nlp.GeneratedTextResult",
        settings(mock),
        **fields,
    )


def generate_stream(channel, mock="", **fields):
    return list(
        channel.server_stream(
            NLP + "ServerStreamingTextGenerationTaskPredict",
            "caikit.runtime.Nlp.TextGenerationTaskRequest",
            "caikit_data_model.nlp.GeneratedTextStreamResult",
            settings(mock),
            **fields,
        )
    )


def test_nlp_unary(channel):
    answer = generate(channel, "text=a b c", text=b"How are you", seed=7)
    assert answer.generated_text == b"a b c" and answer.generated_tokens == 3
    assert answer.finish_reason == 2 and answer.input_token_count == 3 and answer.seed == 7
    assert not answer.tokens
    answer = generate(
        channel, "text=a b c", text=b"x y", max_new_tokens=2, generated_tokens=True,
        input_tokens=True, token_logprobs=True, token_ranks=True, preserve_input_text=True)  # fmt: skip
    assert answer.generated_text == b"x ya b" and answer.finish_reason == 1
    assert [t.text for t in answer.tokens] == [b"a", b" b"]
    assert [t.text for t in answer.input_tokens] == [b"x", b" y"]
    assert all(t.logprob < 0 and t.rank > 0 for t in answer.tokens)


def test_nlp_stream(channel):
    frames = generate_stream(
        channel, 'pieces=["a"," \\u00e9"," c"]', text=b"x y", generated_tokens=True, input_tokens=True)  # fmt: skip
    assert [f.generated_text.decode() for f in frames] == ["", "a", " é", " c", ""]
    assert frames[0].details.input_token_count == 2 and frames[0].details.seed
    assert [len(f.input_tokens) for f in frames] == [0, 2, 0, 0, 0]
    assert [len(f.tokens) for f in frames] == [0, 1, 1, 1, 0]
    assert [f.details.finish_reason for f in frames] == [0, 0, 0, 0, 2]
    assert frames[-1].details.generated_tokens == 3
    assert len(generate_stream(channel, "tokens=20000", text=b"x")) == 20002


def test_nlp_stream_that_fails(channel):
    with pytest.raises(grpc.RpcError) as error:
        generate_stream(channel, "fail_at=2;grpc_status=8", text=b"x")
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    with pytest.raises(grpc.RpcError):
        generate_stream(channel, "error=cut", text=b"x")


def test_nlp_tokenizer(channel):
    answer = channel.unary(
        NLP + "TokenizationTaskPredict",
        "caikit.runtime.Nlp.TokenizationTaskRequest",
        "caikit_data_model.nlp.TokenizationResults",
        text="é two".encode(),
    )
    assert answer.token_count == 2
    assert [(t.start, t.end, t.text.decode()) for t in answer.results] == [(0, 1, "é"), (1, 5, " two")]


def tgis(channel, method, request, response, mock="", **fields):
    return channel.unary(TGIS + method, f"fmaas.{request}", f"fmaas.{response}", settings(mock), **fields)


def test_tgis(channel):
    requests = [{"text": b"one two"}, {"text": b"three"}]
    params = {"stopping": {"max_new_tokens": 2}, "response": {"generated_tokens": True}}
    answer = tgis(channel, "Generate", "BatchedGenerationRequest", "BatchedGenerationResponse",
                  "text=a b c", requests=requests, params=params)  # fmt: skip
    assert [r.text for r in answer.responses] == [b"a b", b"a b"]
    assert [r.input_token_count for r in answer.responses] == [2, 1]
    assert [r.stop_reason for r in answer.responses] == [1, 1]
    assert [t.text for t in answer.responses[0].tokens] == [b"a", b" b"]
    frames = list(
        channel.server_stream(
            TGIS + "GenerateStream", "fmaas.SingleGenerationRequest", "fmaas.GenerationResponse",
            settings("text=a b"), request={"text": b"one"})  # fmt: skip
    )
    assert [f.text for f in frames] == [b"", b"a", b" b", b""]
    assert frames[0].input_token_count == 1 and frames[-1].stop_reason == 2
    assert [f.generated_token_count for f in frames] == [0, 1, 2, 2]


def test_tgis_tokenizer_and_model(channel):
    answer = tgis(channel, "Tokenize", "BatchedTokenizeRequest", "BatchedTokenizeResponse",
                  requests=[{"text": b"one two"}], return_tokens=True, return_offsets=True)  # fmt: skip
    [r] = answer.responses
    assert r.token_count == 2 and list(r.tokens) == [b"one", b" two"]
    assert [(o.start, o.end) for o in r.offsets] == [(0, 3), (3, 7)]
    info = tgis(channel, "ModelInfo", "ModelInfoRequest", "ModelInfoResponse", model_id=b"m")
    assert info.max_sequence_length > 0
    with pytest.raises(grpc.RpcError) as error:
        tgis(channel, "ModelInfo", "ModelInfoRequest", "ModelInfoResponse", "health=error")
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
