"""In front of Azure: its paths and key, its filters' annotations, its errors (weir-mock plays it)."""

import json

import pytest
from configs import config
from mock import events

CHAT = "/v1/chat/completions"
KEY = "azure-key"


@pytest.fixture
def azure(weir, mock):
    """A gateway in front of an Azure that has one deployment; `routes` and others as given."""

    def start(*flags, provider=None, model=None, more=None, key=KEY, **parts):
        server = mock("--api-key", KEY, "--deployments", "prod", *flags)
        entry = {"kind": "azure", "base_url": server.url(), "api_key_env": "AZURE_KEY",
                 **(provider or {})}
        tree = config(providers={"az": entry, **(more or {})}, models=model or {
            "gpt-4o": {"provider": "az", "deployment": "prod"}, "*": {"provider": "az"}}, **parts)
        del tree["openai"]
        return weir(tree, env={"AZURE_KEY": key}), server

    return start


def ask(w, model="gpt-4o", path=CHAT, content="hi", **more):
    return w.api.post(path, json={"model": model, **more,
                                  "messages": [{"role": "user", "content": content}]})


def said(answer):
    return "".join(c["delta"].get("content") or "" for e in events(answer.text) if e != "[DONE]"
                   for c in e["choices"] if "delta" in c)


def test_deployment_version_and_key(azure):
    w, server = azure("--text", "hello", "--log-level", "debug")
    answer = ask(w)
    assert answer.status_code == 200, answer.text
    assert answer.json()["model"] == "gpt-4o"
    assert answer.json()["choices"][0]["message"]["content"] == "hello"
    assert answer.headers["x-weir-model"] == "az/prod"
    assert server.wait_log("request", path="/openai/deployments/prod/chat/completions")


@pytest.mark.parametrize("mode", ["azure", "azure-async"])
@pytest.mark.parametrize("route", ["default", "strict", "redact"])
def test_both_filter_modes_stream_through(azure, mode, route):
    """An event without choices at the start is legal, annotations without a delta too."""
    text = "one two three four five six seven eight nine ten eleven twelve. Thirteen and so on."
    routes = [{"name": name, "output": {"pii": {}}, "on_detection": action}
              for name, action in [("default", "annotate"), ("strict", "block"),
                                   ("redact", "redact")]]
    w, _ = azure("--text", text, "--scenario", mode, routes=routes)
    path = CHAT if route == "default" else f"/{route}{CHAT}"
    answer = ask(w, path=path, stream=True)
    assert answer.status_code == 200
    assert said(answer) == text
    got = [e for e in events(answer.text) if e != "[DONE]"]
    assert not [e for e in got if "error" in e]
    assert {e["model"] for e in got} == {"gpt-4o"}
    assert "prompt_filter_results" in got[0]
    filtered = [c for e in got for c in e["choices"] if "content_filter_results" in c]
    assert filtered and filtered[0]["content_filter_results"]["hate"] == {"filtered": False, "severity": "safe"}
    if mode == "azure-async":
        assert [c for c in filtered if c["content_filter_offsets"]["end_offset"] == len(text)]
    if route != "default":  # ours have a choice each: annotations ride on them, and none is lost
        assert [] not in [e["choices"] for e in got if "usage" not in e]
        offsets = [c["content_filter_offsets"] for c in filtered if "content_filter_offsets" in c]
        told = [e for e in events(ask(w, stream=True).text) if e != "[DONE]"]
        assert offsets == [c["content_filter_offsets"] for e in told for c in e["choices"]
                           if "content_filter_offsets" in c]  # fmt: skip


@pytest.mark.parametrize("route", ["strict", "redact"])
def test_what_filters_say_has_a_form(azure, route):
    """Numbers, booleans and short words of any depth; texts, as of a citation or an error, become null."""
    routes = [{"name": name, "output": {"pii": {}}, "on_detection": action}
              for name, action in [("strict", "block"), ("redact", "redact")]]  # fmt: skip
    results = {
        "hate": {"filtered": False, "severity": "safe"},
        "protected_material_code": {"filtered": False, "detected": True,
                                    "citation": {"URL": "https://example.org/x", "license": "M I T"}},
        "custom_blocklists": {"filtered": True, "details": [{"id": "list", "filtered": True}]},
        "error": {"code": "content_filter_error", "message": "The contents are not filtered"},
        "a name": {"filtered": False},
    }  # fmt: skip
    left = {**results, "error": {"code": "content_filter_error", "message": None},
            "protected_material_code": {"filtered": False, "detected": True,
                                        "citation": {"URL": None, "license": None}}}  # fmt: skip
    del left["a name"]
    prompt = [{"prompt_index": 0, "content_filter_results": results}]
    choice = {"index": 0, "finish_reason": "stop", "content_filter_results": results}
    whole = {"id": "c", "model": "prod", "prompt_filter_results": prompt,
             "choices": [{**choice, "message": {"role": "assistant", "content": "Yes."}}]}  # fmt: skip
    w, _ = azure("--answer", json.dumps(whole), routes=routes)
    answer = ask(w, path=f"/{route}{CHAT}").json()
    assert answer["choices"][0]["content_filter_results"] == left
    assert answer["prompt_filter_results"] == [{"prompt_index": 0, "content_filter_results": left}]
    assert answer["choices"][0]["message"]["content"] == "Yes."


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_wrong_key(azure, is_stream):
    """It is ours: the caller did nothing wrong, and the log says which provider refused it."""
    w, _ = azure(key="wrong")
    answer = ask(w, stream=is_stream)
    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "upstream_auth"
    assert "`az`" in answer.json()["error"]["message"]
    assert KEY not in w.stderr()
    assert w.log("service failed", service_status=401)[0]["why"].startswith("provider az: ")


def test_a_wrong_deployment(azure):
    w, _ = azure()
    answer = ask(w, "nothing")
    assert answer.status_code == 404
    assert "deployment" in answer.json()["error"]["message"]


def test_a_blocked_prompt_is_told(azure):
    w, _ = azure("--blocked", "forbidden")
    answer = ask(w, content="a forbidden thing")
    assert answer.status_code == 400
    assert "content management policy" in answer.json()["error"]["message"]
    assert answer.json()["error"]["code"] == "content_filter"
    assert answer.json()["error"]["param"] == "prompt"
    assert ask(w, content="a fine thing").status_code == 200


def test_429_with_retry_after(azure):
    w, _ = azure("--status", "429", "--retry-after", "30")
    answer = ask(w)
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "30"
    assert answer.headers["x-weir-attempts"] == "1"


@pytest.mark.parametrize("is_stream", [False, True])
def test_429_goes_to_the_fallback(azure, mock, is_stream):
    other = mock("--text", "from the other")
    w, _ = azure("--status", "429", "--retry-after", "30",
                 more={"o": {"kind": "openai", "base_url": other.url("/v1")}},
                 model={"gpt-4o": {"provider": "az", "deployment": "prod",
                                   "fallback": [{"provider": "o"}]}})
    answer = ask(w, stream=is_stream)
    assert answer.status_code == 200
    assert answer.headers["x-weir-model"] == "o/gpt-4o"
    text = said(answer) if is_stream else answer.json()["choices"][0]["message"]["content"]
    assert text == "from the other"


def test_version_one_has_paths_of_its_own(azure):
    w, server = azure("--text", "hello", "--log-level", "debug", provider={"api_version": "v1"})
    assert ask(w).status_code == 200
    line = server.wait_log("request", path="/openai/v1/chat/completions")
    assert line["status"] == 200
