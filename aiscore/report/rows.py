"""The rows of every table, and the documents of ``--json``: plain data, no layout."""

from collections.abc import Mapping, Sequence
from math import ceil, floor
from typing import Any

from aiscore.results.model import (
    CheckRecord,
    ImportRecord,
    Result,
    ScoreRecord,
    Summary,
    TestSummary,
)
from aiscore.results.reference import peak_memory_bytes, reference_ms
from aiscore.results.summary import LEADERBOARD_BACKEND, derive, whole_rounds
from aiscore.results.worth import Worth, score_per, worth
from aiscore.scoring.stats import ROUNDS_THAT_TELL
from aiscore.spec import KNOWN_KINDS, Suite, TestSpec
from workloads.suite import NETWORKS, TESTS

Priced = tuple[Mapping[str, int | None], Worth]
"""A side's scores, and what they are set against."""

QUANTITIES = {
    "price": "price",
    "power_w": "watt drawn",
    "power_limit_w": "watt of power limit",
    "memory_gib": "GiB of memory",
}
SCORE_TITLES = {
    "inference": "Inference score",
    "training": "Training score",
    "ai": "AI score",
    "micro": "Micro score",
}


def summary_of(result: Result) -> Summary:
    """The result's summary, made now if it has none."""
    return result.summary or derive(result)


def show_document(result: Result) -> dict[str, Any]:
    """What ``aiscore show --json`` prints; docs/result-file.md explains the keys."""
    summary = summary_of(result)
    return {
        "schema_version": result.schema_version,
        "aiscore_version": result.aiscore_version,
        "suite": result.suite.value,
        "suite_sha256": result.suite_sha256,
        "protocol": result.protocol.value,
        "backend": result.backend,
        "label": result.run.label,
        "started_at": result.run.started_at,
        "quick": result.run.quick,
        "status": summary.status,
        "comparable_with_leaderboard": summary.comparable_with_leaderboard,
        "not_comparable_because": summary.not_comparable_because,
        "device": result.device.model_dump(mode="json"),
        "policy": result.policy.model_dump(mode="json"),
        "options": result.options.model_dump(mode="json"),
        "environment": result.environment.model_dump(mode="json"),
        "imported": result.imported and result.imported.model_dump(mode="json"),
        "price": result.run.price and result.run.price.model_dump(mode="json"),
        "scores": {
            name: record and record.model_dump(mode="json")
            for name, record in summary.scores.items()
        },
        "score_per": score_per(_values(result), worth(result)),
        "checks": [check.model_dump(mode="json") for check in summary.checks],
        "tests": [test.model_dump(mode="json") for test in summary.tests],
    }


def headline(result: Result) -> list[tuple[str, str]]:
    """What the result is: name and value, in reading order."""
    device, run = result.device, result.run
    chosen = ", chosen automatically" if device.automatic else ""
    rows = [
        ("Device", f"{device.name} ({device.kind.value} {device.index}{chosen})"),
        ("Suite", f"{result.suite.value}, {result.protocol.value} protocol"),
        ("Backend", ", ".join([result.backend, *_versions(result)])),
        ("Started", ", resumed ".join([run.started_at, *run.resumed_at])),
        ("Rounds", rounds_text(result)),
        ("Status", status_text(result)),
        ("Checks", checks_text(result)),
    ]
    if run.price:
        rows.append(("Price", f"{run.price.amount:g} {run.price.currency}"))
    if result.imported:
        rows.append(("Imported", _origin(result.imported)))
    return [("Label", run.label), *rows] if run.label else rows


def _origin(imported: ImportRecord) -> str:
    """The log, and what it printed as scores, which are not the result's."""
    version = f" of ai-benchmark {imported.version}" if imported.version else ""
    printed = ", ".join(f"{name} {value}" for name, value in imported.printed_scores.items())
    return (
        f"from the log {imported.log}{version}, lines {imported.first_line} to"
        f" {imported.last_line}; it printed {printed or 'no score'}"
    )


def _versions(result: Result) -> list[str]:
    """The version of the framework that the backend is called after, if it is known."""
    version = result.environment.software.get(result.backend)
    return [version] if version else []


