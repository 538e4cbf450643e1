"""Two or more sweeps against the first of them: the tables and the document, plain data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from aiscore.report.comparisons import LETTERS
from aiscore.report.sweep_rows import (
    NONE,
    VERBS,
    line_title,
    name_of,
    rate,
    ratio,
    way_title,
)
from aiscore.results.subject import differ
from aiscore.results.sweep import Sweep
from aiscore.results.sweep_summary import Speeds, setup_of, speeds, summary_of
from aiscore.scoring import throughput
from aiscore.scoring.compare import NOISE_FLOOR, Verdict, judge
from aiscore.scoring.score import geometric_mean
from aiscore.spec import Line, Mode
from workloads.sweep import NETWORKS

DECIDED = {Verdict.FASTER, Verdict.SLOWER}


@dataclass(frozen=True, slots=True)
class Group:
    """The points of one network and mode that a side and the base have: their mean ratio."""

    network: str
    mode: Mode
    ratio: float
    points: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Against:
    """A side against the base: ratios by line and batch, where they are odd, and their means.

    ``below_neighbours``: how many times lower a ratio is than the batches beside
    it predict, where that is clear.
    """

    ratios: Speeds
    below_neighbours: Speeds
    groups: Sequence[Group]


@dataclass(frozen=True, slots=True)
class ComparedSweeps:
    """The first sweep is the base that the others are compared with."""

    sweeps: Sequence[Sweep]
    names: Sequence[str]
    speeds: Sequence[Speeds]
    differences: Mapping[str, list[str | None]]
    others: Sequence[Against]


def compare_sweeps(sweeps: Sequence[Sweep], margin: float) -> ComparedSweeps:
    """How many times as fast as the first the others are at the points that both have."""
    found = [speeds(sweep.points) for sweep in sweeps]
    setups = [setup_of(sweep) for sweep in sweeps]
    keys = dict.fromkeys(key for setup in setups for key in setup)
    values = {key: [setup.get(key) for setup in setups] for key in keys}
    return ComparedSweeps(
        sweeps=sweeps,
        names=_names(sweeps),
        speeds=found,
        differences={key: row for key, row in values.items() if differ(row)},
        others=[_against(found[0], other, margin) for other in found[1:]],
    )


def _names(sweeps: Sequence[Sweep]) -> list[str]:
    """Label or device; letters where these do not tell them apart."""
    names = [name_of(sweep) for sweep in sweeps]
    return names if len(set(names)) == len(names) else list(LETTERS[: len(names)])


def _against(base: Speeds, other: Speeds, margin: float) -> Against:
    ratios = {
        line: common
        for line, values in base.items()
        if (
            common := {
                batch: other[line][batch] / speed
                for batch, speed in values.items()
                if batch in other.get(line, {})
            }
        )
    }
    below = {line: throughput.below_neighbours(values) for line, values in ratios.items()}
    return Against(ratios, below, list(_groups(ratios, margin)))


def _groups(ratios: Speeds, margin: float) -> Iterator[Group]:
    def title(line: Line) -> tuple[str, Mode]:
        return line.network, line.mode

    for (network, mode), lines in groupby(sorted(ratios, key=title), key=title):
        values = [value for line in lines for value in ratios[line].values()]
        mean = geometric_mean(values)
        bounds = (mean / (1 + NOISE_FLOOR), mean * (1 + NOISE_FLOOR))
        yield Group(network, mode, mean, len(values), judge(bounds, margin))


def point_lines(compared: ComparedSweeps) -> list[list[str]]:
    """Line, batch, each side's images a second, each other side's ratio to the base."""
    lines = dict.fromkeys(line for found in compared.speeds for line in found)
    rows = []
    for line in lines:
        batches = {batch for found in compared.speeds for batch in found.get(line, {})}
        for batch in sorted(batches):
            speeds_there = [found.get(line, {}).get(batch) for found in compared.speeds]
            ratios = [other.ratios.get(line, {}).get(batch) for other in compared.others]
            title = f"{NETWORKS[line.network].title} {line.mode}, {way_title(line)}"
            rows.append([title, str(batch), *map(rate, speeds_there), *map(ratio, ratios)])
    return rows


def largest_lines(compared: ComparedSweeps) -> list[list[str]]:
    """Of each line for which a side has sought it, the largest batch of each side."""
    found = [
        {line.line: line.largest for line in summary_of(sweep).lines if line.largest}
        for sweep in compared.sweeps
    ]
    lines = dict.fromkeys(line for side in found for line in side)
    return [
        [
            line_title(line),
            *(str(side[line].batch or "none") if line in side else NONE for side in found),
        ]
        for line in lines
    ]


def sentences(compared: ComparedSweeps) -> list[str]:
    """What can be said of each other side, and where it is unexpectedly slow."""
    base = compared.names[0]
    said = []
    for name, sweep, other in zip(
        compared.names[1:], compared.sweeps[1:], compared.others, strict=True
    ):
        said += [_group_sentence(base, name, group) for group in other.groups]
        said += _value_sentence(compared.sweeps[0], sweep, base, name, other)
        said += [
            f"{line_title(line)}: at batch {batch} {name} is {times:.1f} x slower than the"
            f" batches beside it predict ({ratio(other.ratios[line][batch])} x {base})."
            for line, odd in other.below_neighbours.items()
            for batch, times in odd.items()
        ]
    return said


def _group_sentence(base: str, name: str, group: Group) -> str:
    what = f"{NETWORKS[group.network].title} {VERBS[group.mode]}"
    known = f"geometric mean of {group.points} points"
    if group.verdict in DECIDED:
        return f"{what} {group.ratio:.2f} x as fast on {name} as on {base} ({known})."
    return (
        f"{what} {group.ratio:.2f} x as fast on {name} as on {base} ({known}): below"
        f" {NOISE_FLOOR:.0%} that is no difference."
    )


def _value_sentence(
    base: Sweep, sweep: Sweep, base_name: str, name: str, other: Against
) -> list[str]:
    """Images a second for the price, over all common points, where both prices are known."""
    mine, theirs = base.run.price, sweep.run.price
    if not (mine and theirs and other.groups) or mine.currency != theirs.currency:
        return []
    all_ratios = [value for values in other.ratios.values() for value in values.values()]
    value = geometric_mean(all_ratios) * mine.amount / theirs.amount
    return [f"{name} gives {value:.2f} x as many images/s per price as {base_name}."]


def compare_document(compared: ComparedSweeps) -> dict[str, Any]:
    """What ``aiscore compare --json`` prints of sweeps."""
    return {
        "kind": "throughput",
        "sides": [
            {"name": name, "device": sweep.device.model_dump(mode="json")}
            for name, sweep in zip(compared.names, compared.sweeps, strict=True)
        ],
        "differences": dict(compared.differences),
        "others": [
            {
                "groups": [
                    {
                        "network": group.network,
                        "mode": group.mode.value,
                        "ratio": group.ratio,
                        "points": group.points,
                        "verdict": group.verdict.value,
                    }
                    for group in other.groups
                ],
                "points": [
                    {
                        "network": line.network,
                        "mode": line.mode.value,
                        "backend": line.backend,
                        "precision": line.precision.value,
                        "xla": line.xla.value,
                        "batch": batch,
                        "ratio": value,
                        "below_neighbours": other.below_neighbours[line].get(batch),
                    }
                    for line, values in other.ratios.items()
                    for batch, value in values.items()
                ],
            }
            for other in compared.others
        ],
        "sentences": sentences(compared),
    }
