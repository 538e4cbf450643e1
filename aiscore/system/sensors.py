"""What sensors of the machine have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Sample:
    """What sensors say now: numbers, and what is the case or not. What they cannot say is absent.

    The names end with the unit; a share is of 1.
    """

    gauges: Mapping[str, float] = field(default_factory=dict)
    flags: Mapping[str, bool] = field(default_factory=dict)


class Sensors(Protocol):
    """The sensors of one part of the machine."""

    def start(self, worker: int) -> None:
        """A test begins in the process of this id, whose group is the worker's own."""
        ...

    def sample(self) -> Sample:
        """What is now, or was since the sample before."""
        ...

    def totals(self) -> Mapping[str, float]:
        """What was counted since the start."""
        ...
