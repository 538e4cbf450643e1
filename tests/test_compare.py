"""``aiscore compare``: what differs, who is faster, and by how much."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aiscore as api
from aiscore.report.comparisons import ratio
from aiscore.results.store import save
from aiscore.scoring.compare import Side, Speed, compare
from aiscore.spec import Status, Suite
from tests import golden_files
from tests.command_line import aiscore
from tests.results_factory import at_speed, record, result
from workloads.suite import FULL, QUICK

TIMES = st.floats(min_value=1e-3, max_value=1e6)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Results: the base, twice as fast on another stack, and a quick one."""
    made = {
        "base": result(),
        "twice": result(at_speed(2), label="twice", software={"tensorflow": "2.18.0"}),
        "quick": result(at_speed(0.07, only=QUICK), quick=True, policy={"passes": 3}),
        "micro": result(suite=Suite.MICRO),
    }
    for name, content in made.items():
        save(content, tmp_path / f"{name}.json")
    return {name: tmp_path / f"{name}.json" for name in made}


def document(*arguments: object) -> dict[str, Any]:
    return json.loads(aiscore("compare", *arguments, "--json").out)


def test_two_results(files: dict[str, Path]):
    shown = aiscore("compare", files["base"], files["twice"])
    golden_files.check("compare-results.txt", shown.out)
    assert shown.code == 0


def test_three_sides_normalized_to_a_card(files: dict[str, Path]):
    shown = aiscore("compare", "2070", "A770 (oneAPI", files["quick"], "--normalize-to", "Xavier (")
    golden_files.check("compare-normalized.txt", shown.out)


def test_scores_and_tests_of_a_side_twice_as_fast(files: dict[str, Path]):
    (found,) = document(files["base"], files["twice"])["comparisons"]
    assert found["scores"] == pytest.approx({"inference": 2, "training": 2, "ai": 2}, rel=1e-3)
    assert {name: speed["tests"] for name, speed in found["groups"].items()} == {
        "inference": 24,
        "training": 18,
        "ai": 42,
    }
    assert [speed["ratio"] for speed in found["groups"].values()] == pytest.approx([2, 2, 2])
    assert len(found["tests"]) == 42


def test_what_differs_comes_first_and_what_is_the_same_does_not(files: dict[str, Path]):
    differences = document(files["base"], files["twice"])["differences"]
    assert differences == {"tensorflow": ["2.21.0", "2.18.0"], "python": ["3.11.7", None]}
    text = aiscore("compare", files["base"], files["twice"]).out
    assert text.startswith("Changed: framework (python 3.11.7 against unknown; tensorflow 2.21.0")
    assert text.index("set-up") < text.index("against A") < text.index("Inference score")


def test_why_something_is_unknown_and_hidden_paths_are_no_difference(tmp_path: Path):
    hosts = {
        "own": {"governor": "unknown: no file (/sys/governor)", "CUDA_HOME": "/usr/local/cuda"},
        "published": {"governor": "unknown: no file ([path])", "CUDA_HOME": "[path]"},
        "known": {"governor": "performance", "CUDA_HOME": "/usr/local/cuda"},
    }
    for name, host in hosts.items():
        save(result(software={"tensorflow": "2.21.0"} | host), tmp_path / f"{name}.json")
    own, published, known = (tmp_path / f"{name}.json" for name in hosts)
    assert document(own, published)["differences"] == {}
    assert list(document(own, known)["differences"]) == ["governor"]


def test_a_long_value_of_the_set_up_is_shown_by_its_beginning(tmp_path: Path):
    for name, value in {"a": "x" * 3000, "b": "y" * 3000}.items():
        software = {"tensorflow": "2.21.0", "long": value, "short": name}
        save(result(software=software), tmp_path / f"{name}.json")
    shown = aiscore("compare", tmp_path / "a.json", tmp_path / "b.json").out
    assert 100 < shown.count("x") < 300
    assert (
        document(tmp_path / "a.json", tmp_path / "b.json")["differences"]["long"][0] == "x" * 3000
    )


def test_the_same_twice_has_no_difference_and_a_ratio_of_one(files: dict[str, Path]):
    found = document(files["base"], files["base"])
    assert found["differences"] == {}
    assert found["comparisons"][0]["scores"]["ai"] == 1
    assert "no difference known" in aiscore("compare", files["base"], files["base"]).out


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.9996, "1.00"), (1.0004, "1.00"), (0.98765, "0.988"), (9.996, "10.0"), (99.96, "100")],
)
def test_a_ratio_has_three_digits_on_either_side_of_a_round_number(value: float, shown: str):
    assert ratio(value) == shown


def test_what_moves_a_score_by_nothing_has_one_sign():
    own = aiscore("compare", "docs/results/nvidia-h200.json", "H200").out
    assert "+0.0%" in own and "-0.0%" not in own


