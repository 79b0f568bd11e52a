"""bench/relay passes every byte both ways: a floor that loses bytes would be no floor."""

import os
import socket
import subprocess
import threading

import harness
import pytest


class Relay:
    """The relay, with an upstream of ours behind it."""

    def __init__(self, *options):
        self.upstream = socket.create_server(("127.0.0.1", 0))
        self.upstream.settimeout(harness.PATIENCE)
        port = self.upstream.getsockname()[1]
        program = harness.build_folder() / "bench" / "relay"
        command = [program, "--listen", "0", "--upstream", f"127.0.0.1:{port}", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.port = int(self.process.stdout.readline().split()[1])

    def connect(self):
        down = socket.create_connection(("127.0.0.1", self.port), timeout=harness.PATIENCE)
        # However much the kernel would hold for us, most of what is sent is on its way.
        down.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        up, _ = self.upstream.accept()
        up.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        up.settimeout(harness.PATIENCE)
        return down, up

    def close(self):
        self.upstream.close()
        assert self.process.poll() is None, self.process.stderr.read()
        self.process.terminate()
        self.process.communicate()


@pytest.fixture
def relay():
    running = []

    def start(*options):
        running.append(Relay(*options))
        return running[-1]

    yield start
    for one in running:
        one.close()


def read_all(sock):
    parts = []
    while data := sock.recv(65536):
        parts.append(data)
    return b"".join(parts)


def test_passes_both_ways(relay):
    down, up = relay().connect()
    down.sendall(b"question")
    assert up.recv(100) == b"question"
    up.sendall(b"answer")
    assert down.recv(100) == b"answer"
    down.close()
    assert up.recv(100) == b""


@pytest.mark.parametrize("options", [(), ("--every", "7")])
def test_a_slow_reader_gets_every_byte(relay, options):
    down, up = relay(*options).connect()
    down.shutdown(socket.SHUT_WR)
    assert up.recv(10) == b""  # the half close came through
    sent = os.urandom(32 << 20)

    def send():
        up.sendall(sent)
        up.close()

    sender = threading.Thread(target=send)
    sender.start()
    sender.join(0.3)
    assert sender.is_alive()  # every buffer on the way is full: the relay holds back
    assert read_all(down) == sent
    sender.join()


def test_gathers_and_lets_go(relay):
    down, up = relay("--every", "3", "--hold-ms", "50").connect()
    up.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    up.sendall(b"tail")
    assert down.recv(100) == b"tail"  # after 50 ms, as no third read comes
    up.sendall(b"end")
    up.shutdown(socket.SHUT_WR)
    assert down.recv(100) == b"end"
    assert down.recv(100) == b""


def test_an_upstream_that_is_gone(relay):
    one = relay()
    one.upstream.close()
    down = socket.create_connection(("127.0.0.1", one.port), timeout=harness.PATIENCE)
    try:
        assert down.recv(1) == b""
    except ConnectionResetError:
        pass
