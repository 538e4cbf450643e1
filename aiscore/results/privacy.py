"""A result without what tells of its host and its user: the form in which it is published.

Every text of the model is looked at. What stays as it is has to be named here, so that
a field which is added later is hidden until somebody decides otherwise.
"""

import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any, TypeVar, get_args

from aiscore.results.model import (
    CheckRecord,
    DeviceRecord,
    EnvironmentRecord,
    ErrorRecord,
    ImportRecord,
    PriceRecord,
    Result,
    RunRecord,
    Strict,
    Summary,
    TestRecord,
    TestSummary,
)
from aiscore.results.sweep import (
    LineSummary,
    PointRecord,
    PointSummary,
    SelectionRecord,
    Sweep,
)

HIDDEN_PATH = "[path]"
HIDDEN_NAME = "[name]"
HOST_FACTS = {"container_id"}  # its beginning is the host name inside the container
SHORTEST_NAME = 2  # letters; one is everywhere

KEPT: dict[type[Strict], set[str]] = {
    DeviceRecord: {"name"},
    RunRecord: {"label"},
    PriceRecord: {"currency"},
    CheckRecord: {"name", "limit", "meaning", "advice", "tests"},
}
"""What its user wrote to be shown, and what aiscore itself says of a check."""

TERMS: dict[type[Strict], set[str]] = {
    Result: {"aiscore_version", "backend", "suite_sha256"},
    RunRecord: {"id", "requested", "resumed_at", "started_at"},
    ImportRecord: {"sha256", "version"},
    TestRecord: {"id", "network", "title"},
    TestSummary: {"bound", "id", "network"},
    Summary: {"not_comparable_because"},
    Sweep: {"aiscore_version"},
    SelectionRecord: {"backends", "networks"},
    PointRecord: {"backend", "id", "network", "title"},
    PointSummary: {"id"},
    LineSummary: {"backend", "network"},
}
"""Words with a meaning, which a user may happen to be called: only paths are hidden in them."""

_PATH = re.compile(
    r"""(?x)
    (['"]) [^'"]* / [^'"]* \1                     # quoted, as errors show it, spaces included
    | (?: file: /+                                # a URL of this machine, not one of the web
        | (?<! [\w./] ) / (?! / )                 # absolute
        | (?<! [\w./:] ) //+
        | (?<! [\w./] ) \.{1,2} / )               # relative, and not to be mistaken for a ratio
      [^\s'",;()<>|]+
    """
)

Model = TypeVar("Model", bound=Strict)
Hide = Callable[[str], str]


def redacted(result: Model, names: Collection[str] = ()) -> Model:
    """The same result, or sweep, without paths, workers' logs and the container's id.

    The names, of users and hosts, are hidden in all texts but labels, devices and
    terms. All that is measured stays.
    """
    return _Redaction(names).of(result)


class _Redaction:
    """Hides these names, and paths. What has nothing to hide stays the same object."""

    def __init__(self, names: Collection[str]) -> None:
        long_enough = sorted((name for name in names if len(name) >= SHORTEST_NAME), key=len)
        any_name = "|".join(map(re.escape, reversed(long_enough)))
        self._name = re.compile(rf"(?<!\w)(?:{any_name})(?!\w)") if any_name else None

    def of(self, record: Model) -> Model:
        """The record with its texts hidden."""
        changed = {}
        for field, rule in _rules(type(record)):
            value = getattr(record, field)
            shown = rule(self, value)
            if shown is not value:
                changed[field] = shown
        return record.model_copy(update=changed) if changed else record

    def text(self, value: Any) -> Any:
        """Of free text."""
        return self._each(value, self._hide)

    def terms(self, value: Any) -> Any:
        """Of words with a meaning."""
        return self._each(value, hide_paths)

    def arguments(self, value: list[str]) -> list[str]:
        """Of a command."""
        return [self._hide_argument(text) for text in value]

    def host(self, value: dict[str, str]) -> Any:
        """Of the facts of the host."""
        return self.text({name: text for name, text in value.items() if name not in HOST_FACTS})

    def log(self, value: list[str]) -> list[str]:
        """Of a worker's log: it can hold anything."""
        return []

    def _each(self, value: Any, hide: Hide) -> Any:
        """The same with every text in it hidden; of a mapping's keys, paths only."""
        kind = type(value)
        if kind is str:  # a member of an enumeration is none
            return hide(value)
        if kind is list:
            items = [self._each(one, hide) for one in value]
            same = all(one is other for one, other in zip(items, value, strict=True))
            return value if same else items
        if kind is dict:
            if "/" not in "".join(value) and not any(map(_has_text, map(type, value.values()))):
                return value
            return {hide_paths(key): self._each(one, hide) for key, one in value.items()}
        return self.of(value) if isinstance(value, Strict) else value

    def _hide(self, text: str) -> str:
        shown = hide_paths(text)
        return self._name.sub(HIDDEN_NAME, shown) if self._name else shown

    def _hide_argument(self, text: str) -> str:
        """An argument with a slash is a path as a whole, or all that its option is set to."""
        if "/" not in text:
            return self._hide(text)
        option, equals, _ = text.partition("=")
        return f"{option}={HIDDEN_PATH}" if equals and "/" not in option else HIDDEN_PATH


def hide_paths(text: str) -> str:
    """The text without the paths in it."""
    return _PATH.sub(HIDDEN_PATH, text) if "/" in text else text


Rule = Callable[[_Redaction, Any], Any]
SPECIAL: dict[tuple[type[Strict], str], Rule] = {
    (EnvironmentRecord, "host"): _Redaction.host,
    (ErrorRecord, "log"): _Redaction.log,
    (RunRecord, "arguments"): _Redaction.arguments,
}


@cache
def _rules(model: type[Strict]) -> Sequence[tuple[str, Rule]]:
    """How each field is hidden that may hold a text which is not to be kept as it is."""
    return [
        (name, SPECIAL.get((model, name)) or _rule(model, name))
        for name, field in model.model_fields.items()
        if name not in KEPT.get(model, ()) and _may_hold_text(field.annotation)
    ]


def _rule(model: type[Strict], field: str) -> Rule:
    return _Redaction.terms if field in TERMS.get(model, ()) else _Redaction.text


def _may_hold_text(annotation: Any) -> bool:
    if isinstance(annotation, type):
        return _has_text(annotation)
    return any(map(_may_hold_text, get_args(annotation)))


@cache
def _has_text(kind: type) -> bool:
    """Whether a value of that type may hold a text; a member of an enumeration is none."""
    return kind in (str, list, dict) or (issubclass(kind, Strict) and bool(_rules(kind)))
