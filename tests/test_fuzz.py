"""Files that are wrong in any way: refused in one line, or shown as their samples say.

No traceback, no hang, and no score that does not follow from the samples. Real
files, made by runs of the fake backend and by an import, are changed at random;
AISCORE_FUZZ_INPUTS is how many inputs there are in all.
"""

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.backends.fake import SCRIPT_VARIABLE
from aiscore.execution import run as run_module
from aiscore.execution.journal import Journal
from aiscore.execution.request import Request, request_to_resume
from aiscore.execution.run import execute
from aiscore.execution.runner import Observer
from aiscore.report.boards import leaderboard, leaderboard_document
from aiscore.report.comparisons import compare_all, compare_document
from aiscore.report.escape import FORMULA_STARTS
from aiscore.report.export import FORMATS
from aiscore.report.rows import show_document
from aiscore.report.text import render_comparison, render_leaderboard, render_result
from aiscore.results import store
from aiscore.results.legacy import read_log
from aiscore.results.model import Result
from aiscore.results.reference import find_card
from aiscore.results.store import check, save
from aiscore.results.subject import from_result
from aiscore.spec import Device, DeviceKind, Suite
from tests import mutations
from tests.fuzzing import (
    CHANCE,
    Named,
    Nobody,
    Place,
    damaged,
    damaged_journal,
    read,
    resumed_or_left_alone,
    share,
)
from tests.log_factory import TEXT_FORMS, original
from tests.second_opinion import disagreements

CPU = Device(kind=DeviceKind.CPU, index=0, name="Fake CPU")
FILES = ("failures",) * 4 + ("quick",) * 2 + ("rounds", "whole", "imported")  # the small ones most
CARD = find_card("2070")
LOGS = tuple(
    original(dict(list(CARD.tests.items())[:count]), CARD.scores) for count in (4, 4, 4, 9, 42)
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("fuzz") / "r.json")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """Real results, by the names of FILES."""
    folder = tmp_path_factory.mktemp("made")
    script = folder / "script.json"
    failures = {"2.1": {"failure": "oom", "at_pass": 2}, "5.2": {"failure": "segfault"}}
    runs = {
        "failures": ({"tests": "1,2,5", "passes": 4}, failures),
        "rounds": ({"suite": Suite.MICRO, "passes": 3, "rounds": 3}, {}),
        "quick": ({"quick": True}, {}),
        "whole": ({"passes": 2}, {}),
    }
    results = Named()
    for name, (options, tests) in runs.items():
        script.write_text(json.dumps({"tests": tests}))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(SCRIPT_VARIABLE, str(script))
            asked = Request(backend="fake", output=folder / f"{name}.json", **options)
            results[name] = execute(asked, Observer(), lambda question: False).result
    (results["imported"],) = read_log(LOGS[-1].encode(), "card.txt").results
    return results


@pytest.fixture(scope="module")
def texts(made: dict[str, Result], place: Place) -> dict[str, str]:
    """Their files."""
    found = Named()
    for name, result in made.items():
        save(result, place.result)
        found[name] = place.result.read_text(encoding="utf-8")
    return found


def accepted(place: Place) -> Result | None:
    """What loading the file gives; no score of it is another than its samples give."""
    loaded, problems = read(place, store)
    if not problems:
        assert disagreements(json.loads(place.result.read_text(encoding="utf-8"))) == []
    if loaded is not None:
        assert disagreements(loaded.model_dump(mode="json")) == []
    return loaded


@share(0.55)
@given(name=st.sampled_from(FILES), chance=CHANCE)
def test_no_score_is_accepted_that_does_not_follow_from_the_samples(
    texts: dict[str, str], place: Place, name: str, chance: Random
):
    place.empty()
    place.result.write_bytes(damaged(chance, texts[name]))
    accepted(place)


def test_the_files_themselves_hold(texts: dict[str, str], place: Place):
    for text in texts.values():
        place.result.write_text(text, encoding="utf-8")
        assert check(place.result) == []
        assert disagreements(json.loads(text)) == []


