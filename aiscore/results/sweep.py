"""The file of a throughput sweep: as strict and as complete as that of a run.

A point is a test that no suite has, with how its backend ran it. Figures are
derived from its samples (``aiscore.results.sweep_summary``) whenever a file is
loaded.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from aiscore.results.model import (
    CheckRecord,
    DeviceRecord,
    EnvironmentRecord,
    PolicyRecord,
    Progress,
    RunRecord,
    Strict,
    TestRecord,
)
from aiscore.scoring.throughput import MOST_IMAGES
from aiscore.spec import Line, Mode, Precision, Status, Xla

KIND: Literal["throughput"] = "throughput"
NEVER = "never"  # what the software of a backend says of XLA that has none
XLA_CHOICES = {"off": (Xla.OFF,), "on": (Xla.ON,), "both": (Xla.OFF, Xla.ON)}

Item = TypeVar("Item")
Batch = Annotated[int, Field(ge=1, le=MOST_IMAGES)]
Some = Annotated[list[Item], Field(min_length=1)]


def point_id(line: Line, batch: int | str) -> str:
    """What tells a point from all others of a sweep."""
    way = f"{line.backend}/{line.precision}/xla-{line.xla}"
    return f"{line.network}/{line.mode}/{way}/{batch}"


class PointRecord(TestRecord):
    """One point and what became of it. ``sought``: a try of the search for the largest batch."""

    batch: Batch
    backend: str
    precision: Precision
    xla: Xla
    sought: bool = False

    @property
    def line(self) -> Line:
        """The line that it lies on."""
        return _line(self)


def _line(of: "PointRecord | LineSummary") -> Line:
    return Line(
        network=of.network,
        mode=of.mode,
        backend=of.backend,
        precision=of.precision,
        xla=of.xla,
    )


class SelectionRecord(Strict):
    """What was asked for: the lines are the product of all but the batches.

    ``largest``: the largest batch that fits was sought on each line.
    """

    networks: Some[str]
    modes: Some[Mode]
    batches: list[Batch]
    largest: bool
    precisions: Some[Precision]
    xla: Literal["off", "on", "both"]
    backends: Some[str]

    def xla_of(self, software: Mapping[str, str]) -> tuple[Xla, ...]:
        """With and without XLA, as asked for, unless the software of a backend knows no choice.

        Where there never is XLA, "both" is what there is; "on" is unsupported.
        """
        stated = software.get("xla")
        if stated == Xla.ALWAYS:
            return (Xla.ALWAYS,)
        if stated == NEVER and self.xla == "both":
            return (Xla.OFF,)
        return XLA_CHOICES[self.xla]


class LargestRecord(Strict):
    """What the search on a line found: None where no batch fits, or where it did not come so far.

    ``beyond`` is the smallest batch above that did not run, and how it ended.
    """

    batch: int | None
    peak_device_bytes: int | None
    beyond: int | None
    beyond_status: Status | None


class PointSummary(Strict):
    """The derived figures of one point.

    ``scaling``: how many times as fast as the next smaller batch of its line.
    ``precision_speedup``: as fp32 on the same stack and batch; ``xla_speedup``:
    as without XLA. ``xla_below_neighbours``: how many times lower that is than
    the batches beside it predict, where that is clear.
    """

    id: str
    status: Status
    passes: int
    step_ms: float | None = None
    images_per_s: float | None = None
    interval: tuple[float, float] | None = None
    interval_kind: Literal["passes"] | None = None
    scaling: float | None = None
    precision_speedup: float | None = None
    xla_speedup: float | None = None
    xla_below_neighbours: float | None = None
    tflops: float | None = None
    images_per_j: float | None = None
    peak_device_bytes: int | None = None
    steady: bool | None = None


class LineSummary(Strict):
    """The best point of a line and what it is worth; ``largest`` where it was sought."""

    network: str
    mode: Mode
    backend: str
    precision: Precision
    xla: Xla
    best_batch: int | None
    best_images_per_s: float | None
    per_price: float | None
    per_gib: float | None
    largest: LargestRecord | None

    @property
    def line(self) -> Line:
        """Which it is."""
        return _line(self)


class SweepSummary(Strict):
    """Everything derived."""

    status: Progress
    checks: list[CheckRecord]
    points: list[PointSummary]
    lines: list[LineSummary]


class Sweep(Strict):
    """One file. ``stacks``: what each backend says of its software."""

    schema_version: Literal[1] = 1
    kind: Literal["throughput"] = KIND
    aiscore_version: str
    device: DeviceRecord
    policy: PolicyRecord
    memory_fraction: float | None
    environment: EnvironmentRecord
    stacks: dict[str, dict[str, str]]
    run: RunRecord
    selection: SelectionRecord
    points: list[PointRecord] = Field(default_factory=list)
    summary: SweepSummary | None = None

    @property
    def tests(self) -> list[TestRecord]:
        """The points, for what looks at the tests of any kind of file."""
        return list(self.points)

    def with_points(self, points: Iterable[PointRecord]) -> "Sweep":
        """The same with these points in place of its own."""
        return self.model_copy(update={"points": list(points)})
