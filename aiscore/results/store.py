"""Result files: written whole or not at all, and never believed without a check."""

import json
import os
from collections import Counter
from math import isclose
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from aiscore import __version__
from aiscore.errors import UserError
from aiscore.results.model import (
    SCHEMA_VERSION,
    Result,
    RoundRecord,
    ScoreRecord,
    Summary,
    TestRecord,
    TestSummary,
)
from aiscore.results.reading import read
from aiscore.results.reference import suite_sha256
from aiscore.results.summary import derive, summarise
from aiscore.results.sweep import KIND
from aiscore.scoring import resident, score
from aiscore.spec import DeviceKind, Protocol, Status, TestSpec
from workloads.suite import TESTS

SHORTEST_S = 1e-9  # what the clock can tell
SAME = 1e-9  # relative; what another machine's arithmetic may differ by
ADDED_LATER = {
    name
    for model in (Summary, ScoreRecord, TestSummary)
    for name, field in model.model_fields.items()
    if not field.is_required()
}
"""What a file of before may lack."""
JUDGED = {
    "checks",
    "comparable_with_leaderboard",
    "estimate",
    "estimate_error",
    "interval",
    "interval_kind",
    "not_comparable_because",
}
"""What another release may judge otherwise."""


def save(result: Result, path: Path) -> None:
    """Writes the result with its summary made anew; raises UserError if it cannot."""
    document = summarise(result).model_dump(mode="json")
    write_text(path, json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """As ``write_bytes``, in UTF-8.

    What UTF-8 cannot hold (half a surrogate pair from a log) becomes a question mark.
    """
    write_bytes(path, text.encode("utf-8", errors="replace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Writes the file whole or not at all; raises UserError if it cannot."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                os.replace(part, path)
            except BaseException:
                part.unlink()
                raise
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror or error}", "choose another path"
        ) from error


def load(path: Path) -> Result:
    """The result in the file, its summary recomputed; raises UserError if it does not hold one."""
    return summarise(_read(path))


def load_checked(path: Path) -> tuple[Result, list[str]]:
    """As ``load``, and where the stored summary is not what the samples give."""
    stored = _read(path)
    made = derive(stored)
    return stored.model_copy(update={"summary": made}), _mismatches(stored, made)


def check(path: Path) -> list[str]:
    """What does not hold in the file, a line each: its schema, else what it says of itself.

    Raises UserError for a file that does not read as a result at all.
    """
    try:
        stored = Result.model_validate_json(_result_text(path, text_of(path)), strict=True)
    except ValidationError as error:
        return violations(error)
    return _contradictions(stored) or _mismatches(stored, derive(stored))


def _mismatches(stored: Result, summary: Summary) -> list[str]:
    """Where the summary in the file is not this one, which its samples give."""
    if stored.summary is None or stored.summary == summary:
        return []
    said, made = stored.summary.model_dump(exclude_unset=True), summary.model_dump()
    if stored.aiscore_version != __version__:
        said, made = _unjudged(said), _unjudged(made)
    return differences("", said, made)


def _unjudged(summary: dict[str, Any]) -> dict[str, Any]:
    """What every release derives alike."""
    scores = {name: record and _less(record) for name, record in summary["scores"].items()}
    return {**_less(summary), "scores": scores}


def _less(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key not in JUDGED}


def _read(path: Path) -> Result:
    """The result as the file has it."""
    return parse(path, text_of(path))


def parse(path: Path, text: str) -> Result:
    """The result that the text of that file holds; raises UserError if it holds none."""
    try:
        result = Result.model_validate_json(_result_text(path, text), strict=True)
    except ValidationError as error:
        raise broken(path, violations(error)[0]) from error
    require_consistent(path, result)
    return result


def require_consistent(path: Path, result: Result) -> None:
    """Raises UserError where the suite or another field does not allow what a field says."""
    for problem in _contradictions(result):
        raise broken(path, problem)


def _result_text(path: Path, text: str) -> str:
    """The file's text, if it is JSON and calls itself a result that this release can read."""
    document = json_of(path, text)
    if not isinstance(document, dict) or "schema_version" not in document:
        raise UserError(f"{path} is JSON, but not a result of aiscore", "name a result file")
    if document.get("kind") == KIND:
        raise UserError(f"{path} is a sweep of 'aiscore throughput'", "name a result file")
    require_known(path, document["schema_version"])
    return text


def require_known(path: Path, version: object) -> None:
    """Raises UserError unless this release reads files of that version."""
    if type(version) is not int:  # True is an int
        raise broken(path, "schema_version: not a whole number")
    if version > SCHEMA_VERSION:
        raise UserError(f"{path} was written by a newer aiscore", "upgrade: pip install -U aiscore")


def text_of(path: Path) -> str:
    """What the file holds; raises UserError if that is no text."""
    try:
        text = read(path, "name a result file").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text, so not a result", "name a result file") from error
    if not text.strip():
        raise UserError(f"{path} is empty", "run it again")
    return text


def json_of(path: Path, text: str) -> Any:
    """The document; raises UserError for what is not strictly JSON, or not finite."""

    def refuse(constant: str) -> None:
        raise UserError(f"{path} holds {constant}, which is no measurement", "run it again")

    def make(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):  # one reader takes the first of them, another one the last
            raise UserError(f"{path} has two values for one key", "run it again")
        return made

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=make)
    except json.JSONDecodeError as error:
        if text.lstrip()[0] == "{" and _is_cut_off(error):
            raise UserError(f"{path} is cut off at line {error.lineno}", "run it again") from error
        place = f"line {error.lineno}, column {error.colno}"
        raise UserError(f"{path} is not JSON ({place})", "name a result file") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not a result: {error}", "name a result file") from error


