"""What rounds tell of a score, and when there are enough of them."""

import random
import subprocess
import sys
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.scoring import stats

SCORES = st.lists(st.floats(min_value=1, max_value=1e6), min_size=3, max_size=20)


def test_the_interval_is_students():
    values = [exp(0), exp(1), exp(2)]
    half = 4.302652729911275 / 3**0.5  # the t quantile of 2 degrees of freedom, sd 1
    assert stats.half_width(values) == pytest.approx(half)
    assert stats.interval(values) == pytest.approx((exp(1 - half), exp(1 + half)))


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_fewer_than_three_rounds_tell_nothing(rounds: int):
    assert stats.interval([100.0] * rounds) is None


@pytest.mark.parametrize(("rounds", "settled"), [(1, False), (4, False), (5, True), (9, True)])
def test_rounds_that_agree_are_enough_from_the_fifth_on(rounds: int, settled: bool):
    assert stats.is_settled([100.0] * rounds) is settled


def test_a_score_is_settled_when_it_is_known_to_one_percent():
    quantile, n = 2.7764451051977987, 5  # of 4 degrees of freedom

    def spread(half: float) -> list[float]:
        """Five scores whose interval has this half width: two above, two below, one between."""
        step = half * n**0.5 / quantile
        return [exp(step * offset) for offset in (-1, -1, 0, 1, 1)]

    assert stats.half_width(spread(0.01)) == pytest.approx(0.01)
    assert stats.is_settled(spread(log(1.0099)))
    assert not stats.is_settled(spread(log(1.0101)))


@given(values=SCORES, factor=st.floats(min_value=0.01, max_value=100))
def test_the_interval_holds_the_geometric_mean_and_knows_no_unit(
    values: list[float], factor: float
):
    bounds = stats.interval(values)
    scaled = stats.interval([value * factor for value in values])
    assert bounds is not None
    assert scaled is not None
    centre = exp(sum(map(log, values)) / len(values))
    assert bounds[0] <= centre * (1 + 1e-9)
    assert bounds[1] >= centre * (1 - 1e-9)
    assert scaled == pytest.approx([bound * factor for bound in bounds])


def test_it_covers_what_it_says_under_its_own_stop_rule():
    """Rounds that differ by 1 %: 95 % of the intervals hold the truth, 10 rounds at most."""
    chance = random.Random(20261130)  # noqa: S311
    covered = 0
    trials = 2000
    for _ in range(trials):
        scores: list[float] = []
        while len(scores) < 10 and not stats.is_settled(scores):
            scores.append(10_000 * exp(chance.gauss(0, 0.01)))
        low, high = stats.interval(scores) or (0, 0)
        covered += low <= 10_000 <= high
    assert 0.90 <= covered / trials <= 0.98


def test_scipy_is_imported_when_it_is_needed_and_not_before():
    code = (
        "import sys; from aiscore.results import summary; assert 'scipy' not in sys.modules;"
        "from aiscore.scoring import stats; stats.half_width([1.0, 2.0]);"
        "assert 'scipy.stats' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
