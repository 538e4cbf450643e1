"""What the page tells of a result when its row is opened: finished texts for its script."""

from collections.abc import Sequence
from dataclasses import dataclass

from aiscore.report import rows
from aiscore.results.model import Result, TestSummary
from aiscore.spec import Protocol
from workloads.suite import TESTS

ROOF = ("TFLOP/s", "Of peak", "Bound by")
NOT_STEADY = "* not steady: it still warmed up when its passes counted"
BOTH = (
    "Classic passes start and end in the host's memory, resident ones on the device. Host: the part"
    " of the classic time that the resident one lacks. What stands to the right of it is of the"
    " classic time."
)

Lines = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Details:
    """Its checks (passed or not, name, finding), failures, and tests: headings and lines."""

    checks: Sequence[tuple[bool, str, str]]
    failures: Lines
    headings: Sequence[str]
    tests: Lines
    notes: Sequence[str]


def details(result: Result) -> Details:
    """Of a result under one or both protocols; columns of which nothing is known are left out."""
    headings, lines = _both_protocols(result) if result.resident else _one_protocol(result)
    known = [index for index, _ in enumerate(headings) if any(line[index] for line in lines)]
    unsteady = any(test.steady is False for _, half in rows.halves(result) for test in half.tests)
    return Details(
        checks=_checks(result),
        failures=[
            (", ".join(tests), f"{status} ({reason})")
            for status, reason, tests in rows.failures(result)
        ],
        headings=[headings[index] for index in known],
        tests=[[line[index] for index in known] for line in lines],
        notes=[*([BOTH] if result.resident else []), *([NOT_STEADY] if unsteady else [])],
    )


def _checks(result: Result) -> list[tuple[bool, str, str]]:
    return [
        (
            check.ok,
            f"{rows.within(result, part)}{rows.check_title(check)}",
            rows.check_finding(check) + ("" if check.ok else f"; {check.advice}"),
        )
        for part, half in rows.halves(result)
        for check in half.checks
    ]


def _one_protocol(result: Result) -> tuple[Sequence[str], Lines]:
    """The tests that have a time."""
    kind = "Mean" if result.protocol is Protocol.CLASSIC else "Median"
    return ("Test", "Mode", "Passes", f"{kind} ± std, ms", *ROOF, "Score"), [
        (
            f"{test.id} {test.network}",
            test.mode.value,
            "" if test.passes is None else str(test.passes),
            _time(test),
            *rows.roof_cells(test),
            _score(test),
        )
        for test in rows.test_rows(result)
    ]


def _both_protocols(result: Result) -> tuple[Sequence[str], Lines]:
    """The tests that have a time under either protocol."""
    classic, resident = (
        {test.id: test for test in half.tests if test.time_ms is not None}
        for _, half in rows.halves(result)
    )
    summary = rows.summary_of(result).resident
    host_share = summary.host_share if summary else {}
    return ("Test", "Mode", "Classic ± std, ms", "Resident ± std, ms", "Host", *ROOF, "Score"), [
        (
            f"{spec.id} {spec.title}",
            spec.mode.value,
            _time(classic.get(spec.id)),
            _time(resident.get(spec.id)),
            rows.percent(host_share[spec.id]) if spec.id in host_share else "",
            *rows.roof_cells(classic.get(spec.id)),
            _score(classic.get(spec.id)),
        )
        for spec in TESTS[result.suite]
        if spec.id in classic or spec.id in resident
    ]


def _time(test: TestSummary | None) -> str:
    """The time that counts and its spread, with a star if warming up is a part of it."""
    if test is None:
        return ""
    known = [figure for figure in (test.time_ms, test.std_ms) if figure is not None]
    return " ± ".join(rows.milliseconds(*known)) + (" *" if test.steady is False else "")


def _score(test: TestSummary | None) -> str:
    return "" if test is None or test.score is None else f"{test.score:,}"
