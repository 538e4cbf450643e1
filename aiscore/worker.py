"""The measured process: one network, its tests in order.

``python -P -m aiscore.worker DESCRIPTOR`` reads jobs from standard input and
answers on the inherited descriptor (aiscore/messages.py). It imports the
framework once and does nothing else with it: every job is done by a process of
its own, forked from this one, so that jobs share nothing but the import. Both
end when standard input ends, for then the parent is gone.
"""

import faulthandler
import gc
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from queue import Queue
from typing import NoReturn

import numpy as np

from aiscore import peak_memory, roof
from aiscore.backends import base
from aiscore.backends.base import (
    Advising,
    Backend,
    Batch,
    Classifying,
    Counting,
    Measurable,
    MissingFramework,
    ResidentSession,
    Session,
    Simulated,
)
from aiscore.messages import (
    Ended,
    Finished,
    Job,
    Message,
    Passes,
    Phase,
    Ready,
    Unavailable,
    encode,
)
from aiscore.sampling import NS_PER_S, Clock, sample, sample_blocks
from aiscore.spec import Device, DeviceKind, Options, Protocol, Status, TestSpec, Trial
from workloads import suite, sweep

Send = Callable[[Message], None]
PARENT_GONE = 3


def main(descriptor: int) -> None:
    """Does the jobs that standard input holds, one after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    faulthandler.enable()
    os.set_inheritable(descriptor, False)
    jobs: Queue[str] = Queue()
    threading.Thread(target=_read_jobs, args=(sys.stdin.fileno(), jobs), daemon=True).start()

    def send(message: Message) -> None:
        data = f"{encode(message)}\n".encode()
        while data:
            data = data[os.write(descriptor, data) :]

    job = Job.from_json(jobs.get())
    begin = time.perf_counter()
    try:
        backend = base.load(job.backend)
    except MissingFramework as error:
        send(Unavailable(reason=f"{error.framework} is not installed", advice=error.install))
        return
    import_s = time.perf_counter() - begin
    gc.freeze()  # collections in the processes below would copy the pages that they share
    while True:
        status = _in_own_process(partial(do, job, backend, import_s, send))
        send(Ended(exit_status=status))
        job = Job.from_json(jobs.get())


def do(job: Job, backend: Backend, import_s: float, send: Send) -> None:
    """Says what the backend is and sees; then runs the job's tests, if it has any."""
    os.environ.update(job.environment)  # frameworks look for devices when first asked
    devices = tuple(backend.devices())
    device = None if job.device is None else find(job.device, devices)
    if job.device is not None and device is None:
        seen = ", ".join(device.name for device in devices) or "none"
        reason = f"{job.backend} does not see the device {job.device.name}"
        send(Unavailable(reason=reason, advice=f"it sees: {seen}"))
        return
    send(
        Ready(
            pid=os.getpid(),
            software=backend.software(),
            devices=devices,
            import_s=import_s,
            for_gpu=backend.for_gpu if isinstance(backend, Advising) else None,
        )
    )
    if device is not None and job.roof:
        _measure_roof(backend, device, job.options, send)
    elif device is not None and job.network is not None:
        NetworkRun(backend, job, device, send).run()


def _measure_roof(backend: Backend, device: Device, options: Options, send: Send) -> None:
    if isinstance(backend, Measurable):
        clock_ns = backend.clock_ns if isinstance(backend, Simulated) else time.perf_counter_ns
        for probed in roof.measure(backend.probes(device, options), clock_ns):
            send(probed)


def _in_own_process(work: Callable[[], None]) -> int:
    """Forks a process that does the work and ends with this one; how it ended."""
    watched, held = os.pipe()  # ends for the process below when this one ends
    told_to_end = threading.Event()
    default = signal.signal(signal.SIGTERM, lambda *_: told_to_end.set())
    _flush()  # else the process below prints it once more
    with warnings.catch_warnings():
        # The other threads wait: one for jobs, those of the libraries for work.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        signal.signal(signal.SIGTERM, default)
        os.close(held)
        threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
        _work_and_end(work)
    os.close(watched)
    _, status = os.waitpid(process, 0)
    os.close(held)
    signal.signal(signal.SIGTERM, default)
    if told_to_end.is_set():  # as its whole group was: it is the last to end
        signal.raise_signal(signal.SIGTERM)
    return os.waitstatus_to_exitcode(status)


def _work_and_end(work: Callable[[], None]) -> NoReturn:
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        _log_error()
    finally:
        _flush()
        os._exit(status)  # a framework's own end takes seconds, and nothing is left to be written


def _log_error() -> None:
    """The error that is being handled, of which the parent keeps the end."""
    with suppress(OSError):  # the log has no room for it, which must not hide what it was
        traceback.print_exc()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()


def find(asked: Device, seen: tuple[Device, ...]) -> Device | None:
    """The device asked for, under the index that it has in this process."""
    for device in seen:
        if device.kind is asked.kind is DeviceKind.CPU:
            same = True  # there is one, and the parent may know its name better
        elif device.uuid and asked.uuid:
            same = device.uuid == asked.uuid
        else:
            same = (device.kind, device.name) == (asked.kind, asked.name)
        if same:
            return replace(asked, index=device.index)
    return None


