"""Two or more sides against each other: the tables and the document, plain data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from string import ascii_uppercase
from typing import Any

from aiscore.errors import UserError
from aiscore.report.escape import short
from aiscore.report.rows import (
    SCORE_TITLES,
    milliseconds,
    three_digits,
    value_keys,
    value_lines,
)
from aiscore.report.sentence import sentence, value_ratio
from aiscore.report.stacks import Stacks, find_stacks
from aiscore.results.subject import (
    GROUPS,
    KINDS,
    SCORES,
    Subject,
    changed,
    compare_subjects,
    differences,
    under,
)
from aiscore.results.worth import score_per
from aiscore.scoring.compare import (
    MARGIN,
    NOISE_FLOOR,
    ROUNDS,
    ROUNDS_PER_TEST,
    Comparison,
    Finding,
    Speed,
    Verdict,
    noise_floor,
    over,
    speeds,
)
from aiscore.spec import Mode, Protocol
from workloads.suite import FULL, MICRO

LETTERS = ascii_uppercase
FEW = 7  # tests; a kind of work has about as many
LONGEST_FACT = 160  # letters of a set-up's value that are shown; the document has them all
GROUP_TITLES = {
    under(protocol, name): under(protocol, {"ai": "both"}.get(name, name))
    for protocol in Protocol
    for name in SCORES
}
# Each test that a side can have, by its name there: id, network and mode.
TESTS = {
    under(protocol, spec.id): (under(protocol, spec.id), spec.title, spec.mode)
    for protocol in Protocol
    for spec in FULL + MICRO
}
NO_INTERVAL = (
    f"Without an interval, nothing below {NOISE_FLOOR:.0%} is called a difference, and over few"
    f" tests nothing below {noise_floor(FEW):.0%} ({FEW} of them) to {noise_floor(1):.0%} (one):"
    " hosts with the same card have differed by nearly as much."
    f" {ROUNDS} rounds on both sides give an interval."
)


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
    stacks: Stacks | None


def compare_all(
    subjects: Sequence[Subject], card: Subject | None = None, margin: float = MARGIN
) -> Compared:
    """Everything that ``aiscore compare`` shows; within the margin, sides are the same.

    Raises UserError if the card has no times to normalise to, or none in common.
    """
    base, *others = subjects
    return Compared(
        subjects=subjects,
        differences=differences(subjects),
        comparisons=[compare_subjects(base, other, margin) for other in others],
        normalized=None if card is None else _normalize(subjects, card),
        stacks=find_stacks(dict(zip(LETTERS, subjects, strict=False))),
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
        "changed": changed(compared.differences),
        "differences": compared.differences,
        "base": base.name,
        "comparisons": [
            {"name": other.name, **asdict(found)}
            for other, found in zip(others, compared.comparisons, strict=True)
        ],
        "sentences": sentences(compared),
        "normalized_to": normalized and asdict(normalized),
        "stacks": compared.stacks and asdict(compared.stacks),
    }


def first_line(compared: Compared) -> str:
    """What was changed between the sides: the one variable, or that it is not one."""
    names = changed(compared.differences)
    known = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
    silent = next((item.source for item in compared.subjects if item.source != "result"), None)
    if silent:
        return (
            f"Known to differ: {known or 'nothing'}; what a {silent} does not say may differ too."
        )
    if not names:
        return "Changed: nothing that the results tell of."
    if len(names) == 1:
        return f"Changed: {known} ({_details(compared.differences)})."
    return f"Changed: {known}; no difference can be put down to one of them."


def _details(different: Mapping[str, Sequence[str | None]]) -> str:
    return "; ".join(
        f"{key} {' against '.join(short(value or 'unknown', LONGEST_FACT) for value in values)}"
        for key, values in different.items()
    )


def setup_lines(differences: Mapping[str, Sequence[str | None]]) -> list[list[str]]:
    """What differs in the set-up, a value for each side; the beginning of a long one."""
    return [
        [key, *("-" if value is None else short(value, LONGEST_FACT) for value in values)]
        for key, values in differences.items()
    ]


def finding_lines(compared: Compared) -> list[list[str]]:
    """Who, which score, the ratio to the first side, its interval, and the verdict."""
    base, *others = compared.subjects
    return [
        [
            letter,
            _finding_title(name, found),
            ratio(finding.ratio),
            _interval(finding, base, other),
            finding.verdict.value,
        ]
        for letter, other, found in zip(LETTERS[1:], others, compared.comparisons, strict=False)
        for name, finding in found.findings.items()
    ]


def _finding_title(name: str, found: Comparison) -> str:
    if name in found.scores:
        return SCORE_TITLES[name]
    return f"{GROUP_TITLES[name]}, over {found.groups[name].tests} common tests"


def _interval(finding: Finding, base: Subject, other: Subject) -> str:
    if finding.interval:
        return " to ".join(ratio(bound) for bound in finding.interval)
    if "card" in (base.source, other.source):
        return "leaderboard card: no interval"
    if "log" in (base.source, other.source):
        return "imported log: no interval"
    return f"no interval: rounds {finding.rounds[0]} and {finding.rounds[1]}"


def notes(compared: Compared) -> list[str]:
    """What the verdicts stand on."""
    findings = [item for found in compared.comparisons for item in found.findings.values()]
    if not findings:
        return ["Nothing to compare: no score and no test in common."]
    return [NO_INTERVAL] if any(finding.interval is None for finding in findings) else []


def test_note(compared: Compared) -> str:
    """What the last columns of the tests mean, and what they need."""
    moves = "moves: how far the test alone moves the score of its mode"
    sure = (
        "sure: whether it differs, corrected for the number of tests (~ not sure,"
        f" - fewer than {ROUNDS_PER_TEST} rounds)"
    )
    return f"{moves}; {sure}" if len(compared.comparisons) == 1 else ""


def kind_lines(compared: Compared) -> list[list[str]]:
    """Each kind of work, with each other side's ratio in inference and in training."""
    titles = dict.fromkeys(key.partition("/")[0] for key in KINDS)
    lines = [
        [
            title,
            *(
                _kind(found.kinds.get(f"{title}/{mode}"))
                for found in compared.comparisons
                for mode in Mode
            ),
        ]
        for title in titles
    ]
    return [line for line in lines if set(line[1:]) != {"-"}]


