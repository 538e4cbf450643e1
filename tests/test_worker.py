"""The measured process: what it says, in which order, and what it never does."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import psutil
import pytest

from aiscore.backends.fake import FakeBackend, FakeSession
from aiscore.execution.process import Silence, Worker, open_workers
from aiscore.messages import Ended, Finished, Job, Passes, Phase, Ready, Unavailable
from aiscore.spec import Device, DeviceKind, Mode, Policy, Protocol, Status
from aiscore.worker import NetworkRun, defect
from workloads.suite import FULL

CPU = Device(kind=DeviceKind.CPU, index=0, name="Fake CPU")
JOB = Job(
    backend="fake",
    network="mobilenet_v2",
    trials=(("1.1", Protocol.CLASSIC), ("1.2", Protocol.CLASSIC)),
    device=CPU,
    policies=(Policy(passes=2),),
)
LIMIT_S = 60


@contextmanager
def running(environment: Mapping[str, str]) -> Iterator[Worker]:
    """A worker, ended with the context."""
    with open_workers(environment) as workers:
        yield workers.ready("fake")


@pytest.fixture
def listen(script):
    """Everything that a worker says of a job, and its exit status."""

    def run(job):
        messages = []
        with running(os.environ) as worker:
            worker.begin(job)
            while (message := worker.receive(LIMIT_S)) is not None:
                if isinstance(message, Ended):
                    return messages, message.exit_status, worker.log_tail()
                messages.append(message)
            return messages, worker.wait(), worker.log_tail()

    return run


def test_without_a_network_it_only_describes(listen):
    (ready,), status, _ = listen(Job(backend="fake"))
    assert isinstance(ready, Ready)
    assert (ready.devices, ready.software, status) == ((CPU,), {"fake": "1"}, 0)


def test_a_network_is_told_phase_by_phase(listen, script):
    script(tests={"*": {"passes_ms": [1]}})  # so short that all but the first are told together
    messages, status, _ = listen(JOB)
    assert isinstance(messages[0], Ready)
    expected = [
        kind
        for test in ("1.1", "1.2")
        for kind in (
            Phase(test=test, phase="prepare"),
            Phase(test=test, phase="passes"),
            Passes,
            Passes,
            Phase(test=test, phase="check"),
            Finished,
        )
    ]
    for message, kind in zip(messages[1:], expected, strict=True):
        assert message == kind or type(message) is kind
    assert [m.status for m in messages if isinstance(m, Finished)] == [Status.OK] * 2
    assert status == 0


def test_a_missing_framework_is_said_with_its_remedy(listen, script):
    script(start="missing")
    messages, _, _ = listen(JOB)
    assert messages == [
        Unavailable(reason="Fakework is not installed", advice="pip install fakework")
    ]


def test_a_device_that_is_not_there_is_said(listen, script):
    script(devices=[{"kind": "gpu", "index": 0, "name": "Fake GPU"}])
    ((message,), _, _) = listen(JOB)
    assert isinstance(message, Unavailable)
    assert message.advice == "it sees: Fake GPU"


def test_what_is_printed_goes_to_the_log(listen, script):
    script(tests={"1.1": {"failure": "error"}})
    messages, _, log = listen(JOB)
    assert Status.CRASH in [m.status for m in messages if isinstance(m, Finished)]
    assert log[-1] == "RuntimeError: the script says that this pass fails"


def answers(worker, job):
    worker.begin(job)
    messages = []
    while not messages or not isinstance(messages[-1], Ended):
        messages.append(worker.receive(LIMIT_S))
    return messages


def test_it_does_one_job_after_the_other_each_in_a_process_of_its_own(script):
    with running(os.environ) as worker:
        first, second = (answers(worker, replace(JOB, trials=(trial,))) for trial in JOB.trials)
    assert first[0].pid != second[0].pid
    assert first[0].import_s == second[0].import_s, "it imports once"
    for messages, test in ((first, "1.1"), (second, "1.2")):
        assert [m.test for m in messages if isinstance(m, Finished)] == [test]
        assert messages[-1] == Ended(exit_status=0)


def test_what_the_import_printed_is_in_the_log_once(script):
    script(start="print", tests={"1.1": {"failure": "error"}})
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    with running(environment) as worker:
        answers(worker, Job(backend="fake"))
        assert worker.log_tail() == ["the script says that the framework greets"]
        answers(worker, JOB)
        assert "the script says that the framework greets" not in worker.log_tail()


def test_a_log_that_takes_no_more_does_not_hide_what_went_wrong(script):
    script(tests={"1.1": {"failure": "oom"}})
    with running(os.environ) as worker:
        answers(worker, Job(backend="fake"))
        resource.prlimit(worker._process.pid, resource.RLIMIT_FSIZE, (0, 0))
        ended = [m.status for m in answers(worker, JOB) if isinstance(m, Finished)]
        assert (ended, worker.log_tail()) == ([Status.OOM, Status.OK], [])


def test_a_job_that_kills_its_process_leaves_a_worker_that_takes_the_next(script):
    script(tests={"1.1": {"failure": "segfault"}})
    with running(os.environ) as worker:
        assert answers(worker, JOB)[-1] == Ended(exit_status=-signal.SIGSEGV)
        assert any("Segmentation fault" in line for line in worker.log_tail())
        assert answers(worker, replace(JOB, trials=JOB.trials[1:]))[-1] == Ended(exit_status=0)
        assert worker.log_tail() == [], "the log of a job begins with the job"


def hang(worker):
    """Has it hang in a pass; the process that does."""
    worker.begin(JOB)
    ready = worker.receive(LIMIT_S)
    while worker.receive(LIMIT_S) != Phase(test="1.1", phase="passes"):
        continue
    return psutil.Process(ready.pid)


def test_the_process_that_does_the_job_ends_with_the_worker(script):
    script(tests={"1.1": {"failure": "hang"}})
    with running(os.environ) as worker:
        process = hang(worker)
        process.parent().kill()
        assert worker.receive(LIMIT_S) is None
        process.wait(LIMIT_S)
        assert worker.wait() == -signal.SIGKILL


def test_a_worker_is_ended_with_the_process_that_does_its_job(script):
    script(tests={"1.1": {"failure": "hang"}})
    with running(os.environ) as worker:
        process = hang(worker)
        both = [process, process.parent()]
    assert psutil.wait_procs(both, timeout=LIMIT_S)[1] == []


def test_silence_has_a_limit(script):
    script(start="hang")
    with running(os.environ) as worker:
        worker.begin(JOB)
        with pytest.raises(Silence):
            worker.receive(0.01)


def test_a_network_that_nobody_has_written_is_unsupported(script):
    class Builder(FakeBackend):
        def open(self, network, device, options, seed):
            raise ModuleNotFoundError(name=f"workloads.{network.name}")

    said = []
    NetworkRun(Builder(), JOB, CPU, said.append).run()
    ended = [message for message in said if isinstance(message, Finished)]
    assert [message.status for message in ended] == [Status.UNSUPPORTED] * 2
    assert ended[0].error_message == "MobileNet-V2 is not written yet"


def test_another_module_that_is_missing_is_a_crash(script):
    class Builder(FakeBackend):
        def open(self, network, device, options, seed):
            raise ModuleNotFoundError(name="keras")

    said = []
    NetworkRun(Builder(), JOB, CPU, said.append).run()
    ended = [message for message in said if isinstance(message, Finished)]
    assert [message.status for message in ended] == [Status.CRASH] * 2


def test_what_the_framework_turns_out_not_to_have_is_unsupported(script):
    class Lacking(FakeSession):
        def classic_pass(self, batch):
            raise NotImplementedError("no such operation")

    class Lacks(FakeBackend):
        def open(self, network, device, options, seed):
            return Lacking(self)

    said = []
    NetworkRun(Lacks(), JOB, CPU, said.append).run()
    ended = [message for message in said if isinstance(message, Finished)]
    assert [(m.status, m.error_message) for m in ended] == [
        (Status.UNSUPPORTED, "no such operation")
    ] * 2


def test_after_an_error_the_network_is_opened_anew(script):
    script(tests={"1.1": {"failure": "oom"}})
    events = []

    class Session(FakeSession):
        def close(self):
            events.append("close")

    class Watched(FakeBackend):
        def open(self, network, device, options, seed):
            events.append("open")
            return Session(self)

    NetworkRun(Watched(), JOB, CPU, lambda message: None).run()
    assert events == ["open", "close", "open", "close"]


def test_it_imports_nothing_that_it_does_not_need(script):
    code = (
        "import sys, aiscore.worker, aiscore.backends.fake;"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unwanted = {"click", "rich", "pydantic", "scipy", "tabulate", "psutil", "tensorflow", "keras"}
    assert not unwanted & set(done.stdout.split())


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        (np.zeros((50, 1001)), None),
        (np.zeros((50, 1000)), "the output's shape is (50, 1000), not (50, 1001)"),
        (np.full((50, 1001), np.inf), "the output holds numbers that are not finite"),
        (np.full((50, 1001), np.nan), "the output holds numbers that are not finite"),
    ],
)
def test_an_output_has_the_right_shape_and_finite_numbers(output, problem):
    assert defect(output, FULL[0]) == problem


def test_an_output_of_no_known_shape_must_hold_something():
    translation = FULL[-1]
    assert (translation.target, translation.mode) == (None, Mode.INFERENCE)
    assert defect(np.array([["a", "sentence"]]), translation) is None
    assert defect(np.array([]), translation) == "the output is empty"
