"""What is derived from the samples: scores, estimates, comparability."""

import pytest

from aiscore.results.model import ScoreRecord, Summary
from aiscore.results.summary import derive, summarise
from aiscore.scoring import quick
from aiscore.spec import DeviceKind, Mode, Status, Suite
from tests.results_factory import at_speed, passes_s, record, result
from workloads.suite import FULL, QUICK

INFERENCE = [test.id for test in FULL if test.mode is Mode.INFERENCE]
TRAINING = [test.id for test in FULL if test.mode is Mode.TRAINING]


def score(summary: Summary, name: str) -> ScoreRecord:
    found = summary.scores[name]
    assert found is not None
    return found


def test_a_whole_run_at_the_reference_speed_scores_10000_twice():
    summary = derive(result())
    assert {name: score(summary, name).value for name in summary.scores} == {
        "inference": 10_000,
        "training": 10_000,
        "ai": 20_000,
    }
    assert summary.status == "complete"
    assert summary.comparable_with_leaderboard
    assert summary.not_comparable_because == []
    assert (score(summary, "ai").tests_ok, score(summary, "ai").tests_expected) == (42, 42)


def test_the_figures_of_a_test_leave_the_first_pass_out():
    (test,) = derive(result([record(FULL[0], [9.0, 0.05, 0.05, 0.08])])).tests
    assert (test.mean_ms, test.median_ms, test.first_ms) == pytest.approx((60, 50, 9000))
    assert test.std_ms == pytest.approx(200**0.5)
    assert (test.passes, test.score, test.network) == (4, 12_500, "MobileNet-V2")


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_a_test_that_is_not_ok_voids_its_scores_and_has_no_time(status: Status):
    tests = [record(FULL[0], passes_s(1), status), *at_speed(only=[t.id for t in FULL[1:]])]
    summary = derive(result(tests))
    assert score(summary, "inference").value is None
    assert score(summary, "inference").partial_value == 10_000, "over the 23 that ran"
    assert score(summary, "training").value == 10_000
    assert score(summary, "ai").value is None
    assert score(summary, "ai").partial_value == 20_000
    assert (summary.tests[0].mean_ms, summary.tests[0].score) == (None, None)
    assert summary.status == "partial"
    assert not summary.comparable_with_leaderboard


def test_only_inference_gives_an_inference_score_and_no_other():
    summary = derive(result(at_speed(only=INFERENCE)))
    assert score(summary, "inference").value == 10_000
    for name in ("training", "ai"):
        assert score(summary, name).value is None
        assert score(summary, name).partial_value is None, "nothing ran"
    assert summary.status == "partial"


def test_nothing_ran():
    summary = derive(result([]))
    assert all(record.value is record.partial_value is None for record in summary.scores.values())
    assert summary.status == "partial"


def test_the_micro_suite_has_a_scale_of_its_own():
    summary = derive(result(suite=Suite.MICRO))
    assert score(summary, "micro").value == 10_000
    assert [summary.scores[name] for name in ("inference", "training", "ai")] == [None] * 3
    assert summary.status == "complete"
    assert summary.not_comparable_because == ["the micro suite has a scale of its own"]


def test_an_interrupted_run_is_marked():
    summary = derive(result(at_speed(only=INFERENCE), interrupted=True))
    assert summary.status == "interrupted"
    assert "the run was interrupted" in summary.not_comparable_because


def test_a_quick_run_has_an_estimate_and_no_value():
    summary = derive(result(at_speed(only=QUICK), quick=True, policy={"passes": 3}))
    for name, calibration in (("inference", quick.INFERENCE), ("training", quick.TRAINING)):
        found = score(summary, name)
        assert (found.value, found.partial_value) == (None, None)
        assert found.estimate == round(10_000 * calibration.factor)
        assert found.estimate_error == calibration.error
    ai = score(summary, "ai")
    assert ai.estimate == score(summary, "inference").estimate + score(summary, "training").estimate
    assert (ai.value, ai.estimate_error) == (None, quick.AI_ERROR)
    assert summary.status == "partial"


def test_a_quick_run_with_a_failure_has_no_estimate_for_it():
    failed = next(test for test in FULL if test.id == QUICK[0])
    tests = [record(failed, status=Status.OOM), *at_speed(only=QUICK[1:])]
    summary = derive(result(tests, quick=True))
    assert score(summary, "inference").estimate is None
    assert score(summary, "inference").partial_value == 10_000
    assert score(summary, "training").estimate is not None
    assert score(summary, "ai").estimate is None


def test_an_interval_speaks_of_the_passes_and_holds_the_value():
    summary = derive(result(at_speed(wobble=0.02)))
    for name in ("inference", "training", "ai"):
        found = score(summary, name)
        low, high = found.interval
        assert found.interval_kind == "passes"
        assert low < found.value < high
    assert high - low < 0.01 * found.value


