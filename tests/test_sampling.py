"""The pass loop: how many passes, what is timed, what is reported when."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.backends.base import Batch
from aiscore.sampling import may_start, sample
from aiscore.spec import Policy

BATCH = Batch(input=np.arange(4.0), target=np.arange(2.0))


class Bench:
    """A clock that only its passes move, and a record of what happens."""

    def __init__(self, *passes_s: float) -> None:
        self.now_ns = 0
        self.passes_s = passes_s
        self.batches: list[Batch] = []
        self.reports: list[tuple[float, ...]] = []

    def run_pass(self, batch: Batch) -> None:
        pass_s = self.passes_s[len(self.batches) % len(self.passes_s)]
        self.batches.append(batch)
        self.now_ns += round(pass_s * 1e9)

    def sample(self, policy: Policy | None = None) -> list[float]:
        sample(self.run_pass, BATCH, policy or Policy(), self.reports.append, lambda: self.now_ns)
        return [value for report in self.reports for value in report]


def test_a_short_test_has_22_passes():
    assert len(Bench(0.01).sample()) == 22


def test_times_come_in_order_the_first_pass_included():
    assert Bench(3, 1, 2).sample(Policy(passes=4)) == [3, 1, 2, 3]


def test_no_pass_starts_after_30_seconds():
    assert len(Bench(4).sample()) == 8  # the last one starts at 28 s


def test_the_first_five_passes_start_after_30_seconds_too():
    assert len(Bench(20).sample()) == 5


def test_no_pass_starts_after_100_seconds():
    assert len(Bench(60).sample()) == 2


def test_a_first_pass_that_compiles_for_longer_leaves_time_for_the_others():
    compiling = Bench(120, *[0.01] * 21)
    assert len(compiling.sample()) == 22
    assert len(Bench(120).sample()) == 2


def test_a_time_limit_of_zero_leaves_the_first_five_passes():
    assert len(Bench(0.1).sample(Policy(max_seconds=0))) == 5


def test_fewer_passes_than_five_can_be_asked_for():
    assert len(Bench(0.1).sample(Policy(passes=1))) == 1


def test_every_pass_gets_a_fresh_copy_of_the_batch():
    bench = Bench(0.01)
    bench.sample(Policy(passes=3))
    for batch in bench.batches:
        assert not np.shares_memory(batch.input, BATCH.input)
        assert batch.target is not None and BATCH.target is not None
        assert not np.shares_memory(batch.target, BATCH.target)
        np.testing.assert_array_equal(batch.input, BATCH.input)
        np.testing.assert_array_equal(batch.target, BATCH.target)


def test_short_passes_are_reported_together():
    bench = Bench(0.04)
    bench.sample()
    assert [len(report) for report in bench.reports] == [1, 13, 8], "every half second"


def test_the_first_pass_is_reported_at_once():
    bench = Bench(0.01)
    bench.sample(Policy(passes=3))
    assert bench.reports == [(0.01,), (0.01, 0.01)]


def test_long_passes_are_reported_at_once():
    bench = Bench(0.05, 0.01, 0.06)
    bench.sample(Policy(passes=4))
    assert bench.reports == [(0.05,), (0.01, 0.06), (0.05,)]


def test_an_error_loses_no_pass_before_it():
    bench = Bench(0.01, 0.01, 0.01)

    def run_pass(batch: Batch) -> None:
        if len(bench.batches) == 2:
            raise RuntimeError("the third pass fails")
        bench.run_pass(batch)

    with pytest.raises(RuntimeError, match="third"):
        sample(run_pass, BATCH, Policy(), bench.reports.append, lambda: bench.now_ns)
    assert bench.reports == [(0.01,), (0.01,)]


EARLY = Policy(early_stop=True)


def test_without_early_stop_a_steady_test_has_all_of_its_passes():
    assert len(Bench(0.1, 0.1).sample()) == 22


def test_with_early_stop_a_steady_test_ends_after_11_passes_and_not_before():
    assert len(Bench(0.1).sample(EARLY)) == 11
    assert len(Bench(0.1).sample(Policy(early_stop=True, passes=7))) == 7


def test_with_early_stop_a_noisy_test_goes_on():
    assert len(Bench(0.1, 0.11).sample(EARLY)) == 22


def test_early_stop_waits_until_the_mean_is_known_to_half_a_percent():
    spread = 0.019  # standard error: 1.9 % / sqrt(passes - 1)
    passes = Bench(0.1 * (1 - spread), 0.1 * (1 + spread)).sample(EARLY)
    assert 11 < len(passes) < 22


@given(index=st.integers(0, 30), elapsed_s=st.floats(0, 200))
def test_a_pass_that_may_not_start_will_not_start_later(index, elapsed_s):
    policy = Policy()
    if not may_start(index, elapsed_s, policy):
        assert not may_start(index + 1, elapsed_s, policy)
        assert not may_start(index, elapsed_s + 1, policy)


@given(pass_s=st.floats(1e-4, 300), passes=st.integers(1, 30))
def test_every_pass_is_reported_once(pass_s, passes):
    bench = Bench(pass_s)
    assert len(bench.sample(Policy(passes=passes))) == len(bench.batches) <= passes
