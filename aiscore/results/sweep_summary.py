"""Everything derived from a sweep's samples: images a second, what they grow by, and checks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from aiscore.results.checks import make_checks
from aiscore.results.model import Progress
from aiscore.results.summary import ENERGY, MS_PER_S, energy_per_pass_j, figures, is_steady
from aiscore.results.sweep import (
    LargestRecord,
    LineSummary,
    PointRecord,
    PointSummary,
    Sweep,
    SweepSummary,
)
from aiscore.scoring import score, throughput
from aiscore.spec import Line, Mode, Precision, Status, Xla
from workloads import sweep as networks

GIB = 2**30
TERA = 1e12
GIGA = 1e9
LEAST_J = 1e-9  # a division by less could go beyond all numbers
ALWAYS_NEW = {"container_id"}
TRIED = {Status.OK, Status.OOM, Status.CRASH, Status.TIMEOUT, Status.INVALID_OUTPUT}
Speeds = dict[Line, dict[int, float]]
"""Images a second by line and batch, of the points that are ok, in the order of batches."""


def summarise(sweep: Sweep) -> Sweep:
    """The same with its ``summary`` made anew from the samples."""
    return sweep.model_copy(update={"summary": derive(sweep)})


def summary_of(sweep: Sweep) -> SweepSummary:
    """The summary of a sweep that has one, else a new one."""
    return sweep.summary or derive(sweep)


def derive(sweep: Sweep) -> SweepSummary:
    """The summary that the samples give, whatever the file says."""
    found = speeds(sweep.points)
    steps = {line: throughput.growth(values) for line, values in found.items()}
    slow = xla_below_neighbours(found)
    return SweepSummary(
        status=_status(sweep),
        checks=make_checks(sweep, []),
        points=[_point(point, sweep, found, steps, slow) for point in sweep.points],
        lines=[
            _line(line, sweep, points, found.get(line, {}))
            for line, points in by_line(sweep.points).items()
        ],
    )


def setup_of(sweep: Sweep) -> dict[str, str]:
    """Everything that its points depend on and that is not theirs, name to value."""
    environment, fraction = sweep.environment, sweep.memory_fraction
    gpus = [gpu for gpu in environment.gpus if gpu.get("uuid") == sweep.device.uuid]
    values = {
        "kind": sweep.device.kind.value,
        "device": sweep.device.name,
        **{
            f"gpu {name}": value
            for gpu in gpus
            for name, value in gpu.items()
            if name not in ("name", "uuid")
        },
        **({} if fraction is None else {"memory fraction": f"{fraction:g}"}),
        **{
            f"{backend}'s {name}": value
            for backend, stack in sweep.stacks.items()
            for name, value in stack.items()
        },
        **{name: f"{value}" for name, value in sweep.policy.in_words().items()},
        **environment.software,
        **environment.host,
        **environment.variables,
        "aiscore": sweep.aiscore_version,
    }
    return {name: value for name, value in values.items() if name not in ALWAYS_NEW}


def by_line(points: Iterable[PointRecord]) -> dict[Line, list[PointRecord]]:
    """The lines that have points, in their order, each with its points."""
    found: dict[Line, list[PointRecord]] = {}
    for point in points:
        found.setdefault(point.line, []).append(point)
    return found


def speeds(points: Iterable[PointRecord]) -> Speeds:
    """What the points that are ok say."""
    ok = by_line(point for point in points if point.status is Status.OK)
    return {
        line: {
            point.batch: point.batch / figures(point).time
            for point in sorted(on_line, key=lambda point: point.batch)
        }
        for line, on_line in ok.items()
    }


def fits(points: Iterable[PointRecord]) -> dict[int, bool]:
    """Which batches of a line ran; those of which nothing is known are not there."""
    return {point.batch: point.status is Status.OK for point in points if point.status in TRIED}


def in_fp32(line: Line) -> Line:
    """The line that differs in that alone."""
    return replace(line, precision=Precision.FP32)


def without_xla(line: Line) -> Line:
    """The line that differs in that alone; where XLA is no choice, the line itself."""
    return replace(line, xla=Xla.OFF) if line.xla is Xla.ON else line


def xla_speedups(found: Speeds) -> Speeds:
    """How many times as fast as without XLA, on the lines with it."""
    return {
        line: {batch: speed / plain[batch] for batch, speed in values.items() if batch in plain}
        for line, values in found.items()
        if line.xla is Xla.ON and (plain := found.get(without_xla(line)))
    }


def xla_below_neighbours(found: Speeds) -> Speeds:
    """Where XLA brings clearly less than it does at the batches beside."""
    return {
        line: throughput.below_neighbours(ratios) for line, ratios in xla_speedups(found).items()
    }


def _point(
    point: PointRecord, sweep: Sweep, found: Speeds, steps: Speeds, slow: Speeds
) -> PointSummary:
    timed = point.ok_rounds if point.status is Status.OK else point.rounds
    summary = PointSummary(
        id=point.id,
        status=point.status,
        passes=sum(record.passes for record in timed),
        peak_device_bytes=max(
            (record.peak_device_bytes for record in timed if record.peak_device_bytes),
            default=None,
        ),
    )
    if point.status is not Status.OK:
        return summary
    line, batch, estimate = point.line, point.batch, figures(point)
    speed = batch / estimate.time
    interval = _interval(estimate, batch)
    energy = energy_per_pass_j(point, ENERGY[sweep.device.kind])
    return summary.model_copy(
        update={
            "step_ms": estimate.time * MS_PER_S,
            "images_per_s": speed,
            "interval": interval,
            "interval_kind": interval and "passes",
            "scaling": steps[line].get(batch),
            "precision_speedup": _against(in_fp32(line), point, found),
            "xla_speedup": _against(without_xla(line), point, found),
            "xla_below_neighbours": slow.get(line, {}).get(batch),
            "tflops": _flop(line) * speed / TERA,
            "images_per_j": batch / energy if energy and energy >= LEAST_J else None,
            "steady": is_steady(point),
        }
    )


def _interval(estimate: score.Estimate, batch: int) -> tuple[float, float] | None:
    """Of images a second, from the passes of the one process; None where these are too few."""
    if estimate.error is None:
        return None
    low_s, high_s = score.interval(estimate.time, estimate.error)
    return (batch / high_s, batch / low_s) if low_s > 0 else None


def _against(other: Line, point: PointRecord, found: Speeds) -> float | None:
    """How many times as fast as on the other line, at the same batch."""
    base = found.get(other, {}).get(point.batch)
    return None if base is None or other == point.line else found[point.line][point.batch] / base


def _flop(line: Line) -> float:
    """Of one image: a training step has three times the forward pass's."""
    network = networks.NETWORKS[line.network]
    sweeps = 1 + network.backward if line.mode is Mode.TRAINING else 1
    return sweeps * networks.point(line.network, line.mode, 1).gflop * GIGA


