"""The validity checks: what each finds, and what it lets pass."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.scoring import validity

DOCUMENTATION = Path(__file__).parent.parent / "docs" / "checks.md"
STEADY = [1.0] * 20
times = st.floats(min_value=1e-6, max_value=1e4)


def test_a_value_at_the_limit_is_fine_and_one_above_is_not():
    rule = validity.NOISY
    at = validity.judge(rule, {"1.1": rule.limit, "1.2": 0.0})
    above = validity.judge(rule, {"1.1": rule.limit, "1.2": rule.limit + 0.01})
    assert at is not None and above is not None
    assert (at.ok, at.value, at.tests) == (True, rule.limit, ())
    assert (above.ok, above.value, above.tests) == (False, rule.limit + 0.01, ("1.2",))
    assert (above.limit, above.advice) == (rule.limit, rule.advice)


def test_what_was_not_measured_is_not_checked():
    assert validity.judge(validity.NOISY, {}) is None


@pytest.mark.parametrize(
    ("ban", "fact", "ok"),
    [
        (validity.ON_BATTERY, "battery", False),
        (validity.ON_BATTERY, "mains", True),
        (validity.POWERSAVE_GOVERNOR, "performance", True),
        (validity.POWERSAVE_GOVERNOR, "performance, powersave", False),
    ],
)
def test_a_fact_that_must_not_be(ban, fact, ok):
    check = validity.judge_fact(ban, fact)
    assert (check.ok, check.value) == (ok, fact)


def test_the_spread_is_relative_to_the_mean():
    assert validity.relative_spread([90, 110]) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("counted", "share"),
    [
        (STEADY, 0),
        ([100.0, *STEADY], 99 / 21),  # the second pass of the test is 100 x slower
        ([1.45] * 28 + [1.0] * 11, 0.45 * 28 / 39),  # seen on a real machine
        ([*STEADY, 100.0], 0),  # an outlier, not a warm-up
        ([1.0] * 10 + [2.0] * 10, 0),  # it slows down
        ([1e300, 1.0], 5e299),
        ([1.0], 0),
    ],
)
def test_warming_up_is_what_the_leading_slow_passes_add(counted, share):
    assert validity.warm_up_share(counted) == pytest.approx(share)


@given(st.lists(times, min_size=1, max_size=50))
def test_warming_up_never_makes_a_test_faster(counted):
    assert validity.warm_up_share(counted) >= 0


@given(st.lists(times, min_size=2, max_size=50), st.floats(min_value=1e-3, max_value=1e3))
def test_no_figure_depends_on_the_unit_of_time(counted, unit):
    scaled = [time * unit for time in counted]
    assert validity.relative_spread(scaled) == pytest.approx(
        validity.relative_spread(counted), rel=1e-6, abs=1e-9
    )


@pytest.mark.parametrize("rule", validity.RULES, ids=lambda rule: rule.name)
def test_every_limit_is_documented(rule):
    (row,) = [line for line in DOCUMENTATION.read_text().splitlines() if f"`{rule.name}`" in line]
    assert float(row.split(" | ")[2]) == rule.limit


@pytest.mark.parametrize("ban", validity.BANS, ids=lambda ban: ban.name)
def test_every_ban_is_documented(ban):
    (row,) = [line for line in DOCUMENTATION.read_text().splitlines() if f"`{ban.name}`" in line]
    assert row.split(" | ")[2] == f"not {ban.word}"
