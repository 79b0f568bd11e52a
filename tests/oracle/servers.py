"""The two programs under comparison: their configurations, their start, their counters.

Everything a stream needs is in one of four configurations, so that four processes a side serve
all streams: as it comes, batching also under /api, `compat: fms`, and that batching with limits
that are met soon. Nothing in them depends on time: batches wait for ten seconds, no call is
repeated, no comment is sent in silence. What leaves then depends on what was said and in which
order alone.
"""

import http.client
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

CONFIGS = ["adr", "joined", "fms", "tight"]
POLICIES = ["annotate", "block", "redact"]
DETECTOR_SETS = {
    "near": {"pii": {}, "rude": {}, "keys": {}},
    "far": {"words": {}, "wide": {"threshold": 0.3}},
    "mixed": {"pii": {}, "words": {}, "cut": {}},
    "doc": {"page": {}, "rude": {}},
    "all": {"page": {}, "book": {}, "pii": {}, "words": {}, "paragraphs": {}},
}
# A batch leaves because of what is in it, never because of the clock.
BATCHING = {"mode": "on", "min_chars_per_emit": 24, "max_latency_ms": 10000}
COALESCER = {"mode": "on", "min_delta_chars": 16, "max_hold_ms": 10000, "max_partial_count": 4}
STREAMING = {
    "plain": {},
    "batch": {"batching": BATCHING},
    "gate": {"coalescer": {**COALESCER, "tool_call_gate": "closed"}},
    "both": {
        "batching": {**BATCHING, "ramp_factor": 2, "flush_on_sentence": False},
        "coalescer": {**COALESCER, "tool_call_gate": "finish", "tool_gate_emit_head": True},
        "dedup": {"mode": "safe"},
    },
}
STREAMING["odd"] = {
    "batching": {**BATCHING, "first_emit_immediate": False, "role_policy": "every",
                 "flush_on_tool_call": False, "latest_wins_fields": ["provider"],
                 "max_batch_bytes": 1024, "reasoning": {"min_chars_per_emit": 8}},
    "coalescer": {**COALESCER, "boundary": "sentence", "tool_call_gate": "closed",
                  "on_incomplete": "drop", "tool_index_policy": "repair", "max_partial_count": 0,
                  "tool_gate_on_abort": "release", "max_tool_args_bytes": 20},
    "dedup": {"mode": "text", "window": 4, "min_chars": 3},
}  # fmt: skip
TIGHT = {"max_held_bytes_per_stream": 12288, "max_choices": 2, "max_tool_calls": 12,
         "max_event_bytes": 8192, "max_stream_buffer_bytes": 4096}  # fmt: skip
# Asked again and again to learn whether the server has done all there is to do: see play.Fence.
FENCE_PATH = "/api/v1/text/contents"
FENCE_DETECTOR = "fence"


def route_name(policy, detectors, streaming):
    return f"{policy}-{detectors}-{streaming}"


def _detectors(port, far_chunker):
    """`far_chunker`: a service, but for fms, where chunkers are not told whose text it is."""
    service = {"hostname": "127.0.0.1", "port": port, "max_retries": 0}
    far = {"type": "text_contents", "service": service, "default_threshold": 0.5}
    near = {"type": "text_contents"}
    pii = {"regex": ["email", "credit-card", "us-phone-number"]}
    return {
        "words": {**far, "chunker_id": "sentences"},
        "wide": {**far, "chunker_id": "windows"},
        "cut": {**far, "chunker_id": far_chunker},
        "page": {**far, "chunker_id": "whole_doc_chunker"},
        "paragraphs": {**far, "chunker_id": "paragraphs"},
        "talk": {"type": "text_chat", "service": service, "default_threshold": 0.5},
        "pair": {"type": "text_generation", "service": service, "default_threshold": 0.5},
        "source": {"type": "text_context_doc", "service": service, "default_threshold": 0.5},
        "pii": {**near, "builtin": "regex", "params": pii, "chunker_id": "windows"},
        "rude": {**near, "builtin": "keywords", "params": {"deny": ["idiot", "дурак", "naïve"]},
                 "chunker_id": "sentences"},
        "keys": {**near, "builtin": "secrets", "chunker_id": "windows"},
        "book": {**near, "builtin": "regex", "params": {"regex": ["email"]},
                 "chunker_id": "whole_doc_chunker"},
        FENCE_DETECTOR: {**near, "builtin": "keywords", "params": {"deny": ["zzz"]},
                         "chunker_id": "whole_doc_chunker"},
    }  # fmt: skip


