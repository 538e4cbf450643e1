"""``aiscore show``: a result again."""

import json
from pathlib import Path

import click

from aiscore.cli.files import read_result
from aiscore.cli.prices import given_prices, price_options, with_price
from aiscore.report.rows import show_document
from aiscore.report.text import render_result


@click.command("show")
@click.argument("result")
@price_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/result-file.md).")
@click.pass_context
def command(
    context: click.Context,
    result: str,
    amounts: tuple[float, ...],
    currency: str | None,
    prices_file: Path | None,
    as_json: bool,
) -> None:
    """Print the RESULT file again, recomputed from its samples.

    Exits with 1 if the scores stored in the file are not what its samples give.
    """
    (given,), prices = given_prices(amounts, currency, prices_file, count=1)
    loaded, holds = read_result(result)
    loaded = with_price(loaded, given, prices)
    if as_json:
        click.echo(json.dumps(show_document(loaded), indent=2))
    else:
        click.echo(render_result(loaded), nl=False)
    context.exit(0 if holds else 1)
