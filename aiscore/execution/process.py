"""A worker: its start, its jobs, its answers within a deadline, its end."""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

from aiscore.execution.interrupts import uninterrupted
from aiscore.messages import Ended, Job, Message, decode
from aiscore.spec import Device, DeviceKind, Options

START_LIMIT_S = 300.0  # importing a framework from a cold network disk takes minutes
SILENCE_LIMIT_S = 1800.0  # one pass of the largest test on a slow CPU takes minutes
GRACE_S = 10.0
LOOK_EVERY_S = 0.02  # whether a worker that was told to end has done so
LOG_LINES = 50
LOG_TAIL_BYTES = 1 << 16
CHUNK_BYTES = 1 << 16
LONGEST_MESSAGE_BYTES = 1 << 22


class Silence(Exception):
    """Nothing came from the worker within the deadline."""


class Worker:
    """A running worker in a session of its own.

    It does one job at a time, each in a new process of its group. Whatever the
    framework prints goes to a log without a name, of which nothing can remain.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._log_begin = 0
        self._buffer = b""
        with ExitStack() as files:
            self._log = files.enter_context(tempfile.TemporaryFile(buffering=0))
            self._answers, answers_end = os.pipe()
            files.callback(os.close, self._answers)
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "aiscore.worker", str(answers_end)],
                    stdin=subprocess.PIPE,
                    stdout=self._log,
                    stderr=self._log,
                    env=dict(environment),
                    pass_fds=[answers_end],
                    start_new_session=True,
                )
            finally:
                os.close(answers_end)
            self._files = files.pop_all()

    def begin(self, job: Job) -> None:
        """Gives it a job, its first one or one after the last has ended."""
        stdin = self._process.stdin
        if stdin is None:
            raise RuntimeError("the worker was started without standard input")
        self._log_begin = self._log_size()
        try:
            stdin.write(f"{job.to_json()}\n".encode())
            stdin.flush()  # and stays open: its end would end the worker
        except BrokenPipeError:
            self._buffer = b""  # it died at once, which the end of its answers will show

    def receive(self, limit_s: float) -> Message | None:
        """The next message; None when the worker has closed its side.

        Sleeps on the pipe. Raises ``Silence`` after ``limit_s``, and ValueError
        for a line that is not a message.
        """
        deadline = time.monotonic() + limit_s
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        while b"\n" not in self._buffer:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise Silence
            if len(self._buffer) > LONGEST_MESSAGE_BYTES:
                raise ValueError("the worker's message has no end")
            chunk = os.read(self._answers, CHUNK_BYTES)
            if not chunk:
                return None
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return decode(line.decode())

    def wait(self) -> int:
        """How it ended: the exit status, or minus the signal's number. Ends it if need be."""
        if self._process.returncode is None and not self._exits_within(GRACE_S):
            self._terminate()
        return self._reap()

    def log_tail(self) -> list[str]:
        """The last lines that it printed since its job began."""
        size = self._log_size()
        begin = max(self._log_begin, size - LOG_TAIL_BYTES)
        # Read by place: the worker writes where the file's own position is.
        tail = os.pread(self._log.fileno(), size - begin, begin)
        return tail.decode(errors="replace").splitlines()[-LOG_LINES:]

    def _log_size(self) -> int:
        return os.fstat(self._log.fileno()).st_size

    def end(self) -> None:
        """Ends its group."""
        self._terminate()
        self._reap()
        self._files.close()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # a job that it was dead for is written once more
                self._process.stdin.close()

    def has_ended(self) -> bool:
        """Whether it takes no more jobs."""
        return self._exits_within(0)

    def _terminate(self) -> None:
        """Asks the whole group to end, and gives its leader time to do so."""
        if self._process.returncode is None:
            self._signal(signal.SIGTERM)
            self._exits_within(GRACE_S)

    def _exits_within(self, limit_s: float) -> bool:
        """Whether it ends by itself. It is not reaped: its group's number stays its own."""
        deadline = time.monotonic() + limit_s
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while os.waitid(os.P_PID, self._process.pid, look) is None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_EVERY_S)
        return True

    def _reap(self) -> int:
        """Kills whatever is left of the group; how its leader ended."""
        if self._process.returncode is None:
            self._signal(signal.SIGKILL)
        return self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)  # it leads its session, and so its group
        except ProcessLookupError:
            return  # the group is gone, which is the aim


class Workers:
    """The one worker that runs now, if any does: made when a job needs its backend."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._worker: Worker | None = None
        self._backend = ""

    def ready(self, backend: str) -> Worker:
        """A worker that has imported the backend's framework, or will, waiting for a job."""
        if self._worker is None or self._backend != backend or self._worker.has_ended():
            with uninterrupted():  # a process that nobody knows would not be ended
                self.end()
                self._worker = Worker(self._environment)
                self._backend = backend
        return self._worker

    def await_end(self) -> None:
        """Waits until a job's process has given back what it held; a worker that is late ends."""
        if self._worker is None:
            return
        try:
            message = self._worker.receive(GRACE_S)
        except (Silence, ValueError):
            message = None
        if not isinstance(message, Ended):
            self.end()

    def end(self) -> None:
        """Ends the worker; the next job begins in a new one."""
        with uninterrupted():
            worker, self._worker = self._worker, None
            if worker is not None:
                worker.end()


def how_it_ended(exit_status: int) -> str:
    """What became of a process, in words that follow its name."""
    if exit_status >= 0:
        return f"ended with exit status {exit_status}"
    return f"was ended by {signal_name(-exit_status)}"


def signal_name(number: int) -> str:
    """Those for real time have no names of their own but the first and the last."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"


@contextmanager
def open_workers(caller: Mapping[str, str]) -> Iterator[Workers]:
    """Workers in the caller's environment, ended with the context."""
    workers = Workers(worker_environment(caller))
    try:
        yield workers
    finally:
        workers.end()


def worker_environment(caller: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a framework is imported.

    GPUs are numbered as nvidia-smi numbers them, so that ``gpu:1`` means the same
    card to both.
    """
    return {
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        **caller,
    }


def job_environment(caller: Mapping[str, str], device: Device, options: Options) -> dict[str, str]:
    """What is set besides for the work on a device, before the framework looks for devices.

    It sees no other GPU than that. JAX reads here alone how much of its memory it may take.
    """
    variables = {"CUDA_VISIBLE_DEVICES": _visible(caller, device)}
    if options.memory_fraction is not None:
        variables["XLA_PYTHON_CLIENT_MEM_FRACTION"] = str(options.memory_fraction)
    elif "TF_FORCE_GPU_ALLOW_GROWTH" not in caller:
        variables["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    return variables


def _visible(caller: Mapping[str, str], device: Device) -> str:
    if device.kind is DeviceKind.CPU:
        return "-1"
    if device.uuid is not None:
        return device.uuid
    visible = caller.get("CUDA_VISIBLE_DEVICES")
    return str(device.index) if visible is None else visible.split(",")[device.index].strip()
