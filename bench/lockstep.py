"""Streams through the server in step: each is sent one token, and the next when the server and the
services around it have done everything that these led to.

So every token is a read of its own, as many streams share a turn of the server's loop as there are,
whatever else the machine does, and what the server does is the same from run to run. This program
is the callers and the model server.
"""

import contextlib
import fcntl
import json
import os
import signal
import socket
import struct
import termios
import time
from pathlib import Path

SECONDS = 60  # the longest that one token may take

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    b"Connection: close\r\n\r\n"
)


def threads(pid):
    """[(state, times it went to sleep or was preempted)] of every thread."""
    found = []
    for task in sorted(Path(f"/proc/{pid}/task").iterdir()):
        try:
            lines = (task / "status").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
        fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        switches = fields["voluntary_ctxt_switches"], fields["nonvoluntary_ctxt_switches"]
        found.append((fields["State"][0], switches))
    return found


def wait_for_state(pids, wanted):
    """Returns when all threads of all processes are in this state at the same moment."""
    deadline = time.monotonic() + SECONDS
    while True:
        before = [threads(pid) for pid in pids]
        if all(state == wanted for process in before for state, _ in process):
            if before == [threads(pid) for pid in pids]:
                return
        if time.monotonic() > deadline:
            raise RuntimeError(f"threads are not all {wanted} after {SECONDS} s: {before}")
        time.sleep(0.0001)


def wait_until_idle(pids):
    """Who has been sent something is no longer asleep. When all are, none has anything to do until
    a timer fires or we send."""
    wait_for_state(pids, "S")


def wait_until_delivered(sock):
    """Loopback mostly delivers within the call that sends, but a busy kernel puts it off: what has
    been acknowledged is there, and its reader was woken."""
    deadline = time.monotonic() + SECONDS
    while struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0\0\0\0"))[0] != 0:
        if time.monotonic() > deadline:
            raise RuntimeError(f"not delivered after {SECONDS} s")
        time.sleep(0.0001)


@contextlib.contextmanager
def stopped(pid):
    """What is sent to a stopped server waits for it, and is found in one turn of its loop."""
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_for_state([pid], "T")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def read_message(sock):
    """A request with a Content-Length: its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += receive(sock)
    head, body = data.split(b"\r\n\r\n", 1)
    fields = [line.split(b":", 1) for line in head.split(b"\r\n")[1:]]
    length = next(int(value) for name, value in fields if name.lower() == b"content-length")
    while len(body) < length:
        body += receive(sock)
    return body


def receive(sock):
    data = sock.recv(65536)
    if not data:
        raise RuntimeError("the server has closed the connection")
    return data


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(delta, finish=None):
    """As model servers write them, some 230 bytes."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    said = {
        "id": "chatcmpl-2c5a6f919629051600000001",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "granite-3.1-8b-instruct",
        "system_fingerprint": "fp_44709d6fcb",
        "choices": [choice],
    }
    return chunk(b"data: " + json.dumps(said, separators=(",", ":")).encode() + b"\n\n")


class Chat:
    """How a model server says it: OpenAI's chat completions."""

    path = "/v1/chat/completions"
    last = b"[DONE]"

    def begin(self):
        return event({"role": "assistant", "content": ""})

    def token(self, text):
        return event({"content": text})

    def end(self):
        return event({}, "stop"), chunk(b"data: [DONE]\n\n")


class Messages:
    """Anthropic's Messages, as vLLM writes them."""

    path = "/v1/messages"
    last = b"message_stop"

    def event(self, kind, **members):
        data = json.dumps({"type": kind, **members}, separators=(",", ":"))
        return chunk(f"event: {kind}\ndata: {data}\n\n".encode())

    def begin(self):
        message = {"id": "msg_2c5a6f919629051600000001", "type": "message", "role": "assistant"}
        message |= {"content": [], "model": "granite-3.1-8b-instruct"}
        message |= {"usage": {"input_tokens": 7, "output_tokens": 0}}
        block = {"type": "text", "text": ""}
        opened = self.event("content_block_start", index=0, content_block=block)
        return self.event("message_start", message=message) + opened

    def token(self, text):
        return self.event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    def end(self):
        stop = {"stop_reason": "end_turn"}
        ending = self.event("message_delta", delta=stop, usage={"output_tokens": 9})
        return self.event("content_block_stop", index=0) + ending, self.event("message_stop")


