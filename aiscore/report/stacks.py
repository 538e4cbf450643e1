"""Several stacks on one device: how fast each is, and which is the best in each test."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aiscore.report.rows import milliseconds, three_digits
from aiscore.results.subject import Subject, under
from aiscore.scoring.compare import NOISE_FLOOR, Verdict, find_tests
from aiscore.scoring.score import geometric_mean
from aiscore.spec import Mode, Precision, Protocol
from workloads.suite import FULL, MICRO

SAME_DEVICE = ("kind", "device", "suite")


@dataclass(frozen=True, slots=True)
class Stack:
    """A backend, compiled or not, and what it computes in."""

    backend: str
    precision: str

    def __str__(self) -> str:
        return f"{self.backend} {self.precision}"


@dataclass(frozen=True, slots=True)
class Matrix:
    """How many times as fast as the first of them each side is, by letter.

    Over the ``tests`` of the mode that all of these sides have under the protocol.
    """

    protocol: Protocol
    mode: Mode
    tests: int
    speeds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Best:
    """The fastest side in a test. ``lead``: how many times as fast as the next stack it is."""

    test: str
    network: str
    mode: Mode
    letter: str
    time_ms: float
    lead: float
    sure: bool


@dataclass(frozen=True, slots=True)
class Stacks:
    """Sides that differ in their stack, on one device."""

    device: str
    stacks: Mapping[str, Stack]
    matrices: Sequence[Matrix]
    best: Sequence[Best]


def find_stacks(sides: Mapping[str, Subject]) -> Stacks | None:
    """The stacks of sides (by letter) that are results of one device; None if there is one only."""
    setups = [subject.setup for subject in sides.values()]
    if any(subject.source != "result" for subject in sides.values()) or any(
        len({setup[key] for setup in setups}) > 1 for key in SAME_DEVICE
    ):
        return None
    stacks = {letter: _stack(subject) for letter, subject in sides.items()}
    if len(set(stacks.values())) == 1:
        return None
    return Stacks(
        device=setups[0]["device"],
        stacks=stacks,
        matrices=[
            matrix
            for protocol in Protocol
            for mode in Mode
            if (matrix := _matrix(protocol, mode, sides))
        ],
        best=[
            Best(name, spec.title, spec.mode, *found)
            for protocol in Protocol
            for spec in FULL + MICRO
            if (found := _best(name := under(protocol, spec.id), sides, stacks))
        ],
    )


def _stack(subject: Subject) -> Stack:
    compiled = " xla" if subject.setup["option xla"] == "on" else ""
    return Stack(f"{subject.setup['backend']}{compiled}", subject.setup["precision"])


def _matrix(protocol: Protocol, mode: Mode, sides: Mapping[str, Subject]) -> Matrix | None:
    """None where no two sides have a test in common."""
    names = {under(protocol, spec.id) for spec in FULL + MICRO if spec.mode is mode}
    times = {
        letter: found
        for letter, subject in sides.items()
        if (found := {name: time for name, time in subject.side.times_ms.items() if name in names})
    }
    common = set.intersection(*map(set, times.values())) if len(times) > 1 else set()
    if not common:
        return None
    first = next(iter(times.values()))
    speeds = {
        letter: geometric_mean(first[name] / found[name] for name in common)
        for letter, found in times.items()
    }
    return Matrix(protocol, mode, len(common), speeds)


def _best(
    test: str, sides: Mapping[str, Subject], stacks: Mapping[str, Stack]
) -> tuple[str, float, float, bool] | None:
    """The best side, its time (ms), its lead, and whether that is sure.

    None where no two stacks have the test.
    """
    times = {
        letter: subject.side.times_ms[test]
        for letter, subject in sides.items()
        if test in subject.side.times_ms
    }
    best, *others = sorted(times, key=lambda letter: times[letter]) or [""]
    rivals = [letter for letter in others if stacks[letter] != stacks[best]]
    if not rivals:
        return None
    lead = times[rivals[0]] / times[best]
    finding = find_tests(sides[rivals[0]].side, sides[best].side).get(test)
    sure = finding.verdict is Verdict.FASTER if finding else lead > 1 + NOISE_FLOOR
    return best, times[best], lead, sure


def matrix_lines(found: Stacks, matrix: Matrix) -> tuple[list[str], list[list[str]]]:
    """Header and lines: a line for each backend, a column for each precision that any has."""
    there = {found.stacks[letter].precision for letter in matrix.speeds}
    precisions = [precision.value for precision in Precision if precision in there]
    backends = dict.fromkeys(found.stacks[letter].backend for letter in matrix.speeds)
    lines = [
        [backend, *(_cell(found, matrix, Stack(backend, name)) for name in precisions)]
        for backend in backends
    ]
    tests = f"{under(matrix.protocol, matrix.mode)}, {matrix.tests} tests"
    return [tests, *precisions], lines


def _cell(found: Stacks, matrix: Matrix, stack: Stack) -> str:
    return ", ".join(
        f"{letter} {three_digits(speed)}"
        for letter, speed in matrix.speeds.items()
        if found.stacks[letter] == stack
    )


def best_lines(found: Stacks) -> list[list[str]]:
    """Id, network, mode, the best side and its stack, its time, its lead over the next stack."""
    return [
        [
            best.test,
            best.network,
            best.mode.value,
            f"{best.letter} {found.stacks[best.letter]}",
            *milliseconds(best.time_ms),
            f"{'' if best.sure else '~'}{three_digits(best.lead)}",
        ]
        for best in found.best
    ]


def best_counts(found: Stacks) -> str:
    """In how many tests each stack is the best, most first."""
    counts = Counter(str(found.stacks[best.letter]) for best in found.best)
    return ", ".join(f"{stack} in {count}" for stack, count in counts.most_common())
