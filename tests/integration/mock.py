"""Starts `weir-mock`: scripted peers on one port. Fixture: mock.

    m = mock("--rate", 50)
    m.api.post("/v1/chat/completions", json={…, "mock": {"scenario": "tools"}})
    m.wait_log("caller gone")
"""

import json

import harness


class Mock(harness.Weir):
    """One running mock: its clients are a server's, `api` is its only listener."""

    def wait_listening(self):
        def has_port():
            self.fail_if_ended()
            for line in self.log("listening", listener="mock"):
                self.ports["api"] = line["port"]
            return "api" in self.ports

        harness.wait_until(has_port, "a `listening` log line")


class Mocks(harness.Servers):
    def __call__(self, *args, env=None):
        folder = self.folder / f"mock-{len(self.servers)}"
        folder.mkdir()
        command = [str(self.program), "--port", "0", "--log-format", "json"]
        server = Mock([*command, *map(str, args)], folder, harness.environment(env))
        self.servers.append(server)
        try:
            server.wait_listening()
        except Exception:
            self.servers.remove(server)
            server.kill()
            harness.assert_no_report(server.stderr(), "the mock")
            raise
        return server


def events(body):
    """The data of every event of an SSE body; JSON is read, [DONE] and the like stay text."""
    found = []
    for block in body.replace("\r\n", "\n").split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        data = "\n".join(line.removeprefix("data: ") for line in lines if line.startswith("data"))
        if data:
            try:
                found.append(json.loads(data))
            except ValueError:
                found.append(data)
    return found
