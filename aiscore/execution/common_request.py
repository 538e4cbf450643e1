"""What is asked for of a run and of a sweep alike."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiscore.errors import UserError
from aiscore.results.model import DeviceRecord, PriceRecord, Result
from aiscore.results.prices import price
from aiscore.results.sweep import Sweep
from aiscore.spec import DeviceKind, Policy

PREPARE_LIMIT_S = 3600.0  # building, the pass that is running at the time limit, checking
SEED_LIMIT = 1 << 32  # what every framework's generator takes
AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonRequest(ABC):
    """The options that ``aiscore run`` and ``aiscore throughput`` share; UserError if absurd."""

    device: str = AUTO
    passes: int | None = None
    max_seconds_per_test: float | None = None
    timeout: float | None = None
    memory_fraction: float | None = None
    seed: int = 0
    label: str | None = None
    price: float | None = None
    currency: str | None = None
    output: Path | None = None
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        passes, seconds, timeout = self.passes, self.max_seconds_per_test, self.timeout
        fraction = self.memory_fraction
        if passes is not None and passes < 1:
            raise UserError(f"{passes} passes measure nothing", "ask for 1 or more")
        if seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
            raise UserError(f"{seconds} s is not a time limit", "give a number of seconds")
        if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
            raise UserError(f"{timeout} s is not a deadline", "give a number of seconds")
        if fraction is not None and not 0 < fraction <= 1:
            raise UserError(f"{fraction} is no share of the memory", "give one above 0, up to 1")
        if not 0 <= self.seed < SEED_LIMIT:
            raise UserError(f"{self.seed} is not a seed", f"give one from 0 to {SEED_LIMIT - 1}")
        self.price_record()

    def price_record(self) -> PriceRecord | None:
        """What the device costs, if it was said; raises UserError if that is no price."""
        if self.price is not None:
            return price(self.price, self.currency)
        if self.currency is not None:
            raise UserError(f"{self.currency!r} without a price", "give the price too")
        return None

    @abstractmethod
    def policies(self) -> tuple[Policy, ...]:
        """The timing policy of each protocol that follows from it."""

    def timeout_s(self) -> float:
        """How long a test may take altogether: what was asked for, or far more than it needs."""
        if self.timeout is not None:
            return self.timeout
        limits = [max(policy.max_seconds, policy.hard_limit_s) for policy in self.policies()]
        return max(limits) + PREPARE_LIMIT_S

    def limited(self, standard: Policy) -> Policy:
        """The policy with the limits that were asked for."""
        seconds = self.max_seconds_per_test
        return replace(
            standard,
            passes=self.passes or standard.passes,
            max_seconds=standard.max_seconds if seconds is None else seconds,
        )


def begun_with(begun: Result | Sweep) -> dict[str, Any]:
    """The options that both kinds of file say alike, as they were begun."""
    run = begun.run
    return {
        "device": _device_text(begun.device),
        "max_seconds_per_test": begun.policy.max_seconds,
        "timeout": run.timeout_s,
        "seed": run.seed,
        "label": run.label,
        **({"price": run.price.amount, "currency": run.price.currency} if run.price else {}),
    }


def _device_text(device: DeviceRecord) -> str:
    """What ``choose_device`` takes for this device."""
    if device.automatic:
        return AUTO
    return device.uuid or (
        "cpu" if device.kind is DeviceKind.CPU else f"{device.kind}:{device.index}"
    )
