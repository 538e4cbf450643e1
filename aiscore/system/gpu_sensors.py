"""The GPU under test while it is tested, through NVML and found by its UUID.

What a card or its driver does not tell is absent.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

from aiscore.system.gpu import initialised
from aiscore.system.sensors import Sample

REASONS = {  # nvml.h, nvmlClocksEventReasons
    0x04: "sw_power_cap",
    0x08: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}
THROTTLED = 0x08 | 0x20 | 0x40 | 0x80  # a power cap is how a card is meant to run
WATTS_PER_MW = JOULES_PER_MJ = 1e-3


class GpuSensors:
    """The sensors of one card, or of one MIG instance as far as it has any."""

    def __init__(self, pynvml: ModuleType, handle: Any) -> None:
        self._nvml = pynvml
        self._handle = handle
        self._group: int | None = None
        self._energy_mj: float | None = None

    def start(self, worker: int) -> None:
        """A test begins in this process."""
        self._group = _group(worker)
        self._energy_mj = self._read("nvmlDeviceGetTotalEnergyConsumption")

    def sample(self) -> Sample:
        """What the card says now."""
        readers: dict[str, Callable[[], float | None]] = {
            "gpu_sm_clock_mhz": lambda: self._read("nvmlDeviceGetClockInfo", "NVML_CLOCK_SM"),
            "gpu_memory_clock_mhz": lambda: self._read("nvmlDeviceGetClockInfo", "NVML_CLOCK_MEM"),
            "gpu_temperature_c": lambda: self._read(
                "nvmlDeviceGetTemperature", "NVML_TEMPERATURE_GPU"
            ),
            "gpu_power_w": lambda: self._scaled("nvmlDeviceGetPowerUsage", WATTS_PER_MW),
            "gpu_utilization_percent": lambda: self._part("nvmlDeviceGetUtilizationRates", "gpu"),
            "gpu_memory_used_bytes": lambda: self._part("nvmlDeviceGetMemoryInfo", "used"),
            "gpu_other_processes": self._other_processes,
        }
        gauges = {name: value for name, read in readers.items() if (value := read()) is not None}
        return Sample(gauges, self._flags())

    def totals(self) -> Mapping[str, float]:
        """The energy that the card used."""
        now_mj = self._read("nvmlDeviceGetTotalEnergyConsumption")
        if now_mj is None or self._energy_mj is None:
            return {}
        return {"gpu_energy_j": (now_mj - self._energy_mj) * JOULES_PER_MJ}

    def _read(self, function: str, *constants: str) -> Any:
        """What the function says of the card; None if the card or the driver does not have it."""
        try:
            arguments = [getattr(self._nvml, name) for name in constants]
            return getattr(self._nvml, function)(self._handle, *arguments)
        except (self._nvml.NVMLError, AttributeError):  # an old nvidia-ml-py lacks new names
            return None

    def _scaled(self, function: str, factor: float) -> float | None:
        value = self._read(function)
        return None if value is None else float(value) * factor

    def _part(self, function: str, name: str) -> float | None:
        values = self._read(function)
        return None if values is None else float(getattr(values, name))

    def _flags(self) -> dict[str, bool]:
        """Whether the card is throttled, and every reason that it gives for its clocks."""
        reasons = self._read("nvmlDeviceGetCurrentClocksEventReasons")
        if reasons is None:
            return {}
        given = {f"gpu_{name}": True for bit, name in REASONS.items() if reasons & bit}
        return {"gpu_throttled": bool(reasons & THROTTLED), **given}

    def _other_processes(self) -> int | None:
        """Processes on the card that are not ours.

        None where our own is not among them: a container numbers processes
        otherwise than NVML, or hides them.
        """
        processes = self._read("nvmlDeviceGetComputeRunningProcesses")
        if processes is None:
            return None
        others = sum(not self._is_own(process.pid) for process in processes)
        return others if others < len(processes) else None

    def _is_own(self, pid: int) -> bool:
        group = _group(pid)
        return group is not None and group == self._group


def _group(pid: int) -> int | None:
    """The process group; None if there is no such process in sight."""
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None


@contextmanager
def open_sensors(uuid: str) -> Iterator[GpuSensors | None]:
    """The sensors of the GPU of that UUID; None without NVML, or if it does not know the GPU."""
    with ExitStack() as stack:
        yield _open(stack, uuid)


def _open(stack: ExitStack, uuid: str) -> GpuSensors | None:
    try:
        import pynvml
    except ModuleNotFoundError:
        return None
    try:
        stack.enter_context(initialised(pynvml))
        return GpuSensors(pynvml, pynvml.nvmlDeviceGetHandleByUUID(uuid))
    except pynvml.NVMLError:
        return None
