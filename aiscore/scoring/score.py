"""The scale of AI-Benchmark 0.1.2 in plain numbers: from passes to scores.

A test's ratio is its reference time over its mean time; a score is 10000
times the geometric mean of the ratios. A time may have any unit, as long as
its reference has the same one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import dist, exp, floor, fsum, log, sqrt
from statistics import NormalDist, fmean, median

from aiscore.spec import Protocol

SCALE = 10_000
CONFIDENCE = 0.95
ROUNDING = 1e-9  # relative; far above the error of exp and log, far below half a point
FEWEST_THAT_TELL = 5  # the spread of fewer tells nothing of the median's error
QUANTILE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is made of one test's passes; their unit is kept.

    ``time`` is what counts, ``error`` its standard error, None where too few
    passes tell. ``std`` is the population standard deviation, as the original
    prints it. Of a time that was only printed, no more than mean and spread is
    known.
    """

    time: float
    error: float | None
    mean: float
    median: float | None
    std: float | None


def counted(passes: Sequence[float]) -> Sequence[float]:
    """The passes that count in ``classic``: all but the first, or the only one."""
    return passes[1:] if len(passes) > 1 else passes


def estimate(counted_passes: Sequence[float], protocol: Protocol = Protocol.CLASSIC) -> Estimate:
    """The figures of one test from the passes or blocks that count (at least one).

    The mean counts in ``classic``, the median in ``resident``.
    """
    mean, middle = fmean(counted_passes), median(counted_passes)
    n = len(counted_passes)
    std = spread(counted_passes, mean)
    if protocol is Protocol.RESIDENT:
        time, error = middle, median_error(counted_passes)
    else:
        time, error = mean, std / sqrt(n - 1) if n > 1 else None
    return Estimate(
        time=time,
        error=error,
        mean=mean,
        median=middle,
        std=std,
    )


def spread(times: Sequence[float], mean: float) -> float:
    """Their standard deviation as a population with this mean."""
    n = len(times)
    return dist(times, [mean] * n) / sqrt(n)


def geometric_mean(ratios: Iterable[float]) -> float:
    """The mean of the logarithms, raised again: cannot overflow, and knows no order."""
    logs = [log(ratio) for ratio in ratios]
    return exp(fsum(logs) / len(logs))


def median_error(times: Sequence[float]) -> float | None:
    """The standard error of the median, after McKean and Schrader; None where too few tell.

    From the distance of two order statistics: it assumes no distribution, and
    an outlier changes nothing.
    """
    n = len(times)
    if n < FEWEST_THAT_TELL:
        return None
    rank = max(1, round((n + 1) / 2 - QUANTILE * sqrt(n / 4)))
    ordered = sorted(times)
    return (ordered[n - rank] - ordered[rank - 1]) / (2 * QUANTILE)


def test_score(reference: float, time: float) -> int:
    """The score of one test, to the nearest point."""
    return round(SCALE * reference / time)


def suite_score(reference: Sequence[float], times: Sequence[float]) -> int:
    """The score over tests with these references and times: floored, as the original."""
    ratios = [ref / time for ref, time in zip(reference, times, strict=True)]
    return points(SCALE * geometric_mean(ratios))


def points(value: float) -> int:
    """A score in whole points.

    A value that is whole but for floating-point noise counts as whole, so
    that the unit of time cannot decide over a point.
    """
    return floor(value * (1 + ROUNDING))


def relative_error(estimates: Sequence[Estimate]) -> float | None:
    """The relative standard error of a score over these tests, from their passes alone.

    Delta method on the logarithm of the score; passes are taken as independent.
    None when too few passes of a test tell.
    """
    if any(item.error is None for item in estimates):
        return None
    variances = ((item.error or 0) ** 2 / item.time**2 for item in estimates)
    return sqrt(fsum(variances)) / len(estimates)


def interval(value: float, error: float) -> tuple[float, float]:
    """The central ``CONFIDENCE`` interval of a normal value with this standard error."""
    half = QUANTILE * error
    return value - half, value + half


def printed_band(mean: float, std: float | None) -> tuple[float, float]:
    """The means (ms) that the original prints as ``mean``.

    It prints whole numbers when the spread is above 1 and the mean above 100,
    else one decimal. A whole mean with a spread of 1.0 or none may be either:
    then the wider band holds.
    """
    whole = float(mean).is_integer() and (std is None or (std >= 1 and mean >= 100))
    return rounding_band(mean, 0 if whole else 1)


def rounding_band(value: float, digits: int) -> tuple[float, float]:
    """What a value can have been that was rounded to so many decimals."""
    half = 0.5 * 10**-digits
    return value - half, value + half


def score_band(reference: Sequence[float], bands: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """The lowest and the highest score that times (ms) within these bands give."""
    return (
        suite_score(reference, [high for _, high in bands]),
        suite_score(reference, [low for low, _ in bands]),
    )
