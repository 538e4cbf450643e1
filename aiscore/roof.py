"""What a device can do at most: work of known size, timed again and again.

It knows no framework: a backend's ``Probes`` do the work. docs/method.md says
what each figure stands for.
"""

import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from math import ceil
from operator import itemgetter

import numpy as np

from aiscore.backends.base import Call, Probes
from aiscore.messages import Probed
from aiscore.sampling import NS_PER_S, Clock
from aiscore.spec import Precision, Probe

SIZES = (256, 1024, 2048, 4096, 8192)  # up to the first at which one product takes long enough
LONG_ENOUGH_S = 0.05  # the start of a step is no part of that worth mentioning
MOST_IN_A_STEP = 256
PASSES = (5, 50)  # at least and at most
AT_LEAST_S = 0.5
MEMORY_VALUES = 1 << 26  # 256 MiB of float32: far larger than a cache
HOST_VALUES = 8_000_000  # as many as a large batch of the suite has
TINY = 16  # values: adding them is nothing but the launch

Measured = tuple[float, tuple[float, ...]]
"""The work of a pass, and the passes."""


def measure(probes: Probes, clock_ns: Clock = time.perf_counter_ns) -> Iterator[Probed]:
    """Times every probe in turn. One that fails says why, and the others go on."""
    for precision in probes.precisions:
        yield _probed(Probe.ARITHMETIC, partial(_product, probes, clock_ns, precision), precision)
    for kind, timed in {
        Probe.MEMORY: _memory,
        Probe.LAUNCH: _launch,
        Probe.FEED: _feed,
        Probe.FETCH: _fetch,
    }.items():
        yield _probed(kind, partial(timed, probes, clock_ns))


def _probed(
    kind: Probe, measured: Callable[[], Measured], precision: Precision | None = None
) -> Probed:
    try:
        work, passes_s = measured()
    except Exception as error:  # whatever a framework raises where it cannot do this
        traceback.print_exc()
        problem = f"{type(error).__name__}: {error}"
        return Probed(kind=kind, precision=precision, problem=problem)
    return Probed(kind=kind, precision=precision, work=work, passes_s=passes_s)


def _product(probes: Probes, clock_ns: Clock, precision: Precision) -> Measured:
    """Floating-point operations: products of matrices of the size that suits the device best."""
    tried: list[tuple[float, int, float, Call]] = []
    for size in SIZES:
        one = probes.product(precision, size, 1)
        one_s = _once(one, clock_ns)
        tried.append((size**3 / one_s, size, one_s, one))
        if one_s >= LONG_ENOUGH_S:
            break
    _, size, one_s, one = max(tried, key=itemgetter(0))
    count, call = _in_a_step(one, one_s, partial(probes.product, precision, size))
    return 2 * size**3 * count, _repeat(call, clock_ns)


def _memory(probes: Probes, clock_ns: Clock) -> Measured:
    """Bytes: of each value two are read and one is written, four bytes each."""
    one = probes.add(MEMORY_VALUES, 1)
    count, call = _in_a_step(one, _once(one, clock_ns), partial(probes.add, MEMORY_VALUES))
    return 12 * MEMORY_VALUES * count, _repeat(call, clock_ns)


def _launch(probes: Probes, clock_ns: Clock) -> Measured:
    """Operations: additions so small that launching them is all there is to do."""
    return MOST_IN_A_STEP, _repeat(probes.add(TINY, MOST_IN_A_STEP), clock_ns)


def _feed(probes: Probes, clock_ns: Clock) -> Measured:
    """Bytes of a float64 batch on the host."""
    batch = np.random.default_rng(0).uniform(0, 255, HOST_VALUES)
    return batch.nbytes, _repeat(probes.feed(batch), clock_ns)


def _fetch(probes: Probes, clock_ns: Clock) -> Measured:
    """Bytes of a float32 output on the device."""
    return 4 * HOST_VALUES, _repeat(probes.fetch(HOST_VALUES), clock_ns)


def _in_a_step(one: Call, one_s: float, more: Callable[[int], Call]) -> tuple[int, Call]:
    """How often the work is done in a step that takes long enough, and that step."""
    count = min(MOST_IN_A_STEP, ceil(LONG_ENOUGH_S / one_s))
    return count, one if count == 1 else more(count)


def _once(call: Call, clock_ns: Clock) -> float:
    """The time of the second call: the first one compiles."""
    call()
    return _timed(call, clock_ns)


def _repeat(call: Call, clock_ns: Clock) -> tuple[float, ...]:
    call()
    begin = clock_ns()
    passes_s: list[float] = []
    fewest, most = PASSES
    while len(passes_s) < fewest or (
        len(passes_s) < most and clock_ns() - begin < AT_LEAST_S * NS_PER_S
    ):
        passes_s.append(_timed(call, clock_ns))
    return tuple(passes_s)


def _timed(call: Call, clock_ns: Clock) -> float:
    begin = clock_ns()
    call()
    return max(1, clock_ns() - begin) / NS_PER_S  # the clock tells no less than 1 ns
