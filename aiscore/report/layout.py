"""Tables and paragraphs for a terminal: plain text, no colour."""

import textwrap
from collections.abc import Iterable, Sequence

import tabulate

from aiscore.report.escape import terminal

WIDTH = 80
tabulate.MIN_PADDING = 0  # a header takes no more room than it needs


def table(
    header: Sequence[str],
    lines: Iterable[Sequence[str]],
    align: str,
    widths: Sequence[int | None] | None = None,
) -> str:
    """Columns aligned ``l`` or ``r``; a width wraps its column."""
    names = {"l": "left", "r": "right"}
    shown = tabulate.tabulate(
        [[terminal(cell) for cell in line] for line in lines],
        headers=[terminal(cell) for cell in header],
        disable_numparse=True,
        colalign=[names[letter] for letter in align],
        maxcolwidths=widths,
    )
    return "\n".join(line.rstrip() for line in shown.splitlines())


def wrapped(first: str, text: str) -> str:
    """The text after ``first``, indented by as much on its other lines."""
    return textwrap.fill(
        terminal(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
    )


def facts(found: Iterable[tuple[str, str]]) -> str:
    """A line for each name and value."""
    return "\n".join(wrapped(f"{name:<9}", value) for name, value in found)