@share(0.1)
@given(name=st.sampled_from(FILES), chance=CHANCE)
def test_whatever_is_read_is_shown_everywhere_and_does_no_harm(
    texts: dict[str, str], made: dict[str, Result], place: Place, name: str, chance: Random
):
    place.empty()
    place.result.write_text(mutations.in_document(chance, texts[name]))
    loaded = accepted(place)
    if loaded is None:
        return
    compared = compare_all([from_result(made[name]), from_result(loaded)])
    board = leaderboard("ai", loaded)
    for text in (
        render_result(loaded),
        render_comparison(compared),
        render_leaderboard(board, "ai"),
        *(write([loaded, made[name]]) for write in FORMATS.values()),
    ):
        assert text.replace("\n", "").isprintable()
    for document in (
        show_document(loaded),
        compare_document(compared),
        leaderboard_document(board, "ai"),
    ):
        json.dumps(document, allow_nan=False)
    for line in csv.reader(io.StringIO(FORMATS["csv"]([loaded]))):
        assert len(line) == 3
        assert not any(cell.startswith(FORMULA_STARTS) for cell in line)


@pytest.fixture(scope="module")
def left(made: dict[str, Result], place: Place) -> dict[str, tuple[Path, bytes]]:
    """What runs that were cut off left behind: which file, and what is in it."""
    place.empty()
    found = Named()
    for name in ("failures", "rounds"):
        records = [
            test.model_copy(update={"rounds": [one], "status": one.status})
            for test in made[name].tests
            for one in test.rounds
        ]
        Journal(place.journal, header(made[name]), records[:-2]).close()
        found[name] = place.journal, place.journal.read_bytes()
    save(made["failures"], place.result)
    found["result"] = place.result, place.result.read_bytes()
    return found


def header(result: Result) -> Result:
    return result.model_copy(update={"tests": [], "summary": None})


@pytest.fixture(scope="module")
def resume(made: dict[str, Result], place: Place) -> Iterator[Callable[[str], Result]]:
    """Resumes what is there under the set-up of that file, without measuring anything."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "Runner", Nobody)
        patch.setattr(run_module, "open_monitor", lambda device: nullcontext())
        patch.setattr(os, "fsync", lambda descriptor: None)

        def go_on(name: str) -> Result:
            now = header(made[name])
            patch.setattr(run_module, "set_up", lambda *arguments: (CPU, now))
            outcome = execute(request_to_resume(place.result, {}), Observer(), lambda _: False)
            assert outcome.unsaved is None
            return outcome.result

        yield go_on


@share(0.15)
@given(name=st.sampled_from(["failures", "rounds", "result"]), chance=CHANCE)
def test_whatever_a_run_left_is_resumed_as_it_is_or_left_alone(
    left: dict[str, tuple[Path, bytes]],
    resume: Callable[[str], Result],
    place: Place,
    name: str,
    chance: Random,
):
    path, data = left[name]
    spoil = mutations.in_bytes if name == "result" else damaged_journal
    place.empty()
    path.write_bytes(spoil(chance, data))
    begun = "rounds" if name == "rounds" else "failures"
    resumed_or_left_alone(place, lambda: resume(begun), store)


@share(0.2)
@given(text=st.sampled_from(LOGS), form=st.sampled_from(list(TEXT_FORMS)), chance=CHANCE)
def test_a_log_gives_no_score_that_its_times_do_not_give(
    place: Place, text: str, form: str, chance: Random
):
    data = TEXT_FORMS[form](text).encode()
    for _ in range(chance.choice((1, 2, 5))):
        data = mutations.in_bytes(chance, data)
    for found in read_log(data, "log.txt").results:
        place.empty()
        save(found, place.result)
        assert check(place.result) == []
        assert disagreements(json.loads(place.result.read_text(encoding="utf-8"))) == []
