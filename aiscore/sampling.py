"""The pass loops of both protocols: what is timed, and when to stop.

It knows no framework and no network. docs/method.md gives the reasons.
"""

import time
from collections.abc import Callable, Sequence
from math import sqrt
from statistics import fmean, stdev

from aiscore.backends.base import Batch
from aiscore.scoring import resident
from aiscore.spec import Policy

REPORT_EVERY_S = 0.5  # the parent is not woken between short passes
LONG_PASS_S = 0.05  # what is reported at once: the wake-up is a small part of it
EARLY_STOP_PASSES = 11  # with fewer, the spread itself is too little known
EARLY_STOP_ERROR = 0.005
MOST_PASSES_PER_BLOCK = 1024  # what is enqueued at once has to fit some queue
NS_PER_S = 1e9

Clock = Callable[[], int]
Report = Callable[[tuple[float, ...]], None]
ReportBlock = Callable[[int, float], None]


def sample(
    run_pass: Callable[[Batch], object],
    batch: Batch,
    policy: Policy,
    report: Report,
    clock_ns: Clock = time.perf_counter_ns,
) -> None:
    """Times passes of ``run_pass`` until the policy ends the test.

    Every pass gets a fresh copy of the batch, made outside the timed region. A
    first pass that is longer than all passes may take, because it compiles, stands
    outside the time limits: else it would be the only one.
    ``report`` receives the times in seconds, in order: the first at once, for the
    sensors start with it, others several at a time. What was timed before an error
    is reported before the error leaves.
    """
    started = reported = clock_ns()
    taken: list[float] = []
    unreported: list[float] = []
    try:
        for index in range(policy.passes):
            if not may_start(index, (clock_ns() - started) / NS_PER_S, policy):
                break
            if policy.early_stop and is_known(taken):
                break
            fresh = _copy(batch)
            begin = clock_ns()
            run_pass(fresh)  # its output is freed inside the timed region, as in the original
            end = clock_ns()
            pass_s = (end - begin) / NS_PER_S
            taken.append(pass_s)
            unreported.append(pass_s)
            if index == 0 and pass_s >= policy.hard_limit_s:
                started = end
            del fresh  # before the next copy is made: large batches would not fit three times
            if index == 0 or pass_s >= LONG_PASS_S or (end - reported) / NS_PER_S >= REPORT_EVERY_S:
                report(tuple(unreported))
                unreported.clear()
                reported = end
    finally:
        if unreported:
            report(tuple(unreported))


def sample_blocks(
    enqueue_pass: Callable[[], None],
    sync: Callable[[], None],
    policy: Policy,
    report: ReportBlock,
    clock_ns: Clock = time.perf_counter_ns,
) -> None:
    """Times blocks of passes, each with one ``sync`` at its end, until the policy ends the test.

    The first block is the first pass, which compiles and stands outside the
    time limits. The following ones double while twice their time is within
    ``block_seconds``. ``report`` receives the number of passes of each block and
    the time of its mean pass in seconds.
    """

    def time_block(passes: int) -> float:
        begin = clock_ns()
        for _ in range(passes):
            enqueue_pass()
        sync()
        block_s = (clock_ns() - begin) / NS_PER_S
        sizes.append(passes)
        means_s.append(block_s / passes)
        report(passes, block_s / passes)
        return block_s

    sizes: list[int] = []
    means_s: list[float] = []
    time_block(1)
    started, size = clock_ns(), 1
    counted_s: Sequence[float] = ()
    while (
        len(counted_s) < policy.passes
        and may_start(len(counted_s), (clock_ns() - started) / NS_PER_S, policy)
        and not (policy.early_stop and resident.is_known(counted_s))
    ):
        block_s = time_block(size)
        counted_s = resident.counted(sizes, means_s)
        if 2 * block_s <= (policy.block_seconds or 0):
            size = min(2 * size, MOST_PASSES_PER_BLOCK)


def may_start(index: int, elapsed_s: float, policy: Policy) -> bool:
    """Whether pass ``index`` (from 0) may start, ``elapsed_s`` after the test's start."""
    if elapsed_s < policy.max_seconds:
        return True
    return index < policy.min_passes and elapsed_s < policy.hard_limit_s


def is_known(passes_s: Sequence[float]) -> bool:
    """Whether the mean without the first pass has a standard error of half a percent or less."""
    if len(passes_s) < EARLY_STOP_PASSES:
        return False
    counted = passes_s[1:]
    return stdev(counted) / sqrt(len(counted)) <= EARLY_STOP_ERROR * fmean(counted)


def _copy(batch: Batch) -> Batch:
    target = None if batch.target is None else batch.target.copy()
    return Batch(input=batch.input.copy(), target=target)
