"""What bounds a test, in plain numbers: what each resource needs of its time at the least.

A resource's share is the time that it would need if it did nothing but this
test's work at the rate that was measured of it, over the time that the test
took. What was not measured has no share.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Bound(StrEnum):
    """What a test spends most of its time on."""

    ARITHMETIC = "arithmetic"
    MEMORY = "memory"
    LAUNCH = "launch overhead"
    HOST = "host"
    UNKNOWN = "unknown"


MOST = 0.5  # what takes half of the time: to be rid of anything else gains less


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """What a device and its host do in a second; None where it was not measured."""

    flop: float | None = None
    memory_bytes: float | None = None
    operations: float | None = None
    fed_bytes: float | None = None
    fetched_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one pass of a test does; its operations are None where they were not counted."""

    flop: float
    memory_bytes: float
    operations: int | None
    fed_bytes: float
    fetched_bytes: float


def shares(work: Work, roof: Roof, time_s: float) -> dict[Bound, float]:
    """The share of the time that each resource needs at the least.

    Traffic that would take more than the whole time was a cache's, and launches
    that would were cheaper than those measured: their shares are not known then.
    A host that would need more was faster than when it was measured: it has all of it.
    """
    needed_s: dict[Bound, float] = {}
    if roof.flop:
        needed_s[Bound.ARITHMETIC] = work.flop / roof.flop
    if roof.memory_bytes:
        needed_s[Bound.MEMORY] = work.memory_bytes / roof.memory_bytes
    if roof.operations and work.operations is not None:
        needed_s[Bound.LAUNCH] = work.operations / roof.operations
    for estimated in (Bound.MEMORY, Bound.LAUNCH):
        if needed_s.get(estimated, 0) > time_s:
            del needed_s[estimated]
    if roof.fed_bytes and roof.fetched_bytes:
        moved_s = work.fed_bytes / roof.fed_bytes + work.fetched_bytes / roof.fetched_bytes
        needed_s[Bound.HOST] = min(moved_s, time_s)
    return {resource: needed / time_s for resource, needed in needed_s.items()}


def bound(found: Mapping[Bound, float]) -> Bound:
    """What takes most of the time, if it takes half of it or more."""
    most = max(found, key=lambda resource: found[resource], default=Bound.UNKNOWN)
    return most if found.get(most, 0) >= MOST else Bound.UNKNOWN
