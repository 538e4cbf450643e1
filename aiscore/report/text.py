"""Tables for a terminal: plain text, no colour, 80 columns where the content allows."""

import textwrap
from collections.abc import Iterable, Sequence

import tabulate

from aiscore.report import rows
from aiscore.report.escape import terminal
from aiscore.results.model import Result

WIDTH = 80
tabulate.MIN_PADDING = 0  # a header takes no more room than it needs


def render_result(result: Result) -> str:
    """A whole result: what it is, its tests, what failed and why, its scores."""
    parts = [
        _facts(rows.headline(result)),
        _tests(result),
        _failures(result),
        _table(("score", "", "tests ok"), rows.score_rows(result), "lll"),
        _not_comparable(result),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    return "\n".join(_wrapped(f"{name:<9}", value) for name, value in facts)


def _tests(result: Result) -> str:
    tests = rows.test_rows(result)
    lines = [
        (
            test.id,
            test.network,
            test.mode.value,
            str(test.passes),
            *milliseconds(test.mean_ms, test.std_ms, test.median_ms),
            "-" if test.score is None else str(test.score),
        )
        for test in tests
    ]
    header = ("test", "network", "mode", "passes", "mean ms", "std", "median", "score")
    return _table(header, lines, "lllrrrrr") if lines else ""


def _failures(result: Result) -> str:
    """Each reason once, with the tests that it stopped."""
    return "\n".join(
        _wrapped("Not ok: ", f"{', '.join(tests)}: {status} ({reason})")
        for status, reason, tests in rows.failures(result)
    )


def _not_comparable(result: Result) -> str:
    summary = rows.summary_of(result)
    if summary.comparable_with_leaderboard:
        return "Comparable with the leaderboard."
    reasons = "; ".join(summary.not_comparable_because)
    return _wrapped("", f"Not comparable with the leaderboard: {reasons}.")


def milliseconds(*values: float | None) -> list[str]:
    """Times with as many decimals as the first of them deserves."""
    decimals = 1 if (values[0] or 0) >= 10 else 2
    return ["-" if value is None else f"{value:.{decimals}f}" for value in values]


def _table(header: Sequence[str], lines: Iterable[Sequence[str]], align: str) -> str:
    names = {"l": "left", "r": "right"}
    shown = tabulate.tabulate(
        [[terminal(cell) for cell in line] for line in lines],
        headers=header,
        disable_numparse=True,
        colalign=[names[letter] for letter in align],
    )
    return "\n".join(line.rstrip() for line in shown.splitlines())


def _wrapped(first: str, text: str) -> str:
    return textwrap.fill(
        terminal(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
    )
