"""The peak of this process's resident memory, since its start or since a reset."""

import resource
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR_REFS = Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # proc(5): resets the peak resident set size to the current one


def reset() -> bool:
    """Starts a new peak from here; False where the kernel does not allow it."""
    try:
        CLEAR_REFS.write_text(RESET_PEAK)
    except OSError:
        return False
    return True


def peak_rss_bytes() -> int:
    """The peak since the last reset that was allowed, else since the process began."""
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
