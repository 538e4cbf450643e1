"""The command ``aiscore``: finds the command's module, and reports every error in one line.

A command is a module of this package that holds a click command by the name of
``command``. Only the module of the command that was called is imported.
"""

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import TextIO

import click

from aiscore import __version__
from aiscore.errors import UserError
from aiscore.execution.interrupts import one_interrupt
from aiscore.report import escape

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
COMMANDS = {
    "run": "Measure this machine and write a result file.",
    "show": "Print the RESULT file, of a run or a sweep, again, recomputed from its samples.",
    "compare": "Compare result files and leaderboard cards, or sweeps, with the first of them.",
    "leaderboard": "List published AI-Benchmark scores and this project's own, with their sources.",
    "import": "Turn a console LOG of ai-benchmark into a result file.",
    "publish": "Write a score table of the RESULT files, a page or a picture.",
    "verify": "Check the RESULT files: their schema, and all that is derived from their samples.",
    "tests": "List the tests: network, mode, batch, input, work, size and reference time.",
    "throughput": "Measure images/s over batches, precisions and XLA.",
    "info": "Show the machine, and what each backend needs.",
}
INTERRUPTED = 130


def module_of(name: str) -> str:
    """The module of a command; no module can be called import."""
    return f"aiscore.cli.{name}_" if iskeyword(name) else f"aiscore.cli.{name}"


@dataclass
class State:
    """What ``main`` has to know after a command has failed."""

    debug: bool = False


def _set_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.ensure_object(State).debug = value


class LazyGroup(click.Group):
    """Knows its commands' names and help, and imports one when it is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        """In the order of the table."""
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Imports the command."""
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(module_of(name)).command
        if not any(parameter.name == "debug" for parameter in command.params):
            command.params.append(_debug_option())
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name for one that there is not."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            close = get_close_matches(args[0], COMMANDS, n=1)
            advice = f"did you mean {close[0]}?" if close else "see 'aiscore --help'"
            raise UserError(f"there is no command {args[0]!r}", advice)
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _debug_option() -> click.Option:
    return click.Option(
        ["--debug"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_set_debug,
        help="Show the traceback of an error.",
    )


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="aiscore", message="%(prog)s %(version)s")
def cli() -> None:
    """Score this machine for deep learning.

    Runs the tests of AI-Benchmark with real networks and gives scores that can
    be compared with its leaderboard.
    """


def entry() -> int:
    """The whole process: interrupts after the first are ignored until it has ended."""
    with one_interrupt(until_exit=True):
        return main()


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; its exit code: 0, 1 a finding, 2 an error, 130 interrupted."""
    state = State()
    open_closed_streams()
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        with one_interrupt(), cli.make_context("aiscore", list(arguments), obj=state) as context:
            cli.invoke(context)
            sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("aiscore: interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        discard(sys.stdout)  # the reader has read enough
        return 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "aiscore"
        return _report(state, error.format_message(), f"see '{path} --help'")
    except click.ClickException as error:
        return _report(state, error.format_message(), "")
    except UserError as error:
        return _report(state, error.problem, error.advice, error.exit_code)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            discard(sys.stdout)
            again = "make room; 'aiscore show' prints a result file again"
            return _report(state, f"cannot write the output: {error.strerror}", again)
        problem = f"internal error: {type(error).__name__}: {error}"
        return _report(state, problem, "please report it with the output of --debug")
    return 0


def _report(state: State, problem: str, advice: str, exit_code: int = 2) -> int:
    """Called while an error is handled."""
    if state.debug:
        for trace in traceback.format_exc().splitlines():
            click.echo(escape.terminal(trace), err=True)
    line = f"{problem.rstrip('.')}; {advice}" if advice else problem
    click.echo(f"aiscore: error: {escape.terminal(line)}", err=True)
    return exit_code


def open_closed_streams() -> None:
    """What the caller has closed leads nowhere; else the next file takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  open to the end


def discard(stream: TextIO) -> None:
    """From here on to nowhere: Python's last flush would fail on the closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
