"""Warming up after the first pass: found and shown, never taken out silently."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.report.export import to_markdown
from aiscore.report.text import render_result
from aiscore.results.summary import derive
from aiscore.scoring.validity import warm_up_share
from tests.results_factory import at_speed, record, result
from workloads.suite import FULL

PASSES = st.lists(st.floats(min_value=1e-4, max_value=1e3), min_size=2, max_size=22)


@pytest.mark.parametrize(
    ("counted", "share"),
    [
        ([1.0] * 21, 0),
        ([100.0, *[1.0] * 20], 99 / 21),
        ([100.0, 1.0], 99 / 2),
        ([95.0] * 8 + [65.0] * 13, 8 * 30 / (21 * 65)),
        ([1.05, 0.95] * 10, 0),  # noise
        ([*[1.0] * 20, 3.0], 0),  # a late outlier is no warming up
        ([0.5, *[1.0] * 20], 0),  # a fast start neither
    ],
)
def test_what_warming_up_adds(counted, share):
    assert warm_up_share(counted) == pytest.approx(share)


@given(passes=PASSES, unit=st.sampled_from([2.0**-10, 2.0**10]))
def test_it_is_a_share_and_knows_no_unit(passes, unit):
    share = warm_up_share(passes)
    assert share >= 0
    assert warm_up_share([value * unit for value in passes]) == pytest.approx(share, abs=1e-9)


def warmed(*passes_s):
    """A whole run in which the first test took so long in its passes."""
    rest = at_speed(only=[spec.id for spec in FULL[1:]])
    return result([record(FULL[0], passes_s), *rest])


SLOW_SECOND = [5.0, 7.5, *[0.075] * 20]


def test_a_slow_second_pass_counts_as_the_protocol_says_and_is_flagged():
    test = derive(warmed(*SLOW_SECOND)).tests[0]
    assert test.mean_ms == pytest.approx(1000 * (7.5 + 20 * 0.075) / 21)
    assert test.steady is False
    assert all(other.steady for other in derive(warmed(*SLOW_SECOND)).tests[1:])


def test_it_is_flagged_if_any_round_is():
    rounds = [
        {"round": 1, "passes_s": [0.075] * 22},
        {"round": 2, "passes_s": SLOW_SECOND},
    ]
    assert derive(result([record(FULL[0], rounds=rounds)])).tests[0].steady is False


def test_one_pass_that_counts_is_not_judged():
    assert derive(warmed(5.0, 0.075)).tests[0].steady is None


def test_the_table_marks_it_and_explains_the_mark():
    text = render_result(warmed(*SLOW_SECOND))
    marked = [line for line in text.splitlines() if "*428.6" in line]
    assert [line.split()[0] for line in marked] == ["1.1"]
    assert "* not steady: warming up after the first pass added more than 2%" in text
    assert "not steady" not in render_result(result())
    assert "(not steady)" in to_markdown([warmed(*SLOW_SECOND)])
