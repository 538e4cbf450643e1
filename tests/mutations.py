"""Files made wrong: in the values of their document, or in their bytes."""

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

HOSTILE = (
    "=cmd|' /C calc'!A0",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m\x00\r\n",
    "\u202eevil\u200f\u2066",
    "| <script>[x](javascript:y) `z` ![i](//h)",
    "\uff1d1+1",
    "../../etc/passwd",
    "unknown: \ud7ff",
    "x" * 20_000,
    "",
    " ",
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 22, 1 << 31, 1 << 63, 10**18, 10**400),
    *(0.0, -0.0, 0.5, 1.5, -1.5, 1e-9, 1e9, 5e-324, 1e308, -1e308),
    *HOSTILE,
    *("ok", "oom", "interrupted", "1.1", "1.m", "full", "micro", "cpu", "gpu", "unknown", "0.0.9"),
    *([], {}, [[]], {"a": 1}, ["1.1"], [0.1, 0.1]),
)
TOKENS = (
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\n", b"\x00", b"\xff", b"\x1b[31m"),
    *(b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-", b"9" * 30, b"0.", b"e5"),
    *(b'"\\ud800"', b'"a": 1,', b"\\u202e", b"\xe2\x80\xae", b"[" * 500, b"\r\n\r\n"),
    *(b"ms", b" | batch=", b"size=", b"1/19. ", b"Device AI Score: ", b"\xb1", b"GPU/0: "),
)
NUMBER = re.compile(rb"\d+(?:\.\d+)?")
NUMBERS = (b"0", b"0.0", b"-3", b"1", b"7", b"50", b"49", b"123.456", b"99999", b"9" * 30, b"1e5")
Place = tuple[str | int, ...]


def places(tree: Any, place: Place = ()) -> Iterator[Place]:
    """Where each value of the document stands, the document itself left out."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield (*place, key)
        if isinstance(value, dict | list):
            yield from places(value, (*place, key))


def at(tree: Any, place: Place) -> Any:
    for key in place:
        tree = tree[key]
    return tree


@cache
def _places(text: str) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """All places of a document, and those with few keys above them."""
    found = tuple(places(json.loads(text)))
    return found, tuple(place for place in found if len(place) < 3)


def in_document(chance: Random, text: str) -> str:
    """The JSON with one to three of its values changed, removed, doubled or exchanged."""
    changed = json.loads(text)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        *above, key = chance.choice(chance.choice(_places(text)))
        try:
            parent = at(changed, tuple(above))
            parent[key]
        except (LookupError, TypeError):
            continue  # it is no longer there
        if isinstance(parent, str):
            continue  # which took the place of a list
        chance.choice((_replace, _replace, _scale, _remove, _double, _exchange))(
            chance, text, parent, key
        )
    return json.dumps(changed)


def _replace(chance: Random, text: str, parent: Any, key: Any) -> None:
    parent[key] = copy.deepcopy(chance.choice(VALUES))


def _scale(chance: Random, text: str, parent: Any, key: Any) -> None:
    value = parent[key]
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
        parent[key] = value * chance.choice((-1, 0.5, 2, 1.0000001, 1e12))
    else:
        _replace(chance, text, parent, key)


def _remove(chance: Random, text: str, parent: Any, key: Any) -> None:
    del parent[key]


def _double(chance: Random, text: str, parent: Any, key: Any) -> None:
    if isinstance(parent, list):
        parent.insert(chance.randint(0, len(parent)), copy.deepcopy(parent[key]))
    else:
        parent[chance.choice((f"{key}2", *HOSTILE))] = copy.deepcopy(parent[key])


def _exchange(chance: Random, text: str, parent: Any, key: Any) -> None:
    """A value from elsewhere in the document in this one's place."""
    parent[key] = at(json.loads(text), chance.choice(_places(text)[0]))


def in_bytes(chance: Random, data: bytes) -> bytes:
    """The bytes with one to three pieces of them changed, removed, doubled or put in."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        if (found := list(NUMBER.finditer(data))) and chance.choice((True, False)):
            begin, end = chance.choice(found).span()
            data = data[:begin] + chance.choice(NUMBERS) + data[end:]
            continue
        begin = chance.randint(0, len(data))
        end = min(len(data), begin + chance.choice((0, 1, 1, 2, 9, 60)))
        piece = chance.choice(
            (
                chance.choice(TOKENS),
                chance.choice(TOKENS),
                b"",
                data[begin:end] * 2,
                data[: chance.choice((1, 9, 300))],
                bytes([chance.randint(0, 255)]),
            )
        )
        rest = data[end:] if chance.choice((True,) * 9 + (False,)) else b""
        data = data[:begin] + piece + rest
    return data
