"""What a published page holds, read without a browser."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from typing import Any


class _Reader(HTMLParser):
    """Collects elements, and the text of those that have an id."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._id: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._id = dict(attrs).get("id") or (tag if tag in ("title", "h1", "script") else None)

    def handle_data(self, text: str) -> None:
        if self._id:
            self.texts[self._id] = self.texts.get(self._id, "") + text

    def handle_endtag(self, tag: str) -> None:
        self._id = None


def elements(html: str) -> list[tuple[str, dict[str, str | None]]]:
    """Each element of the page, with its attributes."""
    return _read(html).elements


def text(html: str, name: str) -> str:
    """The text of the element of that id, or of the only one of that name."""
    return _read(html).texts[name]


def data(html: str) -> dict[str, Any]:
    """What the page's script works with."""
    return json.loads(text(html, "data"))


def results(html: str) -> list[bytes]:
    """The result files that the page holds."""
    return [file for file, _ in _held(html)]


def details(html: str) -> list[dict[str, Any]]:
    """What the page tells of each of them when its row is opened."""
    return [json.loads(told) for _, told in _held(html)]


def _held(html: str) -> list[list[bytes]]:
    packed = re.findall(r'<script type="application/gzip" id="result-\d+">([^<]*)</script>', html)
    return [gzip.decompress(base64.b64decode(one)).split(b"\n") for one in packed]


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    return reader
