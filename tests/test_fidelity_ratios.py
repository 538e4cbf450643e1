"""How sure the ratios of the fidelity benchmark are (benchmarks/ratios.py)."""

import math

import numpy as np
import pytest
import ratios
from hypothesis import given
from hypothesis import strategies as st

positive = st.floats(min_value=0.01, max_value=100)


@pytest.mark.parametrize(
    ("count", "rank"),
    [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (22, 6), (25, 8)],
)
def test_the_interval_is_the_textbook_one_for_the_median(count, rank):
    """Ranks as in tables of the sign test's 95 % confidence limits."""
    values = [float(value) for value in range(1, count + 1)]

    estimate = ratios.median(values)

    assert (estimate.low, estimate.high) == (rank, count + 1 - rank)
    assert estimate.kind == "95%"


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_too_few_values_for_an_interval_give_their_extremes_and_say_so(count):
    values = [float(value) for value in range(1, count + 1)]

    estimate = ratios.median(values)

    assert (estimate.low, estimate.high, estimate.kind) == (1, count, "min-max")


def test_the_interval_covers_the_true_median_as_often_as_it_says():
    covered = 0
    for sample in np.random.default_rng(1).lognormal(0, 0.2, (2000, 11)):
        estimate = ratios.median(sample.tolist())
        covered += estimate.low <= 1 <= estimate.high

    assert 0.95 <= covered / 2000 <= 1


@given(st.lists(positive, min_size=1, max_size=30))
def test_the_order_of_the_pairs_does_not_matter(values):
    assert ratios.median(values) == ratios.median(values[::-1])


@given(st.lists(positive, min_size=1, max_size=30))
def test_the_median_lies_in_its_interval(values):
    estimate = ratios.median(values)

    assert estimate.low <= estimate.value <= estimate.high


def test_opposite_ratios_cancel_in_the_geometric_mean():
    estimate = ratios.geometric_mean_of_medians([[0.5] * 11, [2.0] * 11])

    assert estimate.value == pytest.approx(1)
    assert (estimate.low, estimate.high) == pytest.approx((1, 1))


def test_an_outlying_pair_does_not_move_the_geometric_mean():
    estimate = ratios.geometric_mean_of_medians([[1.0] * 10 + [50.0]])

    assert estimate.value == 1


def test_more_tests_make_the_geometric_mean_surer():
    groups = np.random.default_rng(2).lognormal(0, 0.1, (24, 11)).tolist()

    few = ratios.geometric_mean_of_medians(groups[:2])
    many = ratios.geometric_mean_of_medians(groups)

    assert math.log(many.high / many.low) < math.log(few.high / few.low)


def test_the_same_samples_give_the_same_interval():
    groups = [[0.9, 1.0, 1.1, 1.3, 0.8]]

    assert ratios.geometric_mean_of_medians(groups) == ratios.geometric_mean_of_medians(groups)
