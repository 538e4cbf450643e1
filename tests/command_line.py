"""Runs a command as a user does, in this process."""

from dataclasses import dataclass
from importlib import import_module

import click
from click.testing import CliRunner

from aiscore.cli.main import module_of
from aiscore.errors import UserError


@dataclass(frozen=True)
class Outcome:
    """What the user gets."""

    code: int
    out: str
    err: str


def aiscore(command: str, *arguments: object, typed: str = "") -> Outcome:
    """``aiscore COMMAND ARGUMENTS``; there is no terminal."""
    made: click.Command = import_module(module_of(command)).command
    result = CliRunner().invoke(made, [str(argument) for argument in arguments], input=typed)
    if isinstance(result.exception, UserError):
        return Outcome(2, result.stdout, f"{result.stderr}{result.exception}\n")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)
