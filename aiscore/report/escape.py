"""Text from files, machines and logs, made harmless for the place where it is shown."""

import re

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def terminal(text: str) -> str:
    r"""The text on one line, what does not print written as \x1b and the like."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def markdown(text: str) -> str:
    """The text as a table cell that shows it and nothing else."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$!&])", r"\\\1", terminal(text))


def csv_cell(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula."""
    shown = terminal(text)
    return f"'{shown}" if text.startswith(FORMULA_STARTS) else shown
