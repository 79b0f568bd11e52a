"""What systemd is told (Type=notify): a datagram each for ready, reloading, stopping."""

import re
import signal
import socket

import pytest
from configs import config
from harness import PATIENCE


@pytest.fixture
def systemd(tmp_path):
    """A socket that receives, and how it is named to the server."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        path = str(tmp_path / "notify")
        s.bind(path)
        s.settimeout(PATIENCE)
        yield s, {"NOTIFY_SOCKET": path}


def test_ready_reloading_stopping(weir, systemd):
    s, env = systemd
    w = weir(config(limits={"drain_timeout": 7}), env=env)
    assert s.recv(1000) == b"READY=1\n"
    assert w.health.get("/readyz").status_code == 200
    w.signal(signal.SIGHUP)
    assert re.fullmatch(rb"RELOADING=1\nMONOTONIC_USEC=\d+\n", s.recv(1000))
    assert s.recv(1000) == b"READY=1\n"
    w.signal(signal.SIGTERM)
    assert s.recv(1000) == b"STOPPING=1\nEXTEND_TIMEOUT_USEC=17000000\n"
    w.finish()


def test_a_refused_reload_is_ready_again(weir, systemd):
    s, env = systemd
    w = weir(weir.write_config(config()), env=env)
    assert s.recv(1000) == b"READY=1\n"
    weir.write_config("detecotrs: {}\n")
    w.wait_log("reload refused, the old configuration stays")
    assert s.recv(1000).startswith(b"RELOADING=1\n")
    assert s.recv(1000) == b"READY=1\n"


def test_an_abstract_name(weir):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind("")  # the kernel picks one
        s.settimeout(PATIENCE)
        name = s.getsockname()[1:].decode()
        weir(env={"NOTIFY_SOCKET": f"@{name}"})
        assert s.recv(1000) == b"READY=1\n"


@pytest.mark.parametrize("name", ["/nowhere/notify", "relative", "@", "/" + 200 * "x"])
def test_nobody_there_is_logged_and_no_more(weir, name):
    w = weir(env={"NOTIFY_SOCKET": name})
    assert w.wait_log("systemd could not be told", socket=name)
    assert w.health.get("/readyz").status_code == 200


def test_a_failed_start_is_never_ready(weir, systemd):
    s, env = systemd
    done = weir.run("--config", "/nowhere/weir.yaml", env=env)
    assert done.returncode == 1
    s.setblocking(False)
    with pytest.raises(BlockingIOError):
        s.recv(1000)
