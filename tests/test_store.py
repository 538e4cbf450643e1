"""Result files: what is saved comes back, and what does not hold is refused in one line."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aiscore
from aiscore.errors import UserError
from aiscore.results.reference import suite_sha256
from aiscore.results.store import load, load_checked, save, write_text
from aiscore.results.summary import summarise
from aiscore.spec import Status, Suite
from tests.results_factory import at_speed, passes_s, record, result
from workloads.suite import FULL

NO_SCORE = {"value": None, "tests_ok": 0, "tests_expected": 0}
PASS = st.floats(min_value=1e-6, max_value=1e4)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def document(**changes: Any) -> dict[str, Any]:
    made = result(at_speed(only=["1.1", "1.2"]))
    return {**summarise(made).model_dump(mode="json"), **changes}


def written(path: Path, content: object) -> Path:
    file = path / "result.json"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_what_is_saved_comes_back(tmp_path: Path):
    tests = [record(FULL[0], passes_s(36.5)), record(FULL[1], status=Status.OOM)]
    made = result(tests, label="my card")
    save(made, tmp_path / "result.json")
    assert load(tmp_path / "result.json") == summarise(made)
    assert os.listdir(tmp_path) == ["result.json"]


@given(passes=st.lists(PASS, min_size=1, max_size=22), label=st.none() | TEXT, name=TEXT)
def test_any_samples_and_any_text_come_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, passes: list[float], label: str | None, name: str
):
    made = result([record(FULL[0], passes)], label=label, device=name)
    path = tmp_path_factory.mktemp("store") / "result.json"
    save(made, path)
    assert load_checked(path) == (summarise(made), [])


def test_text_that_utf8_cannot_hold_loses_no_sample(tmp_path: Path):
    made = result(at_speed(only=["1.1"]), label="box \udcff")
    save(made, tmp_path / "result.json")
    loaded = load(tmp_path / "result.json")
    assert loaded.run.label == "box ?"
    assert loaded.tests == made.tests


def test_half_a_surrogate_pair_in_a_file_is_refused(tmp_path: Path):
    text = json.dumps(document()).replace("NVIDIA H200", "\\ud800", 1)
    with pytest.raises(UserError, match="is not a valid result"):
        load(written(tmp_path, text))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "result.json"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        save(result(), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match=r"cannot write .*No such file"):
        write_text(tmp_path / "missing" / "table.md", "text")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "is empty"),
        ("\n  \n", "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "is not text"),
        (b"\xff\xfe{\x00}\x00", "is not text"),
        ("hello", "is not JSON"),
        ("[1, 2", "is not JSON"),
        ('{"schema_version": 1, "suite": "full"', "is cut off at line 1"),
        ('{"schema_version": 1, "suite": "fu', "is cut off at line 1"),
        ('{"schema_version": 1, "device": {"a"', "is cut off at line 1"),
        ('{"schema_version" 1}', "is not JSON (line 1, column 19)"),
        ("[]", "is JSON, but not a result"),
        ("3", "is JSON, but not a result"),
        ('{"name": "something else"}', "is JSON, but not a result"),
        ('{"schema_version": NaN}', "holds NaN"),
        ('{"schema_version": 1, "x": -Infinity}', "holds -Infinity"),
        ("[" * 100_000, "is not a result"),
        ('{"schema_version": ' + "9" * 5000 + "}", "is not a result"),
        (document(schema_version=2), "was written by a newer aiscore"),
        (document(schema_version="1"), "schema_version: "),
        (document(schema_version=True), "schema_version: "),
        (document(schema_version=0), "schema_version: "),
        (document(suite="huge"), "suite: "),
        (document(tests=3), "tests: "),
        (document(colour="red"), "colour: "),
        ({key: value for key, value in document().items() if key != "device"}, "device: "),
    ],
)
def test_a_file_that_is_no_result_is_refused_in_one_line(
    tmp_path: Path, content: object, problem: str
):
    with pytest.raises(UserError) as error:
        load(written(tmp_path, content))
    assert problem in str(error.value)
    assert "\n" not in str(error.value)
    assert "result.json" in str(error.value)
    assert error.value.exit_code == 2


def test_a_result_cut_off_anywhere_is_refused(tmp_path: Path):
    whole = json.dumps(document(), indent=1)
    for end in range(1, len(whole) - 1, 97):
        with pytest.raises(UserError, match=r"is cut off|is not JSON"):
            load(written(tmp_path, whole[:end]))


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path):
    with pytest.raises(UserError, match=r"cannot read .*No such file"):
        load(tmp_path / "missing.json")
    with pytest.raises(UserError, match="is not a file"):
        load(tmp_path)
    with pytest.raises(UserError, match="cannot read"):
        load(Path("a\0b"))


def change(*keys: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    """A change of one field deep in a document."""

    def apply(made: Any) -> None:
        for key in keys[:-1]:
            made = made[key]
        made[keys[-1]] = to

    return apply


def watched(**facts: int) -> dict[str, float]:
    """Telemetry of nothing."""
    return {"duration_s": 2, "samples": 0, "cost_s": 0, **facts}


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (change("tests", 1, "id", to="1.1"), "test '1.1' stands there twice"),
        (change("tests", 1, "id", to="99.1"), "the full suite has no test '99.1'"),
        (change("run", "requested", to=["x"]), "the full suite has no test 'x'"),
        (change("tests", 0, "mode", to="training"), "test 1.1 is mobilenet_v2 inference, not"),
        (change("tests", 0, "network", to="vgg_16"), "test 1.1 is mobilenet_v2 inference, not"),
        (change("tests", 0, "rounds", to=[]), "test 1.1 is ok, but has no pass"),
        (change("tests", 0, "rounds", 0, "passes_s", 3, to=0), "a pass that took no time"),
        (change("tests", 0, "rounds", 0, "passes_s", 3, to=-1.5), "a pass that took no time"),
        (change("tests", 0, "rounds", 0, "passes_s", 3, to="1.5"), "tests.0.rounds.0.passes_s.3: "),
        (change("tests", 0, "rounds", 0, "round", to=2), "rounds that are not numbered from 1"),
        (change("tests", 0, "rounds", 0, "passes_s", to=[]), "test 1.1 is ok, but has no pass"),
        (change("tests", 0, "rounds", 0, "status", to="oom"), "test 1.1 is ok, but has no pass"),
        (change("tests", 0, "rounds", 0, "passes_s", to=[0.1] * 23), "has more passes than"),
        (change("policy", "passes", to=21), "test 1.1 has more passes than the policy allows"),
        (
            change("tests", 0, "rounds", 0, "telemetry", to=watched(unwatched_passes=23)),
            "test 1.1 has more passes that were not watched than passes",
        ),
        (change("run", "requested", to=["1.1"]), "test 1.2 was not asked for"),
        (change("run", "seed", to=None), "run.seed or run.duration_s is missing"),
        (change("device", "kind", to="unknown"), "device.kind is unknown"),
        (change("suite_sha256", to="0" * 64), "its full suite has other tests or reference times"),
        (change("suite_sha256", to=suite_sha256(Suite.MICRO)), "its full suite has other tests"),
        (change("policy", "passes", to=10**400), "policy.passes: "),
        (change("tests", 0, "batch", to=0), "tests.0.batch: "),
        (change("tests", 0, "batch", to=1.5), "tests.0.batch: "),
        (change("policy", "passes", to=0), "policy.passes: "),
        (change("tests", 0, "\x1b[31m", to=1), r"tests.0.\x1b[31m: "),
    ],
)
def test_a_file_that_contradicts_itself_or_the_suite_is_refused(
    tmp_path: Path, edit: Callable[[dict[str, Any]], None], problem: str
):
    made = document()
    edit(made)
    with pytest.raises(UserError) as error:
        load(written(tmp_path, made))
    assert problem in str(error.value)
    assert "\x1b" not in str(error.value)


def test_more_rounds_than_were_asked_for_are_refused(tmp_path: Path):
    made = document()
    made["tests"][0]["rounds"] *= 2
    made["tests"][0]["rounds"][1] = {**made["tests"][0]["rounds"][1], "round": 2}
    with pytest.raises(UserError, match=r"test 1\.1 has more rounds than were asked for"):
        load(written(tmp_path, made))


@pytest.mark.parametrize("suite", Suite)
def test_the_suite_of_this_release_is_known_by_its_hash(tmp_path: Path, suite: Suite):
    made = result(suite=suite).model_copy(update={"suite_sha256": suite_sha256(suite)})
    save(made, tmp_path / "result.json")
    assert load(tmp_path / "result.json") == summarise(made)


@pytest.mark.parametrize("key", ["label", "value", "summary"])
def test_a_key_with_two_values_is_refused(tmp_path: Path, key: str):
    text = json.dumps(document(), indent=1)
    twice = text.replace(f'"{key}": ', f'"{key}": 1, "{key}": ', 1)
    with pytest.raises(UserError, match="has two values for one key"):
        load(written(tmp_path, twice))


def test_a_number_too_large_for_a_float_is_refused(tmp_path: Path):
    text = json.dumps(document()).replace('"duration_s": 369.0', '"duration_s": 1e999')
    with pytest.raises(UserError, match=r"run\.duration_s"):
        load(written(tmp_path, text))


def test_a_changed_summary_is_reported_and_not_believed(tmp_path: Path):
    made = document()
    made["summary"]["scores"]["inference"]["partial_value"] = 99_999
    made["summary"]["tests"][0]["mean_ms"] *= 0.5
    loaded, mismatches = load_checked(written(tmp_path, made))
    assert mismatches == [
        "scores.inference.partial_value: the file says 99999, its samples 10000",
        "tests.0.mean_ms: the file says 37.5, its samples 75.0",
    ]
    assert loaded == summarise(loaded)


def test_a_summary_with_a_test_more_is_reported(tmp_path: Path):
    made = document()
    made["summary"]["tests"].append(made["summary"]["tests"][0])
    assert load_checked(written(tmp_path, made))[1] == [
        "tests: the file has 3 entries, its samples 2"
    ]


def test_changed_samples_under_an_old_summary_are_reported(tmp_path: Path):
    made = document()
    made["tests"][0]["rounds"][0]["passes_s"] = [0.01] * 22
    assert any("tests.0.mean_ms" in line for line in load_checked(written(tmp_path, made))[1])


def test_what_another_release_judges_otherwise_is_no_mismatch(tmp_path: Path):
    made = document(aiscore_version="0.0.9")
    made["summary"]["scores"]["ai"]["estimate"] = 5
    made["summary"]["not_comparable_because"] = ["other words", "and more"]
    assert load_checked(written(tmp_path, made))[1] == []


@pytest.mark.parametrize(
    "edit",
    [
        change("summary", "scores", "micro", to={**NO_SCORE, "value": 99_999}),
        change("summary", "scores", "interval", to={**NO_SCORE, "value": 99_999}),
        change("summary", "scores", "inference", to=None),
        change("summary", "scores", "inference", "partial_value", to=99_999),
        change("summary", "tests", 0, "network", to="estimate"),
    ],
)
def test_a_score_is_what_the_samples_give_in_every_release(
    tmp_path: Path, edit: Callable[[dict[str, Any]], None]
):
    made = document(aiscore_version="0.0.9")
    edit(made)
    assert load_checked(written(tmp_path, made))[1]


def test_a_file_of_before_a_derived_figure_was_added_still_holds(tmp_path: Path):
    made = document()
    for test in made["summary"]["tests"]:
        del test["steady"]
    assert load_checked(written(tmp_path, made))[1] == []


def test_a_score_that_is_missing_is_a_mismatch(tmp_path: Path):
    made = document()
    del made["summary"]["scores"]["ai"]
    assert any("scores.ai" in line for line in load_checked(written(tmp_path, made))[1])


def test_a_file_without_a_summary_gets_one(tmp_path: Path):
    loaded, mismatches = load_checked(written(tmp_path, document(summary=None)))
    assert loaded.summary is not None
    assert mismatches == []


def test_load_from_python(tmp_path: Path):
    save(result(), tmp_path / "result.json")
    assert aiscore.load(str(tmp_path / "result.json")) == summarise(result())
