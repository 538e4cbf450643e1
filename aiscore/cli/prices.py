"""The options that say what devices cost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from aiscore.errors import UserError
from aiscore.results.model import PriceRecord
from aiscore.results.prices import Priceable, Prices, price, priced, read_prices


def price_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--price``, ``--currency`` and ``--prices`` to a command."""
    options = (
        click.option(
            "--price",
            "amounts",
            type=float,
            multiple=True,
            metavar="N",
            help="What the device costs; of several, once for each, in their order.",
        ),
        click.option("--currency", metavar="CUR", help="The currency of --price, such as EUR."),
        click.option(
            "--prices",
            "prices_file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="TOML or JSON: card, device or label to price and currency.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def given_prices(
    amounts: tuple[float, ...], currency: str | None, prices_file: Path | None, count: int
) -> tuple[list[PriceRecord | None], Prices]:
    """The price of each of so many sides, where it was given, and the prices of the file."""
    if amounts and len(amounts) != count:
        advice = "pass --price once for each, or name a prices file with --prices"
        raise UserError(f"--price was given {len(amounts)} times for {count}", advice)
    if currency and not amounts:
        raise UserError("--currency without --price", "pass --price too")
    prices = read_prices(prices_file) if prices_file else {}
    return [price(amount, currency) for amount in amounts] or [None] * count, prices


def with_price(result: Priceable, given: PriceRecord | None, prices: Prices) -> Priceable:
    """The result or sweep with the given price, else with that of its name, else as it is."""
    if given is None:
        return priced(result, prices)
    return result.model_copy(update={"run": result.run.model_copy(update={"price": given})})
