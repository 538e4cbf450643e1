"""A run from the request to the result file: what the command line and Python share."""

import math
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiscore import __version__
from aiscore.errors import UserError
from aiscore.execution.devices import choose_device, describe_backend, hides_gpus
from aiscore.execution.interrupts import one_interrupt, uninterrupted
from aiscore.execution.journal import Journal, journal_path
from aiscore.execution.memory import shortage
from aiscore.execution.output import (
    DIRECTORY,
    Confirm,
    check_directory,
    check_file,
    check_writable,
    default_path,
)
from aiscore.execution.plan import Plan, make_plan
from aiscore.execution.process import SILENCE_LIMIT_S, log_directory, worker_environment
from aiscore.execution.resume import Unfinished, find
from aiscore.execution.rounds import next_round
from aiscore.execution.runner import Observer, Runner
from aiscore.messages import Job, Ready, Unavailable
from aiscore.results.model import (
    DeviceRecord,
    EnvironmentRecord,
    OptionsRecord,
    PolicyRecord,
    PriceRecord,
    Result,
    RunRecord,
    TestRecord,
)
from aiscore.results.prices import price
from aiscore.results.store import save
from aiscore.results.summary import summarise
from aiscore.spec import Device, DeviceKind, Mode, Options, Policy, Suite
from aiscore.system import gpu, host, software
from aiscore.system.monitor import open_monitor
from workloads.suite import TESTS

QUICK_PASSES = 3
PREPARE_LIMIT_S = 3600.0  # building, the pass that is running at the time limit, checking
SEED_LIMIT = 1 << 32  # what every framework's generator takes
AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user asks for, as the options of ``aiscore run``; raises UserError if absurd."""

    suite: Suite = Suite.FULL
    quick: bool = False
    only: Mode | None = None
    tests: str | None = None
    backend: str = "tensorflow"
    device: str = AUTO
    rounds: int = 1
    passes: int | None = None
    early_stop: bool = False
    max_seconds_per_test: float | None = None
    timeout: float | None = None
    memory_fraction: float | None = None
    seed: int = 0
    label: str | None = None
    price: float | None = None
    currency: str | None = None
    output: Path | None = None
    arguments: tuple[str, ...] = ()
    unfinished: Unfinished | None = None

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise UserError(f"{self.rounds} rounds measure nothing", "ask for 1 or more")
        if self.passes is not None and self.passes < 1:
            raise UserError(f"{self.passes} passes measure nothing", "ask for 1 or more")
        seconds = self.max_seconds_per_test
        if seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
            raise UserError(f"{seconds} s is not a time limit", "give a number of seconds")
        if self.timeout is not None and not (math.isfinite(self.timeout) and self.timeout > 0):
            raise UserError(f"{self.timeout} s is not a deadline", "give a number of seconds")
        if self.memory_fraction is not None and not 0 < self.memory_fraction <= 1:
            raise UserError(
                f"{self.memory_fraction} is no share of the memory", "give one above 0, up to 1"
            )
        self.price_record()
        if not 0 <= self.seed < SEED_LIMIT:
            raise UserError(f"{self.seed} is not a seed", f"give one from 0 to {SEED_LIMIT - 1}")

    def price_record(self) -> PriceRecord | None:
        """What the device costs, if it was said; raises UserError if that is no price."""
        if self.price is None:
            if self.currency is not None:
                raise UserError(f"{self.currency!r} without a price", "give the price too")
            return None
        return price(self.price, self.currency)

    def policy(self) -> Policy:
        """The timing policy that follows from it."""
        standard = Policy()
        seconds = self.max_seconds_per_test
        return Policy(
            passes=self.passes or (QUICK_PASSES if self.quick else standard.passes),
            max_seconds=standard.max_seconds if seconds is None else seconds,
            early_stop=self.early_stop,
        )

    def options(self) -> Options:
        """The backend's options that follow from it."""
        return Options(memory_fraction=self.memory_fraction)

    def timeout_s(self) -> float:
        """How long a test may take altogether: what was asked for, or far more than it needs."""
        if self.timeout is not None:
            return self.timeout
        policy = self.policy()
        return max(policy.max_seconds, policy.hard_limit_s) + PREPARE_LIMIT_S


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result, and the file that holds it, or why it does not (``unsaved``)."""

    result: Result
    path: Path
    unsaved: UserError | None = None


def request_to_resume(path: Path, given: Mapping[str, Any]) -> Request:
    """The request that began the result of that path, with what is given now in its place.

    Raises UserError if there is nothing of that result.
    """
    if "output" in given:
        raise UserError("--resume writes the file that it resumes", "leave out -o")
    unfinished = find(path)
    result = unfinished.result
    if result.imported is not None:
        raise UserError(f"{path} was imported, not run", "begin a run of your own")
    whole = {"suite": result.suite, **dict.fromkeys(("quick", "only", "tests"))}
    chosen = given.keys() & whole.keys()
    return Request(
        **{
            **(whole if chosen else {**whole, **_selection(result)}),
            "quick": result.run.quick and not chosen,
            "backend": result.backend,
            "device": _device_text(result.device),
            "rounds": result.run.rounds,
            "passes": result.policy.passes,
            "early_stop": result.policy.early_stop,
            "max_seconds_per_test": result.policy.max_seconds,
            "timeout": result.run.timeout_s,
            "memory_fraction": result.options.memory_fraction,
            "seed": result.run.seed,
            "label": result.run.label,
            **_price(result),
            **given,
        },
        unfinished=unfinished,
    )


def _selection(result: Result) -> dict[str, Any]:
    """The options that select a result's tests."""
    asked = result.run.requested
    modes = {spec.mode for spec in TESTS[result.suite] if spec.id in asked}
    return {
        "only": modes.pop() if len(modes) == 1 else None,
        "tests": None if result.run.quick else ",".join(asked),
    }


