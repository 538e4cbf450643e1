"""Text from files, machines and logs, made harmless for the place where it is shown."""

import re
import unicodedata

CONTROL = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control, invisible, half a pair, line ends
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def terminal(text: str) -> str:
    r"""The text on one line, control characters written as \x1b and the like."""
    return "".join(
        char.encode("unicode_escape").decode("ascii")
        if unicodedata.category(char) in CONTROL
        else char
        for char in text
    )


def markdown(text: str) -> str:
    """The text as a table cell that shows it and nothing else."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$!&])", r"\\\1", terminal(text))


def csv_cell(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula."""
    shown = terminal(text)
    return f"'{shown}" if text.startswith(FORMULA_STARTS) else shown
