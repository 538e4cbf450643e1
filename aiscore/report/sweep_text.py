"""A sweep for a terminal."""

from collections.abc import Sequence

from aiscore.report import sweep_compare, sweep_rows
from aiscore.report.comparisons import LETTERS, setup_lines
from aiscore.report.layout import WIDTH, facts, table, wrapped
from aiscore.report.rows import NOT_STEADY
from aiscore.report.sweep_compare import ComparedSweeps
from aiscore.results.sweep import Sweep


def render_sweep(sweep: Sweep) -> str:
    """A whole sweep: what it is, its points, what did not run, its best batches, what it says."""
    parts = [
        facts(sweep_rows.headline(sweep)),
        *(_chapter(sweep, chapter) for chapter in sweep_rows.chapters(sweep)),
        wrapped("", " ".join(sweep_rows.headings(sweep))),
        "\n".join(wrapped("Not ok: ", text) for text in sweep_rows.failures(sweep)),
        "\n".join(
            wrapped("Check failed: ", f"{text}.") for text in sweep_rows.failed_checks(sweep)
        ),
        "\n".join(wrapped("", sentence) for sentence in sweep_rows.sentences(sweep)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _chapter(sweep: Sweep, chapter: sweep_rows.Chapter) -> str:
    """Its points, and the best of each line."""
    tables = [
        table(header, once(lines), "l" + "r" * (len(header) - 1))
        for header, lines in sweep_rows.tables(sweep, chapter).values()
    ]
    unsteady = any(figures.steady is False for _, figures in chapter.points)
    return "\n\n".join([chapter.title, *tables, *([NOT_STEADY] if unsteady else [])])


def once(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """The lines, with a first cell only where it is another than that of the line above."""
    firsts = ["", *(line[0] for line in lines)]
    return [
        ["" if line[0] == above else line[0], *line[1:]]
        for above, line in zip(firsts, lines, strict=False)
    ]


def render_sweep_comparison(compared: ComparedSweeps) -> str:
    """What differs in the set-up, every point side by side, and what that says."""
    letters = LETTERS[: len(compared.sweeps)]
    ratios = [f"{letter}/A" for letter in letters[1:]]
    differences = setup_lines(compared.differences)
    width = max(12, (WIDTH - WIDTH // 3) // len(letters) - 2)
    points = sweep_compare.point_lines(compared)
    largest = sweep_compare.largest_lines(compared)
    parts = [
        "\n".join(
            wrapped(f"{letter}  ", f"{sweep_rows.name_of(sweep)} (sweep)")
            for letter, sweep in zip(letters, compared.sweeps, strict=True)
        ),
        table(
            ("set-up", *letters),
            differences,
            "l" * (1 + len(letters)),
            widths=(WIDTH // 3, *[width] * len(letters)),
        )
        if differences
        else "Set-up: no difference known.",
        table(
            ("images/s", "batch", *letters, *ratios),
            once(points),
            "l" + "r" * (1 + len(letters) + len(ratios)),
        )
        if points
        else "",
        table(("largest batch", *letters), largest, "l" + "r" * len(letters)) if largest else "",
        "\n".join(wrapped("", text) for text in sweep_compare.sentences(compared)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
