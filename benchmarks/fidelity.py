"""Does aiscore take the same time as ai-benchmark 0.1.2, subtest by subtest?

Both run pass by pass in turn in two live processes. Exit status 1 if a test
fails or is off, or the geometric mean over a score is. See benchmarks/README.md.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import report
from environment import OriginalPython, original_python
from pairs import Paired, Times, measure
from sides import Side, SideFailed

from aiscore.errors import UserError
from aiscore.results.store import write_text
from workloads import suite

BARS = {"cpu": 0.10, "gpu": 0.15}
SAME_IN_ALL = ("device", "host", "software", "bar")
FULL_IDS = [test.id for test in suite.FULL]

Start = Callable[[], Side]


def main() -> int:
    """Measures or reads, prints the table, writes the files."""
    arguments = _arguments()
    try:
        if arguments.results:
            record = combined([read(path) for path in arguments.results])
        else:
            record = run(arguments)
        text = render(record)
        print(text, end="")
        if arguments.output:
            write_text(arguments.output, text)
    except UserError as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return error.exit_code
    return 0 if holds(record) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--tests", type=_ids, help="test ids or network numbers, comma separated; default: all")
    add("--self", type=_ids, dest="noise", default=[], metavar="TESTS")
    add("--device", choices=list(BARS), default="cpu")
    add("--pairs", type=_positive, default=11, help="5 at most where a pass takes over 5 s")
    add("--bar", type=float, help="default 0.10 on the CPU, 0.15 on a GPU")
    add("--original", type=Path, metavar="PATH", help="the directory that holds ai_benchmark")
    add("--load-every-pass", action="store_true", help="the original decodes its images anew")
    add("--results", type=Path, nargs="+", metavar="JSON", help="report from these, run nothing")
    add("-o", type=Path, dest="output", metavar="TABLE.md", help="the JSON is written beside it")
    arguments = parser.parse_args()
    if arguments.bar is None:
        arguments.bar = BARS[arguments.device]
    if arguments.tests is None:
        arguments.tests = [] if arguments.noise else FULL_IDS
    return arguments


def _ids(text: str) -> list[str]:
    """In the suite's order; a network number stands for all of its tests."""
    names = set(text.split(","))
    chosen = [id for id in FULL_IDS if id in names or network_number(id) in names]
    unknown = names - set(chosen) - set(map(network_number, chosen))
    if unknown:
        raise argparse.ArgumentTypeError(f"no such test: {', '.join(sorted(unknown))}")
    return chosen


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def network_number(id: str) -> str:
    """The original's number of the test's network."""
    return id.split(".")[0]


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measures everything asked for; the JSON file grows test by test."""
    json_path = arguments.output.with_suffix(".json") if arguments.output else None
    original = original_python(arguments.original, arguments.device)
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2"}
    if arguments.device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = "-1"
    else:
        environment["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    reference = _original_start(original, arguments, environment)
    ours = [sys.executable, str(Path(__file__).with_name("ours.py")), "--device", arguments.device]

    record: dict[str, Any] = {
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": arguments.device,
        "host": {"cpu": _cpu_name(), "cores": os.cpu_count(), "system": platform.platform()},
        "software": {},
        "bar": arguments.bar,
        "tests": [],
        "noise": [],
        "unsupported": {},
    }

    def save() -> None:
        if json_path:
            write_text(json_path, json.dumps(record, indent=1) + "\n")

    save()  # a path that cannot be written is refused before any work
    for key, tests, candidate in (
        ("tests", arguments.tests, lambda: Side("aiscore", ours, environment)),
        ("noise", arguments.noise, reference),
    ):
        for _, ids in groupby(tests, network_number):
            for paired in _run_network(list(ids), reference, candidate, arguments.pairs, record):
                record[key].append(asdict(paired))
                print(_progress(paired), file=sys.stderr)
                save()
    return record


def _original_start(
    original: OriginalPython, arguments: argparse.Namespace, environment: dict[str, str]
) -> Start:
    options = ["--device", arguments.device]
    if arguments.load_every_pass:
        options.append("--load-every-pass")
    return lambda: Side("original", original.original("side", *options), environment)


def _run_network(
    ids: Sequence[str], start_reference: Start, start_candidate: Start, pairs: int, record: dict
) -> Iterable[Paired]:
    """The tests of one network in one pair of processes; a fresh pair after a failure."""
    waiting = list(ids)
    while waiting:
        with ExitStack() as stack:
            reference = stack.enter_context(start_reference())
            candidate = stack.enter_context(start_candidate())
            try:
                descriptions = [reference.start(), candidate.start()]
            except SideFailed as failure:
                raise UserError(str(failure)) from failure
            _note(descriptions, record)
            unsupported = descriptions[1].get("unsupported", {})
            while waiting:
                paired = Paired(waiting.pop(0))
                if reason := unsupported.get(paired.test):
                    record["unsupported"][paired.test] = reason
                    continue
                measure(paired, reference, candidate, pairs)
                yield paired
                if paired.error is not None:
                    break


def _note(descriptions: Sequence[dict[str, Any]], record: dict[str, Any]) -> None:
    """Stores what the sides run on; it must be the same for both."""
    reference, candidate = ({"device": d["device"], **d["software"]} for d in descriptions)
    if reference != candidate:
        raise UserError(
            f"the two sides differ: {reference} and {candidate}", "install the same TensorFlow"
        )
    record["software"] = reference


def _progress(paired: Paired) -> str:
    if paired.error is not None:
        return f"{paired.test}: {paired.error}"
    ratio = report.judge(paired, bar=0).ratio
    assert ratio is not None
    return f"{paired.test}: {ratio.value:.3f} ({ratio.low:.3f} - {ratio.high:.3f})"


def _cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def read(path: Path) -> dict[str, Any]:
    """A record that an earlier run wrote."""
    try:
        record: dict[str, Any] = json.loads(path.read_text())
        paired(record, "tests")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is no record of this benchmark: {error}") from error
    return record


def combined(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Parts of one stretch on one machine as one record."""
    first = records[0]
    for key in SAME_IN_ALL:
        if any(record[key] != first[key] for record in records):
            raise UserError(f"the parts differ in {key}", "combine parts of one stretch only")
    whole = {**first, "tests": [], "noise": [], "unsupported": {}}
    for record in records:
        whole["tests"] += record["tests"]
        whole["noise"] += record["noise"]
        whole["unsupported"] |= record["unsupported"]
    ids = [test["test"] for test in whole["tests"]]
    if twice := sorted({id for id in ids if ids.count(id) > 1}):
        raise UserError(f"in more than one part: {', '.join(twice)}")
    whole["tests"].sort(key=lambda test: FULL_IDS.index(test["test"]))
    return whole


