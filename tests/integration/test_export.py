"""OTLP: what a collector gets, over HTTP and gRPC, and that nothing else suffers when it does not."""

import json
import signal
import ssl
import time

import grpc
import pytest
from configs import CONTENT, config
from grpcpeer import CHUNK, Peer, Token, TokenizationResults
from harness import StartFailed, wait_until
from otlp import CLIENT, ERROR, SERVER, GrpcCollector, HttpCollector
from service import HANG, events, reply
from test_seen import says

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNSAMPLED = PARENT[:-2] + "00"


SOON = {"OTEL_BSP_SCHEDULE_DELAY": "50"}


def export(what, collector, protocol="http"):
    url = collector if isinstance(collector, str) else collector.url
    return ["--otlp-export", what, "--otlp-endpoint", url, "--otlp-protocol", protocol]


@pytest.fixture(params=["http", "grpc"])
def collector(request, service):
    """A collector and the flags that name its protocol."""
    if request.param == "http":
        made = HttpCollector(service)
        made.protocol = "http"
        yield made
    else:
        with GrpcCollector() as made:
            made.protocol = "grpc"
            yield made


def guarded(det, **more):
    """A server's configuration whose one detector is the service `det`."""
    uses = {"type": "text_contents", "service": det.config(), "chunker_id": "whole_doc_chunker"}
    return {"detectors": {"det": uses}, **more}


def ask(w, headers=None):
    body = {"content": "text", "detectors": {"det": {}}}
    return w.api.post(CONTENT, json=body, headers=headers)


# --- traces ---


def test_a_request_and_its_call(weir, service, collector):
    det = service(lambda request: reply([[]]))
    before = time.time_ns()
    w = weir(guarded(det), args=export("traces", collector, collector.protocol))
    assert ask(w).status_code == 200
    w.stop()
    after = time.time_ns()
    (line,) = w.log("request", path=CONTENT)
    (server,) = collector.spans(kind=SERVER)
    (client,) = collector.spans(kind=CLIENT)
    assert server["name"] == f"POST {CONTENT}"
    assert server["trace_id"] == line["trace_id"]
    assert "parent_span_id" not in server and "status" not in server
    assert server["attributes"] == {
        "http.request.method": "POST",
        "url.path": CONTENT,
        "http.route": CONTENT,
        "http.response.status_code": 200,
        "weir.request_id": line["request_id"],
    }
    sent = det.requests[0].header("traceparent").split("-")
    assert sent == ["00", server["trace_id"], client["span_id"], "01"]
    assert client["parent_span_id"] == server["span_id"]
    assert client["name"] == "apply_guardrail det"
    assert client["attributes"] == {
        "peer.service": "det",
        "weir.service.kind": "detector",
        "gen_ai.operation.name": "apply_guardrail",
        "gen_ai.provider.name": "fms",
        "gen_ai.guardrail.component.name": "det",
        "server.address": "127.0.0.1",
        "server.port": det.port,
        "http.request.method": "POST",
        "url.path": "/api/v1/text/contents",
        "http.response.status_code": 200,
    }
    assert before < server["start"] <= client["start"] <= client["end"] <= server["end"] < after


def test_the_resource(weir, collector):
    w = weir(args=[*export("traces,metrics", collector, collector.protocol)]
             + ["--otlp-service-name", "edge"])
    w.api.get("/nothing")
    w.stop()
    version = w.log("ready")[0]["version"]
    assert len(collector.resources()) == 2
    for resource in collector.resources():
        assert resource == {"service.name": "edge", "service.version": version}


def test_each_signal_may_have_its_own_collector(weir, service):
    first, second = HttpCollector(service), HttpCollector(service)
    args = ["--otlp-export", "traces,metrics", "--otlp-protocol", "http"]
    args += ["--otlp-traces-endpoint", f"{first.url}/own/traces?x=1"]
    args += ["--otlp-endpoint", f"{second.url}/base/"]
    w = weir(args=args)
    w.api.get("/nothing")
    w.stop()
    assert first.service.paths() == ["/own/traces?x=1"]
    assert second.service.paths() == ["/base/v1/metrics"]


