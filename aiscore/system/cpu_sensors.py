"""The processor while a test runs, from the kernel's files.

A file that is not there, or may not be read, leaves its figure out.
"""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aiscore.system import host
from aiscore.system.sensors import Sample

PROC = Path("/proc")
CPUS = Path("/sys/devices/system/cpu")
POWERCAP = Path("/sys/class/powercap")
MOST_FREQUENCIES = 8  # CPUs looked at: a look at a frequency may interrupt that CPU
JOULES_PER_UJ = 1e-6


@dataclass(frozen=True, slots=True)
class _Times:
    """Processor seconds up to an instant: of everybody, of our own processes, and stolen."""

    at_s: float
    busy_s: float
    own_s: float
    stolen_s: float


class CpuSensors:
    """The CPUs that a worker may run on."""

    def __init__(self) -> None:
        self._cpus = sorted(os.sched_getaffinity(0))
        self._throttles = {
            f"cpu_{kind}_throttles": [
                CPUS / f"cpu{cpu}/thermal_throttle/{kind}_throttle_count" for cpu in self._cpus
            ]
            for kind in ("core", "package")
        }
        step = -(-len(self._cpus) // MOST_FREQUENCIES)
        self._frequencies = [
            CPUS / f"cpu{cpu}/cpufreq/scaling_cur_freq" for cpu in self._cpus[::step]
        ]
        self._packages = sorted(POWERCAP.glob("intel-rapl:?"))
        self._worker = 0
        self._flags: dict[str, bool] = {}
        self._times: _Times | None = None
        self._events: dict[str, float] = {}
        self._energy_uj: dict[Path, float] = {}

    def start(self, worker: int) -> None:
        """A test begins in this process."""
        self._worker = worker
        source = host.power_source()  # once a test: asking a battery takes its time
        self._flags = {} if source is None else {"on_battery": source == host.BATTERY}
        self._times = _times(self._cpus, worker)
        self._events = self._read_events()
        self._energy_uj = self._read_energy()

    def sample(self) -> Sample:
        """The frequency now; load by others and stolen time since the last sample."""
        gauges: dict[str, float] = {}
        before, self._times = self._times, _times(self._cpus, self._worker)
        if before and self._times:
            gauges.update(_shares(before, self._times, len(self._cpus)))
        khz = _numbers(self._frequencies)
        if khz:
            gauges["cpu_frequency_mhz"] = sum(khz) / len(khz) / 1000
        return Sample(gauges, self._flags)

    def totals(self) -> Mapping[str, float]:
        """Thermal throttle events as each CPU counts them, and energy where it may be read."""
        totals = {
            name: now - self._events[name]
            for name, now in self._read_events().items()
            if name in self._events
        }
        energy_uj = [
            (now - self._energy_uj[package]) % (range_uj + 1)  # the counter starts over
            for package, now in self._read_energy().items()
            if package in self._energy_uj
            for range_uj in _numbers([package / "max_energy_range_uj"])
        ]
        if energy_uj:
            totals["cpu_energy_j"] = sum(energy_uj) * JOULES_PER_UJ
        return totals

    def _read_events(self) -> dict[str, float]:
        counts = {name: _numbers(paths) for name, paths in self._throttles.items()}
        return {name: sum(found) for name, found in counts.items() if found}

    def _read_energy(self) -> dict[Path, float]:
        return {
            package: value
            for package in self._packages
            for value in _numbers([package / "energy_uj"])
        }


def _times(cpus: list[int], worker: int) -> _Times | None:
    """None where the kernel does not tell, or the worker is gone."""
    try:
        system = (PROC / "stat").read_text()
        process = (PROC / str(worker) / "stat").read_text()
    except OSError:
        return None
    wanted = {f"cpu{cpu}" for cpu in cpus}
    busy = stolen = 0
    for line in system.splitlines():
        name, *fields = line.split()
        if name in wanted:
            user, nice, kernel, _idle, _iowait, irq, softirq, steal = map(int, fields[:8])
            busy += user + nice + kernel + irq + softirq
            stolen += steal
    own = sum(map(int, process.rpartition(")")[2].split()[11:15]))  # proc(5): utime to cstime
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    return _Times(
        at_s=time.monotonic(),
        busy_s=busy / ticks_per_s,
        own_s=own / ticks_per_s + time.process_time(),
        stolen_s=stolen / ticks_per_s,
    )


def _shares(before: _Times, now: _Times, cpus: int) -> dict[str, float]:
    """Parts of all processor time between two instants."""
    all_s = (now.at_s - before.at_s) * cpus
    others_s = (now.busy_s - before.busy_s) - (now.own_s - before.own_s)
    return {
        "cpu_others_share": max(0.0, others_s) / all_s,  # ticks round to below 0
        "cpu_stolen_share": (now.stolen_s - before.stolen_s) / all_s,
    }


def _numbers(paths: Iterable[Path]) -> list[float]:
    """What those files hold that can be read."""
    found = []
    for path in paths:
        try:
            found.append(float(path.read_text()))
        except (OSError, ValueError):
            continue  # not on this machine, or not for us
    return found
