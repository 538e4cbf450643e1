"""Score tables for other programs and pages: Markdown, CSV and JSON."""

import csv
import io
import json
from collections.abc import Callable, Sequence

from aiscore.report import escape, rows
from aiscore.results.model import Result, TestSummary
from aiscore.results.subject import under

FIGURES = ("status", "passes", "first_ms", "mean_ms", "median_ms", "std_ms", "score")


def to_markdown(results: Sequence[Result]) -> str:
    """Two tables: what the results are and their scores, then their times."""
    results = _parts(results)
    names = _names(results)
    facts = markdown_table(["", *names], rows.published_facts(results))
    tests = markdown_table(
        ["test", "network", "mode", *(f"{name}, ms" for name in names)],
        [
            [spec.id, spec.title, spec.mode.value, *(_time(test) for test in found)]
            for spec, found in rows.published_tests(results)
        ],
    )
    return f"{facts}\n{tests}"


def markdown_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table whose cells show their text and nothing else."""
    cells = [[escape.markdown(cell) for cell in line] for line in (header, *lines)]
    rule = ["---"] * len(header)
    return "".join(f"| {' | '.join(line)} |\n" for line in (cells[0], rule, *cells[1:]))


def _time(test: TestSummary | None) -> str:
    """The time that counts and the spread, or why there is none."""
    if test is None:
        return "-"
    if test.time_ms is None:
        return test.status.value
    time, std = rows.milliseconds(test.time_ms, test.std_ms)
    return f"{time} ± {std}{' (not steady)' if test.steady is False else ''}"


def to_csv(results: Sequence[Result]) -> str:
    """One table, a column for each result: facts and scores, then figures by test."""
    results = _parts(results)
    lines = [["item", "figure", *_names(results)]]
    lines += [
        [title, "", *("" if cell == "-" else cell for cell in cells)]
        for title, *cells in rows.published_facts(results)
    ]
    for spec, found in rows.published_tests(results):
        item = f"{spec.id} {spec.title} {spec.mode.value}"
        lines += [
            [item, field, *("" if test is None else _figure(test, field) for test in found)]
            for field in FIGURES
        ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([escape.csv_cell(cell) for cell in line] for line in lines)
    return text.getvalue()


def _figure(test: TestSummary, field: str) -> str:
    value = getattr(test, field)
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


def to_json(results: Sequence[Result]) -> str:
    """The documents of ``aiscore show --json``, in a list."""
    return (
        json.dumps({"results": [rows.show_document(result) for result in results]}, indent=1) + "\n"
    )


FORMATS: dict[str, Callable[[Sequence[Result]], str]] = {
    "markdown": to_markdown,
    "csv": to_csv,
    "json": to_json,
}


def _parts(results: Sequence[Result]) -> list[Result]:
    """A result for each protocol of each."""
    return [part for result in results for part in result.parts]


def _names(results: Sequence[Result]) -> list[str]:
    """Label or device, and the protocol if it is not the leaderboard's; numbered if the same."""
    names = [under(result.protocol, result.run.label or result.device.name) for result in results]
    return [
        f"{name} ({names[: index + 1].count(name)})" if names.count(name) > 1 else name
        for index, name in enumerate(names)
    ]
