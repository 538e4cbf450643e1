"""One side against another in plain numbers. A ratio above 1: the other side is faster.

How sure a ratio is can only be told from rounds, which are fresh processes:
with at least ``ROUNDS`` on both sides it has an interval, Welch's on the
logarithms. Passes of one process are never taken for independent runs.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import exp, log, sqrt
from statistics import fmean

from aiscore.scoring import stats
from aiscore.scoring.score import geometric_mean

ROUNDS = stats.ROUNDS_THAT_TELL
ROUNDS_PER_TEST = 5  # with fewer, 42 tests at once find nothing or too much
SIGNIFICANT = 0.05
# The noise floor with an interval: two runs of one machine must not be told apart by it, which
# benchmarks/same.py measures (docs/method.md).
MARGIN = 0.01
# The noise floor without one: what two hosts with the same card differed by, rounded up (an H200,
# 50745 against 44800 in training, docs/comparing.md). Less tells nothing of the devices.
NOISE_FLOOR = 0.15
# Over few tests hosts have differed by more: what bounds all that four hosts with an H200 showed
# (docs/comparing.md), over n tests divided by the root of n.
FLOOR_OF_ONE_TEST = 0.7


class Verdict(StrEnum):
    """What can be said of the other side."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class RoundTime:
    """One test in one round (ms): the time that counts for scores, and the median."""

    time_ms: float
    median_ms: float


