"""What a comparison needs of a result or a card, in one form."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from math import log
from pathlib import Path
from statistics import median
from typing import Literal

from aiscore.results.model import PolicyRecord, PriceRecord, Result, ScoreRecord
from aiscore.results.prices import Prices, priced
from aiscore.results.privacy import hide_paths
from aiscore.results.reference import MODES, Card, find_card, reference_ms
from aiscore.results.store import load
from aiscore.results.summary import MS_PER_S, derive, resized, round_figures
from aiscore.results.worth import Worth, own_gpu, worth
from aiscore.scoring import score
from aiscore.scoring.compare import MARGIN, Comparison, RoundTime, Side, compare
from aiscore.spec import STANDARD_POLICY, DeviceKind, Family, Mode, Network, Protocol, Status, Suite
from workloads.suite import FULL, MICRO, NETWORKS

SMALL_BELOW = 10_000_000  # parameters; no network of the suite has between 6 and 23 million
SIZES = {True: "small networks", False: "large networks"}
SCORES = {
    **{name: {test.id for test in FULL if test.mode in modes} for name, modes in MODES.items()},
    "micro": {test.id for test in MICRO},
}


def under(protocol: Protocol, name: str) -> str:
    """The name of a score or the id of a test: resident ones are never those of the leaderboard."""
    return name if protocol is Protocol.CLASSIC else f"{protocol} {name}"


def _titles(network: Network) -> tuple[str, str]:
    """The kinds of work that a network stands for."""
    return network.family, SIZES[network.parameters < SMALL_BELOW]


GROUPS = {
    under(protocol, name): {under(protocol, test) for test in tests}
    for protocol in Protocol
    for name, tests in SCORES.items()
}
ALWAYS_NEW = {"container_id"}
UNKNOWN = "unknown"  # what a fact begins with that could not be found; the reason follows
PLATFORM = "platform"
VISIBLE = "CUDA_VISIBLE_DEVICES"  # a run sets it, to the device that stands in the result
KIND_TITLES = (*Family, *SIZES.values())
# What a reader may care for: "kind/mode" to tests. The micro suite has kinds, too.
KINDS = {
    under(protocol, f"{title}/{mode}"): {
        under(protocol, test.id)
        for test in FULL + MICRO
        if test.mode is mode and title in _titles(NETWORKS[test.network])
    }
    for protocol in Protocol
    for title in KIND_TITLES
    for mode in Mode
}
# What a set-up is made of, by the keys that tell of it; all others stand for themselves.
VARIABLES = {
    "device": ("kind", "device", "gpu uuid", "gpu memory_bytes", "gpu power_limit_w"),
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
    "precision": ("precision", "tf32"),
    "compilation": ("option xla", "xla"),
    "protocol": (
        "suite",
        "protocol",
        *(
            field
            for policy in STANDARD_POLICY.values()
            for field in PolicyRecord(**asdict(policy)).in_words()
        ),
    ),
}

# What belongs to a framework where the backends differ: one has it, another has not.
OF_A_BACKEND = {
    "tensorflow_build_cuda_version",
    "tensorflow_build_cudnn_version",
    "tf32",
    "xla",
    "intra_op_threads",
    "inter_op_threads",
    "jax",
    "jaxlib",
    "torch",
    "onnx",
    "onnx_opset",
    "onnxruntime",
    "graph_optimization",
    "execution_mode",
}


@dataclass(frozen=True, slots=True)
class Start:
    """What a test needs in seconds before its passes count; the network's first test builds it."""

    prepare_s: float
    first_pass_s: float


@dataclass(frozen=True, slots=True)
class Subject:
    """One side. ``setup`` holds what is known of it, ``remarks`` what to keep in mind.

    A ``log`` is an imported result: like a card, it does not say everything.
    ``starts`` are those of its first protocol, whose passes compile for both.
    """

    name: str
    source: Literal["result", "log", "card"]
    setup: Mapping[str, str]
    side: Side
    remarks: Sequence[str]
    worth: Worth
    starts: Mapping[str, Start] = field(default_factory=dict)


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
    """Only scores over all of their tests, and only tests that are ok, under each protocol."""
    summary = derive(result)
    records = {name: record for name, record in summary.scores.items() if record}
    rounds = _rounds(result)
    return Subject(
        name=result.run.label or result.device.name,
        source="log" if result.imported else "result",
        setup=_setup(result),
        side=Side(*_scores_and_times(result), rounds, _log_round_scores(rounds, result.suite)),
        remarks=[*_origin(result), *summary.not_comparable_because, *_estimates(records)],
        worth=worth(result),
        starts=_starts(result),
    )


def _starts(result: Result) -> dict[str, Start]:
    """Of the tests that are ok, the median over their rounds."""
    return {
        under(test.protocol, test.id): Start(
            median(record.prepare_s or 0 for record in test.ok_rounds),
            median(record.passes_s[0] for record in test.ok_rounds),
        )
        for test in result.tests
        if test.status is Status.OK and any(record.prepare_s for record in test.rounds)
    }


