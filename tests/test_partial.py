"""A score over less than its tests is none, wherever it is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

import aiscore as package
from aiscore.compat import as_log, public_results
from aiscore.results.model import Result
from aiscore.results.store import save
from aiscore.results.summary import summarise
from aiscore.spec import Status, Suite
from tests.command_line import aiscore
from tests.results_factory import at_speed, passes_s, record, result
from workloads.suite import FULL, MICRO

OTHERS = [spec.id for spec in FULL[1:]]


def with_first(**changes: Any) -> Result:
    """A whole run but for its first test, which is an inference test."""
    return result([record(FULL[0], passes_s(75), **changes), *at_speed(only=OTHERS)])


VOID = {
    "missing": result(at_speed(only=OTHERS)),
    **{str(status): with_first(status=status) for status in Status if status is not Status.OK},
    "another batch": with_first(batch=1),
    "another input": with_first(input=[32, 32, 3]),
}


@pytest.fixture(params=VOID)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    save(VOID[request.param], tmp_path / "r.json")
    return tmp_path / "r.json"


def test_in_the_table(path: Path):
    lines = aiscore("show", path).out.splitlines()
    scores = {line.split(" score")[0]: line for line in lines if " score  " in line}
    assert "none (10000 over the tests that ran)" in scores["Inference"]
    assert "none (20000 over the tests that ran)" in scores["AI"]
    assert "none" not in scores["Training"]
    assert any("partial" in line and "(41 of 42)" in line for line in lines)


def test_in_the_document(path: Path):
    document = json.loads(aiscore("show", path, "--json").out)
    values = {name: score["value"] for name, score in document["scores"].items()}
    assert values == {"inference": None, "training": 10_000, "ai": None}
    assert document["status"] == "partial"
    assert not document["comparable_with_leaderboard"]
    assert document["not_comparable_because"]


@pytest.mark.parametrize("form", ["markdown", "csv"])
def test_in_a_published_table(path: Path, form: str):
    lines = aiscore("publish", path, "-o", "-", "--format", form).out.splitlines()
    (inference,) = (line for line in lines if line.strip("| ").startswith("Inference score"))
    assert "none (10000 over the tests that ran)" in inference
    assert any("partial (41 of 42)" in line for line in lines)


def test_in_python(path: Path):
    loaded = package.load(path)
    assert loaded.summary is not None
    values = [loaded.summary.scores[name] for name in ("inference", "training", "ai")]
    assert [score and score.value for score in values] == [None, 10_000, None]


def test_for_a_script_written_for_the_original(path: Path):
    loaded = package.load(path)
    public = public_results(loaded)
    assert (public.inference_score, public.training_score, public.ai_score) == (None, 10_000, None)
    assert "Device Inference Score" not in as_log(loaded)
    assert "Device AI Score" not in as_log(loaded)


def test_on_the_leaderboard(path: Path):
    board = json.loads(aiscore("leaderboard", "--with", path, "--json").out)
    (mine,) = (row for row in board["rows"] if row["mine"])
    assert (mine["rank"], mine["score_basis"]["ai"], board["standing"]) == (None, "part", None)


def test_in_a_comparison_common_tests_stand_for_it(path: Path, tmp_path: Path):
    save(result(), tmp_path / "whole.json")
    shown = aiscore("compare", tmp_path / "whole.json", path)
    assert "inference, over 23 common tests" in shown.out
    (compared,) = json.loads(aiscore("compare", tmp_path / "whole.json", path, "--json").out)[
        "comparisons"
    ]
    assert compared["scores"].keys() == {"training"}


def test_of_the_micro_suite_too():
    ran = at_speed(suite=Suite.MICRO, only=[spec.id for spec in MICRO[1:]])
    micro = summarise(result(ran, suite=Suite.MICRO)).summary.scores["micro"]
    assert (micro.value, micro.partial_value, micro.tests_ok) == (None, 10_000, 15)