def status_text(result: Result) -> str:
    """The status in a few words, a part never without its size."""
    summary = summary_of(result)
    if summary.status == "complete":
        return "complete"
    _, whole = main_score(result)
    if whole.tests_ok == whole.tests_expected:
        return "complete, interrupted in a later round"
    kind = "partial, interrupted" if summary.status == "interrupted" else "partial"
    quick = ", the quick subset" if result.run.quick else ""
    return f"{kind} ({whole.tests_ok} of {whole.tests_expected}){quick}"


def main_score(result: Result) -> tuple[str, ScoreRecord]:
    """The score over all tests of the suite: its name and what there is of it."""
    records = {name: record for name, record in summary_of(result).scores.items() if record}
    name = "micro" if "micro" in records else "ai"
    return name, records[name]


def failed_checks(result: Result) -> list[CheckRecord]:
    """What speaks against believing the result."""
    return [check for check in summary_of(result).checks if not check.ok]


def checks_text(result: Result) -> str:
    """How many of the validity checks failed, and which."""
    made, failed = summary_of(result).checks, failed_checks(result)
    if not made:
        return "none could be made"
    if not failed:
        return f"all {len(made)} passed"
    names = ", ".join(check_title(check) for check in failed)
    return f"{len(failed)} of {len(made)} failed: {names}"


def check_title(check: CheckRecord) -> str:
    """Its name in words."""
    return check.name.replace("_", " ")


def check_text(check: CheckRecord) -> str:
    """A failed check in a sentence: what was found, where, and what to do."""
    value, limit = (
        f"{figure:.3g}" if isinstance(figure, float) else figure
        for figure in (check.value, check.limit)
    )
    found = f"{check.meaning} is {value}, the limit {limit}"
    where = f" ({', '.join(check.tests)})" if check.tests else ""
    return f"{check_title(check)}: {found}{where}; {check.advice}"


def test_rows(result: Result) -> list[TestSummary]:
    """The tests that have a time."""
    return [test for test in summary_of(result).tests if test.mean_ms is not None]


def failures(result: Result) -> list[tuple[str, str, list[str]]]:
    """Status, reason and the tests that ended so, in the order of the suite."""
    groups: dict[tuple[str, str], list[str]] = {}
    for test, summary in zip(result.tests, summary_of(result).tests, strict=True):
        if summary.mean_ms is None:
            reason = f"{test.error.type}: {test.error.message}" if test.error else "no reason given"
            groups.setdefault((test.status.value, reason), []).append(test.id)
    return [(status, reason, tests) for (status, reason), tests in groups.items()]


def milliseconds(*values: float | None) -> list[str]:
    """Times with as many decimals as the first of them deserves."""
    decimals = 1 if (values[0] or 0) >= 10 else 2
    return ["-" if value is None else f"{value:.{decimals}f}" for value in values]


def score_rows(result: Result) -> list[tuple[str, str, str]]:
    """Title, figure and the count of tests behind it, for each score of the suite."""
    return [
        (SCORE_TITLES[name], score_text(record), f"{record.tests_ok} of {record.tests_expected}")
        for name, record in summary_of(result).scores.items()
        if record
    ]


def value_rows(result: Result) -> list[list[str]]:
    """What the scores are per price, watt and GiB, as far as these are known."""
    return value_lines([(_values(result), worth(result))])


def value_lines(sides: Sequence[Priced]) -> list[list[str]]:
    """A line for each score and quantity that a side has: its title, then a cell for each side."""
    return [
        [
            f"{SCORE_TITLES[name]} per {QUANTITIES[of]}",
            *(per_text(value_of(side, name, of), side[1], of) for side in sides),
        ]
        for name, of in value_keys(sides)
    ]


def value_keys(sides: Sequence[Priced]) -> list[tuple[str, str]]:
    """Score and quantity, where a side has both."""
    return [
        (name, of)
        for of in QUANTITIES
        for name in SCORE_TITLES
        if any(value_of(side, name, of) is not None for side in sides)
    ]


def value_of(side: Priced, name: str, of: str) -> float | None:
    """That score of the side for one of that quantity, None if either is not known."""
    return score_per(*side).get(name, {}).get(of)


