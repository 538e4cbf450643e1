"""Charts as SVG: bars of scores, and score against price. Vega draws them, through vl-convert."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log, log10
from typing import Any

from aiscore.report.boards import BoardRow
from aiscore.report.escape import short, terminal

Spec = dict[str, Any]

WIDTH = 720  # pixels
PRICE_HEIGHT = 400
BAR_STEP = 34
NARROWEST = 120  # pixels that bars have at least
WIDE = 8  # from this ratio of the highest to the lowest on, an axis is logarithmic
LONGEST = 60  # letters of a name
LONGEST_NAME = 240  # pixels of it
LETTER, LINE, DOT = 7, 15, 5  # pixels: width of a letter, height of a line, radius of a point
LABEL_GAP = 9
AXIS: Spec = {"grid": True, "format": ",.12~g", "labelOverlap": "greedy"}
PARTS = {"inference": "Inference", "training": "Training", "micro": "Micro"}
FONT = "system-ui, sans-serif"


@dataclass(frozen=True, slots=True)
class Colours:
    """Of text, secondary text, lines, cards and results; no paper is a transparent one."""

    ink: str
    soft: str
    line: str
    quiet: str
    accent: str
    paper: str | None


IN_A_FILE = Colours("#1b1f24", "#59626d", "#e2e5e9", "#aeb6c0", "#0b62b8", "#ffffff")
SURE, UNSURE = (IN_A_FILE.accent, "#85b1dc"), (IN_A_FILE.quiet, "#d6dae0")
"""Of the first and the second part of a bar."""
IN_THE_PAGE = Colours(
    "var(--ink)", "var(--soft)", "var(--line)", "var(--quiet)", "var(--accent)", None
)


@dataclass(frozen=True, slots=True)
class Bar:
    """A result in a bar chart: its name, its parts' scores, and what there is of the whole.

    ``sure``: these are scores on the leaderboard's scale and no estimates.
    """

    name: str
    parts: dict[str, int]
    text: str
    sure: bool

    @property
    def whole(self) -> int:
        """Where the bar ends."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Point:
    """A row with a price and a whole AI score, and where it is in the table."""

    row: int
    name: str
    price: float
    score: int
    mine: bool


def by_currency(board: Iterable[BoardRow]) -> dict[str, list[Point]]:
    """The rows that have both, in one chart for each currency."""
    found: dict[str, list[Point]] = {}
    for index, row in enumerate(board):
        price, figure = row.worth.price, row.scores.get("ai")
        if price and figure and figure.basis == "whole":
            point = Point(index, short(row.device, LONGEST), price.amount, figure.value, row.mine)
            found.setdefault(terminal(price.currency), []).append(point)
    return found


def draw(spec: Spec) -> str:
    """The chart as SVG, named by its description. A control character in it would end Python."""
    import vl_convert

    svg: str = vl_convert.vega_to_svg(spec)
    named = f'<svg role="graphics-document" aria-label="{escape(spec["description"])}" '
    return svg.replace("<svg ", named, 1)


