"""Medians of ratios, and how sure they are. Standard library only."""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.95
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ratio and its interval; ``kind`` says what interval it is."""

    value: float
    low: float
    high: float
    kind: str


def median(values: Sequence[float]) -> Estimate:
    """The median with its order-statistic interval, which assumes no distribution.

    The k-th smallest and largest values enclose the median with the probability
    that of n fair coins at least k and at most n - k show heads. Below six values
    even the extremes enclose it less often than 95 % of the time: they are given,
    and called so.
    """
    ordered = sorted(values)
    rank = _rank(len(ordered))
    kind = f"{LEVEL:.0%}" if rank > 0 else "min-max"
    position = max(rank, 1) - 1
    return Estimate(statistics.median(ordered), ordered[position], ordered[-1 - position], kind)


def _rank(count: int) -> int:
    """The largest k whose two tails together are at most 1 - LEVEL; 0 if there is none."""
    tail, rank = 0.0, 0
    while True:
        tail += math.comb(count, rank) / 2**count
        if 2 * tail > 1 - LEVEL:
            return rank
        rank += 1


def geometric_mean_of_medians(groups: Sequence[Sequence[float]]) -> Estimate:
    """Over the groups' medians; the interval is a percentile bootstrap within each group.

    The set of groups is fixed, so nothing is resampled but the values of each.
    """
    draw = random.Random(0)  # noqa: S311  # the same table from the same samples
    resampled = sorted(
        _geometric_mean([statistics.median(draw.choices(group, k=len(group))) for group in groups])
        for _ in range(RESAMPLES)
    )
    outside = round(RESAMPLES * (1 - LEVEL) / 2)
    value = _geometric_mean([statistics.median(group) for group in groups])
    return Estimate(value, resampled[outside], resampled[-1 - outside], f"{LEVEL:.0%}")


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))
