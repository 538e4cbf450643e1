"""How sure a comparison is: rounds, intervals, verdicts, and what is said of them."""

import json
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, ttest_ind

from aiscore.report.comparisons import compare_all, first_line, sentences
from aiscore.results.model import Result, RoundRecord
from aiscore.results.store import load, save
from aiscore.results.subject import KINDS, VARIABLES, compare_subjects, from_result
from aiscore.scoring import stats
from aiscore.scoring.compare import (
    NOISE_FLOOR,
    ROUNDS,
    ROUNDS_PER_TEST,
    Verdict,
    judge,
    noise_floor,
)
from aiscore.spec import Mode
from tests import golden_files
from tests.command_line import aiscore
from tests.results_factory import at_speed, result
from workloads.suite import FULL, MICRO

SAME_STACK_OF_FOUR_H200 = (
    "nvidia-h200",
    "h200/tensorflow/default",
    "h200/onnxruntime/anchor",
    "h200-stacks/tensorflow",
)
LOGS = st.lists(st.floats(-5, 5), min_size=2, max_size=8).filter(
    lambda sample: max(sample) - min(sample) > 0.01
)


def in_rounds(
    rounds: int,
    seed: int,
    training: float = 1.0,
    inference: float = 1.0,
    drift: float = 0.003,
    faster: dict[str, float] | None = None,
    **run: Any,
) -> Result:
    """A run of several rounds at so many times the reference speed; rounds drift as a whole."""
    chance = np.random.default_rng(seed)
    drifts = [1 + chance.normal(0, drift) for _ in range(rounds)]
    tests = []
    for test in at_speed():
        speed = training if test.mode is Mode.TRAINING else inference
        speed *= (faster or {}).get(test.id, 1)
        (whole,) = test.rounds
        made = [
            RoundRecord(
                round=number,
                passes_s=[
                    time / speed * factor * (1 + chance.normal(0, 0.004)) for time in whole.passes_s
                ],
            )
            for number, factor in enumerate(drifts, start=1)
        ]
        tests.append(test.model_copy(update={"rounds": made}))
    return result(tests, **run)


def found(base: Result, other: Result):
    return compare_all([from_result(base), from_result(other)]).comparisons[0]


@given(LOGS, LOGS)
def test_welch_is_scipys(first: list[float], second: list[float]):
    mine = stats.welch(first, second)
    theirs = ttest_ind(second, first, equal_var=False)
    interval = theirs.confidence_interval()
    assert mine.p == pytest.approx(theirs.pvalue, abs=1e-9)
    assert mine.interval == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_without_any_spread_what_differs_differs():
    assert stats.welch([1, 1, 1], [1, 1, 1]) == stats.Difference(0, (0, 0), 1)
    assert stats.welch([1, 1, 1], [2, 2, 2]) == stats.Difference(1, (1, 1), 0)


