"""How often two runs of the same set-up get a winner (A/A), and the noise floor that prevents it.

Pairs of runs of one command, one after the other, are compared as ``aiscore
compare`` compares them. The noise floor is the margin within which sides count
as the same: the first half of the pairs chooses it, the others check it. Results
are kept in a directory; what is there is not measured again.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil
from pathlib import Path
from statistics import median

from aiscore.errors import UserError
from aiscore.execution.journal import journal_path
from aiscore.execution.request import Request
from aiscore.execution.resume import setup
from aiscore.execution.run import execute
from aiscore.execution.runner import Observer
from aiscore.results.model import Result
from aiscore.results.store import load
from aiscore.results.subject import compare_subjects, from_result
from aiscore.results.summary import round_scores
from aiscore.scoring.compare import MARGIN, NOISE_FLOOR, Finding, Verdict, judge
from aiscore.spec import Status, Suite

TESTS, ROUNDS, PASSES = "1,5,8", 3, 8
STEP = 0.005  # a floor is a multiple of it
FEWEST_PAIRS = 2
MOST_WINNERS = 1  # among the pairs that check
INTERRUPTED = 130

Pair = tuple[Result, Result]


@dataclass(frozen=True, slots=True)
class Compared:
    """One pair: what ``compare`` finds over the common tests, and each round against each."""

    finding: Finding
    single_rounds: Sequence[float]

    @property
    def interval(self) -> tuple[float, float]:
        """Of the ratio; there is none without rounds."""
        if self.finding.interval is None:
            raise UserError("a pair has no interval", "measure it with 3 rounds or more")
        return self.finding.interval

    @property
    def beyond(self) -> float:
        """The largest margin at which one of the two wins; 0 if none does at any."""
        low, high = self.interval
        return max(low - 1, 1 / high - 1, 0.0)

    def wins(self, margin: float) -> bool:
        """Whether one of the two is called faster."""
        return judge(self.interval, margin) in (Verdict.FASTER, Verdict.SLOWER)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures what is missing, and prints a report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("directory", type=Path, help="where the results are kept")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--backend", default="tensorflow")
    parser.add_argument("--device", default="auto")
    given = parser.parse_args(arguments)
    try:
        pairs = measure(given.directory, given.pairs, given.backend, given.device)
        text, holds = report(pairs)
    except UserError as error:
        print(f"same: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("same: interrupted; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED
    print(text)
    return 0 if holds else 1


def measure(directory: Path, pairs: int, backend: str, device: str) -> list[Pair]:
    """The pairs, those that are missing measured now; raises KeyboardInterrupt for Ctrl-C."""
    if pairs < FEWEST_PAIRS:
        raise UserError(f"{pairs} pairs cannot choose a floor and check it", "ask for 2 or more")
    directory.mkdir(parents=True, exist_ok=True)
    found = []
    for number in range(1, pairs + 1):
        first, second = (
            _result(directory / f"pair-{number:02}-{side}.json", backend, device) for side in "ab"
        )
        found.append((first, second))
    _require_same([result for pair in found for result in pair])
    return found


def _result(path: Path, backend: str, device: str) -> Result:
    """What is there, if it is whole; else measured in one stretch."""
    if path.exists() and _is_whole(kept := load(path)):
        return kept
    journal_path(path).unlink(missing_ok=True)
    print(f"same: measuring {path.name}", file=sys.stderr)
    request = Request(
        suite=Suite.MICRO,
        tests=TESTS,
        rounds=ROUNDS,
        passes=PASSES,
        backend=backend,
        device=device,
        output=path,
    )
    outcome = execute(request, Observer(), lambda question: True)
    if outcome.unsaved:
        raise outcome.unsaved
    if outcome.result.run.interrupted:
        raise KeyboardInterrupt
    if not _is_whole(outcome.result):
        raise UserError(f"{path} has a test that is not ok", "aiscore show says why")
    return outcome.result


def _is_whole(result: Result) -> bool:
    return not result.run.interrupted and all(test.status is Status.OK for test in result.tests)


def _require_same(results: Sequence[Result]) -> None:
    """Raises UserError if they are not runs of one set-up."""
    setups = [setup(result) for result in results]
    for key in {key for one in setups for key in one}:
        values = {one.get(key) for one in setups}
        if len(values) > 1:
            raise UserError(
                f"the results differ in {key}: {', '.join(map(str, values))}",
                "measure all pairs on one machine with one stack, in an empty directory",
            )


def compared(pair: Pair) -> Compared:
    """What ``compare`` makes of the two."""
    first, second = map(from_result, pair)
    mine, theirs = (round_scores(result)["micro"] for result in pair)
    ratios = [other / one for one, other in product(mine, theirs)]
    return Compared(compare_subjects(first, second).findings["micro"], ratios)


def floor_for(pairs: Sequence[Compared]) -> float:
    """The smallest floor, ``compare``'s own or above, at which none of these gets a winner."""
    needed = max(pair.beyond for pair in pairs)
    return max(MARGIN, ceil(needed / STEP) * STEP)


