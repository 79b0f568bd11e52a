"""The health port: health, info, readiness, and metrics that a real Prometheus parser reads."""

import pytest
from configs import config
from harness import wait_until
from prometheus_client.parser import text_string_to_metric_families


@pytest.fixture(scope="module")
def server(module_weir):
    return module_weir(config())


@pytest.fixture
def w(server):
    with server.unharmed():
        yield server


def scrape(w):
    """Every sample as {(name, labels): value}, after a check of the whole text."""
    response = w.raw("health").get("/metrics")
    assert response.status == 200
    assert response.get("content-type") == "text/plain; version=0.0.4; charset=utf-8"
    families = list(text_string_to_metric_families(response.body.decode()))
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    samples = {}
    for family in families:
        assert family.documentation and family.type in ("counter", "gauge", "histogram")
        for sample in family.samples:
            key = (sample.name, *sorted(sample.labels.items()))
            assert key not in samples
            samples[key] = sample.value
    return samples


def requests(samples, listener, status):
    key = ("weir_http_requests_total", ("listener", listener), ("status", status))
    return samples[key]


# --- health and readiness ---


@pytest.mark.parametrize("compat, key", [("adr", "weir"), ("fms", "fms-guardrails-orchestr8")])
def test_health_names_the_version(weir, compat, key):
    w = weir(config(compat=compat))
    version = weir.run("--version").stdout.decode().split()[1]
    response = w.health.get("/health")
    assert (response.status_code, response.json()) == (200, {key: version})
    assert response.headers["content-type"] == "application/json"


def test_the_embedded_configuration_is_healthy(weir):
    w = weir()
    assert w.health.get("/health").json().keys() == {"weir"}
    assert w.health.get("/healthz").status_code == 200
    assert w.health.get("/readyz").status_code == 200


def test_info(w):
    info = w.health.get("/info").json()
    assert isinstance(info["services"], dict)
    assert info["revision"]
    for service in info["services"].values():
        assert service["status"] in ("HEALTHY", "UNHEALTHY", "UNKNOWN")
    assert w.health.get("/info?probe=true").status_code == 200


def test_the_revision_is_the_configurations(weir):
    first, same, other = weir(config()), weir(config()), weir(config(compat="fms"))
    revisions = [w.health.get("/info").json()["revision"] for w in (first, same, other)]
    assert revisions[0] == revisions[1] != revisions[2]
    assert first.wait_log("ready")["revision"] == revisions[0]


def test_nothing_of_the_api_is_here_and_the_reverse(w):
    assert w.health.post("/api/v2/text/detection/content", json={}).status_code == 404
    assert w.health.post("/v1/chat/completions", json={}).status_code == 404
    for path in ("/health", "/info", "/metrics", "/readyz", "/healthz"):
        assert w.api.get(path).status_code == 404


def test_it_speaks_http2_too(w):
    client = w.client("health", http2=True)
    for path in ("/health", "/info", "/metrics", "/readyz", "/healthz"):
        assert client.get(path).http_version == "HTTP/2"


def test_it_answers_while_the_api_is_full(weir):
    w = weir(config(limits={"max_connections": 3}))
    held = [w.raw() for _ in range(3)]
    for c in held:
        assert c.get("/nothing").status == 404
    assert w.raw("health").get("/readyz").status == 200


# --- metrics ---


def test_metrics_are_well_formed(w):
    samples = scrape(w)
    assert samples[("process_open_fds",)] > 0
    assert samples[("process_resident_memory_bytes",)] > 0
    assert samples[("weir_log_dropped_lines_total",)] == 0
    build = [key for key in samples if key[0] == "weir_build_info"]
    assert len(build) == 1 and samples[build[0]] == 1


def test_requests_are_counted_by_class(w):
    scrapes = [scrape(w)]
    for _ in range(7):
        assert w.api.get("/nothing").status_code == 404
    for _ in range(5):
        assert w.health.get("/health").status_code == 200

    def grown(listener, status):
        return requests(scrapes[-1], listener, status) - requests(scrapes[0], listener, status)

    def are_counted():
        """A request is counted when all is done, which may be just after its answer is here."""
        scrapes.append(scrape(w))
        return (grown("api", "4xx"), grown("health", "2xx")) == (7, 5 + len(scrapes) - 1)

    wait_until(are_counted, "seven and five requests")
    assert grown("api", "2xx") == 0


def test_a_caller_that_leaves_is_counted_as_aborted(w):
    before = scrape(w)
    c = w.raw()
    c.request("POST", "/api/v2/text/detection/content", [("Content-Length", "9")])
    c.send("[")
    c.reset()
    wanted = requests(before, "api", "aborted") + 1
    wait_until(lambda: requests(scrape(w), "api", "aborted") == wanted, "the count")


def test_durations_are_a_proper_histogram(w):
    w.api.get("/nothing")
    samples = scrape(w)
    for listener in ("api", "health"):
        buckets = []
        for key, value in samples.items():
            labels = dict(key[1:])
            if key[0] == "weir_http_request_duration_seconds_bucket":
                if labels["listener"] == listener:
                    buckets.append((float(labels["le"]), value))
        values = [value for _, value in sorted(buckets)]
        assert values == sorted(values) and sorted(buckets)[-1][0] == float("inf")
        count = ("weir_http_request_duration_seconds_count", ("listener", listener))
        assert values[-1] == samples[count] > 0


def test_connections_are_a_gauge(w):
    key = ("weir_http_connections", ("listener", "api"))
    wait_until(lambda: scrape(w)[key] == 0, "the connections of other tests to go")
    held = [w.raw() for _ in range(5)]
    wait_until(lambda: scrape(w)[key] == 5, "five connections")
    for c in held:
        c.close()
    wait_until(lambda: scrape(w)[key] == 0, "no connection")


def test_many_scrapes_at_once(w):
    scrapers = [w.raw("health") for _ in range(20)]
    for c in scrapers:
        c.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 5)
    for c in scrapers:
        for _ in range(5):
            assert list(text_string_to_metric_families(c.read_response().body.decode()))
