"""System calls that fail and clocks that jump (tests/preload/syscalls.c), and peers that announce more
than there is memory for: an answer or a clear refusal, never a crash, and all well again afterwards."""

import errno
import http.client
import json
import mmap
import signal
import struct

import harness
import pytest
from fault_world import ENDPOINTS, SECRET, Stage
from test_fault_matrix import unseen

CALLS = {name: i for i, name in enumerate(["accept", "read", "write", "open", "epoll", "socket"])}
ERRNO, COUNT, CLOCK, WALL = 8, 16, 24, 25
N_REQUESTS = 12
ASKED = ["redact chat unary", "redact chat stream", "annotate text stream", "H stream", "A stream", "C"]
HOUR_MS = 3600 * 1000


class Wires:
    """The numbers that the server's wrappers look at."""

    def __init__(self, path):
        path.write_bytes(b"\0" * 8 * 64)
        self.file = open(path, "r+b")
        self.memory = mmap.mmap(self.file.fileno(), 0)

    def __setitem__(self, at, value):
        struct.pack_into("q", self.memory, 8 * at, value)

    def __getitem__(self, at):
        return struct.unpack_from("q", self.memory, 8 * at)[0]

    def fail(self, call, every, error):
        self[ERRNO + CALLS[call]] = error
        self[CALLS[call]] = every

    def n_failed(self, call):
        return self[COUNT + CALLS[call]]

    def calm(self):
        for call in CALLS.values():
            self[call] = 0


@pytest.fixture(scope="module")
def stage(module_weir):
    wires = Wires(module_weir.folder / "wires")
    library = harness.build_folder() / "tests" / "preload_syscalls.so"
    asan = "detect_leaks=1:abort_on_error=0:exitcode=99:verify_asan_link_order=0"
    env = {"LD_PRELOAD": str(library), "WEIR_SYSCALLS": wires.file.name, "ASAN_OPTIONS": asan}

    def extra(tree, stage):
        tree["audit"] = {"path": str(module_weir.folder / "audit.jsonl"), "sample_clean": 1.0}

    made = Stage(module_weir, extra=extra, env=env)
    made.wires = wires
    yield made
    wires.calm()
    made.close()


@pytest.fixture(autouse=True)
def calm(stage):
    stage.quiet()
    yield
    stage.wires.calm()
    for name in ASKED:  # all is well again, after at most what was under way
        endpoint = ENDPOINTS[name]
        harness.wait_until(lambda: is_well(stage, endpoint), f"{name} to be served again")
    stage.quiet()


def ask(stage, endpoint):
    """The answer, or None when the connection was lost."""
    try:
        return stage.ask(endpoint)
    except (ConnectionError, http.client.HTTPException, TimeoutError):
        if stage.connection:
            stage.connection.close()
        stage.connection = None
        return None
    except AssertionError as broken:
        if "0 [DONE]" in str(broken):  # a stream that was cut off
            stage.connection = None
            return None
        raise


def is_well(stage, endpoint):
    ending = ask(stage, endpoint)
    return ending and ending.error is None and ending.said == stage.baselines[endpoint.name]


FAILURES = [
    ("accept", 2, errno.EMFILE), ("accept", 2, errno.ENFILE), ("accept", 2, errno.ECONNABORTED),
    ("accept", 2, errno.EINTR), ("accept", 2, errno.ENOBUFS), ("socket", 2, errno.EMFILE),
    ("socket", 2, errno.ENOBUFS), ("read", 5, errno.ECONNRESET), ("read", 3, errno.EINTR),
    ("read", 3, errno.EAGAIN), ("read", 2, 0), ("read", 7, errno.ENOMEM), ("read", 7, errno.ETIMEDOUT),
    ("write", 5, errno.EPIPE), ("write", 5, errno.ECONNRESET), ("write", 3, errno.EINTR),
    ("write", 3, errno.EAGAIN), ("write", 2, 0), ("write", 7, errno.ENOBUFS), ("epoll", 3, errno.EINTR),
]  # fmt: skip


@pytest.mark.parametrize("call,every,error", FAILURES, ids=lambda v: str(v))
def test_a_call_fails(stage, call, every, error):
    for name in ASKED:
        stage.baseline(ENDPOINTS[name])
    stage.quiet()  # everything is connected anew
    before = stage.wires.n_failed(call)
    stage.wires.fail(call, every, error)
    for i in range(N_REQUESTS):
        endpoint = ENDPOINTS[ASKED[i % len(ASKED)]]
        ending = ask(stage, endpoint)
        if call in ("accept", "socket") and stage.connection:
            stage.connection.close()  # the next one is accepted, too
            stage.connection = None
        if ending is None:
            continue
        assert ending.status in (200, 500, 502, 503, 504), ending.raw
        if ending.error is None:
            assert ending.said == stage.baselines[endpoint.name]
        assert unseen(stage, endpoint, ending) is None
        assert SECRET not in ending.raw or endpoint.policy not in ("redact", "block")
    stage.wires.calm()
    assert stage.wires.n_failed(call) > before, "nothing has failed: the test shows nothing"