def _routes():
    routes = []
    for policy in POLICIES:
        for name, detectors in DETECTOR_SETS.items():
            for streaming, settings in STREAMING.items():
                route = {
                    "name": route_name(policy, name, streaming),
                    "input": {"pii": {}, "words": {}},
                    "output": detectors,
                    "on_detection": policy,
                    "streaming": settings,
                }
                if policy == "redact":
                    route["redact_with"] = "[{detection}]"
                if policy == "block" and streaming != "plain":
                    route["fallback_message"] = "That cannot be said here."
                if streaming == "gate":
                    route["unknown_members"] = "pass"
                routes.append(route)
    routes.append({"name": "open", "unguarded": True})
    routes.append({"name": "open-batch", "unguarded": True, "streaming": STREAMING["both"]})
    return routes


def config(kind, http_port, grpc_port):
    """The configuration `kind` with every service on these ports."""
    service = {"hostname": "127.0.0.1", "port": http_port, "max_retries": 0}
    grpc = {"hostname": "127.0.0.1", "port": grpc_port, "max_retries": 0}
    streaming = {"heartbeat_ms": 0, "request_override": {"max_latency_ms": 10000}}
    if kind in ("joined", "tight"):
        streaming.update(STREAMING["both"])
    return {
        "openai": {"service": service},
        "generation": {"provider": "tgis", "service": grpc},
        "chunkers": {
            "sentences": {"builtin": "sentence"},
            "paragraphs": {"builtin": "paragraph"},
            "windows": {"builtin": "window", "size": 60, "overlap": 24},
            "chunky": {"type": "sentence", "service": grpc},
        },
        "detectors": _detectors(http_port, "sentences" if kind == "fms" else "chunky"),
        "routes": _routes(),
        "passthrough_headers": ["x-play"],
        "compat": "fms" if kind == "fms" else "adr",
        "streaming": streaming,
        "limits": TIGHT if kind == "tight" else {},
    }


class Server:
    """One process of one program with one configuration, ready to be asked."""

    def __init__(self, program, kind, http_port, grpc_port):
        self.kind = kind
        self.folder = tempfile.TemporaryDirectory(prefix="weir-oracle-")
        folder = Path(self.folder.name)
        path = folder / "weir.yaml"
        path.write_text(json.dumps(config(kind, http_port, grpc_port)))
        self.stderr_path = folder / "stderr"
        command = ["setpriv", "--pdeathsig", "KILL", "--", str(Path(program).resolve())]
        command += ["--config", str(path), "--workers", "1", "--host", "127.0.0.1"]
        command += ["--http-port", "0", "--health-http-port", "0"]
        command += ["--log-format", "json", "--log-level", "error"]
        ours = ("WEIR_", "OTEL_", "OTLP_", "LOG_", "HTTP_PORT", "HEALTH_HTTP_PORT", "QUIET")
        env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        with open(self.stderr_path, "wb") as err:
            self.process = subprocess.Popen(
                command, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=err,
            )  # fmt: skip
        self.api_port, self.health_port = self._ports()

    def _ports(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise ServerEnded(self)
            ports = {}
            for line in self.stderr().splitlines():
                found = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
                if found.get("message") == "listening":
                    fields = found.get("fields", found)
                    ports[fields["listener"]] = fields["port"]
            if len(ports) == 2 and self._is_ready(ports["health"]):
                return ports["api"], ports["health"]
            time.sleep(0.02)
        raise RuntimeError(f"{self.process.args[4]} did not become ready:\n{self.stderr()[-2000:]}")

    @staticmethod
    def _is_ready(port):
        try:
            return _get(port, "/readyz")[0] == 200
        except OSError:
            return False

    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    def counters(self):
        """{name with labels: value} of everything that does not measure time or our own asking."""
        status, text = _get(self.health_port, "/metrics")
        if status != 200:
            raise RuntimeError(f"/metrics answered {status}")
        found = {}
        for line in text.splitlines():
            if line and not line.startswith("#") and not NOT_COUNTED.search(line):
                name, value = line.rsplit(" ", 1)
                found[name] = value
        return found

    def stop(self):
        """Ends it and returns what it had to say that a sound program does not say."""
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        said = self.stderr()
        self.folder.cleanup()
        if "Sanitizer" in said or "runtime error:" in said or "internal error:" in said:
            return said
        return said if self.process.returncode != 0 else ""


class ServerEnded(Exception):
    """A program under comparison has ended by itself."""

    def __init__(self, server):
        status = server.process.poll()
        super().__init__(f"{server.process.args[4]} ended with status {status}")
        self.said = server.stderr()[-4000:]


# Durations, sizes of the process, connections as they happen to be open, and the fence's own calls.
NOT_COUNTED = re.compile(
    r"seconds|^process_|^weir_config|connections|^weir_build|_info\b|memory|buffered|held_bytes"
    r"|log_dropped|fence|/api/v1/text/contents|/metrics|/readyz|loop|uptime|start"
)


def _get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
