"""The rows of a sweep's tables, its sentences, and the document of ``--json``: plain data."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aiscore.report.rows import NO_REASON, NOT_STEADY, check_text, check_title, three_digits
from aiscore.results.model import CheckRecord
from aiscore.results.sweep import LineSummary, PointRecord, PointSummary, Sweep
from aiscore.results.sweep_summary import GIB, in_fp32, speeds, summary_of, without_xla
from aiscore.scoring import throughput
from aiscore.scoring.compare import NOISE_FLOOR
from aiscore.spec import Line, Mode, Status, Xla
from workloads.sweep import NETWORKS

Table = tuple[list[str], list[list[str]]]
"""Heading and lines."""

VERBS = {Mode.TRAINING: "trains", Mode.INFERENCE: "runs"}
NONE = "-"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table of points: heading, and the cell of a point; left out if empty."""

    title: str
    cell: Callable[[PointRecord, PointSummary], str]


@dataclass(frozen=True, slots=True)
class Chapter:
    """The points of one network and mode, in order."""

    network: str
    mode: Mode
    points: Sequence[tuple[PointRecord, PointSummary]]

    @property
    def title(self) -> str:
        """In words."""
        return f"{NETWORKS[self.network].title} {self.mode}"

    @property
    def ran(self) -> bool:
        """Whether any point did, and there is something to draw."""
        return any(figures.images_per_s for _, figures in self.points)


def name_of(sweep: Sweep) -> str:
    """Label or device, whichever has letters."""
    names = (sweep.run.label or "", sweep.device.name)
    return next((name for name in names if name.strip()), "unnamed")


def headline(sweep: Sweep) -> list[tuple[str, str]]:
    """What the sweep is: name and value, in reading order."""
    device, run = sweep.device, sweep.run
    chosen = ", chosen automatically" if device.automatic else ""
    fraction = sweep.memory_fraction
    rows = [
        ("Device", f"{device.name} ({device.kind.value} {device.index}{chosen})"),
        ("Stacks", ", ".join(_stacks(sweep))),
        *([("Memory", f"{fraction:g} of the device's, at most")] if fraction else []),
        ("Started", ", resumed ".join([run.started_at, *run.resumed_at])),
        ("Status", status_text(sweep)),
        ("Checks", checks_text(summary_of(sweep).checks)),
        *([("Price", f"{run.price.amount:g} {run.price.currency}")] if run.price else []),
    ]
    return [("Label", run.label), *rows] if run.label else rows


def _stacks(sweep: Sweep) -> list[str]:
    return [f"{name} {stack.get(name, '')}".strip() for name, stack in sweep.stacks.items()]


def status_text(sweep: Sweep) -> str:
    """How many of the batches that were asked for ran."""
    status, asked = summary_of(sweep).status, sweep.run.requested
    if status == "complete":
        return "complete"
    kind = "partial, interrupted" if status == "interrupted" else "partial"
    if not asked:  # but for the largest batches, which have a column
        return kind
    ok = {point.id for point in sweep.points if point.status is Status.OK}
    return f"{kind} ({len(ok.intersection(asked))} of {len(asked)} points ok)"


def checks_text(checks: Sequence[CheckRecord]) -> str:
    """How many of the validity checks failed, and which."""
    failed = [check_title(check) for check in checks if not check.ok]
    if not checks:
        return "none could be made"
    if not failed:
        return f"all {len(checks)} passed"
    return f"{len(failed)} of {len(checks)} failed: {', '.join(failed)}"


def failed_checks(sweep: Sweep) -> list[str]:
    """What speaks against believing the sweep, a sentence for each check."""
    return [check_text(check) for check in summary_of(sweep).checks if not check.ok]


def failures(sweep: Sweep) -> list[str]:
    """Which batches did not run, and why, a sentence for each line and reason.

    That memory ran out in the search for the largest batch is what it is for.
    """
    groups: dict[tuple[Line, Status, str], list[int]] = {}
    for point in sweep.points:
        if point.status is not Status.OK and not _ended_the_search(point):
            reason = point.error.reason if point.error else NO_REASON
            groups.setdefault((point.line, point.status, reason), []).append(point.batch)
    return [
        f"{line_title(line)}, batch {', '.join(map(str, batches))}: {status} ({reason})"
        for (line, status, reason), batches in groups.items()
    ]


def _ended_the_search(point: PointRecord) -> bool:
    return point.sought and point.status is Status.OOM


def chapters(sweep: Sweep) -> list[Chapter]:
    """The points by network and mode, without those that only ended the search."""
    pairs = [
        pair
        for pair in zip(sweep.points, summary_of(sweep).points, strict=True)
        if not _ended_the_search(pair[0])
    ]
    titles = dict.fromkeys((point.network, point.mode) for point in sweep.points)
    return [
        Chapter(
            network,
            mode,
            [pair for pair in pairs if (pair[0].network, pair[0].mode) == (network, mode)],
        )
        for network, mode in titles
    ]


