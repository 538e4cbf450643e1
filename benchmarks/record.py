"""What was measured, on what; kept as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pairs import Paired, Times

from aiscore.errors import UserError
from workloads import suite

ORDER = {test.id: position for position, test in enumerate(suite.FULL)}
SAME_IN_ALL_PARTS = ("host", "software", "bar")


@dataclass
class Record:
    """One stretch on one machine, or a part of it.

    ``tests`` compares the original with aiscore, ``noise`` with itself. A test
    is ``off`` if its interval lies wholly outside 1 +- ``bar``.
    """

    started_at: str
    host: dict[str, str]
    bar: float
    software: dict[str, str] = field(default_factory=dict)
    tests: list[Paired] = field(default_factory=list)
    noise: list[Paired] = field(default_factory=list)
    unsupported: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """The whole record."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Record":
        """The inverse; raises ValueError or TypeError for anything else."""
        data = json.loads(text)
        if not isinstance(data, dict):
            raise ValueError("not a JSON object")
        for key in ("tests", "noise"):
            data[key] = [_paired(test) for test in data.get(key, ())]
        return cls(**data)


def _paired(data: dict[str, Any]) -> Paired:
    sides = {key: Times(**data[key]) for key in ("reference", "candidate")}
    return Paired(**{**data, **sides})


def read(path: Path) -> Record:
    """The record in the file; raises UserError if it does not hold one."""
    try:
        return Record.from_json(path.read_text())
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"{path} holds no record of this benchmark", f"{type(error).__name__}: {error}"
        ) from error


def combined(parts: Sequence[Record]) -> Record:
    """Parts of one stretch as one; raises UserError if they are not."""
    first = parts[0]
    for key in SAME_IN_ALL_PARTS:
        if any(getattr(part, key) != getattr(first, key) for part in parts):
            raise UserError(f"the parts differ in {key}", "combine parts of one stretch only")
    tests = [test for part in parts for test in part.tests]
    ids = [test.test for test in tests]
    if twice := sorted({id for id in ids if ids.count(id) > 1}):
        raise UserError(f"in more than one part: {', '.join(twice)}", "leave a part out")
    return Record(
        started_at=min(part.started_at for part in parts),
        host=first.host,
        bar=first.bar,
        software=first.software,
        tests=sorted(tests, key=lambda test: ORDER[test.test]),
        noise=[test for part in parts for test in part.noise],
        unsupported={id: why for part in parts for id, why in part.unsupported.items()},
    )
