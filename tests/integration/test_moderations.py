"""POST /v1/moderations: a route's input detectors, in OpenAI's shape."""

import openapi
import policies
import pyclients
import pytest
from policies import MAIL
from service import Service, reply
from test_reload import metric

PATH = "/v1/moderations"
OPENAI = {
    "harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm",
    "self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors", "violence", "violence/graphic",
}  # fmt: skip


class World:
    def __init__(self, module_weir):
        self.found = []
        self.service = Service(lambda request: reply([self.found for _ in request.json()["contents"]]))
        self.gone = Service()
        self.gone.close()

        class Fake:
            ports = {"api": self.service.port}

        tree = policies.config(Fake)
        far = {"type": "text_contents", "service": self.service.config(), "chunker_id": "windows",
               "default_threshold": 0.1}  # fmt: skip
        tree["detectors"] = {
            "pii": {"type": "text_contents", "builtin": "regex", "chunker_id": "windows",
                    "params": {"regex": ["email"]}},
            "words": {"type": "text_contents", "builtin": "keywords", "chunker_id": "windows",
                      "params": {"deny": ["blue moon"]}},
            "far": far, "lost": {**far, "service": self.gone.config(max_retries=0)},
        }  # fmt: skip
        tree["routes"] = [
            {"name": "default", "input": {"pii": {}}},
            {"name": "block", "input": {"pii": {}, "words": {}}, "on_detection": "block"},
            {"name": "redact", "input": {"pii": {}}, "on_detection": "redact"},
            {"name": "far", "input": {"far": {}}, "on_detection": "block"},
            {"name": "lost", "input": {"lost": {}}, "on_detection": "block"},
            {"name": "out", "output": {"pii": {}}},
            {"name": "bare", "unguarded": "all"},
        ]  # fmt: skip
        self.w = module_weir(tree)

    def ask(self, value, route="default", **more):
        return self.w.api.post(f"/{route}{PATH}", json={"input": value, **more})


@pytest.fixture(scope="module")
def world(module_weir):
    made = World(module_weir)
    yield made
    made.service.close()


def test_nothing_found(world):
    answer = world.ask("Good morning", model="omni-moderation-latest")
    assert answer.status_code == 200
    body = answer.json()
    assert body["id"].startswith("modr-") and body["model"] == "omni-moderation-latest"
    [result] = body["results"]
    assert result["flagged"] is False and result["detections"] == []
    assert set(result["categories"]) == OPENAI and not any(result["categories"].values())
    assert set(result["category_scores"].values()) == {0}
    assert all(types == [] for types in result["category_applied_input_types"].values())
    assert answer.headers["x-weir-action"] == "pass"
    assert openapi.answer_faults("POST", "/default" + PATH, answer) == []


def test_what_is_found(world):
    answer = world.ask(f"Write to {MAIL}")
    [result] = answer.json()["results"]
    name = "pii"
    assert result["flagged"] is True
    assert result["categories"][name] is True and result["categories"][f"{name}/email_address"] is True
    assert result["category_applied_input_types"][name] == ["text"]
    [found] = result["detections"]
    assert (found["start"], found["end"], found["text"]) == (9, 9 + len(MAIL), MAIL)
    assert result["category_scores"][name] == found["score"] > 0
    assert answer.json()["model"] == "default" and answer.headers["x-weir-action"] == "annotate"
    assert openapi.answer_faults("POST", "/default" + PATH, answer) == []


def test_a_result_for_each_text(world):
    results = world.ask(["fine", MAIL, "", f"a {MAIL} and b{MAIL}"]).json()["results"]
    assert [r["flagged"] for r in results] == [False, True, False, True]
    assert [len(r["detections"]) for r in results] == [0, 1, 0, 2]
    assert world.ask("").json()["results"][0]["flagged"] is False


def test_parts_are_one_text(world):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    parts = [{"type": "text", "text": f"a {MAIL[:6]}"}, {"type": "text", "text": MAIL[6:]}]
    [result] = world.ask([*parts, image]).json()["results"]
    assert result["flagged"] is True
    assert [d["part_index"] for d in result["detections"]] == [0, 1]
    refused = world.ask([*parts, image], "block")
    assert refused.status_code == 422 and "/input/2/image_url/url" in refused.json()["error"]["message"]


def test_a_route_that_hides_what_it_finds(world):
    for route in ("block", "redact"):
        answer = world.ask(f"Write to {MAIL}", route)
        [result] = answer.json()["results"]
        assert result["flagged"] is True and MAIL not in answer.text
        assert set(result["detections"][0]) == {
            "start", "end", "detector_id", "detection_type", "detection", "score"}  # fmt: skip
        assert answer.headers["x-weir-action"] == "annotate"
    answer = world.ask("Under a blue moon", "block")
    assert answer.json()["results"][0]["flagged"] is True and "moon" not in answer.text


def test_scores_are_the_highest(world):
    world.found = [
        {"start": 0, "end": 1, "text": "x", "detection": "slur", "detection_type": "hate", "score": 0.4},
        {"start": 2, "end": 3, "text": "y", "detection": "slur", "detection_type": "hate", "score": 0.9},
        {"start": 2, "end": 3, "text": "y", "detection": "joke", "detection_type": "hate", "score": 0.2},
    ]  # fmt: skip
    [result] = world.ask("x y", "far").json()["results"]
    assert result["categories"]["hate"] is True and result["category_scores"]["hate"] == 0.9
    assert result["category_scores"]["hate/slur"] == 0.9 and result["category_scores"]["hate/joke"] == 0.2
    assert result["category_applied_input_types"]["hate"] == ["text"]
    assert result["category_applied_input_types"]["hate/threatening"] == []
    world.found = []


def test_nobody_would_look(world):
    for route in ("out", "bare"):
        answer = world.ask("x", route)
        assert answer.status_code == 404 and "no input detectors" in answer.json()["error"]["message"]


def test_a_detector_that_is_gone(world):
    answer = world.ask("x", "lost")
    assert answer.status_code == 502 and answer.json()["error"]["code"] == "detector_failed"


@pytest.mark.parametrize("body", [{}, {"input": 5}, {"input": None}, {"input": []}, {"input": {}},
                                  {"input": "x", "model": 5}])  # fmt: skip
def test_mistakes(world, body):
    answer = world.w.api.post(PATH, json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_what_is_counted(world):
    name = 'weir_policy_total{route="block",action="annotate",side="input"}'
    before = metric(world.w, name).get(name, 0)
    world.ask(MAIL, "block")
    assert metric(world.w, name)[name] == before + 1


@pyclients.needed
def test_the_openai_package(world):
    def job(value, route="default"):
        return {"base": world.w.url(f"/{route}/v1"), "ask": {"input": value, "model": "omni-moderation-latest"}}

    text, texts, parts, bare = pyclients.run("moderations.py", [
        job(f"I am {MAIL}"), job(["fine", MAIL]), job([{"type": "text", "text": MAIL}]), job("x", "bare")])  # fmt: skip
    assert text["results"][0]["flagged"] and text["results"][0]["categories"]["pii/email_address"]
    assert [r["flagged"] for r in texts["results"]] == [False, True]
    assert parts["results"][0]["detections"][0]["part_index"] == 0
    assert (bare["class"], bare["status"]) == ("NotFoundError", 404)