def _kind(finding: Finding | None) -> str:
    """The ratio, the count of tests behind it, and the verdict where there is an interval."""
    if finding is None:
        return "-"
    verdict = f" {finding.verdict}" if finding.interval else ""
    return f"{ratio(finding.ratio)} ({finding.tests}){verdict}"


def sentences(compared: Compared) -> list[str]:
    """What can be said for sure of each other side."""
    base, *others = compared.subjects
    made = [
        sentence(base, other, found, ("A", letter), protocol)
        for letter, other, found in zip(LETTERS[1:], others, compared.comparisons, strict=False)
        for protocol in Protocol
    ]
    return [text for text in made if text]


def score_lines(compared: Compared) -> list[list[str]]:
    """Title, each side's score, and each other side's ratio; of scores that a side has."""
    names = dict.fromkeys(
        name
        for subject in compared.subjects
        for name, value in subject.side.scores.items()
        if value is not None
    )
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


def test_lines(compared: Compared) -> list[list[str]]:
    """Id, network, mode, each side's time, each ratio; what moves the score most comes first.

    For two sides also by how much the test moves the score of its mode, and
    whether its difference is sure.
    """
    times = [subject.side.times_ms for subject in compared.subjects]
    moves = [_moves(found) for found in compared.comparisons]
    shared = [test for test in TESTS if sum(test in side for side in times) > 1]
    most = {test: max(abs(log(move.get(test, 1))) for move in moves) for test in shared}
    return [
        [
            *TESTS[test],
            *(milliseconds(side.get(test))[0] for side in times),
            *(ratio(found.tests.get(test)) for found in compared.comparisons),
            *(_two_sided(compared.comparisons[0], moves[0], test) if len(moves) == 1 else ()),
        ]
        for test in sorted(shared, key=lambda test: -most[test])
    ]


def _two_sided(found: Comparison, moves: Mapping[str, float], test: str) -> tuple[str, str]:
    finding = found.test_findings.get(test)
    undecided = finding is not None and finding.verdict is Verdict.INCONCLUSIVE
    return f"{moves[test] - 1:+z.1%}", "~" if undecided else finding.verdict if finding else "-"


def _moves(found: Comparison) -> dict[str, float]:
    """Test to the factor by which it alone moves the score of its mode."""
    scores = {
        under(protocol, spec.id): under(protocol, spec.mode)
        for protocol in Protocol
        for spec in FULL + MICRO
    }
    count = Counter(scores[test] for test in found.tests)
    return {test: value ** (1 / count[scores[test]]) for test, value in found.tests.items()}


def normalized_lines(normalized: Normalized) -> list[list[str]]:
    """Id, network, mode and each side's ratio to the card; then the means over common tests."""
    tests = [
        [*facts, *(ratio(found.get(test)) for found in normalized.tests)]
        for test, facts in TESTS.items()
        if any(test in found for found in normalized.tests)
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


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