def per_text(value: float | None, known: Worth, of: str) -> str:
    """What there is of a score for one of a quantity; a price has its currency."""
    if value is None:
        return "-"
    currency = f" / {known.price.currency}" if known.price and of == "price" else ""
    return f"{three_digits(value)}{currency}"


def three_digits(value: float) -> str:
    """As many decimals as three digits leave."""
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{decimals}f}"


def _values(result: Result) -> dict[str, int | None]:
    return {name: record.value for name, record in summary_of(result).scores.items() if record}


def score_text(record: ScoreRecord) -> str:
    """The score, or what there is instead of one, and never one for the other."""
    if record.value is not None:
        return f"{record.value}{_rounds_interval(record)}"
    if record.estimate is not None and record.estimate_error is not None:
        return f"about {record.estimate} (estimate, +-{record.estimate_error:.0%})"
    if record.partial_value is not None:
        return f"none ({record.partial_value} over the tests that ran)"
    return "none"


def _rounds_interval(record: ScoreRecord) -> str:
    """Where the score of the next rounds is to be expected; nothing where that is not known."""
    if record.interval is None or record.interval_kind != "rounds":
        return ""
    low, high = record.interval
    return f" (95 % over rounds: {floor(low)} to {ceil(high)})"


def suite_document(suite: Suite) -> dict[str, Any]:
    """What ``aiscore tests --json`` prints; parameters are those that training updates."""
    reference = reference_ms(suite)
    peaks = {kind: peak_memory_bytes(LEADERBOARD_BACKEND, kind) for kind in KNOWN_KINDS}
    return {
        "suite": suite.value,
        "tests": [
            {
                "id": spec.id,
                "network": spec.network,
                "title": spec.title,
                "mode": spec.mode.value,
                "batch": spec.batch,
                "input": list(spec.input),
                "target": spec.target and list(spec.target),
                "gflop": spec.gflop,
                "parameters": NETWORKS[spec.network].parameters,
                "ref_ms": reference[spec.id],
                "peak_memory_bytes": {
                    kind.value: known.get(spec.id) for kind, known in peaks.items()
                },
            }
            for spec in TESTS[suite]
        ],
    }


def published_facts(results: Sequence[Result]) -> list[list[str]]:
    """What each result is and its scores: a title and a text for each result."""
    facts = [dict(headline(result)) for result in results]
    named = (
        "Label",
        "Device",
        "Suite",
        "Backend",
        "Started",
        "Status",
        "Checks",
        "Price",
        "Imported",
    )
    scores = [{title: figure for title, figure, _ in score_rows(result)} for result in results]
    comparable = [
        "yes" if not (reasons := summary_of(result).not_comparable_because) else "; ".join(reasons)
        for result in results
    ]
    return [
        *(
            [title, *(fact.get(title, "") for fact in facts)]
            for title in named
            if any(title in fact for fact in facts)
        ),
        *(
            [title, *(score.get(title, "") for score in scores)]
            for title in SCORE_TITLES.values()
            if any(title in score for score in scores)
        ),
        *value_lines([(_values(result), worth(result)) for result in results]),
        ["Rounds", *(rounds_text(result) for result in results)],
        ["On the leaderboard's scale", *comparable],
    ]


def rounds_text(result: Result) -> str:
    """In how many fresh processes each test ran, and what so few cannot tell."""
    if result.imported:
        return "as a log printed it (how much runs differ was not measured)"
    whole, asked = len(whole_rounds(result)), result.run.rounds
    most = f" of at most {asked}" if whole < asked > 1 else ""
    known = "" if whole >= ROUNDS_THAT_TELL else " (how much runs differ was not measured)"
    return f"{whole}{most}{known}"


def published_tests(results: Sequence[Result]) -> list[tuple[TestSpec, list[TestSummary | None]]]:
    """Each test that a result has, with what became of it in each."""
    found = [{test.id: test for test in summary_of(result).tests} for result in results]
    return [
        (spec, [tests.get(spec.id) for tests in found])
        for suite in TESTS.values()
        for spec in suite
        if any(spec.id in tests for tests in found)
    ]
