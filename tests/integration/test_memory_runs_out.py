"""Memory that runs out (tests/preload/memory.c): the n-th allocation of a request fails, for every n. The
request is answered, refused or loses its connection; nothing unchecked leaves; the next one is served.

`make soak` fails every one of them on all endpoints (WEIR_MEMORY_STEP=1), `make test` a part that changes with
the commit."""

import os
import random

import harness
import pytest
from fault_world import ALL, ASKED, ENDPOINTS, SECRET, Endpoint, Stage
from test_fault_matrix import seed, unseen
from test_syscalls import Wires, ask, is_well

LEFT, FAILING, LEAST, SEEN, FAILED = range(5)
STEP = int(os.environ.get("WEIR_MEMORY_STEP", "60"))
NAMES = ["redact chat unary", "redact chat stream", "block messages stream", "mask responses stream",
         "annotate responses unary", "annotate text stream", "asked embeddings", "redact stored stream", "H stream",
         "A stream", "C", "D stream"]  # fmt: skip
BUILT_IN = {
    "words": {"builtin": "keywords", "params": {"deny": ["nobody says this"]}},
    "pii": {"builtin": "regex", "params": {"regex": ["email", "phone", "credit-card", "sesame-\\d{4}"]}},
    "secrets": {"builtin": "secrets"},
    "unicode": {"builtin": "unicode"},
    "links": {"builtin": "links"},
    "injection": {"builtin": "prompt_injection"},
}
READ = [Endpoint(f"read {word} {mode}", f"/read{path}", body, ALL, False, "redact")
        for word, (path, body) in ASKED.items() for mode in ("unary", "stream")]  # fmt: skip
TRIED = {**{name: ENDPOINTS[name] for name in NAMES}, **{e.name: e for e in READ}}
# No test takes longer than conftest.py allows. With TLS a request has forty times as many allocations.
PARTS, TLS_PARTS = (6, 24) if STEP == 1 else (1, 1)
CHOSEN = list(TRIED) if STEP == 1 else random.Random(seed()).sample(list(TRIED), 3)


class Memory(Wires):
    """The numbers that the server's allocations look at."""

    def fail(self, behind, failing=1):
        """The one behind so many fails, and so many more in a row."""
        self[FAILING] = failing
        self[LEFT] = behind + failing

    def calm(self):
        self[LEFT] = 0


def add_readers(tree, stage):
    """A route whose detectors read along."""
    tree["detectors"] |= {name: {"type": "text_contents", **one} for name, one in BUILT_IN.items()}
    tree["routes"].append({"name": "read", "input": {"pii": {}, "injection": {}}, "on_detection": "redact",
                           "output": {name: {} for name in BUILT_IN}})  # fmt: skip


def staged(module_weir, name, certs=None):
    memory = Memory(module_weir.folder / name)
    library = harness.build_folder() / "tests" / "preload_memory.so"
    asan = "detect_leaks=1:abort_on_error=0:exitcode=99:verify_asan_link_order=0"
    env = {"LD_PRELOAD": str(library), "WEIR_MEMORY": memory.file.name, "ASAN_OPTIONS": asan}
    made = Stage(module_weir, env=env, extra=add_readers, certs=certs)
    made.memory = memory
    yield made
    memory.calm()
    made.close()


@pytest.fixture(scope="module")
def stage(module_weir):
    yield from staged(module_weir, "memory")


@pytest.fixture(scope="module")
def tls_stage(module_weir, certs):
    """Its model server and detectors are asked with TLS."""
    yield from staged(module_weir, "memory-tls", certs)


def n_allocations(stage, endpoint):
    """Of one request, everything connected anew."""
    stage.quiet()
    before = stage.memory[SEEN]
    assert ask(stage, endpoint).error is None
    stage.quiet()
    return stage.memory[SEEN] - before


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", CHOSEN)
def test_an_allocation_fails(stage, name, part):
    walk(stage, TRIED[name], part, PARTS)


@pytest.mark.parametrize("part", range(TLS_PARTS))
def test_an_allocation_fails_with_tls(tls_stage, part):
    walk(tls_stage, ENDPOINTS["redact chat stream"], part, TLS_PARTS)


def walk(stage, endpoint, part, n_parts):
    """One request for each allocation of such a request, or for a part of these."""
    stage.baseline(endpoint)
    n = n_allocations(stage, endpoint)
    assert n > 50, "nobody asks for memory: the test shows nothing"
    first = random.Random(f"{seed()} {endpoint.name}").randrange(min(STEP, n // 2))
    n_failed = 0
    tried = range(first + part, n, STEP * n_parts)
    for behind in tried:
        stage.quiet()  # everything is connected anew
        before = stage.memory[FAILED]
        stage.memory.fail(behind)
        ending = ask(stage, endpoint)
        stage.memory.calm()
        n_failed += stage.memory[FAILED] - before
        stage.w.fail_if_ended()
        judge(stage, endpoint, ending, behind)
        harness.wait_until(lambda: is_well(stage, endpoint), f"{endpoint.name} to be served behind {behind}")
    assert n_failed >= max(1, len(tried) // 2), f"only {n_failed} have failed"
    stage.quiet()


def judge(stage, endpoint, ending, behind):
    if ending is None:
        return
    assert ending.status in (200, 429, 500, 502, 503, 504), f"behind {behind}: {ending.raw}"
    if ending.error is None:
        assert ending.said == stage.baselines[endpoint.name], f"behind {behind}: {ending.raw}"
    assert unseen(stage, endpoint, ending) is None, behind
    assert SECRET not in ending.raw or endpoint.policy not in ("redact", "block", "mask"), behind