def _price(result: Result) -> dict[str, Any]:
    cost = result.run.price
    return {} if cost is None else {"price": cost.amount, "currency": cost.currency}


def _device_text(device: DeviceRecord) -> str:
    """What ``choose_device`` takes for this device."""
    if device.automatic:
        return AUTO
    return device.uuid or (
        "cpu" if device.kind is DeviceKind.CPU else f"{device.kind}:{device.index}"
    )


def execute(
    request: Request,
    observer: Observer,
    confirm: Confirm,
    *,
    silence_limit_s: float = SILENCE_LIMIT_S,
    count_oom_kills: Callable[[], int | None] = host.count_oom_kills,
) -> Outcome:
    """Runs what was asked for and writes the result file.

    Ctrl-C or SIGTERM while tests run gives a result marked interrupted. Raises
    UserError, before any test runs, for whatever stands in the way.
    """
    with one_interrupt():
        plan = make_plan(request.suite, quick=request.quick, only=request.only, tests=request.tests)
        unfinished, missing = request.unfinished, None
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
        device, header = _set_up(request, plan, now, observer)
        path = request.output or default_path(now, device.name)
        records: dict[str, TestRecord] = {}
        if unfinished is not None and missing is not None:
            unfinished.require_same(header)
            path, header, records = unfinished.path, unfinished.header(header), unfinished.done
            done = len(plan.tests) - len(missing[1].tests)
            observer.note(f"{done} of {len(plan.tests)} tests are done already")
        job = Job(
            backend=request.backend,
            suite=request.suite,
            device=device,
            options=request.options(),
            policy=request.policy(),
            seed=request.seed,
        )

        with (
            log_directory() as logs,
            open_monitor(device) as monitor,
            closing(_open_journal(path, header, records.values())) as journal,
        ):
            begin = time.monotonic()
            interrupted = _run_rounds(
                plan,
                header,
                records,
                observer,
                lambda tests, number: Runner(
                    tests,
                    job,
                    os.environ,
                    logs,
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
                return Outcome(result, path, _save(result, path, journal))


def _run_rounds(
    plan: Plan,
    header: Result,
    records: dict[str, TestRecord],
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


def _filled(header: Result, plan: Plan, records: Mapping[str, TestRecord]) -> Result:
    """The result with the records so far, in the order of the plan."""
    tests = [records[test.id] for test in plan.tests if test.id in records]
    return header.model_copy(update={"tests": tests})


def _nothing_missing(unfinished: Unfinished, observer: Observer) -> Outcome:
    """The result of a run that was cut off after its last test, or was not cut off."""
    path, journal = unfinished.path, journal_path(unfinished.path)
    observer.note(f"nothing is missing in {path}")
    result = summarise(unfinished.result)
    if journal.exists():
        save(result, path)
        journal.unlink()
    return Outcome(result, path)


def _set_up(
    request: Request, plan: Plan, now: datetime, observer: Observer
) -> tuple[Device, Result]:
    """The device, and the result before its first test; raises UserError if it cannot run."""
    observer.asking(request.backend)
    ready = _ready(request.backend)
    device = choose_device(request.device, ready.devices)
    reading = gpu.read()
    if request.device == AUTO:
        _note_automatic(device, reading, observer)
    variables = worker_environment(os.environ, device, request.options())
    environment = EnvironmentRecord(
        host=host.describe(),
        gpus=reading.gpus,
        software=software.describe(ready.software),
        variables=software.steering_variables(variables),
    )
    return device, _header(request, plan, device, environment, now)


def _ready(backend: str) -> Ready:
    answer = describe_backend(backend)
    if isinstance(answer, Unavailable):
        raise UserError(answer.reason, answer.advice)
    return answer


def _note_automatic(device: Device, reading: gpu.Reading, observer: Observer) -> None:
    observer.note(f"device chosen automatically: {device.name}")
    if device.kind is DeviceKind.CPU and reading.gpus and not hides_gpus(os.environ):
        observer.note(
            f"this machine has an NVIDIA GPU ({reading.gpus[0]['name']}) that the framework"
            " cannot use; pip install 'aiscore[cuda]', then 'aiscore info'"
        )


def _header(
    request: Request,
    plan: Plan,
    device: Device,
    environment: EnvironmentRecord,
    started: datetime,
) -> Result:
    """The result before its first test."""
    policy = request.policy()
    return Result(
        aiscore_version=__version__,
        suite=request.suite,
        protocol=policy.protocol,
        backend=request.backend,
        device=DeviceRecord(**asdict(device), automatic=request.device == AUTO),
        policy=PolicyRecord(**asdict(policy)),
        options=OptionsRecord(**asdict(request.options())),
        environment=environment,
        run=RunRecord(
            id=uuid.uuid4().hex,
            started_at=started.isoformat(timespec="seconds"),
            duration_s=0,
            arguments=list(request.arguments),
            requested=[test.id for test in plan.tests],
            quick=request.quick,
            label=request.label,
            price=request.price_record(),
            seed=request.seed,
            rounds=request.rounds,
            timeout_s=request.timeout_s(),
        ),
        tests=[],
    )


def _open_journal(path: Path, header: Result, records: Iterable[TestRecord]) -> Journal:
    try:
        path.parent.mkdir(exist_ok=True)
        return Journal(journal_path(path), header, records)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {reason}", "choose another place") from error


def _save(result: Result, path: Path, journal: Journal) -> UserError | None:
    """Writes the result file; if that fails, returns why and where the tests are."""
    try:
        save(result, path)
    except UserError as error:
        if journal.whole:
            resume = f"make room, then: aiscore run --resume {path}"
            return UserError(error.problem, f"its tests are in {journal.path}; {resume}")
        return UserError(error.problem, _save_elsewhere(result, path, journal))
    journal.remove()
    return None


def _save_elsewhere(result: Result, path: Path, journal: Journal) -> str:
    """The last resort where the disk took not even the journal; what became of it."""
    lost = f"{journal.path} has only the first of its tests, and there is no other place"
    try:
        directory = Path(tempfile.mkdtemp(prefix="aiscore-"))
    except OSError:
        return lost
    try:
        save(result, directory / path.name)
    except UserError:
        directory.rmdir()
        return lost
    return f"it is in {directory / path.name}"
