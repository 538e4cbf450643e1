"""Runs trials in worker processes, and makes a record of every trial.

One worker does the trials of a network after the other, each network's in a
process of its own. A failure is charged to the trial in which it happened;
those that are left follow in a new process. Nothing here knows a backend or a
network.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from aiscore.execution.interrupts import uninterrupted
from aiscore.execution.memory import Shortage
from aiscore.execution.process import (
    SILENCE_LIMIT_S,
    START_LIMIT_S,
    Silence,
    Worker,
    Workers,
    how_it_ended,
    signal_name,
)
from aiscore.execution.rounds import Key, join, key
from aiscore.messages import (
    Ended,
    Finished,
    Job,
    Message,
    Passes,
    Phase,
    Probed,
    Ready,
    Unavailable,
)
from aiscore.results.model import ErrorRecord, RoundRecord, TelemetryRecord, TestRecord
from aiscore.results.store import SHORTEST_S
from aiscore.scoring.score import counted
from aiscore.spec import Status, Trial
from aiscore.system.host import count_oom_kills
from aiscore.system.monitor import Monitor

START = "start"


class Observer:
    """Watches a run. All calls come from the thread that runs, between measurements."""

    def note(self, text: str) -> None:
        """Something that the user should know."""

    def asking(self, backend: str) -> None:
        """The backend is being imported, which can take seconds."""

    def measuring_roof(self, device: str) -> None:
        """What the device can do at most is being measured, which takes seconds."""

    def begin(self, trials: Sequence[Trial]) -> None:
        """The tests are about to run."""

    def added(self, count: int) -> None:
        """So many more trials will run, because of how the last one ended."""

    def started(self, trial: Trial) -> None:
        """A trial is next."""

    def ended(self, record: TestRecord) -> None:
        """A trial has ended, in whatever way."""

    def end(self) -> None:
        """No trial follows."""


class Keeper(Protocol):
    """Takes in every record when its trial has ended; raises OSError if it finds no room."""

    @property
    def path(self) -> Path:
        """Where it keeps them."""
        ...

    def append(self, record: TestRecord) -> None:
        """One more."""
        ...


JobOf = Callable[[Trial], Job]
Following = Callable[[TestRecord], Sequence[Trial]]


def nothing_more(record: TestRecord) -> Sequence[Trial]:
    """No end of a trial asks for another."""
    return ()


class _Failed(Exception):
    """The worker's process is of no more use, because of the test it was at.

    ``takes_jobs`` says whether the worker itself can go on with another.
    """

    def __init__(
        self, status: Status, kind: str, message: str, *, takes_jobs: bool = False
    ) -> None:
        self.status = status
        self.kind = kind
        self.takes_jobs = takes_jobs
        super().__init__(message)


class Runner:
    """One round of these trials; ``records`` gets every trial that has ended.

    ``job_of`` a trial is what its worker is told, less network and trials. Trials
    of one network and job share a process. What ``following`` gives for a record
    runs next. A worker that says nothing for ``silence_limit_s`` is ended: its trial is a timeout,
    and so is one that takes longer than ``timeout_s`` altogether. A test that
    ``lacks`` something is skipped with that reason.
    """

    def __init__(
        self,
        trials: Sequence[Trial],
        job_of: JobOf,
        workers: Workers,
        journal: Keeper,
        observer: Observer,
        records: dict[Key, TestRecord],
        lacks: Shortage,
        monitor: Monitor,
        *,
        round_number: int,
        timeout_s: float,
        following: Following = nothing_more,
        silence_limit_s: float = SILENCE_LIMIT_S,
        count_oom_kills: Callable[[], int | None] = count_oom_kills,
    ) -> None:
        self.interrupted = False
        self._records = records
        self._round_number = round_number
        self._trials = trials
        self._pending = deque(trials)
        self._job_of = job_of
        self._following = following
        self._workers = workers
        self._journal = journal
        self._observer = observer
        self._lacks = lacks
        self._monitor = monitor
        self._timeout_s = timeout_s
        self._silence_limit_s = silence_limit_s
        self._count_oom_kills = count_oom_kills
        self._worker_pid = 0  # of the process that does the job
        self._phase = START  # of the trial at the head of the pending ones, as are its passes
        self._passes_s: list[float] = []
        self._block_passes: list[int] = []
        self._unwatched_passes: int | None = None  # before the monitor began, if it has
        self._telemetry: TelemetryRecord | None = None

    def run(self) -> None:
        """Runs every trial; an interrupt ends it, with a record of each."""
        try:
            self._observer.begin(self._trials)
            while self._pending:
                lack = self._lacks(self._pending[0].test)
                if lack is None:
                    self._run_network()
                else:
                    error = ErrorRecord(type="Memory", message=lack)
                    self._end_test(Status.SKIPPED, error=error)
        except KeyboardInterrupt as interrupt:
            self.interrupted = True
            cause = str(interrupt) or "Ctrl-C"
            message = f"{cause} (phase: {self._phase})"
            while self._pending:
                error = ErrorRecord(type="Interrupted", message=message)
                self._end_test(Status.INTERRUPTED, error=error)
                message = f"not started: {cause} ended the run before"
        finally:
            self._workers.end()
            self._observer.end()

    def _run_network(self) -> None:
        """One job with the pending trials of the next network, as far as it gets."""
        network, job = self._pending[0].test.network, self._job_of(self._pending[0])
        trials = tuple(
            takewhile(
                lambda trial: (
                    trial.test.network == network
                    and self._job_of(trial) == job
                    and self._lacks(trial.test) is None
                ),
                self._pending,
            )
        )
        self._observer.started(trials[0])
        try:
            worker = self._workers.ready(job.backend)
        except OSError as problem:  # no memory for a process, no room for its log
            for _ in trials:
                reason = ErrorRecord(type="WorkerStart", message=problem.strerror or str(problem))
                self._end_test(Status.CRASH, error=reason)
            return
        oom_kills = self._count_oom_kills()
        charged = len(trials)  # a worker that does not start fails all of its trials
        try:
            worker.begin(
                replace(
                    job,
                    network=network,
                    trials=tuple(map(key, trials)),
                    count_operations=self._round_number == 1,
                )
            )
            self._await_ready(worker, oom_kills)
            charged = 1
            for trial in trials:
                if trial is not trials[0]:
                    self._observer.started(trial)
                self._follow(worker, trial, oom_kills)
            self._workers.await_end()
        except _Failed as failure:
            for _ in range(charged):
                error = ErrorRecord(type=failure.kind, message=str(failure), log=worker.log_tail())
                self._end_test(failure.status, error=error)
            if not failure.takes_jobs:
                self._workers.end()

    def _await_ready(self, worker: Worker, oom_kills: int | None) -> None:
        match self._receive(worker, oom_kills, START_LIMIT_S, time.monotonic()):
            case Ready(pid=pid):
                self._worker_pid = pid
            case Unavailable(reason=reason, advice=advice):
                raise _Failed(Status.CRASH, "Unavailable", f"{reason}: {advice}")
            case message:
                raise _out_of_turn(message)

    def _follow(self, worker: Worker, trial: Trial, oom_kills: int | None) -> None:
        """Listens to one trial until it ends."""
        begin = time.monotonic()
        while True:
            message = self._receive(worker, oom_kills, self._timeout_s, begin)
            if isinstance(message, Ready | Unavailable) or message.test != trial.test.id:
                raise _out_of_turn(message)
            match message:
                case Phase(phase=phase):
                    self._phase = phase
                    self._end_watch()
                case Passes(passes_s=passes_s, block_passes=block_passes):
                    self._passes_s.extend(passes_s)
                    self._block_passes.extend(block_passes)
                    self._watch()
                case Finished(status=Status.OK) if not self._passes_s:
                    raise _out_of_turn(message)
                case Finished(status=Status.OK) if min(counted(self._passes_s)) < SHORTEST_S:
                    error = ErrorRecord(type="Clock", message="a pass took no time or less")
                    self._end_test(Status.CRASH, message, error)
                    return
                case Finished():
                    self._end_test(message.status, message, _error(message, worker))
                    return

    def _watch(self) -> None:
        """Has the monitor watch the passes after the first, which compiles, and nothing else."""
        if self._unwatched_passes is None:
            self._unwatched_passes = sum(self._block_passes) or len(self._passes_s)
            self._monitor.begin(self._worker_pid)

    def _end_watch(self) -> None:
        telemetry = self._monitor.end()
        if telemetry is not None:
            self._telemetry = TelemetryRecord(
                unwatched_passes=self._unwatched_passes or 0, **asdict(telemetry)
            )

    def _receive(
        self, worker: Worker, oom_kills: int | None, limit_s: float, begin: float
    ) -> Ready | Unavailable | Phase | Passes | Finished:
        """The next message, or the failure that there is none ``limit_s`` after ``begin``."""
        left_s = max(0.0, begin + limit_s - time.monotonic())
        try:
            if not left_s:
                raise Silence  # though it speaks
            message = worker.receive(min(self._silence_limit_s, left_s))
        except Silence:
            late = f"not done after {limit_s:g} s"
            mute = f"no sign of life for {self._silence_limit_s:g} s"
            reason = late if left_s <= self._silence_limit_s else mute
            text = f"{reason} (phase: {self._phase})"
            raise _Failed(Status.TIMEOUT, "Timeout", text) from None
        except ValueError as error:
            raise _Failed(Status.CRASH, "ProtocolError", str(error)) from error
        if message is None:
            raise self._death(worker.wait(), oom_kills)
        if isinstance(message, Ended):
            raise self._death(message.exit_status, oom_kills, takes_jobs=True)
        if isinstance(message, Probed):
            raise _out_of_turn(message)
        return message

    def _death(
        self, exit_status: int, oom_kills: int | None, *, takes_jobs: bool = False
    ) -> _Failed:
        where = f"(phase: {self._phase})"
        text = f"the worker {how_it_ended(exit_status)} {where}"
        if exit_status >= 0:
            return _Failed(Status.CRASH, "WorkerExit", text, takes_jobs=takes_jobs)
        name = signal_name(-exit_status)
        if name == "SIGKILL" and oom_kills is not None:
            now = self._count_oom_kills()
            if now is not None and now > oom_kills:
                text = f"the kernel ended the worker: the host's memory is full {where}"
                return _Failed(Status.OOM, name, text, takes_jobs=takes_jobs)
        return _Failed(Status.CRASH, name, text, takes_jobs=takes_jobs)

    def _end_test(
        self,
        status: Status,
        finished: Finished | None = None,
        error: ErrorRecord | None = None,
    ) -> None:
        """Moves the trial at the head of the pending ones to the records."""
        with uninterrupted():
            self._end_watch()
            trial = self._pending[0]
            record = _record(trial, self._round(status, finished), finished, error)
            self._records[key(trial)] = join(self._records.get(key(trial)), record)
            self._pending.popleft()
            self._phase, self._telemetry, self._unwatched_passes = START, None, None
            self._passes_s, self._block_passes = [], []
            self._keep(record)
            following = self._following(record)
            self._pending.extendleft(reversed(following))
        self._observer.ended(record)
        if following:
            self._observer.added(len(following))

    def _round(self, status: Status, finished: Finished | None) -> RoundRecord:
        """What was measured of the trial at the head of the pending ones."""
        return RoundRecord(
            round=self._round_number,
            status=status,
            passes_s=self._passes_s,
            block_passes=self._block_passes,
            prepare_s=finished.prepare_s if finished else None,
            peak_rss_bytes=finished.peak_rss_bytes if finished else None,
            peak_device_bytes=finished.peak_device_bytes if finished else None,
            operations=finished.operations if finished else None,
            telemetry=self._telemetry,
        )

    def _keep(self, record: TestRecord) -> None:
        """In the journal; without room there, in memory until the next test ends."""
        try:
            self._journal.append(record)
        except OSError as error:
            reason = error.strerror or str(error)
            self._observer.note(f"cannot write {self._journal.path}: {reason}; the run goes on")


def _out_of_turn(message: Message) -> _Failed:
    return _Failed(Status.CRASH, "ProtocolError", f"the worker spoke out of turn: {message}")


def _error(finished: Finished, worker: Worker) -> ErrorRecord | None:
    if finished.status is Status.OK:
        return None
    unsupported = finished.status is Status.UNSUPPORTED
    return ErrorRecord(
        type=finished.error_type or finished.status.value,
        message=finished.error_message or "",
        log=[] if unsupported else worker.log_tail(),
    )


def _record(
    trial: Trial, round_: RoundRecord, finished: Finished | None, error: ErrorRecord | None
) -> TestRecord:
    status = round_.status
    started = bool(round_.passes_s) or (finished is not None and status is not Status.UNSUPPORTED)
    rounds = [round_] if started else []
    return TestRecord.of(trial.test, status, protocol=trial.protocol, rounds=rounds, error=error)
