"""Every protocol of detector services, and every point of its exchange at which it can fail, in every
way: the caller's answer ends clearly, nothing is asked of the model or left unseen, the next request is
served, and when all are through, descriptors, gauges and memory are as before.

`make soak` plays all cells (WEIR_FAULT_CELLS=all), `make test` a part, another one with every commit.
What a service that reads along can do wrong is in test_detector_stream.py.
"""

import json
import random
import re

import harness
import judges
import pytest
import service as services
from faults import POINTS, SLOW, Fault, FaultPeer, json_answer
from service import reply
from test_fault_matrix import is_complete, seed

SHARE = 0.3  # of the cells that `make test` plays
CHAT = "/v1/chat/completions"
ANSWER = {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
          "choices": [{"index": 0, "message": {"role": "assistant", "content": "A fine answer."},
                       "finish_reason": "stop"}]}  # fmt: skip


class World:
    """A gateway, a model server, and a service that fails as `peer.set_fault` says."""

    def __init__(self, servers, judge):
        self.judge = judge
        self.peer = FaultPeer(self.serve)
        self.model = services.Service(lambda request: reply(ANSWER))
        hasty = {"port": self.peer.port, "max_retries": 0, "connect_timeout": 0.5,
                 "first_byte_timeout": 0.5, "idle_timeout": 0.5}  # fmt: skip
        tree = {
            "openai": {"service": self.model.config()},
            "detectors": {"judge": {**judge.config(service=hasty), "breaker": False}},
            "routes": [{"name": "asked", "input": {"judge": {}}, "on_detection": "redact"},
                       {"name": "answered", "output": {"judge": {}}, "on_detection": "block"}],
            "limits": {"max_service_body_bytes": 65536},
            "cache": False,
        }  # fmt: skip
        self.w = servers(tree, args=["--workers", "1"], env={"JUDGE_KEY": judges.KEY})
        self.at_rest = None
        self.n_asked = 0

    def serve(self, request):
        """What the service says, as JSON that can be cut."""
        return json_answer(json.loads(self.judge.serve_one(request).split(b"\r\n\r\n", 1)[1]))

    def ask(self, route):
        self.n_asked += 1
        body = {"model": "m", "messages": [{"role": "user", "content": self.question()}]}
        return self.w.api.post(f"/{route}{CHAT}", json=body)

    def question(self):
        """Another one each time."""
        return f"A fine day, {self.n_asked} of them."

    def has_asked_model(self):
        """The last question has reached the model server."""
        return any(self.question().encode() in request.body for request in self.model.requests)

    def metric(self, name):
        text = self.w.health.get("/metrics").text
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M).group(1))

    def quiet(self):
        self.peer.set_fault(None)
        self.w.close_clients()
        for connection in list(self.model.connections):
            connection.close()
        if self.at_rest is None:
            self.at_rest = self.w.quiet_descriptors()
        harness.wait_until(self.is_at_rest, f"{self.at_rest} descriptors")
        harness.wait_until(lambda: self.metric("weir_held_bytes") < 65536, "memory to be given back")
        self.w.fail_if_ended()
        harness.assert_no_report(self.w.new_stderr(), "the server")

    def is_at_rest(self):
        self.peer.drop_connections()
        return self.w.descriptors() <= self.at_rest


def cells(kind):
    dice = random.Random(f"{seed()} {kind.__name__}")
    every = [(route, Fault(point, fault)) for route in ("asked", "answered")
             for point, faults in POINTS.items() if point != "tls" for fault in faults]  # fmt: skip
    return [cell for cell in every if is_complete() or dice.random() < SHARE]


def complaint_about(world, route, fault):
    world.peer.set_fault(fault)
    got = world.ask(route)
    world.peer.set_fault(None)
    if fault.kind in SLOW:
        return None if got.status_code == 200 else f"slow, and not answered: {got.text}"
    if (got.status_code, got.json()["error"]["code"]) != (502, "detector_failed"):
        return f"answered {got.status_code} {got.text}"
    if route == "asked" and world.has_asked_model():
        return "the model was asked"
    if "fine" in got.text:
        return f"what nobody has looked at has left: {got.text}"
    again = world.ask(route)
    return None if again.status_code == 200 else f"does not recover: {again.text}"


@pytest.mark.parametrize("kind", judges.ALL, ids=lambda kind: kind.__name__.lower())
def test_it_fails(module_weir, kind):
    world = World(module_weir, kind())
    for route in ("asked", "answered"):
        assert world.ask(route).status_code == 200
    world.quiet()
    complaints = []
    for route, fault in cells(kind):
        complaint = complaint_about(world, route, fault)
        if complaint:
            complaints.append(f"{route} {fault}: {complaint}")
    world.quiet()
    world.peer.close()
    assert not complaints, "\n".join(complaints)
