"""How good is this card for deep learning? aiscore measures it."""

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiscore.results.model import Result

__version__ = "0.1.0"


def load(path: str | PathLike[str]) -> "Result":
    """The result in that file, its scores recomputed; raises UserError if it does not hold one."""
    from pathlib import Path

    from aiscore.results import store

    return store.load(Path(path))
