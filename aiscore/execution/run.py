"""A run from the request to the result file: what the command line and Python share."""

import math
import os
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from aiscore import __version__
from aiscore.errors import UserError
from aiscore.execution.devices import choose_device, describe_backend, hides_gpus
from aiscore.execution.interrupts import one_interrupt, uninterrupted
from aiscore.execution.journal import Journal, journal_path
from aiscore.execution.memory import shortage
from aiscore.execution.output import DIRECTORY, Confirm, check_directory, check_file, default_path
from aiscore.execution.plan import Plan, make_plan
from aiscore.execution.process import SILENCE_LIMIT_S, worker_environment
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
)
from aiscore.results.prices import price
from aiscore.results.store import save
from aiscore.results.summary import summarise
from aiscore.spec import Device, DeviceKind, Mode, Options, Policy, Suite
from aiscore.system import gpu, host, software
from aiscore.system.monitor import open_monitor

QUICK_PASSES = 3
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
    passes: int | None = None
    max_seconds_per_test: float | None = None
    memory_fraction: float | None = None
    seed: int = 0
    label: str | None = None
    price: float | None = None
    currency: str | None = None
    output: Path | None = None
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.passes is not None and self.passes < 1:
            raise UserError(f"{self.passes} passes measure nothing", "ask for 1 or more")
        seconds = self.max_seconds_per_test
        if seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
            raise UserError(f"{seconds} s is not a time limit", "give a number of seconds")
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
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result, and the file that holds it."""

    result: Result
    path: Path


def execute(
    request: Request,
    observer: Observer,
    confirm: Confirm,
    *,
    silence_limit_s: float = SILENCE_LIMIT_S,
    count_oom_kills: Callable[[], int | None] = host.count_oom_kills,
) -> Outcome:
    """Runs what was asked for and writes the result file.

    Ctrl-C while tests run gives a result marked interrupted. Raises UserError,
    before any test runs, for whatever stands in the way.
    """
    plan = make_plan(request.suite, quick=request.quick, only=request.only, tests=request.tests)
    if request.output is None:
        check_directory(DIRECTORY)
    else:
        check_file(request.output, confirm)
    observer.asking(request.backend)
    ready = _ready(request.backend)
    device = choose_device(request.device, ready.devices)
    reading = gpu.read()
    if request.device == AUTO:
        _note_automatic(device, reading, observer)

    started = datetime.now(UTC)
    begin = time.monotonic()
    path = request.output or default_path(started, device.name)
    options = Options(memory_fraction=request.memory_fraction)
    variables = worker_environment(os.environ, device, options)
    environment = EnvironmentRecord(
        host=host.describe(),
        gpus=reading.gpus,
        software=software.describe(ready.software),
        variables=software.steering_variables(variables),
    )
    header = _header(request, plan, device, environment, started)
    journal = _open_journal(path, header)
    job = Job(
        backend=request.backend,
        suite=request.suite,
        device=device,
        options=options,
        policy=request.policy(),
        seed=request.seed,
    )
    with one_interrupt():
        with (
            tempfile.TemporaryDirectory(prefix="aiscore-") as logs,
            open_monitor(device) as monitor,
        ):
            runner = Runner(
                plan,
                job,
                os.environ,
                Path(logs),
                journal,
                observer,
                shortage(request.backend, device, options),
                monitor,
                silence_limit_s=silence_limit_s,
                count_oom_kills=count_oom_kills,
            )
            runner.run()
        with uninterrupted():
            end = {"duration_s": time.monotonic() - begin, "interrupted": runner.interrupted}
            run = header.run.model_copy(update=end)
            result = summarise(header.model_copy(update={"run": run, "tests": runner.records}))
            _save(result, path, journal)
    return Outcome(result, path)


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
        options=OptionsRecord(memory_fraction=request.memory_fraction),
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
        ),
        tests=[],
    )


def _open_journal(path: Path, header: Result) -> Journal:
    try:
        path.parent.mkdir(exist_ok=True)
        return Journal(journal_path(path), header)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {reason}", "choose another place") from error


def _save(result: Result, path: Path, journal: Journal) -> None:
    try:
        save(result, path)
    except OSError as error:
        journal.close()
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot write {path}: {reason}", f"the finished tests are in {journal.path}"
        ) from error
    journal.remove()
