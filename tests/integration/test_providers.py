"""More than one model server: which one is asked, how, and who is asked when it fails."""

import json
import threading

import pytest
from configs import config
from service import HANG, events, reply

CHAT = "/v1/chat/completions"


def chunk(text=None, model="theirs", **more):
    """One event of a stream."""
    delta = {"role": "assistant"} if text is None else {"content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": None, **more}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": [choice]}


def stream(*texts, model="theirs"):
    """A whole streamed answer."""
    last = chunk("", model, finish_reason="stop")
    return events(chunk(model=model), *[chunk(text, model) for text in texts], last, "[DONE]")


def whole(text="hello", model="theirs"):
    return reply({"id": "c1", "object": "chat.completion", "created": 1, "model": model,
                  "choices": [{"index": 0, "finish_reason": "stop",
                               "message": {"role": "assistant", "content": text}}]})


def says(text):
    """An answer function: the text as the request wants it."""

    def answer(request):
        asked = request.json() if request.body else {}
        model = asked.get("model", "none")
        return stream(text, model=model) if asked.get("stream") else whole(text, model)

    return answer


def openai_like(service, **more):
    return {"kind": "openai", "base_url": f"http://127.0.0.1:{service.port}/v1", **more}


def tree(providers, models, **parts):
    made = config(providers=providers, models=models, **parts)
    if "openai" not in parts:
        del made["openai"]
    return made


def ask(w, model="m", path=CHAT, headers=None, **more):
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], **more}
    return w.api.post(path, json=body, headers=headers)


def texts(response):
    """What a streamed answer says, its events read, and their models."""
    said, models = "", set()
    for line in response.text.splitlines():
        if line.startswith("data: {"):
            event = json.loads(line[6:])
            assert "error" not in event, event
            models.add(event["model"])
            for choice in event["choices"]:
                said += choice["delta"].get("content") or ""
    return said, models


# --- names, paths and keys ---


@pytest.mark.parametrize("route", ["", "/strict"])
@pytest.mark.parametrize("is_stream", [False, True])
def test_an_alias_is_the_callers_name_in_everything(weir, service, route, is_stream):
    server = service(says("hello there"))
    w = weir(tree({"a": openai_like(server)}, {"fast": {"provider": "a", "model": "big/model"}}))
    answer = ask(w, "fast", route + CHAT, stream=is_stream)
    assert answer.status_code == 200, answer.text
    assert server.requests[0].json()["model"] == "big/model"
    assert server.requests[0].path == "/v1/chat/completions"
    assert answer.headers["x-weir-model"] == "a/big/model"
    assert answer.headers["x-weir-attempts"] == "1"
    assert "big/model" not in answer.text
    if is_stream:
        assert texts(answer) == ("hello there", {"fast"})
    else:
        assert answer.json()["model"] == "fast"
        assert answer.json()["choices"][0]["message"]["content"] == "hello there"
    line = w.wait_log("request", path=route + CHAT)
    assert (line["provider"], line["model"], line["attempts"]) == ("a", "fast", 1)
    assert line["provider_model"] == "big/model"


def test_an_alias_passes_unguarded_streams_too(weir, service):
    """Without output detectors events pass byte for byte, but for the name."""
    server = service(says("hello"))
    routes = [{"name": "default", "unguarded": True}]
    w = weir(tree({"a": openai_like(server)}, {"fast": {"provider": "a", "model": "big"}},
                  routes=routes))
    answer = ask(w, "fast", stream=True)
    assert texts(answer) == ("hello", {"fast"})
    assert answer.text.rstrip().endswith("data: [DONE]")


def test_what_is_not_renamed_is_passed_as_it_is(weir, service):
    server = service(lambda request: whole(model="m-2024-08-06"))
    w = weir(tree({"a": openai_like(server)}, {"m": {"provider": "a"}}))
    answer = ask(w)
    assert answer.json()["model"] == "m-2024-08-06"
    assert server.requests[0].json()["model"] == "m"


