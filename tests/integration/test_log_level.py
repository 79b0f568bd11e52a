"""The log level, changed while the server runs."""

import signal

from configs import config


def test_sigusr2_switches_to_debug_and_back(weir):
    w = weir(config(), args=["--log-level", "warn"])
    w.api.get("/nothing")
    assert not w.log("request")
    w.signal(signal.SIGUSR2)
    w.wait_log("log level", level="INFO")
    answer = w.api.get("/nothing")
    w.wait_log("request", request_id=answer.headers["x-request-id"])
    w.signal(signal.SIGUSR2)
    w.wait_log("log level", to="as configured")
    quiet = w.api.get("/nothing")
    w.stop()
    assert not w.log("request", request_id=quiet.headers["x-request-id"])
