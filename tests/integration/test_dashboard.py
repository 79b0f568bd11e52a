"""deploy/grafana: every metric that the dashboard and the alert rules name is one of /metrics, with
every label they use. The server has been used a little, so that each family has a series."""

import json
import pathlib
import re

import pytest
from configs import CHAT, config
from service import reply
from test_seen import says

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "deploy/grafana"
METRIC = r"\b((?:weir|stream|process|gen_ai)_[a-z_]+)(?:\{([^}]*)\})?"
ADDED = {"instance", "le", "job"}  # by Prometheus, or by every histogram


def board_queries():
    board = json.loads((FOLDER / "weir.json").read_text())
    queries = [t["expr"] for panel in board["panels"] for t in panel.get("targets", [])]
    return queries + [v["query"]["query"] for v in board["templating"]["list"] if v["type"] == "query"]


def alert_queries():
    """Their expressions; one may go on over the next lines."""
    text = (FOLDER / "alerts.yaml").read_text()
    return [" ".join(q.split()) for q in re.findall(r"(?ms)^        expr: (.*?)\n        (?=\w)", text)]


def used(query):
    """Each metric of a query with the labels it is asked by, those of a `by` around it included."""
    grouped = {
        label.strip() for group in re.findall(r"\bby \(([^)]*)\)", query) for label in group.split(",")
    }
    bare = re.sub(r"\bby \([^)]*\)", "", query)
    for name, labels in re.findall(METRIC, bare):
        yield name, grouped | set(re.findall(r"(\w+)\s*[=!]", labels))


def known(text):
    """Family or series name: the labels it has."""
    found = {}
    for name, labels in re.findall(r"(?m)^([a-z_]+)(?:\{(.*)\})? \S+$", text):
        found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return found


@pytest.mark.parametrize("queries", [board_queries, alert_queries])
def test_every_metric_and_label_exists(weir, service, queries):
    asked = queries()
    assert len(asked) > 8
    text = scrape(weir, service)
    names = known(text)
    for query in asked:
        for name, labels in used(query):
            assert name in names, f"{name} in {query}"
            assert labels <= names[name] | ADDED, f"{labels - names[name]} in {query}"


def scrape(weir, service):
    """/metrics of a server that has asked a model server for a stream, with findings, and a detector
    service."""
    detector = service(lambda r: reply([[] for _ in r.json()["contents"]]))
    tree = config(openai={"service": service(says("Ask jane@example.org.")).config()})
    tree["detectors"]["far"] = {
        "type": "text_contents",
        "service": detector.config(),
        "chunker_id": "windows",
    }
    tree["routes"][0] |= {"on_detection": "redact", "output": {"pii": {}, "far": {}}}
    w = weir(tree)
    body = {"model": "demo", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    assert w.api.post(CHAT, json=body).status_code == 200
    return w.health.get("/metrics").text