def test_the_longest_name_wins_and_openai_has_the_rest(weir, service):
    one, two, rest = service(says("one")), service(says("two")), service(says("rest"))
    w = weir(tree({"one": openai_like(one), "two": openai_like(two)},
                  {"gpt-*": {"provider": "one"}, "gpt-4?": {"provider": "two"}},
                  openai={"service": rest.config()}))
    for model, service_, path in [("gpt-4o", two, "/v1/chat/completions"),
                                  ("gpt-5o", one, "/v1/chat/completions"),
                                  ("other", rest, "/v1/chat/completions")]:
        assert ask(w, model).status_code == 200
        assert service_.requests[-1].json()["model"] == model
        assert service_.requests[-1].path == path
    assert [len(s.requests) for s in (one, two, rest)] == [1, 1, 1]


def test_constants_and_keys(weir, service, tmp_path):
    server = service(says("x"))
    key = tmp_path / "key"
    key.write_text("from-a-file\n")
    w = weir(tree({"a": openai_like(server, api_key_file=str(key), headers={"X-Org": "o 1"},
                                    query={"q": "a b"})}, {"m": {"provider": "a"}},
                  passthrough_headers=["authorization", "x-tenant", "x-api-key"]))
    callers = {"authorization": "Bearer callers", "x-api-key": "callers", "x-tenant": "t"}
    assert ask(w, headers=callers).status_code == 200
    request = server.requests[0]
    assert request.path == "/v1/chat/completions?q=a%20b"
    assert request.header("authorization") == "Bearer from-a-file"
    assert request.header("x-org") == "o 1"
    assert request.header("x-tenant") == "t"
    assert request.header("x-api-key") is None
    assert b"callers" not in request.body


@pytest.mark.parametrize("header", [("authorization", "Bearer sk-own"), ("x-api-key", "sk-own"),
                                    ("api-key", "sk-own")])
def test_the_callers_own_key_goes_to_one_provider_only(weir, service, header):
    """To the one that says so; never to one that stands in, whatever is passed through."""
    first, second = service(lambda r: reply({}, 503)), service(says("x"))
    w = weir(tree({"a": openai_like(first, pass_caller_key=True), "b": openai_like(second)},
                  {"m": {"provider": "a", "fallback": [{"provider": "b"}]}},
                  passthrough_headers=["authorization", "x-api-key", "api-key", "cookie"]))
    answer = ask(w, headers=dict([header, ("cookie", "sk-own")]))
    assert answer.status_code == 200
    assert first.requests[0].header("authorization") == "Bearer sk-own"
    assert second.requests[0].header("authorization") is None
    assert all("sk-own" not in value for _, value in second.requests[0].headers)
    assert answer.headers["x-weir-attempts"] == "2"


def test_openai_as_a_fallback_gets_no_key_of_the_callers(weir, service):
    first, usual = service(lambda r: reply({}, 500)), service(says("x"))
    w = weir(tree({"a": openai_like(first)},
                  {"m": {"provider": "a", "fallback": [{"provider": "default"}]}},
                  openai={"service": usual.config()}, passthrough_headers=["authorization"]))
    assert ask(w, headers={"authorization": "Bearer sk-own"}).status_code == 200
    assert usual.requests[0].header("authorization") is None
    assert ask(w, "other", headers={"authorization": "Bearer sk-own"}).status_code == 200
    assert usual.requests[1].header("authorization") == "Bearer sk-own"


# --- fallback ---


def dead_port(service):
    gone = service()
    port = gone.port
    gone.close()
    return port


FAILURES = {
    "503": lambda request: reply({"error": {"message": "busy"}}, 503),
    "500": lambda request: reply("oops", 500, "text/plain"),
    "429": lambda request: reply({"error": {"message": "slow"}}, 429,
                                 headers=[("retry-after", "60")]),
    "reset": lambda request: None,
    "silent": lambda request: HANG,
}
STREAM_FAILURES = {
    "head then silence": lambda: [next(events()), HANG],
    "head then cut": lambda: [next(events()), None],
    "comments only": lambda: [next(events()), b"9\r\n: ping\n\n\r\n", HANG],
    "error event": lambda: list(events({"error": {"message": "x", "code": 503}})),
}


