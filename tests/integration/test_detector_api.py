"""docs/detector-api.md: the server on the page runs, and the gateway uses it as the page says."""

import re
import subprocess
import sys

import harness
import service as services
import yaml
from service import reply

PAGE = (harness.ROOT / "docs" / "detector-api.md").read_text()
CHAT = "/v1/chat/completions"
ANSWER = {"id": "1", "choices": [{"index": 0, "message": {"content": "A foo."}, "finish_reason": "stop"}]}


def block(language):
    [found] = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)
    return found


def start_detector(tmp_path):
    """The page's server on a free port, which it prints."""
    code = block("python").replace(
        'ThreadingHTTPServer(("127.0.0.1", 8099), Detector).serve_forever()',
        'server = ThreadingHTTPServer(("127.0.0.1", 0), Detector)\n'
        "    print(server.server_address[1], flush=True)\n    server.serve_forever()")  # fmt: skip
    assert "server_address" in code
    path = tmp_path / "detector.py"
    path.write_text(code)
    process = subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return process, int(process.stdout.readline())


def test_the_server_on_the_page_is_short():
    assert len([line for line in block("python").splitlines() if line.strip()]) <= 30


def test_the_server_on_the_page_works(weir, tmp_path):
    process, port = start_detector(tmp_path)
    try:
        model = services.Service(lambda request: reply(ANSWER))
        tree = yaml.safe_load(block("yaml"))
        tree["detectors"]["words"]["service"]["port"] = port
        use = {"input": {"words": {}}, "output": {"words": {}}, "on_detection": "redact"}
        w = weir({**tree, "openai": {"service": model.config()}, "routes": [{"name": "default", **use}]})
        body = {"model": "m", "messages": [{"role": "user", "content": "w\u00f6lf foo, foobar, Bar."}]}
        answer = w.api.post(CHAT, json=body)
        assert answer.status_code == 200, answer.text
        sent = model.requests[-1].json()["messages"][0]["content"]
        assert re.fullmatch("w\u00f6lf \\[\\w+\\], foobar, \\[\\w+\\]\\.", sent), sent
        assert "foo" not in re.sub(r"\[\w+\]", "", answer.json()["choices"][0]["message"]["content"])
        told = w.api.post("/api/v2/text/detection/content",
                          json={"content": "foo", "detectors": {"words": {}}}).json()["detections"]  # fmt: skip
        assert [(d["start"], d["end"], d["detection"], d["detector_id"]) for d in told] == [(0, 3, "foo", "words")]
        assert w.health.get("/info", params={"probe": "true"}).json()["services"]["words"]["status"] == "HEALTHY"
    finally:
        process.kill()
        process.wait()
