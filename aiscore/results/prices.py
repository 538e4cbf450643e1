"""What devices cost: from the command line, from a prices file, or from the result itself."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from aiscore.errors import UserError
from aiscore.results.model import PriceRecord, Result
from aiscore.results.reading import read
from aiscore.results.sweep import Sweep

MOST_MIB = 1
EXAMPLE = 'write: "NVIDIA H200" = {price = 30000, currency = "EUR"}'

Prices = Mapping[str, PriceRecord]
"""Name of a card, a device or a label, in small letters, to its price."""


def read_prices(path: Path) -> Prices:
    """The prices in a TOML or JSON file; raises UserError for anything else.

    Each name has a table of ``price`` and ``currency``, or a number if the file
    has one ``currency`` for all.
    """
    document = _document(path)
    common = document.pop("currency", None)
    return {
        name.strip().lower(): _price(path, name, entry, common) for name, entry in document.items()
    }


def price(amount: float, currency: str | None) -> PriceRecord:
    """The price; raises UserError if it is none."""
    try:
        return PriceRecord(amount=amount, currency=(currency or "").strip())
    except ValidationError as error:
        advice = "give a number above 0, and a currency such as EUR"
        raise UserError(f"{amount:g} {currency or 'of no currency'} is no price", advice) from error


Priceable = TypeVar("Priceable", Result, Sweep)


def priced(result: Priceable, prices: Prices) -> Priceable:
    """The result or sweep with the price of its label or its device, if the prices have one."""
    for name in (result.run.label, result.device.name):
        found = prices.get((name or "").strip().lower())
        if found:
            run = result.run.model_copy(update={"price": found})
            return result.model_copy(update={"run": run})
    return result


def _document(path: Path) -> dict[str, Any]:
    data = read(path, "name a prices file", MOST_MIB)
    try:
        text = data.decode("utf-8")
        document = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} holds no prices: {error}", EXAMPLE) from error
    if not isinstance(document, dict):
        raise UserError(f"{path} holds no prices", EXAMPLE)
    return document


def _price(path: Path, name: str, entry: Any, common: Any) -> PriceRecord:
    table = entry if isinstance(entry, dict) else {"price": entry}
    try:
        return PriceRecord.model_validate(
            {"currency": common, **{_FIELDS.get(key, key): value for key, value in table.items()}},
            strict=True,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        problem = f"{path} has no price for {name!r}: {first['loc'][-1]}: {first['msg']}"
        raise UserError(problem, EXAMPLE) from error


_FIELDS = {"price": "amount"}
