"""What OpenTelemetry's conventions for generative AI count, by today's names and by newer ones."""

import pytest
from otlp import HttpCollector
from service import reply
from test_export import export
from test_seen import says


@pytest.fixture
def collector(service):
    return HttpCollector(service)


LATEST = {"OTEL_SEMCONV_STABILITY_OPT_IN": "http, gen_ai_latest_experimental"}
OPERATION = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
             "gen_ai.request.model": "llama-3"}  # fmt: skip


def asked_model(weir, service, collector, env):
    """The gen_ai metrics after a whole answer, a stream, and two requests that the server refused."""
    model = service(says("Nothing to see."))
    far = {"type": "text_contents", "chunker_id": "whole_doc_chunker", "default_threshold": 0.5,
           "service": service(lambda r: reply([[] for _ in r.json()["contents"]])).config()}  # fmt: skip
    near = {"type": "text_contents", "builtin": "secrets"}
    route = {"name": "default", "input": {"far": {}}, "output": {"near": {}}, "on_detection": "redact"}
    tree = {"openai": {"service": model.config()}, "detectors": {"far": far, "near": near},
            "routes": [route]}  # fmt: skip
    w = weir(tree, args=export("metrics", collector), env=env)
    chat = {"model": "llama-3", "messages": [{"role": "user", "content": "hi"}]}
    assert w.api.post("/v1/chat/completions", json=chat).status_code == 200
    assert w.api.post("/v1/chat/completions", json={**chat, "stream": True}).status_code == 200
    model.answer = lambda request: reply({"error": {"message": "no such model"}}, 404)
    assert w.api.post("/v1/chat/completions", json={**chat, "model": "any-word"}).status_code == 404
    model.answer = lambda request: reply({"error": {"message": "broken"}}, 500)
    assert w.api.post("/v1/chat/completions", json=chat).status_code == 500
    text = w.health.get("/metrics").text
    w.stop()
    assert "any-word" not in text
    return {name: m for name, m in collector.metrics().items() if name.startswith("gen_ai")}, text


def points(metric, kind="histogram"):
    return sorted(metric[kind]["points"], key=lambda p: str(p["attributes"]))


def check_times(metrics, prefix):
    metric = metrics[f"{prefix}.duration"]
    assert metric["unit"] == "s" and metric["histogram"]["temporality"] == 2
    bounds = metric["histogram"]["points"][0]["bounds"]
    assert bounds[:3] == [0.01, 0.02, 0.04] and bounds[-1] == 81.92 and len(bounds) == 14
    unnamed = {name: value for name, value in OPERATION.items() if "model" not in name}
    told = {str(sorted(p["attributes"].items())): p["count"] for p in points(metric)}
    assert told == {str(sorted(OPERATION.items())): 2,
                    str(sorted({**unnamed, "error.type": "404"}.items())): 1,
                    str(sorted({**OPERATION, "error.type": "500"}.items())): 1}  # fmt: skip
    (first,) = points(metrics[f"{prefix}.time_to_first_chunk"])
    assert (first["attributes"], first["count"]) == (OPERATION, 1)


def test_models_are_counted_by_todays_names(weir, service, collector):
    metrics, text = asked_model(weir, service, collector, {})
    assert metrics.keys() == {"gen_ai.client.operation.duration", "gen_ai.client.token.usage",
                              "gen_ai.client.operation.time_to_first_chunk"}  # fmt: skip
    check_times(metrics, "gen_ai.client.operation")
    usage = metrics["gen_ai.client.token.usage"]
    assert usage["unit"] == "{token}"
    inputs, outputs = points(usage)
    assert inputs["attributes"] == {**OPERATION, "gen_ai.token.type": "input"}
    assert outputs["attributes"] == {**OPERATION, "gen_ai.token.type": "output"}
    assert (inputs["count"], inputs["sum"], outputs["sum"]) == (2, 14.0, 6.0)
    labels = 'gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="llama-3"'
    assert f'gen_ai_client_operation_duration_seconds_count{{{labels},error_type=""}} 2' in text
    assert f'gen_ai_client_token_usage_sum{{{labels},gen_ai_token_type="input"}} 14' in text
    assert "gen_ai_client_inference" not in text and "apply_guardrail" not in text


def test_models_are_counted_by_newer_names_where_they_are_asked_for(weir, service, collector):
    metrics, text = asked_model(weir, service, collector, LATEST)
    prefix = "gen_ai.client.inference"
    assert metrics.keys() == {f"{prefix}.duration", f"{prefix}.time_to_first_chunk",
                              f"{prefix}.usage.input_tokens", f"{prefix}.usage.output_tokens",
                              "gen_ai.client.apply_guardrail.duration"}  # fmt: skip
    check_times(metrics, prefix)
    for name, tokens in (("input_tokens", 14), ("output_tokens", 6)):
        metric = metrics[f"{prefix}.usage.{name}"]
        assert metric["unit"] == "{token}" and metric["sum"]["is_monotonic"] == 1
        (point,) = points(metric, "sum")
        assert point["attributes"] == {**OPERATION, "gen_ai.token.modality": "unknown"}
        assert point["int"] == tokens
    (asked,) = points(metrics["gen_ai.client.apply_guardrail.duration"])
    assert asked["count"] == 4
    assert asked["attributes"] == {"gen_ai.operation.name": "apply_guardrail", "gen_ai.provider.name": "fms",
                                   "gen_ai.guardrail.component.name": "far"}  # fmt: skip
    assert "gen_ai_client_operation" not in text and "gen_ai_client_token_usage" not in text


def test_what_others_opt_in_to_changes_nothing(weir):
    w = weir(env={"OTEL_SEMCONV_STABILITY_OPT_IN": "http/dup,database"})
    assert "gen_ai_client_operation_duration_seconds" in w.health.get("/metrics").text
