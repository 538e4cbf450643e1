"""Tests that cannot fit the device are left out, with the reason, instead of crashing."""

from collections.abc import Callable

import psutil

from aiscore.results.reference import peak_memory_bytes
from aiscore.spec import Device, DeviceKind, Options, TestSpec
from aiscore.system import host

# The measured peaks are those of a card with room: TensorFlow then takes more workspace than it
# needs. Published runs show cards with 0.3 of a test's peak finish it (RTX 2070 SUPER with 6.4 GB
# all tests, GTX 1050 with 2 GB all inference tests). Host memory has no such slack.
LEAST_SHARE = {DeviceKind.GPU: 0.3, DeviceKind.CPU: 0.8}
GIB = 1 << 30

Shortage = Callable[[TestSpec], str | None]


def shortage(backend: str, device: Device, options: Options) -> Shortage:
    """A function that says what a test lacks on the device; None if it may fit.

    A test without a measured peak, and a device of unknown size, may fit.
    """
    peaks = peak_memory_bytes(backend, device.kind)
    room = _room_bytes(device, options)

    def lacks(test: TestSpec) -> str | None:
        if test.id not in peaks or room is None:
            return None
        need = peaks[test.id] * LEAST_SHARE[device.kind]
        if need <= room:
            return None
        return f"needs about {need / GIB:.1f} GiB, has {room / GIB:.1f} GiB"

    return lacks


def _room_bytes(device: Device, options: Options) -> int | None:
    if device.kind is DeviceKind.CPU:
        limit = host.memory_limit_bytes()
        available: int = psutil.virtual_memory().available
        return available if limit is None else min(available, limit)
    if device.memory_bytes is None:
        return None
    return int(device.memory_bytes * (options.memory_fraction or 1))
