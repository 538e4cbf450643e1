"""Sweeps as they would be measured, from images a second."""

from collections.abc import Iterable, Mapping
from typing import Any

from aiscore.results.model import (
    DeviceRecord,
    EnvironmentRecord,
    ErrorRecord,
    RoundRecord,
    RunRecord,
    SeriesRecord,
    TelemetryRecord,
)
from aiscore.results.sweep import PointRecord, SelectionRecord, Sweep, point_id
from aiscore.results.sweep_summary import summarise
from aiscore.spec import DeviceKind, Line, Mode, Precision, Status, Xla
from tests.results_factory import RESIDENT
from workloads.sweep import point

GIB = 1 << 30
BLOCKS = 12
WATTS = 600.0


def line(
    network: str = "resnet50",
    mode: Mode = Mode.TRAINING,
    backend: str = "tensorflow",
    precision: Precision = Precision.FP16,
    xla: Xla = Xla.OFF,
) -> Line:
    return Line(network=network, mode=mode, backend=backend, precision=precision, xla=xla)


def measured(
    on: Line, batch: int, images_per_s: float, *, sought: bool = False, energy: bool = True
) -> PointRecord:
    """A point that is ok: blocks whose median is that speed, half a percent of spread."""
    pass_s = batch / images_per_s
    spread = [1.0, 0.995, 1.005, 0.9975, 1.0025, 1.0]
    passes_s = [pass_s * factor for factor in [1.5, *(spread * BLOCKS)[:BLOCKS]]]
    watched = TelemetryRecord(
        duration_s=sum(passes_s) + 2,
        samples=4,
        cost_s=0.001,
        series={"gpu_power_w": SeriesRecord(min=WATTS, median=WATTS, max=WATTS)},
        unwatched_passes=1,
        totals={"gpu_energy_j": WATTS * pass_s * BLOCKS},
    )
    done = RoundRecord(
        round=1,
        passes_s=passes_s,
        block_passes=[1] * (BLOCKS + 1),
        prepare_s=20,
        peak_device_bytes=batch * GIB // 12,
        telemetry=watched if energy else None,
    )
    return _record(on, batch, Status.OK, sought=sought, rounds=[done])


def failed(
    on: Line, batch: int, status: Status = Status.OOM, *, sought: bool = False
) -> PointRecord:
    error = ErrorRecord(type="ResourceExhaustedError", message="no memory for a [bold] tensor")
    return _record(on, batch, status, sought=sought, error=error)


def _record(on: Line, batch: int, status: Status, **more: Any) -> PointRecord:
    spec = point(on.network, on.mode, batch)
    return PointRecord(
        id=point_id(on, batch),
        network=on.network,
        title=spec.title,
        mode=on.mode,
        protocol="resident",
        batch=batch,
        input=list(spec.input),
        status=status,
        backend=on.backend,
        precision=on.precision,
        xla=on.xla,
        **more,
    )


def on_line(on: Line, speeds: Mapping[int, float]) -> list[PointRecord]:
    return [measured(on, batch, speed) for batch, speed in speeds.items()]


def sweep(points: Iterable[PointRecord], device: str = "NVIDIA H200", **changes: Any) -> Sweep:
    """A whole sweep with these points, summarised."""
    found = list(points)
    run = {
        "id": "5a0c",
        "started_at": "2026-11-30T10:00:00Z",
        "duration_s": 600.0,
        "arguments": ["throughput"],
        "requested": [one.id for one in found if not one.sought],
        "seed": 0,
        **changes.pop("run", {}),
    }
    made = Sweep(
        **{
            "aiscore_version": "0.1.0",
            "device": DeviceRecord(
                kind=DeviceKind.GPU, index=0, name=device, uuid="GPU-1", memory_bytes=140 * GIB
            ),
            "policy": RESIDENT,
            "memory_fraction": None,
            "environment": EnvironmentRecord(
                host={"cpu": "Intel Xeon Platinum 8468"},
                gpus=[{"name": device, "uuid": "GPU-1", "driver": "580.95"}],
                software={"python": "3.11.7"},
            ),
            "stacks": {
                name: {name: "2.21.0" if name == "tensorflow" else "0.10.2"}
                for name in dict.fromkeys(one.backend for one in found)
            },
            "run": RunRecord(**run),
            "selection": SelectionRecord(
                networks=list(dict.fromkeys(one.network for one in found)),
                modes=list(dict.fromkeys(one.mode for one in found)),
                batches=sorted({one.batch for one in found if not one.sought}),
                largest=any(one.sought for one in found),
                precisions=list(dict.fromkeys(one.precision for one in found)),
                xla="both",
                backends=list(dict.fromkeys(one.backend for one in found)),
            ),
            "points": found,
            **changes,
        }
    )
    return summarise(made)


FP32, FP16 = line(precision=Precision.FP32), line()
WITH_XLA = line(xla=Xla.ON)
SE = line("se_resnext101_32x4d", precision=Precision.FP16)


def article() -> Sweep:
    """What the article of 2020 tells of: batches that decide, and XLA that goes wrong once."""
    return sweep(
        [
            *on_line(FP32, {32: 400, 64: 440, 128: 450}),
            *on_line(FP16, {32: 1000, 64: 1400, 128: 1500}),
            *on_line(WITH_XLA, {32: 1200, 64: 500, 128: 1900}),
            *on_line(SE, {64: 100, 96: 110, 128: 275, 192: 440}),
            measured(SE, 224, 442, sought=True),
            failed(SE, 240, sought=True),
            failed(SE, 256),
        ],
        run={"price": {"amount": 30000, "currency": "EUR"}, "label": "article"},
    )