class Staged:
    """An answer in pieces, after the last of which the connection hangs or is cut."""

    def __init__(self, pieces):
        self.pieces = pieces

    def __call__(self, request):
        for piece in self.pieces():
            if piece is HANG:
                threading.Event().wait(30)
                return
            if piece is None:
                raise OSError("cut")
            yield piece


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("name", [*FAILURES, "refused"])
def test_the_next_is_asked_before_anything_was_said(weir, service, name, is_stream):
    second = service(says("from the second"))
    first = openai_like(service(FAILURES[name])) if name != "refused" else {
        "kind": "openai", "base_url": f"http://127.0.0.1:{dead_port(service)}/v1"}
    w = weir(tree({"a": {**first, "first_byte_timeout": 0.3}, "b": openai_like(second)},
                  {"m": {"provider": "a", "fallback": [{"provider": "b", "model": "other"}]}}))
    answer = ask(w, stream=is_stream)
    assert answer.status_code == 200, answer.text
    assert len(second.requests) == 1
    assert second.requests[0].json()["model"] == "other"
    assert answer.headers["x-weir-model"] == "b/other"
    assert answer.headers["x-weir-attempts"] == "2"
    if is_stream:
        assert texts(answer) == ("from the second", {"m"})
    assert w.log("provider failed, asking another", provider="a")


@pytest.mark.parametrize("name", STREAM_FAILURES)
def test_a_stream_may_fail_until_its_first_event(weir, service, name):
    first, second = service(Staged(STREAM_FAILURES[name])), service(says("from the second"))
    w = weir(tree({"a": openai_like(first, first_byte_timeout=0.3), "b": openai_like(second)},
                  {"m": {"provider": "a", "fallback": [{"provider": "b"}]}}))
    answer = ask(w, stream=True)
    assert texts(answer)[0] == "from the second"
    assert answer.headers["x-weir-attempts"] == "2"


@pytest.mark.parametrize("ending", ["cut", "error"])
def test_never_after_the_first_event(weir, service, ending):
    """The caller has read something: nobody else is asked, and nothing is said twice."""

    def answer(request):
        pieces = [chunk(), chunk("once ", "m")]
        if ending == "error":
            pieces.append({"error": {"message": "x", "code": 503}})
        yield from events(*pieces, end=False)
        raise OSError("cut")

    first, second = service(answer), service(says("twice"))
    w = weir(tree({"a": openai_like(first), "b": openai_like(second)},
                  {"m": {"provider": "a", "fallback": [{"provider": "b"}]}}))
    text = ask(w, stream=True).text
    assert "twice" not in text
    assert '"error"' in text
    assert second.requests == []


def test_who_it_was_is_said(weir, service):
    port = dead_port(service)
    w = weir(tree({"a": {"kind": "openai", "base_url": f"http://127.0.0.1:{port}/v1"}},
                  {"m": {"provider": "a"}}))
    answer = ask(w)
    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "upstream_unreachable"
    assert answer.json()["error"]["message"] == "the model server `a` cannot be reached"
    assert w.log("service failed")[0]["why"].startswith("provider a: connect to a failed")


def test_never_after_the_first_byte_of_a_whole_answer(weir, service):
    def answer(request):
        yield whole()[:-10]
        raise OSError("cut")

    first, second = service(answer), service(says("x"))
    w = weir(tree({"a": openai_like(first), "b": openai_like(second)},
                  {"m": {"provider": "a", "fallback": [{"provider": "b"}]}}))
    assert ask(w).status_code >= 500
    assert second.requests == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_is_wrong_with_the_request_is_told(weir, service, status):
    first, second = service(lambda r: reply({"error": {"message": "no"}}, status)), service()
    w = weir(tree({"a": openai_like(first), "b": openai_like(second)},
                  {"m": {"provider": "a", "fallback": [{"provider": "b"}]}}))
    assert ask(w).status_code == (502 if status == 401 else status)
    assert second.requests == []


