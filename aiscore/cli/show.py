"""``aiscore show``: a result again."""

import json
from pathlib import Path

import click

from aiscore.cli.files import read_result, read_sweep
from aiscore.cli.prices import given_prices, price_options, with_price
from aiscore.report.rows import show_document
from aiscore.report.sweep_rows import sweep_document
from aiscore.report.sweep_text import render_sweep
from aiscore.report.text import render_result
from aiscore.results.sweep_store import is_sweep
from aiscore.results.sweep_summary import summarise


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
    """Print the RESULT file, of a run or a sweep, again, recomputed from its samples.

    Exits with 1 if the scores stored in the file are not what its samples give.
    """
    (given,), prices = given_prices(amounts, currency, prices_file, count=1)
    if is_sweep(Path(result)):
        sweep, holds = read_sweep(result)
        sweep = summarise(with_price(sweep, given, prices))
        shown = json.dumps(sweep_document(sweep), indent=2) if as_json else render_sweep(sweep)
    else:
        loaded, holds = read_result(result)
        loaded = with_price(loaded, given, prices)
        shown = json.dumps(show_document(loaded), indent=2) if as_json else render_result(loaded)
    click.echo(shown, nl=as_json)
    context.exit(0 if holds else 1)
