"""The checks of a result: each with an input that passes and one that does not."""

import json

import pytest

from aiscore.report import rows
from aiscore.report.text import render_result
from aiscore.results.model import CheckRecord, Result
from aiscore.results.store import load_checked, save
from aiscore.results.summary import derive
from aiscore.spec import DeviceKind, Status
from tests.command_line import aiscore
from tests.results_factory import at_speed, passes_s, record, result
from workloads.suite import FULL

FIRST = FULL[0]
OF_PASSES = ["noisy", "not_steady", "first_pass_included", "clock_trouble"]


def of_one(passes: list[float], **changes: object) -> Result:
    return result([record(FIRST, passes, **changes)])


def with_memory(device_bytes: int | None, peak_bytes: int | None) -> Result:
    rounds = [{"round": 1, "passes_s": passes_s(75), "peak_device_bytes": peak_bytes}]
    made = result([record(FIRST, rounds=rounds)])
    device = made.device.model_copy(update={"memory_bytes": device_bytes})
    return made.model_copy(update={"device": device})


def watched(**telemetry: object) -> Result:
    """A result of one test with this telemetry in the second of two rounds."""
    facts = {"duration_s": 2.0, "samples": 4, "cost_s": 0.001, **telemetry}
    rounds = [{"round": n, "passes_s": passes_s(75)} for n in (1, 2)]
    rounds[1]["telemetry"] = facts
    return result([record(FIRST, rounds=rounds)])


def series(name: str, low: float, middle: float, high: float) -> Result:
    return watched(series={name: {"min": low, "median": middle, "max": high}})


def on_host(made: Result | None = None, **facts: str) -> Result:
    made = made or result()
    host = {**made.environment.host, **facts}
    environment = made.environment.model_copy(update={"host": host})
    return made.model_copy(update={"environment": environment})


def check(made: Result, name: str) -> CheckRecord | None:
    found = [check for check in derive(made).checks if check.name == name]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("name", "good", "bad", "value"),
    [
        ("noisy", of_one(passes_s(75, 0.05)), of_one(passes_s(75, 0.2)), 0.2),
        ("not_steady", of_one([9, 1, 1, 1, 1]), of_one([9, 5, 1, 1, 1]), 1.0),
        ("first_pass_included", of_one([9, 1]), of_one([9]), 1),
        ("clock_trouble", of_one([9, 1]), of_one([9, 0, -1, 1], status=Status.CRASH), 2),
        ("spilled_to_host_memory", with_memory(100, 90), with_memory(100, 150), 1.5),
        (
            "throttled",
            watched(shares={"gpu_throttled": 0.0, "gpu_sw_power_cap": 1.0}),
            watched(shares={"gpu_throttled": 0.25}),
            0.25,
        ),
        (
            "cpu_throttled",
            watched(totals={"cpu_core_throttles": 0}),
            watched(totals={"cpu_core_throttles": 3}),
            3,
        ),
        (
            "other_load",
            series("cpu_others_share", 0.0, 0.01, 0.9),
            series("cpu_others_share", 0.0, 0.5, 0.9),
            0.5,
        ),
        (
            "stolen_time",
            series("cpu_stolen_share", 0.0, 0.01, 0.9),
            series("cpu_stolen_share", 0.0, 0.1, 0.9),
            0.1,
        ),
        (
            "other_gpu_processes",
            series("gpu_other_processes", 0, 0, 0),
            series("gpu_other_processes", 0, 0, 1),
            1,
        ),
    ],
)
def test_a_check_over_tests_passes_and_fails(name: str, good: Result, bad: Result, value: float):
    passed, failed = check(good, name), check(bad, name)
    assert passed is not None and failed is not None
    assert (passed.ok, passed.tests) == (True, [])
    assert (failed.ok, failed.tests) == (False, ["1.1"])
    assert failed.value == pytest.approx(value, rel=0.02)


@pytest.mark.parametrize(
    ("name", "fact", "good", "bad"),
    [
        ("on_battery", "power_source", "mains", "battery"),
        ("powersave_governor", "governor", "schedutil", "performance, powersave"),
    ],
)
def test_a_check_of_a_fact_passes_and_fails(name: str, fact: str, good: str, bad: str):
    passed, failed = (check(on_host(**{fact: value}), name) for value in (good, bad))
    assert passed is not None and failed is not None
    assert (passed.ok, passed.value) == (True, good)
    assert (failed.ok, failed.value) == (False, bad)
    assert check(on_host(**{fact: "unknown: no such file"}), name) is None


