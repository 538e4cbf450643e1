"""How good is this card for deep learning? aiscore measures it."""

from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aiscore.api import run as run
    from aiscore.results.model import Result
    from aiscore.scoring.compare import Comparison

__version__ = "0.1.0"


def load(path: str | PathLike[str]) -> "Result":
    """The result in that file, its scores recomputed; raises UserError if it does not hold one."""
    from pathlib import Path

    from aiscore.results import store

    return store.load(Path(path))


def compare(a: "Result | str | PathLike[str]", b: "Result | str | PathLike[str]") -> "Comparison":
    """How many times as fast as ``a`` is ``b``: by score, by test and over common tests.

    Each is a result, the path of a result file, or the name of a leaderboard
    card. Raises UserError for a name or a file that does not stand for one.
    """
    from aiscore.results import subject
    from aiscore.results.model import Result

    base, other = (
        subject.from_result(side) if isinstance(side, Result) else subject.named(str(side))
        for side in (a, b)
    )
    return subject.compare_subjects(base, other)


def __getattr__(name: str) -> Any:
    """``run``, imported when it is first used: the command line starts without the engine."""
    if name == "run":
        from aiscore.api import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
