"""A collector on loopback that reads OTLP by itself: no generated code, an unknown field is an
error.

    with GrpcCollector() as collector:  ...  collector.spans(), collector.metrics()
    collector = HttpCollector(service)  # of the fixture `service`
"""

import gzip
import struct
from concurrent import futures

import grpc
from service import reply

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

SERVER, CLIENT = 2, 3
ERROR = 2

# message: number name kind, …   `[]` repeated; a kind with a capital letter is a message
MESSAGES = """
TracesRequest: 1 resource_spans ResourceSpans[]
ResourceSpans: 1 resource Resource, 2 scope_spans ScopeSpans[]
ScopeSpans: 1 scope Scope, 2 spans Span[]
MetricsRequest: 1 resource_metrics ResourceMetrics[]
ResourceMetrics: 1 resource Resource, 2 scope_metrics ScopeMetrics[]
ScopeMetrics: 1 scope Scope, 2 metrics Metric[]
Resource: 1 attributes KeyValue[]
Scope: 1 name string, 2 version string
KeyValue: 1 key string, 2 value AnyValue
AnyValue: 1 string string, 3 int varint, 4 double double
Span: 1 trace_id bytes, 2 span_id bytes, 4 parent_span_id bytes, 5 name string, 6 kind varint, 7 start fixed64, 8 end fixed64, 9 attributes KeyValue[], 11 events Event[], 15 status Status
Event: 1 time fixed64, 2 name string, 3 attributes KeyValue[]
Status: 2 message string, 3 code varint
Metric: 1 name string, 2 description string, 3 unit string, 5 gauge Gauge, 7 sum Sum, 9 histogram Histogram
Gauge: 1 points Number[]
Sum: 1 points Number[], 2 temporality varint, 3 is_monotonic varint
Histogram: 1 points HistogramPoint[], 2 temporality varint
Number: 2 start fixed64, 3 time fixed64, 4 double double, 6 int sfixed64, 7 attributes KeyValue[]
HistogramPoint: 2 start fixed64, 3 time fixed64, 4 count fixed64, 5 sum double, 6 counts packed_fixed64, 7 bounds packed_double, 9 attributes KeyValue[]
"""


def read_table():
    table = {}
    for line in MESSAGES.strip().splitlines():
        name, fields = line.split(": ")
        table[name] = {}
        for spelling in fields.split(", "):
            number, field, kind = spelling.split()
            table[name][int(number)] = (field, kind.removesuffix("[]"), kind.endswith("[]"))
    return table


TABLE = read_table()
WIRE = {"varint": 0, "fixed64": 1, "sfixed64": 1, "double": 1}


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def read_value(kind, raw):
    if kind == "string":
        return raw.decode()
    if kind == "bytes":
        return raw.hex()
    if kind[0].isupper():
        return decode(kind, raw)
    letter = {"fixed64": "Q", "sfixed64": "q", "double": "d"}[kind.removeprefix("packed_")]
    values = list(struct.unpack(f"<{len(raw) // 8}{letter}", raw))
    return values if kind.startswith("packed_") else values[0]


def decode(message, data):
    """A dict of its fields; attributes as a dict of their own."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        name, kind, is_repeated = TABLE[message][tag >> 3]
        assert tag & 7 == WIRE.get(kind, 2), f"{message}.{name} as wire type {tag & 7}"
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = (8, at) if tag & 7 == 1 else varint(data, at)
            assert at + size <= len(data), f"{message}.{name} is cut off"
            value, at = read_value(kind, data[at : at + size]), at + size
        if is_repeated:
            found.setdefault(name, []).append(value)
        else:
            assert name not in found, f"{message}.{name} twice"
            found[name] = value
    if "attributes" in found or "KeyValue" in str(TABLE[message]):
        pairs = [(pair["key"], *pair["value"].values()) for pair in found.get("attributes", [])]
        found["attributes"] = dict(pairs)
        assert len(found["attributes"]) == len(pairs), "an attribute twice"
    return found


class Collector:
    """What has come, read. `bodies` is [(signal, bytes)]."""

    def __init__(self):
        self.bodies = []

    def entries(self, signal, message, outer, inner, last):
        found = []
        for what, body in list(self.bodies):
            if what != signal:
                continue
            for resource in decode(message, body)[outer]:
                for scope in resource[inner]:
                    assert scope["scope"]["name"] == "weir"
                    found += scope[last]
        return found

    def resources(self):
        """The attributes of every resource that was named."""
        found = []
        for what, body in list(self.bodies):
            kind = "TracesRequest" if what == "traces" else "MetricsRequest"
            (resources,) = decode(kind, body).values()
            found += [resource["resource"]["attributes"] for resource in resources]
        return found

    def spans(self, **fields):
        found = self.entries("traces", "TracesRequest", "resource_spans", "scope_spans", "spans")
        return [s for s in found if all(s.get(name) == value for name, value in fields.items())]

    def metrics(self):
        """{name: metric}, the latest of each."""
        found = self.entries(
            "metrics", "MetricsRequest", "resource_metrics", "scope_metrics", "metrics"
        )
        return {metric["name"]: metric for metric in found}


class HttpCollector(Collector):
    """`answers` are given in turn, then 200s."""

    def __init__(self, service, answers=(), tls=None):
        super().__init__()
        self.answers = list(answers)
        self.service = service(self.take, tls)
        self.port = self.service.port
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"

    def headers(self):
        """Those of the last export."""
        return {name.lower(): value for name, value in self.service.requests[-1].headers}

    def take(self, request):
        if self.answers:
            return self.answers.pop(0)
        assert request.method == "POST"
        assert request.header("content-type") == "application/x-protobuf"
        signal = "metrics" if "metrics" in request.path else "traces"
        coding = request.header("content-encoding")
        assert coding in (None, "gzip")
        body = gzip.decompress(request.body) if coding else request.body
        self.bodies.append((signal, body))
        return reply(b"", content_type="application/x-protobuf")


class GrpcCollector(Collector, grpc.GenericRpcHandler):
    """`answers` are gRPC codes given in turn, then OK."""

    def __init__(self, answers=()):
        super().__init__()
        self.answers = list(answers)
        self.server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[self])
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.url = f"http://127.0.0.1:{self.port}"
        self.server.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop(None).wait()

    def headers(self):
        """Those of the last export."""
        return self.metadata

    def service(self, details):
        signal = {TRACES: "traces", METRICS: "metrics"}.get(details.method)
        if signal is None:
            return None

        def take(raw, context):
            if self.answers:
                context.abort(self.answers.pop(0), "as scripted")
            self.bodies.append((signal, raw))
            self.metadata = dict(context.invocation_metadata())
            return b""

        return grpc.unary_unary_rpc_method_handler(take)
