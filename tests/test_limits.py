"""Files that are too large, are no files, or are made to take for ever."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from aiscore.errors import UserError
from aiscore.execution.journal import journal_path
from aiscore.execution.plan import make_plan
from aiscore.execution.resume import find
from aiscore.report.comparisons import compare_all
from aiscore.report.text import render_comparison, render_result
from aiscore.results.legacy import read_log
from aiscore.results.prices import read_prices
from aiscore.results.store import check, load
from aiscore.results.subject import from_result
from aiscore.results.summary import summarise
from aiscore.spec import Status, Suite
from tests.command_line import aiscore
from tests.results_factory import at_speed, record, result

MIB = 1 << 20
LONG = MIB // 4


def import_log(path: Path) -> None:
    shown = aiscore("import", path)
    assert shown.code == 2
    raise UserError(shown.err)


def read_journal(path: Path) -> None:
    path.rename(journal_path(path))
    find(path)


READERS = {
    "result": (load, 64),
    "verified": (check, 64),
    "journal": (read_journal, 64),
    "log": (import_log, 8),
    "prices": (read_prices, 1),
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path, name: str):
    read, most_mib = READERS[name]
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(most_mib * MIB + 1)  # nothing of it is on disk
    with pytest.raises(UserError, match=f"is larger than {most_mib} MiB"):
        read(path)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", READERS)
def test_a_pipe_that_nobody_writes_is_not_waited_for(tmp_path: Path, name: str):
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    with pytest.raises(UserError, match="is not a file"):
        READERS[name][0](path)


def written(path: Path, document: dict[str, Any]) -> Path:
    file = path / "r.json"
    file.write_text(json.dumps(document))
    return file


def document(**run: Any) -> dict[str, Any]:
    made = summarise(result(at_speed(only=["1.1", "1.2"]), **run)).model_dump(mode="json")
    assert isinstance(made, dict)
    return made


@pytest.mark.timeout(60)
def test_a_text_of_megabytes_is_shown_in_part(tmp_path: Path):
    made = document()
    made["run"]["label"] = made["device"]["name"] = "x" * MIB
    made["environment"]["software"]["k" * MIB] = "v " * MIB
    loaded = load(written(tmp_path, made))
    assert len(render_result(loaded)) < 100_000
    both = compare_all([from_result(loaded), from_result(result())])
    assert len(render_comparison(both)) < 1_000_000


@pytest.mark.timeout(60)
def test_many_tests_of_one_name_are_refused(tmp_path: Path):
    made = document()
    made["tests"] = [{**made["tests"][0], "id": str(n)} for n in range(30_000)]
    made["tests"].append(made["tests"][-1])
    with pytest.raises(UserError, match="'29999' stands there twice"):
        load(written(tmp_path, made))


@pytest.mark.timeout(60)
def test_a_run_of_more_rounds_than_there_is_time_for_is_resumed(tmp_path: Path):
    plan = make_plan(Suite.FULL, tests="1")
    number, due = find(written(tmp_path, document(rounds=10**18))).missing(plan)
    assert (number, due) == (2, plan)
    unsupported = [record(spec, status=Status.UNSUPPORTED, rounds=[]) for spec in plan.tests]
    made = result(unsupported, rounds=10**18)
    assert find(written(tmp_path, made.model_dump(mode="json"))).missing(plan) is None


SLOW_LOGS = {
    "backslashes": b"\\" * LONG,
    "backslashes and letters": b"\\r" * (LONG // 2),
    "colours": b"\x1b[" * (LONG // 2),
    "open colour": b"\x1b[" + b";" * LONG,
    "entities": b"&amp" * (LONG // 4),
    "short lines": b"a\n" * (LONG // 2),
    "spaces": b"Device" + b" " * LONG,
    "tabs between words": b"Device\t" * (LONG // 7),
    "sections": b"1/19. " * (LONG // 6),
    "dots": b"Traceback (most recent call last)\n" + b"a." * (LONG // 2),
    "no word": b"Traceback (most recent call last)\n" + b"." * LONG,
    "tests": b"1/19. MobileNet-V2\n" + b"inference | batch=50, size=224x224: " * (LONG // 36),
    "digits": b"1/19. MobileNet-V2\ninference | batch=50, size=224x224: " + b"1" * LONG,
    "hashes": b"#" * LONG,
    "stars": b"* " * (LONG // 2),
    "titles": b"AI-Benchmark-v." * (LONG // 15),
    "headings": b"*  TF Version: 2\n" * (LONG // 17),
    "scores": b"Device AI Score: 5 " * (LONG // 19),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", SLOW_LOGS)
def test_no_log_takes_for_ever(name: str):
    assert read_log(SLOW_LOGS[name], "log").results == []