def way_title(line: Line | LineSummary) -> str:
    """How a line was computed: backend, precision, XLA where that was a choice."""
    return f"{line.backend} {line.precision}{' XLA' if line.xla is Xla.ON else ''}"


def line_title(line: Line | LineSummary) -> str:
    """A line in words."""
    return f"{NETWORKS[line.network].title} {line.mode}, {way_title(line)}"


def tables(sweep: Sweep, chapter: Chapter) -> dict[str, Table]:
    """Title to table, of those that say more than the names of stacks."""
    made = {"Points": point_table(chapter), "Best batches": best_table(sweep, chapter)}
    return {title: (header, lines) for title, (header, lines) in made.items() if header[1:]}


def point_table(chapter: Chapter) -> Table:
    """Heading and lines; a column in which no point has anything is left out."""
    used = [
        column
        for column in COLUMNS
        if any(column.cell(point, figures) != NONE for point, figures in chapter.points)
    ]
    cells = [
        [way_title(point.line), *(column.cell(point, figures) for column in used)]
        for point, figures in chapter.points
    ]
    return ["stack", *(column.title for column in used)], cells


def _speed(point: PointRecord, figures: PointSummary) -> str:
    if figures.images_per_s is None:
        return figures.status.value
    return f"{'*' * (figures.steady is False)}{rate(figures.images_per_s)}"


def rate(images_per_s: float | None) -> str:
    """Images a second; None is not known."""
    if images_per_s is None:
        return NONE
    return f"{images_per_s:.0f}" if images_per_s >= 100 else three_digits(images_per_s)


def _interval(point: PointRecord, figures: PointSummary) -> str:
    """Half of it, as a part of the whole."""
    if figures.interval is None or not figures.images_per_s:
        return NONE
    low, high = figures.interval
    return f"+-{(high - low) / 2 / figures.images_per_s:.1%}"


def gib(size_bytes: int | None) -> str:
    """A size; None is not known."""
    return NONE if size_bytes is None else f"{size_bytes / GIB:.1f}"


def ratio(value: float | None) -> str:
    """How many times; None is not known."""
    return NONE if value is None else f"{value:.2f}"


COLUMNS = (
    Column("batch", lambda point, figures: str(point.batch)),
    Column("images/s", _speed),
    Column("95 %", _interval),
    Column("x before", lambda point, figures: ratio(figures.scaling)),
    Column("x fp32", lambda point, figures: ratio(figures.precision_speedup)),
    Column("x XLA", lambda point, figures: ratio(figures.xla_speedup)),
    Column("images/J", lambda point, figures: three(figures.images_per_j)),
    Column("GiB", lambda point, figures: gib(figures.peak_device_bytes)),
)
LEGEND = {
    "95 %": "of the median over the passes of one process, which says nothing of the next.",
    "x before": "as fast as the next smaller batch.",
    "x fp32": "as fast as in fp32 at the same batch.",
    "x XLA": "as fast as without XLA at the same batch.",
    "images/J": "images a joule, by the GPU's own counter.",
    "GiB": "the framework's peak on the device.",
}


def headings(sweep: Sweep) -> list[str]:
    """What the headings that are there mean, a text each."""
    shown = {title for chapter in chapters(sweep) for title in point_table(chapter)[0]}
    return [f"{title}: {text}" for title, text in LEGEND.items() if title in shown]


def legend(sweep: Sweep) -> list[str]:
    """What the tables do not say of themselves, a text each."""
    marked = any(figures.steady is False for figures in summary_of(sweep).points)
    return [*headings(sweep), *([f"{NOT_STEADY}."] if marked else [])]


def three(value: float | None) -> str:
    """Three digits; None is not known."""
    return NONE if value is None else three_digits(value)


def best_table(sweep: Sweep, chapter: Chapter) -> Table:
    """For each line its best batch and what that is worth; and its largest, where sought."""
    price = sweep.run.price
    columns: list[tuple[str, Callable[[LineSummary], str]]] = [
        ("best batch", lambda line: NONE if line.best_batch is None else str(line.best_batch)),
        ("images/s", lambda line: rate(line.best_images_per_s)),
        (f"per {price.currency if price else 'price'}", lambda line: three(line.per_price)),
        ("per GiB", lambda line: three(line.per_gib)),
        ("largest", _largest),
    ]
    found = [
        line
        for line in summary_of(sweep).lines
        if (line.network, line.mode) == (chapter.network, chapter.mode)
    ]
    used = [(title, cell) for title, cell in columns if any(cell(line) != NONE for line in found)]
    cells = [[way_title(line), *(cell(line) for _, cell in used)] for line in found]
    return ["stack", *(title for title, _ in used)], cells