@given(st.lists(st.floats(0, 1), max_size=42))
def test_the_correction_is_benjamini_and_hochbergs(p_values: list[float]):
    expected = false_discovery_control(p_values) if p_values else []
    assert stats.adjusted(p_values) == pytest.approx(list(expected))


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((1.02, 1.05), Verdict.FASTER),
        ((0.95, 0.98), Verdict.SLOWER),
        ((0.995, 1.009), Verdict.SAME),
        ((1.005, 1.05), Verdict.INCONCLUSIVE),
        ((0.9, 1.1), Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts_with_a_margin_of_one_percent(interval, verdict):
    assert judge(interval, 0.01) is verdict


def test_a_faster_side_is_faster_within_its_interval():
    made = found(in_rounds(5, 1), in_rounds(5, 2, training=1.27, inference=1.1))
    for name, speed in (("training", 1.27), ("inference", 1.1)):
        finding = made.findings[name]
        low, high = finding.interval
        assert low < speed < high
        assert high - low < 0.03
        assert finding.verdict is Verdict.FASTER
        assert finding.rounds == (5, 5)


def test_the_same_is_the_same_and_a_noisy_same_is_inconclusive():
    quiet = found(in_rounds(5, 1), in_rounds(5, 3)).findings["ai"]
    noisy = found(in_rounds(3, 1, drift=0.05), in_rounds(3, 3, drift=0.05)).findings["ai"]
    assert (quiet.verdict, noisy.verdict) == (Verdict.SAME, Verdict.INCONCLUSIVE)


def test_false_alarms_are_rare():
    verdicts = [
        finding.verdict
        for seed in range(0, 40, 2)
        for finding in found(
            in_rounds(3, seed, drift=0.02), in_rounds(3, seed + 1, drift=0.02)
        ).findings.values()
    ]
    wrong = sum(verdict in (Verdict.FASTER, Verdict.SLOWER) for verdict in verdicts)
    assert wrong / len(verdicts) <= 0.1


@pytest.mark.parametrize(("speed", "verdict"), [(1.1, "inconclusive"), (1.3, "faster")])
def test_fewer_rounds_have_no_interval_and_tell_only_large_differences(speed, verdict):
    few = ROUNDS - 1
    made = found(in_rounds(5, 1), in_rounds(few, 2, training=speed, inference=speed))
    finding = made.findings["ai"]
    assert (finding.interval, finding.rounds, finding.verdict) == (None, (5, few), verdict)
    assert (speed < 1 + NOISE_FLOOR) == (verdict == "inconclusive")


@pytest.mark.parametrize(
    ("tests", "floor"), [(0, 0.15), (1, 0.7), (4, 0.35), (7, 0.265), (22, 0.15), (42, 0.15)]
)
def test_over_few_tests_a_difference_without_an_interval_has_to_be_larger(tests, floor):
    assert noise_floor(tests) == pytest.approx(floor, rel=0.01)


@pytest.mark.parametrize("pair", [*combinations(SAME_STACK_OF_FOUR_H200, 2)])
def test_hosts_with_the_same_card_and_stack_are_not_told_apart(pair):
    one, other = (from_result(load(Path("docs/results") / f"{name}.json")) for name in pair)
    made = compare_subjects(one, other)
    findings = {**made.findings, **made.kinds}
    assert findings
    decided = {name for name, each in findings.items() if each.verdict in ("faster", "slower")}
    assert not decided


def test_passes_of_one_round_are_never_an_interval():
    finding = found(result(at_speed(wobble=0.001)), result(at_speed(2, wobble=0.001))).findings
    assert {item.interval for item in finding.values()} == {None}


def test_tests_need_five_rounds_and_are_corrected_for_their_number():
    four = found(in_rounds(ROUNDS_PER_TEST - 1, 1), in_rounds(5, 2))
    assert four.test_findings == {}
    five = found(in_rounds(5, 1), in_rounds(5, 2, faster={"5.1": 1.2}))
    sure = {test for test, item in five.test_findings.items() if item.verdict != "inconclusive"}
    assert sure == {"5.1"}
    assert len(five.test_findings) == 42


def test_a_round_that_lacks_a_test_does_not_count_in_the_score():
    short = in_rounds(4, 2)
    tests = [
        test.model_copy(update={"rounds": test.rounds[:-1]}) if test.id == "1.1" else test
        for test in short.tests
    ]
    made = found(in_rounds(4, 1), short.model_copy(update={"tests": tests}))
    assert made.findings["inference"].rounds == (4, 3)
    assert made.findings["training"].rounds == (4, 4)


def test_every_test_is_of_one_family_and_of_one_size():
    for spec in FULL + MICRO:
        kinds = [name for name, tests in KINDS.items() if spec.id in tests]
        assert len(kinds) == 2
        assert all(name.endswith(f"/{spec.mode}") for name in kinds)


def line(*results: Result) -> str:
    return first_line(compare_all([from_result(made) for made in results]))


@pytest.mark.parametrize(
    ("change", "variable"),
    [
        (lambda made: result(device="NVIDIA B200"), "device"),
        (lambda made: result(software={"python": "3.11.7", "tensorflow": "2.18"}), "framework"),
        (lambda made: result(policy={"passes": 50}), "protocol"),
        (lambda made: with_host(made, cpu="AMD EPYC 9654"), "CPU"),
        (lambda made: with_host(made, container="docker"), "container"),
    ],
)
def test_one_changed_variable_is_named_first(change: Callable[[Result], Result], variable: str):
    assert line(result(), change(result())).startswith(f"Changed: {variable} (")


def with_host(made: Result, **facts: str) -> Result:
    host = {**made.environment.host, **facts}
    return made.model_copy(
        update={"environment": made.environment.model_copy(update={"host": host})}
    )


def test_several_changed_variables_are_named_and_none_is_blamed():
    said = line(result(), with_host(result(device="NVIDIA B200"), cpu="AMD EPYC 9654"))
    assert said == ("Changed: device and CPU; no difference can be put down to one of them.")
    assert line(result(), result()) == "Changed: nothing that the results tell of."


def test_what_only_one_of_two_frameworks_has_is_the_framework_s():
    jax = {"backend": "jax", "software": {"python": "3.12.3", "jax": "0.11.2", "xla": "always"}}
    assert line(result(), result(**jax)).startswith("Changed: framework (")
    threads = result(software={**result().environment.software, "intra_op_threads": "4"})
    assert line(result(), threads).startswith("Changed: intra_op_threads (")


def test_another_card_of_the_same_name_is_another_device():
    one, other = (on_card(result(), uuid) for uuid in ("GPU-1", "GPU-2"))
    assert line(one, other) == "Changed: device (gpu uuid GPU-1 against GPU-2)."


def on_card(made: Result, uuid: str) -> Result:
    """The result of a GPU that the run saw alone."""
    card = {"name": made.device.name, "uuid": uuid}
    variables = {"CUDA_VISIBLE_DEVICES": uuid}
    return made.model_copy(
        update={
            "device": made.device.model_copy(update={"uuid": uuid}),
            "environment": made.environment.model_copy(
                update={"gpus": [card], "variables": variables}
            ),
        }
    )


def test_no_key_of_a_set_up_stands_for_two_variables():
    keys = [key for keys in VARIABLES.values() for key in keys]
    assert len(keys) == len(set(keys))


def said(base: Result, other: Result) -> list[str]:
    return sentences(compare_all([from_result(base), from_result(other)]))


def test_a_sentence_only_where_something_is_sure():
    assert said(result(), result(at_speed(1.1))) == [], "so much may be the host"
    assert said(in_rounds(5, 1), in_rounds(5, 3)) == []
    (text,) = said(in_rounds(5, 1, label="old"), in_rounds(5, 2, training=1.27, label="new"))
    assert re.match(r"new trains networks 2[678]\.\d% faster \(2[56789]", text)
    assert text.endswith("than old.")
    assert "runs" not in text, "inference is the same"


def test_without_rounds_only_a_large_difference_makes_a_sentence_and_it_has_no_interval():
    half = result(at_speed(0.5), label="half")
    whole = result(label="whole")
    assert said(half, whole) == [
        "whole trains networks 2.00 x faster (no interval) and runs networks"
        " 2.00 x faster (no interval) than half."
    ]
    assert said(whole, half) == [
        "half trains networks 50.0% slower (no interval) and runs networks"
        " 50.0% slower (no interval) than whole."
    ]


def test_a_family_that_stands_out_is_named():
    recurrent = dict.fromkeys(KINDS["recurrent and translation/training"], 1.5)
    (text,) = said(in_rounds(5, 1), in_rounds(5, 2, faster=recurrent))
    assert "recurrent and translation networks 4" in text or "networks 5" in text
    assert text.startswith("B "), "both have the same name"


def test_a_slower_side_is_called_slower():
    (text,) = said(in_rounds(5, 1, label="old"), in_rounds(5, 2, inference=0.8, label="new"))
    assert "new runs networks 2" in text or "new runs networks 1" in text
    assert "slower" in text


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    made = {
        "base": in_rounds(5, 1, label="base"),
        "slow": in_rounds(5, 2, training=0.95, label="slow"),
        "twice": in_rounds(5, 3, training=2, inference=2, label="twice"),
        "once": result(at_speed(0.95), label="once"),
    }
    for name, content in made.items():
        save(content, tmp_path / f"{name}.json")
    return {name: tmp_path / f"{name}.json" for name in made}


def test_two_results_with_rounds_as_text(files: dict[str, Path]):
    prices = ("--price", 4000, "--price", 5000, "--currency", "EUR")
    shown = aiscore("compare", files["base"], files["slow"], *prices)
    golden_files.check("compare-rounds.txt", shown.out)


def test_value_is_part_of_the_sentence(files: dict[str, Path]):
    prices = ("--price", 4000, "--price", 5000, "--currency", "EUR")
    text = aiscore("compare", files["base"], files["twice"], *prices).out
    assert "and gives 1.6" in " ".join(text.split())
    assert "x as much training score per price." in " ".join(text.split())


@pytest.mark.parametrize(
    ("other", "margin", "code"),
    [("slow", "2%", 1), ("slow", "0.02", 1), ("slow", "10%", 0), ("twice", "2%", 0)],
)
def test_fail_on_slower(files: dict[str, Path], other: str, margin: str, code: int):
    arguments = (files["base"], files[other], "--fail-on", "slower", "--margin", margin)
    assert aiscore("compare", *arguments).code == code


def test_what_fail_on_cannot_tell_is_said(files: dict[str, Path]):
    shown = aiscore("compare", files["base"], files["once"], "--fail-on", "slower")
    assert shown.code == 0
    assert "once: training inconclusive" in shown.err
    slow = aiscore("compare", files["base"], files["slow"], "--fail-on", "slower")
    assert "slow: training slower" in slow.err


@pytest.mark.parametrize("margin", ["x", "-1%", "100%", "nan", "1e999"])
def test_a_margin_that_is_none_is_refused(files: dict[str, Path], margin: str):
    assert aiscore("compare", files["base"], files["slow"], "--margin", margin).code == 2


def test_the_document(files: dict[str, Path]):
    shown = json.loads(aiscore("compare", files["base"], files["slow"], "--json").out)
    (made,) = shown["comparisons"]
    assert shown["changed"] == []
    assert made["findings"]["training"]["verdict"] == "slower"
    assert made["findings"]["training"]["interval"][1] < 0.97
    assert made["kinds"]["segmentation/training"]["tests"] == 3
    assert made["test_findings"]["1.2"]["p"] < 0.05
    assert len(shown["sentences"]) == 1


def test_every_card_compares_with_the_v100():
    from aiscore.results.reference import cards

    for card in cards():
        shown = aiscore("compare", "NVIDIA Tesla V100 SXM2 32GB", card.device)
        assert shown.code == 0
        assert "leaderboard card: no interval" in shown.out or "Nothing to compare" in shown.out
