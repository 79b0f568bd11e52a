"""What client libraries show of a route: the tables of docs/clients.md, cell by cell."""

import hashlib
import json
import os
import subprocess

import clients
import harness
import policies
import pytest
from service import HANG, Service, events, reply
from test_seen import chunk, completion

PYTHON = os.environ.get("WEIR_CLIENTS_PYTHON", "")
needed = pytest.mark.skipif(not PYTHON, reason="LangChain and others are not installed: make test-clients")
PAGE = harness.ROOT / "docs" / "clients.md"
SCRIPT = harness.ROOT / "tests" / "integration" / "python" / "more_clients.py"
REQUIREMENTS = SCRIPT.with_name("more_requirements.txt")
PACKAGES = ["openai", "langchain-openai", "llama-index-llms-openai-like", "litellm", "pydantic-ai-slim", "instructor"]
PYTHONS = ["openai", "LangChain", "LlamaIndex", "LiteLLM", "pydantic-ai", "instructor"]
NPMS = {"openai (npm)": "openai", "ai (npm)": "ai"}
LIBRARIES = [*PYTHONS, *NPMS]
each = pytest.mark.parametrize("library", [*(pytest.param(name, marks=needed) for name in PYTHONS),
                                           *(pytest.param(name, marks=clients.needed) for name in NPMS)])  # fmt: skip
KEY, ELSEWHERE = "a-good-key", "a-key-for-another-route"
MAIL, FALLBACK = policies.MAIL, policies.FALLBACK
TEXT = f"Write to {MAIL} soon."
REDACTED = "Write to [email_address] soon."
CONTACT = {"name": "Jane", "mail": MAIL}

# --- the model server: the name of the model says how it answers ---


def text(request, said):
    if request.json().get("stream"):
        return events(chunk({"role": "assistant", "content": said}), chunk({}, "stop"), "[DONE]")
    return reply(completion(said))


def calls(request):
    """Calls the tool that is offered, and says so when it has its result."""
    if request.json()["messages"][-1]["role"] == "tool":
        return text(request, "Sent.")
    function = {"name": request.json()["tools"][0]["function"]["name"], "arguments": json.dumps({"to": MAIL})}
    message = {"role": "assistant", "content": None,
               "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}  # fmt: skip
    return reply(completion("", choices=[{"index": 0, "message": message, "finish_reason": "tool_calls"}]))


def broken(request):
    failure = {"error": {"message": "no more", "code": "gone"}}
    return events(chunk({"role": "assistant", "content": "Hello there. " * 40}), failure)


def model_server(request):
    name = request.json()["model"]
    if name.startswith("status-"):
        error = {"message": f"the server's {name}", "code": "theirs", "param": "p"}
        return reply({"error": error}, int(name.removeprefix("status-")))
    answers = {"plain": lambda: text(request, "Fine."), "mail": lambda: text(request, TEXT),
               "json": lambda: text(request, json.dumps(CONTACT)), "calls": lambda: calls(request),
               "echo": lambda: text(request, request.json()["messages"][-1]["content"]),
               "broken": lambda: broken(request), "silent": lambda: HANG}  # fmt: skip
    return answers[name]()


# --- the gateway ---


def named(name, secret, routes, **more):
    return {"name": name, "sha256": hashlib.sha256(secret.encode()).hexdigest(), "routes": routes, **more}


def config(model):
    pii = {"type": "text_contents", "builtin": "regex", "params": {"regex": ["email"]}}
    both = {"input": {"pii": {}}, "output": {"pii": {}}}
    block = {**both, "on_detection": "block", "fallback_message": FALLBACK}
    few = [named(f"few-{i}", f"the one of {name}", ["*"], requests_per_minute=1)
           for i, name in enumerate(LIBRARIES)]  # fmt: skip
    return {
        "openai": {"service": {**model.config(), "request_timeout": 2, "max_retries": 0}},
        "detectors": {"pii": pii},
        "routes": [{"name": "redact", **both, "on_detection": "redact"}, {"name": "block", **block},
                   {"name": "refuse", **block, "block_as": "refusal"},
                   {"name": "error", **block, "block_as": "error"}],
        "limits": {"max_body_bytes": 65536},
        "auth": {"keys": [named("good", KEY, ["*"]), named("other", ELSEWHERE, ["block"]), *few]},
    }  # fmt: skip


def run(library, jobs):
    env = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "true"}  # else it asks the network for it
    done = subprocess.run([PYTHON, str(SCRIPT), library], input=json.dumps(jobs), env=env, capture_output=True,
                          text=True, timeout=250)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Stage:
    def __init__(self, weir):
        self.model, gone = Service(model_server), Service()
        gone.close()
        self.w, self.alone = weir(config(self.model)), weir(config(gone))
        self.results = {}

    def ask(self, library):
        """What this library made of each job: one process does all of them, since some take seconds to start."""
        if library not in self.results:
            jobs = [self.job(library, **how) for _, how in JOBS]
            results = clients.run("more_clients.cjs", jobs) if library in NPMS else run(library, jobs)
            assert len(results) == len(JOBS)
            self.results[library] = {name: result for (name, _), result in zip(JOBS, results)}
        return self.results[library]

    def job(self, library, route="redact", key=KEY, gateway="w", **how):
        base = getattr(self, gateway).url(f"/{route}/v1")
        key = f"the one of {library}" if key is None else key
        return {"call": "say", "model": "plain", "text": "Hi", "extra": {}, **how,
                "base": base, "key": key, "library": library}  # fmt: skip


@pytest.fixture(scope="module")
def stage(module_weir):
    made = Stage(module_weir)
    yield made
    made.model.close()


