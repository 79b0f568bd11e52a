"""The built-in detectors served to others, and a gateway whose detector is another gateway."""

import pytest
from configs import CONTENT

CONTENTS = "/api/v1/text/contents"
MAIL = "Grüße 😀 an ann@example.com!"
TOKEN = "ghp_4kTz9XqLm2Wv7RbNc5YhPd8JsGf3EuAo1Ki6"


@pytest.fixture(scope="module")
def w(module_weir):
    return module_weir()


def ask(w, contents, params=None, detector=None, **members):
    body = {"contents": contents, **members}
    if params is not None:
        body["detector_params"] = params
    return w.api.post(CONTENTS, json=body, headers={"detector-id": detector} if detector else {})


def found(answer):
    assert answer.status_code == 200, answer.text
    return [[(d["detection"], d["text"]) for d in one] for one in answer.json()]


def error(answer):
    body = answer.json()
    assert set(body) == {"code", "message"} and body["code"] == answer.status_code
    return answer.status_code, body["message"]


def test_by_header(w):
    answer = ask(w, [MAIL, "nothing", ""], {"regex": ["email"]}, "regex")
    assert answer.json()[0] == [
        {
            "start": 11,
            "end": 26,
            "text": "ann@example.com",
            "detection": "email_address",
            "detection_type": "pii",
            "detector_id": "regex",
            "score": 1.0,
        }
    ]
    assert answer.json()[1:] == [[], []]
    # The configured parameters hold where the request has none.
    assert found(ask(w, [MAIL], None, "regex")) == [[("email_address", "ann@example.com")]]
    assert found(ask(w, ["a top secret"], {"deny": ["top secret"]}, "keywords"))[0]


def test_by_members(w):
    params = {"regex": ["email"], "secrets": {}, "keywords": {"deny": ["token"]}}
    answer = ask(w, [f"ann@example.com has the token {TOKEN}", "x"], params, "somebody-else")
    assert found(answer) == [
        [("email_address", "ann@example.com"), ("github_token", TOKEN), ("token", "token")],
        [],
    ]
    assert found(ask(w, ["{"], {"file_type": ["json"]})) == [[("invalid_json", "{")]]
    both = ask(w, ["{}", "{"] * 20, {"file_type": ["json"], "regex": ["\\{$"]})
    assert [len(one) for one in found(both)] == [0, 2] * 20


def test_threshold(w):
    text = "the password is v9#Kq2!xTf7Lw4Zp"
    assert found(ask(w, [text], {"threshold": 0.5}, "secrets")) == found(
        ask(w, [text], {"secrets": {}})
    )
    assert found(ask(w, [text], {"threshold": 0.99}, "secrets")) == [[]]
    assert found(ask(w, [text], {"threshold": 0.99, "secrets": {}})) == [[]]
    assert error(ask(w, [text], {"threshold": "x"}, "secrets")) == (
        422,
        "`threshold` must be a number",
    )


@pytest.mark.parametrize(
    "contents, params, detector, expected",
    [
        (["x"], {"regexx": ["email"]}, None, (404, "detector `regexx` not found")),
        (["x"], {"regex": ["email"], "nope": 1}, None, (404, "detector `nope` not found")),
        (["x"], {}, "nope", (404, "detector `nope` not found")),
        ([], {}, "regex", (422, "`contents` is required")),
        ("x", {}, "regex", (422, None)),
        ([1], {}, "regex", (422, None)),
        (["x"], [], "regex", (422, None)),
        (["x"], {}, None, (422, None)),
        (["x"], {"patterns": []}, "regex", (422, None)),
        (["x"], {"regex": 5}, None, (422, None)),
        (["x"], {"regex": ["("]}, None, (422, None)),
        (["a" * 5000 + "b"], {"regex": ["(a+)+$"]}, None, (422, None)),
    ],
)
def test_refusals(w, contents, params, detector, expected):
    status, message = error(ask(w, contents, params, detector))
    assert status == expected[0]
    assert expected[1] in (None, message)
    assert "request failed" not in message


def test_other_errors_have_the_same_shape(w):
    assert error(ask(w, ["x"], {}, "regex", surprise=1))[0] == 422
    assert error(w.api.get(CONTENTS))[0] == 405
    text = {"content-type": "text/plain"}
    assert error(w.api.post(CONTENTS, content="{}", headers=text))[0] == 415
    kind = {"content-type": "application/json"}
    assert error(w.api.post(CONTENTS, content="{", headers=kind))[0] == 400
    large = b'{"contents":["' + b"x" * (11 << 20) + b'"]}'
    assert error(w.api.post(CONTENTS, content=large, headers=kind))[0] == 413


def test_registry(w):
    registry = w.api.get("/registry").json()
    assert {"regex", "secrets", "file_type", "keywords", "links", "unicode"} <= set(registry)
    assert {"email", "credit-card", "us-phone-number", "iban"} <= set(registry["regex"])
    assert {"github_token", "private_key", "jwt"} <= set(registry["secrets"])
    for names in registry.values():
        assert names and all(isinstance(about, str) and about for about in names.values())


def test_keys_are_needed(weir):
    tree = {
        "detectors": {"mine": {"type": "text_contents", "builtin": "regex",
                               "params": {"regex": ["email"]}, "chunker_id": "whole_doc_chunker"}},
        "auth": {"keys_env": "WEIR_API_KEYS"},
    }  # fmt: skip
    w = weir(tree, env={"WEIR_API_KEYS": "k1"})
    assert error(ask(w, ["x"], {}, "mine"))[0] == 401
    assert w.api.get("/registry").status_code == 401
    key = {"authorization": "Bearer k1"}
    assert list(w.api.get("/registry", headers=key).json()) == ["mine"]
    body = {"contents": [MAIL]}
    answer = w.api.post(CONTENTS, json=body, headers={**key, "detector-id": "mine"})
    assert found(answer) == [[("email_address", "ann@example.com")]]
    # Only what is declared is there.
    answer = w.api.post(CONTENTS, json=body, headers={**key, "detector-id": "regex"})
    assert error(answer) == (404, "detector `regex` not found")


def test_a_gateway_is_a_detector(w, weir):
    service = {"hostname": "127.0.0.1", "port": w.api_port}
    remote = {"type": "text_contents", "service": service, "default_threshold": 0.5}
    front = weir(
        {
            "chunkers": {"sentences": {"builtin": "sentence"}},
            "detectors": {
                "regex": {**remote, "chunker_id": "sentences"},
                "file_type": {**remote, "chunker_id": "whole_doc_chunker"},
                "several": {**remote, "chunker_id": "whole_doc_chunker"},
            },
        }
    )
    text = f"Hello there 😀. Write to ann@example.com. The token is {TOKEN}."

    def detect(detectors):
        return front.api.post(CONTENT, json={"content": text, "detectors": detectors})

    answer = detect(
        {
            "regex": {"regex": ["email"]},
            "file_type": {"file_type": ["json"]},
            "several": {"regex": ["Hello"], "secrets": {}},
        }
    )
    assert answer.status_code == 200, answer.text
    assert sorted((d["detector_id"], d["text"]) for d in answer.json()["detections"]) == [
        ("file_type", text),
        ("regex", "ann@example.com"),
        ("several", "Hello"),
        ("several", TOKEN),
    ]
    for d in answer.json()["detections"]:
        assert text[d["start"] : d["end"]] == d["text"]
    refused = detect({"regex": {"regex": ["("]}})
    assert refused.status_code == 422
    assert refused.json()["details"].startswith("detector request failed for `regex`: ")
    assert detect({"several": {}}).status_code == 404