def bar_chart(bars: Sequence[Bar]) -> Spec:
    """Horizontal bars, the highest first; inference and training stand end to end."""
    ordered = sorted(bars, key=lambda bar: -bar.whole)
    shown = [part for part in PARTS if any(part in bar.parts for bar in ordered)]
    place = {"scale": "y", "field": "row"}
    return {
        **frame(IN_A_FILE, "; ".join(f"{bar.name}: {bar.text}" for bar in ordered)),
        "height": BAR_STEP * len(ordered),
        "signals": [{"name": "names", "value": [bar.name for bar in ordered]}],
        "data": [
            {"name": "parts", "values": list(_segments(ordered))},
            {
                "name": "wholes",
                "values": [
                    {"row": row, "end": bar.whole, "text": bar.text}
                    for row, bar in enumerate(ordered)
                ],
            },
        ],
        "scales": [
            {
                "name": "y",
                "type": "band",
                "domain": list(range(len(ordered))),
                "range": "height",
                "padding": 0.35,
            },
            {
                "name": "x",
                "domain": [0, max(1, ordered[0].whole)],
                "range": [0, {"signal": _longest_bar(ordered)}],
            },
            {
                "name": "part",
                "type": "ordinal",
                "domain": [PARTS[part] for part in shown],
                "range": list(SURE),
            },
        ],
        "axes": [
            {**AXIS, "orient": "bottom", "scale": "x", "tickCount": 5},
            {
                "orient": "left",
                "scale": "y",
                "domain": False,
                "labelLimit": LONGEST_NAME,
                "labelColor": IN_A_FILE.ink,
                "encode": {"labels": {"update": {"text": {"signal": "names[datum.value]"}}}},
            },
        ],
        "legends": [
            {
                "fill": "part",
                "orient": "top",
                "direction": "horizontal",
                "symbolType": "square",
                "symbolStrokeWidth": 0,
            }
        ]
        if len(shown) > 1
        else [],
        "marks": [
            {
                "type": "rect",
                "from": {"data": "parts"},
                "encode": {
                    "enter": {
                        "y": place,
                        "height": {"scale": "y", "band": 1},
                        "x": {"scale": "x", "field": "start"},
                        "x2": {"scale": "x", "field": "end"},
                        "fill": {"field": "fill"},
                    }
                },
            },
            {
                "type": "text",
                "from": {"data": "wholes"},
                "encode": {
                    "enter": {
                        "y": {**place, "band": 0.5},
                        "x": {"scale": "x", "field": "end", "offset": LABEL_GAP},
                        "text": {"field": "text"},
                        "baseline": {"value": "middle"},
                        "fill": {"value": IN_A_FILE.ink},
                    }
                },
            },
        ],
    }


def _segments(bars: Sequence[Bar]) -> Iterator[Spec]:
    """The parts of each bar, end to end."""
    for row, bar in enumerate(bars):
        start = 0
        for (part, score), fill in zip(
            bar.parts.items(), SURE if bar.sure else UNSURE, strict=False
        ):
            end = start + score
            yield {"row": row, "part": PARTS[part], "start": start, "end": end, "fill": fill}
            start = end


def _longest_bar(bars: Sequence[Bar]) -> str:
    """How long the first bar, the longest, may be so that every bar's text finds room."""
    rooms = (
        f"(width - {LABEL_GAP + LETTER * len(bar.text)}) / {bar.whole / bars[0].whole}"
        for bar in bars
        if bar.whole
    )
    return f"max({NARROWEST}, min({', '.join(['width', *rooms])}))"


def price_chart(
    points: Sequence[Point], currency: str, colours: Colours, row_address: str | None = None
) -> Spec:
    """A point for each row; those of results stand out.

    With ``row_address`` each point leads to that address and the row's number.
    """
    x = _Scale([point.price for point in points], WIDTH)
    y = _Scale([point.score for point in points], PRICE_HEIGHT)
    places = [(x.pixel(point.price), PRICE_HEIGHT - y.pixel(point.score)) for point in points]
    first = sorted(range(len(points)), key=lambda row: (not points[row].mine, -points[row].score))
    sides = _label_sides([(*places[row], len(points[row].name)) for row in first])
    values = [
        {
            "price": points[row].price,
            "score": points[row].score,
            "name": points[row].name if side else "",
            "align": "right" if side == "left" else "left",
            "dx": -LABEL_GAP if side == "left" else LABEL_GAP,
            "fill": colours.accent if points[row].mine else colours.quiet,
            "href": row_address and f"{row_address}{points[row].row}",
            "says": f"{points[row].name}: {points[row].score} for {points[row].price:g} {currency}",
        }
        for row, side in reversed(list(zip(first, sides, strict=True)))  # results lie on top
    ]
    place = {"x": {"scale": "x", "field": "price"}, "y": {"scale": "y", "field": "score"}}
    return {
        **frame(colours, f"AI score against price in {currency}"),
        "height": PRICE_HEIGHT,
        "data": [{"name": "points", "values": values}],
        "scales": [x.spec("x", "width"), y.spec("y", "height")],
        "axes": [
            {**AXIS, **x.ticks(), "orient": "bottom", "scale": "x", "title": f"Price, {currency}"},
            {**AXIS, **y.ticks(), "orient": "left", "scale": "y", "title": "AI score"},
        ],
        "marks": [
            {
                "type": "symbol",
                "from": {"data": "points"},
                "encode": {
                    "enter": {
                        **place,
                        "size": {"value": 70},
                        "fill": {"field": "fill"},
                        "href": {"field": "href"},
                        "description": {"field": "says"},
                    }
                },
            },
            {
                "type": "text",
                "from": {"data": "points"},
                "aria": False,
                "encode": {
                    "enter": {
                        **place,
                        "text": {"field": "name"},
                        "align": {"field": "align"},
                        "dx": {"field": "dx"},
                        "baseline": {"value": "middle"},
                        "fill": {"value": colours.ink},
                        "limit": {"value": LONGEST_NAME},
                    }
                },
            },
        ],
    }


