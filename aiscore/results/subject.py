"""What a comparison needs of a result or a card, in one form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from aiscore.results.model import PriceRecord, Result, ScoreRecord
from aiscore.results.prices import Prices, priced
from aiscore.results.reference import MODES, Card, find_card
from aiscore.results.store import load
from aiscore.results.summary import derive
from aiscore.results.worth import Worth, own_gpu, worth
from aiscore.scoring.compare import Comparison, Side, compare
from workloads.suite import FULL, MICRO

GROUPS = {
    **{name: {test.id for test in FULL if test.mode in modes} for name, modes in MODES.items()},
    "micro": {test.id for test in MICRO},
}
ALWAYS_NEW = {"container_id"}


@dataclass(frozen=True, slots=True)
class Subject:
    """One side. ``setup`` holds what is known of it, ``remarks`` what to keep in mind."""

    name: str
    source: Literal["result", "card"]
    setup: Mapping[str, str]
    side: Side
    remarks: Sequence[str]
    worth: Worth


def named(text: str, prices: Prices | None = None, price: PriceRecord | None = None) -> Subject:
    """The result file of that path, or else the card of that name; UserError if neither.

    Its price is the given one, else that of its name, else the result's own.
    """
    path = Path(text)
    if path.suffix == ".json" or path.exists():
        result = priced(load(path), prices or {})
        found = from_result(result)
    else:
        found = from_card(find_card(text), prices)
    return replace(found, worth=replace(found.worth, price=price)) if price else found


def from_result(result: Result) -> Subject:
    """Only scores over all of their tests, and only tests that are ok."""
    summary = derive(result)
    records = {name: record for name, record in summary.scores.items() if record}
    return Subject(
        name=result.run.label or result.device.name,
        source="result",
        setup=_setup(result),
        side=Side(
            {name: record.value for name, record in records.items()},
            {test.id: test.mean_ms for test in summary.tests if test.score and test.mean_ms},
        ),
        remarks=[*_origin(result), *summary.not_comparable_because, *_estimates(records)],
        worth=worth(result),
    )


def _origin(result: Result) -> list[str]:
    """Where the times are from, if they were not measured by aiscore."""
    return [f"imported from the log {result.imported.log}"] if result.imported else []


def _estimates(records: Mapping[str, ScoreRecord]) -> list[str]:
    """An estimate is no score: it is told, and not compared."""
    found = [
        f"{name} about {record.estimate} (within {record.estimate_error:.0%})"
        for name, record in records.items()
        if record.estimate is not None
    ]
    return [f"its scores are estimated and not compared: {', '.join(found)}"] if found else []


def from_card(card: Card, prices: Prices | None = None) -> Subject:
    """A score that its source made over a part of the tests is left out, and said so."""
    known = {
        "kind": card.kind.value,
        "device": card.device,
        "tensorflow": card.tf_version,
        "platform": card.platform,
        "cpu": card.cpu,
    }
    parts = [
        f"its {name} score {value} is over the tests that ran only and is not compared"
        for name, value in card.scores.items()
        if value is not None and not card.is_whole(name)
    ]
    return Subject(
        name=card.device,
        source="card",
        setup={key: value for key, value in known.items() if value is not None},
        side=Side(
            {name: value if card.is_whole(name) else None for name, value in card.scores.items()},
            {test: mean for test, (mean, _) in card.tests.items()},
        ),
        remarks=[f"{card.source_kind}, {card.completeness}", *parts, card.note],
        worth=Worth(price=(prices or {}).get(card.device.lower())),
    )


def compare_subjects(base: Subject, other: Subject) -> Comparison:
    """How many times as fast as the base the other is."""
    return compare(base.side, other.side, {name: GROUPS[name] for name in base.side.scores})


def differences(subjects: Sequence[Subject]) -> dict[str, list[str | None]]:
    """What is not the same in all set-ups: a value for each side, None if it has none.

    What a card's source does not say is unknown, not different.
    """
    keys = dict.fromkeys(key for subject in subjects for key in subject.setup)
    found = {
        key: [subject.setup.get(key) for subject in subjects if _says(subject, key)] for key in keys
    }
    return {
        key: [subject.setup.get(key) for subject in subjects]
        for key, values in found.items()
        if len(set(values)) > 1
    }


def _says(subject: Subject, key: str) -> bool:
    return key in subject.setup or subject.source == "result"


def _setup(result: Result) -> dict[str, str]:
    """Everything that a run depends on, name to value."""
    environment = result.environment
    fraction = result.options.memory_fraction
    gpu = own_gpu(result)
    return {
        "suite": result.suite.value,
        "kind": result.device.kind.value,
        "device": result.device.name,
        **{f"gpu {key}": value for key, value in gpu.items() if key not in {"name", "uuid"}},
        "backend": result.backend,
        "protocol": result.protocol.value,
        **{
            key.replace("_", " "): f"{value:g}"
            for key, value in result.policy.model_dump(exclude={"protocol"}).items()
        },
        **({} if fraction is None else {"memory fraction": f"{fraction:g}"}),
        **environment.software,
        **{name: value for name, value in environment.host.items() if name not in ALWAYS_NEW},
        **environment.variables,
        "aiscore": result.aiscore_version,
    }
