"""Throughput over batches in plain numbers: the search for the largest batch, and predictions."""

from collections.abc import Mapping
from math import exp, log

FIRST_TRY = 32
MOST_IMAGES = 1 << 16
RESOLUTION = 16  # the largest batch is known to this part of it
MULTIPLE = 8  # what tensor cores like, where batches are so far apart
CLEARLY_SLOWER = 1.25  # than neighbours predict


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


def predicted(batch: int, values: Mapping[int, float]) -> float | None:
    """What the neighbours of a batch say that its value is; None without two.

    Between the next smaller and the next larger batch both are logarithmic; at
    an end it is the lower one of the nearest two. The value itself does not count.
    """
    smaller = sorted(other for other in values if other < batch)
    larger = sorted(other for other in values if other > batch)
    if not (smaller and larger):
        beside = [values[other] for other in (*smaller[-2:], *larger[:2])]
        return min(beside) if len(beside) > 1 else None
    low, high = smaller[-1], larger[0]
    share = log(batch / low) / log(high / low)
    return exp((1 - share) * log(values[low]) + share * log(values[high]))


def below_neighbours(values: Mapping[int, float]) -> dict[int, float]:
    """By batch, how many times lower a value is than predicted, where that is clear."""
    found = {}
    for batch, value in values.items():
        expected = predicted(batch, values)
        if expected is not None and expected / value >= CLEARLY_SLOWER:
            found[batch] = expected / value
    return found
