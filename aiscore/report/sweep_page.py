"""The page of sweeps: charts and tables, self-contained, without a script."""

from collections.abc import Sequence
from typing import Any

from aiscore.report import charts, sweep_charts, sweep_rows
from aiscore.report.escape import short, terminal
from aiscore.report.html import make_html, shown_table
from aiscore.report.page import LONGEST_TITLE
from aiscore.results.sweep import Sweep


def make_page(sweeps: Sequence[Sweep]) -> str:
    """All sweeps in their order, each with what it says, its charts and its tables."""
    names = [short(sweep_rows.name_of(sweep), LONGEST_TITLE) for sweep in sweeps]
    title = f"{names[0]}: throughput" if len(names) == 1 else "Throughput"
    return make_html(
        "sweep.html",
        title=title,
        legend=dict.fromkeys(text for sweep in sweeps for text in sweep_rows.legend(sweep)),
        sweeps=[_section(name, sweep) for name, sweep in zip(names, sweeps, strict=True)],
    )


def _section(name: str, sweep: Sweep) -> dict[str, Any]:
    return {
        "name": name,
        "facts": [(title, terminal(text)) for title, text in sweep_rows.headline(sweep)],
        "sentences": [terminal(sentence) for sentence in sweep_rows.sentences(sweep)],
        "failures": [terminal(text) for text in sweep_rows.failures(sweep)],
        "checks": [terminal(text) for text in sweep_rows.failed_checks(sweep)],
        "chapters": [_chapter(sweep, chapter) for chapter in sweep_rows.chapters(sweep)],
    }


def _chapter(sweep: Sweep, chapter: sweep_rows.Chapter) -> dict[str, Any]:
    return {
        "title": chapter.title,
        "svg": _drawing(chapter) if chapter.ran else None,
        "tables": [
            {"title": title, **shown_table(*table)}
            for title, table in sweep_rows.tables(sweep, chapter).items()
        ],
    }


def _drawing(chapter: sweep_rows.Chapter) -> str:
    return charts.draw(sweep_charts.chart([(chapter.title, chapter)], charts.IN_THE_PAGE))
