"""What a result says of its roof: figures, shares of a test's time, checks, tables."""

import json
from math import isfinite
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.execution.run import Request, execute
from aiscore.execution.runner import Observer
from aiscore.report.text import render_result
from aiscore.results.model import (
    CheckRecord,
    OptionsRecord,
    ProbeRecord,
    Result,
    RoofRecord,
    RoundRecord,
    Summary,
    TestSummary,
)
from aiscore.results.store import load, load_checked, save
from aiscore.results.summary import derive
from aiscore.spec import Precision, Probe, Protocol, Status
from tests import golden_files
from tests.command_line import aiscore
from tests.results_factory import at_speed, passes_s, record, result
from workloads.suite import FULL

SPECS = {spec.id: spec for spec in FULL}
MOBILENET, ICNET_TRAINING = SPECS["1.1"], SPECS["14.2"]
ROOF = RoofRecord(
    probes=[
        ProbeRecord(kind=Probe.ARITHMETIC, precision="default", work=5e11, passes_s=[0.02, 0.01]),
        ProbeRecord(kind=Probe.ARITHMETIC, precision="bf16", work=5e12, passes_s=[0.01, 0.01]),
        ProbeRecord(kind=Probe.ARITHMETIC, precision="fp16", problem="Error: no fp16 here"),
        ProbeRecord(kind=Probe.MEMORY, work=1e10, passes_s=[0.01, 0.04]),
        ProbeRecord(kind=Probe.LAUNCH, work=256, passes_s=[0.001, 0.001024, 0.002]),
        ProbeRecord(kind=Probe.FEED, work=6.4e7, passes_s=[0.01, 0.02, 0.04]),
        ProbeRecord(kind=Probe.FETCH, work=3.2e7, passes_s=[0.002, 0.004, 0.006]),
    ]
)


def under_roof(made: Result, roof: RoofRecord = ROOF, **options: object) -> Result:
    return made.model_copy(update={"roof": roof, "options": OptionsRecord(**options)})


def of_one(spec, mean_ms: float, operations: int | None = None, **options: object) -> Result:
    rounds = [RoundRecord(round=1, passes_s=passes_s(mean_ms), operations=operations)]
    return under_roof(result([record(spec, rounds=rounds)]), **options)


def summed_up(made: Result) -> TestSummary:
    (test,) = derive(made).tests
    return test


def check(summary: Summary, name: str) -> CheckRecord:
    (found,) = [check for check in summary.checks if check.name == name]
    return found


def test_limits_are_the_best_pass_and_estimates_the_median():
    summary = derive(under_roof(result()))
    assert summary.roof is not None
    assert summary.roof.model_dump() == {
        "tflops": {"default": pytest.approx(50), "bf16": pytest.approx(500)},
        "memory_gb_s": pytest.approx(1000),
        "feed_gb_s": pytest.approx(3.2),
        "fetch_gb_s": pytest.approx(8),
        "launch_us": pytest.approx(4),
    }


def test_what_a_test_reached_and_what_that_is_of_the_peak():
    test = summed_up(of_one(MOBILENET, mean_ms=10))
    assert test.tflops == pytest.approx(3.008)
    assert test.roof_shares is not None
    assert test.roof_shares["arithmetic"] == pytest.approx(3.008 / 50)


def test_the_peak_is_that_of_the_runs_precision():
    half = summed_up(of_one(MOBILENET, mean_ms=10, precision=Precision.BF16)).roof_shares
    none = summed_up(of_one(MOBILENET, mean_ms=10, precision=Precision.FP16)).roof_shares
    assert half is not None and none is not None
    assert half["arithmetic"] == pytest.approx(3.008 / 500)
    assert half["memory"] == pytest.approx(2.7 / 2 / 1000 / 0.010), "half of the bytes"
    assert "arithmetic" not in none


@pytest.mark.parametrize("reached", ["fp32", "tf32"])
def test_the_default_precision_is_free_to_do_what_it_does_in(reached):
    faster = ProbeRecord(kind=Probe.ARITHMETIC, precision=reached, work=1e12, passes_s=[0.01])
    roof = RoofRecord(probes=[*ROOF.probes, faster])
    for precision, peak in {Precision.DEFAULT: 100, Precision.BF16: 500}.items():
        made = of_one(MOBILENET, mean_ms=10)
        shares = summed_up(under_roof(made, roof, precision=precision)).roof_shares
        assert shares is not None
        assert shares["arithmetic"] == pytest.approx(3.008 / peak)