def _is_cut_off(error: json.JSONDecodeError) -> bool:
    """Whether the text ends where more had to come."""
    rest = error.doc[error.pos :]
    return "\n" not in rest.strip() and (not rest.strip() or error.msg.startswith("Unterminated"))


def broken(path: Path, problem: str) -> UserError:
    """That a file does not hold, and why."""
    return UserError(f"{path} is not a valid result: {problem}", "run it again")


def violations(error: ValidationError) -> list[str]:
    """Each field that does not hold, and why."""
    return [
        f"{place.encode('unicode_escape').decode('ascii')}: {found['msg']}"
        for found in error.errors(include_url=False, include_input=False)
        for place in [".".join(str(part) for part in found["loc"]) or "the file"]
    ]


def _contradictions(result: Result) -> list[str]:
    """What every field allows for itself, but the suite or another field does not."""
    if result.resident and (result.imported or result.protocol is not Protocol.CLASSIC):
        return ["a resident half stands beside classic tests of a run only"]
    return [problem for part in result.parts for problem in _contradictions_of(part)]


def _contradictions_of(result: Result) -> list[str]:
    """The same of a result under one protocol."""
    specs = {spec.id: spec for spec in TESTS[result.suite]}
    ids = Counter(test.id for test in result.tests)
    for test, count in ids.items():
        if count > 1:
            return [f"test {test!r} stands there twice"]
    unknown = [test for test in [*ids, *result.run.requested] if test not in specs]
    if unknown:
        return [f"the {result.suite} suite has no test {unknown[0]!r}"]
    whole = _whole_contradiction(result)
    if whole:
        return [whole]
    problems = [
        protocol_contradiction(test, result.protocol)
        or _contradiction(result, test, specs[test.id])
        for test in result.tests
    ]
    return [problem for problem in problems if problem]


def _whole_contradiction(result: Result) -> str | None:
    """The same of what is no test's."""
    if result.suite_sha256 not in (None, suite_sha256(result.suite)):
        return f"its {result.suite} suite has other tests or reference times than this release's"
    if result.protocol is not result.policy.protocol:
        return "protocol and policy.protocol differ"
    if result.imported:
        return None
    if result.device.kind is DeviceKind.UNKNOWN:
        return "device.kind is unknown, but the result was not imported"
    if result.run.seed is None or result.run.duration_s is None:
        return "run.seed or run.duration_s is missing, but the result was not imported"
    return None


