"""What a page says of the stacks on a device: who is how fast, in what, and needs what to start."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aiscore.report import stacks
from aiscore.report.comparisons import LETTERS, NO_INTERVAL
from aiscore.report.rows import status_text
from aiscore.results.model import Result
from aiscore.results.subject import from_result
from aiscore.scoring.compare import ROUNDS

DATE = 10  # letters of a time's date
SHORT_UUID = 12  # letters that tell a few GPUs apart
TIMES_AS_FAST = (
    "How many times as fast as the first side of each table, over the tests that all of its sides"
    " have."
)
BEST = "lead: how many times as fast as the next stack, ~ where that is not sure"
COMPILE = "To start: building + first passes, which compile, in s"


@dataclass(frozen=True, slots=True)
class Group:
    """Tables of one kind under a title."""

    title: str
    tables: Sequence[stacks.Grid]


@dataclass(frozen=True, slots=True)
class Section:
    """One device: which result is which side, what they do, and the best stack of each test.

    ``counts``: how often each stack is the best.
    """

    title: str
    notes: Sequence[str]
    sides: stacks.Grid
    groups: Sequence[Group]
    best: Group
    counts: Sequence[str]


def sections(results: Iterable[Result]) -> list[Section]:
    """One for each device that has results of several stacks."""
    devices: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        if not result.imported:
            key = (result.device.kind, result.device.name, result.suite)
            devices.setdefault(key, []).append(result)
    several = [group for group in devices.values() if len(set(map(stacks.stack_of, group))) > 1]
    made = [_section(group[: len(LETTERS)]) for group in several]
    return [section for section in made if section]


def _section(results: Sequence[Result]) -> Section | None:
    named = dict(zip(LETTERS, results, strict=False))
    found = stacks.find_stacks({letter: from_result(result) for letter, result in named.items()})
    if found is None:
        return None
    certain = all(result.run.rounds >= ROUNDS for result in results)
    return Section(
        title=f"Stacks on {found.device}",
        notes=[TIMES_AS_FAST, *([] if certain else [NO_INTERVAL])],
        sides=(
            ["side", "stack", "status", "rounds", "begun", "GPU"],
            [_side(letter, result) for letter, result in named.items()],
        ),
        groups=[
            Group(
                "All tests that they have in common",
                [stacks.matrix_grid(found, each) for each in found.matrices],
            ),
            Group(
                "Kinds of work, ~ where the best is not sure",
                [stacks.kind_grid(found, each) for each in found.kinds],
            ),
            Group(COMPILE, [stacks.start_up_grid(found, each) for each in found.start_ups]),
        ],
        best=Group(
            f"The best in each test; {BEST}",
            [(["test", "network", "mode", "stack", "ms", "lead"], stacks.best_lines(found))],
        ),
        counts=stacks.best_counts(found),
    )


def _side(letter: str, result: Result) -> list[str]:
    run = result.run
    return [
        letter,
        f"{stacks.stack_of(result)}",
        status_text(result),
        f"{run.rounds}",
        run.started_at[:DATE],
        (result.device.uuid or "-")[:SHORT_UUID],
    ]
