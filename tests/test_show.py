"""``aiscore show``: a result for people and for scripts."""

import json
from pathlib import Path

import pytest

from aiscore.report.text import render_result
from aiscore.results.model import ErrorRecord, Result
from aiscore.results.store import save
from aiscore.spec import DeviceKind, Status, Suite
from tests import golden_files
from tests.command_line import aiscore
from tests.results_factory import at_speed, passes_s, record, result
from workloads.suite import FULL, QUICK

RUN = ("1.1", "1.2", "5.1", "5.2", "8.1", "8.2", "8.3", "18.1", "18.2")
NOT_BUILT = ErrorRecord(type="Unsupported", message="this network is not built yet")


def partial() -> Result:
    """What a full run gives while few networks are there, and one runs out of memory."""
    oom = ErrorRecord(type="ResourceExhaustedError", message="OOM when allocating\x1b[2J tensor")
    ran = {test.id: test for test in at_speed(2.3, only=RUN, wobble=0.01)}
    return result(
        [
            record(spec, passes_s(90, n=3), Status.OOM, error=oom)
            if spec.id == "18.2"
            else ran.get(spec.id) or record(spec, status=Status.UNSUPPORTED, error=NOT_BUILT)
            for spec in FULL
        ],
        label="lab box",
    )


@pytest.mark.parametrize(
    ("message", "headline"),
    [
        ("out of memory", "out of memory"),
        ("\nC++ compile error \n\nCommand:\ng++ -O3\n", "C++ compile error ..."),
        ("x" * 301, "x" * 300 + " ..."),
        ("", ""),
    ],
)
def test_of_a_long_message_the_table_has_the_first_line(message: str, headline: str):
    error = ErrorRecord(type="CppCompileError", message=message)
    assert error.headline == headline
    failed = record(FULL[0], status=Status.CRASH, error=error)
    shown = "".join(render_result(result([failed])).split())
    assert "".join(f"Not ok: 1.1: crash (CppCompileError: {headline})".split()) in shown


def quick() -> Result:
    return result(
        at_speed(0.07, only=QUICK, wobble=0.02),
        quick=True,
        policy={"passes": 3},
        device="Intel Core i5",
        kind=DeviceKind.CPU,
    )


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("show-complete.txt", result(at_speed(2.3, wobble=0.01))),
        ("show-partial.txt", partial()),
        ("show-quick.txt", quick()),
        ("show-micro.txt", result(suite=Suite.MICRO)),
        ("show-interrupted.txt", result(at_speed(only=["1.1"]), interrupted=True)),
    ],
)
def test_a_result_as_text(name: str, made: Result):
    text = render_result(made)
    golden_files.check(name, text)
    assert max(map(len, text.splitlines())) <= 80


def test_show_prints_what_run_printed(tmp_path: Path):
    save(partial(), tmp_path / "r.json")
    assert aiscore("show", tmp_path / "r.json").out == render_result(partial())


def test_a_partial_result_prints_no_score_as_if_complete():
    lines = render_result(partial()).splitlines()
    scores = [line for line in lines if line.startswith(("Inference", "Training", "AI"))]
    assert len(scores) == 3
    assert all("  none (" in line and "over the tests that ran" in line for line in scores)


def test_control_characters_of_a_file_do_not_reach_the_terminal():
    text = render_result(partial())
    assert "\\x1b[2J" in text
    assert "\x1b" not in text


def test_the_stable_keys(tmp_path: Path):
    save(result(at_speed(2.3, wobble=0.01)), tmp_path / "r.json")
    shown = aiscore("show", tmp_path / "r.json", "--json")
    document = json.loads(shown.out)
    assert shown.code == 0
    assert {key: document[key] for key in ("schema_version", "suite", "protocol", "backend")} == {
        "schema_version": 1,
        "suite": "full",
        "protocol": "classic",
        "backend": "tensorflow",
    }
    assert document["status"] == "complete"
    assert document["comparable_with_leaderboard"] is True
    assert document["not_comparable_because"] == []
    assert document["device"].items() >= {"kind": "gpu", "name": "NVIDIA H200"}.items()
    assert document["scores"].keys() == {"inference", "training", "ai"}
    assert document["scores"]["ai"].keys() >= {
        "value",
        "interval",
        "interval_kind",
        "tests_ok",
        "tests_expected",
        "partial_value",
        "estimate",
        "estimate_error",
    }
    assert document["scores"]["inference"]["value"] == 22_989
    low, high = document["scores"]["inference"]["interval"]
    assert low < 22_989 < high
    assert document["scores"]["inference"]["interval_kind"] == "passes"
    assert all(check["ok"] for check in document["checks"])
    assert len(document["tests"]) == 42
    test = document["tests"][0]
    assert test.items() >= {"id": "1.1", "network": "MobileNet-V2", "mode": "inference"}.items()
    assert test.items() >= {"status": "ok", "passes": 22, "score": 22_989}.items()
    assert [test[key] for key in ("mean_ms", "median_ms", "std_ms")] == pytest.approx(
        [32.62, 32.93, 0.326], rel=1e-3
    )


def test_the_keys_of_a_micro_result(tmp_path: Path):
    save(result(suite=Suite.MICRO), tmp_path / "r.json")
    scores = json.loads(aiscore("show", tmp_path / "r.json", "--json").out)["scores"]
    assert [scores[name] for name in ("inference", "training", "ai")] == [None] * 3
    assert scores["micro"].items() >= {"value": 10_000, "tests_expected": 16}.items()


def test_the_keys_of_a_partial_and_a_quick_result(tmp_path: Path):
    save(partial(), tmp_path / "p.json")
    save(quick(), tmp_path / "q.json")
    inference = json.loads(aiscore("show", tmp_path / "p.json", "--json").out)["scores"][
        "inference"
    ]
    assert (inference["value"], inference["partial_value"]) == (None, 22_989)
    document = json.loads(aiscore("show", tmp_path / "q.json", "--json").out)
    assert document["status"] == "partial"
    assert document["scores"]["ai"]["value"] is None
    assert document["scores"]["ai"]["estimate"] > 0
    assert 0 < document["scores"]["ai"]["estimate_error"] < 1


def test_a_file_that_does_not_hold_is_shown_as_its_samples_say_and_exits_1(tmp_path: Path):
    path = tmp_path / "r.json"
    save(result(), path)
    path.write_text(path.read_text().replace('"value": 10000', '"value": 99999'))
    shown = aiscore("show", path)
    assert shown.code == 1
    assert "99999" not in shown.out
    assert "does not hold: scores.inference.value: the file says 99999" in shown.err


def test_an_unreadable_file_exits_2_with_one_line(tmp_path: Path):
    shown = aiscore("show", tmp_path / "missing.json")
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
