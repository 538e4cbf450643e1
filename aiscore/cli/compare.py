"""``aiscore compare``: what differs, who is faster, and by how much."""

import json
from pathlib import Path

import click

from aiscore.cli.prices import given_prices, price_options
from aiscore.errors import UserError
from aiscore.report.comparisons import LETTERS, compare_all, compare_document
from aiscore.report.text import render_comparison
from aiscore.results.reference import find_card
from aiscore.results.subject import from_card, named


@click.command("compare")
@click.argument("sides", metavar="A B [C]...", nargs=-1, required=True)
@click.option("--normalize-to", "card", metavar="CARD", help="Show each test's speed against it.")
@price_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    sides: tuple[str, ...],
    card: str | None,
    amounts: tuple[float, ...],
    currency: str | None,
    prices_file: Path | None,
    as_json: bool,
) -> None:
    """Compare result files and leaderboard cards with the first of them.

    Each side is the path of a result file, or the name of a card: its full
    name, or any part of it that fits no other. Only scores over all of their
    tests are compared, and only tests that both sides have.
    """
    if not 2 <= len(sides) <= len(LETTERS):
        raise UserError(
            f"cannot compare {len(sides)}", f"name 2 to {len(LETTERS)} results or cards"
        )
    normal = None if card is None else from_card(find_card(card))
    given, prices = given_prices(amounts, currency, prices_file, len(sides))
    subjects = [named(side, prices, price) for side, price in zip(sides, given, strict=True)]
    compared = compare_all(subjects, normal)
    if as_json:
        click.echo(json.dumps(compare_document(compared), indent=2))
    else:
        click.echo(render_comparison(compared), nl=False)
