"""The hard faults once more, with TensorFlow in the worker, on the CPU."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from aiscore.execution.journal import read
from aiscore.execution.process import Worker
from aiscore.execution.request import Request, request_to_resume
from aiscore.execution.run import execute
from aiscore.execution.runner import Observer
from aiscore.messages import Phase
from aiscore.results.store import load
from aiscore.spec import Suite

pytestmark = pytest.mark.framework

OUTPUT = Path("result.json")
JOURNAL = Path("result.json.journal")
RUN = [sys.executable, "-m", "aiscore", "run"]
MICRO = ["--suite", "micro", "--tests", "1,8", "--device", "cpu", "--passes", "3"]
ROOM_BYTES = 48 << 20  # a quarter less than the first layer takes


@pytest.fixture(autouse=True)
def current(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("aiscore.execution.run.measure_roof", lambda *_: None)  # 10 s a run


def run(tests="1,8", **options):
    asked = Request(
        suite=Suite.MICRO, tests=tests, device="cpu", passes=3, output=OUTPUT, **options
    )
    return statuses(execute(asked, Observer(), lambda question: False).result)


def statuses(result):
    return {test.id: test.status.value for test in result.tests}


@pytest.fixture
def in_phase(monkeypatch):
    """Does something to worker and process of a test when it begins a phase."""

    def install(test, phase, act):
        receive = Worker.receive

        def receive_and_act(worker, limit_s):
            message = receive(worker, limit_s)
            if message == Phase(test=test, phase=phase):
                worker, process = (
                    child
                    for child in psutil.Process().children(recursive=True)
                    if "aiscore.worker" in child.cmdline()
                )
                act(worker, process)
            return message

        monkeypatch.setattr(Worker, "receive", receive_and_act)

    return install


@pytest.mark.parametrize("victim", [0, 1], ids=["worker", "process"])
def test_a_worker_that_is_killed(in_phase, victim):
    in_phase("1.m", "passes", lambda *processes: processes[victim].kill())
    assert run() == {"1.m": "crash", "8.m": "ok"}
    error = load(OUTPUT).tests[0].error
    assert error is not None
    assert error.type == "SIGKILL"


def test_a_worker_that_runs_out_of_memory(in_phase, monkeypatch):
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")  # oneDNN itself does not survive it

    def leave_little(worker, process):
        limit = process.memory_info().vms + ROOM_BYTES
        resource.prlimit(process.pid, resource.RLIMIT_AS, (limit, limit))

    in_phase("8.m", "passes", leave_little)
    assert run() == {"1.m": "ok", "8.m": "oom"}, load(OUTPUT).tests[1].error


def test_a_test_that_takes_too_long_and_is_resumed_with_more_time():
    assert run("8", timeout=0.5) == {"8.m": "timeout"}
    asked = request_to_resume(OUTPUT, {"timeout": 600.0})
    assert statuses(execute(asked, Observer(), lambda question: False).result) == {"8.m": "ok"}


def test_aiscore_killed_and_resumed():
    with subprocess.Popen(
        [*RUN, *MICRO, "-o", str(OUTPUT)], stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        assert any(line.startswith("[1/2] 1.m ") for line in running.stderr)
        workers = psutil.Process(running.pid).children(recursive=True)
        running.kill()
    assert running.returncode == -signal.SIGKILL
    assert psutil.wait_procs(workers, timeout=60)[1] == []
    (first,) = read(JOURNAL).tests
    done = subprocess.run([*RUN, "--resume", str(OUTPUT)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, done.stderr)
    result = load(OUTPUT)
    assert statuses(result) == {"1.m": "ok", "8.m": "ok"}
    assert result.tests[0] == first
    assert os.listdir() == [OUTPUT.name]


def test_a_disk_without_room_for_the_result():
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))

    done = subprocess.run(
        [*RUN, *MICRO, "-o", str(OUTPUT)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 2
    assert "cannot write result.json: File too large" in done.stderr
    assert os.listdir() == [JOURNAL.name]
    done = subprocess.run([*RUN, "--resume", str(OUTPUT)], capture_output=True, text=True)
    assert statuses(load(OUTPUT)) == {"1.m": "ok", "8.m": "ok"}