def test_a_training_step_is_three_sweeps_unless_weights_are_frozen():
    trained, frozen = (
        summed_up(of_one(spec, 1000)).tflops for spec in (SPECS["1.2"], ICNET_TRAINING)
    )
    assert trained == pytest.approx(3 * SPECS["1.2"].gflop / 1000)
    assert frozen == pytest.approx(ICNET_TRAINING.gflop / 1000)


@pytest.mark.parametrize(
    ("spec", "mean_ms", "operations", "bound"),
    [
        (SPECS["9.1"], 20, None, "arithmetic"),  # 874 GFLOP at 50 TFLOP/s: 17.5 ms
        (SPECS["16.1"], 30, None, "unknown"),  # 712 GFLOP: 14.2 ms
        (SPECS["17.1"], 30, None, "unknown"),
        (SPECS["17.1"], 30, 5000, "launch overhead"),  # 4 us each: 20 ms
        (MOBILENET, 22, None, "host"),  # 60 MB at 3.2 GB/s: 18.8 ms
        (SPECS["19.1"], 30, None, "memory"),  # 28 GB at 1 TB/s
    ],
)
def test_what_takes_most_of_the_time_is_named(spec, mean_ms, operations, bound):
    assert summed_up(of_one(spec, mean_ms, operations)).bound == bound


probes = st.builds(
    ProbeRecord,
    kind=st.sampled_from(Probe),
    precision=st.sampled_from([None, *Precision]),
    work=st.none() | st.floats(1, 1e21),
    passes_s=st.lists(st.floats(1e-9, 1e9), max_size=3),
    problem=st.none() | st.text(),
)


@given(st.lists(probes, max_size=8), st.floats(1e-6, 1e9), st.none() | st.integers(0, 10**12))
def test_whatever_a_file_holds_gives_finite_figures(found, mean_ms, operations):
    made = of_one(MOBILENET, mean_ms, operations).model_copy(
        update={"roof": RoofRecord(probes=found)}
    )
    (test,) = derive(made).tests
    assert test.roof_shares is not None
    assert all(isfinite(share) and share >= 0 for share in test.roof_shares.values())
    assert test.bound == "unknown" or test.roof_shares[test.bound] >= 0.5
    assert render_result(made)


def test_without_a_roof_or_a_time_nothing_is_said():
    bare = derive(result())
    assert bare.roof is None
    assert {(test.tflops, test.roof_shares, test.bound) for test in bare.tests} == {(None,) * 3}
    failed = under_roof(result([record(MOBILENET, passes_s(10), Status.OOM)]))
    resized = under_roof(result([record(MOBILENET, passes_s(10), batch=1)]))
    assert summed_up(failed).bound is summed_up(resized).bound is None


def test_a_share_of_the_host_beyond_half_fails_a_check():
    fine, bad = (check(derive(of_one(MOBILENET, ms)), "host_bound") for ms in (40, 30))
    assert (fine.ok, fine.value) == (True, pytest.approx(0.0188 / 0.040, rel=0.01))
    assert (bad.ok, bad.value, bad.tests) == (
        False,
        pytest.approx(0.0188 / 0.030, rel=0.01),
        ["1.1"],
    )
    assert "--protocol resident" in bad.advice


def both(classic_ms: float, resident_ms: float) -> Result:
    """One test under both protocols."""
    made = result([record(MOBILENET, passes_s(classic_ms))])
    policy = {**made.policy.model_dump(), "protocol": Protocol.RESIDENT}
    blocks = RoundRecord(
        round=1, passes_s=[resident_ms / 1000] * 8, block_passes=[1, 1, 2, 2, 2, 2, 2, 2]
    )
    half = record(MOBILENET, protocol=Protocol.RESIDENT, rounds=[blocks])
    document = {**made.model_dump(), "resident": {"policy": policy, "tests": [half.model_dump()]}}
    return under_roof(Result.model_validate(document))


def test_a_measured_share_of_the_host_takes_the_place_of_the_estimate():
    summary = derive(both(classic_ms=40, resident_ms=10))
    assert check(summary, "host_bound").value == pytest.approx(0.75)
    assert (summary.tests[0].bound, summary.resident is not None) == ("host", True)
    assert summary.resident is not None
    (resident,) = summary.resident.tests
    assert resident.roof_shares is not None
    assert resident.roof_shares.keys() == {"arithmetic", "memory"}
    assert resident.tflops == pytest.approx(3.008)
    assert "host_bound" not in {check.name for check in summary.resident.checks}


