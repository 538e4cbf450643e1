"""Result files in the form in which they are published, read on all processors if they are many."""

import os
import signal
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from aiscore.cli.prices import with_price
from aiscore.report.disclosure import SAID, SWEEP_SAID, Facts
from aiscore.results import sweep_store
from aiscore.results.model import PriceRecord, Result
from aiscore.results.prices import Prices
from aiscore.results.privacy import redacted
from aiscore.results.store import load_checked
from aiscore.results.sweep import Sweep
from aiscore.results.sweep_summary import summarise

if TYPE_CHECKING:
    from aiscore.report.page import Entry  # needs jinja2, which not every format does

Item = TypeVar("Item")
MANY = 100  # results; for fewer, processes take longer to start than they save
CHUNK = 20  # results that a process takes at a time


@dataclass(frozen=True, slots=True)
class Job:
    """A result file, and in what form it is to be published.

    ``hidden``: the names to hide; None hides nothing at all. ``archive``: the file
    beside a page that takes the result, as that of this ``number``.
    """

    number: int
    path: str
    format: str
    price: PriceRecord | None
    prices: Prices
    hidden: Collection[str] | None
    archive: str | None = None


@dataclass(frozen=True, slots=True)
class Read(Generic[Item]):
    """What was made of a result, what it says of the machine, and where its file does not hold."""

    job: Job
    item: Item
    said: Facts
    mismatches: Sequence[str]


def read_result(job: Job) -> Read[Result]:
    """The result itself."""
    loaded, mismatches = load_checked(Path(job.path))
    priced = with_price(loaded, job.price, job.prices)
    shown = priced if job.hidden is None else redacted(priced, job.hidden)
    return Read(job, shown, SAID[job.format](shown), mismatches)


def read_sweep(job: Job) -> Read[Sweep]:
    """The sweep itself."""
    loaded, mismatches = sweep_store.load_checked(Path(job.path))
    priced = summarise(with_price(loaded, job.price, job.prices))
    shown = priced if job.hidden is None else redacted(priced, job.hidden)
    return Read(job, shown, SWEEP_SAID[job.format](shown), mismatches)


def read_entries(jobs: Sequence[Job]) -> Iterator[Read["Entry"]]:
    """The rows that the results have in a page, in their order.

    Raises UserError for the first file that cannot be read.
    """
    if len(jobs) < MANY:
        yield from map(_read_entry, jobs)
        return
    pool = ProcessPoolExecutor(
        len(os.sched_getaffinity(0)),
        mp_context=get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),  # Ctrl-C is for the parent to hear
    )
    try:
        yield from pool.map(_read_entry, jobs, chunksize=CHUNK)
    finally:
        pool.shutdown(cancel_futures=True)


def _read_entry(job: Job) -> Read["Entry"]:
    from aiscore.report.page import archived_entry, embedded_entry

    read = read_result(job)
    if job.archive is None:
        entry = embedded_entry(read.item)
    else:
        entry = archived_entry(read.item, f"{job.number + 1:06}.json", job.archive)
    return Read(job, entry, read.said, read.mismatches)
