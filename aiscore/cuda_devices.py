"""The GPUs that CUDA shows to this process, as its driver names them."""

import ctypes

from aiscore.spec import Device, DeviceKind

DRIVER = "libcuda.so.1"
NAME_BYTES = 256


def gpus() -> list[Device]:
    """In the order of CUDA's numbers; none without a driver or without a visible GPU."""
    try:
        driver = ctypes.CDLL(DRIVER)
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    return [
        Device(kind=DeviceKind.GPU, index=index, name=_name(driver, index))
        for index in range(count.value)
    ]


def _name(driver: ctypes.CDLL, index: int) -> str:
    handle = ctypes.c_int()
    name = ctypes.create_string_buffer(NAME_BYTES)
    if driver.cuDeviceGet(ctypes.byref(handle), index) or driver.cuDeviceGetName(
        name, NAME_BYTES, handle
    ):
        return f"GPU {index}"
    return name.value.decode(errors="replace")
