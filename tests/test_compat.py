"""A script written for ai-benchmark runs with aiscore's AIBenchmark."""

import pytest

from aiscore import api, compat
from aiscore.results.summary import summarise
from aiscore.spec import Mode, Status, Suite
from tests.results_factory import at_speed, passes_s, record, result
from workloads.suite import FULL

TRAINING_IDS = [test.id for test in FULL if test.mode is Mode.TRAINING]


@pytest.fixture
def runs(monkeypatch):
    """Replaces the engine: notes what it is asked for, and returns a made result."""
    asked: list[dict[str, object]] = []

    def run(**options: object):
        asked.append({key: value for key, value in options.items() if value is not None})
        only = TRAINING_IDS if options.get("only") == "training" else None
        suite = Suite(str(options["suite"]))
        return summarise(result(at_speed(2.0, suite=suite, only=only), suite=suite))

    monkeypatch.setattr(api, "run", run)
    return asked


def test_the_whole_suite_gives_the_originals_attributes(runs):
    results = compat.AIBenchmark(use_CPU=None, verbose_level=0).run(precision="normal")
    assert (results.inference_score, results.training_score) == (20000, 20000)
    assert results.ai_score == 40000
    assert len(results.test_results) == 42
    assert results.test_results["1.1"].mean == pytest.approx(75 / 2)
    assert results.test_results["1.1"].std == pytest.approx(0)
    assert runs == [{"suite": "full", "device": "auto"}]


def test_a_training_run_numbers_its_tests_from_one(runs):
    results = compat.AIBenchmark(verbose_level=0).run_training()
    assert results.training_score == 20000
    assert results.inference_score is None
    assert results.ai_score is None
    assert results.test_results["8.1"].mean == pytest.approx(285 / 2)  # 8.3 of the whole suite


def test_a_micro_run_gives_its_score_as_the_inference_score(runs):
    results = compat.AIBenchmark(verbose_level=0).run_micro()
    assert results.inference_score == 20000
    assert len(results.test_results) == 16


def test_use_cpu_and_high_precision_are_passed_on(runs):
    compat.AIBenchmark(use_CPU=True, verbose_level=0).run_inference(precision="high")
    assert runs == [
        {
            "suite": "full",
            "only": "inference",
            "device": "cpu",
            "passes": 220,
            "max_seconds_per_test": compat.NO_LIMIT_S,
        }
    ]


def test_an_unknown_precision_is_refused(runs):
    with pytest.raises(ValueError, match="'normal' or 'high'"):
        compat.AIBenchmark(verbose_level=0).run(precision="fp16")
    assert runs == []


def test_it_prints_the_originals_lines(runs, capsys):
    compat.AIBenchmark(verbose_level=1).run()
    printed = capsys.readouterr().out.splitlines()
    assert "1/19. MobileNet-V2" in printed
    assert "1.1 - inference | batch=50, size=224x224: 37.5 ± 0.0 ms" in printed
    assert "18.2 - training | batch=10, size=1024x300: 364.0 ± 0.0 ms" in printed
    assert printed[-3:] == [
        "Device Inference Score: 20000",
        "Device Training Score: 20000",
        "Device AI Score: 40000",
    ]


def test_large_times_are_printed_as_whole_numbers():
    slow = record(FULL[0], passes_s(200.0, wobble=0.1, n=23))
    log = compat.as_log(summarise(result([slow])))
    assert "1.1 - inference | batch=50, size=224x224: 200 ± 20 ms" in log


def test_a_failed_test_leaves_no_score_and_says_why():
    tests = at_speed()
    tests[0] = record(FULL[0], status=Status.OOM)
    failed = summarise(result(tests))
    public = compat.public_results(failed)
    assert (public.inference_score, public.ai_score) == (None, None)
    assert public.training_score == 10000
    assert "1.1" not in public.test_results
    assert "1.1 - inference | batch=50, size=224x224: oom" in compat.as_log(failed)