def paired(record: dict[str, Any], key: str) -> list[Paired]:
    """The record's measurements."""
    return [
        Paired(
            test=test["test"],
            reference=Times(**test["reference"]),
            candidate=Times(**test["candidate"]),
            error=test["error"],
        )
        for test in record[key]
    ]


def render(record: dict[str, Any]) -> str:
    """The whole report as Markdown."""
    facts = {
        "taken": record["started_at"],
        **{name: record["host"][name] for name in ("cpu", "cores", "system")},
        **record["software"],
        "bar": f"a test is off if its interval lies wholly outside 1 ± {record['bar']:g}",
    }
    parts = ["\n".join(f"- {name}: {value}" for name, value in facts.items())]
    tests, noise = paired(record, "tests"), paired(record, "noise")
    if tests:
        judged = [report.judge(test, record["bar"]) for test in tests]
        parts += [report.render(judged, "aiscore"), report.render_scores(report.scores(tests))]
    if record["unsupported"]:
        reasons = (f"{id} ({reason})" for id, reason in record["unsupported"].items())
        parts.append(f"Not run, because aiscore does not support them: {', '.join(reasons)}.")
    if noise:
        judged = [report.judge(test, record["bar"]) for test in noise]
        parts += ["The original against itself:", report.render(judged, "original again")]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def holds(record: dict[str, Any]) -> bool:
    """Whether everything measured lies within its bar. The noise is judged by the reader."""
    tests = paired(record, "tests")
    verdicts = [report.judge(test, record["bar"]).verdict for test in tests]
    verdicts += [score.verdict for score in report.scores(tests)]
    return all(verdict == "ok" for verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main())