def test_each_is_asked_once_and_the_last_word_is_told(weir, service):
    servers = [service(lambda r: reply({"error": {"message": "busy"}}, 503)) for _ in range(3)]
    w = weir(tree({f"p{i}": openai_like(s) for i, s in enumerate(servers)},
                  {"m": {"provider": "p0", "fallback": [{"provider": "p1"}, {"provider": "p2"}]}}))
    answer = ask(w)
    assert answer.status_code == 503
    assert answer.headers["x-weir-attempts"] == "3"
    assert [len(s.requests) for s in servers] == [1, 1, 1]


def test_a_short_retry_after_is_obeyed_when_nothing_else_is_left(weir, service):
    answers = [lambda r: reply({}, 429, headers=[("retry-after", "1")]), says("at last")]
    first = service(lambda r: answers[min(len(first.requests) - 1, 1)](r))
    w = weir(tree({"a": openai_like(first)}, {"m": {"provider": "a"}}))
    answer = ask(w)
    assert answer.status_code == 200
    assert answer.headers["x-weir-attempts"] == "2"


def test_a_long_retry_after_is_passed_on(weir, service):
    first = service(lambda r: reply({"error": {"message": "x"}}, 429,
                                    headers=[("retry-after", "2")]))
    w = weir(tree({"a": openai_like(first)}, {"m": {"provider": "a"}}))
    answer = ask(w)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    assert len(first.requests) == 1


def test_who_failed_five_times_rests(weir, service):
    first, second = service(lambda r: reply({}, 503)), service(says("x"))
    w = weir(tree({"a": openai_like(first), "b": openai_like(second)},
                  {"m": {"provider": "a", "fallback": [{"provider": "b"}]}}))
    for _ in range(8):
        assert ask(w).status_code == 200
    assert len(first.requests) == 5
    assert len(second.requests) == 8


# --- which models there are ---


def listed(*ids):
    data = [{"id": i, "object": "model", "created": 5, "owned_by": "x", "root": "r"} for i in ids]
    return lambda request: reply({"object": "list", "data": data})


def names(answer):
    assert answer.status_code == 200, answer.text
    return {m["id"]: m["owned_by"] for m in answer.json()["data"]}


def test_a_model_that_matches_nothing_is_404(weir, service):
    server = service(says("x"))
    routes = [{"name": "default", "output": {"pii": {}}},
              {"name": "narrow", "output": {"pii": {}}, "models": ["llama-1*"]}]
    w = weir(tree({"a": openai_like(server)}, {"fast": {"provider": "a"},
                                               "llama-*": {"provider": "a"}}, routes=routes))
    for path, model, there in [("", "gpt", ["fast", "llama-*"]), ("/narrow", "fast", ["llama-*"]),
                               ("/narrow", "llama-2", ["llama-*"])]:
        answer = ask(w, model, path + CHAT)
        assert answer.status_code == 404
        words = ", ".join(f"`{name}`" for name in there)
        assert answer.json()["error"] == {
            "message": f"the model `{model}` does not exist; there are {words}",
            "type": "invalid_request_error", "param": "model", "code": "model_not_found"}
    assert ask(w, "llama-12", "/narrow" + CHAT).status_code == 200
    assert len(server.requests) == 1
    late = w.api.post("/api/v2/chat/completions-detection",
                      json={"model": "gpt", "messages": [{"role": "user", "content": "hi"}],
                            "detectors": {"output": {"pii": {}}}})
    assert late.status_code == 404
    assert "does not exist" in late.json()["details"]


def test_a_route_narrows_the_usual_server_too(weir, service):
    server = service(says("x"))
    routes = [{"name": "default", "output": {"pii": {}}, "models": ["a-*"]}]
    w = weir(config(openai={"service": server.config()}, routes=routes))
    assert ask(w, "b").status_code == 404
    assert ask(w, "a-1").status_code == 200


