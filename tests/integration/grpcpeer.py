"""The gRPC services the server calls, as a peer written on grpcio: its messages are proto3, made
from the tables below at run time, and owe nothing to the project's own .proto files.

    with Peer({CHUNK: unary(lambda request, context: ...)}) as peer:
        ... peer.port, peer.calls[0].request, peer.calls[0].metadata
"""

import threading
from concurrent import futures
from dataclasses import dataclass, field

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# package message: name type number, …   `[]` repeated, `?` with presence; types with a capital
# letter are messages of the same package, `enum` is an int on the wire.
TABLES = """
caikit_data_model.nlp Token: start int64 1, end int64 2, text string 3
caikit_data_model.nlp TokenizationResults: results Token[] 1, token_count int64 4
caikit_data_model.nlp ChunkerTokenizationStreamResult: results Token[] 1, processed_index int64 2, start_index int64 3, token_count int64 4, input_start_index int64 20, input_end_index int64 21
caikit_data_model.nlp GeneratedToken: text string 1, logprob double 3, rank int64 4
caikit_data_model.nlp TokenStreamDetails: finish_reason enum 1, generated_tokens uint32 2, seed uint64 3, input_token_count int64 4
caikit_data_model.nlp GeneratedTextResult: generated_text string 1, generated_tokens int64 2, finish_reason enum 3, input_token_count int64 5, seed uint64 6, tokens GeneratedToken[] 7, input_tokens GeneratedToken[] 8
caikit_data_model.nlp GeneratedTextStreamResult: generated_text string 1, tokens GeneratedToken[] 2, details TokenStreamDetails 3, input_tokens GeneratedToken[] 5
caikit.runtime.Chunkers Text: text string 1
caikit.runtime.Chunkers TextStream: text_stream string 1, input_index_stream int64 2
caikit.runtime.Nlp Penalty: start_index int64 1, decay_factor double 2
caikit.runtime.Nlp Generate: text string 1, max_new_tokens int64? 2, min_new_tokens int64? 3, truncate_input_tokens int64? 4, decoding_method string? 5, top_k int64? 6, top_p double? 7, typical_p double? 8, temperature double? 9, repetition_penalty double? 10, max_time double? 11, exponential_decay_length_penalty Penalty 12, stop_sequences string[] 13, seed uint64? 14, preserve_input_text bool? 15, input_tokens bool? 16, generated_tokens bool? 17, token_logprobs bool? 18, token_ranks bool? 19, include_stop_sequence bool? 20
caikit.runtime.Nlp Tokenize: text string 1
fmaas Text: text string 2
fmaas Sampling: temperature float 1, top_k uint32 2, top_p float 3, typical_p float 4, seed uint64? 5
fmaas Stopping: max_new_tokens uint32 1, min_new_tokens uint32 2, time_limit_millis uint32 3, stop_sequences string[] 4, include_stop_sequence bool? 5
fmaas Response: input_text bool 1, generated_tokens bool 2, input_tokens bool 3, token_logprobs bool 4, token_ranks bool 5, top_n_tokens uint32 6
fmaas LengthPenalty: start_index uint32 1, decay_factor float 2
fmaas Decoding: repetition_penalty float 1, length_penalty LengthPenalty 2
fmaas Params: method enum 1, sampling Sampling 2, stopping Stopping 3, response Response 4, decoding Decoding 5, truncate_input_tokens uint32 6
fmaas Generate: model_id string 1, requests Text[] 3, params Params 10
fmaas GenerateStream: model_id string 1, request Text 3, params Params 10
fmaas TopToken: text string 2, logprob float 3
fmaas TokenInfo: text string 2, logprob float 3, rank uint32 4, top_tokens TopToken[] 5
fmaas Generated: generated_token_count uint32 2, text string 4, input_token_count uint32 6, stop_reason enum 7, tokens TokenInfo[] 8, input_tokens TokenInfo[] 9, seed uint64 10, stop_sequence string 11
fmaas Batch: responses Generated[] 1
fmaas TokenizeText: text string 1
fmaas Tokenize: model_id string 1, requests TokenizeText[] 2, return_tokens bool 3, return_offsets bool 4, truncate_input_tokens uint32 5
fmaas Tokenized: token_count uint32 1, tokens string[] 2
fmaas TokenizedBatch: responses Tokenized[] 1
"""


def add_field(message, package, spelling):
    name, kind, number = spelling.split()
    repeated, present = kind.endswith("[]"), kind.endswith("?")
    kind = kind.rstrip("[]?")
    made = message.field.add(name=name, number=int(number))
    made.label = made.LABEL_REPEATED if repeated else made.LABEL_OPTIONAL
    if kind[0].isupper():
        made.type = made.TYPE_MESSAGE
        made.type_name = f".{package}.{kind}"
    else:
        made.type = getattr(made, "TYPE_INT32" if kind == "enum" else f"TYPE_{kind.upper()}")
    if present:
        made.proto3_optional = True
        made.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")


