"""The files that users name: read with a warning where they do not hold, written with care."""

import sys
from collections.abc import Iterable
from pathlib import Path

import click
from click.core import ParameterSource

from aiscore.errors import UserError
from aiscore.report.escape import terminal
from aiscore.results import sweep_store
from aiscore.results.model import Result
from aiscore.results.store import load_checked, write_bytes, write_text
from aiscore.results.sweep import Sweep


def read_result(path: str) -> tuple[Result, bool]:
    """The result, recomputed, and whether the file holds; where not, stderr says so."""
    result, mismatches = load_checked(Path(path))
    report_mismatches(path, mismatches)
    return result, not mismatches


def read_sweep(path: str) -> tuple[Sweep, bool]:
    """The same of a sweep."""
    sweep, mismatches = sweep_store.load_checked(Path(path))
    report_mismatches(path, mismatches)
    return sweep, not mismatches


def report_mismatches(path: str, mismatches: Iterable[str]) -> None:
    """Says on stderr where the file does not hold."""
    for line in mismatches:
        click.echo(terminal(f"{path} does not hold: {line}"), err=True)


def may_write(path: str, yes: bool) -> None:
    """Raises UserError if the file exists and nobody agrees to its loss."""
    if path == "-" or yes or not Path(path).exists():
        return
    if not can_ask():
        raise UserError(f"{path} exists", "pass --yes to overwrite it, or choose another path")
    if not click.confirm(f"{terminal(path)} exists. Overwrite it?", err=True):
        raise UserError(f"{path} was left as it is", "choose another path")


def can_ask() -> bool:
    """Whether somebody is there to answer."""
    return sys.stdin.isatty()


def ask(question: str) -> bool:
    """What somebody answers; without a terminal there is nobody to consent."""
    return can_ask() and click.confirm(terminal(question), err=True)


def is_given(context: click.Context, name: str) -> bool:
    """Whether the option of that name stands on the command line."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def write(path: str, content: str | bytes) -> None:
    """To the file, whole or not at all; to stdout for ``-``."""
    if path == "-":
        click.echo(content, nl=False)
    elif isinstance(content, bytes):
        write_bytes(Path(path), content)
    else:
        write_text(Path(path), content)
