"""Takes the tests' peak memory from result files into aiscore/data/memory.json.

Where several files have a test, the highest peak counts.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from aiscore.errors import UserError
from aiscore.results.model import Result, RoundRecord
from aiscore.results.store import load, write_text
from aiscore.spec import DeviceKind, Status, Suite
from workloads.suite import TESTS

MEMORY = Path(__file__).parent.parent / "aiscore" / "data" / "memory.json"
MIB = 1 << 20
ORDER = [test.id for suite in Suite for test in TESTS[suite]]


def main() -> int:
    """Reads the files, writes the peaks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULT")
    arguments = parser.parse_args()
    try:
        results = [load(path) for path in arguments.results]
        write_text(MEMORY, updated(json.loads(MEMORY.read_text()), results))
    except UserError as error:
        print(f"peaks: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def updated(document: dict[str, Any], results: Iterable[Result]) -> str:
    """The document with the peaks of the results' tests in place of older ones."""
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for result in results:
        peaks = found[result.backend, result.device.kind.value]
        for test in result.tests:
            sizes = [_peak_bytes(round_, result.device.kind) for round_ in test.rounds]
            if test.status is Status.OK and None not in sizes:
                peak_mib = round(max(filter(None, sizes)) / MIB)
                peaks[test.id] = max(peaks.get(test.id, 0), peak_mib)
    for (backend, kind), peaks in found.items():
        known = document.setdefault(backend, {}).get(kind, {})
        document[backend][kind] = {id: (known | peaks)[id] for id in ORDER if id in known | peaks}
    return _text(document)


def _peak_bytes(round_: RoundRecord, kind: DeviceKind) -> int | None:
    return round_.peak_device_bytes if kind is DeviceKind.GPU else round_.peak_rss_bytes


def _text(document: dict[str, Any]) -> str:
    """JSON with the tests of a network in one line."""
    blocks = [f'  "about": {json.dumps(document["about"])}']
    for backend in sorted(document.keys() - {"about"}):
        kinds = []
        for kind, peaks in sorted(document[backend].items()):
            lines = [
                ", ".join(f"{json.dumps(id)}: {peaks[id]}" for id in ids)
                for _, ids in groupby(peaks, lambda id: id.split(".")[0])
            ]
            kinds.append(f'    "{kind}": {{\n      ' + ",\n      ".join(lines) + "\n    }")
        blocks.append(f'  "{backend}": {{\n' + ",\n".join(kinds) + "\n  }")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
