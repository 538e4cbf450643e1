"""The resident protocol: timed blocks, what of them counts, and when to stop."""

from dataclasses import replace
from statistics import NormalDist, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.results.model import RoundRecord
from aiscore.results.store import limited
from aiscore.sampling import MOST_PASSES_PER_BLOCK, sample_blocks
from aiscore.scoring import resident, score
from aiscore.scoring.score import estimate, relative_error
from aiscore.spec import RESIDENT_POLICY, Policy, Protocol

TIMES = st.lists(st.floats(1e-4, 1e3), min_size=1, max_size=60)


class Bench:
    """A device whose queue takes no time, and that moves the clock when it is waited for."""

    def __init__(self, *passes_s: float) -> None:
        self.now_ns = 0
        self.passes_s = passes_s  # the last of them for ever
        self.enqueued = 0
        self.done = 0
        self.syncs = 0
        self.blocks: list[tuple[int, float]] = []

    def enqueue(self) -> None:
        self.enqueued += 1

    def sync(self) -> None:
        self.syncs += 1
        for index in range(self.done, self.enqueued):
            self.now_ns += round(1e9 * self.passes_s[min(index, len(self.passes_s) - 1)])
        self.done = self.enqueued

    def sample(self, policy: Policy = RESIDENT_POLICY) -> list[int]:
        """The sizes of the blocks."""
        sample_blocks(
            self.enqueue,
            self.sync,
            policy,
            lambda passes, mean_s: self.blocks.append((passes, mean_s)),
            lambda: self.now_ns,
        )
        return [passes for passes, _ in self.blocks]

    def counted(self) -> list[float]:
        sizes, times = zip(*self.blocks, strict=True)
        return list(resident.counted(sizes, times))


def test_the_first_pass_stands_alone_and_blocks_double_until_they_are_long_enough():
    bench = Bench(5.0, 0.01)
    sizes = bench.sample()
    assert sizes[:6] == [1, 1, 2, 4, 8, 16]
    assert set(sizes[5:]) == {16}
    assert bench.blocks[0] == (1, 5.0)
    assert bench.blocks[5] == (16, pytest.approx(0.01))


def test_a_block_is_synchronised_once():
    bench = Bench(0.01)
    bench.sample()
    assert bench.syncs == len(bench.blocks)
    assert bench.done == bench.enqueued == sum(passes for passes, _ in bench.blocks)


def test_long_passes_are_blocks_of_their_own():
    assert set(Bench(9.0, 0.11).sample()) == {1}


def test_a_steady_test_ends_when_its_median_is_known():
    bench = Bench(0.01)
    bench.sample()
    assert len(bench.counted()) == resident.FEWEST_TO_STOP == 11


def test_a_noisy_test_goes_on_to_the_most_blocks_or_the_time_limit():
    noise = [0.15 + 0.05 * (index * 7 % 10) / 10 for index in range(2000)]
    short = Bench(*noise)
    short.sample(replace(RESIDENT_POLICY, passes=20))
    assert len(short.counted()) == 20
    long = Bench(*(3 * pass_s for pass_s in noise))
    long.sample()
    assert 30 <= long.now_ns / 1e9 < 31.5, "a block and the first pass aside"


def test_the_first_pass_may_take_longer_than_the_whole_test():
    assert len(Bench(200.0, 4.0).sample()) == 1 + 8  # the last one starts at 28 s


def test_the_first_five_blocks_start_after_30_seconds_too():
    assert len(Bench(30.0, 20.0).sample()) == 1 + 5
    assert len(Bench(30.0, 60.0).sample()) == 1 + 2, "but not after 100"


def test_a_pass_of_no_time_does_not_fill_the_queue():
    bench = Bench(0.0)
    assert max(bench.sample()) == MOST_PASSES_PER_BLOCK


def test_an_error_loses_no_block_before_it():
    bench = Bench(0.2)
    enqueue = bench.enqueue

    def fail_in_the_fourth() -> None:
        if bench.enqueued == 3:
            raise RuntimeError("out of luck")
        enqueue()

    bench.enqueue = fail_in_the_fourth
    with pytest.raises(RuntimeError, match="luck"):
        bench.sample()
    assert bench.blocks == [(1, 0.2)] * 3


