"""Prints a complete run as an entry of reference_scores.json, a card of this project."""

import argparse
import json
import sys
from itertools import groupby
from pathlib import Path

from aiscore.errors import UserError
from aiscore.results.model import Result, TestSummary
from aiscore.results.reference import THIS_PROJECT
from aiscore.results.store import load
from aiscore.results.subject import platform
from aiscore.results.summary import derive

ROOT = Path(__file__).resolve().parents[1]
SIGNIFICANT = 4


def main() -> int:
    """Prints it, in the form of that file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("result", type=Path, help="a file in docs/results")
    parser.add_argument("--device", help="the card's name, if it is not the device's")
    arguments = parser.parse_args()
    try:
        print(_text(card(load(arguments.result), arguments.result, arguments.device)))
    except UserError as error:
        print(f"card: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def card(result: Result, path: Path, device: str | None = None) -> dict[str, object]:
    """The entry; raises UserError for a result that is not comparable with the other cards."""
    summary = derive(result)
    if summary.not_comparable_because:
        raise UserError(f"{path} is not comparable with the cards", "run the whole suite")
    software, host = result.environment.software, result.environment.host
    driver = [gpu["driver"] for gpu in result.environment.gpus if "driver" in gpu][:1]
    facts = [
        f"aiscore {result.aiscore_version}",
        result.run.started_at[:10],
        *(f"{name} {software[name]}" for name in ("cuda", "cudnn") if name in software),
        *(f"driver {version}" for version in driver),
        f"{host['logical_cores']} logical cores",
    ]
    return {
        "device": device or result.device.name,
        "kind": result.device.kind.value,
        "scores": {name: score.value for name, score in summary.scores.items() if score},
        "completeness": "complete",
        "tf_version": software["tensorflow"],
        "platform": platform(host),
        "cpu": host["cpu"],
        "source_url": str(path.resolve().relative_to(ROOT)),
        "source_kind": THIS_PROJECT,
        "note": "; ".join(facts) + ".",
        "tests": {test.id: _times(test) for test in summary.tests},
    }


def _times(test: TestSummary) -> list[float]:
    found = [test.mean_ms, test.std_ms]
    return [float(f"{value:.{SIGNIFICANT}g}") for value in found if value is not None]


def _text(entry: dict[str, object]) -> str:
    """Times in a line for each network, like the other cards."""
    tests = entry["tests"]
    if not isinstance(tests, dict):
        raise TypeError("a card has times")
    by_network = groupby(tests.items(), key=lambda item: item[0].split(".")[0])
    rows = [", ".join(f'"{id}": {times}' for id, times in group) for _, group in by_network]
    lines = [f'      "{name}": {json.dumps(entry[name])},' for name in entry if name != "tests"]
    times = ",\n".join(f"        {row}" for row in rows)
    return "\n".join(["    {", *lines, '      "tests": {', times, "      }", "    }"])


if __name__ == "__main__":
    sys.exit(main())
