"""The original, complete: its own passes and data loading, its scores, its wall time.

Put beside an `aiscore run` of the same stretch. Networks can be run in parts;
`--results` adds parts up.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from environment import original_python, variables

from aiscore.errors import UserError
from aiscore.spec import Mode
from workloads import suite

NETWORKS = ",".join(dict.fromkeys(test.id.split(".")[0] for test in suite.FULL))


def main() -> int:
    """Runs the networks, or reads earlier parts; prints scores and wall time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--networks", default=NETWORKS, help="numbers, comma separated")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--original", type=Path, metavar="PATH")
    parser.add_argument("--results", type=Path, nargs="+", metavar="JSON")
    parser.add_argument("-o", dest="output", type=Path, metavar="JSON")
    arguments = parser.parse_args()
    if not arguments.results and not arguments.output:
        parser.error("-o JSON: where to put the times")
    try:
        if not arguments.results:
            _run(arguments)
        paths = arguments.results or [arguments.output]
        print(summary([json.loads(path.read_text()) for path in paths]))
    except UserError as error:
        print(f"full_run: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _run(arguments: argparse.Namespace) -> None:
    python = original_python(arguments.original, arguments.device)
    options = ["--device", arguments.device, "--networks", arguments.networks]
    command = python.command("run", *options, "-o", str(arguments.output))
    environment = {**os.environ, **variables(arguments.device)}
    if status := subprocess.run(command, env=environment).returncode:
        raise UserError(f"the original ended with status {status}", "its last lines say why")


def summary(parts: list[dict[str, Any]]) -> str:
    """Scores over all parts, and what a run in one piece would have taken.

    Import and announcement happen once in such a run, so they count once.
    """
    tests = [test for part in parts for test in part["tests"]]
    lines = []
    for mode in Mode:
        ratios = [test["ref_ms"] / test["mean_ms"] for test in tests if test["mode"] == mode]
        if ratios:
            score = math.floor(10_000 * statistics.geometric_mean(ratios))
            lines.append(f"{mode.value}: {score} ({len(ratios)} tests)")
    wall_s = sum(part["wall_s"] - part["announcement_s"] for part in parts)
    once = {name: parts[0][name] for name in ("import_s", "announcement_s")}
    lines.append(
        f"wall time: {wall_s + sum(once.values()):.1f} s, of it import {once['import_s']:.1f} s, "
        f"announcement (asleep) {once['announcement_s']:.1f} s"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
