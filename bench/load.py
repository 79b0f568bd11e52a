"""bench/stream_load, the caller of many streams: warmed up, and then run."""

import json
import subprocess

import peers


class StreamLoad:
    """Every connection has sent the warm body when this is made; `run` sends the other one. `server` is a
    peers.Peer: its first port is asked, its folder keeps the bodies."""

    def __init__(self, server, path, warm, body, streams, rounds=1, spread_ms=0):
        folder = server.folder
        (folder / "warm").write_text(json.dumps(warm))
        (folder / "body").write_text(json.dumps(body))
        port = server.ports.get("api") or next(iter(server.ports.values()))
        words = [peers.RELEASE / "bench" / "stream_load", "--port", str(port), "--path", path]
        words += ["--streams", str(streams), "--rounds", str(rounds), "--spread-ms", str(spread_ms)]
        words += ["--body", folder / "body", "--warm", folder / "warm"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect("ready")

    @property
    def pid(self):
        return self.process.pid

    def expect(self, word):
        line = self.process.stdout.readline()
        if line.strip() != word:
            raise RuntimeError(f"stream_load said {line!r} instead of {word!r}")

    def run(self, while_running=lambda: None):
        """What it says in the end. `while_running` is called when every stream has had an event."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.expect("running")
        while_running()
        said = json.loads(self.process.stdout.readline())
        if self.process.wait() != 0:
            raise RuntimeError(f"streams failed: {said}")
        return said
