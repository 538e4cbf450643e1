"""The measured process: one network, its tests in order.

``python -P -m aiscore.worker DESCRIPTOR`` reads one job from standard input
and answers on the inherited descriptor (aiscore/messages.py). It ends when
standard input ends, for then its parent is gone.
"""

import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from aiscore import peak_memory
from aiscore.backends import base
from aiscore.backends.base import Backend, Batch, MissingFramework, Session, Simulated
from aiscore.messages import Finished, Job, Message, Passes, Phase, Ready, Unavailable, encode
from aiscore.sampling import NS_PER_S, Clock, sample
from aiscore.spec import Device, DeviceKind, Status, TestSpec
from workloads import suite

Send = Callable[[Message], None]
PARENT_GONE = 3


def main(descriptor: int) -> None:
    """Does the job that standard input holds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    faulthandler.enable()
    os.set_inheritable(descriptor, False)
    job = Job.from_json(_read_line(sys.stdin.fileno()))
    threading.Thread(target=_end_with_parent, args=(sys.stdin.fileno(),), daemon=True).start()

    def send(message: Message) -> None:
        data = f"{encode(message)}\n".encode()
        while data:
            data = data[os.write(descriptor, data) :]

    begin = time.perf_counter()
    try:
        backend = base.load(job.backend)
    except MissingFramework as error:
        send(Unavailable(reason=f"{error.framework} is not installed", advice=error.install))
        return
    import_s = time.perf_counter() - begin
    devices = tuple(backend.devices())
    device = None if job.device is None else find(job.device, devices)
    if job.device is not None and device is None:
        seen = ", ".join(device.name for device in devices) or "none"
        send(
            Unavailable(
                reason=f"{job.backend} does not see the device {job.device.name}",
                advice=f"it sees: {seen}",
            )
        )
        return
    send(Ready(software=backend.software(), devices=devices, import_s=import_s))
    if device is not None and job.network is not None:
        NetworkRun(backend, job, device, send).run()


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
    """The tests of one network, in one session for as long as none of them fails."""

    backend: Backend
    job: Job
    device: Device
    send: Send

    def __post_init__(self) -> None:
        network = self.job.network
        rows = {test.id: test for test in suite.TESTS[self.job.suite] if test.network == network}
        self.tests = [rows[id] for id in self.job.tests]
        self.session: Session | None = None
        self.clock_ns: Clock = time.perf_counter_ns
        self.make_batch = _make_batch
        if isinstance(self.backend, Simulated):
            self.clock_ns, self.make_batch = self.backend.clock_ns, self.backend.make_batch

    def run(self) -> None:
        """Runs every test; an error ends its test and the session, not the run."""
        for test in self.tests:
            self.send(self._run_test(test))
        self._close()

    def _run_test(self, test: TestSpec) -> Finished:
        peak_memory.reset()
        try:
            reason = self.backend.unsupported(test, self.device)
            if reason is not None:
                return Finished(test=test.id, status=Status.UNSUPPORTED, error_message=reason)
            return self._measure(test)
        except Exception as error:
            traceback.print_exc()  # into the log, of which the parent keeps the end
            if _is_unwritten(error, test):
                message = f"{test.title} is not written yet"
                return Finished(test=test.id, status=Status.UNSUPPORTED, error_message=message)
            out_of_memory = isinstance(error, MemoryError) or self.backend.is_out_of_memory(error)
            self._close()
            return Finished(
                test=test.id,
                status=Status.OOM if out_of_memory else Status.CRASH,
                peak_rss_bytes=peak_memory.peak_rss_bytes(),
                error_type=type(error).__name__,
                error_message=str(error),
            )

    def _measure(self, test: TestSpec) -> Finished:
        self.send(Phase(test=test.id, phase="prepare"))
        begin = self.clock_ns()
        if self.session is None:
            network = suite.NETWORKS[test.network]
            self.session = self.backend.open(network, self.device, self.job.options, self.job.seed)
        batch = self.make_batch(test, self.job.seed)
        self.session.prepare(test, batch)
        prepare_s = (self.clock_ns() - begin) / NS_PER_S

        self.send(Phase(test=test.id, phase="passes"))
        sample(
            self.session.classic_pass,
            batch,
            self.job.policy,
            lambda passes_s: self.send(Passes(test=test.id, passes_s=passes_s)),
            self.clock_ns,
        )

        self.send(Phase(test=test.id, phase="check"))
        problem = defect(self.session.output(batch), test)
        return Finished(
            test=test.id,
            status=Status.OK if problem is None else Status.INVALID_OUTPUT,
            prepare_s=prepare_s,
            peak_rss_bytes=peak_memory.peak_rss_bytes(),
            peak_device_bytes=self.session.peak_device_bytes(),
            error_type=None if problem is None else "InvalidOutput",
            error_message=problem,
        )

    def _close(self) -> None:
        session, self.session = self.session, None
        if session is None:
            return
        try:
            session.close()
        except Exception:  # after an error the framework may be beyond closing
            traceback.print_exc()


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

    return data.make_batch(test, seed)


def _is_unwritten(error: Exception, test: TestSpec) -> bool:
    return isinstance(error, ModuleNotFoundError) and error.name == f"workloads.{test.network}"


def _read_line(descriptor: int) -> str:
    """Unbuffered, so that what follows stays for the thread that waits for the end."""
    line = b""
    while not line.endswith(b"\n"):
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            sys.exit("aiscore.worker is started by aiscore, which writes its job to stdin")
        line += chunk
    return line.decode()


def _end_with_parent(descriptor: int) -> None:
    while os.read(descriptor, 1 << 16):
        pass
    os._exit(PARENT_GONE)


if __name__ == "__main__":
    main(int(sys.argv[1]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # a framework's own end takes seconds, and nothing is left to be written
