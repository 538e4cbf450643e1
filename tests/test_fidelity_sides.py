"""The two ends of a side (benchmarks/sides.py), with real processes and no framework."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sides
from sides import Side, SideError

RUNNER = """
import sys
import sides

class Runner:
    def describe(self):
        return {"software": {"none": "1"}}
    def open(self, test):
        print("a framework prints to standard output")
        self.test = test
    def run_pass(self):
        if self.test == "crash":
            sys.exit("the last line")
        if self.test == "error":
            raise RuntimeError("out of something")
        return 0.25
    def close(self):
        return None

sides.serve(Runner)
"""


@pytest.fixture
def side():
    path = str(Path(sides.__file__).parent)
    with Side("ours", [sys.executable, "-c", RUNNER], {"PYTHONPATH": path}) as side:
        yield side


def test_a_side_describes_itself_and_answers_each_request(side):
    assert side.start() == {"software": {"none": "1"}}
    assert side.ask({"open": "1.1"})["setup_s"] >= 0
    assert side.ask({"pass": True}) == {"seconds": 0.25}
    closed = side.ask({"close": True})
    assert closed["peak_device_bytes"] is None
    assert closed["peak_rss_bytes"] > 2**20


def test_waiting_for_a_side_is_counted(side):
    side.start()

    assert side.waited_s > 0


def test_an_error_is_told_and_the_side_lives_on(side):
    side.start()
    side.ask({"open": "error"})
    with pytest.raises(SideError, match="ours: RuntimeError: out of something"):
        side.ask({"pass": True})
    assert "setup_s" in side.ask({"open": "1.1"})


def test_a_crash_is_told_with_the_end_of_its_log(side):
    side.start()
    side.ask({"open": "crash"})
    with pytest.raises(SideError, match=r"(?s)ours ended with status 1\n.*the last line"):
        side.ask({"pass": True})
    with pytest.raises(SideError, match="ended with status 1"):
        side.ask({"pass": True})


def test_a_side_that_cannot_start_is_told():
    with (
        Side("ours", [sys.executable, "-c", "raise SystemExit('no GPU')"], {}) as side,
        pytest.raises(SideError, match="no GPU"),
    ):
        side.start()


def test_leaving_ends_the_process():
    with Side("ours", [sys.executable, "-c", "input()"], {}) as side:
        pid = side._process.pid

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_side_ends_with_its_input():
    path = str(Path(sides.__file__).parent)
    ended = subprocess.run(
        [sys.executable, "-c", RUNNER], input="", env={"PYTHONPATH": path}, timeout=10
    )

    assert ended.returncode == 0