@pytest.mark.parametrize("by", ["flag", "variable"])
def test_each_signal_may_have_its_own_protocol(weir, service, by):
    http = HttpCollector(service)
    with GrpcCollector() as rpc:
        args = ["--otlp-export", "traces,metrics", "--otlp-endpoint", rpc.url]
        args += ["--otlp-traces-endpoint", f"{http.url}/v1/traces"]
        env = {}
        if by == "flag":
            args += ["--otlp-traces-protocol", "http"]
        else:
            env["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/protobuf"
            env["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"] = "grpc"
        w = weir(args=args, env=env)
        w.api.get("/nothing")
        w.stop()
        assert [signal for signal, _ in http.bodies] == ["traces"]
        assert [signal for signal, _ in rpc.bodies] == ["metrics"]


def test_a_trusted_parent(weir, service):
    det, collector = service(lambda request: reply([[]])), HttpCollector(service)
    w = weir(guarded(det, trust_traceparent=True), args=export("traces", collector))
    assert ask(w, {"traceparent": PARENT}).status_code == 200
    assert ask(w, {"traceparent": UNSAMPLED}).status_code == 200
    w.stop()
    (server,) = collector.spans(kind=SERVER)
    (client,) = collector.spans(kind=CLIENT)
    assert server["trace_id"] == client["trace_id"] == PARENT[3:35]
    assert server["parent_span_id"] == PARENT[36:52]
    assert [r.header("traceparent")[-2:] for r in det.requests] == ["01", "00"]


def test_a_parent_that_is_not_trusted(weir, service):
    collector = HttpCollector(service)
    w = weir(config(), args=export("traces", collector))
    w.api.get("/nothing", headers={"traceparent": PARENT})
    w.stop()
    (server,) = collector.spans()
    assert server["trace_id"] != PARENT[3:35]
    assert "parent_span_id" not in server


def test_names_do_not_carry_what_callers_choose(weir, service):
    collector = HttpCollector(service)
    w = weir(config(), args=export("traces", collector))
    chat = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert w.api.post("/strict/v1/chat/completions", json=chat).status_code == 200
    assert w.api.post("/v1/chat/completions", json=chat).status_code == 200
    assert w.api.get("/nothing/at/all").status_code == 404
    assert w.api.request("BREW", CONTENT).status_code == 405
    raw = w.raw()
    raw.send(b"GET /\xff\xfe" + b"x" * 2000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    raw.read_response()
    w.stop()
    strict, default, nothing, brew, *odd = collector.spans()
    assert strict["name"] == "POST /{route}/v1/chat/completions"
    assert strict["attributes"]["http.route"] == "/{route}/v1/chat/completions"
    assert strict["attributes"]["weir.route"] == "strict"
    assert default["name"] == "POST /v1/chat/completions"
    assert default["attributes"]["weir.route"] == "default"
    assert nothing["name"] == "GET"
    assert nothing["attributes"]["http.response.status_code"] == 404
    assert brew["name"] == f"HTTP {CONTENT}"
    assert brew["attributes"]["http.request.method"] == "_OTHER"
    assert brew["attributes"]["http.request.method_original"] == "BREW"
    for span in odd:  # if the server takes such a path at all, the collector can read it
        assert len(span["attributes"]["url.path"].encode()) <= 3 * 512


def test_failures_are_errors(weir, service):
    answers = [reply({"code": 500, "message": "no"}, 500), None, None]
    det, collector = service(lambda request: answers.pop(0)), HttpCollector(service)
    w = weir(guarded(det), args=export("traces", collector))
    assert ask(w).status_code == 500
    assert ask(w).status_code == 500
    w.stop()
    for server in collector.spans(kind=SERVER):
        assert server["status"] == {"code": ERROR}
        assert server["attributes"]["error.type"] == "500"
    answered, lost = collector.spans(kind=CLIENT)
    assert answered["status"] == {"code": ERROR}
    assert answered["attributes"]["error.type"] == "500"
    assert lost["status"]["code"] == ERROR and "det" in lost["status"]["message"]
    assert lost["attributes"]["error.type"] in ("closed", "reset")


def test_a_caller_that_goes(weir, service):
    det, collector = service(lambda request: HANG), HttpCollector(service)
    w = weir(guarded(det), args=export("traces", collector))
    body = b'{"content": "text", "detectors": {"det": {}}}'
    raw = w.raw()
    raw.send(f"POST {CONTENT} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n".encode()
             + b"Content-Type: application/json\r\n\r\n" + body)
    wait_until(lambda: det.requests, "the detector to be asked")
    raw.close()
    w.wait_log("caller gone")
    w.stop()
    (server,) = collector.spans(kind=SERVER)
    (client,) = collector.spans(kind=CLIENT)
    assert server["attributes"]["error.type"] == "caller_gone"
    assert client["attributes"]["error.type"] == "canceled"
    assert "status" not in server and "status" not in client


def chunked(request, context):
    """A chunk that is the whole text; a text that begins with `no` is refused."""
    if request.text.startswith("no"):
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "as asked")
    text = request.text
    return TokenizationResults(results=[Token(start=0, end=len(text), text=text)], token_count=1)


def test_a_call_over_grpc(weir, service):
    det, collector = service(lambda request: reply([[]])), HttpCollector(service)
    with Peer({CHUNK: chunked}) as chunker:
        where = {"hostname": "127.0.0.1", "port": chunker.port}
        tree = guarded(det, chunkers={"cut": {"type": "sentence", "service": where}})
        tree["detectors"]["det"]["chunker_id"] = "cut"
        w = weir(tree, args=export("traces", collector))
        for text in ("yes", "no"):
            w.api.post(CONTENT, json={"content": text, "detectors": {"det": {}}})
        w.stop()
        sent = [call.metadata["traceparent"].split("-") for call in chunker.calls]
    good, bad = collector.spans(kind=CLIENT, name="chunker cut")
    assert sent == [["00", s["trace_id"], s["span_id"], "01"] for s in (good, bad)]
    assert good["attributes"] == {
        "peer.service": "cut",
        "weir.service.kind": "chunker",
        "server.address": "127.0.0.1",
        "server.port": chunker.port,
        "rpc.system": "grpc",
        "rpc.method": CHUNK,
        "http.response.status_code": 200,
        "rpc.grpc.status_code": 0,
    }
    assert "status" not in good
    assert bad["attributes"]["rpc.grpc.status_code"] == 3
    assert bad["attributes"]["error.type"] == "3" and bad["status"] == {"code": ERROR}


def test_a_streamed_answer(weir, service):
    """Its span and that of the model last as long as the stream."""
    chunk = {"choices": [{"index": 0, "delta": {"content": "hello there. "}}]}

    def paced(request):
        for piece in events(chunk, chunk, "[DONE]"):
            yield piece
            time.sleep(0.05)

    model, collector = service(paced), HttpCollector(service)
    tree = config(openai={"service": model.config()})
    w = weir(tree, args=export("traces", collector))
    chat = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    answer = w.api.post("/v1/chat/completions", json=chat)
    assert answer.status_code == 200 and "hello" in answer.text
    w.stop()
    (server,) = collector.spans(kind=SERVER)
    (client,) = collector.spans(kind=CLIENT)
    assert client["name"] == "chat m"
    assert client["parent_span_id"] == server["span_id"]
    assert model.requests[0].header("traceparent").split("-")[2] == client["span_id"]
    assert client["end"] - client["start"] > 150e6
    assert server["start"] <= client["start"] and client["end"] <= server["end"]
    assert client["attributes"]["http.response.status_code"] == 200
    assert "status" not in client


@pytest.mark.parametrize("mode", ["off", "metrics", "on"])
def test_what_a_stream_was_is_on_its_span(weir, service, mode):
    """Counts, sizes, times and settings, beside each other; the stream's line in the log has them too."""
    chunk = {"choices": [{"index": 0, "delta": {"content": "word "}}]}
    model, collector = service(lambda _: events(*[chunk] * 20, "[DONE]")), HttpCollector(service)
    streaming = {"batching": {"mode": mode}, "models": {"m*": {"batching": {"idle_flush_ms": "auto"}}}}
    routes = [{"name": "default", "unguarded": True}]
    tree = config(openai={"service": model.config()}, streaming=streaming, routes=routes)
    w = weir(tree, args=export("traces", collector))
    chat = {"model": "m1", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    answer = w.api.post("/v1/chat/completions", json=chat)
    n_left = answer.text.count("data: {")
    w.stop()
    (server,) = collector.spans(kind=SERVER)
    told = {
        name.removeprefix("weir.stream."): value
        for name, value in server["attributes"].items()
        if name.startswith("weir.stream.")
    }
    assert told["chunks.raw"] == 20 and told["chunks.business"] == n_left
    assert (n_left == 20) == (mode != "on") and told["chunks.adapter"] == n_left
    assert told["chunk_bytes.raw"] == len(json.dumps(chunk)) <= told["chunk_bytes.business"]
    assert (told["chunk_bytes.adapter"] > told["chunk_bytes.raw"]) == (mode == "on")
    assert told["hold_mean_ms"] >= 0 and told["hold_p99_ms"] >= told["hold_p50_ms"]
    assert 0 <= told["ttft_ms"] <= (server["end"] - server["start"]) / 1e6 + 1
    settings = "batching=off" if mode == "off" else f"batching={mode}/120/200/auto"
    assert told["profile"] == "m*" and told["settings"] == settings + ",coalescer=off"
    assert answer.headers["x-weir-streaming"] == f"model=m*; settings={told['settings']}"

    (line,) = w.log("stream ended")
    fields = line
    for name in ("raw", "adapter", "business"):
        assert fields[name] == told[f"chunks.{name}"]
        assert fields[f"{name}_avg_bytes"] == told[f"chunk_bytes.{name}"]
    for name in ("hold_p50_ms", "hold_p99_ms", "ttft_ms", "profile", "settings"):
        assert fields[name] == told[name]


def test_spans_leave_without_an_end(weir, collector):
    w = weir(args=export("traces", collector, collector.protocol))
    w.api.get("/nothing")
    wait_until(collector.spans, "a batch by its age")
    w.api.get("/nothing")
    w.stop()
    assert len(collector.spans()) == 2
    assert len({span["trace_id"] for span in collector.spans()}) == 2


def test_many_spans_are_one_request_each_batch(weir, service):
    collector = HttpCollector(service)
    w = weir(args=[*export("traces", collector), "--workers", "2"])
    for _ in range(1000):
        w.api.get("/nothing")
    w.stop()
    assert len(collector.spans()) == 1000
    assert len(collector.bodies) < 10


# --- metrics ---


def points(metric):
    (kind,) = metric.keys() & {"gauge", "sum", "histogram"}
    return {tuple(p["attributes"].values()): p for p in metric[kind]["points"]}


def test_metrics_are_what_the_page_shows(weir, collector):
    env = {"OTEL_METRIC_EXPORT_INTERVAL": "100"}
    w = weir(args=export("metrics", collector, collector.protocol), env=env)
    for _ in range(3):
        w.api.get("/nothing")

    def has_them():
        requests = collector.metrics().get("weir_http_requests_total")
        return requests and points(requests)[("api", "4xx")]["int"] == 3

    wait_until(has_them, "a round of metrics")
    page = w.health.get("/metrics").text
    w.stop()
    metrics = collector.metrics()
    shown = {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE")}
    assert metrics.keys() <= shown
    requests = metrics["weir_http_requests_total"]
    assert requests["sum"]["temporality"] == 2 and requests["sum"]["is_monotonic"] == 1
    assert "exchanges" in requests["description"]
    seconds = metrics["weir_http_request_duration_seconds"]
    assert seconds["unit"] == "s" and seconds["histogram"]["temporality"] == 2
    api = points(seconds)[("api",)]
    assert api["count"] == sum(api["counts"]) == 3
    assert len(api["counts"]) == len(api["bounds"]) + 1
    assert api["bounds"][:3] == [0.0005, 0.001, 0.0025]
    for bound in api["bounds"]:
        assert f'weir_http_request_duration_seconds_bucket{{listener="api",le="{bound:g}"}}' in page
    assert api["start"] < api["time"] < time.time_ns()
    memory = metrics["process_resident_memory_bytes"]
    assert memory["unit"] == "By" and points(memory)[()]["double"] > 1e6


def test_the_last_metrics_come_at_the_end(weir, collector):
    w = weir(args=export("metrics", collector, collector.protocol))
    w.api.get("/nothing")
    assert collector.bodies == []
    w.stop()
    assert points(collector.metrics()["weir_http_requests_total"])[("api", "4xx")]["int"] == 1
    assert collector.spans() == []


# --- collectors that fail ---


def spans_counted(w):
    text = w.health.get("/metrics").text
    prefix = "weir_otlp_spans_total{result="
    lines = [line for line in text.splitlines() if line.startswith(prefix)]
    return {line.split('"')[1]: int(line.split()[-1]) for line in lines}


def test_one_that_is_busy_is_asked_again(weir, service):
    collector = HttpCollector(service, answers=[reply({}, 503), reply({}, 429)])
    w = weir(args=export("traces", collector), env=SOON)
    w.api.get("/nothing")
    wait_until(collector.spans, "the batch at the third attempt")
    wait_until(lambda: spans_counted(w) == {"dropped": 0, "sent": 1}, "it to be counted")
    assert len(w.log("telemetry cannot be sent", signal="traces")) == 1
    assert len(w.log("telemetry is sent again")) == 1
    w.stop()
    assert len(collector.service.requests) == 3


def test_a_busy_one_over_grpc(weir):
    with GrpcCollector([grpc.StatusCode.UNAVAILABLE]) as collector:
        w = weir(args=export("traces", collector, "grpc"), env=SOON)
        w.api.get("/nothing")
        wait_until(collector.spans, "the batch at the second attempt")
        w.stop()


@pytest.mark.parametrize("refusal", [400, 500])
def test_one_that_refuses_is_not_asked_again(weir, service, refusal):
    collector = HttpCollector(service, answers=[reply({}, refusal)])
    w = weir(args=export("traces", collector), env=SOON)
    w.api.get("/nothing")
    wait_until(lambda: spans_counted(w) == {"dropped": 1, "sent": 0}, "the drop")
    (line,) = w.log("telemetry cannot be sent")
    assert str(refusal) in line["why"]
    w.stop()
    assert len(collector.service.requests) == 1


def test_a_refusal_over_grpc(weir):
    with GrpcCollector([grpc.StatusCode.INVALID_ARGUMENT]) as collector:
        w = weir(args=export("traces", collector, "grpc"), env=SOON)
        w.api.get("/nothing")
        wait_until(lambda: spans_counted(w) == {"dropped": 1, "sent": 0}, "the drop")
        w.stop()
        assert collector.bodies == []


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_one_that_is_not_there(weir, protocol):
    env = {"OTEL_METRIC_EXPORT_INTERVAL": "20"}
    begun = time.monotonic()
    w = weir(args=export("traces,metrics", "http://127.0.0.1:1", protocol), env=env)
    for _ in range(20):
        assert w.api.get("/nothing").status_code == 404
    w.wait_log("telemetry cannot be sent", signal="metrics")
    failed = 'weir_service_requests_total{service="otlp-metrics",result="connect"} '

    def has_failed_often():
        lines = w.health.get("/metrics").text.splitlines()
        return any(int(line.split()[-1]) > 10 for line in lines if line.startswith(failed))

    wait_until(has_failed_often, "many rounds to fail")
    w.stop()
    minutes = (time.monotonic() - begun) / 60
    assert len(w.log("telemetry cannot be sent", signal="metrics")) <= 1 + minutes
    assert 1 <= len(w.log("telemetry cannot be sent", signal="traces")) <= 1 + minutes


def test_one_that_hangs_costs_spans_and_no_memory(weir, service):
    collector = HttpCollector(service, answers=[HANG] * 100)
    w = weir(args=[*export("traces", collector), "--log-level", "warn", "--workers", "2"])
    path = "/" + "x" * 500
    connections = [w.raw() for _ in range(4)]
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50

    def has_dropped():
        for connection in connections:
            connection.send(request)
        for connection in connections:
            for _ in range(50):
                assert connection.read_response().status == 404
        return spans_counted(w)["dropped"] > 100

    wait_until(has_dropped, "spans to be dropped")
    w.stop()
    assert w.log("no time is left to send the last telemetry")


def test_a_second_signal_does_not_wait_for_it(weir, service):
    collector = HttpCollector(service, answers=[HANG] * 10)
    w = weir(args=export("traces,metrics", collector))
    w.api.get("/nothing")
    w.close_clients()
    w.signal(signal.SIGTERM)
    wait_until(lambda: collector.service.requests, "the last batch")
    w.signal(signal.SIGTERM)
    w.finish()
    # The limit of what is sent at the end may have been faster on a slow machine.
    told = w.log("told twice to stop, ending at once")
    assert told or w.log("no time is left to send the last telemetry")


# --- TLS, and what is said at the start ---


def server_context(certs):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs.server.cert, certs.server.key)
    return context


def test_https(weir, service, certs):
    collector = HttpCollector(service, tls=server_context(certs))
    env = {"SSL_CERT_FILE": str(certs.ca.cert)}
    w = weir(args=export("traces,metrics", collector), env=env)
    w.api.get("/nothing")
    w.stop()
    assert len(collector.spans()) == 1 and collector.metrics()


def test_https_of_a_stranger(weir, service, certs):
    collector = HttpCollector(service, tls=server_context(certs))
    w = weir(args=export("metrics", collector))
    w.stop()
    assert w.log("telemetry cannot be sent")
    assert collector.bodies == []


@pytest.mark.parametrize("url", ["localhost:4317", "http://", "http://a:99999", "ftp://a", "http://a b"])
def test_a_bad_endpoint_is_told_at_the_start(weir, url):
    done = weir.run("--otlp-export", "traces", "--otlp-endpoint", url)
    assert done.returncode == 2
    assert b"--otlp-endpoint" in done.stderr and url.encode() in done.stderr


@pytest.mark.parametrize("name", ["OTEL_METRIC_EXPORT_INTERVAL", "OTEL_BSP_SCHEDULE_DELAY"])
def test_a_bad_interval_is_told_at_the_start(weir, name):
    done = weir.run("--otlp-export", "metrics,traces", env={name: "soon"})
    assert done.returncode == 2 and name.encode() in done.stderr


def test_off_means_off(weir, service):
    det = service(lambda request: reply([[]]))
    w = weir(guarded(det), env={"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{det.port}"})
    assert ask(w).status_code == 200
    assert det.requests[0].header("traceparent").endswith("-00")
    assert "weir_otlp" not in w.health.get("/metrics").text
    w.stop()
    assert len(det.requests) == 1


# --- generative AI ---


@pytest.mark.parametrize("is_stream", [False, True])
def test_what_was_found_rides_on_the_requests_span(weir, service, collector, is_stream):
    mail = "jane@example.org"
    model = service(says(f"Ask {mail} or {mail}."))
    pii = {"type": "text_contents", "builtin": "regex", "chunker_id": "windows",
           "params": {"regex": ["email"]}}  # fmt: skip
    far = {"type": "text_contents", "chunker_id": "windows", "default_threshold": 0.5,
           "service": service(lambda r: reply([[] for _ in r.json()["contents"]])).config()}  # fmt: skip
    tree = {"openai": {"service": model.config()}, "detectors": {"pii": pii, "far": far},
            "chunkers": {"windows": {"builtin": "window", "size": 200, "overlap": 64}},
            "routes": [{"name": "strict", "input": {"pii": {}}, "output": {"pii": {}, "far": {}},
                        "on_detection": "redact"}]}  # fmt: skip
    w = weir(tree, args=export("traces", collector, collector.protocol))
    chat = {"model": "llama-3", "stream": is_stream, "messages": [{"role": "user", "content": mail}]}
    answer = w.api.post("/strict/v1/chat/completions", json=chat)
    w.stop()
    (server,) = collector.spans(kind=SERVER)
    said = server["attributes"]
    assert said["weir.request_id"] == answer.headers["x-request-id"]
    assert (said["gen_ai.request.model"], said["gen_ai.provider.name"]) == ("llama-3", "openai")
    assert (said["gen_ai.usage.input_tokens"], said["gen_ai.usage.output_tokens"]) == (7, 3)
    assert said["weir.action"] == "redact"
    revision = w.log("ready")[0]["revision"]
    results = {e["attributes"]["gen_ai.guardrail.source"]: e for e in server["events"]}
    assert results.keys() == {"input", "output"}
    for source, event in results.items():
        assert event["name"] == "gen_ai.guardrail.result"
        assert server["start"] <= event["time"] <= server["end"]
        assert event["attributes"] == {
            "gen_ai.guardrail.policy.id": "strict",
            "gen_ai.guardrail.policy.version": revision,
            "gen_ai.guardrail.policy.rule.id": "pii",
            "gen_ai.guardrail.component.name": "pii",
            "gen_ai.guardrail.risk.category": "email_address",
            "gen_ai.guardrail.risk.score": 1.0,
            "gen_ai.guardrail.source": source,
            "gen_ai.guardrail.result.type": "action",
            "gen_ai.guardrail.result.value": "redact",
            "gen_ai.provider.name": "weir",
            "weir.findings": 2 if source == "output" else 1,
        }
    names = {span["name"] for span in collector.spans(kind=CLIENT)}
    assert names == {"chat llama-3", "apply_guardrail far"}
    (chat_span,) = collector.spans(name="chat llama-3")
    assert chat_span["attributes"]["gen_ai.operation.name"] == "chat"
    assert chat_span["attributes"]["gen_ai.request.model"] == "llama-3"
    assert all(mail.encode() not in body for _, body in collector.bodies)


def test_a_model_that_is_no_name_names_no_span(weir, service):
    collector, text = HttpCollector(service), "a whole sentence as a model"
    model = service(lambda request: reply({"choices": []}))
    w = weir(config(openai={"service": model.config()}), args=export("traces", collector))
    chat = {"model": text, "messages": [{"role": "user", "content": "hi"}]}
    w.api.post("/v1/chat/completions", json=chat)
    w.stop()
    assert collector.spans(name="chat")
    assert all(text.encode() not in body for _, body in collector.bodies)


# --- headers and certificates ---


def test_headers_go_along(weir, service, collector):
    text = "x-tenant=a%20b, authorization=Bearer%20s3cret-value ,x-empty=,"
    w = weir(args=export("traces", collector, collector.protocol),
             env={**SOON, "OTEL_EXPORTER_OTLP_HEADERS": text})  # fmt: skip
    w.api.get("/nothing")
    w.stop()
    head = collector.headers()
    assert head["x-tenant"] == "a b" and head["authorization"] == "Bearer s3cret-value"
    assert "s3cret-value" not in w.stderr() + w.stdout()


@pytest.mark.parametrize("text", ["novalue", "a b=c", "x=%0a", "=v"])
def test_headers_that_are_none(weir, text):
    with pytest.raises(StartFailed, match="OTEL_EXPORTER_OTLP_HEADERS"):
        weir(args=["--otlp-export", "traces"], env={"OTEL_EXPORTER_OTLP_HEADERS": text})


def test_a_collector_that_wants_a_certificate(weir, service, certs):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs.server.cert, certs.server.key)
    context.load_verify_locations(certs.ca.cert)
    context.verify_mode = ssl.CERT_REQUIRED
    ours = {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(certs.ca.cert),
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": str(certs.client.cert),
            "OTEL_EXPORTER_OTLP_CLIENT_KEY": str(certs.client.key)}  # fmt: skip
    strangers = {**ours, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": str(certs.stranger.cert),
                 "OTEL_EXPORTER_OTLP_CLIENT_KEY": str(certs.stranger.key)}  # fmt: skip
    for env, comes in ((ours, True), (strangers, False)):
        collector = HttpCollector(service, tls=context)
        url = collector.url.replace("http://", "https://")
        w = weir(args=export("traces", url), env={**SOON, **env})
        w.api.get("/nothing")
        w.stop()
        assert bool(collector.bodies) == comes


def test_new_certificates_come_with_a_reload(weir, service, certs, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs.server.cert, certs.server.key)
    context.load_verify_locations(certs.ca.cert)
    context.verify_mode = ssl.CERT_REQUIRED
    cert, key = tmp_path / "client.crt", tmp_path / "client.key"

    def install(pair):
        cert.write_bytes(pair.cert.read_bytes())
        key.write_bytes(pair.key.read_bytes())

    install(certs.stranger)
    collector = HttpCollector(service, tls=context)
    env = {**SOON, "OTEL_EXPORTER_OTLP_CERTIFICATE": str(certs.ca.cert),
           "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": str(cert),
           "OTEL_EXPORTER_OTLP_CLIENT_KEY": str(key)}  # fmt: skip
    w = weir(config(), args=export("traces", collector), env=env)
    w.api.get("/nothing")
    w.wait_log("telemetry cannot be sent")
    assert collector.bodies == []
    install(certs.client)
    w.signal(signal.SIGHUP)
    w.wait_log("configuration reloaded")
    w.api.get("/something")
    wait_until(lambda: collector.bodies, "the collector to be told")
    cert.write_text("nonsense")
    w.signal(signal.SIGHUP)
    w.wait_log("the collector's certificates stay as they were")
    seen = len(collector.bodies)
    w.api.get("/more")
    wait_until(lambda: len(collector.bodies) > seen, "the old certificate to be used")
    w.stop()


# --- compression ---


def test_gzip(weir, collector):
    sizes = {}
    for coding in ("none", "gzip"):
        collector.bodies.clear()
        w = weir(args=export("traces,metrics", collector, collector.protocol),
                 env={"OTEL_EXPORTER_OTLP_COMPRESSION": coding})  # fmt: skip
        w.api.get("/nothing")
        w.stop()
        assert len(collector.spans()) == 1 and "weir_http_requests_total" in collector.metrics()
        head = collector.headers()
        if collector.protocol == "http":
            assert head.get("content-encoding") == ("gzip" if coding == "gzip" else None)
            sizes[coding] = int(head["content-length"])
    assert collector.protocol == "grpc" or sizes["gzip"] * 3 < sizes["none"]


def test_a_compression_nobody_knows(weir):
    done = weir.run("--otlp-export", "traces", env={"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"})
    assert done.returncode == 2 and b"OTEL_EXPORTER_OTLP_COMPRESSION" in done.stderr
