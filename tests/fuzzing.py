"""What the tests of damaged files have in common: how many, where, and how they are judged."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from aiscore.errors import UserError
from aiscore.execution.journal import journal_path
from aiscore.report.escape import terminal
from tests import mutations

INPUTS = int(os.environ.get("AISCORE_FUZZ_INPUTS", "500"))
CHANCE = st.randoms(use_true_random=False)


def share(part: float) -> settings:
    """So much of all inputs for one kind of file."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(
        max_examples=round(INPUTS * part), deadline=None, suppress_health_check=slow, database=None
    )


@dataclass(frozen=True)
class Place:
    """A directory with one file, or what a run left of one."""

    result: Path

    @property
    def journal(self) -> Path:
        return journal_path(self.result)

    def contents(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.result.parent.iterdir()}

    def empty(self) -> None:
        for path in self.result.parent.iterdir():
            path.unlink()


class Named(dict[str, Any]):
    """Large things by their names, which alone hypothesis is to print when a test fails."""

    def __repr__(self) -> str:
        return f"Named({', '.join(self)})"


class Nobody:
    """In place of a runner: runs nothing, as if Ctrl-C came at once."""

    interrupted = True

    def __init__(self, *arguments: object, **options: object) -> None: ...

    def run(self) -> None: ...


def damaged(chance: Random, text: str) -> bytes:
    """The file changed in its values, or in its bytes."""
    if chance.choice((True, True, False)):
        return mutations.in_document(chance, text).encode()
    return mutations.in_bytes(chance, text.encode())


def damaged_journal(chance: Random, data: bytes) -> bytes:
    """The lines with one changed or out of its place, or the bytes changed."""
    lines = data.splitlines(keepends=True)
    number = chance.randint(0, len(lines) - 1)
    if chance.choice((True, False)):
        lines[number] = f"{mutations.in_document(chance, lines[number].decode())}\n".encode()
    elif chance.choice((True, False)):
        lines.insert(chance.randint(0, len(lines)), lines.pop(number))
    else:
        return mutations.in_bytes(chance, data)
    return b"".join(lines)


def read(place: Place, store: ModuleType) -> tuple[Any, list[str]]:
    """What loading the file gives, or None, and what does not hold in it.

    That verifying it says the same is checked on the way.
    """
    try:
        problems = store.check(place.result)
    except UserError as error:
        problems = [one_line(error)]
    try:
        loaded, mismatches = store.load_checked(place.result)
    except UserError as error:
        one_line(error)
        assert problems
        return None, problems
    assert mismatches == problems
    return loaded, problems


def resumed_or_left_alone(place: Place, resume: Callable[[], Any], store: ModuleType) -> None:
    """What resuming gives is in a file that holds; or it is refused, and nothing is touched."""
    before = place.contents()
    try:
        resumed = resume()
    except UserError as error:
        one_line(error)
        assert place.contents() == before
        return
    assert store.check(place.result) == []
    assert store.load(place.result) == resumed
    assert not place.journal.exists()


def one_line(error: UserError) -> str:
    """An error as the user sees it."""
    line = terminal(str(error))
    assert len(line) < 20_000
    return line