@dataclass(frozen=True, slots=True)
class Side:
    """What one side has: scores (None: not over all of its tests) and times by test.

    ``rounds``: number of the round to test to its time. ``log_round_scores``:
    the logarithm of each score in each round that has all of its tests.
    """

    scores: Mapping[str, int | None]
    times_ms: Mapping[str, float]
    rounds: Mapping[int, Mapping[str, RoundTime]] = field(default_factory=dict)
    log_round_scores: Mapping[str, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """A ratio and what it is worth. ``rounds`` are those behind the interval, of either side.

    ``p`` is there for single tests, after correction for their number.
    """

    ratio: float
    verdict: Verdict
    interval: tuple[float, float] | None
    rounds: tuple[int, int]
    tests: int
    p: float | None = None


@dataclass(frozen=True, slots=True)
class Speed:
    """The geometric mean of the ratios over ``tests`` common tests; None without any."""

    ratio: float | None
    tests: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many times as fast as the base the other side is.

    ``scores``: ratio of each score that both have. ``tests``: ratio for each
    test that both have. ``groups``: geometric mean of those ratios by group.
    ``findings``: what is sure of each score that both have, else of the group
    of its name. ``kinds``: the same by kind of work. ``test_findings``: of the
    tests with at least ``ROUNDS_PER_TEST`` rounds on both sides.
    """

    scores: Mapping[str, float]
    tests: Mapping[str, float]
    groups: Mapping[str, Speed]
    findings: Mapping[str, Finding] = field(default_factory=dict)
    kinds: Mapping[str, Finding] = field(default_factory=dict)
    test_findings: Mapping[str, Finding] = field(default_factory=dict)


def compare(
    base: Side,
    other: Side,
    groups: Mapping[str, Collection[str]],
    kinds: Mapping[str, Collection[str]] | None = None,
    margin: float = MARGIN,
) -> Comparison:
    """Only what both sides have counts; nothing is made up for the rest."""
    tests = speeds(base.times_ms, other.times_ms)
    over_groups = {name: find_over(base, other, ids, margin) for name, ids in groups.items()}
    over_kinds = {name: find_over(base, other, ids, margin) for name, ids in (kinds or {}).items()}
    scores = {
        name: theirs / mine
        for name, mine in base.scores.items()
        if mine and (theirs := other.scores.get(name)) is not None
    }
    return Comparison(
        scores=scores,
        tests=tests,
        groups={name: over(tests, members) for name, members in groups.items()},
        findings={
            name: found
            for name in groups
            if (
                found := find_score(base, other, name, margin)
                if scores.get(name)
                else over_groups[name]
            )
        },
        kinds={name: found for name, found in over_kinds.items() if found},
        test_findings=find_tests(base, other),
    )


def speeds(base_ms: Mapping[str, float], other_ms: Mapping[str, float]) -> dict[str, float]:
    """How many times as fast the other is in each common test, in the base's order."""
    return {test: time / other_ms[test] for test, time in base_ms.items() if test in other_ms}


def over(ratios: Mapping[str, float], members: Collection[str]) -> Speed:
    """The geometric mean over those of the members that have a ratio."""
    found = [ratio for test, ratio in ratios.items() if test in members]
    return Speed(geometric_mean(found) if found else None, len(found))


def find_score(base: Side, other: Side, name: str, margin: float) -> Finding:
    """What is sure of a score that both have; 0 is no number of tests but all of its own."""
    plain = (other.scores[name] or 0) / (base.scores[name] or 1)
    logs = [side.log_round_scores.get(name, ()) for side in (base, other)]
    return _finding(plain, logs, 0, margin)


def find_over(base: Side, other: Side, members: Collection[str], margin: float) -> Finding | None:
    """What is sure of the geometric mean over the common tests among these; None without any."""
    common = [test for test in speeds(base.times_ms, other.times_ms) if test in members]
    if not common:
        return None
    plain = geometric_mean(base.times_ms[test] / other.times_ms[test] for test in common)
    return _finding(
        plain, [_log_speeds(side, common) for side in (base, other)], len(common), margin
    )


def find_tests(base: Side, other: Side) -> dict[str, Finding]:
    """What is sure of each test, on the medians of its rounds, corrected for their number."""
    logs = {
        test: [_log_medians(side, test) for side in (base, other)]
        for test in speeds(base.times_ms, other.times_ms)
    }
    enough = {test: pair for test, pair in logs.items() if min(map(len, pair)) >= ROUNDS_PER_TEST}
    found = {test: stats.welch(*pair) for test, pair in enough.items()}
    p_values = stats.adjusted([difference.p for difference in found.values()])
    return {
        test: Finding(
            ratio=exp(difference.value),
            verdict=_significant(difference.value, p),
            interval=(exp(difference.interval[0]), exp(difference.interval[1])),
            rounds=(len(enough[test][0]), len(enough[test][1])),
            tests=1,
            p=p,
        )
        for (test, difference), p in zip(found.items(), p_values, strict=True)
    }


def noise_floor(tests: int) -> float:
    """What a ratio over so many tests has to exceed without an interval; 0 are all of a score."""
    return max(NOISE_FLOOR, FLOOR_OF_ONE_TEST / sqrt(tests)) if tests else NOISE_FLOOR


def _finding(plain: float, logs: Sequence[Sequence[float]], tests: int, margin: float) -> Finding:
    """With enough rounds their ratio and its interval, else the plain ratio without one."""
    rounds = (len(logs[0]), len(logs[1]))
    if min(rounds) < ROUNDS:
        floor = 1 + noise_floor(tests)
        verdict = judge((plain / floor, plain * floor), margin)
        return Finding(plain, verdict, None, rounds, tests)
    difference = stats.welch(*logs)
    interval = (exp(difference.interval[0]), exp(difference.interval[1]))
    return Finding(exp(difference.value), judge(interval, margin), interval, rounds, tests)


def judge(interval: tuple[float, float], margin: float) -> Verdict:
    """Faster or slower by more than the margin, the same within it, or none of these for sure."""
    low, high = interval
    if low > 1 + margin:
        return Verdict.FASTER
    if high < 1 / (1 + margin):
        return Verdict.SLOWER
    return Verdict.SAME if 1 / (1 + margin) <= low and high <= 1 + margin else Verdict.INCONCLUSIVE


def _significant(value: float, p: float) -> Verdict:
    if p >= SIGNIFICANT:
        return Verdict.INCONCLUSIVE
    return Verdict.FASTER if value > 0 else Verdict.SLOWER


def _log_speeds(side: Side, tests: Collection[str]) -> list[float]:
    """The logarithm of the mean speed over the tests, in each round that has them all."""
    return [
        -fmean(log(times[test].time_ms) for test in tests)
        for times in side.rounds.values()
        if all(test in times for test in tests)
    ]


def _log_medians(side: Side, test: str) -> list[float]:
    """The logarithm of the speed of one test in each of its rounds."""
    return [-log(times[test].median_ms) for times in side.rounds.values() if test in times]
