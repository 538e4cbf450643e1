"""The machine that a run happens on, as the kernel describes it.

What cannot be read is ``unknown: reason``, never a guess, and no name of the
host is read at all.
"""

import os
import platform
from collections.abc import Callable
from pathlib import Path

import psutil

CPUINFO = Path("/proc/cpuinfo")
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
OS_RELEASE = Path("/etc/os-release")
UNLIMITED_BYTES = 1 << 60  # what cgroup v1 says where there is no limit


def describe() -> dict[str, str]:
    """Name to value; sizes in bytes."""
    readers: dict[str, Callable[[], str]] = {
        "os": _os_name,
        "kernel": platform.release,
        "machine": platform.machine,
        "cpu": _cpu_model,
        "logical_cores": lambda: _known(psutil.cpu_count()),
        "physical_cores": lambda: _known(psutil.cpu_count(logical=False)),
        "affinity": lambda: _ranges(sorted(os.sched_getaffinity(0))),
        "cpu_limit": _cpu_limit,
        "memory_bytes": lambda: str(psutil.virtual_memory().total),
        "memory_limit_bytes": _memory_limit,
        "governor": lambda: GOVERNOR.read_text().strip(),
        "container": _container,
    }
    return {name: _read(reader) for name, reader in readers.items()}


def cpu_name() -> str:
    """The processor's name."""
    return _read(_cpu_model)


def _cpu_model() -> str:
    for line in CPUINFO.read_text(errors="replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"model name", "Model", "cpu model"} and value.strip():
            return value.strip()
    return _known(platform.processor() or None)


def count_oom_kills() -> int | None:
    """How often the kernel ended a process of this control group for memory; None if unknown."""
    for name, key in (("memory.events", "oom_kill"), ("memory.oom_control", "oom_kill")):
        for directory in _memory_cgroups():
            try:
                lines = (directory / name).read_text().splitlines()
            except OSError:
                continue  # the other version of control groups, or another mount
            for line in lines:
                if line.split()[0] == key:
                    return int(line.split()[1])
    return None


def _read(reader: Callable[[], str]) -> str:
    try:
        return reader()
    except OSError as error:
        return f"unknown: {error.strerror} ({error.filename})"
    except (ValueError, LookupError) as error:
        return f"unknown: {error}"


def _known(value: object) -> str:
    if value is None:
        raise LookupError("the system does not say")
    return str(value)


def _os_name() -> str:
    for line in OS_RELEASE.read_text(errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip('"')
    return platform.system()


def _own_cgroup(controller: str) -> str:
    """The path of this process's control group (version 2: one for all controllers)."""
    path = ""
    for line in OWN_CGROUPS.read_text().splitlines():
        _, controllers, name = line.split(":", 2)
        if controller in controllers.split(","):
            return name.strip("/")
        if not controllers:
            path = name.strip("/")
    return path


def _cgroup_directories(controller: str) -> list[Path]:
    """Where its files may lie: version 2 or 1, seen from outside or inside a container."""
    own = _own_cgroup(controller)
    bases = (CGROUPS, CGROUPS / controller)
    return [base / own for base in bases] + list(bases)


def _memory_cgroups() -> list[Path]:
    try:
        return _cgroup_directories("memory")
    except OSError:
        return []  # no /proc: nothing can be counted


def _first_line(controller: str, *names: str) -> str:
    for directory in _cgroup_directories(controller):
        for name in names:
            if (directory / name).is_file():
                return (directory / name).read_text().strip()
    raise LookupError(f"no control group has {' or '.join(names)}")


def _cpu_limit() -> str:
    """In cores."""
    quota = _first_line("cpu", "cpu.max", "cpu.cfs_quota_us")
    if quota == "-1" or quota.startswith("max"):
        return "none"
    period = quota.split()[1] if " " in quota else _first_line("cpu", "cpu.cfs_period_us")
    return f"{int(quota.split()[0]) / int(period):g}"


def memory_limit_bytes() -> int | None:
    """What the control group allows; None without a limit that can be read."""
    limit = _read(_memory_limit)
    return int(limit) if limit.isdecimal() else None


def _memory_limit() -> str:
    limit = _first_line("memory", "memory.max", "memory.limit_in_bytes")
    return "none" if limit == "max" or int(limit) >= UNLIMITED_BYTES else limit


def _container() -> str:
    if Path("/.dockerenv").exists():
        return "docker"
    if Path("/run/.containerenv").exists():
        return "podman"
    return os.environ.get("container") or "none seen"  # noqa: SIM112  systemd's spelling


def _ranges(numbers: list[int]) -> str:
    """``0-3,8`` for 0, 1, 2, 3, 8."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
