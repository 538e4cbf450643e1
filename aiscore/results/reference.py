"""Reference times and cards (reference_scores.json), and measured peaks of memory (memory.json)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from aiscore.errors import UserError
from aiscore.spec import DeviceKind, Mode, Suite
from workloads.suite import FULL, TESTS

MODES = {"inference": {Mode.INFERENCE}, "training": {Mode.TRAINING}, "ai": set(Mode)}
MIB = 1 << 20
THIS_PROJECT = "this project"  # the source of cards that docs/results holds the runs of
# What runs a card's tests, where it is not TensorFlow's own code for CPUs and CUDA.
STACKS = {
    "OpenVINO": ("openvino",),
    "Intel's extension": ("itex", "intel-extension", "oneapi"),
    "DirectML": ("directml",),
    "ROCm": ("rocm", "amd radeon", "amd instinct"),
}
MOST_CANDIDATES = 10  # an error message is one line


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One published report. Scores and times (ms: mean, spread) as its source printed them."""

    device: str
    kind: DeviceKind
    scores: Mapping[str, int | None]
    completeness: str
    tf_version: str | None
    platform: str | None
    cpu: str | None
    source_url: str
    source_kind: str
    note: str
    tests: Mapping[str, tuple[float, float | None]]

    @property
    def completeness_kind(self) -> str:
        """``complete`` with all times, ``scores`` with few or none of them, or ``partial``."""
        return self.completeness.split(",")[0].split()[0]

    @property
    def stack(self) -> str | None:
        """Another stack than the leaderboard's, or None: by its names in the card's texts."""
        text = f"{self.device} {self.tf_version} {self.source_url}".lower()
        found = [name for name, words in STACKS.items() if any(word in text for word in words)]
        return found[0] if found else None

    def is_whole(self, score: str) -> bool:
        """Whether that score is there and over all of its tests, not over what ran."""
        if self.scores[score] is None:
            return False
        expected = {test.id for test in FULL if test.mode in MODES[score]}
        return not self.completeness.startswith("partial") or expected <= self.tests.keys()


@cache
def reference_ms(suite: Suite) -> Mapping[str, float]:
    """Test id to the time in milliseconds that scores 10000."""
    times: dict[str, float] = _document()["reference"][suite.value]
    return times


@cache
def suite_sha256(suite: Suite) -> str:
    """The hash of what its scores stand on: the suite's tests and their reference times."""
    rows = [
        (test.id, test.network, test.mode, test.batch, test.input, test.target, reference)
        for test, reference in zip(TESTS[suite], reference_ms(suite).values(), strict=True)
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


@cache
def peak_memory_bytes(backend: str, kind: DeviceKind) -> Mapping[str, int]:
    """Test id to the peak memory measured with that backend; empty where nobody measured."""
    mib: dict[str, int] = _read("memory.json").get(backend, {}).get(kind.value, {})
    return {test: value * MIB for test, value in mib.items()}


@cache
def cards() -> tuple[Card, ...]:
    """Every card, in the order of the file."""
    return tuple(_card(entry) for entry in _document()["cards"])


def find_card(text: str) -> Card:
    """The card of that full name, or the only one whose name holds the text (any case).

    Raises UserError, with the candidates, for none or several.
    """
    wanted = text.strip().lower()
    exact = [card for card in cards() if card.device.lower() == wanted]
    found = exact or [card for card in cards() if wanted and wanted in card.device.lower()]
    if len(found) == 1:
        return found[0]
    if found:
        shown = "; ".join(card.device for card in found[:MOST_CANDIDATES])
        more = len(found) - MOST_CANDIDATES
        raise UserError(
            f"{text!r} fits {len(found)} cards",
            f"give more of the name: {shown}" + (f"; and {more} more" if more > 0 else ""),
        )
    raise UserError(
        f"no card and no file is called {text!r}",
        f"{_similar(wanted)}aiscore leaderboard lists all",
    )


def _similar(wanted: str) -> str:
    """The cards that share a word with the text, as the beginning of an advice."""
    words = {word for word in wanted.split() if len(word) > 1}
    scored = [(len(words & set(card.device.lower().split())), card.device) for card in cards()]
    best = max(count for count, _ in scored)
    names = [name for count, name in scored if count == best > 0]
    return f"did you mean {'; '.join(names[:MOST_CANDIDATES])}? " if names else ""


@cache
def _document() -> dict[str, Any]:
    return _read("reference_scores.json")


def _read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        files("aiscore.data").joinpath(name).read_text(encoding="utf-8")
    )
    return document


def _card(entry: dict[str, Any]) -> Card:
    tests = {test: (mean, std) for test, (mean, std) in (entry["tests"] or {}).items()}
    return Card(**{**entry, "kind": DeviceKind(entry["kind"]), "tests": tests})
