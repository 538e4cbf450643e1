"""Where a result goes: checked for writing before any work, without leaving a trace."""

import re
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import count
from pathlib import Path

from aiscore.errors import UserError
from aiscore.execution.journal import Place, journal_path

DIRECTORY = Path("aiscore-results")

Confirm = Callable[[str], bool]
"""Asks the user a question; no terminal, no consent."""


def asked_place(path: Path | None) -> list[Place]:
    """The place of that path, as it is before the run."""
    return [] if path is None else [Place.at(path)]


def default_places(started: datetime, device_name: str) -> Iterator[Place]:
    """``aiscore-results/<UTC time>-<device>.json`` in the current directory.

    Numbered, without those that there are: clocks are set back, and several runs
    begin at once.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", device_name.lower()).strip("-") or "device"
    name = f"{started:%Y%m%dT%H%M%SZ}-{slug}"
    paths = (DIRECTORY / f"{name}{suffix}.json" for suffix in _suffixes())
    return (Place.at(path) for path in paths if not (path.exists() or journal_path(path).exists()))


def _suffixes() -> Iterator[str]:
    yield ""
    yield from (f"-{number}" for number in count(2))


def check_file(path: Path, confirm: Confirm) -> None:
    """Raises UserError if a result cannot or should not be written to ``path``."""
    if path.is_dir():
        raise UserError(f"{path} is a directory", "name a file in it")
    for existing in (path, journal_path(path)):
        if not existing.exists():
            continue
        if not existing.is_file():
            raise UserError(f"{existing} is not a regular file", "name another one")
        if not confirm(f"{existing} exists already. Overwrite it?"):
            raise UserError(f"{existing} exists already", "name another file, or pass --yes")
    if not path.parent.is_dir():
        raise UserError(f"there is no directory {path.parent}", "make it, or choose another place")
    check_writable(path.parent)


def check_directory(path: Path) -> None:
    """Raises UserError if no file can be made in ``path``, or it cannot be made itself."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is not a directory", "name the result file with -o")
    check_writable(path if path.exists() else path.parent)


def check_writable(directory: Path) -> None:
    """Makes a nameless file there; raises UserError if that fails."""
    try:
        with tempfile.TemporaryFile(dir=directory):
            return
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write in {directory}: {reason}", "choose another place") from error