def test_faster_than_the_peak_fails_a_check_that_names_the_tests():
    possible, not_so = (
        check(derive(of_one(SPECS["9.1"], ms)), "faster_than_peak") for ms in (17, 16)
    )
    assert possible.ok, "3 % above the peak, which is not better known than that"
    assert (not_so.ok, not_so.tests) == (False, ["9.1"])
    assert not_so.value == pytest.approx(874.26 / 50 / 16)


def test_the_roof_as_text():
    made = under_roof(
        result(at_speed(2.3, only=["1.1", "1.2", "9.1", "17.1", "19.1"], wobble=0.01))
    )
    text = render_result(made)
    golden_files.check("show-roof.txt", text)
    assert max(map(len, text.splitlines())) <= 80


def test_each_protocol_has_a_table_of_its_own():
    lines = render_result(both(classic_ms=40, resident_ms=10)).splitlines()
    (classic,) = [line for line in lines if "MobileNet-V2" in line and "host 75%" in line]
    (resident,) = [line for line in lines if "MobileNet-V2" in line and "unknown" in line]
    assert lines.index(classic) < lines.index(resident)
    assert [lines[lines.index(line) - 2].split()[0] for line in (classic, resident)] == [
        "classic",
        "resident",
    ]


def test_what_could_not_be_measured_is_said_and_harmless():
    lost = RoofRecord(probes=[], problem="the worker was\x1b[2J ended by SIGKILL")
    text = render_result(under_roof(result(at_speed(only=["1.1"])), lost))
    assert "Roof     the worker was\\x1b[2J ended by SIGKILL" in text
    assert "bound by" in text


def test_a_run_measures_it_once_and_keeps_it(script, tmp_path: Path):
    script(tests={"1.1": {"operations": 7}})
    path = tmp_path / "r.json"
    request = Request(backend="fake", tests="1.1,9.1", output=path)
    made = execute(request, Observer(), lambda question: False).result
    assert made.roof is not None
    assert [probe.kind for probe in made.roof.probes] == [
        Probe.ARITHMETIC,
        Probe.ARITHMETIC,
        Probe.MEMORY,
        Probe.LAUNCH,
        Probe.FEED,
        Probe.FETCH,
    ]
    first, second = made.tests
    assert (first.rounds[0].operations, second.rounds[0].operations) == (7, None)
    assert [test.bound for test in derive(made).tests] == ["memory", "arithmetic"]
    assert load(path) == made


def test_a_roof_that_cannot_be_measured_does_not_end_the_run(script, tmp_path: Path):
    script(roof={"memory": "abort"})
    request = Request(backend="fake", tests="1.1", output=tmp_path / "r.json")
    made = execute(request, Observer(), lambda question: False).result
    assert [test.status for test in made.tests] == [Status.OK]
    assert made.roof is not None
    assert (len(made.roof.probes), made.roof.problem) == (2, "the worker was ended by SIGABRT")


def test_the_document(tmp_path: Path):
    save(of_one(MOBILENET, 22, operations=100), tmp_path / "r.json")
    document = json.loads(aiscore("show", tmp_path / "r.json", "--json").out)
    assert document["roof"].keys() >= {"tflops", "memory_gb_s", "feed_gb_s", "launch_us"}
    (test,) = document["tests"]
    assert test["roof_shares"].keys() == {"arithmetic", "memory", "launch overhead", "host"}
    assert (test["bound"], test["tflops"]) == ("host", pytest.approx(30.08 / 22))


def test_a_figure_that_does_not_follow_from_the_probes_does_not_hold(tmp_path: Path):
    path = tmp_path / "r.json"
    save(of_one(MOBILENET, 22), path)
    path.write_text(path.read_text().replace('"bound": "host"', '"bound": "memory"'))
    assert load_checked(path)[1] == ["tests.0.bound: the file says 'memory', its samples 'host'"]


@pytest.mark.parametrize("time_s", ["0.0", "-1.0", "1e300", "1e-30"])
def test_times_that_no_probe_can_take_are_refused(tmp_path: Path, time_s: str):
    path = tmp_path / "r.json"
    save(of_one(MOBILENET, 22), path)
    text = path.read_text()
    assert "0.001024" in text
    path.write_text(text.replace("0.001024", time_s))
    verified = aiscore("verify", path)
    assert verified.code == 1
    assert "roof.probes.4.passes_s.1" in verified.out
