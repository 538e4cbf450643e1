"""A whole score estimated from the quick subset's.

The quick tests stand for the whole suite only as well as they did on the
cards and in the runs whose 42 times are known; the error says how well that was.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1, log

from aiscore.scoring.score import geometric_mean


@dataclass(frozen=True, slots=True)
class Calibration:
    """Whole score = factor x the subset's score, within a relative ``error``."""

    factor: float
    error: float


# The factor is the geometric mean of whole score / subset score over the five
# complete cards of reference_scores.json; the error the largest deviation from
# it of a card or of a complete run in docs/results; for the sum of both
# estimates, the largest deviation of a sum. tests/test_quick.py recomputes them.
INFERENCE = Calibration(factor=0.8913, error=0.0661)
TRAINING = Calibration(factor=0.9147, error=0.2240)
AI_ERROR = 0.1466


def calibrate(whole: Sequence[float], subset: Sequence[float]) -> Calibration:
    """The calibration from the scores of several cards over all tests and over the subset."""
    ratios = [a / b for a, b in zip(whole, subset, strict=True)]
    factor = geometric_mean(ratios)
    return Calibration(factor, expm1(max(abs(log(ratio / factor)) for ratio in ratios)))
