"""The journal: every finished test on disk while the run is on.

JSON lines beside the result: first the result without its tests, then one
test record a line. It is removed once the result file is safely written, and
left behind where a run was cut off.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import ValidationError

from aiscore.errors import UserError
from aiscore.execution.interrupts import uninterrupted
from aiscore.execution.rounds import Key, join, key
from aiscore.results import store, sweep_store
from aiscore.results.model import Result, TestRecord
from aiscore.results.reading import require_sane, unreadable
from aiscore.results.sweep import PointRecord, Sweep

Record = TypeVar("Record", bound=TestRecord)


def journal_path(result_path: Path) -> Path:
    """Where the journal of a result lies; a directory, which may have no name, has none."""
    return result_path.parent / f"{result_path.name}.journal"


class Journal:
    """An open journal, locked. Every line is on disk when its call returns.

    It takes the place of an older one only when its first lines, the header and
    the tests that are done, are on disk; raises OSError if that fails, and
    BlockingIOError if a run still writes the older one.
    """

    def __init__(
        self, path: Path, header: Result | Sweep, records: Iterable[TestRecord] = ()
    ) -> None:
        self.path = path
        self._size = 0  # of the whole lines
        self._unwritten = [_line(header), *map(_line, records)]
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        self._file = part.open("xb", buffering=0)
        try:
            _lock(self._file)
            self._write()
            _take_place(part, path)
        except BaseException:
            self._file.close()
            part.unlink(missing_ok=True)
            raise

    def is_whole(self) -> bool:
        """Whether all that was added is on disk, and the file still has its name."""
        return not self._unwritten and self.path.exists()

    def append(self, record: TestRecord) -> None:
        """Adds a finished test.

        Raises OSError when the disk takes no more; the test is then tried again
        with the next one.
        """
        self._unwritten.append(_line(record))
        self._write()

    def close(self) -> None:
        """Leaves the file where it is."""
        self._file.close()

    def remove(self) -> None:
        """The result file holds it all now."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        self._file.seek(self._size)
        self._file.truncate()  # what was written of a line before the disk was full
        data = b"".join(self._unwritten)
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]
        os.fsync(self._file.fileno())
        self._size += len(data)
        self._unwritten.clear()


@dataclass(frozen=True, slots=True)
class Place:
    """The path of a result to be, and the file that was there when it was looked at."""

    path: Path
    file: tuple[int, int] | None

    @classmethod
    def at(cls, path: Path) -> "Place":
        """As it is now."""
        try:
            found = path.stat()
        except OSError:
            return cls(path, None)
        return cls(path, (found.st_ino, found.st_mtime_ns))


def open_journal(
    places: Iterable[Place], header: Result | Sweep, records: Iterable[TestRecord]
) -> tuple[Path, Journal]:
    """The path of the first place where no other run writes or has written, and its journal.

    Raises UserError if there can be none.
    """
    taken = None
    for place in places:
        taken = place.path
        try:
            taken.parent.mkdir(exist_ok=True)
            journal = Journal(journal_path(taken), header, records)
        except BlockingIOError:
            continue
        except OSError as error:
            reason = error.strerror or str(error)
            raise UserError(f"cannot write {taken}: {reason}", "choose another place") from error
        if Place.at(taken) == place:  # another run's journal goes when its result is written
            return taken, journal
        journal.remove()
    raise UserError(f"another run writes {taken}", "choose another place, or run it again later")


def read(path: Path) -> Result:
    """The result as far as the journal goes. A last line that was cut off is left out.

    Raises UserError for a file that is no journal, and while a run still writes it.
    """
    header, *lines = _whole_lines(path)
    result = store.parse(path, header)
    records: dict[Key, TestRecord] = {}
    for record in _records(path, lines, TestRecord):
        records[key(record)] = join(records.get(key(record)), record)
    found = result.with_records(records.values())
    store.require_consistent(path, found)
    return found


def read_sweep(path: Path) -> Sweep:
    """The same of a sweep."""
    header, *lines = _whole_lines(path)
    sweep = sweep_store.parse(path, header)
    found = sweep.with_points(_records(path, lines, PointRecord))
    sweep_store.require_consistent(path, found)
    return found


def _records(path: Path, lines: Sequence[str], kind: type[Record]) -> Iterator[Record]:
    for number, line in enumerate(lines, start=2):
        try:
            yield kind.model_validate_json(line, strict=True)
        except ValidationError as error:
            if number == len(lines) + 1:
                return  # the machine went down while it was written
            raise UserError(
                f"{path} is not a journal: line {number} is no test", "run it again"
            ) from error


def _whole_lines(path: Path) -> list[str]:
    """The lines that have an end; at least one."""
    advice = "run it again"
    try:
        require_sane(path, advice)
        with path.open("rb") as file:
            _lock(file)
            data = file.read()
    except BlockingIOError as error:
        raise UserError(f"a run is still writing {path}", "wait for its end") from error
    except OSError as error:
        raise unreadable(path, error, advice) from error
    *lines, _ = data.decode(errors="replace").split("\n")
    if not lines:
        raise UserError(f"{path} was cut off before its first test", advice)
    return lines


def _take_place(part: Path, path: Path) -> None:
    """Renames; raises BlockingIOError if another run has that place, or was quicker to take it."""
    with uninterrupted(), path.open("ab") as older:  # which makes an empty one if there is none
        _lock(older)
        if not (path.exists() and os.path.samestat(os.fstat(older.fileno()), path.stat())):
            raise BlockingIOError
        os.replace(part, path)


def _lock(file: BinaryIO) -> None:
    """Until it is closed; raises BlockingIOError if another process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return  # this file system knows no locks


def _line(item: Result | Sweep | TestRecord) -> bytes:
    text = json.dumps(item.model_dump(mode="json"), allow_nan=False, ensure_ascii=False)
    return f"{text}\n".encode(errors="replace")
