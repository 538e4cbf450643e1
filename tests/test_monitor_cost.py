"""The benchmark of the monitor (benchmarks/monitor_cost.py): its verdict."""

import monitor_cost
import pytest

from aiscore.results.model import RoundRecord, TelemetryRecord


def round_of(mean_s: float, cost_s: float | None = None) -> RoundRecord:
    watched = None
    if cost_s is not None:
        watched = TelemetryRecord(duration_s=10, samples=20, cost_s=cost_s)
    return RoundRecord(round=1, passes_s=[9.0, mean_s, mean_s], telemetry=watched)


@pytest.mark.parametrize(
    ("factors", "cost_s", "status"),
    [
        ([0.99, 1.01], 0.01, 0),
        ([0.99, 1.01], 0.06, 1),  # 0.6 % of a core
        ([1.01, 1.02], 0.01, 1),  # it slows the test down
        ([0.95, 1.05], 0.01, 1),  # not known well enough
    ],
)
def test_the_monitor_is_cheap_and_harmless_or_not(capsys, factors, cost_s, status):
    pairs = [(round_of(factor, cost_s), round_of(1.0)) for factor in factors * 10]
    assert monitor_cost.report(pairs) == status
    printed = capsys.readouterr().out
    assert f"processor time: {cost_s / 10:.3%} of a core over 400 samples" in printed
    assert "20 pairs" in printed
