"""What the pairs say: a verdict per test, a geometric mean per score, a table."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import ratios
import tabulate
from pairs import Paired, Times
from ratios import Estimate

from aiscore.report.escape import markdown
from aiscore.spec import Mode
from workloads import suite

TESTS = {test.id: test for test in suite.FULL}
GEOMETRIC_MEAN_BAR = 0.03
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Judged:
    """One test. ``off``: its interval lies wholly outside the bar."""

    paired: Paired
    ratio: Estimate | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Score:
    """The geometric mean over the tests of one score that were measured."""

    mode: Mode
    ratio: Estimate
    tests: int
    expected: int
    verdict: str


def judge(paired: Paired, bar: float) -> Judged:
    """Verdicts: ``ok``, ``off``, or ``failed`` for a side that did not get through."""
    values = paired.ratios()
    ratio = ratios.median(values) if values else None
    if paired.error is not None or ratio is None:
        return Judged(paired, ratio, "failed")
    off = ratio.low > 1 + bar or ratio.high < 1 - bar
    return Judged(paired, ratio, "off" if off else "ok")


def scores(tests: Iterable[Paired]) -> list[Score]:
    """Of each score of which a test was measured to its end."""
    tests = list(tests)
    found = []
    for mode in Mode:
        groups = [p.ratios() for p in tests if p.error is None and TESTS[p.test].mode is mode]
        if groups:
            ratio = ratios.geometric_mean_of_medians(groups)
            verdict = "ok" if abs(ratio.value - 1) <= GEOMETRIC_MEAN_BAR else "off"
            expected = sum(test.mode is mode for test in suite.FULL)
            found.append(Score(mode, ratio, len(groups), expected, verdict))
    return found


def render(tests: Sequence[Judged], candidate: str) -> str:
    """Markdown: ratios, what surrounds the passes, and why tests failed."""
    parts = [
        _table(
            (
                ("test", "network", "mode", "pairs", "original ms", f"{candidate} ms", "ratio")
                + ("interval", "of", "verdict")
            ),
            [_ratio_row(test) for test in tests],
            "lllrrrrlll",
        ),
        _table(
            ("test", "set-up s", "", "first pass s", "", "wall s", "", "peak MiB", ""),
            [("", *("original", candidate) * 4)] + [_around_row(test.paired) for test in tests],
            "lrrrrrrrr",
        ),
        *(
            f"{test.paired.test} failed: {markdown(line)}"
            for test in tests
            if test.paired.error is not None
            for line in [" / ".join(test.paired.error.splitlines())]
        ),
    ]
    return "\n\n".join(parts) + "\n"


def render_scores(found: Sequence[Score]) -> str:
    """Markdown: the geometric mean over each score."""
    rows = [
        (score.mode.value, f"{score.tests} of {score.expected}", *_estimate(score.ratio), score.verdict)
        for score in found
    ]
    return _table(("score", "tests", "geometric mean", "interval", "of", "verdict"), rows, "llrlll")


def _ratio_row(test: Judged) -> tuple[str, ...]:
    paired = test.paired
    spec = TESTS[paired.test]
    times = [_ms(side.passes_s) for side in (paired.reference, paired.candidate)]
    estimate = ("-", "-", "-") if test.ratio is None else _estimate(test.ratio)
    pairs = str(len(paired.ratios()))
    return (paired.test, spec.title, spec.mode.value, pairs, *times, *estimate, test.verdict)


def _estimate(ratio: Estimate) -> tuple[str, str, str]:
    return f"{ratio.value:.3f}", f"{ratio.low:.3f} - {ratio.high:.3f}", ratio.kind


def _around_row(paired: Paired) -> tuple[str, ...]:
    sides = (paired.reference, paired.candidate)

    def both(name: str) -> list[str]:
        values = [getattr(side, name) for side in sides]
        return ["-" if value is None else f"{value:.2f}" for value in values]

    memory = ["-" if (peak := _peak_bytes(s)) is None else f"{peak / MIB:.0f}" for s in sides]
    return (paired.test, *both("setup_s"), *both("first_pass_s"), *both("wall_s"), *memory)


def _peak_bytes(side: Times) -> int | None:
    """On the device where it has memory of its own, else of the process so far."""
    return side.peak_rss_bytes if side.peak_device_bytes is None else side.peak_device_bytes


def _ms(passes_s: Sequence[float]) -> str:
    if not passes_s:
        return "-"
    milliseconds = 1000 * median(passes_s)
    return f"{milliseconds:.{max(0, 2 - int(math.log10(milliseconds)))}f}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    names = {"l": "left", "r": "right"}
    return tabulate.tabulate(
        rows,
        headers=header,
        tablefmt="pipe",
        disable_numparse=True,
        colalign=[names[letter] for letter in align] if rows else None,
    )