@pytest.mark.parametrize(
    ("sizes", "times", "counted"),
    [
        ([1], [9], [9]),
        ([1, 1], [9, 2], [2]),
        ([1, 1, 1, 1], [9, 2, 2, 2], [2, 2, 2]),
        ([1, 1, 2, 4, 4, 4], [9, 3, 3, 2, 1, 1], [1, 1]),
        ([1, 1, 2, 4, 8], [9, 3, 3, 2, 2], [2]),
        ([1] * 9, [9, 5, 4, 3, 2, 2, 2, 2, 2], [2, 2, 2, 2, 2]),  # it warms up
        ([1] * 5, [9, 2, 2, 2, 3], [2, 2, 2, 3]),  # a late outlier is no warming up
        ([1] * 5, [9, 1, 2, 2, 2], [1, 2, 2, 2]),  # a fast start neither
        ([1] * 6, [9, 2.02, 2, 2, 2, 2], [2.02, 2, 2, 2, 2]),  # within the margin
    ],
)
def test_what_counts(sizes, times, counted):
    assert list(resident.counted(sizes, times)) == counted


@given(times=TIMES, sizes=st.data())
def test_something_always_counts_and_it_is_the_end(times, sizes):
    blocks = sizes.draw(st.lists(st.integers(1, 9), min_size=len(times), max_size=len(times)))
    counted = list(resident.counted(blocks, times))
    assert counted
    assert counted == times[-len(counted) :]
    assert len(counted) < len(times) or len(times) == 1


def test_the_time_is_the_median():
    figures = estimate([1.0, 2.0, 9.0], Protocol.RESIDENT)
    assert (figures.time, figures.median, figures.mean) == (2.0, 2.0, 4.0)
    assert estimate([1.0, 2.0, 9.0]).time == 4.0, "in classic it is the mean"


def test_few_blocks_claim_no_error():
    figures = estimate([1.0, 1.1, 0.9, 1.0], Protocol.RESIDENT)
    assert figures.error is None
    assert relative_error([figures]) is None


@pytest.mark.parametrize("n", [11, 25, 101])
def test_the_error_of_the_median_is_that_of_a_normal_sample(n):
    """Where the sample is the quantiles of a normal distribution, theory knows it."""
    sample = [10 + NormalDist().inv_cdf((place + 0.5) / n) for place in range(n)]
    theory = (3.141592653589793 / 2 / n) ** 0.5
    assert score.median_error(sample) == pytest.approx(theory, rel=0.25)


def test_outliers_do_not_move_the_error():
    calm = [1 + 0.001 * (index % 7) for index in range(21)]
    wild = [*calm[:-2], 50.0, 100.0]
    assert score.median_error(wild) == pytest.approx(score.median_error(calm), abs=2e-3)


@given(times=st.lists(st.floats(1e-4, 1e3), min_size=11, max_size=60))
def test_known_is_known_in_every_unit(times):
    known = resident.is_known(times)
    assert resident.is_known([value * 1024 for value in times]) == known
    if known:
        assert score.median_error(times) <= 0.005 * median(times)


@given(times=TIMES, passes=st.integers(1, 8))
def test_what_was_sampled_is_never_more_than_the_policy_allows(times, passes):
    """Though the last block can make others count that did not before it."""
    bench = Bench(*times)
    bench.sample(replace(RESIDENT_POLICY, passes=passes))
    sizes, means_s = zip(*bench.blocks, strict=True)
    record = RoundRecord(round=1, passes_s=list(means_s), block_passes=list(sizes))
    assert limited(record, Protocol.RESIDENT) <= passes


def test_blocks_beyond_the_policy_are_found():
    times = [5.0, 1.0, 0.97, 1.0]
    made = RoundRecord(round=1, passes_s=times, block_passes=[1, 1, 1, 1])
    assert (len(made.counted_s), limited(made, Protocol.RESIDENT)) == (3, 2)
    longer = RoundRecord(round=1, passes_s=[*times, 1.0], block_passes=[1, 1, 1, 1, 1])
    assert limited(longer, Protocol.RESIDENT) == 4
