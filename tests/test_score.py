"""The scale of AI-Benchmark: what a score is, and what cannot change it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.results.reference import MODES, Card, cards, reference_ms
from aiscore.scoring import score
from aiscore.spec import Suite
from workloads.suite import FULL

COMPLETE = [card for card in cards() if card.completeness == "complete"]
TIMES = st.floats(min_value=1e-3, max_value=1e6)
PAIRS = st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=42)


def ids(mode: str) -> list[str]:
    return [test.id for test in FULL if test.mode in MODES[mode]]


def test_seven_cards_have_all_42_times():
    assert len(COMPLETE) == 7
    assert all(card.tests.keys() == {test.id for test in FULL} for card in COMPLETE)


@pytest.mark.parametrize("mode", ["inference", "training"])
@pytest.mark.parametrize("card", COMPLETE, ids=lambda card: card.device)
def test_the_times_of_a_complete_card_give_its_printed_score(card: Card, mode: str):
    reference = [reference_ms(Suite.FULL)[test] for test in ids(mode)]
    bands = [score.printed_band(*card.tests[test]) for test in ids(mode)]
    low, high = score.score_band(reference, bands)
    assert low <= card.scores[mode] <= high
    assert high - low <= 0.005 * high + 1, "a band that wide would show nothing"


@pytest.mark.parametrize("card", COMPLETE, ids=lambda card: card.device)
def test_the_ai_score_is_the_sum_of_the_floored_scores(card: Card):
    assert card.scores["ai"] == card.scores["inference"] + card.scores["training"]


def test_a_band_cannot_hold_another_score():
    reference = [reference_ms(Suite.FULL)[test] for test in ids("inference")]
    printed = [COMPLETE[0].tests[test] for test in ids("inference")]
    bands = [score.printed_band(mean * 1.01, std) for mean, std in printed]
    assert score.score_band(reference, bands)[1] < COMPLETE[0].scores["inference"]


def test_the_first_pass_does_not_count_unless_it_is_the_only_one():
    assert score.counted([9.0, 1.0, 2.0]) == [1.0, 2.0]
    assert score.counted([9.0]) == [9.0]


def test_figures_of_a_test():
    figures = score.estimate([1.0, 2.0, 6.0])
    assert (figures.mean, figures.median) == (3.0, 2.0)
    assert figures.std == pytest.approx((14 / 3) ** 0.5), "the population's, as the original"
    assert (figures.time, figures.error) == (3.0, pytest.approx((14 / 2) ** 0.5 / 3**0.5))


def test_a_single_pass_claims_no_spread():
    assert score.estimate([1.0]).error is None
    assert score.relative_error([score.estimate([1.0]), score.estimate([1.0, 2.0])]) is None


def test_the_error_of_a_score_shrinks_with_its_tests():
    one = score.estimate([0.9, 1.1, 0.9, 1.1])
    assert score.relative_error([one] * 16) == pytest.approx(score.relative_error([one]) / 4)


def test_a_test_at_its_reference_time_scores_10000():
    assert score.test_score(75, 75) == 10_000
    assert score.test_score(75, 36.5) == 20_548


@pytest.mark.parametrize(
    ("mean", "std", "half"),
    [
        (36.5, 0.5, 0.05),  # small: one decimal
        (228.0, 18.0, 0.5),  # large and spread: whole
        (258.4, 1.0, 0.05),  # its decimal shows
        (211.0, 1.0, 0.5),  # a spread of 1.0 may be above 1 or not
        (211.0, 0.8, 0.05),  # large, steady, and .0 by chance
        (51.0, 4.0, 0.05),  # small: the decimal is printed even if it is .0
        (701.0, None, 0.5),  # no spread given
    ],
)
def test_what_a_printed_time_can_have_been(mean: float, std: float | None, half: float):
    assert score.printed_band(mean, std) == pytest.approx((mean - half, mean + half))


@given(n=st.integers(1, 42), speed=st.integers(1, 40_000))
def test_a_whole_score_is_not_lost_to_floating_point(n: int, speed: int):
    reference = [reference_ms(Suite.FULL)[test.id] for test in FULL[:n]]
    assert score.suite_score(reference, [ref * 10_000 / speed for ref in reference]) == speed


@given(pairs=PAIRS, unit=st.sampled_from([1e-9, 1e-6, 1e-3, 60.0, 1e3, 7.0]))
def test_the_unit_of_time_does_not_matter(pairs: list[tuple[float, float]], unit: float):
    reference, times = zip(*pairs, strict=True)
    scaled = score.suite_score([r * unit for r in reference], [t * unit for t in times])
    assert scaled == score.suite_score(reference, times)


@given(pairs=PAIRS, data=st.data(), gain=st.floats(min_value=1, max_value=1e3))
def test_a_faster_test_never_lowers_a_score(
    pairs: list[tuple[float, float]], data: st.DataObject, gain: float
):
    reference, times = zip(*pairs, strict=True)
    which = data.draw(st.integers(0, len(pairs) - 1))
    faster = [time / gain if index == which else time for index, time in enumerate(times)]
    assert score.suite_score(reference, faster) >= score.suite_score(reference, times)


@given(pairs=PAIRS, seed=st.randoms())
def test_the_order_of_the_tests_does_not_matter(pairs: list[tuple[float, float]], seed):
    shuffled = list(pairs)
    seed.shuffle(shuffled)
    assert score.suite_score(*zip(*pairs, strict=True)) == score.suite_score(
        *zip(*shuffled, strict=True)
    )


def test_many_extreme_ratios_do_not_overflow():
    assert score.geometric_mean([1e300] * 42) == pytest.approx(1e300)
    assert score.geometric_mean([1e-300] * 42) == pytest.approx(1e-300)