def protocol_contradiction(test: TestRecord, protocol: Protocol) -> str | None:
    """What of a test's times does not fit the protocol."""
    if test.protocol is not protocol:
        return f"test {test.id} is {test.protocol}, but stands among the {protocol} ones"
    blocks = protocol is Protocol.RESIDENT
    for record in test.rounds:
        if len(record.block_passes) != (len(record.passes_s) if blocks else 0):
            return f"test {test.id} has other blocks than times"
        if record.telemetry and record.telemetry.unwatched_passes > record.passes:
            return f"test {test.id} has more passes that were not watched than passes"
    return None


def _contradiction(result: Result, test: TestRecord, spec: TestSpec) -> str | None:
    if (test.network, test.mode) != (spec.network, spec.mode):
        return f"test {test.id} is {spec.network} {spec.mode}, not {test.network!r} {test.mode}"
    if test.id not in result.run.requested:
        return f"test {test.id} was not asked for"
    if result.imported:
        return _printed_contradiction(test)
    if test.printed:
        return f"test {test.id} has a printed time, but the result was not imported"
    if test.status is Status.OK and (problem := ok_contradiction(test)):
        return problem
    if any(record.round > result.run.rounds for record in test.rounds):
        return f"test {test.id} has more rounds than were asked for"
    if any(limited(record, test.protocol) > result.policy.passes for record in test.rounds):
        return f"test {test.id} has more passes than the policy allows"
    return None


def limited(record: RoundRecord, protocol: Protocol) -> int:
    """What the policy limits: all passes in classic, the blocks that count in resident.

    The last block can make others count that did not before it: so those count
    that did when it was begun, and itself.
    """
    times = record.passes_s
    if protocol is Protocol.CLASSIC:
        return len(times)
    if len(times) <= 2:  # the first one has not counted when the second was begun
        return min(1, len(times))
    return len(resident.counted(record.block_passes[:-1], times[:-1])) + 1


def ok_contradiction(test: TestRecord) -> str | None:
    """The same for a test that is ok."""
    rounds = test.ok_rounds
    if not rounds or not all(record.passes_s for record in rounds):
        return f"test {test.id} is ok, but has no pass"
    if [record.round for record in rounds] != list(range(1, len(rounds) + 1)):
        return f"test {test.id} has rounds that are not numbered from 1"
    if min(value for record in rounds for value in record.counted_s) < SHORTEST_S:
        return f"test {test.id} has a pass that took no time"
    return None


def _printed_contradiction(test: TestRecord) -> str | None:
    """The same for a test of an imported result."""
    if test.rounds:
        return f"test {test.id} has rounds, but the result was imported"
    if (test.printed is None) == (test.status is Status.OK):
        state = "ok, but has no" if test.status is Status.OK else f"{test.status}, but has a"
        return f"test {test.id} is {state} printed time"
    if test.printed and score.rounding_band(test.printed.mean_ms, test.printed.digits)[0] <= 0:
        return f"test {test.id} has a printed time that may have been none"
    return None


def differences(place: str, stored: Any, made: Any) -> list[str]:
    """Where two trees of plain values differ, a line each."""
    if isinstance(stored, dict) and isinstance(made, dict):
        return [
            line
            for key in [*made, *(key for key in stored if key not in made)]
            if key in stored or key not in ADDED_LATER
            for line in differences(f"{place}.{key}", stored.get(key), made.get(key))
        ]
    if isinstance(stored, list | tuple) and isinstance(made, list | tuple):
        if len(stored) != len(made):
            return [f"{place[1:]}: the file has {len(stored)} entries, its samples {len(made)}"]
        return [
            line
            for index, pair in enumerate(zip(stored, made, strict=True))
            for line in differences(f"{place}.{index}", *pair)
        ]
    if (
        isinstance(stored, float)
        and isinstance(made, float)
        and isclose(stored, made, rel_tol=SAME)
    ):
        return []
    return (
        [] if stored == made else [f"{place[1:]}: the file says {stored!r}, its samples {made!r}"]
    )
