"""The calls of the package ``ai-benchmark``: change the import line and a script runs.

``from aiscore.compat import AIBenchmark`` takes the original's constructor and
its four run calls, prints its lines, and gives its result object. What differs:
a run with a failed test has no score (None, not a score over fewer tests), and
the full result is also written to a file below ``aiscore-results``.
"""

from collections import Counter
from dataclasses import dataclass, field

from aiscore import api
from aiscore.results.model import Result as RunResult
from aiscore.results.model import ScoreRecord, TestSummary
from aiscore.spec import Policy, Status

HIGH_PRECISION_PASSES = 10 * Policy().passes
NO_LIMIT_S = 86_400.0


@dataclass
class Result:
    """Mean and standard deviation of one test, in milliseconds."""

    mean: float
    std: float


@dataclass
class PublicResults:
    """What the original's run calls return; a score that was not made is None."""

    test_results: dict[str, Result] = field(default_factory=dict)
    ai_score: int | None = None
    inference_score: int | None = None
    training_score: int | None = None


class AIBenchmark:
    """The original's entry point.

    ``use_CPU`` True takes the CPU, anything else the first GPU that there is.
    ``verbose_level`` 0 prints nothing, higher levels print the original's lines.
    """

    def __init__(self, use_CPU: bool | None = None, verbose_level: int = 1) -> None:  # noqa: N803
        self.device = "cpu" if use_CPU else "auto"
        self.verbose_level = verbose_level

    def run(self, precision: str = "normal") -> PublicResults:
        """All 42 tests: inference, training and AI score."""
        return self._run(precision)

    def run_inference(self, precision: str = "normal") -> PublicResults:
        """The 24 inference tests and their score."""
        return self._run(precision, only="inference")

    def run_training(self, precision: str = "normal") -> PublicResults:
        """The 18 training tests and their score."""
        return self._run(precision, only="training")

    def run_micro(self, precision: str = "normal") -> PublicResults:
        """The 16 batch-1 tests; their score is given as ``inference_score``."""
        return self._run(precision, suite="micro")

    def _run(self, precision: str, suite: str = "full", only: str | None = None) -> PublicResults:
        if precision not in ("normal", "high"):
            raise ValueError(f"precision is 'normal' or 'high', not {precision!r}")
        high = precision == "high"  # ten times the passes, and no time limit
        result = api.run(
            suite=suite,
            only=only,
            device=self.device,
            passes=HIGH_PRECISION_PASSES if high else None,
            max_seconds_per_test=NO_LIMIT_S if high else None,
        )
        if self.verbose_level > 0:
            print(as_log(result))
        return public_results(result)


def public_results(result: RunResult) -> PublicResults:
    """A result in the original's form; tests are numbered within their network."""
    public = PublicResults()
    for number, test in _numbered(result):
        if test.mean_ms is not None and test.std_ms is not None:
            public.test_results[number] = Result(test.mean_ms, test.std_ms)
    for name in ("ai", "inference", "training"):
        setattr(public, f"{name}_score", _value(result, name))
    if public.inference_score is None:
        public.inference_score = _value(result, "micro")
    return public


def as_log(result: RunResult) -> str:
    """A result in the lines of the original's console log."""
    records = {record.id: record for record in result.tests}
    lines: list[str] = []
    network = None
    for number, test in _numbered(result):
        if test.network != network:
            network = test.network
            lines += ["", f"{number.split('.')[0]}/19. {network}", ""]
        record = records[test.id]
        size = "x".join(map(str, record.input[:2]))
        head = f"{number} - {test.mode} | batch={record.batch}, size={size}"
        lines.append(f"{head}: {_figures(test)}")
    lines.append("")
    for title, name in (("Inference", "inference"), ("Training", "training"), ("AI", "ai")):
        value = _value(result, name)
        if value is not None:
            lines.append(f"Device {title} Score: {value}")
    micro = _value(result, "micro")
    if micro is not None:
        lines.append(f"Device Inference Score: {micro}")
    return "\n".join(lines)


def _numbered(result: RunResult) -> list[tuple[str, TestSummary]]:
    """The tests with the original's numbers: network, then place among those that ran."""
    if result.summary is None:
        return []
    places: Counter[str] = Counter()
    numbered = []
    for test in result.summary.tests:
        network = test.id.split(".")[0]
        places[network] += 1
        numbered.append((f"{network}.{places[network]}", test))
    return numbered


def _figures(test: TestSummary) -> str:
    """The time as the original rounds it, or why there is none."""
    if test.status is not Status.OK or test.mean_ms is None or test.std_ms is None:
        return str(test.status)
    if test.std_ms > 1 and test.mean_ms > 100:
        return f"{test.mean_ms:.0f} ± {test.std_ms:.0f} ms"
    return f"{test.mean_ms:.1f} ± {test.std_ms:.1f} ms"


def _value(result: RunResult, name: str) -> int | None:
    score: ScoreRecord | None = result.summary.scores.get(name) if result.summary else None
    return None if score is None else score.value
