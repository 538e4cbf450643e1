"""``aiscore compare`` on results of one device that differ in their stack."""

import json
from pathlib import Path

import pytest

from aiscore.report.comparisons import compare_all
from aiscore.report.stacks import Stacks
from aiscore.results.model import OptionsRecord, Result, RoundRecord, TestRecord
from aiscore.results.reference import find_card
from aiscore.results.store import save
from aiscore.results.subject import from_card, from_result
from aiscore.scoring.compare import NOISE_FLOOR, ROUNDS_PER_TEST
from aiscore.spec import Mode, Precision, Protocol
from tests import golden_files
from tests.command_line import aiscore
from tests.results_factory import at_speed, result
from workloads.suite import FULL

INFERENCE = [spec.id for spec in FULL if spec.mode is Mode.INFERENCE]
QUICKER_THERE = "5.1"


def starting(tests: list[TestRecord], prepare_s: float, first_s: float) -> list[TestRecord]:
    """The tests, each of which takes so long to build and for its first pass."""

    def slower(one: RoundRecord) -> RoundRecord:
        passes_s = [first_s, *one.passes_s[1:]]
        return one.model_copy(update={"prepare_s": prepare_s, "passes_s": passes_s})

    return [
        test.model_copy(update={"rounds": [slower(one) for one in test.rounds]}) for test in tests
    ]


def on(
    backend: str,
    speed: float,
    precision: Precision = Precision.DEFAULT,
    xla: bool = False,
    tests: list[TestRecord] | None = None,
    device: str = "NVIDIA H200",
) -> Result:
    """A result of that stack at so many times the reference speed."""
    made = result(at_speed(speed) if tests is None else tests, backend=backend, device=device)
    return made.model_copy(update={"options": OptionsRecord(precision=precision, xla=xla)})


def sides() -> list[Result]:
    """Two backends that train, one of them in three ways, and one that does not."""
    tests = [
        *at_speed(4, only=set(INFERENCE) - {QUICKER_THERE}),
        *at_speed(9, only=[QUICKER_THERE]),
    ]
    return [
        on("tensorflow", 2, tests=starting(at_speed(2), 1, 2)),
        on("tensorflow", 2.5, xla=True, tests=starting(at_speed(2.5), 1, 30)),
        on("tensorflow", 3, Precision.BF16, tests=starting(at_speed(3), 1, 3)),
        on("jax", 5, Precision.BF16, tests=starting(at_speed(5), 0.5, 10)),
        on("onnxruntime", 4, tests=starting(tests, 12, 1)),
    ]


def found(*results: Result) -> Stacks | None:
    return compare_all([from_result(made) for made in results]).stacks


def test_stacks_as_text(tmp_path: Path):
    paths = [tmp_path / f"{number}.json" for number, _ in enumerate(sides())]
    for path, made in zip(paths, sides(), strict=True):
        save(made, path)
    text = aiscore("compare", *paths).out
    golden_files.check("compare-stacks.txt", text[text.index("Stacks on") :])
    document = json.loads(aiscore("compare", *paths, "--json").out)["stacks"]
    assert document["stacks"]["D"] == {"backend": "jax", "precision": "bf16"}
    assert document["matrices"][0].items() >= {"protocol": "classic", "tests": 24}.items()
    assert document["best"][0]["letter"] == "D"


def test_a_matrix_is_over_the_tests_that_all_of_its_sides_have():
    stacks = found(*sides())
    assert stacks is not None
    inference, training = stacks.matrices
    assert (inference.mode, inference.tests, [*inference.speeds]) == ("inference", 24, [*"ABCDE"])
    assert (training.mode, training.tests, [*training.speeds]) == ("training", 18, [*"ABCD"])
    assert training.speeds == pytest.approx({"A": 1, "B": 1.25, "C": 1.5, "D": 2.5})


def test_each_kind_of_work_has_its_speeds_over_the_tests_that_all_have():
    stacks = found(*sides())
    assert stacks is not None
    inference, training = stacks.kinds
    assert inference.tests["classification"] == 7 and training.tests["segmentation"] == 3
    assert inference.speeds["classification"] == pytest.approx(
        {"A": 1, "B": 1.25, "C": 1.5, "D": 2.5, "E": (2**6 * 4.5) ** (1 / 7)}
    )
    assert set(training.speeds["segmentation"]) == set("ABCD")


