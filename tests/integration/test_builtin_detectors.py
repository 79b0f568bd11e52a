"""Built-in detectors of the embedded configuration, asked over the API."""

from configs import CONTENT


def detect(w, content, detectors):
    return w.api.post(CONTENT, json={"content": content, "detectors": detectors})


def test_each_finds_its_own(weir):
    w = weir()
    content = "Grüße: ann@example.com, https://evil.example/x, p\u0430ypal, top secret"
    asked = {"regex": {}, "links": {}, "unicode": {}, "secrets": {}}
    asked["keywords"] = {"deny": ["top secret"]}
    answer = detect(w, content, asked)
    assert answer.status_code == 200
    found = answer.json()["detections"]
    assert [(d["detector_id"], d["text"]) for d in found] == [
        ("regex", "ann@example.com"),
        ("links", "https://evil.example/x"),
        ("unicode", "p\u0430ypal"),
        ("keywords", "top secret"),
    ]
    for d in found:
        assert content[d["start"] : d["end"]] == d["text"]


def test_a_limit_met_is_told(weir):
    w = weir()
    answer = detect(w, "a" * 5000 + "b", {"regex": {"regex": ["(a+)+$"]}})
    assert answer.status_code == 422
    assert "steps" in answer.json()["details"]
    assert detect(w, "abc", {"regex": {"regex": ["("]}}).status_code == 422
    assert detect(w, "abc", {"regex": {"patterns": []}}).status_code == 422


def test_wrong_patterns_stop_the_start(weir):
    pii = {"type": "text_contents", "builtin": "regex", "chunker_id": "whole_doc_chunker"}
    pii["params"] = {"regex": ["("]}
    path = weir.write_config({"detectors": {"pii": pii}})
    done = weir.run("--check-config", "--config", path)
    assert done.returncode == 1
    assert "not a regular expression" in (done.stderr + done.stdout).decode()
