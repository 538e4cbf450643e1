"""The quick estimate states what complete cards and complete runs say about it."""

from math import expm1, log
from pathlib import Path

import pytest

from aiscore.results.reference import cards, reference_ms
from aiscore.results.store import load
from aiscore.scoring import quick
from aiscore.scoring.score import geometric_mean
from aiscore.spec import Mode, Suite
from workloads.suite import FULL, QUICK

RESULTS = Path(__file__).parent.parent / "docs" / "results"
ALL = tuple(test.id for test in FULL)
Times = dict[str, float]


def of_cards() -> list[Times]:
    """The times of the complete cards that others published, in ms."""
    complete = [
        card
        for card in cards()
        if card.completeness == "complete" and card.source_kind != "this project"
    ]
    return [{id: mean for id, (mean, _) in card.tests.items()} for card in complete]


def of_runs() -> list[Times]:
    """Those of this project's complete runs."""
    found = []
    for path in sorted(RESULTS.glob("*.json")):
        summary = load(path).summary
        assert summary is not None
        times = {test.id: test.time_ms for test in summary.tests if test.time_ms is not None}
        assert times.keys() == set(ALL), path
        found.append(times)
    return found


CARDS, RUNS = of_cards(), of_runs()


def mean(times: Times, mode: Mode, only: tuple[str, ...]) -> float:
    """The unscaled score over those tests of a mode."""
    reference = reference_ms(Suite.FULL)
    ids = [test.id for test in FULL if test.mode is mode and test.id in only]
    return geometric_mean(reference[id] / times[id] for id in ids)


def error(whole: float, estimate: float) -> float:
    return expm1(abs(log(whole / estimate)))


@pytest.mark.parametrize(
    ("mode", "stated"), [(Mode.INFERENCE, quick.INFERENCE), (Mode.TRAINING, quick.TRAINING)]
)
def test_the_stated_factor_is_that_of_the_complete_cards(mode: Mode, stated: quick.Calibration):
    whole, subset = ([mean(times, mode, only) for times in CARDS] for only in (ALL, QUICK))
    assert stated.factor == pytest.approx(quick.calibrate(whole, subset).factor, abs=1e-4)


@pytest.mark.parametrize(
    ("mode", "stated"), [(Mode.INFERENCE, quick.INFERENCE), (Mode.TRAINING, quick.TRAINING)]
)
def test_the_stated_error_is_the_largest_of_cards_and_runs(mode: Mode, stated: quick.Calibration):
    errors = [
        error(mean(times, mode, ALL), stated.factor * mean(times, mode, QUICK))
        for times in CARDS + RUNS
    ]
    assert max(errors) == pytest.approx(stated.error, abs=1e-4)


def test_so_is_the_stated_error_of_the_sum():
    both = {Mode.INFERENCE: quick.INFERENCE, Mode.TRAINING: quick.TRAINING}
    errors = [
        error(
            sum(mean(times, mode, ALL) for mode in both),
            sum(stated.factor * mean(times, mode, QUICK) for mode, stated in both.items()),
        )
        for times in CARDS + RUNS
    ]
    assert max(errors) == pytest.approx(quick.AI_ERROR, abs=1e-4)


def test_a_subset_that_always_scores_the_same_part_has_no_error():
    assert quick.calibrate([2.0, 6.0], [1.0, 3.0]) == quick.Calibration(2.0, 0.0)
