"""One test, pass by pass in turn in two live processes. Standard library only."""

import statistics
from dataclasses import dataclass, field
from typing import Any, Protocol

from sides import SideError

SLOW_PASS_S = 5.0
PAIRS_WHEN_SLOW = 5


class Asked(Protocol):
    """A side, seen from the parent."""

    waited_s: float

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The side's answer."""
        ...


@dataclass
class Times:
    """One side's part. ``wall_s`` is how long it was waited for, from open to close."""

    setup_s: float | None = None
    first_pass_s: float | None = None
    passes_s: list[float] = field(default_factory=list)
    wall_s: float = 0.0
    peak_device_bytes: int | None = None
    peak_rss_bytes: int | None = None


@dataclass
class Paired:
    """One test on both sides. The first pass of each is a warm-up and in no pair."""

    test: str
    reference: Times = field(default_factory=Times)
    candidate: Times = field(default_factory=Times)
    error: str | None = None

    def ratios(self) -> list[float]:
        """Candidate / reference of each complete pair, in order."""
        both = zip(self.reference.passes_s, self.candidate.passes_s, strict=False)
        return [candidate / reference for reference, candidate in both]


def measure(paired: Paired, reference: Asked, candidate: Asked, pairs: int) -> None:
    """Fills ``paired``; whatever ends the test early, what was measured stays.

    The sides take turns in going first, so that neither gains from the order.
    """
    turns = [(reference, paired.reference), (candidate, paired.candidate)]
    waited_before = [side.waited_s for side, _ in turns]
    try:
        for side, times in turns:
            times.setup_s = side.ask({"open": paired.test})["setup_s"]
        for side, times in turns:
            times.first_pass_s = _pass(side)
        while len(paired.ratios()) < _wanted(paired, pairs):
            for side, times in turns:
                times.passes_s.append(_pass(side))
            turns.reverse()
        for side, times in turns:
            answer = side.ask({"close": True})
            times.peak_device_bytes = answer["peak_device_bytes"]
            times.peak_rss_bytes = answer["peak_rss_bytes"]
    except SideError as failure:
        paired.error = str(failure)
    except KeyboardInterrupt:
        paired.error = "interrupted"
        raise
    finally:
        paired.reference.wall_s = reference.waited_s - waited_before[0]
        paired.candidate.wall_s = candidate.waited_s - waited_before[1]


def _pass(side: Asked) -> float:
    seconds: float = side.ask({"pass": True})["seconds"]
    return seconds


def _wanted(paired: Paired, pairs: int) -> int:
    measured = [t.passes_s for t in (paired.reference, paired.candidate) if t.passes_s]
    slow = any(statistics.median(passes_s) > SLOW_PASS_S for passes_s in measured)
    return min(pairs, PAIRS_WHEN_SLOW) if slow else pairs
