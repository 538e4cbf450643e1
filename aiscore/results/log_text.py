"""The text of a console log, however it was saved: bytes in, plain lines out."""

import codecs
import html
import re
from collections.abc import Iterator

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
HEAD = 1000  # bytes; enough to see whether every second one is zero
LINE_END = re.compile(r"\r\n|\r|\n")
# From the first of several backslashes on: trying each of them would take for ever.
ESCAPED_CHARACTERS = re.compile(r"(?<!\\)(?:\\++u[0-9a-fA-F]{4})+")
ESCAPED_LINE_END = re.compile(r"(?<!\\)(?:\\++r)?\\++n")
ESCAPED_MARK = re.compile(r'(?<!\\)\\++(["/])')
COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Each line with its number in the file; a line of a notebook may hold several."""
    for number, raw in enumerate(LINE_END.split(_decoded(data)), start=1):
        for line in LINE_END.split(_unescaped(raw)):
            yield number, line


def _decoded(data: bytes) -> str:
    """UTF-16 or UTF-8; bytes that are not UTF-8 are taken for cp1252, wherever they stand."""
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    head = data[:HEAD]
    for offset, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if head[offset::2].count(0) > len(head) // 4:
            return data.decode(encoding, errors="replace")
    return data.decode("utf-8", errors=_as_cp1252.__name__)


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    stray = error.object[error.start : error.end]
    return stray.decode("cp1252", errors="replace"), error.end


codecs.register_error(_as_cp1252.__name__, _as_cp1252)


def _unescaped(text: str) -> str:
    """Without the escapes of JSON and HTML, and without colours."""
    text = ESCAPED_CHARACTERS.sub(_characters, text)
    text = ESCAPED_LINE_END.sub("\n", text)
    return html.unescape(COLOURS.sub("", ESCAPED_MARK.sub(r"\1", text)))


def _characters(found: re.Match[str]) -> str:
    r"""What ``\ud83d\ude00`` stands for: surrogates that belong together are one character."""
    units = bytes.fromhex("".join(re.findall(r"[0-9a-fA-F]{4}", found.group())))
    return units.decode("utf-16-be", errors="replace")
