"""What is asked for of a sweep, and what there is of one that was begun."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import TypeVar

from aiscore.errors import UserError
from aiscore.execution import journal
from aiscore.execution.request import (
    AUTO,
    PREPARE_LIMIT_S,
    price_of,
    require_sane,
)
from aiscore.results import sweep_store
from aiscore.results.model import PriceRecord
from aiscore.results.sweep import PointRecord, SelectionRecord, Sweep, point_id
from aiscore.scoring.throughput import MOST_IMAGES
from aiscore.spec import RESIDENT_POLICY, Line, Mode, Policy, Precision, Status, Xla
from workloads.sweep import NETWORKS

LARGEST = "max"
XLA_CHOICES = {"off": (Xla.OFF,), "on": (Xla.ON,), "both": (Xla.OFF, Xla.ON)}
Member = TypeVar("Member", bound=StrEnum)
KEPT = {Status.OK, Status.OOM, Status.UNSUPPORTED}
"""How a point must have ended for the same set-up to end it so again."""


@dataclass(frozen=True, slots=True)
class UnfinishedSweep:
    """A sweep, as far as it got, and the path that it has or will have."""

    path: Path
    sweep: Sweep

    @property
    def done(self) -> list[PointRecord]:
        """The points that stay."""
        return [point for point in self.sweep.points if point.status in KEPT]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """What the user asks for, as the options of ``aiscore throughput``; UserError if absurd."""

    selection: SelectionRecord
    device: str = AUTO
    memory_fraction: float | None = None
    passes: int | None = None
    max_seconds_per_test: float | None = None
    timeout: float | None = None
    seed: int = 0
    label: str | None = None
    price: float | None = None
    currency: str | None = None
    output: Path | None = None
    arguments: tuple[str, ...] = ()
    unfinished: UnfinishedSweep | None = None

    def __post_init__(self) -> None:
        require_sane(
            passes=self.passes,
            max_seconds=self.max_seconds_per_test,
            timeout=self.timeout,
            memory_fraction=self.memory_fraction,
            seed=self.seed,
        )
        self.price_record()

    def price_record(self) -> PriceRecord | None:
        """What the device costs, if it was said; raises UserError if that is no price."""
        return price_of(self.price, self.currency)

    def policy(self) -> Policy:
        """The timing policy that follows from it."""
        seconds = self.max_seconds_per_test
        return replace(
            RESIDENT_POLICY,
            passes=self.passes or RESIDENT_POLICY.passes,
            max_seconds=RESIDENT_POLICY.max_seconds if seconds is None else seconds,
        )

    def timeout_s(self) -> float:
        """How long a point may take altogether: what was asked for, or far more than it needs."""
        policy = self.policy()
        longest = max(policy.max_seconds, policy.hard_limit_s)
        return longest + PREPARE_LIMIT_S if self.timeout is None else self.timeout


def select(
    *, network: str, mode: str, batch: str, precision: str, xla: str, backend: str
) -> SelectionRecord:
    """What lists with commas select, each item once; raises UserError for what there is not."""
    batches = _split(batch, "batch")
    return SelectionRecord(
        networks=[name for name in NETWORKS if name in set(_networks(_split(network, "network")))],
        modes=[_member(Mode, text) for text in _split(mode, "mode")],
        batches=sorted(_batch(text) for text in batches if text != LARGEST),
        largest=LARGEST in batches,
        precisions=[_member(Precision, text) for text in _split(precision, "precision")],
        xla=xla,  # type: ignore[arg-type]  # pydantic checks it
        backends=_split(backend, "backend"),
    )


def _split(text: str, what: str) -> list[str]:
    items = [item.strip().lower() for item in text.split(",")]
    found = list(dict.fromkeys(filter(None, items)))
    if not found:
        raise UserError(f"no {what} is named", f"name one or more: --{what} LIST")
    return found


def _networks(patterns: Iterable[str]) -> Iterable[str]:
    for pattern in patterns:
        matches = [
            name
            for name, network in NETWORKS.items()
            if fnmatchcase(name, pattern) or fnmatchcase(network.title.lower(), pattern)
        ]
        if not matches:
            raise UserError(f"no network fits {pattern!r}", f"there are: {', '.join(NETWORKS)}")
        yield from matches


def _member(kind: type[Member], text: str) -> Member:
    try:
        return kind(text)
    except ValueError:
        raise UserError(f"there is no {text!r}", f"give one of: {', '.join(kind)}") from None


def _batch(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST_IMAGES):
        advice = f"give numbers from 1 to {MOST_IMAGES}, or {LARGEST}"
        raise UserError(f"{text!r} is no batch", advice)
    return int(text)


def lines_of(selection: SelectionRecord, always_xla: Collection[str]) -> list[Line]:
    """The lines of a sweep, in the order in which they are measured.

    Those backends ``always_xla`` know nothing else, and have one line for both.
    """
    found = [
        Line(
            network=network,
            mode=mode,
            backend=backend,
            precision=precision,
            xla=Xla.ALWAYS if backend in always_xla else xla,
        )
        for backend, precision, xla, network, mode in product(
            selection.backends,
            selection.precisions,
            XLA_CHOICES[selection.xla],
            selection.networks,
            selection.modes,
        )
    ]
    return list(dict.fromkeys(found))


def requested(lines: Iterable[Line], selection: SelectionRecord) -> list[str]:
    """The ids of the points that were asked for by their batch."""
    return [point_id(line, batch) for line in lines for batch in selection.batches]


def find(path: Path) -> UnfinishedSweep:
    """What there is of the sweep of that path: the journal beside it, or an earlier file.

    Raises UserError if neither is there, or it cannot be read.
    """
    begun = journal.journal_path(path)
    sweep = journal.read_sweep(begun) if begun.exists() else sweep_store.load(path)
    return UnfinishedSweep(path, sweep)


def request_to_resume(
    path: Path, given: Collection[str], arguments: tuple[str, ...]
) -> SweepRequest:
    """The request that began the sweep of that path.

    Raises UserError if there is nothing of it, or for options ``given`` beside
    it: a sweep goes on as it was begun.
    """
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UserError("a sweep goes on as it was begun", f"leave out {options}")
    unfinished = find(path)
    sweep = unfinished.sweep
    device, run, policy = sweep.device, sweep.run, sweep.policy
    return SweepRequest(
        selection=sweep.selection,
        device=AUTO if device.automatic else device.uuid or f"{device.kind}:{device.index}",
        memory_fraction=sweep.memory_fraction,
        passes=policy.passes,
        max_seconds_per_test=policy.max_seconds,
        timeout=run.timeout_s,
        seed=run.seed or 0,
        label=run.label,
        price=run.price.amount if run.price else None,
        currency=run.price.currency if run.price else None,
        arguments=arguments,
        unfinished=unfinished,
    )
