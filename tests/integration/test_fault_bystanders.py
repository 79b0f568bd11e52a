"""The rest of the fault matrix (test_fault_matrix.py): model servers with somebody to stand in for them,
the collector of traces, the audit log. Whoever only watches never changes an answer."""

import json
import random
import resource
import signal

import fault_dialects
import harness
import pytest
from fault_world import ENDPOINTS, Stage, model_answer
from faults import POINTS, SLOW, Fault, FaultPeer, FaultProxy, json_answer
from otlp import GrpcCollector
from test_fault_matrix import INVALID, TIMEOUT, UNREACHABLE, Cell, chosen, is_complete, recovers, seed, unseen

ROUTES = [e for e in ENDPOINTS.values() if e.is_route]
SPOKEN = [e for e in ROUTES if e.is_spoken]
HASTE = {"connect_timeout": 0.5, "first_byte_timeout": 0.5, "idle_timeout": 0.5}


# --- a provider fails, and its fallback with it or not ---


def plain_points(points=POINTS):
    return [(point, kind) for point, kinds in points.items() if point != "tls" for kind in kinds]


def provider_cells():
    return [
        Cell(endpoint.name, service, Fault(point, kind))
        for endpoint in SPOKEN
        for service in ("first provider", "both providers")
        for point, kind in plain_points()
    ]


class Pair:
    """A gateway whose model has two servers."""

    def __init__(self, servers, is_hasty):
        self.second = FaultPeer(model_answer)

        def extra(tree, stage):
            haste = HASTE if is_hasty else {}
            tree["providers"] = {
                name: {"kind": "openai", "base_url": f"http://127.0.0.1:{peer.port}/v1", **haste}
                for name, peer in (("first", stage.model), ("second", self.second))
            }
            tree["models"] = {"m": {"provider": "first", "fallback": [{"provider": "second"}]}}
            del tree["openai"]

        self.stage = Stage(servers, extra=extra)
        self.stage.hasty = is_hasty
        self.stage.peers["second"] = self.second

    def quiet(self):
        self.stage.quiet()

    def close(self):
        self.stage.close()


def is_asked_elsewhere(fault, endpoint):
    """docs/providers.md: no connection, a lost one, no HTTP, 429 and 5xx, silence; until the first
    event of a stream or the first byte, its head, of another answer."""
    if fault.point == "connect":
        return True
    if fault.point == "head":
        is_no_stream = endpoint.is_stream and fault.kind == "wrong_type"
        return is_no_stream or fault.kind in ("reset", "closed", "silence", "garbage", "wrong_status")
    lost = ("reset", "closed", "silence", "garbage")
    return endpoint.is_stream and fault.point == "first_byte" and fault.kind in lost


def endings_of_provider(cell, endpoint):
    endings = completion_endings(cell, endpoint)
    if endpoint.dialect == "messages":
        return {fault_dialects.as_messages(ending) for ending in endings}
    return endings


def completion_endings(cell, endpoint):
    fault = cell.fault
    if fault.kind in SLOW or (endpoint.is_stream and fault.point == "terminator"):
        return {None}
    if endpoint.is_stream and endpoint.policy == "block" and endpoint.dialect and fault.point == "end":
        return {None, TIMEOUT, INVALID}  # blocked as a whole: nobody waits for the rest
    is_passed = endpoint.is_stream and not endpoint.checks_output  # byte for byte
    if is_passed and fault.kind in ("nonsense", "garbage"):
        return {None, INVALID}
    if cell.service == "first provider" and is_asked_elsewhere(fault, endpoint):
        return {None}
    if fault.kind == "wrong_status":
        return {(503, "upstream_error", "c")}
    if fault.point == "connect":
        return {UNREACHABLE, INVALID}
    return {TIMEOUT} if fault.kind == "silence" else {INVALID}


def play_provider(pair, cell):
    endpoint = ENDPOINTS[cell.endpoint]
    stage = pair.stage
    whole = stage.baseline(endpoint)
    for each in stage.peers.values():
        each.reset_counts()
    stage.model.set_fault(cell.fault)
    if cell.service == "both providers":
        pair.second.set_fault(cell.fault)
    ending = stage.ask(endpoint)
    n_second = len(pair.second.requests)
    complaint = judge_provider(cell, endpoint, ending, whole) or unseen(stage, endpoint, ending)
    if not complaint and cell.service == "first provider" and ending.error and n_second:
        complaint = "the other was asked, too"
    stage.model.set_fault(None)
    pair.second.set_fault(None)
    return complaint or recovers(stage, endpoint, whole)


def judge_provider(cell, endpoint, ending, whole):
    error, endings = ending.error, endings_of_provider(cell, endpoint)
    if error and ending.is_begun:
        error = next((e for e in endings if e and e[1:] == error[1:]), error)
    if error not in endings:
        return f"ended with {ending.status} {ending.error}, not one of {endings}"
    if error is None and ending.said != whole and cell.fault.kind not in ("nonsense", "garbage"):
        return f"said {ending.said}, not {whole}"
    return None


@pytest.fixture(scope="module")
def pairs(module_weir):
    made = {}

    def get(is_hasty):
        if is_hasty not in made:
            made[is_hasty] = Pair(module_weir, is_hasty)
        return made[is_hasty]

    yield get
    for pair in made.values():
        pair.close()


def by_endpoint(cells):
    groups = {}
    for cell in chosen(cells):
        groups.setdefault(f"{cell.endpoint}-{cell.service}", []).append(cell)
    return groups


PROVIDERS = by_endpoint(provider_cells())


