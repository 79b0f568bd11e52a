"""Fixtures of the black-box suite: the real binary, scripted peers on loopback.

    def test_health(weir):
        w = weir()                                   # or weir(config={...}, args=[...], env={...})
        assert w.health.get("/health").status_code == 200

Every server a test starts is stopped at its end with SIGTERM and must then exit with status 0 and
without a sanitizer's report; `w.stop()` does the same earlier.
"""

import os
import re
import signal

# Its handlers around a fork wait for its threads, at times for ever, and nobody forks here.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
# All peers are on loopback: none is asked through the machine's proxy.
for variable in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[variable]

import certs as certificates
import harness
import mock as mocks
import pytest
import service as services

SECONDS_PER_TEST = 300  # far more than any needs, on any machine: it is for those that hang


def pytest_collection_modifyitems(config, items):
    """WEIR_TEST_PATTERN chooses tests by a regular expression, as ctest -R does."""
    pattern = os.environ.get("WEIR_TEST_PATTERN", "")
    if not pattern:
        return
    chosen = [item for item in items if re.search(pattern, item.nodeid)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.fixture(autouse=True)
def time_limit():
    """A test that hangs fails, and says where it hung."""

    def expired(signum, frame):
        raise TimeoutError(f"the test took more than {SECONDS_PER_TEST} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_TEST)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def weir(tmp_path):
    """Starts servers: see harness.Servers.__call__."""
    servers = harness.Servers(harness.binary(), tmp_path)
    yield servers
    servers.stop_all()


@pytest.fixture(scope="module")
def module_weir(tmp_path_factory):
    """The same for servers that all tests of a module share: start one in a module fixture."""
    servers = harness.Servers(harness.binary(), tmp_path_factory.mktemp("weir"))
    yield servers
    servers.stop_all()


@pytest.fixture
def mock(tmp_path):
    """Starts scripted peers: see mock.Mocks.__call__."""
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path)
    yield servers
    servers.stop_all()


@pytest.fixture
def service():
    """Starts services whose answers the test writes: see service.Service."""
    started = []

    def start(answer=None, tls=None):
        started.append(services.Service(answer, tls))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture(scope="session")
def certs(tmp_path_factory):
    """A CA and what it signed, plus a stranger's: see certs.Certs."""
    return certificates.Certs(tmp_path_factory.mktemp("certs"))