def _largest(line: LineSummary) -> str:
    """What the search found: a batch, its memory, and what ended it."""
    largest = line.largest
    if largest is None:
        return NONE
    if largest.beyond:
        beyond = f"{largest.beyond} {largest.beyond_status}"
    else:
        ended = 2 * (largest.batch or 0) > throughput.MOST_IMAGES
        beyond = "none too large" if ended else "larger not tried"
    if largest.batch is None:
        return f"none ({beyond})"
    memory = "" if largest.peak_device_bytes is None else f"{gib(largest.peak_device_bytes)} GiB, "
    return f"{largest.batch} ({memory}{beyond})"


def sentences(sweep: Sweep) -> list[str]:
    """What the sweep says: of batches, precisions, XLA, and where XLA is unexpectedly slow."""
    found = summary_of(sweep)
    by_line = speeds(sweep.points)
    return [
        *(text for line, values in by_line.items() if (text := _step_sentence(line, values))),
        *_between(found.lines, in_fp32, _without_precision),
        *_between(found.lines, without_xla, _without_xla),
        *(
            f"{line_title(point.line)}: at batch {point.batch} XLA brings"
            f" {figures.xla_below_neighbours:.1f} x less than the batches beside it predict"
            f" ({ratio(figures.xla_speedup)} x)."
            for point, figures in zip(sweep.points, found.points, strict=True)
            if figures.xla_below_neighbours
        ),
    ]


def _step_sentence(line: Line, values: dict[int, float]) -> str:
    """The largest step from one batch to the next, if it is one."""
    batches = sorted(values)
    steps = throughput.growth(values)
    if not steps:
        return ""
    high = max(steps, key=steps.__getitem__)
    low, gain = batches[batches.index(high) - 1], steps[high]
    if gain < 1 + NOISE_FLOOR:
        return (
            f"{line_title(line)}: from {batches[0]} to {batches[-1]} no batch {VERBS[line.mode]}"
            f" {NOISE_FLOOR:.0%} faster than the one before it."
        )
    return f"{line_title(line)}: batch {high} {VERBS[line.mode]} {gain:.1f} x as fast as {low}."


def _between(
    found: Sequence[LineSummary],
    base_of: Callable[[Line], Line],
    words: Callable[[LineSummary], tuple[str, str, str]],
) -> Iterator[str]:
    """The best batch of a line against that of its base."""
    summaries = {summary.line: summary for summary in found}
    for line, summary in summaries.items():
        base = summaries.get(base_of(line))
        if base is None or base is summary:
            continue
        if not (summary.best_images_per_s and base.best_images_per_s):
            continue
        gain = summary.best_images_per_s / base.best_images_per_s
        way, name, base_name = words(summary)
        yield (
            f"{NETWORKS[line.network].title} {line.mode}, {way}: {name} {VERBS[line.mode]}"
            f" {gain:.1f} x as fast as {base_name} (best batches {summary.best_batch} and"
            f" {base.best_batch})."
        )


def _without_precision(line: LineSummary) -> tuple[str, str, str]:
    """How a line is called but for its precision, that, and what it is compared with."""
    return f"{line.backend}{' XLA' * (line.xla is Xla.ON)}", line.precision, "fp32"


def _without_xla(line: LineSummary) -> tuple[str, str, str]:
    """The same for XLA."""
    return f"{line.backend} {line.precision}", "XLA", "without it"


def sweep_document(sweep: Sweep) -> dict[str, Any]:
    """What ``--json`` prints; docs/throughput.md explains the keys."""
    summary = summary_of(sweep)
    kept = {"network", "mode", "backend", "precision", "xla", "batch", "sought", "error"}
    return {
        "schema_version": sweep.schema_version,
        "kind": sweep.kind,
        "aiscore_version": sweep.aiscore_version,
        "label": sweep.run.label,
        "started_at": sweep.run.started_at,
        "status": summary.status,
        "device": sweep.device.model_dump(mode="json"),
        "memory_fraction": sweep.memory_fraction,
        "policy": sweep.policy.model_dump(mode="json"),
        "environment": sweep.environment.model_dump(mode="json"),
        "stacks": sweep.stacks,
        "price": sweep.run.price and sweep.run.price.model_dump(mode="json"),
        "checks": [check.model_dump(mode="json") for check in summary.checks],
        "points": [
            {**point.model_dump(mode="json", include=kept), **figures.model_dump(mode="json")}
            for point, figures in zip(sweep.points, summary.points, strict=True)
        ],
        "lines": [line.model_dump(mode="json") for line in summary.lines],
        "sentences": sentences(sweep),
    }
