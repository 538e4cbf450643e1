"""Charts of sweeps as Vega specs: images a second against the batch, a line for each stack."""

from collections.abc import Sequence
from typing import Any

from aiscore.report.charts import AXIS, LABEL_GAP, Colours, Spec, frame
from aiscore.report.escape import terminal
from aiscore.report.sweep_rows import Chapter, way_title
from aiscore.spec import Line, Xla

WIDTH, HEIGHT = 560, 300  # pixels of one chart, without axes and legend
BETWEEN = 28
WIDER_FONT = 32  # what the reader's font may need more than the one that was measured
PALETTE = (
    *("#1f77c9", "#d9610a", "#0f9d6e", "#b5589a", "#8f7a00"),
    *("#6a5acd", "#c0392b", "#5f6974", "#0891a8", "#8c564b"),
)
"""Told apart by the colour-blind too, and legible on light and on dark paper."""
DASHES = {False: ([], [2, 3]), True: ([6, 4], [8, 3, 2, 3])}
"""Without and with XLA: at first, and where the colours are used up and begin again."""


def chart(titled: Sequence[tuple[str, Chapter]], colours: Colours) -> Spec:
    """One chart under the other, each with its title, of chapters in which a point ran."""
    description = "; ".join(f"images per second against the batch: {title}" for title, _ in titled)
    return {
        **frame(colours, description),
        "width": WIDTH,
        "autosize": {"type": "pad"},
        "padding": {"left": 8, "top": 8, "right": WIDER_FONT, "bottom": 8},
        "layout": {"columns": 1, "padding": BETWEEN, "bounds": "full", "align": "each"},
        "marks": [_group(title, chapter, colours) for title, chapter in titled],
    }


def _group(title: str, chapter: Chapter, colours: Colours) -> Spec:
    found = [(point, figures) for point, figures in chapter.points if figures.images_per_s]
    lines = list(dict.fromkeys(point.line for point, _ in found))
    looks = _looks(lines)
    batches = sorted({point.batch for point, _ in found})
    values: list[dict[str, Any]] = [
        {
            "line": _name(point.line),
            "batch": point.batch,
            "speed": figures.images_per_s,
            "low": (figures.interval or (figures.images_per_s,))[0],
            "high": (figures.interval or (figures.images_per_s,))[-1],
            "says": f"{_name(point.line)}, batch {point.batch}:"
            f" {figures.images_per_s:.0f} images/s",
        }
        for point, figures in sorted(found, key=lambda pair: pair[0].batch)
    ]
    place = {"x": {"scale": "x", "field": "batch"}, "y": {"scale": "y", "field": "speed"}}
    stroke = {"stroke": {"scale": "colour", "field": "line"}}
    return {
        "type": "group",
        "encode": {"update": {"width": {"value": WIDTH}, "height": {"value": HEIGHT}}},
        "title": {
            "text": title,
            "anchor": "start",
            "color": colours.ink,
            "fontWeight": "normal",
            "offset": 12,
        },
        "data": [{"name": "points", "values": values}],
        "scales": [
            {
                "name": "x",
                "type": "log",
                "base": 2,
                "domain": [batches[0] / 1.15, batches[-1] * 1.15],
                "range": [0, WIDTH],
            },
            {
                "name": "y",
                "domain": [0, 1.08 * max(value["high"] for value in values)],
                "range": [HEIGHT, 0],
            },
            _of_lines("colour", lines, [colour for colour, _ in looks]),
            _of_lines("dash", lines, [dash for _, dash in looks]),
        ],
        "axes": [
            {
                **AXIS,
                "orient": "bottom",
                "scale": "x",
                "values": batches,
                "format": "d",
                "title": "Batch",
            },
            {
                **AXIS,
                "orient": "left",
                "scale": "y",
                "tickCount": 5,
                "title": "Images per second",
                "titlePadding": 16,
            },
        ],
        "legends": [
            {
                "stroke": "colour",
                "strokeDash": "dash",
                "orient": "right",
                "symbolType": "stroke",
                "symbolStrokeWidth": 2,
                "symbolSize": 250,
                "offset": LABEL_GAP,
            }
        ],
        "marks": [
            {
                "type": "group",
                "from": {"facet": {"name": "of_line", "data": "points", "groupby": "line"}},
                "marks": [
                    {
                        "type": "line",
                        "from": {"data": "of_line"},
                        "aria": False,
                        "encode": {
                            "enter": {
                                **place,
                                **stroke,
                                "strokeDash": {"scale": "dash", "field": "line"},
                                "strokeWidth": {"value": 2},
                            }
                        },
                    }
                ],
            },
            {
                "type": "rule",
                "from": {"data": "points"},
                "aria": False,
                "encode": {
                    "enter": {
                        "x": place["x"],
                        "y": {"scale": "y", "field": "low"},
                        "y2": {"scale": "y", "field": "high"},
                        **stroke,
                    }
                },
            },
            {
                "type": "symbol",
                "from": {"data": "points"},
                "encode": {
                    "enter": {
                        **place,
                        "fill": {"scale": "colour", "field": "line"},
                        "size": {"value": 36},
                        "description": {"field": "says"},
                    }
                },
            },
        ],
    }


def _name(line: Line) -> str:
    """As the legend has it."""
    return terminal(way_title(line))


def _of_lines(name: str, lines: Sequence[Line], values: Sequence[object]) -> Spec:
    return {
        "name": name,
        "type": "ordinal",
        "domain": [_name(line) for line in lines],
        "range": list(values),
    }


def _looks(lines: Sequence[Line]) -> list[tuple[str, list[int]]]:
    """Colour and dashes of each: one colour for each backend and precision."""
    ways = list(dict.fromkeys((line.backend, line.precision) for line in lines))
    found = []
    for line in lines:
        again, place = divmod(ways.index((line.backend, line.precision)), len(PALETTE))
        dashes = DASHES[line.xla is Xla.ON]
        found.append((PALETTE[place], dashes[again % len(dashes)]))
    return found