class _Scale:
    """From zero; logarithmic where the values are far apart: then ratios are what counts."""

    def __init__(self, values: Sequence[float], pixels: int) -> None:
        low, high = min(values), max(values)
        self._pixels = pixels
        self._type = "linear" if high < WIDE * low else "log"
        self._domain = (0, high * 1.1) if self._type == "linear" else (low / 1.3, high * 1.3)

    def pixel(self, value: float) -> float:
        """How far from the origin of the axis the value is drawn."""
        low, high = self._domain
        if self._type == "linear":
            return self._pixels * (value - low) / (high - low)
        return self._pixels * log(value / low) / log(high / low)

    def spec(self, name: str, span: str) -> Spec:
        """As Vega is told."""
        return {"name": name, "type": self._type, "domain": list(self._domain), "range": span}

    def ticks(self) -> Spec:
        """A logarithmic axis is marked at 1, 2 and 5 of every power of ten."""
        low, high = self._domain
        if self._type == "linear":
            return {"tickCount": 6}
        powers = range(floor(log10(low)), ceil(log10(high)))
        values = [digit * 10**power for power in powers for digit in (1, 2, 5)]
        return {"values": [value for value in values if low <= value <= high]}


def _label_sides(points: Sequence[tuple[float, float, int]]) -> list[str]:
    """On which side of a point (x, y, letters of its name) there is room for its name, if any.

    The first points choose first.
    """
    taken = [(x - DOT, x + DOT, y) for x, y, _ in points]
    sides = []
    for x, y, letters in points:
        width = min(LETTER * letters, LONGEST_NAME)
        spans = {
            "right": (x + LABEL_GAP, x + LABEL_GAP + width, y),
            "left": (x - LABEL_GAP - width, x - LABEL_GAP, y),
        }
        side = next((side for side, span in spans.items() if _is_free(span, taken)), "")
        taken += [spans[side]] if side else []
        sides.append(side)
    return sides


def _is_free(span: tuple[float, float, float], taken: Iterable[tuple[float, float, float]]) -> bool:
    """Whether the line of text lies in the chart and over nothing."""
    start, end, y = span
    return (
        start >= 0
        and end <= WIDTH
        and not any(
            start < other_end and other_start < end and abs(y - other_y) < LINE
            for other_start, other_end, other_y in taken
        )
    )


def frame(colours: Colours, description: str) -> Spec:
    """What all charts have."""
    return {
        "description": description,
        "width": WIDTH,
        "padding": 8,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "background": colours.paper,
        "config": {
            "axis": {
                "labelColor": colours.soft,
                "titleColor": colours.soft,
                "gridColor": colours.line,
                "domainColor": colours.line,
                "ticks": False,
                "labelFont": FONT,
                "labelFontSize": 12,
                "labelPadding": 8,
                "titleFont": FONT,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
            },
            "legend": {"labelColor": colours.soft, "labelFont": FONT, "labelFontSize": 12},
            "text": {"font": FONT, "fontSize": 12},
        },
    }
