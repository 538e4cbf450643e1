"""``aiscore verify``: whether result files hold."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from aiscore.errors import UserError
from aiscore.report.escape import terminal
from aiscore.results import store, sweep_store

EXIT_CODES = {"holds": 0, "does not hold": 1, "unreadable": 2}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one file; ``problems`` are lines."""

    path: str
    status: str
    problems: list[str]


@click.command("verify")
@click.argument("results", metavar="RESULT...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, results: tuple[str, ...], as_json: bool) -> None:
    """Check the RESULT files: their schema, and all that is derived from their samples.

    Every file is checked, and everything that does not hold is a line. Exits
    with 0 if all hold, with 1 if a file reads as a result but does not hold,
    with 2 if one cannot be read as a result.
    """
    verdicts = [_verify(path) for path in results]
    if as_json:
        click.echo(json.dumps({"files": [asdict(verdict) for verdict in verdicts]}, indent=2))
    else:
        for verdict in verdicts:
            _print(verdict)
    context.exit(max(EXIT_CODES[verdict.status] for verdict in verdicts))


def _verify(path: str) -> Verdict:
    try:
        check = sweep_store.check if sweep_store.is_sweep(Path(path)) else store.check
        problems = check(Path(path))
    except UserError as error:
        return Verdict(path, "unreadable", [f"{error.problem}; {error.advice}"])
    return Verdict(path, "does not hold" if problems else "holds", problems)


def _print(verdict: Verdict) -> None:
    """What was found to stdout; that a file cannot be read, to stderr."""
    if verdict.status == "unreadable":
        click.echo(terminal(f"aiscore: error: {verdict.problems[0]}"), err=True)
    elif verdict.problems:
        for problem in verdict.problems:
            click.echo(terminal(f"{verdict.path}: {problem}"))
    else:
        click.echo(terminal(f"{verdict.path}: holds"))
