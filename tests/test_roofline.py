"""What bounds a test: the shares of its time, and when one of them is said to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.scoring.roofline import MOST, Bound, Roof, Work, bound, shares

ROOF = Roof(flop=100, memory_bytes=50, operations=10, fed_bytes=20, fetched_bytes=40)
WORK = Work(flop=400, memory_bytes=100, operations=5, fed_bytes=10, fetched_bytes=20)
amounts = st.floats(min_value=1e-3, max_value=1e15)


def test_a_share_is_the_time_needed_at_the_least_over_the_time_taken():
    assert shares(WORK, ROOF, time_s=8) == {
        Bound.ARITHMETIC: 0.5,
        Bound.MEMORY: 0.25,
        Bound.LAUNCH: 0.0625,
        Bound.HOST: 0.125,
    }


def test_what_was_not_measured_has_no_share():
    assert shares(WORK, Roof(), time_s=8) == {}
    uncounted = Work(flop=400, memory_bytes=100, operations=None, fed_bytes=10, fetched_bytes=20)
    assert Bound.LAUNCH not in shares(uncounted, ROOF, time_s=8)
    assert Bound.HOST not in shares(WORK, Roof(fed_bytes=20), time_s=8)


def test_traffic_and_launches_that_take_more_than_the_whole_time_cost_less_than_was_measured():
    found = shares(WORK, ROOF, time_s=0.4)
    assert found[Bound.ARITHMETIC] == 10, "that is an error, and has to be seen"
    assert found.keys() == {Bound.ARITHMETIC, Bound.HOST}


def test_a_host_that_was_measured_slower_has_the_whole_time_and_no_more():
    assert shares(WORK, ROOF, time_s=0.4)[Bound.HOST] == 1


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({Bound.ARITHMETIC: MOST, Bound.MEMORY: 0.4}, Bound.ARITHMETIC),
        ({Bound.ARITHMETIC: 0.6, Bound.MEMORY: 0.7}, Bound.MEMORY),
        ({Bound.ARITHMETIC: 0.1, Bound.LAUNCH: 0.8}, Bound.LAUNCH),
        ({Bound.ARITHMETIC: 0.1, Bound.HOST: 0.8}, Bound.HOST),
        ({Bound.ARITHMETIC: 0.49, Bound.MEMORY: 0.49}, Bound.UNKNOWN),
        ({}, Bound.UNKNOWN),
    ],
)
def test_what_takes_half_of_the_time_bounds_it(found, expected):
    assert bound(found) is expected


@given(amounts, amounts, amounts)
def test_twice_the_time_is_half_the_share(flop, rate, time_s):
    work = Work(flop=flop, memory_bytes=0, operations=None, fed_bytes=0, fetched_bytes=0)
    once, twice = (
        shares(work, Roof(flop=rate), time)[Bound.ARITHMETIC] for time in (time_s, 2 * time_s)
    )
    assert twice == pytest.approx(once / 2)
