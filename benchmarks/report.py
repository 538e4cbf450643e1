"""What a record says: a verdict per test, a geometric mean per score, tables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import ratios
from pairs import Paired, Times
from ratios import Estimate
from record import Record

from aiscore.report.escape import markdown
from aiscore.spec import Mode
from workloads import suite

TESTS = {test.id: test for test in suite.FULL}
GEOMETRIC_MEAN_BAR = 0.03
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Judged:
    """One test: ``ok``; ``off``, its interval wholly outside the bar; ``failed``, not measured."""

    paired: Paired
    ratio: Estimate | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Score:
    """The geometric mean over those tests of a score that were measured: ``ok`` or ``off``."""

    mode: Mode
    ratio: Estimate
    tests: int
    expected: int
    verdict: str


def judge(paired: Paired, bar: float) -> Judged:
    """The verdict of one test."""
    values = paired.ratios()
    ratio = ratios.median(values) if values else None
    if paired.error is not None or ratio is None:
        return Judged(paired, ratio, "failed")
    off = ratio.low > 1 + bar or ratio.high < 1 - bar
    return Judged(paired, ratio, "off" if off else "ok")


def scores(tests: Sequence[Paired]) -> list[Score]:
    """The scores of which at least one test was measured."""
    found = []
    for mode in Mode:
        groups = [p.ratios() for p in tests if p.error is None and TESTS[p.test].mode is mode]
        if groups:
            ratio = ratios.geometric_mean_of_medians(groups)
            verdict = "ok" if abs(ratio.value - 1) <= GEOMETRIC_MEAN_BAR else "off"
            expected = sum(test.mode is mode for test in suite.FULL)
            found.append(Score(mode, ratio, len(groups), expected, verdict))
    return found


def holds(record: Record) -> bool:
    """Whether aiscore is within every bar. The noise is the reader's to judge."""
    verdicts = [judge(test, record.bar).verdict for test in record.tests]
    verdicts += [score.verdict for score in scores(record.tests)]
    return bool(record.tests or record.noise) and all(verdict == "ok" for verdict in verdicts)


def render(record: Record) -> str:
    """The whole record as Markdown."""
    facts = {"started": record.started_at, **record.host, **record.software}
    parts = ["\n".join(f"- {name}: {markdown(value)}" for name, value in facts.items())]
    if record.tests:
        parts += [*_tests(record.tests, record.bar, "aiscore"), _scores(record)]
    if record.unsupported:
        reasons = (f"{id} ({markdown(why)})" for id, why in record.unsupported.items())
        parts.append(f"Not supported by aiscore here: {', '.join(reasons)}.")
    if record.noise:
        parts += ["The original against itself:", *_tests(record.noise, record.bar, "again")]
    return "\n\n".join(parts) + "\n"


def _tests(tests: Sequence[Paired], bar: float, candidate: str) -> list[str]:
    """The ratios, what surrounds the passes, and why tests failed."""
    times = ("original ms", f"{candidate} ms")
    header = ("test", "network", "mode", "pairs", *times, "ratio", "interval", "of", "verdict")
    failed = [
        f"{test.test} failed: {markdown(' / '.join(test.error.splitlines()))}"
        for test in tests
        if test.error is not None
    ]
    return [
        _table(header, [_ratio_row(judge(test, bar)) for test in tests], "lllrrrrlll"),
        f"A test is off if its interval lies wholly outside {1 - bar:.2f} - {1 + bar:.2f}.",
        f"Outside the passes, original / {candidate}:",
        _table(
            ("test", "set-up s", "first pass s", "wall s", "peak MiB"),
            [_around_row(test) for test in tests],
            "lrrrr",
        ),
        *failed,
    ]


def _scores(record: Record) -> str:
    rows = [
        (
            score.mode.value,
            f"{score.tests} of {score.expected}",
            *_estimate(score.ratio),
            score.verdict,
        )
        for score in scores(record.tests)
    ]
    return _table(("score", "tests", "geometric mean", "interval", "of", "verdict"), rows, "llrlll")


def _ratio_row(judged: Judged) -> tuple[str, ...]:
    paired = judged.paired
    spec = TESTS[paired.test]
    times = (_ms(side.passes_s) for side in (paired.reference, paired.candidate))
    ratio = ("-", "-", "-") if judged.ratio is None else _estimate(judged.ratio)
    pairs = str(len(paired.ratios()))
    return (paired.test, spec.title, spec.mode.value, pairs, *times, *ratio, judged.verdict)


def _estimate(ratio: Estimate) -> tuple[str, str, str]:
    return f"{ratio.value:.3f}", f"{ratio.low:.3f} - {ratio.high:.3f}", ratio.kind


def _around_row(paired: Paired) -> tuple[str, ...]:
    original, other = map(_around, (paired.reference, paired.candidate))
    return (paired.test, *(f"{a} / {b}" for a, b in zip(original, other, strict=True)))


def _around(side: Times) -> list[str]:
    seconds = (side.setup_s, side.first_pass_s, side.wall_s)
    peak = _peak_bytes(side)
    shown = ["-" if time is None else f"{time:.2f}" for time in seconds]
    return [*shown, "-" if peak is None else f"{peak / MIB:.0f}"]


def _peak_bytes(side: Times) -> int | None:
    """Of the test on a device with memory of its own, else of the process so far."""
    return side.peak_rss_bytes if side.peak_device_bytes is None else side.peak_device_bytes


def _ms(passes_s: Sequence[float]) -> str:
    """The median with three digits or more."""
    if not passes_s:
        return "-"
    milliseconds = 1000 * median(passes_s)
    decimals = max(0, 2 - math.floor(math.log10(milliseconds)))
    return f"{milliseconds:.{decimals}f}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """A Markdown table that reads well as plain text too; ``align`` is l or r per column."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    sides = list(zip(widths, align, strict=True))
    rule = ["-" * (width + 1) + (":" if side == "r" else "-") for width, side in sides]

    def line(cells: Sequence[str]) -> str:
        padded = (
            f" {cell:>{width}} " if side == "r" else f" {cell:<{width}} "
            for cell, (width, side) in zip(cells, sides, strict=True)
        )
        return f"|{'|'.join(padded)}|"

    return "\n".join([line(header), f"|{'|'.join(rule)}|", *map(line, rows)])
