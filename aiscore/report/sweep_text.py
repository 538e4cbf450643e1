"""A sweep for a terminal."""

from collections.abc import Sequence

from aiscore.report import sweep_rows
from aiscore.report.layout import facts, table, wrapped
from aiscore.report.text import NOT_STEADY
from aiscore.results.sweep import Sweep


def render_sweep(sweep: Sweep) -> str:
    """A whole sweep: what it is, its points, what did not run, its best batches, what it says."""
    parts = [
        facts(sweep_rows.headline(sweep)),
        *(_chapter(sweep, chapter) for chapter in sweep_rows.chapters(sweep)),
        wrapped("", sweep_rows.LEGEND) if sweep.points else "",
        "\n".join(wrapped("Not ok: ", text) for text in sweep_rows.failures(sweep)),
        "\n".join(
            wrapped("Check failed: ", f"{text}.") for text in sweep_rows.failed_checks(sweep)
        ),
        "\n".join(wrapped("", sentence) for sentence in sweep_rows.sentences(sweep)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _chapter(sweep: Sweep, chapter: sweep_rows.Chapter) -> str:
    """Its points, and the best of each line."""
    legend = [NOT_STEADY] if any(figures.steady is False for _, figures in chapter.points) else []
    header, lines = sweep_rows.point_table(chapter)
    points = "\n".join([_figures(header, once(lines)), *legend])
    return f"{chapter.title}\n\n{points}\n\n{_figures(*sweep_rows.best_table(sweep, chapter))}"


def _figures(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return table(header, lines, "l" + "r" * (len(header) - 1))


def once(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """The lines, with a first cell only where it is another than that of the line above."""
    firsts = ["", *(line[0] for line in lines)]
    return [
        ["" if line[0] == above else line[0], *line[1:]]
        for above, line in zip(firsts, lines, strict=False)
    ]
