"""The statistics of rounds, which are fresh processes; passes of one are not independent.

Scores are ratios, so it is their logarithms that are averaged. The only module
that imports scipy, and only when it is needed: ``scipy.special`` has all that
Student's t needs and takes far less time to import than ``scipy.stats``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, fsum, inf, log, sqrt
from statistics import fmean, stdev, variance

from aiscore.scoring.score import CONFIDENCE

ROUNDS_THAT_TELL = 3  # with fewer, nothing is known of the next run
FEWEST_TO_STOP = 5  # with fewer, the spread is known too little to stop by it
PRECISION = 0.01


def half_width(round_scores: Sequence[float]) -> float:
    """Half the interval of the mean logarithm (Student t), from two rounds or more."""
    from scipy.special import stdtrit

    logs = [log(value) for value in round_scores]
    quantile = float(stdtrit(len(logs) - 1, (1 + CONFIDENCE) / 2))
    return quantile * stdev(logs) / sqrt(len(logs))


def interval(round_scores: Sequence[float]) -> tuple[float, float] | None:
    """The ``CONFIDENCE`` interval of the geometric mean; None where too few rounds tell."""
    if len(round_scores) < ROUNDS_THAT_TELL:
        return None
    centre = fsum(log(value) for value in round_scores) / len(round_scores)
    half = half_width(round_scores)
    return exp(centre - half), exp(centre + half)


def is_settled(round_scores: Sequence[float]) -> bool:
    """Whether more rounds are not worth their time: the score is known to ``PRECISION``."""
    if len(round_scores) < FEWEST_TO_STOP:
        return False
    return expm1(half_width(round_scores)) <= PRECISION


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of the second sample less mean of the first, its interval, and p for no difference."""

    value: float
    interval: tuple[float, float]
    p: float


def welch(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Welch's t: two samples of at least two, whose variances may differ."""
    from scipy.special import stdtr, stdtrit

    value = fmean(second) - fmean(first)
    errors = [variance(sample) / len(sample) for sample in (first, second)]
    squared = sum(errors)
    if squared == 0:  # no spread at all: what differs, differs
        return Difference(value, (value, value), 1.0 if value == 0 else 0.0)
    freedom = squared**2 / sum(
        error**2 / (len(sample) - 1) for error, sample in zip(errors, (first, second), strict=True)
    )
    error = sqrt(squared)
    half = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(value) / error))
    return Difference(value, (value - half, value + half), p)


def adjusted(p_values: Sequence[float]) -> list[float]:
    """The p-values of tests that are made together, after Benjamini and Hochberg."""
    total = len(p_values)
    made = [0.0] * total
    least = inf
    for rank, index in reversed(
        list(enumerate(sorted(range(total), key=p_values.__getitem__), start=1))
    ):
        least = min(least, p_values[index] * total / rank)
        made[index] = min(least, 1.0)
    return made
