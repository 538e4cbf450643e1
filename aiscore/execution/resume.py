"""What a run that was cut off left behind, and whether this is the set-up that it had."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiscore.errors import UserError
from aiscore.execution import journal
from aiscore.execution.plan import Plan
from aiscore.execution.rounds import Key, key, next_round
from aiscore.results import store
from aiscore.results.model import Result, TestRecord
from aiscore.results.sweep import Sweep
from aiscore.spec import Status

HOST = (
    "os",
    "kernel",
    "machine",
    "cpu",
    "logical_cores",
    "affinity",
    "cpu_limit",
    "memory_limit_bytes",
    "governor",
    "container",
)
GPU = ("driver", "power_limit_w")
LONGEST_VALUE = 60


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A result, as far as it got, and the path that it has or will have."""

    path: Path
    result: Result

    @property
    def done(self) -> dict[Key, TestRecord]:
        """The records that stay."""
        kept = (_kept(test, self.result.run.rounds) for test in self.result.records)
        return {key(test): test for test in kept if test}

    def header(self, now: Result) -> Result:
        """The result without its records, as the run goes on."""
        run = self.result.run
        going_on = {
            "resumed_at": [*run.resumed_at, now.run.started_at],
            "label": now.run.label,
            "price": now.run.price,
            "timeout_s": now.run.timeout_s,
            "interrupted": False,
        }
        return self.result.with_records([]).model_copy(
            update={"run": run.model_copy(update=going_on), "summary": None}
        )

    def missing(self, plan: Plan) -> tuple[int, Plan] | None:
        """The number and the trials of the round that comes next; None if there is none."""
        return next_round(plan, self.result.with_records(self.done.values()))

    def require_same(self, now: Result) -> None:
        """Raises UserError, saying what differs, if ``now`` is another set-up."""
        self._require(differing(setup(self.result), setup(now)))

    def require_selection(self, plan: Plan) -> None:
        """Raises UserError if the plan is not what was asked for then."""
        then = (self.result.suite.value, ", ".join(self.result.run.requested))
        now = (plan.suite.value, ", ".join(test.id for test in plan.tests))
        names = ("suite", "tests")
        self._require(
            differing(
                dict(zip(names, then, strict=True)),
                dict(zip(names, now, strict=True)),
            )
        )

    def _require(self, found: str) -> None:
        if found:
            raise UserError(
                f"{self.path} was begun with another set-up: {found}",
                "resume it as it was begun, or begin another result",
            )


def find(path: Path) -> Unfinished:
    """What there is of the result of that path: the journal beside it, or an earlier result.

    Raises UserError if neither is there, or it cannot be read.
    """
    lines = journal.journal_path(path)
    return Unfinished(path, journal.read(lines) if lines.exists() else store.load(path))


def _kept(test: TestRecord, rounds: int) -> TestRecord | None:
    """What stays of a test: that it is not supported, or the rounds of it that are ok."""
    if test.status is Status.UNSUPPORTED:
        return test  # the same set-up would say so again
    if test.status is not Status.OK and rounds == 1:
        return None
    changes = {"status": Status.OK, "rounds": test.ok_rounds, "error": None}
    return test.model_copy(update=changes) if test.ok_rounds else None


def differing(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """What is not the same in two set-ups; empty if all is."""
    return "; ".join(
        f"{name} was {_short(then.get(name))}, is {_short(now.get(name))}"
        for name in {**then, **now}
        if then.get(name) != now.get(name)
    )


def machine_setup(begun: Result | Sweep) -> dict[str, Any]:
    """What of a set-up is the machine's, name to value."""
    device, environment = begun.device, begun.environment
    gpus = [gpu for gpu in environment.gpus if gpu.get("uuid") == device.uuid]
    return {
        "device": f"{device.kind.value} {device.name}",
        "device's UUID": device.uuid,
        "seed": begun.run.seed,
        **{f"gpu's {name}": gpu.get(name) for gpu in gpus for name in GPU},
        **environment.software,
        "aiscore": begun.aiscore_version,
        **environment.variables,
        **{name: environment.host.get(name) for name in HOST},
    }


def setup(result: Result) -> dict[str, str]:
    """What all tests of a result must have had in common, name to value."""
    values = {
        "protocol": ", ".join(part.protocol for part in result.parts),
        "backend": result.backend,
        "rounds": result.run.rounds,
        **{name: value for part in result.parts for name, value in part.policy.in_words().items()},
        **{
            name.replace("_", " "): value
            for name, value in result.options.model_dump(mode="json").items()
        },
        **machine_setup(result),
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def _short(value: str | None) -> str:
    return "not set" if value is None else textwrap.shorten(value, LONGEST_VALUE, placeholder="...")
