"""The NVIDIA GPUs of this machine, by NVML, or by the driver's files without it.

A GPU's name in a result is its UUID: indices change with the environment.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

from aiscore.spec import Device, DeviceKind

DRIVER_FILES = Path("/proc/driver/nvidia/gpus")


@dataclass(frozen=True)
class Reading:
    """What was found (name to value, in the order of the PCI bus), and what was in the way."""

    gpus: list[dict[str, str]] = field(default_factory=list)
    problem: str | None = None


def read() -> Reading:
    """Every NVIDIA GPU, whether or not a framework can use it."""
    try:
        import pynvml
    except ModuleNotFoundError:
        return Reading(_driver_files(), "nvidia-ml-py is not installed")
    try:
        with initialised(pynvml):
            count = pynvml.nvmlDeviceGetCount()
            return Reading([_describe(pynvml, index) for index in range(count)])
    except pynvml.NVMLError as error:
        return Reading(_driver_files(), f"NVML: {error}")


def identify(
    devices: tuple[Device, ...], gpus: list[dict[str, str]], variables: Mapping[str, str]
) -> tuple[Device, ...]:
    """Adds UUID and memory to the framework's GPUs, where it is certain which is which.

    That is so when the framework sees as many GPUs as are visible, by the same
    names and in the order of the PCI bus (``worker_environment`` asks for it).
    A MIG instance has no name here: its place in the list tells.
    """
    visible = _visible(gpus, variables)
    mine = [device for device in devices if device.kind is DeviceKind.GPU]
    names = [gpu.get("name") for gpu in visible]
    if len(mine) != len(names) or any(
        name not in (None, device.name) for device, name in zip(mine, names, strict=True)
    ):
        return devices
    known = {
        device: replace(
            device,
            uuid=device.uuid or gpu["uuid"],
            memory_bytes=device.memory_bytes or _number(gpu.get("memory_bytes", "")),
        )
        for device, gpu in zip(mine, visible, strict=True)
    }
    return tuple(known.get(device, device) for device in devices)


def _visible(gpus: list[dict[str, str]], variables: Mapping[str, str]) -> list[dict[str, str]]:
    """Those that CUDA_VISIBLE_DEVICES leaves, as CUDA reads it: up to the first bad entry.

    None where their order is not that of the PCI bus, or one is named twice.
    """
    numbered = variables.get("CUDA_DEVICE_ORDER", "PCI_BUS_ID") == "PCI_BUS_ID"
    chosen = variables.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return gpus if numbered or len(gpus) == 1 else []
    entries = [entry.strip() for entry in chosen.split(",")]
    if not numbered and any(entry.isdecimal() for entry in entries):
        return []
    found = [_fitting(entry, gpus) for entry in entries]
    visible = [fitting[0] for fitting in takewhile(lambda fitting: len(fitting) == 1, found)]
    uuids = {gpu["uuid"] for gpu in visible}
    return visible if len(uuids) == len(visible) else []


def _fitting(entry: str, gpus: list[dict[str, str]]) -> list[dict[str, str]]:
    """The GPUs that an entry of CUDA_VISIBLE_DEVICES may mean."""
    if entry.startswith("MIG-"):
        return [{"uuid": entry}]
    if entry.isdecimal():
        return gpus[int(entry) :][:1]
    return [gpu for gpu in gpus if entry.startswith("GPU-") and gpu["uuid"].startswith(entry)]


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


@contextmanager
def initialised(pynvml: ModuleType) -> Iterator[None]:
    """NVML may be asked in this context."""
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()


def _describe(pynvml: ModuleType, index: int) -> dict[str, str]:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    readers: dict[str, Callable[[], Any]] = {
        "name": lambda: pynvml.nvmlDeviceGetName(handle),
        "uuid": lambda: pynvml.nvmlDeviceGetUUID(handle),
        "memory_bytes": lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).total,
        "driver": pynvml.nvmlSystemGetDriverVersion,
        "power_limit_w": lambda: pynvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
    }
    return {name: _value(pynvml, reader) for name, reader in readers.items()}


def _value(pynvml: ModuleType, reader: Callable[[], Any]) -> str:
    try:
        return str(reader())
    except pynvml.NVMLError as error:
        return f"unknown: {error}"


def _driver_files() -> list[dict[str, str]]:
    """Name and UUID from the kernel driver: enough to say that there is a GPU."""
    gpus = []
    for path in sorted(DRIVER_FILES.glob("*/information")):
        lines = (line.partition(":") for line in path.read_text(errors="replace").splitlines())
        facts = {key.strip(): value.strip() for key, _, value in lines}
        gpus.append(
            {
                "name": facts.get("Model", "unknown: not in the driver's file"),
                "uuid": facts.get("GPU UUID", "unknown: not in the driver's file"),
            }
        )
    return gpus
