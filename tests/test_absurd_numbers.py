"""Whatever number a file holds: it is shown, or refused with one line."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from aiscore.errors import UserError
from aiscore.report.export import FORMATS
from aiscore.report.rows import show_document
from aiscore.report.text import render_result
from aiscore.results.model import Result
from aiscore.results.store import load_checked
from aiscore.results.summary import summarise
from tests.results_factory import passes_s, record, result
from workloads.suite import FULL

ABSURD = [0, -1, -0.0, 1e308, -1e308, 5e-324, 1e-10, 1e9, -1e9, 1e21, 10**400, (1 << 63) - 1]
TELEMETRY = {
    "duration_s": 2.0,
    "samples": 4,
    "cost_s": 0.001,
    "series": {
        name: {"min": 0.0, "median": 0.5, "max": 1.0}
        for name in ("cpu_others_share", "cpu_stolen_share", "gpu_other_processes")
    },
    "shares": {"gpu_throttled": 0.5, "on_battery": 0.25},
    "totals": {"gpu_energy_j": 4.0, "cpu_core_throttles": 3.0},
}
ROUND = {
    "passes_s": passes_s(75, 0.01, 4),
    "prepare_s": 1.0,
    "peak_rss_bytes": 5,
    "peak_device_bytes": 50,
    "telemetry": TELEMETRY,
}
PRICE = {"amount": 9000.0, "currency": "EUR"}
Place = tuple[str | int, ...]


def measured() -> dict[str, Any]:
    """A result with every number that a measurement can have, in two rounds."""
    rounds = [{"round": number, **ROUND} for number in (1, 2)]
    made = result([record(FULL[0], rounds=rounds)], price=PRICE)
    device = made.device.model_copy(update={"memory_bytes": 100})
    document: dict[str, Any] = summarise(made.model_copy(update={"device": device})).model_dump(
        mode="json"
    )
    return document


def imported() -> dict[str, Any]:
    """A result that was read from a log."""
    printed = {"mean_ms": 75.0, "std_ms": 1.5, "digits": 1}
    made = result([record(FULL[0], rounds=[], printed=printed)], price=PRICE)
    log = {"log": "a.log", "sha256": "0", "first_line": 1, "last_line": 9}
    scores = {"ai_score": 5}
    document = {**made.model_dump(mode="json"), "imported": {**log, "printed_scores": scores}}
    return summarise(Result.model_validate(document)).model_dump(mode="json")


def numbers(tree: Any, place: Place = ()) -> Iterator[Place]:
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from numbers(value, (*place, key))
    elif isinstance(tree, int | float) and not isinstance(tree, bool):
        yield place


def replaced(document: dict[str, Any], places: list[Place], value: float) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    for *parents, last in places:
        tree: Any = changed
        for key in parents:
            tree = tree[key]
        tree[last] = value
    return changed


def targets(document: dict[str, Any]) -> list[list[Place]]:
    """Every number for itself, and those of one name in all rounds together."""
    places = list(numbers(document))
    together: dict[str | int, list[Place]] = {}
    for place in places:
        if "rounds" in place:
            together.setdefault(place[-1], []).append(place)
    return [[place] for place in places] + list(together.values())


@pytest.mark.parametrize("made", [measured, imported])
@pytest.mark.parametrize("value", ABSURD, ids=lambda value: f"{value!s:.8}")
def test_no_number_makes_reading_or_showing_fail(tmp_path, made, value):
    document = made()
    path = tmp_path / "r.json"
    outcomes = set()
    for places in targets(document):
        path.write_text(json.dumps(replaced(document, places, value)))
        try:
            loaded, _ = load_checked(path)
        except UserError as error:
            outcomes.add("refused")
            assert "\n" not in error.problem
            continue
        outcomes.add("shown")
        render_result(loaded)
        json.dumps(show_document(loaded), allow_nan=False)
        for write in FORMATS.values():
            write([loaded])
    assert outcomes == {"refused", "shown"}