class Responses:
    """OpenAI's Responses, as vLLM writes them."""

    path = "/v1/responses"
    last = b"response.completed"
    n_events = 0
    place = {"item_id": "msg_2c5a6f919629051600000001", "output_index": 0, "content_index": 0}

    def event(self, kind, **members):
        data = {"type": f"response.{kind}", "sequence_number": self.n_events, **members}
        self.n_events += 1
        text = json.dumps(data, separators=(",", ":"))
        return chunk(f"event: response.{kind}\ndata: {text}\n\n".encode())

    def response(self, status, *items):
        head = {"id": "resp_2c5a6f919629051600000001", "object": "response", "created_at": 1700000000}
        return {**head, "status": status, "model": "granite-3.1-8b-instruct", "output": list(items)}

    def item(self, *parts):
        return {"id": self.place["item_id"], "type": "message", "role": "assistant", "content": list(parts)}

    def part(self, text):
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def begin(self):
        begun = self.response("in_progress")
        opened = self.event("output_item.added", output_index=0, item=self.item())
        part = self.event("content_part.added", **self.place, part=self.part(""))
        return self.event("created", response=begun) + self.event("in_progress", response=begun) + opened + part

    def token(self, text):
        return self.event("output_text.delta", **self.place, delta=text, logprobs=[])

    def end(self):
        """What was said is not known here; a server that says it again says something else."""
        done = self.event("output_text.done", **self.place, text="", logprobs=[])
        done += self.event("content_part.done", **self.place, part=self.part(""))
        done += self.event("output_item.done", output_index=0, item=self.item(self.part("")))
        return done, self.event("completed", response=self.response("completed", self.item(self.part(""))))


class Model:
    """The model server's listening socket."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(SECONDS)
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.listener.close()


class Stream:
    """An answer under way between the model server and a caller. `got` is what the caller has."""

    def __init__(self, model, port, path):
        self.got = bytearray()
        asked = {"input": "Hi"} if path.endswith("/responses") else {"messages": [{"role": "user", "content": "Hi"}]}
        body = {"model": "m", "stream": True, **asked}
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(data)}\r\n\r\n"
        self.caller = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        self.caller.sendall(head.encode() + data)
        self.caller.setblocking(False)
        self.model, _ = model.listener.accept()
        self.model.settimeout(SECONDS)
        self.model.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        read_message(self.model)

    def close(self):
        self.caller.close()
        self.model.close()

    def drain(self):
        """A caller that reads as fast as it can."""
        with contextlib.suppress(BlockingIOError):
            while data := self.caller.recv(1 << 20):
                self.got += data
            raise RuntimeError(f"the server has closed: {bytes(self.got[-2000:])}")


class Streams:
    """So many at once. `server` and `others` are peers (bench/peers.py)."""

    def __init__(self, model, server, others, route, n, dialect=Chat):
        self.dialect = dialect()
        path = f"/{route}{dialect.path}"
        self.server = server.pid
        self.pids = [server.pid, *(peer.pid for peer in others)]
        self.streams = [Stream(model, server.ports["api"], path) for _ in range(n)]
        self.send(HEAD)
        self.send(self.dialect.begin())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for stream in self.streams:
            stream.close()

    def send(self, data):
        """One packet to each stream, and everything these lead to."""
        # One alone has its turn of the loop to itself anyway.
        with stopped(self.server) if len(self.streams) > 1 else contextlib.nullcontext():
            for stream in self.streams:
                stream.model.sendall(data)
            for stream in self.streams:
                wait_until_delivered(stream.model)
        wait_until_idle(self.pids)
        for stream in self.streams:
            stream.drain()

    def say(self, tokens):
        for token in tokens:
            self.send(self.dialect.token(token))

    def n_events(self):
        """That have reached the callers."""
        return sum(stream.got.count(b"data: ") for stream in self.streams)

    def wait_for_end(self, stream):
        """The server's own last packets may be put off as well."""
        deadline = time.monotonic() + SECONDS
        while not stream.got.endswith(b"0\r\n\r\n") or self.dialect.last not in stream.got:
            if time.monotonic() > deadline:
                raise RuntimeError(f"a stream did not end: {bytes(stream.got[-2000:])}")
            time.sleep(0.001)
            stream.drain()

    def finish(self):
        """Ends the answers. Returns what each caller got."""
        ending, last = self.dialect.end()
        self.send(ending)
        self.send(last + b"0\r\n\r\n")
        for stream in self.streams:
            self.wait_for_end(stream)
        return [bytes(stream.got) for stream in self.streams]
