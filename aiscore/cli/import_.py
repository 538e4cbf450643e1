"""``aiscore import``: console logs of ai-benchmark become result files."""

import json
from pathlib import Path

import click

from aiscore.cli.files import may_write
from aiscore.errors import UserError
from aiscore.execution.output import DIRECTORY
from aiscore.report import rows
from aiscore.report.escape import terminal
from aiscore.results import reading
from aiscore.results.legacy import Log, read_log, score_mismatches
from aiscore.results.model import Result
from aiscore.results.store import save

ADVICE = "name a log of ai-benchmark's console output"
MOST_MIB = 8
MOST_SHOWN = 20  # unread lines
WIDTH = 100  # characters of an unread line that are shown


@click.command("import")
@click.argument("log")
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    help=f"The result file, or a folder; else {DIRECTORY}/<name of the log>.json.",
)
@click.option("--yes", is_flag=True, help="Overwrite without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, log: str, output: str | None, yes: bool, as_json: bool) -> None:
    """Turn a console LOG of ai-benchmark into a result file.

    Reads what ai-benchmark 0.1.x and its forks print, as they print it, in
    Markdown, in a notebook or among other lines. A log of several runs makes
    several files; PATH is then a folder. Scores are computed from the printed
    times. Exits with 1 if the log printed a score that these cannot give.
    """
    read = read_log(reading.read(Path(log), ADVICE, MOST_MIB), Path(log).name)
    if not read.results:
        raise UserError(_nothing(log, read), ADVICE)
    _report_unread(log, read)
    paths = _paths(Path(log), output, len(read.results))
    for path in paths:
        may_write(str(path), yes)
    for path, result in zip(paths, read.results, strict=True):
        save(result, path)
    mismatches = [score_mismatches(result) for result in read.results]
    if as_json:
        click.echo(json.dumps(_document(read, paths, mismatches), indent=2))
    else:
        for path, result in zip(paths, read.results, strict=True):
            click.echo(terminal(f"{path}: {_line(result)}"))
    for path, lines in zip(paths, mismatches, strict=True):
        for line in lines:
            click.echo(terminal(f"{path}: {line}"), err=True)
    context.exit(1 if any(mismatches) else 0)


def _nothing(log: str, read: Log) -> str:
    first = "".join(f"; line {item.line}: {item.reason}" for item in read.unread[:1])
    return f"{log} holds no time of ai-benchmark that can be read{first}"


def _report_unread(log: str, read: Log) -> None:
    """What was not taken, on stderr: nothing is dropped without a word."""
    for item in read.unread[:MOST_SHOWN]:
        text = item.text if len(item.text) <= WIDTH else f"{item.text[:WIDTH]}..."
        click.echo(terminal(f"{log}:{item.line}: not read ({item.reason}): {text}"), err=True)
    counts = (
        f"runs {len(read.results)}, lines of the benchmark not read {len(read.unread)},"
        f" other lines left out {read.other_lines}"
    )
    click.echo(terminal(f"{log}: {counts}"), err=True)


def _paths(log: Path, output: str | None, runs: int) -> list[Path]:
    """A file for each run: the one that was named, or numbered ones in a folder."""
    target = DIRECTORY if output is None else Path(output)
    is_folder = output is None or target.is_dir() or output.endswith("/")
    if runs == 1 and not is_folder:
        return [target]
    if not is_folder and (target.exists() or target.suffix):
        raise UserError(f"{log} holds {runs} runs, {output} is one file", "name a folder with -o")
    try:
        target.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot make {target}: {error.strerror or error}", "choose another place"
        ) from error
    if runs == 1:
        return [target / f"{log.stem}.json"]
    return [target / f"{log.stem}-{number}.json" for number in range(1, runs + 1)]


def _line(result: Result) -> str:
    scores = "; ".join(f"{title} {figure}" for title, figure, _ in rows.score_rows(result))
    return f"{result.device.name}, {rows.status_text(result)}; {scores}"


def _document(read: Log, paths: list[Path], mismatches: list[list[str]]) -> dict[str, object]:
    return {
        "results": [
            {"path": str(path), "score_mismatches": lines, **rows.show_document(result)}
            for path, result, lines in zip(paths, read.results, mismatches, strict=True)
        ],
        "not_read": [
            {"line": item.line, "text": item.text, "reason": item.reason} for item in read.unread
        ],
        "other_lines": read.other_lines,
    }
