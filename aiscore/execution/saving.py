"""The end of a run: its result is on disk, wherever there is room for it."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from aiscore.errors import UserError
from aiscore.execution.journal import Journal


def save_or_tell(
    save: Callable[[Path], None], path: Path, journal: Journal, command: str
) -> UserError | None:
    """Saves to that path, removes the journal; else says why not, and where the tests are.

    ``command`` is the one that resumes it.
    """
    try:
        save(path)
    except UserError as error:
        if journal.is_whole():
            resume = f"make room, then: aiscore {command} --resume {path}"
            return UserError(error.problem, f"its tests are in {journal.path}; {resume}")
        return UserError(error.problem, _save_elsewhere(save, path, journal))
    journal.remove()
    return None


def _save_elsewhere(save: Callable[[Path], None], path: Path, journal: Journal) -> str:
    """The last resort where the disk took not even the journal; what became of it."""
    lost = f"{journal.path} has only the first of its tests, and there is no other place"
    try:
        directory = Path(tempfile.mkdtemp(prefix="aiscore-"))
    except OSError:
        return lost
    try:
        save(directory / path.name)
    except UserError:
        directory.rmdir()
        return lost
    return f"it is in {directory / path.name}"
