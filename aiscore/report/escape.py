"""Text from files, machines and logs, made harmless for the place where it is shown."""

import re

LONGEST = 10_000  # characters: no honest text has more, and wrapping a megabyte takes for ever
FULL_WIDTH = ("\uff1d", "\uff0b", "\uff0d", "\uff20")  # some spreadsheets take them for these
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", *FULL_WIDTH)


def terminal(text: str) -> str:
    r"""The text on one line, what does not print written as \x1b and the like."""
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in shown
    )


def short(text: str, most: int) -> str:
    """As for a terminal, and cut to so many letters."""
    shown = terminal(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def markdown(text: str) -> str:
    """The text as a table cell that shows it and nothing else."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$!&])", r"\\\1", terminal(text))


def csv_cell(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula."""
    shown = terminal(text)
    return f"'{shown}" if text.startswith(FORMULA_STARTS) else shown