def _line(
    line: Line, sweep: Sweep, points: Sequence[PointRecord], values: Mapping[int, float]
) -> LineSummary:
    best = max(values, key=values.__getitem__, default=None)
    speed = None if best is None else values[best]
    price, memory = sweep.run.price, sweep.device.memory_bytes
    return LineSummary(
        network=line.network,
        mode=line.mode,
        backend=line.backend,
        precision=line.precision,
        xla=line.xla,
        best_batch=best,
        best_images_per_s=speed,
        per_price=speed / price.amount if speed and price else None,
        per_gib=speed / (memory / GIB) if speed and memory else None,
        largest=_largest(points) if sweep.selection.largest else None,
    )


def _largest(points: Sequence[PointRecord]) -> LargestRecord:
    """Whatever ended beyond the largest batch, nothing above it is known to run."""
    largest, beyond = throughput.bounds(fits(points))
    by_batch = {point.batch: point for point in points}
    peaks = [
        record.peak_device_bytes
        for record in (by_batch[largest].ok_rounds if largest else [])
        if record.peak_device_bytes
    ]
    return LargestRecord(
        batch=largest or None,
        peak_device_bytes=max(peaks, default=None),
        beyond=beyond,
        beyond_status=None if beyond is None else by_batch[beyond].status,
    )


def _status(sweep: Sweep) -> Progress:
    """Complete when every batch that was asked for ran; the search has its own result."""
    if sweep.run.interrupted:
        return "interrupted"
    ok = [point for point in sweep.points if point.status is Status.OK]
    asked_for = {point.id for point in ok}.issuperset(sweep.run.requested)
    everywhere = by_line(ok).keys() == by_line(sweep.points).keys()
    return "complete" if asked_for and everywhere else "partial"
