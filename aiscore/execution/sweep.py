"""A sweep from the request to its file: every point in a process of its own."""

import os
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from aiscore import __version__
from aiscore.errors import UserError
from aiscore.execution.common_request import AUTO
from aiscore.execution.devices import choose_device
from aiscore.execution.interrupts import one_interrupt, uninterrupted
from aiscore.execution.journal import Journal, journal_path, open_journal
from aiscore.execution.output import (
    DIRECTORY,
    Confirm,
    asked_place,
    check_directory,
    check_file,
    check_writable,
    default_places,
)
from aiscore.execution.process import SILENCE_LIMIT_S, Workers, job_environment, open_workers
from aiscore.execution.resume import differing, machine_setup
from aiscore.execution.runner import Observer, Runner
from aiscore.execution.saving import save_or_tell
from aiscore.execution.setup import note_automatic, ready, steering_variables
from aiscore.execution.sweep_request import SweepRequest, UnfinishedSweep, lines_of, requested
from aiscore.messages import Job, Ready
from aiscore.results.model import (
    DeviceRecord,
    EnvironmentRecord,
    PolicyRecord,
    RunRecord,
    TestRecord,
)
from aiscore.results.sweep import PointRecord, SelectionRecord, Sweep, point_id
from aiscore.results.sweep_store import save
from aiscore.results.sweep_summary import TRIED, fits, summarise
from aiscore.scoring.throughput import next_try
from aiscore.spec import Device, DeviceKind, Line, Options, Protocol, Status, Trial, Xla
from aiscore.system import gpu, host, software
from aiscore.system.monitor import open_monitor
from workloads.sweep import point


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """A sweep, and the file that holds it, or why it does not (``unsaved``)."""

    sweep: Sweep
    path: Path
    unsaved: UserError | None = None


class Course:
    """Which points are due, and what became of the others."""

    def __init__(
        self, lines: Sequence[Line], selection: SelectionRecord, done: Iterable[PointRecord]
    ) -> None:
        self._lines = lines
        self._selection = selection
        self._points = {point.id: point for point in done}
        self._line_of: dict[str, Line] = {}

    @property
    def points(self) -> list[PointRecord]:
        """Those that have ended, by line and batch."""
        place = {line: number for number, line in enumerate(self._lines)}
        return sorted(self._points.values(), key=lambda point: (place[point.line], point.batch))

    def due(self) -> list[Trial]:
        """All points that are known to be due now, in order."""
        return [trial for line in self._lines for trial in self._due_on(line)]

    def line_of(self, trial: Trial) -> Line:
        """The line of a trial that was due."""
        return self._line_of[trial.test.id]

    def take(self, record: TestRecord) -> PointRecord:
        """The point of a trial that has ended."""
        line = self._line_of[record.id]
        fields = {name: getattr(record, name) for name in TestRecord.model_fields}
        made = PointRecord(
            **fields,
            backend=line.backend,
            precision=line.precision,
            xla=line.xla,
            sought=record.batch not in self._selection.batches,
        )
        self._points[record.id] = made
        return made

    def following(self, record: TestRecord) -> list[Trial]:
        """The next try of the search on the line of a point that has ended."""
        if record.status not in TRIED:
            return []
        line = self._line_of[record.id]
        left = [batch for batch in self._selection.batches if not self._has(line, batch)]
        return [] if left else self._due_on(line)

    def _due_on(self, line: Line) -> list[Trial]:
        batches = [batch for batch in self._selection.batches if not self._has(line, batch)]
        if not batches and self._selection.largest:
            on_line = [point for point in self._points.values() if point.line == line]
            refused = any(point.status is Status.UNSUPPORTED for point in on_line)
            batch = None if refused else next_try(fits(on_line))
            batches = [] if batch is None else [batch]
        return [self._trial(line, batch) for batch in batches]

    def _has(self, line: Line, batch: int) -> bool:
        return point_id(line, batch) in self._points

    def _trial(self, line: Line, batch: int) -> Trial:
        test = point(line.network, line.mode, batch, id=point_id(line, batch))
        self._line_of[test.id] = line
        return Trial(test=test, protocol=Protocol.RESIDENT)


