"""The machine that a run happens on, as the kernel describes it.

What cannot be read is ``unknown: reason``, never a guess, and no name of the
host is read at all.
"""

import os
import platform
import re
from collections.abc import Callable
from pathlib import Path

import psutil

CPUINFO = Path("/proc/cpuinfo")
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
CPUS = Path("/sys/devices/system/cpu")
POWER_SUPPLIES = Path("/sys/class/power_supply")
MOUNTS = Path("/proc/self/mountinfo")
DOCKER, PODMAN = Path("/.dockerenv"), Path("/run/.containerenv")
CONTAINER_ID = re.compile(r"/(?:containers|overlay-containers|sandboxes)/([0-9a-f]{64})/")
NO_CONTAINER = "none seen"
OS_RELEASE = Path("/etc/os-release")
BATTERY, MAINS = "battery", "mains"
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
        "governor": _governors,
        "power_source": lambda: _known(power_source()),
        "container": _container,
        "container_id": _container_id,
        "container_image": _container_image,
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


def power_source() -> str | None:
    """``mains`` or ``battery``; None where no power supply is listed, as on servers."""
    supplies = [_facts(path / "uevent") for path in POWER_SUPPLIES.glob("*")]
    own = [facts for facts in supplies if facts.get("POWER_SUPPLY_SCOPE") != "Device"]  # a mouse's
    if not own:
        return None
    if any(facts.get("POWER_SUPPLY_ONLINE", "0") != "0" for facts in own):
        return MAINS
    discharging = any(facts.get("POWER_SUPPLY_STATUS") == "Discharging" for facts in own)
    return BATTERY if discharging else MAINS


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


def _facts(path: Path) -> dict[str, str]:
    """The lines ``name=value`` of a file; none if it is gone."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return {}
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def _governors() -> str:
    """Of the CPUs that this process may run on: one, or several with commas between them."""
    paths = [CPUS / f"cpu{cpu}/cpufreq/scaling_governor" for cpu in os.sched_getaffinity(0)]
    return ", ".join(sorted({path.read_text().strip() for path in paths}))


def _known(value: object) -> str:
    if value is None:
        raise LookupError("the system does not say")
    return str(value)


def _os_name() -> str:
    name = _facts(OS_RELEASE).get("PRETTY_NAME")
    return name.strip('"') if name else platform.system()


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
    if DOCKER.exists():
        return "docker"
    if PODMAN.exists():
        return "podman"
    if "APPTAINER_CONTAINER" in os.environ:
        return "apptainer"
    return os.environ.get("container") or NO_CONTAINER  # noqa: SIM112  systemd's spelling


def _container_id() -> str:
    """As podman tells it, or from where the runtime keeps the file that is mounted for us."""
    for line in MOUNTS.read_text(errors="replace").splitlines():
        root, point = line.split()[3:5]
        if point == "/etc/hostname" and (found := CONTAINER_ID.search(root)):
            return found[1]
    return _told_by_podman("id")


def _container_image() -> str:
    image = os.environ.get("APPTAINER_CONTAINER")
    return Path(image).name if image else _told_by_podman("image")


def _told_by_podman(name: str) -> str:
    if _container() == NO_CONTAINER:
        return NO_CONTAINER
    return _known(_facts(PODMAN).get(name, "").strip('"') or None)


def _ranges(numbers: list[int]) -> str:
    """``0-3,8`` for 0, 1, 2, 3, 8."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
