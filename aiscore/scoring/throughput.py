"""Throughput over batches in plain numbers: the search for the largest batch, and predictions."""

from collections.abc import Mapping
from itertools import pairwise
from math import exp, log

FIRST_TRY = 32
MOST_IMAGES = 1 << 16
RESOLUTION = 16  # the largest batch is known to this part of it
MULTIPLE = 8  # what tensor cores like, where batches are so far apart
CLEARLY_SLOWER = 1.25  # than neighbours predict
ENDS = 2  # how many neighbours say what to expect at an end: one may itself be the odd one


def next_try(fits: Mapping[int, bool]) -> int | None:
    """The batch to try next, by which of those that were tried fit; None when that is enough.

    It doubles the largest that fits until one does not, then halves what lies between.
    """
    largest, beyond = bounds(fits)
    if not fits:
        return FIRST_TRY
    if beyond is None:
        return 2 * largest if 2 * largest <= MOST_IMAGES else None
    if beyond - largest <= max(1, largest // RESOLUTION):
        return None
    middle = (largest + beyond) // 2
    rounded = middle - middle % MULTIPLE
    return rounded if rounded > largest else middle


def bounds(fits: Mapping[int, bool]) -> tuple[int, int | None]:
    """The largest batch that fits, 0 if none does; and the smallest above it that does not."""
    largest = max((batch for batch, well in fits.items() if well), default=0)
    failed = (batch for batch, well in fits.items() if not well and batch > largest)
    return largest, min(failed, default=None)


def growth(values: Mapping[int, float]) -> dict[int, float]:
    """By batch, how many times the value of the next smaller one its own is."""
    return {high: values[high] / values[low] for low, high in pairwise(sorted(values))}


def predicted(values: Mapping[int, float]) -> dict[int, float]:
    """By batch, what its neighbours say that its value is; not of batches with fewer than two.

    Between the next smaller and the next larger batch both are logarithmic; at
    an end it is the lower one of the nearest two. The value itself does not count.
    """
    batches = sorted(values)
    if len(batches) <= ENDS:
        return {}
    first, *_, last = batches
    inner = {
        batch: _between(batch, low, high, values)
        for low, batch, high in zip(batches, batches[1:], batches[2:], strict=False)
    }
    return {
        first: min(values[batch] for batch in batches[1 : 1 + ENDS]),
        **inner,
        last: min(values[batch] for batch in batches[-1 - ENDS : -1]),
    }


def _between(batch: int, low: int, high: int, values: Mapping[int, float]) -> float:
    share = log(batch / low) / log(high / low)
    return exp((1 - share) * log(values[low]) + share * log(values[high]))


def below_neighbours(values: Mapping[int, float]) -> dict[int, float]:
    """By batch, how many times lower a value is than predicted, where that is clear."""
    lower = {batch: expected / values[batch] for batch, expected in predicted(values).items()}
    return {batch: times for batch, times in lower.items() if times >= CLEARLY_SLOWER}