def test_a_single_pass_has_no_interval():
    tests = [record(spec, passes_s(100, n=1)) for spec in FULL]
    found = score(derive(result(tests)), "inference")
    assert found.value is not None
    assert (found.interval, found.interval_kind) == (None, None)


@pytest.mark.parametrize("change", [{"batch": 1}, {"input": [32, 32, 3]}])
def test_a_resized_test_voids_the_score(change: dict[str, object]):
    tests = [record(FULL[0], passes_s(75), **change), *at_speed(only=[t.id for t in FULL[1:]])]
    summary = derive(result(tests))
    assert score(summary, "inference").value is None
    assert summary.tests[0].score is None
    assert "batch or input was changed: 1.1" in summary.not_comparable_because


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"backend": "fake"}, "it ran on the fake backend, the leaderboard's is tensorflow"),
        ({"policy": {"passes": 3}}, "the most passes of a test is 3, the protocol's is 22"),
        ({"policy": {"min_passes": 1}}, "the fewest passes of a test is 1, the protocol's is 5"),
        (
            {"policy": {"max_seconds": 5.0}},
            "the time limit of a test (s) is 5, the protocol's is 30",
        ),
        (
            {"policy": {"hard_limit_s": 50.0}},
            "the hard time limit of a test (s) is 50, the protocol's is 100",
        ),
    ],
)
def test_another_way_of_running_keeps_the_value_but_is_not_comparable(
    changes: dict[str, object], reason: str
):
    summary = derive(result(**changes))
    assert score(summary, "ai").value == 20_000
    assert summary.not_comparable_because == [reason]
    assert not summary.comparable_with_leaderboard


def test_early_stop_is_comparable_only_where_it_stopped_nothing():
    early = {"early_stop": True}
    assert derive(result(policy=early)).comparable_with_leaderboard
    ended = [record(FULL[0], passes_s(75, n=11)), *at_speed(only=[t.id for t in FULL[1:]])]
    assert derive(result(ended, policy=early)).not_comparable_because == [
        "tests were ended early (--early-stop): 1.1"
    ]
    slow = [record(FULL[0], passes_s(6000, n=6)), *at_speed(only=[t.id for t in FULL[1:]])]
    assert derive(result(slow, policy=early)).comparable_with_leaderboard, "by its time limit"


def test_more_passes_than_the_protocol_are_comparable():
    assert derive(result(policy={"passes": 220})).comparable_with_leaderboard


def test_passes_of_several_rounds_count_each_without_its_first():
    rounds = [{"round": n, "passes_s": [5.0, 0.1 * n, 0.1 * n]} for n in (1, 2)]
    (test,) = derive(result([record(FULL[0], rounds=rounds)])).tests
    assert test.mean_ms == pytest.approx(150)


@pytest.mark.parametrize(
    ("kind", "duration_s", "totals", "energy"),
    [
        (DeviceKind.GPU, 2.0, {"gpu_energy_j": 44.0, "cpu_energy_j": 1.0}, 2.0),
        (DeviceKind.CPU, 2.0, {"gpu_energy_j": 44.0, "cpu_energy_j": 22.0}, 1.0),
        (DeviceKind.GPU, 2.0, {"cpu_energy_j": 22.0}, None),  # not the device's
        (DeviceKind.GPU, 0.5, {"gpu_energy_j": 44.0}, None),  # the counter's steps are too large
    ],
)
def test_the_energy_of_a_pass_is_the_devices(kind, duration_s, totals, energy):
    telemetry = {"duration_s": duration_s, "samples": 0, "cost_s": 0.0, "totals": totals}
    rounds = [
        {"round": 1, "passes_s": passes_s(75), "telemetry": telemetry},
        {"round": 2, "passes_s": passes_s(75)},
    ]
    (test,) = derive(result([record(FULL[0], rounds=rounds)], kind=kind)).tests
    assert test.energy_per_pass_j == energy


def test_the_energy_is_that_of_the_passes_that_were_watched():
    telemetry = {"duration_s": 2.0, "samples": 0, "cost_s": 0.0, "totals": {"gpu_energy_j": 42.0}}
    rounds = [{"round": 1, "passes_s": passes_s(75), "telemetry": telemetry}]
    telemetry["unwatched_passes"] = 1
    (test,) = derive(result([record(FULL[0], rounds=rounds)], kind=DeviceKind.GPU)).tests
    assert test.energy_per_pass_j == 2.0


def test_a_summary_is_made_anew_not_believed():
    told = summarise(result(at_speed(2.0))).summary
    assert summarise(result().model_copy(update={"summary": told})) == summarise(result())
