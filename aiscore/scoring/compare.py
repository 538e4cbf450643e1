"""One side against another in plain numbers. A ratio above 1: the other side is faster."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from aiscore.scoring.score import geometric_mean


@dataclass(frozen=True, slots=True)
class Side:
    """What one side has: scores (None: not over all of its tests) and mean times by test."""

    scores: Mapping[str, int | None]
    times_ms: Mapping[str, float]


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
    """

    scores: Mapping[str, float]
    tests: Mapping[str, float]
    groups: Mapping[str, Speed]


def compare(base: Side, other: Side, groups: Mapping[str, Collection[str]]) -> Comparison:
    """Only what both sides have counts; nothing is made up for the rest."""
    tests = speeds(base.times_ms, other.times_ms)
    return Comparison(
        scores={
            name: theirs / mine
            for name, mine in base.scores.items()
            if mine and (theirs := other.scores.get(name)) is not None
        },
        tests=tests,
        groups={name: over(tests, members) for name, members in groups.items()},
    )


def speeds(base_ms: Mapping[str, float], other_ms: Mapping[str, float]) -> dict[str, float]:
    """How many times as fast the other is in each common test, in the base's order."""
    return {test: time / other_ms[test] for test, time in base_ms.items() if test in other_ms}


def over(ratios: Mapping[str, float], members: Collection[str]) -> Speed:
    """The geometric mean over those of the members that have a ratio."""
    found = [ratio for test, ratio in ratios.items() if test in members]
    return Speed(geometric_mean(found) if found else None, len(found))
