"""The CUDA libraries that this process has loaded, with the versions that they give themselves."""

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

MAPS = Path("/proc/self/maps")
LIBRARIES = {"cuda": "libcudart", "cudnn": "libcudnn"}


def versions() -> dict[str, str]:
    """Of the runtime and of cuDNN; ``unknown: reason`` where one is not loaded."""
    readers: dict[str, Callable[[ctypes.CDLL], str]] = {"cuda": _runtime, "cudnn": _cudnn}
    return {name: _version(LIBRARIES[name], reader) for name, reader in readers.items()}


def _version(library: str, reader: Callable[[ctypes.CDLL], str]) -> str:
    try:
        path = re.search(rf"/\S*/{library}\.so[.\d]*$", MAPS.read_text(), re.MULTILINE)
        if path is None:
            return f"unknown: {library} is not loaded"
        return reader(ctypes.CDLL(path[0]))
    except (OSError, AttributeError) as error:
        return f"unknown: {error}"


def _runtime(library: ctypes.CDLL) -> str:
    """12040 is 12.4."""
    number = ctypes.c_int()
    status = library.cudaRuntimeGetVersion(ctypes.byref(number))
    if status:
        return f"unknown: cudaRuntimeGetVersion gives error {status}"
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


def _cudnn(library: ctypes.CDLL) -> str:
    """8907 is 8.9.7 and, since version 9, 90300 is 9.3.0."""
    library.cudnnGetVersion.restype = ctypes.c_size_t
    number = int(library.cudnnGetVersion())
    major = 10_000 if number >= 90_000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"
