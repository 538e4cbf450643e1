"""How far to believe a result: named checks of plain numbers (docs/checks.md).

A check compares one value with one limit and says what to do about it. What
was not measured is not checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import fsum
from statistics import fmean, median

from aiscore.scoring.score import spread

WARMING_UP = 0.10  # how much slower than the settled passes one is that still warms up


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A check in words. ``limit`` is the highest value that is fine."""

    name: str
    limit: float
    meaning: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ban:
    """A check of a fact: one word must not be in it."""

    name: str
    word: str
    meaning: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What came of it: the highest value of any test, and the tests above the limit."""

    name: str
    ok: bool
    value: float | str
    limit: float | str
    meaning: str
    advice: str
    tests: tuple[str, ...] = ()


NOISY = Rule(
    name="noisy",
    limit=0.10,
    meaning="standard deviation / mean of a test's passes",
    advice="end other programs, let the machine cool down, and run again",
)
NOT_STEADY = Rule(
    name="not_steady",
    limit=0.02,
    meaning="the share of a test's time that warming up after the first pass adds",
    advice="run again: compiled and cached kernels, and a warm device, make the passes settle",
)
FIRST_PASS_INCLUDED = Rule(
    name="first_pass_included",
    limit=0,
    meaning="rounds of a test that have a single pass, which holds the start-up cost",
    advice="ask for more passes (--passes) or more time (--max-seconds-per-test)",
)
CLOCK_TROUBLE = Rule(
    name="clock_trouble",
    limit=0,
    meaning="passes of a test that took no time or less",
    advice="the machine's clock is not to be trusted: check its clock source, then run again",
)
SPILLED = Rule(
    name="spilled_to_host_memory",
    limit=1,
    meaning="the framework's peak on the device / the device's memory",
    advice="switch unified memory off (TF_FORCE_UNIFIED_MEMORY) and lower --memory-fraction",
)
THROTTLED = Rule(
    name="throttled",
    limit=0,
    meaning="the share of samples in which heat or its supply made the GPU lower its clocks",
    advice="cool it better or let it rest, and run again",
)
CPU_THROTTLED = Rule(
    name="cpu_throttled",
    limit=0,
    meaning="times that heat made a CPU lower its clock",
    advice="cool it better or let it rest, and run again",
)
HOST_BOUND = Rule(
    name="host_bound",
    limit=0.5,
    meaning="the share of a test's time that its data's conversion and copying take",
    advice="this time is the host's more than the device's: --protocol resident leaves it out",
)
FASTER_THAN_PEAK = Rule(
    name="faster_than_peak",
    limit=1.05,
    meaning="the arithmetic of a test / what the device did in products of large matrices",
    advice="run again with nothing else running; docs/checks.md says what else can do that",
)
OTHER_LOAD = Rule(
    name="other_load",
    limit=0.05,
    meaning="the share of the CPUs' time that other processes took (median of the samples)",
    advice="end other programs, and run again",
)
STOLEN_TIME = Rule(
    name="stolen_time",
    limit=0.02,
    meaning="the share of the CPUs' time that the hypervisor took (median of the samples)",
    advice="take a machine whose cores are not shared, and run again",
)
OTHER_GPU_PROCESSES = Rule(
    name="other_gpu_processes",
    limit=0,
    meaning="processes of others on the GPU",
    advice="wait until they have ended (nvidia-smi lists them), or choose another GPU (--device)",
)
ON_BATTERY = Ban(
    name="on_battery",
    word="battery",
    meaning="the power source",
    advice="plug the machine in, and run again",
)
POWERSAVE_GOVERNOR = Ban(
    name="powersave_governor",
    word="powersave",
    meaning="the CPU frequency governor",
    advice="choose another: cpupower frequency-set -g performance",
)

RULES = (
    NOISY,
    NOT_STEADY,
    FIRST_PASS_INCLUDED,
    CLOCK_TROUBLE,
    SPILLED,
    THROTTLED,
    CPU_THROTTLED,
    OTHER_LOAD,
    STOLEN_TIME,
    OTHER_GPU_PROCESSES,
    HOST_BOUND,
    FASTER_THAN_PEAK,
)
BANS = (ON_BATTERY, POWERSAVE_GOVERNOR)


def judge(rule: Rule, values: Mapping[str, float]) -> Check | None:
    """The check of a value for each test; None without any."""
    if not values:
        return None
    above = tuple(test for test, value in values.items() if value > rule.limit)
    return Check(
        name=rule.name,
        ok=not above,
        value=max(values.values()),
        limit=rule.limit,
        meaning=rule.meaning,
        advice=rule.advice,
        tests=above,
    )


def judge_fact(ban: Ban, fact: str) -> Check:
    """The check of a fact: one or several words with commas between them."""
    return Check(
        name=ban.name,
        ok=ban.word not in fact.split(", "),
        value=fact,
        limit=f"not {ban.word}",
        meaning=ban.meaning,
        advice=ban.advice,
    )


def relative_spread(counted: Sequence[float]) -> float:
    """The standard deviation of two or more passes, as a share of their mean."""
    mean = fmean(counted)
    return spread(counted, mean) / mean


def warm_up_share(counted: Sequence[float]) -> float:
    """What warming up adds to the passes' time, as a share of what they took without it.

    The leading passes that are clearly slower than the second half's median
    warm up, and without it they would take that median.
    """
    settled = settled_time(counted)
    slow = counted[: warming_up(counted, WARMING_UP)]
    without = fsum([settled * len(slow), *counted[len(slow) :]])
    return fsum(time - settled for time in slow) / without


def warming_up(times: Sequence[float], margin: float) -> int:
    """How many of the leading times are slower than the settled one by more than the margin."""
    limit = settled_time(times) * (1 + margin)
    return sum(1 for _ in takewhile(lambda time: time > limit, times))


def settled_time(times: Sequence[float]) -> float:
    """The median of their second half."""
    return median(times[len(times) // 2 :])
