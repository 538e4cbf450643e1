"""What is asked for: the options of a run, and those that a result was begun with."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from aiscore.errors import UserError
from aiscore.execution.resume import Unfinished, find
from aiscore.results.model import DeviceRecord, PriceRecord, Result
from aiscore.results.prices import price
from aiscore.spec import (
    STANDARD_POLICY,
    DeviceKind,
    Mode,
    Options,
    Policy,
    Precision,
    Protocol,
    Suite,
)
from workloads.suite import TESTS

QUICK_PASSES = 3
PREPARE_LIMIT_S = 3600.0  # building, the pass that is running at the time limit, checking
SEED_LIMIT = 1 << 32  # what every framework's generator takes
AUTO = "auto"
BOTH = "both"
PROTOCOLS = {
    **{protocol.value: (protocol,) for protocol in Protocol},
    BOTH: (Protocol.CLASSIC, Protocol.RESIDENT),
}
CHOICES: Mapping[str, type[StrEnum]] = {"suite": Suite, "only": Mode, "precision": Precision}
"""Of the options that a command line and a script give as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user asks for, as the options of ``aiscore run``; raises UserError if absurd."""

    suite: Suite = Suite.FULL
    quick: bool = False
    only: Mode | None = None
    tests: str | None = None
    backend: str = "tensorflow"
    device: str = AUTO
    protocol: str = Protocol.CLASSIC.value
    precision: Precision = Precision.DEFAULT
    xla: bool = False
    rounds: int = 1
    passes: int | None = None
    early_stop: bool = False
    max_seconds_per_test: float | None = None
    timeout: float | None = None
    memory_fraction: float | None = None
    seed: int = 0
    label: str | None = None
    price: float | None = None
    currency: str | None = None
    output: Path | None = None
    arguments: tuple[str, ...] = ()
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
        self.price_record()
        require_sane(
            passes=self.passes,
            max_seconds=self.max_seconds_per_test,
            timeout=self.timeout,
            memory_fraction=self.memory_fraction,
            seed=self.seed,
        )

    def price_record(self) -> PriceRecord | None:
        """What the device costs, if it was said; raises UserError if that is no price."""
        return price_of(self.price, self.currency)

    def policies(self) -> tuple[Policy, ...]:
        """The timing policy of each protocol that follows from it."""
        return tuple(self._policy(STANDARD_POLICY[each]) for each in PROTOCOLS[self.protocol])

    def _policy(self, standard: Policy) -> Policy:
        seconds = self.max_seconds_per_test
        return replace(
            standard,
            passes=self.passes or (QUICK_PASSES if self.quick else standard.passes),
            max_seconds=standard.max_seconds if seconds is None else seconds,
            early_stop=self.early_stop or standard.early_stop,
        )

    def options(self) -> Options:
        """The backend's options that follow from it."""
        return Options(memory_fraction=self.memory_fraction, precision=self.precision, xla=self.xla)

    def timeout_s(self) -> float:
        """How long a test may take altogether: what was asked for, or far more than it needs."""
        if self.timeout is not None:
            return self.timeout
        limits = [max(policy.max_seconds, policy.hard_limit_s) for policy in self.policies()]
        return max(limits) + PREPARE_LIMIT_S


def require_sane(
    *,
    passes: int | None,
    max_seconds: float | None,
    timeout: float | None,
    memory_fraction: float | None,
    seed: int,
) -> None:
    """Raises UserError for options of runs and sweeps that make no sense."""
    if passes is not None and passes < 1:
        raise UserError(f"{passes} passes measure nothing", "ask for 1 or more")
    if max_seconds is not None and not (math.isfinite(max_seconds) and max_seconds >= 0):
        raise UserError(f"{max_seconds} s is not a time limit", "give a number of seconds")
    if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
        raise UserError(f"{timeout} s is not a deadline", "give a number of seconds")
    if memory_fraction is not None and not 0 < memory_fraction <= 1:
        raise UserError(f"{memory_fraction} is no share of the memory", "give one above 0, up to 1")
    if not 0 <= seed < SEED_LIMIT:
        raise UserError(f"{seed} is not a seed", f"give one from 0 to {SEED_LIMIT - 1}")


def price_of(amount: float | None, currency: str | None) -> PriceRecord | None:
    """What a device costs, if it was said; raises UserError if that is no price."""
    if amount is None:
        if currency is not None:
            raise UserError(f"{currency!r} without a price", "give the price too")
        return None
    return price(amount, currency)


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
            **(whole if chosen else {**whole, **_selection(result)}),
            "quick": result.run.quick and not chosen,
            "backend": result.backend,
            "device": _device_text(result.device),
            "protocol": BOTH if result.resident else result.protocol.value,
            "precision": result.options.precision,
            "xla": result.options.xla,
            "rounds": result.run.rounds,
            "passes": _passes(result),
            "early_stop": result.protocol is Protocol.CLASSIC and result.policy.early_stop,
            "max_seconds_per_test": result.policy.max_seconds,
            "timeout": result.run.timeout_s,
            "memory_fraction": result.options.memory_fraction,
            "seed": result.run.seed,
            "label": result.run.label,
            **_price(result),
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


def _price(result: Result) -> dict[str, Any]:
    cost = result.run.price
    return {} if cost is None else {"price": cost.amount, "currency": cost.currency}


def _device_text(device: DeviceRecord) -> str:
    """What ``choose_device`` takes for this device."""
    if device.automatic:
        return AUTO
    return device.uuid or (
        "cpu" if device.kind is DeviceKind.CPU else f"{device.kind}:{device.index}"
    )
