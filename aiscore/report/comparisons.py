"""Two or more sides against each other: the tables and the document, plain data."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from string import ascii_uppercase
from typing import Any

from aiscore.errors import UserError
from aiscore.report.rows import (
    SCORE_TITLES,
    Priced,
    milliseconds,
    three_digits,
    value_keys,
    value_lines,
    value_of,
)
from aiscore.results.subject import GROUPS, Subject, compare_subjects, differences
from aiscore.results.worth import score_per
from aiscore.scoring.compare import Comparison, Speed, over, speeds
from aiscore.spec import TestSpec
from workloads.suite import FULL, MICRO

LETTERS = ascii_uppercase
GROUP_TITLES = {"inference": "inference", "training": "training", "ai": "both", "micro": "micro"}
CERTAINTY = "not known; each side is one run, and how much runs differ was not measured"


@dataclass(frozen=True, slots=True)
class Normalized:
    """Each side's speed by test, the card being 1; ``groups`` over the tests that all have."""

    card: str
    tests: Sequence[dict[str, float]]
    groups: Sequence[dict[str, Speed]]


@dataclass(frozen=True, slots=True)
class Compared:
    """The first side is the base that the others are compared with."""

    subjects: Sequence[Subject]
    differences: dict[str, list[str | None]]
    comparisons: Sequence[Comparison]
    normalized: Normalized | None


def compare_all(subjects: Sequence[Subject], card: Subject | None = None) -> Compared:
    """Everything that ``aiscore compare`` shows.

    Raises UserError if the card has no times to normalise to, or none in common.
    """
    base, *others = subjects
    return Compared(
        subjects=subjects,
        differences=differences(subjects),
        comparisons=[compare_subjects(base, other) for other in others],
        normalized=None if card is None else _normalize(subjects, card),
    )


def _normalize(subjects: Sequence[Subject], card: Subject) -> Normalized:
    if not card.side.times_ms:
        raise UserError(
            f"{card.name} has no per-test times to normalize to",
            "take a card that aiscore leaderboard calls complete",
        )
    tests = [speeds(card.side.times_ms, subject.side.times_ms) for subject in subjects]
    if not any(tests):
        raise UserError(f"no test in common with {card.name}", "take another card")
    shared = set.intersection(*(set(found) for found in tests))
    groups = [
        {name: over(found, members & shared) for name, members in GROUPS.items()} for found in tests
    ]
    return Normalized(card.name, tests, groups)


def compare_document(compared: Compared) -> dict[str, Any]:
    """What ``aiscore compare --json`` prints."""
    base, *others = compared.subjects
    normalized = compared.normalized
    return {
        "subjects": [
            {
                "name": subject.name,
                "source": subject.source,
                "scores": dict(subject.side.scores),
                "tests_ms": dict(subject.side.times_ms),
                "setup": dict(subject.setup),
                "remarks": list(subject.remarks),
                "price": (price := subject.worth.price) and price.model_dump(mode="json"),
                "score_per": score_per(subject.side.scores, subject.worth),
            }
            for subject in compared.subjects
        ],
        "differences": compared.differences,
        "base": base.name,
        "comparisons": [
            {"name": other.name, **asdict(found)}
            for other, found in zip(others, compared.comparisons, strict=True)
        ],
        "certainty": CERTAINTY,
        "normalized_to": normalized and asdict(normalized),
    }


def verdicts(compared: Compared) -> list[str]:
    """A line for each other side: how many times as fast as the first it is."""
    return [
        f"{letter} against A: {_verdict(found)}"
        for letter, found in zip(LETTERS[1:], compared.comparisons, strict=False)
    ]


def _verdict(found: Comparison) -> str:
    by_tests = [
        f"{GROUP_TITLES[name]} {ratio(speed.ratio)} x ({speed.tests})"
        for name, speed in found.groups.items()
        if speed.ratio is not None
    ]
    by_scores = [f"{SCORE_TITLES[name]} {ratio(value)} x" for name, value in found.scores.items()]
    parts = [
        f"{', '.join(by_scores)}" if by_scores else "",
        f"over the tests that both have, {', '.join(by_tests)}" if by_tests else "",
    ]
    return "; ".join(part for part in parts if part) or "no score and no test in common"


def score_lines(compared: Compared) -> list[list[str]]:
    """Title, each side's score, and each other side's ratio."""
    names = dict.fromkeys(name for subject in compared.subjects for name in subject.side.scores)
    return [
        [
            SCORE_TITLES[name],
            *(_number(subject.side.scores.get(name)) for subject in compared.subjects),
            *(ratio(found.scores.get(name)) for found in compared.comparisons),
        ]
        for name in names
    ]


def worth_lines(compared: Compared) -> list[list[str]]:
    """Each score over price, watt and GiB of each side, and the others' ratios to the first."""
    sides = [(subject.side.scores, subject.worth) for subject in compared.subjects]
    return [
        [*line, *(ratio(value_ratio(sides[0], side, name, of)) for side in sides[1:])]
        for line, (name, of) in zip(value_lines(sides), value_keys(sides), strict=True)
    ]


def value_ratio(base: Priced, other: Priced, name: str, of: str) -> float | None:
    """How many times as much score for a quantity; None across currencies."""
    prices = [known.price for _, known in (base, other)]
    if of == "price" and len({price and price.currency for price in prices}) > 1:
        return None
    mine, theirs = (value_of(side, name, of) for side in (base, other))
    return theirs / mine if mine and theirs else None


def test_lines(compared: Compared) -> list[list[str]]:
    """Id, network, mode, each side's time, and each other side's ratio, for tests of two sides."""
    times = [subject.side.times_ms for subject in compared.subjects]
    return [
        [
            spec.id,
            spec.title,
            spec.mode.value,
            *(milliseconds(side.get(spec.id))[0] for side in times),
            *(ratio(found.tests.get(spec.id)) for found in compared.comparisons),
        ]
        for spec in _specs()
        if sum(spec.id in side for side in times) > 1
    ]


def normalized_lines(normalized: Normalized) -> list[list[str]]:
    """Id, network, mode and each side's ratio to the card; then the means over common tests."""
    tests = [
        [spec.id, spec.title, spec.mode.value, *(ratio(t.get(spec.id)) for t in normalized.tests)]
        for spec in _specs()
        if any(spec.id in found for found in normalized.tests)
    ]
    means = [
        [
            "",
            f"geometric mean of {size}",
            GROUP_TITLES[name],
            *(ratio(g[name].ratio) for g in normalized.groups),
        ]
        for name in GROUPS
        if (size := normalized.groups[0][name].tests)
    ]
    return [*tests, *means]


def ratio(value: float | None) -> str:
    """Three digits: more than one run can tell."""
    if value is None:
        return "-"
    return three_digits(value)


def _specs() -> tuple[TestSpec, ...]:
    return FULL + MICRO


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