def report(pairs: Sequence[Pair]) -> tuple[str, bool]:
    """Markdown, and whether ``compare``'s own floor is enough and the chosen one proves true."""
    found = [compared(pair) for pair in pairs]
    choosing, checking = found[: len(found) // 2], found[len(found) // 2 :]
    floor = floor_for(choosing)
    winners = sum(pair.wins(floor) for pair in checking)
    holds = winners <= MOST_WINNERS and floor <= MARGIN
    lines = [
        _stack(pairs[0][0]),
        "",
        "| pair | B / A | 95 % interval | its width | a winner below | at the floor |",
        "|---|---|---|---|---|---|",
        *(_row(number, pair, floor) for number, pair in enumerate(found, start=1)),
        "",
        f"- Pairs 1 to {len(choosing)} choose the floor: {floor:.1%}. {_why(choosing, floor)}",
        f"- Of the other {len(checking)} pairs {winners} get a winner at that floor"
        f" (at most {MOST_WINNERS} may).",
        f"- Without any floor {sum(pair.wins(0) for pair in found)} of {len(found)} would get one,"
        f" at compare's margin of {MARGIN:.0%} {sum(pair.wins(MARGIN) for pair in found)}.",
        f"- The median width of an interval is {median(map(_width, found)):.1%}.",
        f"- {_about_single_rounds(found)}",
    ]
    return "\n".join(lines), holds


def _stack(result: Result) -> str:
    """What was measured, where and with what."""
    host, software = result.environment.host, result.environment.software
    return (
        f"`--suite {result.suite} --tests {TESTS} --rounds {ROUNDS} --passes {PASSES}` on"
        f" {result.device.name} ({host.get('logical_cores')} logical cores, {host.get('os')}),"
        f" {result.backend} {software.get(result.backend)}, Python {software.get('python')}:"
    )


def _row(number: int, pair: Compared, floor: float) -> str:
    low, high = pair.interval
    beyond = f"{pair.beyond:.2%}" if pair.beyond else "never"
    winner = "a winner" if pair.wins(floor) else "none"
    return (
        f"| {number} | {pair.finding.ratio:.4f} | {low:.4f} to {high:.4f} | {_width(pair):.1%}"
        f" | {beyond} | {winner} |"
    )


def _width(pair: Compared) -> float:
    low, high = pair.interval
    return high / low - 1


def _why(choosing: Sequence[Compared], floor: float) -> str:
    needed = max(pair.beyond for pair in choosing)
    if floor > MARGIN:
        return f"One of them gets a winner at any margin below {needed:.2%}."
    return "None of them gets a winner at compare's margin, and less is not asked for."


def _about_single_rounds(found: Sequence[Compared]) -> str:
    """How far results without an interval are from the floor that stands for one."""
    ratios = [ratio for pair in found for ratio in pair.single_rounds]
    largest = max(max(ratio, 1 / ratio) for ratio in ratios) - 1
    return (
        f"One round of A and one of B differ by {largest:.1%} at most ({len(ratios)} such pairs)."
        f" Without an interval compare asks for {NOISE_FLOOR:.0%}, which is from two hosts with"
        " one card (docs/comparing.md)."
    )


if __name__ == "__main__":
    sys.exit(main())
