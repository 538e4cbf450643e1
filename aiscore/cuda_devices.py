"""The GPUs that CUDA shows to this process, as its driver names them."""

import ctypes

from aiscore.spec import Device, DeviceKind

DRIVER = "libcuda.so.1"
NAME_BYTES = 256
CAPABILITY = (75, 76)  # cuda.h: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR


def gpus() -> list[Device]:
    """In the order of CUDA's numbers; none without a driver or without a visible GPU."""
    driver = _driver()
    count = ctypes.c_int()
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    return [
        Device(kind=DeviceKind.GPU, index=index, name=_name(driver, index))
        for index in range(count.value)
    ]


def compute_capability(index: int) -> tuple[int, int] | None:
    """Of the GPU with that number; None where the driver does not tell."""
    driver = _driver()
    if driver is None:
        return None
    handle, major, minor = (ctypes.c_int() for _ in range(3))
    failed = driver.cuDeviceGet(ctypes.byref(handle), index) or any(
        driver.cuDeviceGetAttribute(ctypes.byref(number), attribute, handle)
        for number, attribute in zip((major, minor), CAPABILITY, strict=True)
    )
    return None if failed else (major.value, minor.value)


def _driver() -> ctypes.CDLL | None:
    try:
        driver = ctypes.CDLL(DRIVER)
    except OSError:
        return None
    return None if driver.cuInit(0) else driver


def _name(driver: ctypes.CDLL, index: int) -> str:
    handle = ctypes.c_int()
    name = ctypes.create_string_buffer(NAME_BYTES)
    if driver.cuDeviceGet(ctypes.byref(handle), index) or driver.cuDeviceGetName(
        name, NAME_BYTES, handle
    ):
        return f"GPU {index}"
    return name.value.decode(errors="replace")
