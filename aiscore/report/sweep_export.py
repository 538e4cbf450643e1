"""What ``aiscore publish`` makes of sweeps: Markdown, CSV, JSON, SVG, and a page."""

import csv
import io
import json
from collections.abc import Callable, Sequence

from aiscore.errors import UserError
from aiscore.report import escape, sweep_rows
from aiscore.report.export import markdown_table
from aiscore.report.sweep_rows import name_of
from aiscore.results.sweep import PointSummary, Sweep
from aiscore.results.sweep_summary import summary_of

FIELDS = ("network", "mode", "backend", "precision", "xla", "batch")
FIGURES = tuple(name for name in PointSummary.model_fields if name not in {"id", "interval"})
BOUNDS = ("low_images_per_s", "high_images_per_s")


def to_markdown(sweeps: Sequence[Sweep]) -> str:
    """For each sweep what it is, its sentences and its tables."""
    return "\n".join(part for sweep in sweeps for part in _markdown_parts(sweep))


def _markdown_parts(sweep: Sweep) -> list[str]:
    said = [*sweep_rows.sentences(sweep), *sweep_rows.failures(sweep)]
    parts = [
        markdown_table(["", name_of(sweep)], [list(pair) for pair in sweep_rows.headline(sweep)]),
        "".join(f"- {escape.markdown(sentence)}\n" for sentence in said),
    ]
    for chapter in sweep_rows.chapters(sweep):
        parts += [
            f"## {escape.markdown(chapter.title)}\n",
            *(markdown_table(*table) for table in sweep_rows.tables(sweep, chapter).values()),
        ]
    if legend := sweep_rows.legend(sweep):
        parts.append(f"{escape.markdown(' '.join(legend))}\n")
    return [part for part in parts if part]


def to_csv(sweeps: Sequence[Sweep]) -> str:
    """A line for each point of each sweep."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["sweep", *FIELDS, *FIGURES, *BOUNDS])
    for sweep in sweeps:
        for point, figures in zip(sweep.points, summary_of(sweep).points, strict=True):
            cells = [
                name_of(sweep),
                *(str(getattr(point, name)) for name in FIELDS),
                *(_figure(getattr(figures, name)) for name in FIGURES),
                *(_figure(bound) for bound in figures.interval or (None, None)),
            ]
            writer.writerow([escape.csv_cell(cell) for cell in cells])
    return text.getvalue()


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


def to_json(sweeps: Sequence[Sweep]) -> str:
    """The documents of ``aiscore show --json``, in a list."""
    return json.dumps({"sweeps": [*map(sweep_rows.sweep_document, sweeps)]}, indent=1) + "\n"


def to_svg(sweeps: Sequence[Sweep]) -> str:
    """The charts of all sweeps, one under the other; raises UserError if nothing ran."""
    from aiscore.report import charts, sweep_charts

    titled = [
        (f"{escape.short(name_of(sweep), charts.LONGEST)}: {chapter.title}", chapter)
        for sweep in sweeps
        for chapter in sweep_rows.chapters(sweep)
        if chapter.ran
    ]
    if not titled:
        raise UserError("no point ran: there is nothing to draw", "publish a page or a table")
    return charts.draw(sweep_charts.chart(titled, charts.IN_A_FILE))


def to_html(sweeps: Sequence[Sweep]) -> str:
    """One page that needs no network."""
    from aiscore.report.sweep_page import make_page

    return make_page(sweeps)


FORMATS: dict[str, Callable[[Sequence[Sweep]], str]] = {
    "markdown": to_markdown,
    "csv": to_csv,
    "json": to_json,
    "svg": to_svg,
    "html": to_html,
}
