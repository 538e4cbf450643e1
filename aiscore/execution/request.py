"""What is asked for: the options of a run, and those that a result was begun with."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from aiscore.errors import UserError
from aiscore.execution.common_request import CommonRequest, begun_with
from aiscore.execution.resume import Unfinished, find
from aiscore.results.model import Result
from aiscore.spec import STANDARD_POLICY, Mode, Options, Policy, Precision, Protocol, Suite
from workloads.suite import TESTS

QUICK_PASSES = 3
BOTH = "both"
PROTOCOLS = {
    **{protocol.value: (protocol,) for protocol in Protocol},
    BOTH: (Protocol.CLASSIC, Protocol.RESIDENT),
}
CHOICES: Mapping[str, type[StrEnum]] = {"suite": Suite, "only": Mode, "precision": Precision}
"""Of the options that a command line and a script give as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(CommonRequest):
    """What the user asks for, as the options of ``aiscore run``; raises UserError if absurd."""

    suite: Suite = Suite.FULL
    quick: bool = False
    only: Mode | None = None
    tests: str | None = None
    backend: str = "tensorflow"
    protocol: str = Protocol.CLASSIC.value
    precision: Precision = Precision.DEFAULT
    xla: bool = False
    rounds: int = 1
    early_stop: bool = False
    unfinished: Unfinished | None = None

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise UserError(
                f"there is no {self.protocol!r}", f"give one of: {', '.join(PROTOCOLS)}"
            )
        if self.early_stop and self.protocol == Protocol.RESIDENT:
            raise UserError(
                "a resident test ends early anyway", "leave out the option to do so (--early-stop)"
            )
        if self.rounds < 1:
            raise UserError(f"{self.rounds} rounds measure nothing", "ask for 1 or more")
        CommonRequest.__post_init__(self)  # a class with slots is made anew: super() loses it

    def policies(self) -> tuple[Policy, ...]:
        """The timing policy of each protocol that follows from it."""
        return tuple(self._policy(STANDARD_POLICY[each]) for each in PROTOCOLS[self.protocol])

    def _policy(self, standard: Policy) -> Policy:
        passes = QUICK_PASSES if self.quick else standard.passes
        early_stop = self.early_stop or standard.early_stop
        return self.limited(replace(standard, passes=passes, early_stop=early_stop))

    def options(self) -> Options:
        """The backend's options that follow from it."""
        return Options(memory_fraction=self.memory_fraction, precision=self.precision, xla=self.xla)


def typed(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request from options as they are given; raises UserError for no choice."""
    return {
        name: _choice(CHOICES[name], value) if name in CHOICES and value is not None else value
        for name, value in options.items()
    }


def _choice(kind: type[StrEnum], text: str) -> StrEnum:
    try:
        return kind(text)
    except ValueError:
        raise UserError(f"there is no {text!r}", f"give one of: {', '.join(kind)}") from None


def request_to_resume(path: Path, given: Mapping[str, Any]) -> Request:
    """The request that began the result of that path, with what is given now in its place.

    Raises UserError if there is nothing of that result.
    """
    if "output" in given:
        raise UserError("--resume writes the file that it resumes", "leave out -o")
    unfinished = find(path)
    result = unfinished.result
    if result.imported is not None:
        raise UserError(f"{path} was imported, not run", "begin a run of your own")
    whole = {"suite": result.suite, **dict.fromkeys(("quick", "only", "tests"))}
    chosen = given.keys() & whole.keys()
    return Request(
        **{
            **begun_with(result),
            **(whole if chosen else {**whole, **_selection(result)}),
            "quick": result.run.quick and not chosen,
            "backend": result.backend,
            "protocol": BOTH if result.resident else result.protocol.value,
            "precision": result.options.precision,
            "xla": result.options.xla,
            "rounds": result.run.rounds,
            "passes": _passes(result),
            "early_stop": result.protocol is Protocol.CLASSIC and result.policy.early_stop,
            "memory_fraction": result.options.memory_fraction,
            **given,
        },
        unfinished=unfinished,
    )


def _selection(result: Result) -> dict[str, Any]:
    """The options that select a result's tests."""
    asked = result.run.requested
    modes = {spec.mode for spec in TESTS[result.suite] if spec.id in asked}
    return {
        "only": modes.pop() if len(modes) == 1 else None,
        "tests": None if result.run.quick else ",".join(asked),
    }


def _passes(result: Result) -> int | None:
    """How many passes were asked for; None where nobody asked."""
    standard = QUICK_PASSES if result.run.quick else STANDARD_POLICY[result.protocol].passes
    return None if result.policy.passes == standard else result.policy.passes