def test_a_machine_that_is_unplugged_while_it_runs_is_on_battery():
    unplugged = check(
        on_host(watched(shares={"on_battery": 0.1}), power_source="mains"), "on_battery"
    )
    assert unplugged is not None
    assert not unplugged.ok
    plugged = check(
        on_host(watched(shares={"on_battery": 0.0}), power_source="mains"), "on_battery"
    )
    assert plugged is not None
    assert plugged.ok


def test_without_an_input_there_is_no_check():
    assert derive(result([])).checks == []
    assert derive(result([record(FIRST, rounds=[], status=Status.CRASH)])).checks == []
    assert [made.name for made in derive(of_one([9, 1, 1])).checks] == OF_PASSES
    assert [made.name for made in derive(of_one([9])).checks] == OF_PASSES[2:]
    assert check(with_memory(None, 90), "spilled_to_host_memory") is None
    assert check(with_memory(100, None), "spilled_to_host_memory") is None


def test_the_memory_of_a_cpu_is_the_hosts():
    made = with_memory(100, 150)
    cpu = made.device.model_copy(update={"kind": DeviceKind.CPU})
    assert check(made.model_copy(update={"device": cpu}), "spilled_to_host_memory") is None


def test_a_test_that_is_not_ok_is_not_judged_by_its_passes():
    crashed = record(FIRST, [9, 5, 1, 1], Status.CRASH)
    assert [made.name for made in derive(result([crashed])).checks] == ["clock_trouble"]


def test_rounds_are_judged_each_for_itself():
    rounds = [{"round": n, "passes_s": [9, n, n, n]} for n in (1, 2)]
    noisy = check(result([record(FIRST, rounds=rounds)]), "noisy")
    assert noisy is not None
    assert noisy.value == 0, "rounds differ, passes do not"


def test_a_slow_second_pass_does_not_move_a_score_silently():
    quiet = at_speed(only=[spec.id for spec in FULL[1:]])
    made = result([record(FIRST, [9, 7.5, *[0.075] * 20]), *quiet])
    assert dict(rows.headline(result()))["Checks"] == "all 4 passed"
    assert dict(rows.headline(made))["Checks"] == "2 of 4 failed: noisy, not steady"
    assert "Check failed: not steady: " in render_result(made)


def test_a_failed_check_is_explained_with_its_tests_and_its_advice():
    failed = check(of_one([9, 0.8, 1.2]), "noisy")
    assert failed is not None
    assert rows.check_text(failed) == (
        "noisy: standard deviation / mean of a test's passes is 0.2, the limit 0.1 (1.1);"
        " end other programs, let the machine cool down, and run again"
    )
    text = render_result(on_host(governor="powersave\x1b[2J, powersave"))
    assert "\x1b" not in text
    assert "cpupower frequency-set -g performance" in text.replace("\n              ", " ")


def test_a_failed_check_takes_no_score_away():
    made = on_host(governor="powersave")
    assert derive(made).scores == derive(result()).scores
    assert derive(made).comparable_with_leaderboard


def test_the_document_has_every_check(tmp_path):
    save(on_host(governor="powersave"), tmp_path / "r.json")
    shown = aiscore("show", tmp_path / "r.json", "--json")
    checks = json.loads(shown.out)["checks"]
    assert [check["name"] for check in checks] == [*OF_PASSES, "powersave_governor"]
    assert all(
        check.keys() >= {"name", "ok", "value", "limit", "advice", "meaning", "tests"}
        for check in checks
    )
    assert [check["ok"] for check in checks] == [True] * 4 + [False]


def test_a_check_that_was_made_up_does_not_hold(tmp_path):
    path = tmp_path / "r.json"
    save(of_one(passes_s(75, 0.2)), path)
    path.write_text(path.read_text().replace('"ok": false', '"ok": true'))
    assert load_checked(path)[1] == ["checks.0.ok: the file says True, its samples False"]


def test_a_file_from_before_there_were_checks_holds(tmp_path):
    path = tmp_path / "r.json"
    save(result(), path)
    document = json.loads(path.read_text())
    del document["summary"]["checks"]
    path.write_text(json.dumps(document))
    loaded, found = load_checked(path)
    assert found == []
    assert loaded.summary is not None and len(loaded.summary.checks) == 4
