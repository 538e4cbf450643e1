"""What a published page costs: seconds to build and size, by the number of results.

One result file is published so many times, under other labels, by the command
that users have. Exit status 1 if 50 results make a page of 1.5 MB or more, if
10,000 take a minute or longer, or if the time for each result grows with their number.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from aiscore.errors import UserError
from aiscore.results.model import Result
from aiscore.results.store import load, save

COUNTS = (50, 1_000, 10_000)
MOST_BYTES = 1_500_000  # of a page of the fewest
MOST_SECONDS = 60  # for the most
MOST_GROWTH = 1.25  # seconds for each result, of the most results against the thousand


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one page."""

    results: int
    seconds: float
    page_bytes: int
    archive_bytes: int


def main() -> int:
    """Builds and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("result", type=Path, help="a result file, best a whole one")
    arguments = parser.parse_args()
    try:
        result = load(arguments.result)
    except UserError as error:
        print(f"page_build: {error}", file=sys.stderr)
        return error.exit_code
    with tempfile.TemporaryDirectory() as folder:
        return report([build(result, count, Path(folder)) for count in COUNTS])


def build(result: Result, count: int, folder: Path) -> Cost:
    """Publishes so many results as a page, in a process of its own."""
    paths = [folder / f"{number}.json" for number in range(count)]
    for number, path in enumerate(paths):
        if not path.exists():
            run = result.run.model_copy(update={"label": f"{result.device.name} {number}"})
            save(result.model_copy(update={"run": run}), path)
    page = folder / f"page-{count}.html"
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "aiscore", "publish", *map(str, paths), "-o", str(page), "--yes"],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - begin
    archive = page.with_suffix(".results.tar.gz")
    size = archive.stat().st_size if archive.exists() else 0
    return Cost(count, seconds, page.stat().st_size, size)


def report(costs: list[Cost]) -> int:
    """Prints what the pages cost, the fewest results first; 0 if they keep to the bars."""
    print("| results | seconds | ms a result | page, MB | results file, MB |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for cost in costs:
        page_mb, archive_mb = cost.page_bytes / 1e6, cost.archive_bytes / 1e6
        each_ms = 1000 * cost.seconds / cost.results
        print(
            f"| {cost.results} | {cost.seconds:.1f} | {each_ms:.1f} | {page_mb:.2f}"
            f" | {archive_mb:.1f} |"
        )
    fewest, *_, some, most = costs
    growth = (most.seconds / most.results) / (some.seconds / some.results)
    small = fewest.page_bytes < MOST_BYTES
    return 0 if small and most.seconds < MOST_SECONDS and growth < MOST_GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