# --- the tables: how each row is asked ---

HAVE_MAIL = f"I am {MAIL}"
SAME = {
    "an answer": {},
    "the same, streamed": {"call": "stream"},
    "a redacted question, said back": {"model": "echo", "text": HAVE_MAIL},
    "a redacted answer": {"model": "mail"},
    "a redacted stream": {"model": "mail", "call": "stream"},
    "a redacted object": {"model": "json", "call": "json"},
    "a redacted tool call": {"model": "calls", "call": "tools"},
    "a blocked question": {"route": "block", "text": HAVE_MAIL},
    "a blocked question of a stream": {"route": "block", "text": HAVE_MAIL, "call": "stream"},
    "a blocked answer": {"route": "block", "model": "mail"},
    "a blocked stream": {"route": "block", "model": "mail", "call": "stream"},
    "a blocked stream, `block_as: refusal`": {"route": "refuse", "model": "mail", "call": "stream"},
    "a blocked stream, `block_as: error`": {"route": "error", "model": "mail", "call": "stream"},
}
BLOCKED = {
    "an object": {"route": "block", "model": "json", "call": "json"},
    "an object, `block_as: error`": {"route": "error", "model": "json", "call": "json"},
    "a tool call": {"route": "block", "model": "calls", "call": "tools"},
    "an answer, `block_as: refusal`": {"route": "refuse", "model": "mail"},
    "an answer, `block_as: error`": {"route": "error", "model": "mail"},
}
# With the words of the gateway or the model server that every library shows.
ERRORS = {
    "a wrong key": ("a valid API key is required", {"key": "nobody's"}),
    "a key for another route": ("this key is not for this route", {"key": ELSEWHERE}),
    "no such route": ("the routes are /redact/v1", {"route": "nobody"}),
    "a body too large": ("limits.max_body_bytes", {"text": "x" * 70000}),
    "a member that is not for callers": ("detectors", {"extra": {"detectors": {}}}),
    "one request too many for the key": ("requests_per_minute", {"key": None}),
    **{f"the model server's {status}": (f"the server's status-{status}", {"model": f"status-{status}"})
       for status in (400, 403, 404, 409, 413, 422, 429, 500, 503)},
    "a model server that is silent": ("the model server did not answer in time", {"model": "silent"}),
    "a model server that is gone": ("the model server cannot be reached", {"gateway": "alone"}),
    "the same, streamed": ("the model server cannot be reached", {"gateway": "alone", "call": "stream"}),
    "an error in a running stream": ("no more", {"model": "broken", "call": "stream"}),
}  # fmt: skip
JOBS = [*SAME.items(), *BLOCKED.items(), ("the one request of the key", {"key": None}),
        *((f"error: {name}", how) for name, (_, how) in ERRORS.items())]  # fmt: skip


# --- the page ---


def table(heading):
    """{first cell: the other cells} of the table below this heading, and the names of these."""
    part = PAGE.read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    assert len({row[0] for row in rows}) == len(rows)
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


@pytest.mark.parametrize(("heading", "rows", "columns"), [
    ("The same in all of them", SAME, ["shown"]),
    ("Blocks that libraries show in their own way", BLOCKED, LIBRARIES),
    ("What is raised", ERRORS, ["status", *LIBRARIES]),
])  # fmt: skip
def test_the_page_has_these_rows(heading, rows, columns):
    told = table(heading)
    assert list(told) == list(rows)
    assert all(list(cells) == columns for cells in told.values())


def test_the_page_names_the_versions():
    pinned = dict(line.split("==") for line in REQUIREMENTS.read_text().split())
    npm = json.loads((clients.SCRIPTS / "package.json").read_text())["dependencies"]
    told = [*(f"`{name}` {pinned[name]}" for name in PACKAGES),
            *(f"npm `{name}` {npm[name]}" for name in NPMS.values())]  # fmt: skip
    page = " ".join(PAGE.read_text().split())
    assert [words for words in told if words not in page] == []


def literal(said):
    return "`" + (said if isinstance(said, str) else json.dumps(said)).replace("\n", "\\n") + "`"


def shown(result):
    """A cell of the page: what an application is given."""
    if "class" in result:
        told = ", with the fallback" if FALLBACK in result["words"] else ""
        before = f"{literal(result['said'])}, then " if result["said"] else ""
        return f"{before}`{result['class']}`{told}"
    if result.get("refusal"):
        assert not result["said"]
        return f"`refusal` {literal(result['refusal'])}"
    return literal(result["said"]) if result["said"] else "no text"


@each
def test_what_is_the_same(stage, library):
    results = stage.ask(library)
    for row, cells in table("The same in all of them").items():
        result = results[row]
        assert shown(result) == cells["shown"], row
        finish = "content_filter" if "blocked" in row else "stop"
        assert result.get("finish", finish) == finish, row


@each
def test_blocks(stage, library):
    results = stage.ask(library)
    told = {row: cells[library] for row, cells in table("Blocks that libraries show in their own way").items()}
    assert {row: shown(results[row]) for row in told} == told
    assert not any(MAIL in json.dumps(result) for result in results.values())


@each
def test_what_is_raised(stage, library):
    results = stage.ask(library)
    assert shown(results["the one request of the key"]) == "`Fine.`"
    for row, cells in table("What is raised").items():
        result, words = results[f"error: {row}"], ERRORS[row][0]
        assert f"`{result.get('class')}`" == cells[library], (row, result)
        assert words in result["words"], (row, result)
        if cells["status"] != "200":  # of a stream that has begun nobody shows the status
            assert str(result["status"]) == cells["status"], row
