"""What ``aiscore publish`` makes as SVG."""

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from unicodedata import east_asian_width

from jinja2 import Environment, StrictUndefined

from aiscore.errors import UserError
from aiscore.report import charts, rows
from aiscore.report.boards import card_row, result_row
from aiscore.report.escape import short
from aiscore.results.model import Result
from aiscore.results.prices import Prices
from aiscore.results.reference import cards

BADGE = files("aiscore.report").joinpath("templates", "badge.svg")
LETTER = 6.6  # pixels that one of the badge's letters takes; a wide one takes twice that
MARGIN = 12  # pixels on both sides of a text


def draw(picture: str, results: Sequence[Result], prices: Prices) -> str:
    """The picture of that name; raises UserError if these results do not make one."""
    return PICTURES[picture](results, prices)


def _bars(results: Sequence[Result], prices: Prices) -> str:
    """The scores of results of one suite."""
    if len({result.suite for result in results}) > 1:
        raise UserError(
            "results of the full and the micro suite have scales of their own",
            "publish them one by one",
        )
    return charts.draw(charts.bar_chart([_bar(result) for result in results]))


def _bar(result: Result) -> charts.Bar:
    row = result_row(result)
    _, record = rows.main_score(result)
    parts = {
        name: figure.value
        for name in charts.PARTS
        if (figure := row.scores.get(name)) and figure.basis != "part"
    }
    elsewhere = record.value is not None and rows.summary_of(result).not_comparable_because
    note = " (not on the leaderboard's scale)" if elsewhere else ""
    return charts.Bar(
        name=short(row.device, charts.LONGEST),
        parts=parts,
        text=f"{rows.score_text(record)}{note}",
        sure=record.value is not None and not elsewhere,
    )


def _price(results: Sequence[Result], prices: Prices) -> str:
    """The AI score against the price, of the results and of the cards whose price is known."""
    board = [*map(result_row, results), *(card_row(card, prices) for card in cards())]
    by_currency = charts.by_currency(board)
    if len(by_currency) != 1:
        known = f"prices are in {', '.join(by_currency)}" if by_currency else "no price is known"
        raise UserError(f"{known}; the picture needs one currency", "pass --price or --prices")
    ((currency, points),) = by_currency.items()
    return charts.draw(charts.price_chart(points, currency, charts.IN_A_FILE))


def _badge(results: Sequence[Result], prices: Prices) -> str:
    """The main score of one result, and its device."""
    if len(results) != 1:
        raise UserError(f"a badge shows one result, not {len(results)}", "name one RESULT")
    (result,) = results
    name, _ = rows.main_score(result)
    bar = _bar(result)
    title, text = rows.SCORE_TITLES[name], f"{bar.text}, {bar.name}"
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(BADGE.read_text(encoding="utf-8")).render(
        title=title,
        text=text,
        left=_width(title),
        right=_width(text),
        margin=MARGIN,
        colour=charts.IN_A_FILE.accent if bar.sure else charts.IN_A_FILE.soft,
    )


def _width(text: str) -> int:
    """Pixels that the text takes in the badge; it is stretched to them, whatever the font."""
    letters = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
    return round(LETTER * letters) + MARGIN


PICTURES: Mapping[str, Callable[[Sequence[Result], Prices], str]] = {
    "bars": _bars,
    "price": _price,
    "badge": _badge,
}