def test_a_reload_without_files_keeps_the_configuration(stage):
    stage.wires.fail("open", 1, errno.EIO)
    stage.w.signal(signal.SIGHUP)
    stage.w.wait_log("reload refused, the old configuration stays")
    assert stage.wires.n_failed("open") > 0
    stage.wires.calm()
    stage.w.signal(signal.SIGHUP)
    stage.w.wait_log("configuration reloaded")


@pytest.mark.parametrize("which", [CLOCK, WALL], ids=["monotonic", "wall"])
def test_a_clock_jumps(stage, which):
    """Ahead by an hour, and the wall's back again by two: what runs may time out, nothing else may."""
    for name in ASKED:
        stage.baseline(ENDPOINTS[name])
    jumps = [HOUR_MS, 2 * HOUR_MS] if which == CLOCK else [HOUR_MS, -HOUR_MS, 1]
    for ahead in jumps:
        stage.wires[which] = ahead
        for name in ASKED:
            endpoint = ENDPOINTS[name]
            ending = ask(stage, endpoint)
            assert ending is None or ending.status in (200, 500, 502, 503, 504), ending.raw
            harness.wait_until(lambda: is_well(stage, endpoint), f"{name} to be served")


# --- more than there is memory for: limits come before the allocation ---


@pytest.fixture(scope="module")
def tight(module_weir):
    """An allocation of more than 8 MiB ends the process, as one that fails would."""
    asan = "detect_leaks=1:abort_on_error=0:exitcode=99:max_allocation_size_mb=8:allocator_may_return_null=0"
    limits = {"max_body_bytes": 1 << 20}

    def extra(tree, stage):
        tree["limits"] = {**tree["limits"], **limits}

    made = Stage(module_weir, extra=extra, env={"ASAN_OPTIONS": asan})
    yield made
    made.close()


HUGE = [1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) + 5, (1 << 63) - 1, 1 << 63, 1 << 80]


@pytest.mark.parametrize("n", HUGE)
def test_a_body_that_is_announced(tight, n):
    for name in ("C", "redact chat stream", "D stream"):
        c = tight.w.raw()
        c.request("POST", ENDPOINTS[name].path, [("Content-Type", "application/json"), ("Content-Length", str(n))])
        if name != "D stream":
            assert c.read_response().status in (400, 413)
        c.close()
        c = tight.w.raw()
        c.request("POST", ENDPOINTS[name].path, [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")])
        c.send(b"%x\r\n{" % n)
        c.close()
    assert tight.ask(ENDPOINTS["C"]).error is None


NESTED = [
    b'{"content":' + b"[" * 500000, b'{"content":"' + b"\\u0000" * 150000 + b'","detectors":{"far":{}}}',
    b"[" + b"1," * 400000 + b"1]", b'{"' + b"a" * 1000000 + b'":1}', b'{"content":1' + b"0" * 900000 + b"}",
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(NESTED)))
def test_json_that_unfolds(tight, at):
    for path in (ENDPOINTS["C"].path, ENDPOINTS["redact chat unary"].path):
        c = tight.w.raw()
        c.request("POST", path, [("Content-Type", "application/json")], NESTED[at])
        assert c.read_response().status in (400, 413, 422, 500, 502)
        c.close()
    assert tight.ask(ENDPOINTS["C"]).error is None


@pytest.mark.parametrize("n", HUGE)
def test_an_answer_that_is_announced(tight, n):
    """A model server and a detector that say how much will come, and send a little."""
    for service, name in (("model", "redact chat unary"), ("model", "redact chat stream"), ("detector", "C")):
        peer = tight.peers[service]
        tight.baseline(ENDPOINTS[name])
        answer = peer.answer
        try:
            for head in (b"content-length: %d\r\n\r\n{" % n, b"transfer-encoding: chunked\r\n\r\n%x\r\n{" % n):
                peer.exchange = lambda stream, fault=None, head=head: huge(peer, stream, head)
                peer.drop_connections()
                ending = tight.ask(ENDPOINTS[name])
                assert ending.error and ending.error[0] in (500, 502), ending.raw
        finally:
            del peer.exchange
            peer.answer = answer
            peer.drop_connections()
        harness.wait_until(lambda: tight.ask(ENDPOINTS[name]).error is None, "the service to be well again")


def huge(peer, stream, head):
    if peer.read(stream):
        stream.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" + head)
    return False


def test_nothing_was_left_behind(tight):
    tight.quiet()
    assert json.loads(tight.w.health.get("/health").text)["weir"]
