"""``aiscore publish``: a score table, a page or a picture for others to see."""

import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import click

from aiscore.cli.files import can_ask, may_write, report_mismatches, write
from aiscore.cli.prices import given_prices, price_options
from aiscore.cli.published import Item, Job, Read, read_entries, read_result, read_sweep
from aiscore.errors import UserError
from aiscore.execution.output import check_writable
from aiscore.report import sweep_export
from aiscore.report.disclosure import Disclosure
from aiscore.report.escape import terminal
from aiscore.report.export import FORMATS
from aiscore.results.sweep_store import is_sweep

SUFFIXES = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".csv": "csv",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".svg": "svg",
}
PICTURES = ("bars", "price", "badge")
EXTRA = {"html": ("jinja2", "vl_convert"), "svg": ("jinja2", "vl_convert")}
WIDTH = 80


@click.command("publish")
@click.argument("results", metavar="RESULT...", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="PATH", help="The file; - for stdout.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(dict.fromkeys(SUFFIXES.values()))),
    help="By the suffix of PATH if not given; markdown on stdout.",
)
@click.option(
    "--picture",
    type=click.Choice(PICTURES),
    help="What an SVG shows: bars of the scores (if not given), the AI score against the price,"
    " or a badge of one result.",
)
@price_options
@click.option(
    "--unredacted",
    is_flag=True,
    help="Leave paths, names of user and host, and workers' logs in what is published.",
)
@click.option("--yes", is_flag=True, help="Write, and overwrite, without asking.")
@click.pass_context
def command(
    context: click.Context,
    results: tuple[str, ...],
    output: str,
    form: str | None,
    picture: str | None,
    amounts: tuple[float, ...],
    currency: str | None,
    prices_file: Path | None,
    unredacted: bool,
    yes: bool,
) -> None:
    """Write a score table of the RESULT files, a page or a picture.

    They are of runs, or all of them of sweeps. Markdown, CSV and JSON have a
    column for each result. HTML is one page that needs no network: all results
    and the leaderboard's cards, to sort, filter and compare; or the charts and
    tables of sweeps. What the file will say of the machine is shown before it
    is written.
    """
    chosen = form or _format_of(output)
    _require_extra(chosen)
    if output != "-" and Path(output).is_dir():
        raise UserError(f"{output} is a directory", "name a file in it")
    if picture and chosen != "svg":
        raise UserError(f"--picture is for SVG, not for {chosen}", "end PATH in .svg")
    of_sweeps = is_sweep(Path(results[0]))
    if picture and of_sweeps:
        raise UserError("--picture is for runs: a sweep has charts of its own", "leave it out")
    given, prices = given_prices(amounts, currency, prices_file, len(results))
    paths = [output] if of_sweeps else _paths(chosen, output, len(results))
    _check(paths, yes)
    archive = Path(paths[1]).name if paths[1:] else None
    hidden = None if unredacted else _own_names()
    jobs = [
        Job(number, path, chosen, price, prices, hidden, archive)
        for number, (path, price) in enumerate(zip(results, given, strict=True))
    ]
    seen = _Seen()
    contents = (
        _sweep_contents(jobs, seen) if of_sweeps else _contents(picture or PICTURES[0], jobs, seen)
    )
    _disclose(output, seen, unredacted)
    _agree(paths, yes)
    for path, content in zip(reversed(paths), reversed(contents), strict=True):
        write(path, content)
    context.exit(0 if seen.all_hold else 1)


class _Seen:
    """What is learnt of the results while they are read."""

    def __init__(self) -> None:
        self.disclosure = Disclosure()
        self.all_hold = True

    def items(self, found: Iterable[Read[Item]]) -> Iterator[Item]:
        """What was made of each; a file that does not hold is named on stderr."""
        for read in found:
            self.disclosure.add(read.said)
            self.all_hold = self.all_hold and not read.mismatches
            report_mismatches(read.job.path, read.mismatches)
            yield read.item


def _format_of(output: str) -> str:
    suffix = ".md" if output == "-" else Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(
            f"no format is known for {output}",
            f"end it in {', '.join(SUFFIXES)}, or pass --format",
        )
    return SUFFIXES[suffix]


def _require_extra(form: str) -> None:
    """Raises UserError if a package that makes this format is not installed."""
    for package in EXTRA.get(form, ()):
        if find_spec(package) is None:
            raise UserError(f"{form} needs the package {package}", "pip install 'aiscore[report]'")


def _paths(form: str, output: str, count: int) -> list[str]:
    """The file, and the results file beside it if the page cannot hold so many results."""
    if form != "html":
        return [output]
    from aiscore.report.page import MOST_EMBEDDED

    if count <= MOST_EMBEDDED:
        return [output]
    if output == "-":
        problem = f"a page of more than {MOST_EMBEDDED} results has a file beside it"
        raise UserError(problem, "name the page with -o")
    return [output, str(Path(output).with_suffix(".results.tar.gz"))]


def _own_names() -> set[str]:
    """What the user and the host are called. The user database may be on another machine."""
    host = os.uname().nodename
    home = Path(os.environ.get("HOME", "")).name
    users = {os.environ.get(name, "") for name in ("USER", "LOGNAME")}
    return {*users, home, host, host.split(".")[0]} - {""}


def _check(paths: Sequence[str], yes: bool) -> None:
    """Raises UserError for what can be known to fail before any result is read."""
    for path in paths:
        if path == "-":
            continue
        check_writable(Path(path).parent)
        if not can_ask():
            may_write(path, yes)


def _contents(picture: str, jobs: Sequence[Job], seen: _Seen) -> Sequence[str | bytes]:
    """What goes into each of the paths."""
    first = jobs[0]
    if first.format == "html":
        from aiscore.report.page import make_page

        page = make_page(seen.items(read_entries(jobs)), first.prices, first.archive)
        return [page.html] if page.archive is None else [page.html, page.archive]
    results = list(seen.items(map(read_result, jobs)))
    if first.format == "svg":
        from aiscore.report.pictures import draw

        return [draw(picture, results, first.prices)]
    return [FORMATS[first.format](results)]


def _sweep_contents(jobs: Sequence[Job], seen: _Seen) -> Sequence[str | bytes]:
    """The same for sweeps."""
    sweeps = list(seen.items(map(read_sweep, jobs)))
    return [sweep_export.FORMATS[jobs[0].format](sweeps)]


def _disclose(output: str, seen: _Seen, unredacted: bool) -> None:
    """Says on stderr what the file will say of the machines."""
    lines = seen.disclosure.lines()
    if not unredacted:
        lines.append(("left out", "paths, names of user and host, workers' logs (--unredacted)"))
    click.echo(terminal(f"{output} will say of the machine:"), err=True)
    for group, text in lines:
        click.echo(
            textwrap.fill(
                terminal(text),
                WIDTH,
                initial_indent=f"  {terminal(group):<10}",
                subsequent_indent=" " * 12,
                break_on_hyphens=False,
            ),
            err=True,
        )


def _agree(paths: Sequence[str], yes: bool) -> None:
    """Raises UserError unless whoever is there agrees; without a terminal nobody is asked."""
    if yes or paths == ["-"] or not can_ask():
        return
    existing = [path for path in paths if Path(path).exists()]
    for path in existing:
        may_write(path, yes)
    if not existing and not click.confirm(f"Write {terminal(paths[0])}?", err=True):
        raise UserError(f"{paths[0]} was not written", "leave out what should not be published")
