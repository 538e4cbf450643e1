"""``aiscore leaderboard``: the published cards, and a result among them."""

import json
from pathlib import Path

import click

from aiscore.cli.files import read_result
from aiscore.cli.prices import given_prices, price_options, with_price
from aiscore.report.boards import leaderboard, leaderboard_document
from aiscore.report.text import render_leaderboard
from aiscore.results.reference import THIS_PROJECT
from aiscore.spec import KNOWN_KINDS, DeviceKind

KINDS = [kind.value for kind in KNOWN_KINDS]
SOURCES = {"official": "official ranking", "user": "user report", "project": THIS_PROJECT}


@click.command("leaderboard")
@click.option(
    "--sort",
    type=click.Choice(["inference", "training", "ai"]),
    default="ai",
    show_default=True,
    help="The score to sort by.",
)
@click.option("--kind", type=click.Choice(KINDS), help="Only CPUs or only GPUs.")
@click.option("--source", type=click.Choice([*SOURCES]), help="Only cards from there.")
@click.option(
    "--completeness",
    type=click.Choice(["complete", "scores", "partial"]),
    help="Only cards with all 42 times, with scores and few or no times, or over a part.",
)
@click.option("--with", "mine", metavar="RESULT", help="Put this result file among the cards.")
@price_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    context: click.Context,
    sort: str,
    kind: str | None,
    source: str | None,
    completeness: str | None,
    mine: str | None,
    amounts: tuple[float, ...],
    currency: str | None,
    prices_file: Path | None,
    as_json: bool,
) -> None:
    """List published AI-Benchmark scores and this project's own, with their sources.

    A row of it is called a card. Ranks and the percentile of a result are among
    the cards that are shown. --price is that of the result; the cards' prices
    come from --prices.
    """
    given, prices = given_prices(amounts, currency, prices_file, count=1 if mine else 0)
    result, holds = read_result(mine) if mine else (None, True)
    if result:
        result = with_price(result, given[0], prices)
    board = leaderboard(
        sort,
        result,
        kind=DeviceKind(kind) if kind else None,
        source_kind=SOURCES[source] if source else None,
        completeness=completeness,
        prices=prices,
    )
    if as_json:
        click.echo(json.dumps(leaderboard_document(board, sort), indent=2))
    else:
        click.echo(render_leaderboard(board, sort), nl=False)
    context.exit(0 if holds else 1)
