"""Where a result goes: checked for writing before any work, without leaving a trace."""

import re
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from aiscore.errors import UserError
from aiscore.execution.journal import journal_path

DIRECTORY = Path("aiscore-results")

Confirm = Callable[[str], bool]
"""Asks the user a question; no terminal, no consent."""


def default_path(started: datetime, device_name: str) -> Path:
    """``aiscore-results/<UTC time>-<device>.json`` in the current directory."""
    slug = re.sub(r"[^a-z0-9]+", "-", device_name.lower()).strip("-") or "device"
    return DIRECTORY / f"{started:%Y%m%dT%H%M%SZ}-{slug}.json"


def check_writable(path: Path, confirm: Confirm) -> None:
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
    _try_directory(path.parent)


def _try_directory(directory: Path) -> None:
    """Writes a nameless file where the result will lie, or where its directory will be made."""
    while not directory.exists():
        directory = directory.parent
    try:
        with tempfile.TemporaryFile(dir=directory):
            return
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write in {directory}: {reason}", "choose another place") from error
