"""Several stacks on one device: how fast each is, and which is the best in each test."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TypeVar

from aiscore.report.rows import milliseconds, three_digits
from aiscore.results.model import Result
from aiscore.results.subject import KIND_TITLES, KINDS, Subject, under
from aiscore.scoring.compare import NOISE_FLOOR, Verdict, find_tests, noise_floor
from aiscore.scoring.score import geometric_mean
from aiscore.spec import Mode, Precision, Protocol
from workloads.suite import FULL, MICRO

Value = TypeVar("Value")

NOBODY = "none for sure"
GPU = "gpu uuid"
SAME_DEVICE = ("kind", "device", "suite")


@dataclass(frozen=True, slots=True)
class Stack:
    """A backend, compiled or not, and what it computes in."""

    backend: str
    precision: str

    @classmethod
    def of(cls, backend: str, precision: str, *, xla: bool) -> "Stack":
        """The one of a result with these options."""
        return cls(f"{backend}{' xla' if xla else ''}", precision)

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
class KindSpeeds:
    """The same as ``Matrix`` for each kind of work, over the ``tests`` of it: title to speeds.

    ``sure``: whether the fastest side is surely faster than the next stack.
    """

    protocol: Protocol
    mode: Mode
    tests: Mapping[str, int]
    speeds: Mapping[str, Mapping[str, float]]
    sure: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class StartUp:
    """What each side, by letter, needed before passes counted: building, and first passes.

    Over the ``tests`` of the mode that all of these sides have, as ``Matrix``.
    """

    mode: Mode
    tests: int
    prepare_s: Mapping[str, float]
    first_passes_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Best:
    """The fastest side in a test. ``lead``: how many times as fast as the next stack it is."""

    test: str
    protocol: Protocol
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
    kinds: Sequence[KindSpeeds]
    start_ups: Sequence[StartUp]
    best: Sequence[Best]


def stack_of(result: Result) -> Stack:
    """What the result ran on."""
    return Stack.of(result.backend, result.options.precision, xla=result.options.xla)


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
        kinds=[
            speeds
            for protocol in Protocol
            for mode in Mode
            if (speeds := _kind_speeds(protocol, mode, sides))
        ],
        start_ups=[made for mode in Mode if (made := _start_up(mode, sides))],
        best=[
            Best(name, protocol, spec.title, spec.mode, *found)
            for protocol in Protocol
            for spec in FULL + MICRO
            if (found := _best(name := under(protocol, spec.id), sides, stacks))
        ],
    )


def _stack(subject: Subject) -> Stack:
    setup = subject.setup
    return Stack.of(setup["backend"], setup["precision"], xla=setup["option xla"] == "on")


def _matrix(protocol: Protocol, mode: Mode, sides: Mapping[str, Subject]) -> Matrix | None:
    """None where no two sides have a test in common."""
    names = {under(protocol, spec.id) for spec in FULL + MICRO if spec.mode is mode}
    times, common = _in_common(_times_ms(sides), names)
    return Matrix(protocol, mode, len(common), _speeds(times, common)) if common else None


def _kind_speeds(protocol: Protocol, mode: Mode, sides: Mapping[str, Subject]) -> KindSpeeds | None:
    """None where no two sides have a test in common."""
    found = {
        title: _in_common(_times_ms(sides), KINDS[under(protocol, f"{title}/{mode}")])
        for title in KIND_TITLES
    }
    shared = {title: pair for title, pair in found.items() if pair[1]}
    if not shared:
        return None
    speeds = {title: _speeds(times, tests) for title, (times, tests) in shared.items()}
    return KindSpeeds(
        protocol,
        mode,
        {title: len(tests) for title, (_, tests) in shared.items()},
        speeds,
        {title: _is_sure(speeds[title], len(tests), sides) for title, (_, tests) in shared.items()},
    )


def _is_sure(speeds: Mapping[str, float], tests: int, sides: Mapping[str, Subject]) -> bool:
    """Whether the fastest of these is so by more than the noise floor before every other stack."""
    best = max(speeds, key=lambda letter: speeds[letter])
    return all(
        speeds[best] > speed * (1 + _noise_floor(sides[best], sides[letter], tests))
        for letter, speed in speeds.items()
        if _stack(sides[letter]) != _stack(sides[best])
    )


def _noise_floor(one: Subject, other: Subject, tests: int) -> float:
    """Without an interval; on one GPU, and so on one host, a few tests differ by no more."""
    same = one.setup.get(GPU) == other.setup.get(GPU)
    return NOISE_FLOOR if same else noise_floor(tests)


def _times_ms(sides: Mapping[str, Subject]) -> dict[str, Mapping[str, float]]:
    return {letter: subject.side.times_ms for letter, subject in sides.items()}


def _speeds(times: Mapping[str, Mapping[str, float]], tests: Collection[str]) -> dict[str, float]:
    """How many times as fast as the first each side is over these tests, by letter."""
    first = next(iter(times.values()))
    return {
        letter: geometric_mean(first[name] / found[name] for name in tests)
        for letter, found in times.items()
    }


def _start_up(mode: Mode, sides: Mapping[str, Subject]) -> StartUp | None:
    """None where no two sides have a test in common under their first protocols."""
    names = {
        under(protocol, spec.id)
        for protocol in Protocol
        for spec in FULL + MICRO
        if spec.mode is mode
    }
    starts, common = _in_common({key: side.starts for key, side in sides.items()}, names)
    if not common:
        return None
    return StartUp(
        mode,
        len(common),
        {key: fsum(found[name].prepare_s for name in common) for key, found in starts.items()},
        {key: fsum(found[name].first_pass_s for name in common) for key, found in starts.items()},
    )


def _in_common(
    sides: Mapping[str, Mapping[str, Value]], names: Collection[str]
) -> tuple[dict[str, dict[str, Value]], set[str]]:
    """What the sides that have any of these tests have of them, and which tests all of these have.

    The latter is empty where it is one side or none.
    """
    found = {
        letter: mine
        for letter, side in sides.items()
        if (mine := {name: value for name, value in side.items() if name in names})
    }
    return found, set.intersection(*map(set, found.values())) if len(found) > 1 else set()


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
    floor = _noise_floor(sides[rivals[0]], sides[best], 1)
    sure = finding.verdict is Verdict.FASTER if finding else lead > 1 + floor
    return best, times[best], lead, sure


Grid = tuple[list[str], list[list[str]]]
"""A header, and a line for each backend with a column for each precision that any has."""


def matrix_grid(found: Stacks, matrix: Matrix) -> Grid:
    """How many times as fast each is."""
    title = f"{under(matrix.protocol, matrix.mode)}, {matrix.tests} tests"
    cells = {letter: three_digits(speed) for letter, speed in matrix.speeds.items()}
    return _grid(found, title, cells)


def kind_grid(found: Stacks, kinds: KindSpeeds) -> Grid:
    """How many times as fast each side is in each kind of work, and which stack is the best."""
    letters = [
        letter for letter in found.stacks if any(letter in each for each in kinds.speeds.values())
    ]
    lines = []
    for title, speeds in kinds.speeds.items():
        best = found.stacks[max(speeds, key=lambda letter: speeds[letter])]
        cells = [three_digits(speeds[letter]) if letter in speeds else "-" for letter in letters]
        sign = "" if kinds.sure[title] else "~"
        lines.append([f"{title} ({kinds.tests[title]})", *cells, f"{sign}{best}"])
    return [under(kinds.protocol, kinds.mode), *letters, "best"], lines


def start_up_grid(found: Stacks, start_up: StartUp) -> Grid:
    """Seconds of building and of first passes."""
    title = f"{start_up.mode}, {start_up.tests} tests"
    cells = {
        letter: f"{three_digits(prepare_s)} + {three_digits(start_up.first_passes_s[letter])}"
        for letter, prepare_s in start_up.prepare_s.items()
    }
    return _grid(found, title, cells)


def _grid(found: Stacks, title: str, cells: Mapping[str, str]) -> Grid:
    there = {found.stacks[letter].precision for letter in cells}
    precisions = [precision.value for precision in Precision if precision in there]
    backends = dict.fromkeys(found.stacks[letter].backend for letter in cells)
    lines = [
        [backend, *(_cell(found, cells, Stack(backend, name)) for name in precisions)]
        for backend in backends
    ]
    return [title, *precisions], lines


def _cell(found: Stacks, cells: Mapping[str, str], stack: Stack) -> str:
    return ", ".join(
        f"{letter} {text}" for letter, text in cells.items() if found.stacks[letter] == stack
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


def best_counts(found: Stacks) -> list[str]:
    """In how many tests each stack is surely the best, most first, for each protocol and mode."""
    counts: dict[str, Counter[str]] = {}
    for best in found.best:
        of = counts.setdefault(under(best.protocol, best.mode), Counter())
        of[str(found.stacks[best.letter]) if best.sure else NOBODY] += 1
    return [
        f"{title}: {', '.join(f'{stack} in {count}' for stack, count in of.most_common())}"
        for title, of in counts.items()
    ]
