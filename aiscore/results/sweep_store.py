"""Files of sweeps: written and checked as those of runs are (``aiscore.results.store``)."""

import json
from collections import Counter
from pathlib import Path

from pydantic import ValidationError

from aiscore import __version__
from aiscore.errors import UserError
from aiscore.results.reading import read
from aiscore.results.store import (
    broken,
    differences,
    json_of,
    limited,
    ok_contradiction,
    protocol_contradiction,
    require_known,
    text_of,
    violations,
    write_text,
)
from aiscore.results.sweep import KIND, PointRecord, Sweep, SweepSummary, point_id
from aiscore.results.sweep_summary import derive, summarise
from aiscore.spec import DeviceKind, Line, Protocol, Status
from workloads.sweep import NETWORKS, point

JUDGED = {"checks"}
"""What another release may judge otherwise."""


def is_sweep(path: Path) -> bool:
    """Whether the file calls itself a sweep; what cannot be read does not."""
    try:
        document = json.loads(read(path, ""))
    except (UserError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("kind") == KIND


def save(sweep: Sweep, path: Path) -> None:
    """Writes the sweep with its summary made anew; raises UserError if it cannot."""
    document = summarise(sweep).model_dump(mode="json")
    write_text(path, json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def load(path: Path) -> Sweep:
    """The sweep in the file, its summary recomputed; raises UserError if it does not hold one."""
    return summarise(parse(path, text_of(path)))


def load_checked(path: Path) -> tuple[Sweep, list[str]]:
    """As ``load``, and where the stored summary is not what the samples give."""
    stored = parse(path, text_of(path))
    made = derive(stored)
    return stored.model_copy(update={"summary": made}), _mismatches(stored, made)


def check(path: Path) -> list[str]:
    """What does not hold in the file, a line each; raises UserError if it is no sweep at all."""
    try:
        stored = _validated(path, text_of(path))
    except ValidationError as error:
        return violations(error)
    return _contradictions(stored) or _mismatches(stored, derive(stored))


def parse(path: Path, text: str) -> Sweep:
    """The sweep that the text of that file holds; raises UserError if it holds none."""
    try:
        sweep = _validated(path, text)
    except ValidationError as error:
        raise broken(path, violations(error)[0]) from error
    require_consistent(path, sweep)
    return sweep


def require_consistent(path: Path, sweep: Sweep) -> None:
    """Raises UserError where a field does not allow what another one says."""
    for problem in _contradictions(sweep):
        raise broken(path, problem)


def _validated(path: Path, text: str) -> Sweep:
    document = json_of(path, text)
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise UserError(f"{path} is no sweep of 'aiscore throughput'", "name the file of one")
    require_known(path, document.get("schema_version"))
    return Sweep.model_validate_json(text, strict=True)


def _mismatches(stored: Sweep, summary: SweepSummary) -> list[str]:
    if stored.summary is None or stored.summary == summary:
        return []
    left_out = set() if stored.aiscore_version == __version__ else JUDGED
    said = stored.summary.model_dump(exclude=left_out)
    return differences("", said, summary.model_dump(exclude=left_out))


def _contradictions(sweep: Sweep) -> list[str]:
    """What every field allows for itself, but another one does not."""
    if sweep.policy.protocol is not Protocol.RESIDENT:
        return [f"policy.protocol is {sweep.policy.protocol}, but a sweep's points are resident"]
    if sweep.device.kind is DeviceKind.UNKNOWN:
        return ["device.kind is unknown"]
    if sweep.run.seed is None or sweep.run.duration_s is None:
        return ["run.seed or run.duration_s is missing"]
    for network in sweep.selection.networks:
        if network not in NETWORKS:
            return [f"a sweep has no network {network!r}"]
    for backend in sweep.selection.backends:
        if backend not in sweep.stacks:
            return [f"stacks says nothing of {backend!r}"]
    for id, count in Counter(record.id for record in sweep.points).items():
        if count > 1:
            return [f"point {id!r} stands there twice"]
    return [problem for point in sweep.points if (problem := _contradiction(sweep, point))]


def _contradiction(sweep: Sweep, record: PointRecord) -> str | None:
    if not _was_selected(sweep, record.line):
        return f"point {record.id!r} is on a line that was not asked for"
    spec = point(record.network, record.mode, record.batch)
    if tuple(record.input) != spec.input:
        return f"point {record.id!r} has another input than {spec.input}"
    if record.id != point_id(record.line, record.batch):
        return f"point {record.id!r} is {point_id(record.line, record.batch)!r} by its fields"
    if record.sought == (record.id in sweep.run.requested):
        return f"point {record.id!r} was {'asked for' if record.sought else 'not asked for'}"
    if record.sought and not sweep.selection.largest:
        return f"point {record.id!r} was sought, but nothing was to be"
    if len(record.rounds) > 1:
        return f"point {record.id!r} has more than one round"
    if record.printed:
        return f"point {record.id!r} has a printed time"
    problem = protocol_contradiction(record, Protocol.RESIDENT)
    if problem is None and any(
        limited(done, record.protocol) > sweep.policy.passes for done in record.rounds
    ):
        problem = f"point {record.id!r} has more passes than the policy allows"
    if problem is None and record.status is Status.OK:
        problem = ok_contradiction(record)
    return problem


def _was_selected(sweep: Sweep, line: Line) -> bool:
    selection = sweep.selection
    return (
        line.network in selection.networks
        and line.mode in selection.modes
        and line.backend in selection.backends
        and line.precision in selection.precisions
        and line.xla in selection.xla_of(sweep.stacks[line.backend])
    )
