"""Files made wrong: in the values of their document, or in their bytes."""

import copy
import json
from collections.abc import Iterator
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


def somewhere(chance: Random, tree: Any) -> Place:
    """The place of some value, at any depth; none in an empty document."""
    place: Place = ()
    while isinstance(tree, dict | list) and tree:
        key = chance.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
        place, tree = (*place, key), tree[key]
        if chance.choice((True, False, False, False)):
            break
    return place


def in_document(chance: Random, text: str) -> str:
    """The JSON with one to three of its values changed, removed, doubled or exchanged."""
    changed = json.loads(text)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if not (place := somewhere(chance, changed)):
            break
        *above, key = place
        parent = at(changed, tuple(above))
        chance.choice((_replace, _replace, _scale, _remove, _double, _exchange))(
            chance, changed, parent, key
        )
    return json.dumps(changed)


def _replace(chance: Random, document: Any, parent: Any, key: Any) -> None:
    parent[key] = copy.deepcopy(chance.choice(VALUES))


def _scale(chance: Random, document: Any, parent: Any, key: Any) -> None:
    value = parent[key]
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
        parent[key] = value * chance.choice((-1, 0.5, 2, 1.0000001, 1e12))
    else:
        _replace(chance, document, parent, key)


def _remove(chance: Random, document: Any, parent: Any, key: Any) -> None:
    del parent[key]


def _double(chance: Random, document: Any, parent: Any, key: Any) -> None:
    if isinstance(parent, list):
        parent.insert(chance.randint(0, len(parent)), copy.deepcopy(parent[key]))
    else:
        parent[chance.choice((f"{key}2", *HOSTILE))] = copy.deepcopy(parent[key])


def _exchange(chance: Random, document: Any, parent: Any, key: Any) -> None:
    """A value from elsewhere in the document in this one's place."""
    parent[key] = copy.deepcopy(at(document, somewhere(chance, document)))


def in_bytes(chance: Random, data: bytes) -> bytes:
    """The bytes with one to three pieces of them changed, removed, doubled or put in."""
    for _ in range(chance.choice((1, 1, 2, 3))):
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
