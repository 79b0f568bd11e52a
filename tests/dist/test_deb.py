"""The Debian package: installed in a bare root by apt, started there as its unit starts it."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from bare import Bare
from conftest import DIST, PATIENCE, ROOT, Server, free_ports, get, need, post, unit_setting

UNIT = ROOT / "deploy/systemd/weir.service"
MOST_EXPOSED = 1.5


@pytest.fixture(scope="module")
def installed(deb):
    need("mmdebstrap", "unshare", "chroot")
    if os.geteuid() != 0:
        pytest.skip("mounting and chroot want root")
    folder = tempfile.mkdtemp(prefix="bare-", dir=DIST)
    bare = Bare(Path(folder))
    try:
        bare.make()
        assert bare.run("test", "-e", "/usr/bin/weir").returncode != 0
        shutil.copy(deb, bare.folder / "tmp/weir.deb")
        assert bare.run("apt-get", "update").returncode == 0
        done = bare.run("apt-get", "install", "-y", "/tmp/weir.deb")
        assert done.returncode == 0, done.stdout + done.stderr
        yield bare
    finally:
        bare.remove()


def test_lintian_finds_nothing():
    need("lintian")
    changes = list((DIST / "src").glob("*.changes"))
    assert len(changes) == 1
    command = ["lintian", "--profile", "debian", "--allow-root", "--fail-on", "error,warning"]
    done = subprocess.run([*command, str(changes[0])], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_is_where(installed):
    for path in """usr/bin/weir lib/systemd/system/weir.service usr/share/man/man1/weir.1.gz
        usr/share/man/man1/weir-detect.1.gz usr/share/man/man5/weir.yaml.5.gz
        usr/share/bash-completion/completions/weir usr/share/zsh/vendor-completions/_weir
        usr/share/fish/vendor_completions.d/weir.fish etc/default/weir""".split():
        assert (installed.folder / path).is_file(), path
    done = installed.run("dpkg-query", "-W", "-f", "${Conffiles}", "weir")
    assert "/etc/weir/weir.yaml" in done.stdout and "/etc/default/weir" in done.stdout
    assert (installed.folder / "etc/weir/credentials").stat().st_mode & 0o777 == 0o700
    assert installed.run("dpkg", "--verify", "weir").stdout == ""


def test_the_configuration_is_the_embedded_one(installed):
    done = installed.run("weir", "--check-config", "--config", "/etc/weir/weir.yaml")
    assert done.returncode == 0, done.stdout

    def settings(text):
        return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]

    packaged = (installed.folder / "etc/weir/weir.yaml").read_text()
    assert settings(packaged) == settings((ROOT / "config/default.yaml").read_text())
    assert packaged.count("#") > 8


def test_version_and_detect(installed):
    assert re.match(r"weir \d+\.\d+\.\d+ \([0-9a-f]{12}\)\n", installed.run("weir", "--version").stdout)
    (installed.folder / "tmp/note").write_text("mail bob@example.com\n")
    assert "pii/email_address" in installed.run("weir", "detect", "/tmp/note").stdout


def filter_of_the_unit():
    """The system calls that SystemCallFilter= leaves, by name."""
    done = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True)
    sets, name = {}, None
    for line in done.stdout.splitlines():
        word = line.strip()
        if re.match(r"@[a-z-]+$", line):
            name = line
            sets[name] = []
        elif name and line.startswith("    ") and not word.startswith("#"):
            sets[name].append(word)

    def calls(word):
        if not word.startswith("@"):
            return {word}
        return set().union(*[calls(member) for member in sets[word]])

    allowed = calls("@default")
    for value in unit_setting("SystemCallFilter"):
        named = set().union(*[calls(word) for word in value.lstrip("~").split()])
        allowed = allowed - named if value.startswith("~") else allowed | named
    return allowed


def write_filter(path):
    seccomp = pytest.importorskip("seccomp", reason="not installed: python3-seccomp")
    made = seccomp.SyscallFilter(seccomp.ERRNO(1))  # EPERM, as the unit says
    for name in sorted(filter_of_the_unit()):
        try:
            made.add_rule(seccomp.ALLOW, name)
        except (RuntimeError, OSError, ValueError):
            pass  # another processor's, or newer than the library
    with open(path, "wb") as out:
        made.export_bpf(out)


def test_it_runs_in_the_unit_s_confines(installed, tmp_path):
    """As its unit starts it: the same words and variables, a read-only root, another user, no
    capabilities, the filter of system calls; and systemd would be told."""
    need("bwrap", "systemd-analyze")
    write_filter(tmp_path / "filter")
    api, health = free_ports(2)
    env = dict(word.split("=", 1) for word in unit_setting("Environment")[0].split())
    env |= {"HTTP_PORT": str(api), "HEALTH_HTTP_PORT": str(health), "NOTIFY_SOCKET": "/run/notify"}
    folder = tmp_path / "run"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd, open(tmp_path / "filter") as f:
        systemd.bind(str(folder / "notify"))
        systemd.settimeout(PATIENCE)
        (folder / "notify").chmod(0o777)
        words = ["bwrap", "--ro-bind", str(installed.folder), "/", "--proc", "/proc", "--dev", "/dev"]
        words += ["--bind", str(folder), "/run", "--unshare-user", "--unshare-pid", "--unshare-ipc"]
        words += ["--uid", "65534", "--gid", "65534", "--cap-drop", "ALL", "--new-session"]
        words += ["--die-with-parent", "--as-pid-1", "--clearenv", "--seccomp", str(f.fileno())]
        for name, value in env.items():
            words += ["--setenv", name, value]
        command = [*words, *unit_setting("ExecStart")[0].split()]
        server = Server(command, api, health, pass_fds=[f.fileno()])
        try:
            assert systemd.recv(1000) == b"READY=1\n"
            server.wait_ready()
            assert get(f"{server.health}/health")[0] == 200
            assert server.redacts()
            assert_schemas_are_checked(server)
        finally:
            status = server.stop()
        assert status == 0  # drained
        assert systemd.recv(1000).startswith(b"STOPPING=1\n")


def assert_schemas_are_checked(server):
    """An XML schema is read in a process of its own, which gives itself limits."""
    schema = (
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a" type="xs:int"/>'
        "</xs:schema>"
    )
    detectors = {"file_type": {"file_type": [f"xml-with-schema:{schema}"]}}
    body = {"content": "<a>x</a>", "detectors": detectors}
    status, answer = post(f"{server.api}/api/v2/text/detection/content", json.dumps(body).encode())
    assert status == 200 and b"xml_schema_mismatch" in answer, answer


def test_the_unit_is_confined():
    need("systemd-analyze")
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)]
    done = subprocess.run(command, capture_output=True, text=True)
    exposure = float(re.search(r"Overall exposure level for weir.service: ([\d.]+)", done.stdout).group(1))
    assert exposure <= MOST_EXPOSED, done.stdout
    assert unit_setting("Type") == ["notify"]
    assert not unit_setting("MemoryDenyWriteExecute")


def test_a_second_installation_keeps_a_changed_configuration(installed):
    path = installed.folder / "etc/weir/weir.yaml"
    before = path.read_text()
    path.write_text(before + "# mine\n")
    try:
        done = installed.run("dpkg", "-i", "--force-confdef", "--force-confold", "/tmp/weir.deb")
        assert done.returncode == 0, done.stderr
        assert path.read_text().endswith("# mine\n")
    finally:
        path.write_text(before)


def test_removed_again(installed):
    """Comes last."""
    assert installed.run("apt-get", "purge", "-y", "weir").returncode == 0
    left = [str(p) for p in installed.folder.glob("etc/*/weir*")]
    assert left == [] and not (installed.folder / "usr/bin/weir").exists()
