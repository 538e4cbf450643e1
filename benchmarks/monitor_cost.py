"""What the monitor costs: its own processor time, and what it does to a test.

One test runs in pairs, with the monitor and without, in fresh processes that
take turns in going first. Exit status 1 if the monitor takes 0.5 % of a core or
more, or if the interval of the ratio does not hold 1 or is wider than +-3 %.
"""

import argparse
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import fmean
from unittest import mock

import ratios

from aiscore.errors import UserError
from aiscore.execution import run
from aiscore.execution.request import Request
from aiscore.execution.runner import Observer
from aiscore.results.model import RoundRecord
from aiscore.spec import Device, Status, Suite
from aiscore.system.monitor import Monitor, Telemetry, open_monitor

BAR_OF_A_CORE = 0.005
BAR_OF_A_TEST = 0.03


class Nobody(Monitor):
    """Watches nothing."""

    def begin(self, worker: int) -> None:
        """Does nothing."""

    def end(self) -> Telemetry | None:
        """Has seen nothing."""
        return None


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--suite", type=Suite, choices=list(Suite), default=Suite.MICRO)
    parser.add_argument("--test", default="5.m", help="its id")
    parser.add_argument("--passes", type=int, default=100)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    try:
        pairs = [_pair(arguments, turn) for turn in range(arguments.pairs)]
    except UserError as error:
        print(f"monitor_cost: {error}", file=sys.stderr)
        return error.exit_code
    return report(pairs)


def report(pairs: list[tuple[RoundRecord, RoundRecord]]) -> int:
    """Prints what the pairs (with the monitor, without) say; 0 if it keeps to the bars."""
    found = [record.telemetry for record, _ in pairs if record.telemetry]
    cost = sum(one.cost_s for one in found) / sum(one.duration_s for one in found)
    samples = sum(one.samples for one in found)
    effect = ratios.median([_mean_s(seen) / _mean_s(unseen) for seen, unseen in pairs])
    print(f"processor time: {cost:.3%} of a core over {samples} samples")
    print(
        f"with / without: {effect.value:.4f} ({effect.low:.4f} to {effect.high:.4f},"
        f" {effect.kind}, {len(pairs)} pairs)"
    )
    cheap = cost < BAR_OF_A_CORE
    harmless = 1 - BAR_OF_A_TEST < effect.low <= 1 <= effect.high < 1 + BAR_OF_A_TEST
    return 0 if cheap and harmless else 1


def _pair(arguments: argparse.Namespace, turn: int) -> tuple[RoundRecord, RoundRecord]:
    order = [True, False] if turn % 2 == 0 else [False, True]
    measured = {watched: _measure(arguments, watched) for watched in order}
    return measured[True], measured[False]


def _measure(arguments: argparse.Namespace, watched: bool) -> RoundRecord:
    def monitor(device: Device) -> AbstractContextManager[Monitor]:
        return open_monitor(device) if watched else nullcontext(Nobody([]))

    with (
        tempfile.TemporaryDirectory() as directory,
        mock.patch.object(run, "open_monitor", monitor),
        mock.patch.object(run, "measure_roof", lambda *_: None),  # is over before the test
    ):
        request = Request(
            suite=arguments.suite,
            tests=arguments.test,
            passes=arguments.passes,
            device=arguments.device,
            output=Path(directory) / "result.json",
        )
        (test,) = run.execute(request, Observer(), lambda question: False).result.tests
    if test.status is not Status.OK:
        raise UserError(f"test {test.id} is {test.status}", "choose another")
    return test.rounds[0]


def _mean_s(record: RoundRecord) -> float:
    return fmean(record.passes_s[1:])


if __name__ == "__main__":
    sys.exit(main())
