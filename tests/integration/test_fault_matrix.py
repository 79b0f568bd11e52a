"""Every service that a request waits for fails, at every point of the exchange, in every way, on every
endpoint. Each cell: the caller's answer ends as documented (docs/policies.md, docs/api/endpoints.md),
nothing leaves that was not looked at, the next request is served, and when all cells of a group are
through, descriptors, gauges and memory are as before.

All cells take some minutes: `make soak` plays them (WEIR_FAULT_CELLS=all). `make test` plays a part,
another one with every commit; WEIR_FAULT_SEED chooses it.
"""

import os
import random
import subprocess
import time
from dataclasses import dataclass

import fault_dialects
import harness
import pytest
from fault_world import ENDPOINTS, SECRET, WORDS, Stage
from faults import GRPC_POINTS, POINTS, SLOW, Fault

GROUPS, CELLS = 0.08, 0.35  # shares that `make test` plays: of the groups, and of a group's cells
UNEXPECTED = (500, "unexpected error occurred while processing request")
GRPC = ("chunker", "generation")
UNREACHABLE = (502, "upstream_error", "upstream_unreachable")
INVALID = (502, "upstream_error", "upstream_invalid")
TIMEOUT = (504, "upstream_error", "upstream_timeout")
GUARDS = {"detector": (502, "guardrail_error", "detector_failed"),
          "chunker": (502, "guardrail_error", "chunker_failed")}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    endpoint: str
    service: str
    fault: Fault

    def __str__(self):
        return f"{self.endpoint}: {self.service} {self.fault}"


# --- which cells there are ---


def cells_of(endpoint, service):
    points = GRPC_POINTS if service in GRPC else POINTS
    for point, kinds in points.items():
        # Only text that streams is told to a chunker, or by a model, in several messages.
        is_single = not endpoint.is_stream or (service == "chunker" and not endpoint.checks_output)
        if point == "tls" or (point == "second" and is_single):
            continue
        for kind in kinds:
            yield Cell(endpoint.name, service, Fault(point, kind))
            # In a stream text may have left before the detector fails.
            if service == "detector" and endpoint.is_stream and endpoint.checks_output and point != "connect":
                yield Cell(endpoint.name, service, Fault(point, kind, nth=1))


def all_cells():
    return [
        cell
        for endpoint in ENDPOINTS.values()
        for service in endpoint.waits_for.split()
        for cell in cells_of(endpoint, service)
    ]


def tls_cells():
    return [
        Cell(endpoint.name, service, Fault("tls", kind))
        for endpoint in ENDPOINTS.values()
        for service in endpoint.waits_for.split()
        if service not in GRPC
        for kind in POINTS["tls"]
    ]


def seed():
    """Changes with the commit."""
    if "WEIR_FAULT_SEED" in os.environ:
        return os.environ["WEIR_FAULT_SEED"]
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=harness.ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "no commit"


def is_complete():
    return os.environ.get("WEIR_FAULT_CELLS") == "all"


def chosen(cells):
    """All of them, or this commit's."""
    dice = random.Random(seed())
    groups = {(cell.endpoint, cell.service): dice.random() < GROUPS for cell in cells}
    return [c for c in cells if is_complete() or (groups[c.endpoint, c.service] and dice.random() < CELLS)]


# --- how each must end ---


def expected(cell, endpoint):
    """The endings that are documented, as a set; None is the answer that is complete."""
    service, fault = cell.service, cell.fault
    if fault.kind in SLOW:
        return {None}
    if not endpoint.is_route:
        endings = of_the_api(service, fault, endpoint)
    else:
        endings = {GUARDS[service]} if service in GUARDS else of_the_model(fault, endpoint)
    if endpoint.dialect == "messages":
        endings = {fault_dialects.as_messages(ending) for ending in endings}
    return endings | ({None} if is_over_before(service, fault, endpoint) else set())


def is_over_before(service, fault, endpoint):
    """The answer may be complete although the peer fails: it is not needed any more."""
    if service == "model" and endpoint.is_stream:
        # [DONE] is the end of a stream; what nobody looks at is passed on byte for byte.
        # Messages and Responses are blocked as a whole: nobody waits for the rest.
        is_blocked = endpoint.policy == "block" and endpoint.dialect and fault.point == "end"
        is_passed = fault.kind == "nonsense" and not endpoint.checks_output
        return fault.point == "terminator" or is_blocked or is_passed
    if service == "chunker" and endpoint.policy == "after":
        # Every chunk has been told and answered for: all that is missing is that there are no more.
        return fault.point == "terminator"
    # A finding in the second sentence blocks the answer, whatever would come behind it.
    if service == "detector" and endpoint.policy == "block" and endpoint.dialect:
        return fault.nth == 1  # sentences are asked for at once: the third may be the one that fails
    return service == "chunker" and endpoint.policy == "block" and fault.point in ("second", "terminator")