class _Points:
    """Takes in what the runner records."""

    def __init__(self, course: Course, journal: Journal) -> None:
        self._course = course
        self._journal = journal
        self.path = journal.path

    def append(self, record: TestRecord) -> None:
        """The record as the point that it is."""
        self._journal.append(self._course.take(record))


def execute(
    request: SweepRequest,
    observer: Observer,
    confirm: Confirm,
    *,
    silence_limit_s: float = SILENCE_LIMIT_S,
) -> SweepOutcome:
    """Measures what was asked for and writes the file.

    Ctrl-C, SIGTERM or SIGHUP while points run gives a sweep marked interrupted. Raises
    UserError, before any point runs, for whatever stands in the way.
    """
    with one_interrupt(), open_workers(os.environ) as workers:
        unfinished = request.unfinished
        asked = asked_place(unfinished.path if unfinished else request.output)
        if unfinished is not None:
            check_writable(unfinished.path.parent)
            course = _course_of(unfinished)
            if not course.due():
                return _nothing_missing(unfinished, course, observer)
        elif request.output is None:
            check_directory(DIRECTORY)
        else:
            check_file(request.output, confirm)
        now = datetime.now(UTC)
        device, lines, header = _set_up(request, now, observer, workers)
        places = asked or default_places(now, f"{device.name} throughput")
        done: list[PointRecord] = []
        if unfinished is not None:
            done = unfinished.done
            header = _going_on(unfinished, header)
            points = "1 point is" if len(done) == 1 else f"{len(done)} points are"
            observer.note(f"{points} done already")
        course = Course(lines, request.selection, done)
        path, opened = open_journal(places, header, done)
        with closing(opened) as journal, open_monitor(device) as monitor:
            begin = time.monotonic()
            runner = Runner(
                course.due(),
                lambda trial: _job(request, device, course.line_of(trial), trial),
                workers,
                _Points(course, journal),
                observer,
                {},
                lambda test: None,
                monitor,
                round_number=1,
                timeout_s=request.timeout_s(),
                following=course.following,
                silence_limit_s=silence_limit_s,
            )
            runner.run()
            with uninterrupted():
                duration_s = (header.run.duration_s or 0) + time.monotonic() - begin
                end = {"duration_s": duration_s, "interrupted": runner.interrupted}
                run = header.run.model_copy(update=end)
                measured = header.model_copy(update={"run": run}).with_points(course.points)
                sweep = summarise(measured)
                unsaved = save_or_tell(
                    lambda place: save(sweep, place), path, journal, "throughput"
                )
                return SweepOutcome(sweep, path, unsaved)


def _course_of(unfinished: UnfinishedSweep) -> Course:
    """How far it got, on the stacks that it was begun with."""
    selection, stacks = unfinished.sweep.selection, unfinished.sweep.stacks
    return Course(lines_of(selection, stacks), selection, unfinished.done)


def _nothing_missing(
    unfinished: UnfinishedSweep, course: Course, observer: Observer
) -> SweepOutcome:
    """The sweep that was cut off after its last point, or was not cut off."""
    path = unfinished.path
    observer.note(f"nothing is missing in {path}")
    sweep = unfinished.sweep
    run = sweep.run.model_copy(update={"interrupted": False})
    whole = summarise(sweep.model_copy(update={"run": run}).with_points(course.points))
    if whole != sweep:
        save(whole, path)
        journal_path(path).unlink(missing_ok=True)
    return SweepOutcome(whole, path)


