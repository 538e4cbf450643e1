"""The end of a run: its result is on disk, wherever there is room for it."""

import tempfile
from pathlib import Path

from aiscore.errors import UserError
from aiscore.execution.journal import Journal
from aiscore.results.model import Result
from aiscore.results.store import save


def save_or_tell(result: Result, path: Path, journal: Journal) -> UserError | None:
    """Writes the result file, removes the journal; else says why not, and where the tests are."""
    try:
        save(result, path)
    except UserError as error:
        if journal.is_whole():
            resume = f"make room, then: aiscore run --resume {path}"
            return UserError(error.problem, f"its tests are in {journal.path}; {resume}")
        return UserError(error.problem, _save_elsewhere(result, path, journal))
    journal.remove()
    return None


def _save_elsewhere(result: Result, path: Path, journal: Journal) -> str:
    """The last resort where the disk took not even the journal; what became of it."""
    lost = f"{journal.path} has only the first of its tests, and there is no other place"
    try:
        directory = Path(tempfile.mkdtemp(prefix="aiscore-"))
    except OSError:
        return lost
    try:
        save(result, directory / path.name)
    except UserError:
        directory.rmdir()
        return lost
    return f"it is in {directory / path.name}"