@dataclass
class NetworkRun:
    """The trials of one network, in one session for as long as none of them fails."""

    backend: Backend
    job: Job
    device: Device
    send: Send

    def __post_init__(self) -> None:
        network = self.job.network
        rows = {
            test.id: test
            for test in (*suite.TESTS[self.job.suite], *self.job.tests)
            if test.network == network
        }
        self.trials = [Trial(test=rows[id], protocol=protocol) for id, protocol in self.job.trials]
        self.policies = {policy.protocol: policy for policy in self.job.policies}
        self.session: ResidentSession | None = None
        self.clock_ns: Clock = time.perf_counter_ns
        self.make_batch = _make_batch
        if isinstance(self.backend, Simulated):
            self.clock_ns, self.make_batch = self.backend.clock_ns, self.backend.make_batch

    def run(self) -> None:
        """Runs every trial; an error ends it and the session, not the run."""
        for trial in self.trials:
            self.send(self._run_trial(trial))
        self._close()

    def _run_trial(self, trial: Trial) -> Finished:
        test = trial.test
        peak_memory.reset()
        try:
            reason = self.backend.unsupported(test, self.device, self.job.options)
            if reason is not None:
                return Finished(test=test.id, status=Status.UNSUPPORTED, error_message=reason)
            return self._measure(trial)
        except Exception as error:
            _log_error()
            if _is_unwritten(error, test):
                message = f"{test.title} is not written yet"
                return Finished(test=test.id, status=Status.UNSUPPORTED, error_message=message)
            if isinstance(error, NotImplementedError):
                self._close()
                return Finished(test=test.id, status=Status.UNSUPPORTED, error_message=str(error))
            out_of_memory = isinstance(error, MemoryError) or self.backend.is_out_of_memory(error)
            self._close()
            return Finished(
                test=test.id,
                status=Status.OOM if out_of_memory else Status.CRASH,
                peak_rss_bytes=peak_memory.peak_rss_bytes(),
                error_type=type(error).__name__,
                error_message=str(error),
            )

    def _measure(self, trial: Trial) -> Finished:
        test = trial.test
        self.send(Phase(test=test.id, phase="prepare"))
        begin = self.clock_ns()
        if self.session is None:
            self.session = self._open(test.network)
        batch = self.make_batch(test, self.job.seed)
        self.session.prepare(test, batch)
        if trial.protocol is Protocol.RESIDENT:
            self.session.place(batch)
        prepare_s = (self.clock_ns() - begin) / NS_PER_S

        self.send(Phase(test=test.id, phase="passes"))
        self._sample(trial, self.session, batch)

        self.send(Phase(test=test.id, phase="check"))
        problem = defect(self.session.output(batch), test)
        return Finished(
            test=test.id,
            status=Status.OK if problem is None else Status.INVALID_OUTPUT,
            prepare_s=prepare_s,
            peak_rss_bytes=peak_memory.peak_rss_bytes(),
            peak_device_bytes=self.session.peak_device_bytes(),
            operations=self._operations(batch),
            error_type=None if problem is None else "InvalidOutput",
            error_message=problem,
        )

    def _open(self, name: str) -> ResidentSession:
        """A session of a network of the suite, or of one of the throughput sweep."""
        network = suite.NETWORKS.get(name)
        if network is not None:
            return self.backend.open(network, self.device, self.job.options, self.job.seed)
        if not isinstance(self.backend, Classifying):
            raise NotImplementedError(f"the {self.job.backend} backend trains no classifiers")
        return self.backend.open_classifier(
            sweep.NETWORKS[name], self.device, self.job.options, self.job.seed
        )

    def _sample(self, trial: Trial, session: ResidentSession, batch: Batch) -> None:
        test, policy = trial.test.id, self.policies[trial.protocol]
        if trial.protocol is Protocol.CLASSIC and isinstance(session, Session):
            sample(
                session.classic_pass,
                batch,
                policy,
                lambda passes_s: self.send(Passes(test=test, passes_s=passes_s)),
                self.clock_ns,
            )
        else:
            sample_blocks(
                session.resident_pass,
                session.sync,
                policy,
                lambda passes, mean_s: self.send(
                    Passes(test=test, passes_s=(mean_s,), block_passes=(passes,))
                ),
                self.clock_ns,
            )

    def _operations(self, batch: Batch) -> int | None:
        if not (self.job.count_operations and isinstance(self.session, Counting)):
            return None
        try:
            return self.session.operations(batch)
        except Exception:  # the test itself is done, and well
            _log_error()
            return None

    def _close(self) -> None:
        session, self.session = self.session, None
        if session is None:
            return
        try:
            session.close()
        except Exception:  # after an error the framework may be beyond closing
            _log_error()


def defect(output: np.ndarray, test: TestSpec) -> str | None:
    """What is wrong with a test's output: its shape, or a number that is not finite."""
    if test.target is not None:
        expected = (test.batch, *test.target)
        if output.shape != expected:
            return f"the output's shape is {output.shape}, not {expected}"
    if output.size == 0:
        return "the output is empty"
    if np.issubdtype(output.dtype, np.number) and not np.isfinite(output).all():
        return "the output holds numbers that are not finite"
    return None


def _make_batch(test: TestSpec, seed: int) -> Batch:
    from workloads import data

    return data.shape_only(test) if test.network in sweep.NETWORKS else data.make_batch(test, seed)


def _is_unwritten(error: Exception, test: TestSpec) -> bool:
    return isinstance(error, ModuleNotFoundError) and error.name == f"workloads.{test.network}"


def _read_jobs(descriptor: int, jobs: Queue[str]) -> None:
    """Puts what comes into the queue; ends this process when nothing can come any more."""
    with open(descriptor, closefd=False) as lines:
        for line in lines:
            jobs.put(line)
    os._exit(PARENT_GONE)


def _end_with(descriptor: int) -> None:
    """Ends this process when the other end of the pipe is closed."""
    os.read(descriptor, 1)
    os._exit(PARENT_GONE)


if __name__ == "__main__":
    _work_and_end(partial(main, int(sys.argv[1])))
