"""A new configuration while requests run: whole or not at all, and no request fails."""

import contextlib
import json
import os
import signal
import threading

import pytest
import rawhttp
from configs import CONTENT, config
from harness import wait_until

JSON = [("Content-Type", "application/json")]


class Load:
    """Requests from several threads, on kept and on new connections, until told to stop."""

    def __init__(self, w, threads=3):
        self.w = w
        self.stopping = threading.Event()
        self.counts = [0] * threads
        self.failures = []
        self.threads = [threading.Thread(target=self.run, args=(n,)) for n in range(threads)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        self.wait_more()
        return self

    def __exit__(self, *failure):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        assert not self.failures, self.failures[:3]

    def run(self, n):
        try:
            while not self.stopping.is_set():
                with contextlib.closing(rawhttp.connect(self.w.api_port)) as c:
                    self.use(c, n)
        except Exception as failure:  # it must be seen by the test, whatever it is
            self.failures.append(repr(failure))

    def use(self, c, n):
        for _ in range(20):
            c.request("POST", CONTENT, JSON, b"[1")
            status = c.read_response().status
            if status != 400:
                self.failures.append(status)
            self.counts[n] += 1

    def wait_more(self):
        """Every thread has made some more requests from now on."""
        wanted = [count + 5 for count in self.counts]
        is_there = lambda: all(a >= b for a, b in zip(self.counts, wanted)) or self.failures
        wait_until(is_there, "requests to be answered")


def revision(w):
    return w.raw("health").get("/info").json()["revision"]


def limited(n):
    """A configuration that can be told from another by its limit of depth."""
    return config(limits={"max_json_depth": n})


def depth(w):
    """The limit in use: the smallest depth that is refused, minus one."""
    c = w.raw()
    for n in (10, 20, 30, 40):
        body = b"[" * (n + 1) + b"]" * (n + 1)
        c.request("POST", CONTENT, JSON, body)
        if b"max_json_depth" in c.read_response().body:
            return n
    return None


def write(path, tree):
    """In one step: the server, which looks by itself, never finds half of it."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text_of(tree))
    os.rename(new, path)


def text_of(tree):
    return tree if isinstance(tree, str) else json.dumps(tree, indent=1)


def metric(w, name):
    text = w.raw("health").get("/metrics").body.decode()
    return {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if name in line}


def reload_count(w, result):
    return metric(w, f'weir_config_reloads_total{{result="{result}"}}').popitem()[1]


def test_sighup_under_load(weir):
    path = weir.write_config(limited(10))
    w = weir(path, args=["--workers", "3"])
    old = revision(w)
    assert depth(w) == 10
    with Load(w) as load:
        for n in (20, 30, 40):
            before = revision(w)
            write(path, limited(n))
            w.signal(signal.SIGHUP)
            wait_until(lambda: revision(w) != before, "another revision")
            load.wait_more()
            wait_until(lambda n=n: depth(w) == n, "every worker to know")
    info = metric(w, "weir_config_info{")
    assert info == {f'weir_config_info{{revision="{revision(w)}"}}': 1}
    assert revision(w) != old
    assert reload_count(w, "applied") >= 3


def test_the_same_file_has_the_same_revision(weir):
    path = weir.write_config(limited(10))
    w = weir(path)
    before = revision(w)
    w.signal(signal.SIGHUP)
    w.wait_log("configuration reloaded")
    assert revision(w) == before


class ConfigMap:
    """A folder as Kubernetes mounts it: the file is a link into ..data, a link that is swapped."""

    def __init__(self, folder, tree):
        self.folder = folder / "etc"
        self.folder.mkdir()
        self.n = 0
        self.publish(tree)
        self.path = self.folder / "config.yaml"
        self.path.symlink_to("..data/config.yaml")

    def publish(self, tree):
        self.n += 1
        version = self.folder / f"..{self.n}"
        version.mkdir()
        write(version / "config.yaml", tree)
        new = self.folder / "..data_tmp"
        new.symlink_to(version.name)
        os.rename(new, self.folder / "..data")


def test_a_swapped_link_under_load(weir, tmp_path):
    mounted = ConfigMap(tmp_path, limited(10))
    w = weir(mounted.path)
    assert depth(w) == 10
    with Load(w) as load:
        for n in (20, 30):
            mounted.publish(limited(n))
            wait_until(lambda n=n: depth(w) == n, "the new configuration")
            load.wait_more()
    reloads = lambda: len(w.log("configuration reloaded", why="the file changed"))
    wait_until(lambda: reloads() >= 2, "the lines about it")
    assert reloads() == 2


def test_a_file_written_in_place(weir):
    path = weir.write_config(limited(10))
    w = weir(path)
    path.write_text(text_of(limited(20)))
    wait_until(lambda: depth(w) == 20, "the new configuration")


def test_a_file_replaced_by_another(weir, tmp_path):
    path = weir.write_config(limited(10))
    w = weir(path)
    write(tmp_path / "new", limited(30))
    os.rename(tmp_path / "new", path)
    wait_until(lambda: depth(w) == 30, "the new configuration")


BROKEN = {
    "an unknown key": ("detectors: {}\nlimitz: {}\n", "limitz"),
    "no YAML": ("detectors: {}\n\nopenai: [\n", "openai"),
    "a wrong value": (json.dumps(limited("x"), indent=1), "max_json_depth"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_changes_nothing(weir, name):
    text, word = BROKEN[name]
    path = weir.write_config(limited(10))
    w = weir(path)
    before = revision(w)
    with Load(w, threads=1) as load:
        write(path, text)
        w.signal(signal.SIGHUP)
        refused = w.wait_log("reload refused, the old configuration stays")
        load.wait_more()
    assert (refused["level"], refused["revision"], refused["errors"] > 0) == ("ERROR", before, True)
    problems = [entry["message"] for entry in w.log(target="conf", level="ERROR")]
    at = next(n for n, each in enumerate(text.splitlines(), 1) if word in each)
    near = [f"{path}:{at}:", f"{path}:{at + 1}:"]  # what is not closed is noticed behind it
    assert any(p.startswith(tuple(near)) for p in problems), problems
    assert (revision(w), depth(w)) == (before, 10)
    assert reload_count(w, "refused") >= 1
    write(path, limited(20))
    wait_until(lambda: depth(w) == 20, "the repaired configuration")


def test_a_file_that_is_gone_changes_nothing(weir):
    path = weir.write_config(limited(10))
    w = weir(path)
    path.unlink()
    w.signal(signal.SIGHUP)
    w.wait_log("reload refused, the old configuration stays")
    assert depth(w) == 10


def test_a_running_request_keeps_what_it_began_with(weir):
    path = weir.write_config(limited(10))
    w = weir(path)
    c = w.raw()
    body = b"[" * 20 + b"]" * 20
    begun = [("Expect", "100-continue"), ("Content-Length", str(len(body)))]
    c.request("POST", CONTENT, [*JSON, *begun])
    assert c.read_response().status == 100
    c.send(body[:5])
    write(path, limited(30))
    w.signal(signal.SIGHUP)
    wait_until(lambda: depth(w) == 30, "the new configuration")
    c.send(body[5:])
    assert b"max_json_depth" in c.read_response().body  # the old limit, to its end
    c.request("POST", CONTENT, JSON, body)
    assert b"max_json_depth" not in c.read_response().body


def test_the_embedded_configuration_reloads_too(weir):
    w = weir()
    before = revision(w)
    w.signal(signal.SIGHUP)
    w.wait_log("configuration reloaded")
    assert revision(w) == before


# --- a configuration that takes long to make ---


class SlowFile:
    """A file of the configuration's whose opening waits until the test says so: a link to a pipe,
    and then to the file itself."""

    def __init__(self, folder, content):
        self.path = folder / "slow.pem"
        self.pipe = folder / "pipe"
        self.content = content
        self.held = None
        os.mkfifo(self.pipe)
        self.path.symlink_to(self.pipe)

    def let_read(self):
        new = self.path.with_name("slow.new")
        new.symlink_to(self.content)
        os.rename(new, self.path)
        # For one who stands at the pipe already, or is about to. Both ends: nobody waits for nobody.
        self.held = os.open(self.pipe, os.O_RDWR | os.O_NONBLOCK)
        os.write(self.held, b"x")


@pytest.fixture
def slow(tmp_path, certs):
    file = SlowFile(tmp_path, certs.ca.cert)
    yield file
    if file.held is not None:
        os.close(file.held)


def with_file(tree, path):
    """The same with a service that trusts the certificates in that file."""
    service = {"hostname": "localhost", "port": 1, "tls": "slow"}
    remote = {"type": "text_contents", "service": service, "chunker_id": "windows"}
    detectors = {**tree["detectors"], "slow": remote}
    return {**tree, "detectors": detectors, "tls": {"slow": {"client_ca_cert_path": str(path)}}}


def start_slow_reload(weir, slow, **options):
    path = weir.write_config(limited(10))
    w = weir(path, **options)
    write(path, with_file(limited(20), slow.path))
    w.signal(signal.SIGHUP)
    w.wait_log("reloading")
    return w, path


def test_health_answers_while_a_configuration_is_made(weir, slow):
    w, _ = start_slow_reload(weir, slow)
    for name in ("/health", "/healthz", "/readyz", "/info", "/metrics"):
        assert w.raw("health").get(name).status == 200
    assert depth(w) == 10
    assert not w.log("configuration reloaded")
    slow.let_read()
    wait_until(lambda: depth(w) == 20, "the new configuration")


def test_a_change_while_a_configuration_is_made_is_not_lost(weir, slow):
    w, path = start_slow_reload(weir, slow)
    write(path, limited(30))
    for _ in range(3):
        w.signal(signal.SIGHUP)
    wait_until(lambda: len(w.log("reloading", why="SIGHUP")) >= 2, "the second request")
    assert not w.log("configuration reloaded")
    slow.let_read()
    wait_until(lambda: depth(w) == 30, "the newest configuration")
    assert metric(w, "weir_config_info{") == {f'weir_config_info{{revision="{revision(w)}"}}': 1}


def test_a_drain_does_not_wait_for_a_configuration(weir, slow):
    w, _ = start_slow_reload(weir, slow)
    w.signal(signal.SIGTERM)
    w.finish()
    assert w.log("stopped") and not w.log("configuration reloaded")


def test_what_was_made_while_draining_is_thrown_away(weir, slow):
    w, _ = start_slow_reload(weir, slow)
    running = w.raw()
    running.send(f"POST {CONTENT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
    running.send("Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert running.read_response().status == 100
    w.signal(signal.SIGTERM)
    wait_until(lambda: w.raw("health").get("/readyz").status == 503, "the drain")
    slow.let_read()
    running.send("[]")
    assert running.read_response().status == 422
    running.close()
    w.finish()
    assert not w.log("configuration reloaded")


def test_reload_gives_everything_back(weir):
    path = weir.write_config(limited(10))
    w = weir(path)
    with w.unharmed():
        for n in range(30):
            w.signal(signal.SIGHUP)
            wait_until(lambda n=n: reload_count(w, "applied") > n, "a reload")
            w.close_clients()
