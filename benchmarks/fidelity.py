"""Whether aiscore takes the same time as ai-benchmark 0.1.2, subtest by subtest.

Both run pass by pass in turn in two live processes. Exit status 1 if a test is
off or failed, or if the geometric mean over a score is off. benchmarks/README.md
says how to read the tables.
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import report
from environment import original_python, variables
from pairs import Paired, measure
from record import Record, combined, read
from sides import Side, SideError

from aiscore.errors import UserError
from aiscore.results.store import write_text
from aiscore.system import gpu, host
from workloads import suite

BARS = {"cpu": 0.10, "gpu": 0.15}
IDS = [test.id for test in suite.FULL]
INTERRUPTED = 130

Start = Callable[[], Side]


def main() -> int:
    """Measures, or reads what was measured; prints the tables; writes the files."""
    arguments = _arguments()
    try:
        if arguments.results:
            record = combined([read(path) for path in arguments.results])
        else:
            record = _run(arguments)
        text = report.render(record)
        print(text, end="")
        if arguments.output:
            write_text(arguments.output, text)
    except UserError as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0 if report.holds(record) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add(
        "--tests",
        type=_ids,
        help="ids or network numbers, comma separated (default: all; none with --self)",
    )
    add(
        "--self",
        dest="noise",
        type=_ids,
        default=[],
        metavar="TESTS",
        help="run the original against itself: the noise",
    )
    add("--device", choices=list(BARS), default="cpu")
    add("--pairs", type=_positive, default=11, help="default 11; at most 5 of passes over 5 s")
    add("--bar", type=float, help="default 0.10, on a GPU 0.15")
    add("--original", type=Path, metavar="PATH", help="the directory around ai_benchmark")
    add("--load-every-pass", action="store_true", help="the original decodes its images anew")
    add("--results", type=Path, nargs="+", metavar="JSON", help="read these, run nothing")
    add("-o", dest="output", type=Path, metavar="TABLE.md", help="the JSON is put beside it")
    arguments = parser.parse_args()
    if arguments.bar is None:
        arguments.bar = BARS[arguments.device]
    if arguments.tests is None:
        arguments.tests = [] if arguments.noise else IDS
    return arguments


def _ids(text: str) -> list[str]:
    """In the suite's order; a network number stands for all of its tests."""
    names = set(text.split(","))
    chosen = [id for id in IDS if {id, _network(id)} & names]
    if unknown := names - set(chosen) - set(map(_network, chosen)):
        raise argparse.ArgumentTypeError(f"no such test: {', '.join(sorted(unknown))}")
    return chosen


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _network(id: str) -> str:
    return id.split(".")[0]


def _run(arguments: argparse.Namespace) -> Record:
    """Measures all that was asked for; the JSON file grows test by test."""
    record = Record(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        host=_host(arguments.device),
        bar=arguments.bar,
    )

    def save() -> None:
        if arguments.output:
            write_text(arguments.output.with_suffix(".json"), record.to_json())

    save()  # a path that cannot be written is refused before any work
    python = original_python(arguments.original, arguments.device)
    device = ["--device", arguments.device]
    options = [*device, *(["--load-every-pass"] if arguments.load_every_pass else [])]
    original = python.command("side", *options)
    ours = [sys.executable, str(Path(__file__).with_name("ours.py")), *device]
    environment = variables(arguments.device)

    def reference() -> Side:
        return Side("original", original, environment)

    def candidate() -> Side:
        return Side("aiscore", ours, environment)

    for tests, results, second in (
        (arguments.tests, record.tests, candidate),
        (arguments.noise, record.noise, reference),
    ):
        for _, ids in groupby(tests, _network):
            network = NetworkRun(record, results, reference, second, arguments.pairs, save)
            network.run(list(ids))
    return record


class NetworkRun:
    """The tests of one network, in one pair of processes for as long as none of them fails."""

    def __init__(
        self,
        record: Record,
        results: list[Paired],
        reference: Start,
        candidate: Start,
        pairs: int,
        save: Callable[[], None],
    ) -> None:
        self._record = record
        self._results = results
        self._start = (reference, candidate)
        self._pairs = pairs
        self._save = save

    def run(self, tests: list[str]) -> None:
        """Measures the tests in order; each has its place in the record from its start."""
        waiting = list(tests)
        while waiting:
            with ExitStack() as stack:
                reference, candidate = (stack.enter_context(start()) for start in self._start)
                unsupported = self._describe(reference, candidate)
                failed = False
                while waiting and not failed:
                    test = waiting.pop(0)
                    if test in unsupported:
                        self._record.unsupported[test] = unsupported[test]
                        continue
                    failed = self._measure(Paired(test), reference, candidate)

    def _describe(self, reference: Side, candidate: Side) -> dict[str, str]:
        """Stores what both run on, which must be the same; gives what is unsupported."""
        try:
            first, second = reference.start(), candidate.start()
        except SideError as failure:
            raise UserError(str(failure)) from failure
        if (first["device"], first["software"]) != (second["device"], second["software"]):
            raise UserError(
                f"the sides differ: {first} and {second}", "give both the same TensorFlow and NumPy"
            )
        self._record.software = {"device": first["device"], **first["software"]}
        unsupported: dict[str, str] = second.get("unsupported", {})
        return unsupported

    def _measure(self, paired: Paired, reference: Side, candidate: Side) -> bool:
        """Whether it failed."""
        self._results.append(paired)
        try:
            measure(paired, reference, candidate, self._pairs)
        finally:
            self._save()
        print(_progress(paired, self._record.bar), file=sys.stderr)
        return paired.error is not None


def _progress(paired: Paired, bar: float) -> str:
    judged = report.judge(paired, bar)
    if judged.ratio is None or paired.error is not None:
        return f"{paired.test} failed: {paired.error}"
    ratio = judged.ratio
    return f"{paired.test} {ratio.value:.3f} ({ratio.low:.3f} - {ratio.high:.3f}) {judged.verdict}"


def _host(device: str) -> dict[str, str]:
    """The machine; with its GPUs, by UUID, where they are measured."""
    gpus = gpu.read().gpus if device == "gpu" else []
    numbered = {f"gpu {index}": ", ".join(facts.values()) for index, facts in enumerate(gpus)}
    return {**host.describe(), **numbered}


if __name__ == "__main__":
    sys.exit(main())