def of_the_model(fault, endpoint):
    """On a route. What is not there yet when a connection ends is an answer broken off."""
    if fault.kind == "wrong_status":
        return {(503, "upstream_error", "c")}
    if fault.point == "tls" or (fault.point == "connect" and fault.kind in ("refuse", "silence")):
        return {UNREACHABLE}
    if fault.point == "connect":
        return {UNREACHABLE, INVALID}  # whether it ends before or behind the question is a race
    if fault.kind == "silence":
        return {TIMEOUT}
    return {INVALID}


def of_the_api(service, fault, endpoint):
    if fault.kind == "wrong_status" and service in ("model", "detector"):
        what = "chat completion" if endpoint.name.startswith("H") else "completion"
        who = {"model": f"{what} request failed for `m`: no"}.get(service)
        return {(503, who or f"detector request failed for `{detector_of(endpoint)}`: no")}
    return {UNEXPECTED}


def detector_of(endpoint):
    return {"B": "gen", "E": "chat", "F": "doc", "G": "gen"}.get(endpoint.name, "far")


# --- playing them ---


class Stages:
    """Gateways by name, started when they are needed."""

    def __init__(self, servers, certs):
        self.servers, self.certs, self.made = servers, certs, {}

    def get(self, hasty=None, is_tls=False, **options):
        key = (hasty, is_tls)
        if key not in self.made:
            self.made[key] = Stage(self.servers, hasty, self.certs if is_tls else None, **options)
        return self.made[key]

    def close(self):
        for stage in self.made.values():
            stage.close()


@pytest.fixture(scope="module")
def stages(module_weir, certs):
    made = Stages(module_weir, certs)
    yield made
    made.close()


def play(stage, cell):
    """The complaint about a cell, or None."""
    endpoint = ENDPOINTS[cell.endpoint]
    whole = stage.baseline(endpoint)
    peer = stage.fronts.get(cell.service, stage.peers[cell.service])
    for each in stage.peers.values():
        each.reset_counts()
    peer.set_fault(cell.fault)
    ending = stage.ask(endpoint)
    complaint = judge(stage, cell, endpoint, ending, whole)
    peer.set_fault(None)
    return complaint or recovers(stage, endpoint, whole)


def judge(stage, cell, endpoint, ending, whole):
    error = ending.error
    if error and ending.is_begun and endpoint.is_route:
        error = next((e for e in expected(cell, endpoint) if e and e[1:] == error[1:]), error)
    if error not in expected(cell, endpoint):
        return f"ended with {ending.status} {ending.error}, not one of {expected(cell, endpoint)}"
    if error is None and ending.said != whole and cell.fault.kind != "nonsense":
        return f"said {ending.said}, not {whole}"
    return unseen(stage, endpoint, ending)


def unseen(stage, endpoint, ending):
    """Words that left although no detector has answered for them."""
    if endpoint.policy in ("redact", "block", "mask") and SECRET in ending.raw:
        return "what was found has left"
    if not endpoint.checks_output or endpoint.policy == "after":  # so many characters may have left
        return None
    seen = " ".join(request.body.decode() for request in list(stage.detector.told))
    left = [word for word in WORDS if word in ending.raw and word not in seen]
    if ending.error and not endpoint.is_stream and any(word in ending.raw for word in WORDS):
        return f"text of the answer in an error: {ending.raw}"
    return f"{left} left unseen: {ending.raw}" if left else None


def recovers(stage, endpoint, whole):
    # A connection may have been begun before the peer was well again; in haste it may be late. A detector
    # that failed for several texts of one request rests before it is asked again.
    give_up = time.monotonic() + 60
    n_tries = 0
    while n_tries < 5 or (stage.rests() and time.monotonic() < give_up):
        ending = stage.ask(endpoint)
        n_tries += 1
        if ending.error is None:
            return None if ending.said == whole else f"afterwards it says {ending.said}"
        time.sleep(0.05 if stage.rests() else 0)
    return f"does not recover: {ending.raw}"


def play_all(stages, cells, is_tls=False):
    complaints = []
    for hasty in (False, True):
        group = [cell for cell in cells if (cell.fault.kind == "silence") == hasty]
        if not group:
            continue
        stage = stages.get(group[0].service if hasty else None, is_tls)
        stage.quiet()
        for cell in group:
            complaint = play(stage, cell)
            if complaint:
                complaints.append(f"{cell}: {complaint}")
        stage.quiet()
    assert not complaints, "\n".join([f"{len(complaints)} of {len(cells)} cells:", *complaints])


def grouped(cells):
    groups = {}
    for cell in chosen(cells):
        groups.setdefault(f"{cell.endpoint}-{cell.service}", []).append(cell)
    return groups


PLAIN = grouped(all_cells())
TLS = grouped(tls_cells())


@pytest.mark.parametrize("group", PLAIN)
def test_a_service_fails(stages, group):
    play_all(stages, PLAIN[group])


@pytest.mark.parametrize("group", TLS)
def test_a_handshake_fails(stages, group):
    play_all(stages, TLS[group], is_tls=True)
