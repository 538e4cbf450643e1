"""The rows of every table, and the documents of ``--json``: plain data, no layout."""

from typing import Any

from aiscore.results.model import Result, ScoreRecord, Summary, TestSummary
from aiscore.results.summary import derive

Cell = str | int | float | None

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
        "scores": {
            name: record and record.model_dump(mode="json")
            for name, record in summary.scores.items()
        },
        "checks": [],
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
        ("Started", run.started_at),
        ("Status", status_text(result)),
    ]
    return [("Label", run.label), *rows] if run.label else rows


def _versions(result: Result) -> list[str]:
    """The version of the framework that the backend is called after, if it is known."""
    version = result.environment.software.get(result.backend)
    return [version] if version else []


def status_text(result: Result) -> str:
    """The status in a few words, a part never without its size."""
    summary = summary_of(result)
    if summary.status == "complete":
        return "complete"
    records = {name: record for name, record in summary.scores.items() if record}
    whole = records.get("micro") or records["ai"]
    kind = "partial, interrupted" if summary.status == "interrupted" else "partial"
    quick = ", the quick subset" if result.run.quick else ""
    return f"{kind} ({whole.tests_ok} of {whole.tests_expected}){quick}"


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


def score_rows(result: Result) -> list[tuple[str, str, str]]:
    """Title, figure and the count of tests behind it, for each score of the suite."""
    return [
        (SCORE_TITLES[name], score_text(record), f"{record.tests_ok} of {record.tests_expected}")
        for name, record in summary_of(result).scores.items()
        if record
    ]


def score_text(record: ScoreRecord) -> str:
    """The score, or what there is instead of one, and never one for the other."""
    if record.value is not None:
        return str(record.value)
    if record.estimate is not None and record.estimate_error is not None:
        return f"about {record.estimate} (estimate, +-{record.estimate_error:.0%})"
    if record.partial_value is not None:
        return f"none ({record.partial_value} over the tests that ran)"
    return "none"
