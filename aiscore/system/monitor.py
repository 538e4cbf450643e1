"""What the machine does while a test runs: sensors read twice a second at most.

A thread of the parent reads them, and sleeps in between: the measured process
keeps its cores. What a sensor cannot read is absent. Samples are reduced to a
few figures for each test; docs/checks.md says what is made of them.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median

from aiscore.spec import Device, DeviceKind
from aiscore.system import gpu_sensors
from aiscore.system.cpu_sensors import CpuSensors
from aiscore.system.sensors import Sample, Sensors

PERIOD_S = 0.5


@dataclass(frozen=True, slots=True)
class Series:
    """One gauge over a test."""

    min: float
    median: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """One test as the sensors saw it.

    ``shares``: in what part of the samples a flag was set. ``cost_s``: the
    processor time that watching took.
    """

    duration_s: float
    samples: int
    cost_s: float
    series: Mapping[str, Series]
    shares: Mapping[str, float]
    totals: Mapping[str, float]


class Monitor:
    """Watches one test at a time."""

    def __init__(self, sensors: Sequence[Sensors], period_s: float = PERIOD_S) -> None:
        self._sensors = sensors
        self._period_s = period_s
        self._watch: _Watch | None = None

    def begin(self, worker: int) -> None:
        """The passes of a test begin in this process."""
        self._watch = _Watch(self._sensors, worker, self._period_s)

    def end(self) -> Telemetry | None:
        """The passes have ended, in whatever way; None if none had begun."""
        watch, self._watch = self._watch, None
        return None if watch is None else watch.end()


class _Watch:
    """The watching of one test."""

    def __init__(self, sensors: Sequence[Sensors], worker: int, period_s: float) -> None:
        self._sensors = sensors
        self._period_s = period_s
        self._samples: list[Sample] = []
        self._over = threading.Event()
        self._cost_s = 0.0
        began_s = time.thread_time()
        self._begin_s = time.monotonic()
        for part in sensors:
            part.start(worker)
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)
        self._thread.start()
        self._start_cost_s = time.thread_time() - began_s

    def _run(self) -> None:
        while not self._over.wait(self._period_s):
            self._samples.append(_merged([part.sample() for part in self._sensors]))
            self._cost_s = time.thread_time()

    def end(self) -> Telemetry:
        """Stops watching."""
        self._over.set()
        began_s = time.thread_time()
        duration_s = time.monotonic() - self._begin_s
        self._thread.join()
        totals = {name: value for part in self._sensors for name, value in part.totals().items()}
        return Telemetry(
            duration_s=duration_s,
            samples=len(self._samples),
            cost_s=self._start_cost_s + self._cost_s + time.thread_time() - began_s,
            series=series_of(self._samples),
            shares=shares_of(self._samples),
            totals=totals,
        )


@contextmanager
def open_monitor(device: Device) -> Iterator[Monitor]:
    """A monitor of the processor, and of the device if it is a GPU that NVML knows."""
    with ExitStack() as stack:
        sensors: list[Sensors] = [CpuSensors()]
        if device.kind is DeviceKind.GPU and device.uuid is not None:
            card = stack.enter_context(gpu_sensors.open_sensors(device.uuid))
            sensors += [card] if card else []
        yield Monitor(sensors)


def _merged(samples: Sequence[Sample]) -> Sample:
    return Sample(
        gauges={name: value for sample in samples for name, value in sample.gauges.items()},
        flags={name: value for sample in samples for name, value in sample.flags.items()},
    )


def series_of(samples: Sequence[Sample]) -> dict[str, Series]:
    """Each gauge over the samples that have it."""
    values: dict[str, list[float]] = {}
    for sample in samples:
        for name, value in sample.gauges.items():
            values.setdefault(name, []).append(value)
    return {name: Series(min(found), median(found), max(found)) for name, found in values.items()}


def shares_of(samples: Sequence[Sample]) -> dict[str, float]:
    """In what part of the samples each flag is set; in one that lacks it, it is not."""
    names = dict.fromkeys(name for sample in samples for name in sample.flags)
    return {
        name: sum(sample.flags.get(name, False) for sample in samples) / len(samples)
        for name in names
    }
