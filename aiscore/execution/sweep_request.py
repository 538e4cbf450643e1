"""What is asked for of a sweep, and what there is of one that was begun."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from aiscore.errors import UserError
from aiscore.execution import journal
from aiscore.execution.common_request import CommonRequest, begun_with
from aiscore.results import sweep_store
from aiscore.results.sweep import PointRecord, SelectionRecord, Sweep, point_id
from aiscore.scoring.throughput import MOST_IMAGES
from aiscore.spec import RESIDENT_POLICY, Line, Mode, Policy, Precision, Status
from workloads.sweep import NETWORKS

LARGEST = "max"
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
class SweepRequest(CommonRequest):
    """What the user asks for, as the options of ``aiscore throughput``; UserError if absurd."""

    selection: SelectionRecord
    unfinished: UnfinishedSweep | None = None

    def policies(self) -> tuple[Policy, ...]:
        """The one timing policy that follows from it."""
        return (self.limited(RESIDENT_POLICY),)


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
    try:
        batch = int(text)
    except ValueError:  # Python reads no number of thousands of digits, either
        batch = 0
    if not (text.isascii() and text.isdecimal() and 1 <= batch <= MOST_IMAGES):
        advice = f"give numbers from 1 to {MOST_IMAGES}, or {LARGEST}"
        raise UserError(f"{text!r} is no batch", advice)
    return batch


def lines_of(selection: SelectionRecord, stacks: Mapping[str, Mapping[str, str]]) -> list[Line]:
    """The lines of a sweep on these stacks, in the order in which they are measured."""
    return [
        Line(network=network, mode=mode, backend=backend, precision=precision, xla=xla)
        for backend in selection.backends
        for precision in selection.precisions
        for xla in selection.xla_of(stacks[backend])
        for network in selection.networks
        for mode in selection.modes
    ]


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
    return SweepRequest(
        **begun_with(sweep),
        selection=sweep.selection,
        memory_fraction=sweep.memory_fraction,
        passes=sweep.policy.passes,
        arguments=arguments,
        unfinished=unfinished,
    )
