"""``aiscore publish``: a score table for a page or another program."""

from pathlib import Path

import click

from aiscore.cli.files import may_write, read_result, write
from aiscore.cli.prices import given_prices, price_options, with_price
from aiscore.errors import UserError
from aiscore.report.export import FORMATS

SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".csv": "csv", ".json": "json"}


@click.command("publish")
@click.argument("results", metavar="RESULT...", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="PATH", help="The file; - for stdout.")
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS]),
    help="By the suffix of PATH if not given; markdown on stdout.",
)
@price_options
@click.option("--yes", is_flag=True, help="Overwrite PATH without asking.")
@click.pass_context
def command(
    context: click.Context,
    results: tuple[str, ...],
    output: str,
    form: str | None,
    amounts: tuple[float, ...],
    currency: str | None,
    prices_file: Path | None,
    yes: bool,
) -> None:
    """Write a score table of the RESULT files, a column for each."""
    chosen = form or _format_of(output)
    given, prices = given_prices(amounts, currency, prices_file, len(results))
    may_write(output, yes)
    loaded = [read_result(path) for path in results]
    shown = [
        with_price(result, price, prices) for (result, _), price in zip(loaded, given, strict=True)
    ]
    write(output, FORMATS[chosen](shown))
    context.exit(0 if all(holds for _, holds in loaded) else 1)


def _format_of(output: str) -> str:
    suffix = ".md" if output == "-" else Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(
            f"no format is known for {output}",
            f"end it in {', '.join(SUFFIXES)}, or pass --format {'|'.join(FORMATS)}",
        )
    return SUFFIXES[suffix]
