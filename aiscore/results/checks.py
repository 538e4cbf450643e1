"""What a result gives the validity checks, and what they say of it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from aiscore.results.model import (
    CheckRecord,
    DeviceRecord,
    EnvironmentRecord,
    RoundRecord,
    TelemetryRecord,
    TestRecord,
    TestSummary,
)
from aiscore.scoring import validity
from aiscore.scoring.roofline import Bound
from aiscore.scoring.validity import Check
from aiscore.spec import DeviceKind, Status

WATCHED: dict[validity.Rule, Callable[[TelemetryRecord], float | None]] = {
    validity.THROTTLED: lambda telemetry: telemetry.shares.get("gpu_throttled"),
    validity.CPU_THROTTLED: lambda telemetry: telemetry.totals.get("cpu_core_throttles"),
    validity.OTHER_LOAD: lambda telemetry: _median(telemetry, "cpu_others_share"),
    validity.STOLEN_TIME: lambda telemetry: _median(telemetry, "cpu_stolen_share"),
    validity.OTHER_GPU_PROCESSES: lambda telemetry: _highest(telemetry, "gpu_other_processes"),
}
AGAINST_THE_ROOF = {
    validity.HOST_BOUND: Bound.HOST,
    validity.FASTER_THAN_PEAK: Bound.ARITHMETIC,
}
FACTS = {"power_source": validity.ON_BATTERY, "governor": validity.POWERSAVE_GOVERNOR}
UNREAD = "unknown"


class Checked(Protocol):
    """What checks look at: a result, or a sweep."""

    @property
    def device(self) -> DeviceRecord:
        """What ran."""
        ...

    @property
    def environment(self) -> EnvironmentRecord:
        """Where it ran."""
        ...

    @property
    def tests(self) -> Sequence[TestRecord]:
        """What was run."""
        ...


def make_checks(result: Checked, tests: Sequence[TestSummary]) -> list[CheckRecord]:
    """Every check that the result and the figures of its tests have an input for."""
    return [*make_checks_of_tests(result, tests), *map(_record, _of_facts(result))]


def make_checks_of_tests(result: Checked, tests: Sequence[TestSummary]) -> list[CheckRecord]:
    """The same without those of the machine as a whole."""
    made: list[Check | None] = [
        *_of_passes(result),
        _of_device_memory(result),
        *(validity.judge(rule, _by_test(result.tests, figure)) for rule, figure in WATCHED.items()),
        *(validity.judge(rule, _shares(tests, of)) for rule, of in AGAINST_THE_ROOF.items()),
    ]
    return [_record(check) for check in made if check]


def _record(check: Check) -> CheckRecord:
    return CheckRecord.model_validate(check, from_attributes=True)


def _of_passes(result: Checked) -> Iterable[Check | None]:
    passes = {
        test.id: [record for record in _judged(test) if record.passes_s] for test in result.tests
    }
    timeless = {
        test: sum(time <= 0 for record in found for time in record.passes_s)
        for test, found in passes.items()
        if found
    }
    rounds = {
        test.id: passes[test.id]
        for test in result.tests
        if test.status is Status.OK and timeless.get(test.id) == 0
    }
    yield validity.judge(validity.NOISY, _worst(validity.relative_spread, rounds))
    yield validity.judge(validity.NOT_STEADY, _worst(validity.warm_up_share, rounds))
    yield validity.judge(
        validity.FIRST_PASS_INCLUDED,
        {
            test: sum(len(record.passes_s) == 1 for record in found)
            for test, found in rounds.items()
        },
    )
    yield validity.judge(validity.CLOCK_TROUBLE, timeless)


def _judged(test: TestRecord) -> list[RoundRecord]:
    """What its figures stand on; of a test that is not ok, all that there is."""
    return test.ok_rounds if test.status is Status.OK else test.rounds


def _worst(
    figure: Callable[[Sequence[float]], float], rounds: dict[str, list[RoundRecord]]
) -> dict[str, float]:
    """The highest figure of any round with at least two passes that count, by test."""
    figures = {
        test: [figure(counted) for record in found if len(counted := record.counted_s) > 1]
        for test, found in rounds.items()
    }
    return {test: max(found) for test, found in figures.items() if found}


def _of_device_memory(result: Checked) -> Check | None:
    memory = result.device.memory_bytes
    if not memory or result.device.kind is DeviceKind.CPU:
        return None
    peaks = {
        test.id: max(record.peak_device_bytes or 0 for record in test.rounds) / memory
        for test in result.tests
        if any(record.peak_device_bytes for record in test.rounds)
    }
    return validity.judge(validity.SPILLED, peaks)


def _by_test(
    tests: Iterable[TestRecord], figure: Callable[[TelemetryRecord], float | None]
) -> dict[str, float]:
    """The highest figure of any round, by test."""
    figures = {
        test.id: [
            value
            for record in test.rounds
            if record.telemetry and (value := figure(record.telemetry)) is not None
        ]
        for test in tests
    }
    return {test: max(found) for test, found in figures.items() if found}


def _shares(tests: Iterable[TestSummary], resource: Bound) -> dict[str, float]:
    """The share of the time that the resource needs, by test."""
    return {
        test.id: test.roof_shares[resource]
        for test in tests
        if test.roof_shares and resource in test.roof_shares
    }


def _median(telemetry: TelemetryRecord, name: str) -> float | None:
    series = telemetry.series.get(name)
    return None if series is None else series.median


def _highest(telemetry: TelemetryRecord, name: str) -> float | None:
    series = telemetry.series.get(name)
    return None if series is None else series.max


def _of_facts(result: Checked) -> Iterable[Check]:
    host = dict(result.environment.host)
    on_battery = _by_test(result.tests, lambda telemetry: telemetry.shares.get("on_battery"))
    if any(on_battery.values()):
        host["power_source"] = validity.ON_BATTERY.word  # unplugged while it ran
    for name, ban in FACTS.items():
        if name in host and not host[name].startswith(UNREAD):
            yield validity.judge_fact(ban, host[name])