@pytest.mark.parametrize("group", PROVIDERS)
def test_a_provider_fails(pairs, group):
    complaints = []
    for is_hasty in (False, True):
        cells = [cell for cell in PROVIDERS[group] if (cell.fault.kind == "silence") == is_hasty]
        if not cells:
            continue
        pair = pairs(is_hasty)
        pair.quiet()
        for cell in cells:
            complaint = play_provider(pair, cell)
            if complaint:
                complaints.append(f"{cell}: {complaint}")
        pair.quiet()
    assert not complaints, "\n".join([f"{len(complaints)} of {len(PROVIDERS[group])} cells:", *complaints])


# --- the collector of traces: requests do not notice ---


class Watched:
    """A gateway that tells every request to a collector. HTTP: the collector fails itself; gRPC: what
    stands before it."""

    def __init__(self, servers, protocol):
        self.real = GrpcCollector() if protocol == "grpc" else None
        self.peer = FaultProxy(self.real.port) if self.real else FaultPeer(lambda request: json_answer({}))
        args = ["--otlp-export", "traces", "--otlp-protocol", protocol]
        args += ["--otlp-endpoint", f"http://127.0.0.1:{self.peer.port}"]
        self.stage = Stage(servers, args=args, env={"OTEL_BSP_SCHEDULE_DELAY": "10"})

    def n_told(self):
        return len(self.real.bodies if self.real else self.peer.told)

    def close(self):
        self.stage.close()
        self.peer.close()
        if self.real:
            self.real.__exit__()


COLLECTOR_POINTS = [p for p in plain_points() if p[1] != "nonsense"]
WATCHED = ["redact chat unary", "redact chat stream", "redact messages stream", "mask responses stream", "H stream", "A stream", "C"]


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_collector_fails(module_weir, protocol):
    watched = Watched(module_weir, protocol)
    cells = [Cell(name, protocol, Fault(*p)) for name in WATCHED for p in COLLECTOR_POINTS]
    cells = [c for c in cells if protocol == "http" or (c.fault.point not in ("end",) and c.fault.kind != "too_large")]
    try:
        for cell in chosen(cells):
            endpoint = ENDPOINTS[cell.endpoint]
            whole = watched.stage.baseline(endpoint)
            watched.peer.set_fault(cell.fault)
            for _ in range(2):  # the second has a collector that has failed already
                ending = watched.stage.ask(endpoint)
                assert ending.error is None and ending.said == whole, f"{cell}: {ending.raw}"
            watched.peer.set_fault(None)
        before = watched.n_told()
        watched.stage.ask(ENDPOINTS["C"])
        harness.wait_until(lambda: watched.n_told() > before, "a collector that is well again to be told")
        watched.stage.quiet()
    finally:
        watched.close()


# --- the audit log: a disk that is full, a directory that is gone ---


class Audited:
    def __init__(self, servers, on_error):
        self.folder = servers.folder / f"audit-{on_error}"
        self.folder.mkdir()
        self.path = self.folder / "audit.jsonl"
        self.on_error = on_error

        def extra(tree, stage):
            tree["audit"] = {"path": str(self.path), "on_error": on_error, "sample_clean": 1.0}

        self.stage = Stage(servers, extra=extra)

    def limit(self, n):
        hard = resource.prlimit(self.stage.w.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(self.stage.w.pid, resource.RLIMIT_FSIZE, (n, hard))

    def fail(self, kind):
        if kind == "full":
            self.limit(self.path.stat().st_size)
        else:  # while nothing waits to be written
            before = len(self.told())
            self.folder.rename(self.folder.with_suffix(".gone"))
            self.stage.w.signal(signal.SIGUSR1)
            harness.wait_until(lambda: len(self.told()) > before, "the log to say so")

    def told(self):
        return self.stage.w.log(target="audit", level="ERROR")

    def mend(self, kind):
        if kind == "full":
            self.limit(resource.RLIM_INFINITY)
        else:
            n = len(self.stage.w.log("the audit log is opened again"))
            self.folder.with_suffix(".gone").rename(self.folder)
            again = lambda: len(self.stage.w.log("the audit log is opened again")) > n
            harness.wait_until(again, "the file to be opened again")

    def lines(self):
        return [json.loads(line) for line in self.path.read_text().splitlines()]


@pytest.mark.parametrize("kind", ["full", "gone"])
@pytest.mark.parametrize("on_error", ["drop", "fail"])
def test_an_audit_log_fails(weir, on_error, kind):
    audited = Audited(weir, on_error)
    stage = audited.stage
    try:
        for endpoint in SPOKEN if is_complete() else random.Random(seed()).sample(SPOKEN, 1):
            whole = stage.baseline(endpoint)
            audited.fail(kind)
            refused = on_error == "fail" and kind == "full"
            if refused:
                refusal = (503, "guardrail_error", "overloaded")
                refusal = fault_dialects.as_messages(refusal) if endpoint.dialect == "messages" else refusal
                harness.wait_until(lambda: stage.ask(endpoint).error == refusal, f"{endpoint.name} to be refused")
                assert stage.ask(ENDPOINTS["C"]).error is None  # decides nothing
            else:
                for _ in range(2):
                    ending = stage.ask(endpoint)
                    assert ending.error is None and ending.said == whole, ending.raw
            audited.mend(kind)
            harness.wait_until(lambda: stage.ask(endpoint).error is None, f"{endpoint.name} to be served again")
        stage.quiet()
        stage.w.stop()
        assert audited.lines(), "every line is whole"
    finally:
        stage.close()