def _scores_and_times(result: Result) -> tuple[dict[str, int | None], dict[str, float]]:
    """Each score, and the time (ms) of each test that counts."""
    found = [(part.protocol, derive(part)) for part in result.parts]
    scores = {
        under(protocol, name): record.value
        for protocol, summary in found
        for name, record in summary.scores.items()
        if record
    }
    times_ms = {
        under(protocol, test.id): test.time_ms
        for protocol, summary in found
        for test in summary.tests
        if test.score and test.time_ms
    }
    return scores, times_ms


def _rounds(result: Result) -> dict[int, dict[str, RoundTime]]:
    """Number of the round to test to its time, of the tests that count."""
    found: dict[int, dict[str, RoundTime]] = {}
    for test in result.records:
        if test.status is not Status.OK or resized(test, result.suite):
            continue
        for record in test.ok_rounds:
            figures = round_figures(test, record)
            time = RoundTime(MS_PER_S * figures.time, MS_PER_S * median(record.counted_s))
            found.setdefault(record.round, {})[under(test.protocol, test.id)] = time
    return found


def _log_round_scores(
    rounds: Mapping[int, Mapping[str, RoundTime]], suite: Suite
) -> dict[str, list[float]]:
    """The logarithm of each score in each round that has all of its tests."""
    reference = reference_ms(suite)
    found: dict[str, list[float]] = {}
    for times, protocol in product(rounds.values(), Protocol):
        made = {
            name: score.geometric_mean(
                reference[test] / times[under(protocol, test)].time_ms for test in SCORES[name]
            )
            for name in ("inference", "training", "micro")
            if times.keys() >= GROUPS[under(protocol, name)]
        }
        if made.keys() >= {"inference", "training"}:
            made["ai"] = made["inference"] + made["training"]
        for name, value in made.items():
            found.setdefault(under(protocol, name), []).append(log(value))
    return found


def _origin(result: Result) -> list[str]:
    """Where the times are from, if they were not measured by aiscore."""
    return [f"imported from the log {result.imported.log}"] if result.imported else []


def _estimates(records: Mapping[str, ScoreRecord]) -> list[str]:
    """An estimate is no score: it is told, and not compared."""
    found = [
        f"{_in_words(name)} about {record.estimate} (within {record.estimate_error:.0%})"
        for name, record in records.items()
        if record.estimate is not None
    ]
    return [f"its scores are estimated and not compared: {', '.join(found)}"] if found else []


def _in_words(score_name: str) -> str:
    return "AI" if score_name == "ai" else score_name


def from_card(card: Card, prices: Prices | None = None) -> Subject:
    """A score that its source made over a part of the tests is left out, and said so."""
    known = {
        "kind": card.kind.value,
        "device": card.device,
        "tensorflow": card.tf_version,
        PLATFORM: card.platform,
        "cpu": card.cpu,
    }
    parts = [
        f"its {_in_words(name)} score {value} is over the tests that ran only and is not compared"
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


def changed(different: Collection[str]) -> list[str]:
    """The variables that these keys of a set-up belong to, each once."""
    variables = {key: variable for variable, keys in VARIABLES.items() for key in keys}
    if "backend" in different:
        variables |= dict.fromkeys(OF_A_BACKEND, "framework")
    return list(dict.fromkeys(variables.get(key, key) for key in different))


def differences(subjects: Sequence[Subject]) -> dict[str, list[str | None]]:
    """What is not the same in all set-ups: a value for each side, None if it has none.

    What a card's source or a log does not say is unknown, not different.
    """
    keys = dict.fromkeys(key for subject in subjects for key in subject.setup)
    return {
        key: [_value(subject, key) for subject in subjects]
        for key in keys
        if differ(_value(subject, key) for subject in subjects if _says(subject, key))
    }


def differ(values: Iterable[str | None]) -> bool:
    """Whether these values of a set-up tell of a difference.

    Why something is unknown does not, and neither does a path, which a published
    result lacks.
    """
    told = (
        value and (UNKNOWN if value.startswith(UNKNOWN) else hide_paths(value)) for value in values
    )
    return len(set(told)) > 1


def _says(subject: Subject, key: str) -> bool:
    told_by_all = subject.source == "result" and key != PLATFORM
    return told_by_all or _value(subject, key) is not None


def _value(subject: Subject, key: str) -> str | None:
    """What cards and logs say in one text, the platform, a result has in two."""
    if key == PLATFORM and subject.source == "result":
        return platform(subject.setup)
    return subject.setup.get(key)


def platform(host: Mapping[str, str]) -> str | None:
    """What is known of the system and its kernel, in one text."""
    parts = (host.get(part) for part in ("os", "kernel"))
    return ", ".join(part for part in parts if part) or None


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
            if not value.startswith(UNKNOWN)
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
        **{f"gpu {key}": value for key, value in gpu.items() if key != "name"},
        "backend": result.backend,
        "protocol": " and ".join(part.protocol for part in result.parts),
        **{
            key: f"{value:g}"
            for part in result.parts
            for key, value in part.policy.in_words().items()
            if value is not None
        },
        **({} if fraction is None else {"memory fraction": f"{fraction:g}"}),
        "precision": result.options.precision.value,
        "option xla": "on" if result.options.xla else "off",
        **environment.software,
        **{name: value for name, value in environment.host.items() if name not in ALWAYS_NEW},
        **{name: value for name, value in environment.variables.items() if name != VISIBLE},
        "aiscore": result.aiscore_version,
    }