def make_messages():
    """{"package.Message": class}"""
    files = {}
    for line in TABLES.strip().splitlines():
        head, fields = line.split(":")
        package, name = head.split()
        if package not in files:
            files[package] = descriptor_pb2.FileDescriptorProto(
                name=f"{package}.proto", package=package, syntax="proto3"
            )
        message = files[package].message_type.add(name=name)
        for spelling in fields.split(","):
            add_field(message, package, spelling)
    pool = descriptor_pool.DescriptorPool()
    for file in files.values():
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {
        f"{package}.{message.name}": factory.GetPrototype(
            pool.FindMessageTypeByName(f"{package}.{message.name}")
        )
        for package, file in files.items()
        for message in file.message_type
    }


M = make_messages()
CHUNK = "/caikit.runtime.Chunkers.ChunkersService/ChunkerTokenizationTaskPredict"
CHUNK_STREAM = "/caikit.runtime.Chunkers.ChunkersService/BidiStreamingChunkerTokenizationTaskPredict"
NLP = "/caikit.runtime.Nlp.NlpService/TextGenerationTaskPredict"
NLP_STREAM = "/caikit.runtime.Nlp.NlpService/ServerStreamingTextGenerationTaskPredict"
NLP_TOKENIZE = "/caikit.runtime.Nlp.NlpService/TokenizationTaskPredict"
TGIS = "/fmaas.GenerationService/Generate"
TGIS_STREAM = "/fmaas.GenerationService/GenerateStream"
TGIS_TOKENIZE = "/fmaas.GenerationService/Tokenize"

Token = M["caikit_data_model.nlp.Token"]
TokenizationResults = M["caikit_data_model.nlp.TokenizationResults"]
StreamResult = M["caikit_data_model.nlp.ChunkerTokenizationStreamResult"]

# path: (request, are requests streamed, are answers streamed)
METHODS = {
    CHUNK: (M["caikit.runtime.Chunkers.Text"], False, False),
    CHUNK_STREAM: (M["caikit.runtime.Chunkers.TextStream"], True, True),
    NLP: (M["caikit.runtime.Nlp.Generate"], False, False),
    NLP_STREAM: (M["caikit.runtime.Nlp.Generate"], False, True),
    NLP_TOKENIZE: (M["caikit.runtime.Nlp.Tokenize"], False, False),
    TGIS: (M["fmaas.Generate"], False, False),
    TGIS_STREAM: (M["fmaas.GenerateStream"], False, True),
    TGIS_TOKENIZE: (M["fmaas.Tokenize"], False, False),
}


@dataclass
class Call:
    path: str
    metadata: dict
    seconds_left: float
    requests: list = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)  # in whatever way

    @property
    def request(self):
        return self.requests[0]


def read_exactly(kind, call):
    """Reads a request and insists on the bytes grpcio's own encoder would have written."""

    def read(raw):
        message = kind.FromString(raw)
        again = message.SerializeToString(deterministic=True)
        assert raw == again, f"{raw.hex()} should be {again.hex()}"
        return message

    return read


class Peer(grpc.GenericRpcHandler):
    """A server on a free port. `answers` maps paths to functions of (request or their iterator,
    context); `calls` is what came."""

    def __init__(self, answers, **options):
        self.answers = answers
        self.calls = []
        self.errors = []
        self.server = grpc.server(futures.ThreadPoolExecutor(8), handlers=[self], **options)
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop(None).wait()
        if self.errors:
            raise self.errors[0]

    def service(self, details):
        if details.method not in self.answers:
            return None
        kind, takes_stream, gives_stream = METHODS[details.method]
        call = Call(details.method, dict(details.invocation_metadata), None)
        self.calls.append(call)
        words = {(False, False): "unary_unary", (False, True): "unary_stream"}
        word = words.get((takes_stream, gives_stream), "stream_stream")
        make = getattr(grpc, f"{word}_rpc_method_handler")
        answer = self.give_stream if gives_stream else self.give_one
        return make(
            lambda request, context: answer(call, request, context, takes_stream),
            request_deserializer=lambda raw: self.note(call, kind, raw),
            response_serializer=lambda m: m if isinstance(m, bytes) else m.SerializeToString(),
        )

    def note(self, call, kind, raw):
        try:
            message = read_exactly(kind, call)(raw)
        except Exception as error:
            self.errors.append(error)
            raise
        call.requests.append(message)
        return message

    def open(self, call, context):
        call.seconds_left = context.time_remaining()
        context.add_callback(call.ended.set)

    def give_one(self, call, request, context, _):
        self.open(call, context)
        return self.answers[call.path](request, context)

    def give_stream(self, call, request, context, _):
        self.open(call, context)
        yield from self.answers[call.path](request, context)
