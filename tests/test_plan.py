"""Which tests a selection means."""

import pytest

from aiscore.errors import UserError
from aiscore.execution.plan import make_plan
from aiscore.spec import Mode, Suite
from workloads.suite import FULL, QUICK


def ids(suite=Suite.FULL, **selection):
    return [test.id for test in make_plan(suite, **selection).tests]


def test_everything_by_default_in_the_order_of_the_suite():
    assert ids() == [test.id for test in FULL]
    assert len(ids(Suite.MICRO)) == 16


def test_quick_is_the_fixed_subset():
    assert set(ids(quick=True)) == set(QUICK)


def test_one_mode():
    assert len(ids(only=Mode.INFERENCE)) == 24
    assert len(ids(only=Mode.TRAINING)) == 18
    quick_training = [test.id for test in FULL if test.id in QUICK and test.mode is Mode.TRAINING]
    assert ids(quick=True, only=Mode.TRAINING) == quick_training != []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.1", ["1.1"]),
        ("5", ["5.1", "5.2"]),
        ("resnet_v2_50", ["5.1", "5.2"]),
        ("ResNet-V2-50", ["5.1", "5.2"]),
        ("resnet_v2*", ["5.1", "5.2", "6.1", "6.2"]),
        ("SRCNN 9-5-5", ["8.1", "8.2", "8.3"]),
        ("*.3", ["8.3", "9.3", "10.3", "11.3", "12.3"]),
        ("19, 1.2 ,1.1,1", ["1.1", "1.2", "19.1"]),
    ],
)
def test_tests_are_named_by_id_number_name_and_pattern(text, expected):
    assert ids(tests=text) == expected


def test_numbers_name_networks_of_the_micro_suite_too():
    assert ids(Suite.MICRO, tests="5") == ["5.m"]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("mobilenet_v3", "mobilenet_v2"),
        ("1.9", "1.1"),
        ("resnet_v2_51", "resnet_v2_50"),
        ("zzzzzz", "'aiscore tests'"),
    ],
)
def test_an_unknown_test_is_an_error_that_names_the_near_ones(text, near):
    with pytest.raises(UserError) as caught:
        make_plan(Suite.FULL, tests=f"1.1,{text}")
    assert repr(text) in caught.value.problem
    assert near in caught.value.advice


@pytest.mark.parametrize(
    "selection",
    [
        {"tests": ""},
        {"tests": " , "},
        {"tests": "1.1", "only": Mode.TRAINING},
        {"tests": "1.1", "quick": True},
    ],
)
def test_a_selection_of_nothing_or_of_two_minds_is_an_error(selection):
    with pytest.raises(UserError):
        make_plan(Suite.FULL, **selection)


def test_there_is_no_quick_micro_suite():
    with pytest.raises(UserError):
        make_plan(Suite.MICRO, quick=True)
