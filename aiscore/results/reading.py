"""Files that anybody may have written: read whole, if they are files and of a sane size."""

import stat
from pathlib import Path

from aiscore.errors import UserError

MIB = 1 << 20
MOST_MIB = 64  # three million passes


def read(path: Path, advice: str, most_mib: int = MOST_MIB) -> bytes:
    """What is in the file; raises UserError, with this advice, if it is none or too large."""
    try:
        require_sane(path, advice, most_mib)
        return path.read_bytes()
    except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
        raise unreadable(path, error, advice) from error


def require_sane(path: Path, advice: str, most_mib: int = MOST_MIB) -> None:
    """Raises UserError for a pipe, a device or a folder, and for more than so many MiB.

    Raises OSError or ValueError if nothing of that name can be looked at.
    """
    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode):
        raise UserError(f"{path} is not a file", advice)
    if facts.st_size > most_mib * MIB:
        raise UserError(f"{path} is larger than {most_mib} MiB", advice)


def unreadable(path: Path, error: OSError | ValueError, advice: str) -> UserError:
    """That the file cannot be read, and why."""
    reason = getattr(error, "strerror", None) or error
    return UserError(f"cannot read {path}: {reason}", advice)