def test_the_system_of_a_card_is_set_against_that_of_a_result(files: dict[str, Path]):
    own = document("docs/results/nvidia-h200.json", "H200")
    assert own["differences"] == {}, "the card is made of that very result"
    found = document(files["base"], "H200")["differences"]["platform"]
    assert found == ["6.8.0", "Ubuntu 24.04.3 LTS, 6.18.44-fc-v657-gpu"]


def test_a_card_without_times_compares_by_scores_alone(files: dict[str, Path]):
    (found,) = document("V100 SXM2", files["twice"])["comparisons"]
    assert found["scores"]["ai"] == pytest.approx(40_000 / 35_791, rel=1e-3)
    assert found["tests"] == {}
    assert found["groups"]["ai"] == {"ratio": None, "tests": 0}


def test_a_card_with_partial_scores_compares_over_common_tests_and_says_so():
    (found,) = document("2070", "Arc A770 (oneAPI")["comparisons"]
    assert found["scores"] == {}
    assert found["groups"]["ai"]["tests"] == 40
    text = aiscore("compare", "2070", "Arc A770 (oneAPI").out
    assert "inference score 11100 is over the tests that ran only" in " ".join(text.split())


def test_a_quick_result_is_compared_over_its_tests_and_its_estimate_is_told(
    files: dict[str, Path],
):
    found = document("2070", files["quick"])
    assert found["comparisons"][0]["scores"] == {}
    assert found["comparisons"][0]["groups"]["ai"]["tests"] == len(QUICK)
    (told,) = [line for line in found["subjects"][1]["remarks"] if "not compared" in line]
    assert told.startswith("its scores are estimated and not compared: inference about ")
    assert ", AI about " in told


def test_a_score_that_no_side_has_is_no_line(files: dict[str, Path]):
    assert "score      " not in aiscore("compare", files["quick"], files["quick"]).out
    one_side = aiscore("compare", files["quick"], "NVIDIA TITAN RTX").out
    assert "Training score  -  16332" in one_side
    assert "Inference score" not in one_side


def test_a_failed_test_does_not_count(tmp_path: Path, files: dict[str, Path]):
    tests = [record(FULL[0], [1e-6] * 22, Status.TIMEOUT), *at_speed(2, only=["1.2"])]
    save(result(tests), tmp_path / "failed.json")
    (found,) = document(files["base"], tmp_path / "failed.json")["comparisons"]
    assert list(found["tests"]) == ["1.2"]


def test_nothing_in_common_is_said(files: dict[str, Path]):
    assert "no score and no test in common" in aiscore("compare", "2070", files["micro"]).out


def test_normalized_to_a_card_the_card_itself_is_one():
    found = document("2070", "Xavier (", "--normalize-to", "2070")["normalized_to"]
    assert found["card"] == "NVIDIA GeForce RTX 2070 SUPER"
    assert set(found["tests"][0].values()) == {1}
    assert found["groups"][0]["ai"] == {"ratio": 1, "tests": 42}
    assert found["groups"][1]["ai"]["ratio"] < 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["2070"], "name 2 to 26"),
        (["2070", "V100"], "fits 2 cards"),
        (["2070", "RTX 9090"], "no card and no file"),
        (["2070", "missing.json"], "cannot read missing.json"),
        (["2070", "2070", "--normalize-to", "V100 SXM2"], "has no per-test times"),
        (["V100 SXM2", "K80", "--normalize-to", "2070"], "no test in common"),
        (["2070", "2070", "--normalize-to", "RTX 9090"], "no card and no file"),
    ],
)
def test_bad_input_exits_2_with_one_line(arguments: list[str], problem: str):
    shown = aiscore("compare", *arguments)
    assert (shown.code, shown.out) == (2, "")
    assert problem in shown.err
    assert shown.err.count("\n") == 1


def test_from_python(files: dict[str, Path]):
    by_path = api.compare(files["base"], str(files["twice"]))
    assert by_path == api.compare(result(), result(at_speed(2)))
    assert by_path.groups["ai"].ratio == pytest.approx(2)
    assert api.compare("V100 SXM2", "2070").scores["ai"] == pytest.approx(24265 / 35791)


@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(TIMES, TIMES), min_size=1))
def test_the_other_way_round_is_the_inverse(times: dict[str, tuple[float, float]]):
    one = Side({"ai": 3}, {test: pair[0] for test, pair in times.items()})
    two = Side({"ai": 7}, {test: pair[1] for test, pair in times.items()})
    groups = {"all": list(times)}
    there, back = compare(one, two, groups), compare(two, one, groups)
    assert there.scores["ai"] * back.scores["ai"] == pytest.approx(1)
    assert there.groups["all"].ratio * back.groups["all"].ratio == pytest.approx(1)


def test_only_common_tests_count_in_the_mean():
    one, two = Side({}, {"a": 4.0, "b": 1.0}), Side({}, {"a": 1.0, "c": 9.0})
    assert compare(one, two, {"all": "abc"}).groups["all"] == Speed(pytest.approx(4), 1)


def test_a_score_of_zero_has_no_ratio():
    assert compare(Side({"ai": 0}, {}), Side({"ai": 5}, {}), {}).scores == {}
