"""What a comparison needs of a result or a card, in one form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from statistics import fmean, median
from typing import Literal

from aiscore.results.model import PriceRecord, Result, ScoreRecord
from aiscore.results.prices import Prices, priced
from aiscore.results.reference import MODES, Card, find_card, reference_ms
from aiscore.results.store import load
from aiscore.results.summary import MS_PER_S, derive, resized
from aiscore.results.worth import Worth, own_gpu, worth
from aiscore.scoring import score
from aiscore.scoring.compare import MARGIN, Comparison, RoundTime, Side, compare
from aiscore.spec import DeviceKind, Family, Mode, Status, Suite
from workloads.suite import FULL, MICRO, NETWORKS

SMALL_BELOW = 10_000_000  # parameters; no network of the suite has between 6 and 23 million
GROUPS = {
    **{name: {test.id for test in FULL if test.mode in modes} for name, modes in MODES.items()},
    "micro": {test.id for test in MICRO},
}
ALWAYS_NEW = {"container_id"}
# What a reader may care for: "kind/mode" to tests. The micro suite has kinds, too.
KINDS = {
    **{
        f"{family}/{mode}": {
            test.id
            for test in FULL + MICRO
            if test.mode is mode and NETWORKS[test.network].family is family
        }
        for family in Family
        for mode in Mode
    },
    **{
        f"{title}/{mode}": {
            test.id
            for test in FULL + MICRO
            if test.mode is mode and (NETWORKS[test.network].parameters < SMALL_BELOW) is small
        }
        for title, small in {"small networks": True, "large networks": False}.items()
        for mode in Mode
    },
}
# What a set-up is made of, by the keys that tell of it; all others stand for themselves.
VARIABLES = {
    "device": ("kind", "device", "gpu memory_bytes", "gpu power_limit_w"),
    "driver": ("gpu driver",),
    "framework": (
        "backend",
        "tensorflow",
        "keras",
        "cuda",
        "cuda build",
        "cuda_version",
        "cuda_toolkit",
        "cudnn",
        "cudnn_version",
        "onednn",
        "numpy",
        "python",
    ),
    "container": ("container", "container_image", "os"),
    "CPU": ("cpu", "machine", "logical_cores", "physical_cores", "affinity", "cpu_limit"),
    "precision": ("precision", "tf32", "xla"),
    "protocol": (
        "suite",
        "protocol",
        "passes",
        "min passes",
        "max seconds",
        "hard limit s",
        "early stop",
    ),
}


@dataclass(frozen=True, slots=True)
class Subject:
    """One side. ``setup`` holds what is known of it, ``remarks`` what to keep in mind.

    A ``log`` is an imported result: like a card, it does not say everything.
    """

    name: str
    source: Literal["result", "log", "card"]
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
    rounds = _rounds(result)
    return Subject(
        name=result.run.label or result.device.name,
        source="log" if result.imported else "result",
        setup=_setup(result),
        side=Side(
            {name: record.value for name, record in records.items()},
            {test.id: test.mean_ms for test in summary.tests if test.score and test.mean_ms},
            rounds,
            _log_round_scores(rounds, result.suite),
        ),
        remarks=[*_origin(result), *summary.not_comparable_because, *_estimates(records)],
        worth=worth(result),
    )


def _rounds(result: Result) -> dict[int, dict[str, RoundTime]]:
    """Number of the round to test to its time, of the tests that count."""
    found: dict[int, dict[str, RoundTime]] = {}
    for test in result.tests:
        if test.status is not Status.OK or resized(test, result.suite):
            continue
        for record in test.ok_rounds:
            counted = score.counted(record.passes_s)
            if counted:
                time = RoundTime(MS_PER_S * fmean(counted), MS_PER_S * median(counted))
                found.setdefault(record.round, {})[test.id] = time
    return found


def _log_round_scores(
    rounds: Mapping[int, Mapping[str, RoundTime]], suite: Suite
) -> dict[str, list[float]]:
    """The logarithm of each score in each round that has all of its tests."""
    reference = reference_ms(suite)
    found: dict[str, list[float]] = {}
    for times in rounds.values():
        made = {
            name: score.geometric_mean(
                reference[test] / times[test].mean_ms for test in GROUPS[name]
            )
            for name in ("inference", "training", "micro")
            if times.keys() >= GROUPS[name]
        }
        if made.keys() >= {"inference", "training"}:
            made["ai"] = made["inference"] + made["training"]
        for name, value in made.items():
            found.setdefault(name, []).append(log(value))
    return found


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


def compare_subjects(base: Subject, other: Subject, margin: float = MARGIN) -> Comparison:
    """How many times as fast as the base the other is."""
    groups = {name: GROUPS[name] for name in base.side.scores}
    return compare(base.side, other.side, groups, KINDS, margin)


def changed(different: Iterable[str]) -> list[str]:
    """The variables that these keys of a set-up belong to, each once."""
    variables = {key: variable for variable, keys in VARIABLES.items() for key in keys}
    return list(dict.fromkeys(variables.get(key, key) for key in different))


def differences(subjects: Sequence[Subject]) -> dict[str, list[str | None]]:
    """What is not the same in all set-ups: a value for each side, None if it has none.

    What a card's source or a log does not say is unknown, not different.
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


def _stated(result: Result) -> dict[str, str]:
    """The same of an imported result: only what its log says."""
    device = result.device
    known = device.kind is not DeviceKind.UNKNOWN
    return {
        "suite": result.suite.value,
        **({"kind": device.kind.value, "device": device.name} if known else {}),
        "backend": result.backend,
        "protocol": result.protocol.value,
        **{
            key: value
            for key, value in {**result.environment.software, **result.environment.host}.items()
            if not value.startswith("unknown")
        },
    }


def _setup(result: Result) -> dict[str, str]:
    """Everything that a run depends on, name to value."""
    environment = result.environment
    if result.imported:
        return _stated(result)
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
