"""The estimator of the ``resident`` protocol in plain numbers: blocks of passes.

The time of a block is that of its mean pass. A test's time is the median of
the blocks that count: the first pass compiles, blocks grow until they are long
enough, and what comes after that may still warm up.
"""

from collections.abc import Sequence
from statistics import median

from aiscore.scoring.score import median_error
from aiscore.scoring.validity import warming_up

MARGIN = 0.02  # a block that is slower than the settled ones by more still warms up
FEWEST_TO_STOP = 11
PRECISION = 0.005


def counted(sizes: Sequence[int], times: Sequence[float]) -> Sequence[float]:
    """The times of the blocks that count, of blocks of so many passes; of one block, that one."""
    if len(times) == 1:
        return times
    grown = max(1, _last_change(sizes))
    settling = times[grown:]
    return settling[warming_up(settling, MARGIN) :]


def _last_change(sizes: Sequence[int]) -> int:
    """Where the blocks of the last size begin."""
    changes = (place for place in range(len(sizes) - 1, 0, -1) if sizes[place - 1] != sizes[place])
    return next(changes, 0)


def is_known(times: Sequence[float]) -> bool:
    """Whether the median of the times that count has a standard error of half a percent or less."""
    error = median_error(times)
    return len(times) >= FEWEST_TO_STOP and error is not None and error <= PRECISION * median(times)
