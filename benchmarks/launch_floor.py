"""How much of a resident pass is launching: the same pass over a batch of one.

A pass over one input launches the operations of a pass over the whole batch, and
leaves a fast card next to nothing to compute. So what it takes is about what the
host needs to launch a pass. Both sizes take turns in one session.
"""

import argparse
import os
import sys
from dataclasses import dataclass, replace
from statistics import median

import resident_blocks

from aiscore.backends import base
from aiscore.backends.base import Batch, ResidentSession
from aiscore.errors import UserError
from aiscore.execution.plan import make_plan
from aiscore.scoring import resident
from aiscore.spec import (
    KNOWN_KINDS,
    RESIDENT_POLICY,
    DeviceKind,
    Options,
    Precision,
    Suite,
    TestSpec,
)
from workloads import data, suite

SEED = 0
BLOCKS = replace(RESIDENT_POLICY, max_seconds=1.5)
TURNS = 2
MS_PER_S = 1000


@dataclass(frozen=True, slots=True)
class Floor:
    """The time of a resident pass over the whole batch and over one input, in ms."""

    whole_ms: float
    one_ms: float


def main() -> int:
    """Measures and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--backend", choices=base.names(), default="tensorflow")
    parser.add_argument("--device", type=DeviceKind, choices=KNOWN_KINDS, required=True)
    parser.add_argument("--precision", type=Precision, choices=list(Precision))
    parser.add_argument("--suite", type=Suite, choices=list(Suite), default=Suite.FULL)
    parser.add_argument("--tests", default="1,5", help="ids, numbers or names of networks")
    arguments = parser.parse_args()
    if arguments.device is DeviceKind.CPU:
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    try:
        plan = make_plan(arguments.suite, tests=arguments.tests)
    except UserError as error:
        print(f"launch_floor: {error}", file=sys.stderr)
        return error.exit_code
    print("| test | batch | ms | of one, ms | share |\n|---|---:|---:|---:|---:|")
    for test in plan.tests:
        floor = measure(test, arguments)
        share = floor.one_ms / floor.whole_ms
        print(
            f"| {test.id} {test.title} {test.mode} | {test.batch} | {floor.whole_ms:.2f} "
            f"| {floor.one_ms:.2f} | {share:.0%} |",
            flush=True,
        )
    return 0


def measure(test: TestSpec, arguments: argparse.Namespace) -> Floor:
    """Both times of one test, in a session of its own."""
    backend = base.load(arguments.backend)
    device = next(d for d in backend.devices() if d.kind is arguments.device)
    options = Options() if arguments.precision is None else Options(precision=arguments.precision)
    session = backend.open(suite.NETWORKS[test.network], device, options, SEED)
    whole = data.make_batch(test, SEED)
    session.prepare(test, whole)
    turns = [(time_pass(session, whole), time_pass(session, first_of(whole))) for _ in range(TURNS)]
    session.close()
    whole_s, one_s = (median(times) for times in zip(*turns, strict=True))
    return Floor(whole_s * MS_PER_S, one_s * MS_PER_S)


def first_of(batch: Batch) -> Batch:
    """The first input of a batch, and its target, as a batch."""
    return Batch(input=batch.input[:1], target=None if batch.target is None else batch.target[:1])


def time_pass(session: ResidentSession, batch: Batch) -> float:
    """The time of a resident pass over the batch, in s."""
    session.place(batch)
    return median(resident.counted(*resident_blocks.sample(session, BLOCKS)))


if __name__ == "__main__":
    sys.exit(main())
