"""The quick estimate states what the leaderboard's complete cards say about it."""

from math import expm1, log

import pytest

from aiscore.results.reference import cards, reference_ms
from aiscore.scoring import quick
from aiscore.scoring.score import geometric_mean
from aiscore.spec import Mode, Suite
from workloads.suite import FULL, QUICK

COMPLETE = [card for card in cards() if card.completeness == "complete"]


def means(mode: Mode, only: tuple[str, ...]) -> list[float]:
    """Each complete card's unscaled score over those tests of a mode."""
    reference = reference_ms(Suite.FULL)
    ids = [test.id for test in FULL if test.mode is mode and test.id in only]
    return [geometric_mean(reference[id] / card.tests[id][0] for id in ids) for card in COMPLETE]


def whole(mode: Mode) -> list[float]:
    return means(mode, tuple(test.id for test in FULL))


@pytest.mark.parametrize(
    ("mode", "stated"), [(Mode.INFERENCE, quick.INFERENCE), (Mode.TRAINING, quick.TRAINING)]
)
def test_the_stated_calibration_is_that_of_the_complete_cards(
    mode: Mode, stated: quick.Calibration
):
    found = quick.calibrate(whole(mode), means(mode, QUICK))
    assert (stated.factor, stated.error) == pytest.approx((found.factor, found.error), abs=1e-4)


def test_the_stated_error_of_the_sum_is_the_largest_of_the_complete_cards():
    sums = [sum(pair) for pair in zip(whole(Mode.INFERENCE), whole(Mode.TRAINING), strict=True)]
    estimates = [
        quick.INFERENCE.factor * inference + quick.TRAINING.factor * training
        for inference, training in zip(
            means(Mode.INFERENCE, QUICK), means(Mode.TRAINING, QUICK), strict=True
        )
    ]
    errors = [expm1(abs(log(a / b))) for a, b in zip(sums, estimates, strict=True)]
    assert max(errors) == pytest.approx(quick.AI_ERROR, abs=1e-4)


def test_a_subset_that_always_scores_the_same_part_has_no_error():
    assert quick.calibrate([2.0, 6.0], [1.0, 3.0]) == quick.Calibration(2.0, 0.0)