def test_what_it_takes_to_start_is_summed_over_the_tests_that_all_have():
    stacks = found(*sides())
    assert stacks is not None
    inference, training = stacks.start_ups
    assert (inference.tests, training.tests) == (24, 18)
    assert inference.prepare_s == {"A": 24, "B": 24, "C": 24, "D": 12, "E": 24 * 12}
    assert training.first_passes_s == {"A": 36, "B": 18 * 30, "C": 54, "D": 180}


def test_results_that_start_under_different_protocols_do_not_compare_their_starts():
    tests = starting(at_speed(1, protocol=Protocol.RESIDENT), 1, 2)
    resident = on("jax", 1, tests=tests)
    policy = resident.policy.model_copy(update={"protocol": Protocol.RESIDENT})
    resident = resident.model_copy(update={"policy": policy, "protocol": Protocol.RESIDENT})
    stacks = found(on("tensorflow", 1, tests=starting(at_speed(1), 1, 2)), resident)
    assert stacks is not None
    assert stacks.start_ups == []


def test_the_best_stack_of_each_test_is_named_with_its_lead():
    stacks = found(*sides())
    assert stacks is not None
    best = {item.test: item for item in stacks.best}
    assert len(best) == 42
    assert (best["1.1"].letter, best["1.1"].lead) == ("D", pytest.approx(5 / 4))
    assert (best["1.2"].letter, best["1.2"].lead) == ("D", pytest.approx(5 / 3))
    assert (best[QUICKER_THERE].letter, best[QUICKER_THERE].lead) == ("E", pytest.approx(9 / 5))


def in_rounds(speed: float, rounds: int) -> list[TestRecord]:
    """Rounds that differ by a thousandth."""
    return [
        test.model_copy(
            update={
                "rounds": [
                    RoundRecord(
                        round=number,
                        passes_s=[time * (1 + number / 1000) for time in test.rounds[0].passes_s],
                    )
                    for number in range(1, rounds + 1)
                ]
            }
        )
        for test in at_speed(speed)
    ]


@pytest.mark.parametrize(
    ("lead", "rounds", "sure"),
    [
        (1 + NOISE_FLOOR / 2, 1, False),
        (1 + 2 * NOISE_FLOOR, 1, True),
        (1 + NOISE_FLOOR / 2, ROUNDS_PER_TEST, True),
        (1.0001, ROUNDS_PER_TEST, False),
    ],
)
def test_a_lead_is_sure_as_a_difference_is(lead: float, rounds: int, sure: bool):
    stacks = found(
        on("tensorflow", 1, tests=in_rounds(1, rounds)),
        on("jax", lead, tests=in_rounds(lead, rounds)),
    )
    assert stacks is not None
    assert {best.sure for best in stacks.best} == {sure}


def test_the_lead_is_over_another_stack_not_over_the_same_again():
    stacks = found(on("jax", 3), on("jax", 2.9), on("tensorflow", 1))
    assert stacks is not None
    assert {round(best.lead, 6) for best in stacks.best} == {3}


def test_each_protocol_has_its_matrices():
    resident = [test.model_copy(update={"protocol": Protocol.RESIDENT}) for test in at_speed(8)]

    def both(made: Result) -> Result:
        policy = made.policy.model_copy(update={"protocol": Protocol.RESIDENT})
        half = {"policy": policy, "tests": resident}
        return Result.model_validate({**made.model_dump(), "resident": half})

    stacks = found(both(on("jax", 3)), both(on("tensorflow", 2)))
    assert stacks is not None
    assert [(matrix.protocol, matrix.mode) for matrix in stacks.matrices] == [
        (protocol, mode) for protocol in Protocol for mode in Mode
    ]
    assert {best.lead for best in stacks.best if best.test.startswith("resident")} == {1}


def test_other_sides_are_no_stacks():
    assert found(on("jax", 3), on("jax", 2)) is None, "one stack"
    assert found(on("jax", 3), on("tensorflow", 2, device="NVIDIA A100")) is None
    card = from_card(find_card("2070"))
    assert compare_all([from_result(on("jax", 3)), card]).stacks is None
