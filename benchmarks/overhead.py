"""What aiscore's resident loop costs: its blocks against a hand-written loop, in pairs.

Both run in one process on the same device, and take turns in going first. Exit
status 1 if the median of the ratios of any test is above 1.02.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import hand_written
import ratios
import resident_blocks

from aiscore.backends import base
from aiscore.backends.base import Session
from aiscore.errors import UserError
from aiscore.execution.plan import make_plan
from aiscore.scoring import resident
from aiscore.spec import KNOWN_KINDS, RESIDENT_POLICY, DeviceKind, Options, Suite, TestSpec
from workloads import data, suite

BAR = 1.02
SEED = 0
BLOCKS = replace(RESIDENT_POLICY, passes=3, early_stop=False)


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--backend", choices=[*hand_written.LOOPS], default="tensorflow")
    parser.add_argument("--device", type=DeviceKind, choices=KNOWN_KINDS, required=True)
    parser.add_argument("--suite", type=Suite, choices=list(Suite), default=Suite.MICRO)
    parser.add_argument("--tests", default="1,5", help="ids, numbers or names of networks")
    parser.add_argument("--pairs", type=int, default=20)
    arguments = parser.parse_args()
    if arguments.device is DeviceKind.CPU:
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    try:
        plan = make_plan(arguments.suite, tests=arguments.tests)
    except UserError as error:
        print(f"overhead: {error}", file=sys.stderr)
        return error.exit_code
    found = [measure(test, arguments) for test in plan.tests]
    return 0 if all(effect.value <= BAR for effect in found) else 1


def measure(test: TestSpec, arguments: argparse.Namespace) -> ratios.Estimate:
    """The ratio of aiscore's time for a pass to the hand-written loop's; prints it."""
    backend = base.load(arguments.backend)
    device = next(d for d in backend.devices() if d.kind is arguments.device)
    session = backend.open(suite.NETWORKS[test.network], device, Options(), SEED)
    batch = data.make_batch(test, SEED)
    session.prepare(test, batch)
    session.place(batch)
    loop = hand_written.LOOPS[arguments.backend](session, test, batch)
    size = _block_size(session)
    pairs = []
    for turn in range(arguments.pairs):
        turns: list[Callable[[], float]] = [lambda: _ours(session), lambda: _theirs(loop, size)]
        order = turns if turn % 2 == 0 else turns[::-1]
        taken = {run: run() for run in order}
        pairs.append(taken[turns[0]] / taken[turns[1]])
    session.close()
    effect = ratios.median(pairs)
    print(
        f"{arguments.backend} {test.id} {test.title} {test.mode}: {effect.value:.4f}"
        f" ({effect.low:.4f} to {effect.high:.4f}, {effect.kind}, {len(pairs)} pairs)",
        flush=True,
    )
    return effect


def _block_size(session: Session) -> int:
    """How many passes a block has once everything is compiled and warm."""
    resident_blocks.sample(session, BLOCKS)
    return resident_blocks.sample(session, BLOCKS)[0][-1]


def _ours(session: Session) -> float:
    """A pass as aiscore tells it."""
    return median(resident.counted(*resident_blocks.sample(session, BLOCKS)))


def _theirs(loop: hand_written.Loop, size: int) -> float:
    """A pass in the hand-written loop: the median of as many stretches, of as many passes."""
    loop(size)
    taken = []
    for _ in range(BLOCKS.passes):
        begin = time.perf_counter()
        loop(size)
        taken.append((time.perf_counter() - begin) / size)
    return median(taken)


if __name__ == "__main__":
    sys.exit(main())
