"""The journal: every finished test on disk while the run is on.

JSON lines beside the result: first the result without its tests, then one
test record a line. It is removed once the result file is safely written, and
left behind where a run was cut off.
"""

import os
from pathlib import Path

from aiscore.results.model import Result, TestRecord


def journal_path(result_path: Path) -> Path:
    """Where the journal of a result lies."""
    return result_path.with_name(f"{result_path.name}.journal")


class Journal:
    """An open journal. Every line is on disk when its call returns."""

    def __init__(self, path: Path, header: Result) -> None:
        self.path = path
        self._file = path.open("w", encoding="utf-8")
        self._append(header.model_dump_json())

    def append(self, record: TestRecord) -> None:
        """Adds a finished test."""
        self._append(record.model_dump_json())

    def close(self) -> None:
        """Leaves the file where it is."""
        self._file.close()

    def remove(self) -> None:
        """The result file holds it all now."""
        self.close()
        self.path.unlink()

    def _append(self, line: str) -> None:
        self._file.write(f"{line}\n")
        self._file.flush()
        os.fsync(self._file.fileno())
