"""Presidio's analyzer itself (from PyPI, `make test-presidio`), asked by the gateway."""

import os
import subprocess
from pathlib import Path

import pytest
import service as services
from service import reply

PYTHON = os.environ.get("WEIR_PRESIDIO_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="Presidio is not installed: make test-presidio")
CHAT = "/v1/chat/completions"
ANSWER = {"id": "1", "choices": [{"index": 0, "message": {"content": "Ok."}, "finish_reason": "stop"}]}


@pytest.fixture(scope="module")
def port():
    script = Path(__file__).with_name("presidio_server.py")
    server = subprocess.Popen([PYTHON, str(script)], stdout=subprocess.PIPE, text=True)
    yield int(server.stdout.readline())
    server.terminate()
    server.wait()


def start(weir, port, **more):
    model = services.Service(lambda request: reply(ANSWER))
    detector = {"type": "text_contents", "protocol": "presidio", "chunker_id": "whole_doc_chunker",
                "service": {"hostname": "127.0.0.1", "port": port}, "default_threshold": 0.4, **more}  # fmt: skip
    w = weir({"openai": {"service": model.config()}, "detectors": {"pii": detector},
              "routes": [{"name": "default", "input": {"pii": {}}, "on_detection": "redact"}]})  # fmt: skip
    return w, model


def say(w, text):
    return w.api.post(CHAT, json={"model": "m", "messages": [{"role": "user", "content": text}]})


def test_it_redacts_what_presidio_finds(weir, port):
    w, model = start(weir, port)
    answer = say(w, "w\u00f6lf: jane@example.org pays with 4111 1111 1111 1111")
    assert answer.status_code == 200, answer.text
    sent = model.requests[-1].json()["messages"][0]["content"]
    assert sent.startswith("w\u00f6lf: ")
    assert "jane@example.org" not in sent and "4111" not in sent


def test_findings_and_their_places(weir, port):
    w, _ = start(weir, port, entities=["EMAIL_ADDRESS"])
    body = {"content": "\u00f6 jane@example.org", "detectors": {"pii": {}}}
    answer = w.api.post("/api/v2/text/detection/content", json=body)
    [found] = answer.json()["detections"]
    assert (found["start"], found["end"], found["text"]) == (2, 18, "jane@example.org")
    assert (found["detection"], found["detection_type"]) == ("EMAIL_ADDRESS", "pii")


def test_its_errors_are_failures(weir, port):
    w, model = start(weir, port, language="tlh")
    answer = say(w, "hello")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "detector_failed")
    assert not model.requests
