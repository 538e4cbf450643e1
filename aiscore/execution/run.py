"""A run from the request to the result file: what the command line and Python share."""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from aiscore.errors import UserError
from aiscore.execution.interrupts import one_interrupt, uninterrupted
from aiscore.execution.journal import journal_path, open_journal
from aiscore.execution.memory import shortage
from aiscore.execution.output import (
    DIRECTORY,
    Confirm,
    asked_place,
    check_directory,
    check_file,
    check_writable,
    default_places,
)
from aiscore.execution.plan import Plan, make_plan
from aiscore.execution.process import SILENCE_LIMIT_S, Workers, job_environment, open_workers
from aiscore.execution.request import PROTOCOLS, Request
from aiscore.execution.resume import Unfinished
from aiscore.execution.roof import measure_roof
from aiscore.execution.rounds import Key, key, next_round
from aiscore.execution.runner import Observer, Runner
from aiscore.execution.saving import save_or_tell
from aiscore.execution.setup import set_up
from aiscore.messages import Job
from aiscore.results.model import Result, TestRecord
from aiscore.results.store import save
from aiscore.results.summary import summarise
from aiscore.system import host
from aiscore.system.monitor import open_monitor


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result, and the file that holds it, or why it does not (``unsaved``)."""

    result: Result
    path: Path
    unsaved: UserError | None = None


def execute(
    request: Request,
    observer: Observer,
    confirm: Confirm,
    *,
    silence_limit_s: float = SILENCE_LIMIT_S,
    count_oom_kills: Callable[[], int | None] = host.count_oom_kills,
) -> Outcome:
    """Runs what was asked for and writes the result file.

    Ctrl-C, SIGTERM or SIGHUP while tests run gives a result marked interrupted. Raises
    UserError, before any test runs, for whatever stands in the way.
    """
    with one_interrupt(), open_workers(os.environ) as workers:
        plan = make_plan(
            request.suite,
            quick=request.quick,
            only=request.only,
            tests=request.tests,
            protocols=PROTOCOLS[request.protocol],
        )
        unfinished, missing = request.unfinished, None
        asked = asked_place(unfinished.path if unfinished else request.output)
        if unfinished is not None:
            unfinished.require_selection(plan)
            check_writable(unfinished.path.parent)
            missing = unfinished.missing(plan)
            if missing is None:
                return _nothing_missing(unfinished, observer)
        elif request.output is None:
            check_directory(DIRECTORY)
        else:
            check_file(request.output, confirm)

        now = datetime.now(UTC)
        device, header = set_up(request, plan, now, observer, workers)
        places = asked or default_places(now, device.name)
        records: dict[Key, TestRecord] = {}
        if unfinished is not None and missing is not None:
            unfinished.require_same(header)
            header, records = unfinished.header(header), unfinished.done
            done = len(plan.trials) - len(missing[1].trials)
            observer.note(f"{done} of {len(plan.trials)} tests are done already")
        job = Job(
            backend=request.backend,
            suite=request.suite,
            device=device,
            options=request.options(),
            policies=request.policies(),
            seed=request.seed,
            environment=job_environment(os.environ, device, request.options()),
        )
        header = _with_roof(header, job, observer, workers)

        path, opened = open_journal(places, header, records.values())
        with closing(opened) as journal, open_monitor(device) as monitor:
            begin = time.monotonic()
            interrupted = _run_rounds(
                plan,
                header,
                records,
                observer,
                lambda tests, number: Runner(
                    tests.trials,
                    lambda trial: job,
                    workers,
                    journal,
                    observer,
                    records,
                    shortage(request.backend, device, request.options()),
                    monitor,
                    round_number=number,
                    timeout_s=request.timeout_s(),
                    silence_limit_s=silence_limit_s,
                    count_oom_kills=count_oom_kills,
                ),
            )
            with uninterrupted():
                end = {
                    "duration_s": (header.run.duration_s or 0) + time.monotonic() - begin,
                    "interrupted": interrupted,
                }
                run = header.run.model_copy(update=end)
                result = summarise(_filled(header.model_copy(update={"run": run}), plan, records))
                unsaved = save_or_tell(lambda place: save(result, place), path, journal, "run")
                return Outcome(result, path, unsaved)


def _with_roof(header: Result, job: Job, observer: Observer, workers: Workers) -> Result:
    """The result before its first test, with what the device can do; measured once."""
    if header.roof is not None:
        return header
    observer.measuring_roof(header.device.name)
    return header.model_copy(update={"roof": measure_roof(job, workers)})


def _run_rounds(
    plan: Plan,
    header: Result,
    records: dict[Key, TestRecord],
    observer: Observer,
    make_runner: Callable[[Plan, int], Runner],
) -> bool:
    """Fills the records, a round at a time; whether an interrupt ended it."""
    try:
        while due := next_round(plan, _filled(header, plan, records)):
            number, tests = due
            if header.run.rounds > 1:
                observer.note(f"round {number} of at most {header.run.rounds}")
            runner = make_runner(tests, number)
            runner.run()
            if runner.interrupted:
                return True
    except KeyboardInterrupt:  # between two rounds
        return True
    return False


def _filled(header: Result, plan: Plan, records: Mapping[Key, TestRecord]) -> Result:
    """The result with the records so far, in the order of the plan."""
    return header.with_records(
        records[key(trial)] for trial in plan.trials if key(trial) in records
    )


def _nothing_missing(unfinished: Unfinished, observer: Observer) -> Outcome:
    """The result of a run that was cut off after its last test, or was not cut off."""
    path, journal = unfinished.path, journal_path(unfinished.path)
    observer.note(f"nothing is missing in {path}")
    result = summarise(unfinished.result)
    if journal.exists():
        save(result, path)
        journal.unlink()
    return Outcome(result, path)