def _job(request: SweepRequest, device: Device, line: Line, trial: Trial) -> Job:
    """What the worker is told: as no two tests are the same, each point has its own process."""
    options = Options(
        memory_fraction=request.memory_fraction,
        precision=line.precision,
        xla=line.xla is Xla.ON,
    )
    return Job(
        backend=line.backend,
        device=device,
        options=options,
        policies=request.policies(),
        tests=(trial.test,),
        seed=request.seed,
        environment=job_environment(os.environ, device, options),
    )


def _set_up(
    request: SweepRequest, now: datetime, observer: Observer, workers: Workers
) -> tuple[Device, list[Line], Sweep]:
    """The device, the lines, and the sweep before its first point."""
    answers: dict[str, Ready] = {}
    for backend in request.selection.backends:
        observer.asking(backend)
        answers[backend] = ready(backend, workers)
    first, *others = answers
    device = choose_device(request.device, answers[first].devices)
    for backend in others:
        _require_device(device, backend, answers[backend].devices)
    if request.selection.largest and device.kind is DeviceKind.CPU:
        raise UserError(
            "the largest batch is not sought on a CPU: the host's memory is not to be filled",
            "leave max out of --batch, or choose a GPU (--device)",
        )
    reading = gpu.read()
    if request.device == AUTO:
        note_automatic(device, answers[first], reading, observer)
    stacks = {name: answer.software for name, answer in answers.items()}
    lines = lines_of(request.selection, stacks)
    (policy,) = request.policies()
    options = Options(memory_fraction=request.memory_fraction)
    return (
        device,
        lines,
        Sweep(
            aiscore_version=__version__,
            device=DeviceRecord(**asdict(device), automatic=request.device == AUTO),
            policy=PolicyRecord(**asdict(policy)),
            memory_fraction=request.memory_fraction,
            environment=EnvironmentRecord(
                host=host.describe(),
                gpus=reading.gpus,
                software=software.describe({}),
                variables=steering_variables(device, options),
            ),
            stacks=stacks,
            run=RunRecord(
                id=uuid.uuid4().hex,
                started_at=now.isoformat(timespec="seconds"),
                duration_s=0,
                import_s=sum(answer.import_s for answer in answers.values()),
                arguments=list(request.arguments),
                requested=requested(lines, request.selection),
                label=request.label,
                price=request.price_record(),
                seed=request.seed,
                timeout_s=request.timeout_s(),
            ),
            selection=request.selection,
        ),
    )


def _require_device(device: Device, backend: str, seen: Sequence[Device]) -> None:
    """Raises UserError unless the backend sees that device too: a sweep is of one device."""
    if any(_is_same(device, other) for other in seen):
        return
    names = ", ".join(other.name for other in seen) or "none"
    raise UserError(f"{backend} does not see the device {device.name}", f"it sees: {names}")


def _is_same(one: Device, other: Device) -> bool:
    if one.uuid and other.uuid:
        return one.uuid == other.uuid
    return (one.kind, one.name) == (other.kind, other.name)


def _going_on(unfinished: UnfinishedSweep, now: Sweep) -> Sweep:
    """The sweep before its points, as it goes on; raises UserError if the set-up is another."""
    then = unfinished.sweep
    found = differing(setup(then), setup(now))
    if found:
        raise UserError(
            f"{unfinished.path} was begun with another set-up: {found}",
            "resume it as it was begun, or begin another sweep",
        )
    going_on = {"resumed_at": [*then.run.resumed_at, now.run.started_at], "interrupted": False}
    run = then.run.model_copy(update=going_on)
    return then.with_points([]).model_copy(update={"run": run, "summary": None})


def setup(sweep: Sweep) -> dict[str, str]:
    """What all points of a sweep must have had in common, name to value."""
    values = {
        "points": ", ".join(sweep.run.requested),
        **machine_setup(sweep),
        **sweep.policy.in_words(),
        "memory fraction": sweep.memory_fraction,
        **{
            f"{backend}'s {name}": value
            for backend, stack in sweep.stacks.items()
            for name, value in stack.items()
        },
    }
    return {name: str(value) for name, value in values.items() if value is not None}