def test_a_provider_without_the_dialect_is_named(weir, service):
    server = service(says("x"))
    w = weir(tree({"c": {"kind": "anthropic", "base_url": f"http://127.0.0.1:{server.port}"},
                   "e": openai_like(server, dialects=["embeddings"])},
                  {"claude-*": {"provider": "c"}, "e": {"provider": "e"}}))
    for model, provider in [("claude-1", "c"), ("e", "e")]:
        answer = ask(w, model)
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == (
            f"provider `{provider}`, which has this model, does not serve chat completions")
    assert server.requests == []


def test_the_list_has_names_and_what_patterns_lead_to(weir, service):
    one, two = service(listed("llama-1", "llama-2", "other")), service(listed("llama-2", "llama-3"))
    broken = service(lambda request: reply("no", 500))
    usual = service(listed("plain", "llama-9"))
    routes = [{"name": "default", "output": {"pii": {}}},
              {"name": "narrow", "output": {"pii": {}}, "models": ["*-2", "fast"]}]
    w = weir(tree({"one": openai_like(one), "two": openai_like(two), "three": openai_like(broken)},
                  {"fast": {"provider": "one", "model": "x"},
                   "llama-*": {"providers": ["one", "two"]}, "b*": {"provider": "three"}},
                  openai={"service": usual.config()}, routes=routes))
    everything = {"fast": "one", "llama-1": "one", "llama-2": "one", "llama-3": "two",
                  "plain": "default"}
    assert names(w.api.get("/v1/models")) == everything
    assert names(w.api.get("/narrow/v1/models")) == {"fast": "one", "llama-2": "one"}
    assert [len(s.requests) for s in (one, two, broken, usual)] == [1, 1, 1, 1]
    assert one.paths() == ["/v1/models"]
    assert w.log("provider does not list its models", provider="three")
    one_model = w.api.get("/v1/models/llama-3")
    assert one_model.json() == {"id": "llama-3", "object": "model", "created": 5, "owned_by": "two",
                                "root": "r"}
    missing = w.api.get("/v1/models/nothing")
    assert missing.status_code == 404
    assert "does not exist; there are `fast`, `llama-1`" in missing.json()["error"]["message"]
    assert w.api.get("/narrow/v1/models/llama-1").status_code == 404


def test_a_model_may_have_a_slash(weir, service):
    server = service(listed("meta/llama"))
    w = weir(tree({"a": openai_like(server)}, {"*": {"provider": "a"}}))
    for path in ("/v1/models/meta/llama", "/v1/models/meta%2Fllama"):
        assert w.api.get(path).json()["id"] == "meta/llama"
    assert w.raw().get("/v1/models/a%zz").status == 400


def test_one_model_of_the_usual_server(weir, service):
    server = service(listed("a", "b"))
    routes = [{"name": "default", "output": {"pii": {}}},
              {"name": "narrow", "output": {"pii": {}}, "models": ["b*"]}]
    w = weir(config(openai={"service": server.config()}, routes=routes))
    assert w.api.get("/v1/models").json()["data"][0]["owned_by"] == "x"
    assert names(w.api.get("/narrow/v1/models")) == {"b": "x"}
    assert w.api.get("/narrow/v1/models/a").status_code == 404
    assert w.api.get("/v1/models/b").json()["id"] == "b"
    assert w.api.get("/v1/models/c").status_code == 404


def test_many_callers_make_one_question(weir, service):
    server = service(listed("llama-1"))
    w = weir(tree({"a": openai_like(server)}, {"*": {"provider": "a"}}), args=["--workers", 2])
    clients = [w.client() for _ in range(8)]
    found = []
    threads = [threading.Thread(target=lambda c=c: found.append(names(c.get("/v1/models"))))
               for c in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [{"llama-1": "a"}] * 8
    assert len(server.requests) == 1
