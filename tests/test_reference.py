"""The leaderboard's cards and how one is named."""

from pathlib import Path

import pytest

from aiscore.errors import UserError
from aiscore.results.reference import cards, find_card, reference_ms, suite_sha256
from aiscore.results.store import load
from aiscore.results.summary import derive
from aiscore.spec import Suite
from workloads.suite import TESTS

V100 = "NVIDIA Tesla V100 SXM2 32GB"
NUMBER_OF_CARDS = 43


@pytest.mark.parametrize("suite", Suite)
def test_every_test_has_a_reference_time_and_every_time_a_test(suite: Suite):
    assert list(reference_ms(suite)) == [test.id for test in TESTS[suite]]
    assert all(time > 0 for time in reference_ms(suite).values())


@pytest.mark.parametrize(
    ("suite", "sha256"),
    [
        (Suite.FULL, "fbe73ad0f1c0cb0fa34dcb7b4b41a0f807a7f3d7813df505288c5d28f3d07758"),
        (Suite.MICRO, "97b4ca78617b540bcc2049d42398ae2b9b80026a95ae609f9c973e504a3af95b"),
    ],
)
def test_a_suite_is_never_changed(suite: Suite, sha256: str):
    """Results stand on it: another set of tests or references is another suite."""
    assert suite_sha256(suite) == sha256


def test_the_v100_row_is_official_and_has_no_times():
    card = find_card(V100)
    assert card.scores == {"inference": 17761, "training": 18030, "ai": 35791}
    assert card.source_kind == "official ranking"
    assert (card.completeness, card.tests) == ("scores only", {})


def test_every_card_says_where_it_is_from_and_how_much_there_is():
    assert len(cards()) == NUMBER_OF_CARDS
    assert len({card.device for card in cards()}) == NUMBER_OF_CARDS
    assert all(card.source_url and card.source_kind and card.note for card in cards())
    for card in cards():
        count = len(card.tests)
        expected = {0: "scores only", 42: "complete"}.get(count, f"{count} of 42")
        assert expected in card.completeness, card.device
        assert card.tests.keys() <= reference_ms(Suite.FULL).keys()


def test_the_cards_of_this_project_are_what_their_result_files_say():
    root = Path(__file__).parents[1]
    ours = [card for card in cards() if card.source_kind == "this project"]
    assert {card.device for card in ours} >= {"NVIDIA H200"}
    for card in ours:
        summary = derive(load(root / card.source_url))
        assert summary.not_comparable_because == []
        assert card.scores == {name: one.value for name, one in summary.scores.items() if one}
        for test in summary.tests:
            found = (test.mean_ms, test.std_ms)
            assert card.tests[test.id] == pytest.approx(found, rel=1e-3), test.id


def test_a_score_over_a_part_of_its_tests_is_not_whole():
    i9 = find_card("i9-10900 CPU")
    assert i9.is_whole("inference"), "24 of 24"
    assert not i9.is_whole("training"), "17 of 18"
    assert not i9.is_whole("ai")
    assert not find_card("[PyPi default - CPU]").is_whole("inference"), "a reduced suite"
    assert find_card("titan rtx").is_whole("training"), "18 of 18"
    assert not find_card("titan rtx").is_whole("inference"), "never ran"
    assert find_card("2080 Ti (Gigabyte Windforce) eGPU over Thunderbolt").is_whole("ai"), (
        "a whole run of which few times were published"
    )


@pytest.mark.parametrize(
    "text", [V100, V100.lower(), "v100 sxm2", "  V100 SXM2 ", "2070", "rtx 2070 super"]
)
def test_a_card_is_found_by_any_part_that_fits_one(text: str):
    assert find_card(text).device in {V100, "NVIDIA GeForce RTX 2070 SUPER"}


def test_a_full_name_is_found_though_it_is_part_of_another():
    name = "AMD Radeon R9 Fury X 4GB (Fiji) tensorflow-rocm"
    assert find_card(name).device == name


def test_an_ambiguous_name_is_refused_with_the_candidates():
    with pytest.raises(UserError) as error:
        find_card("V100")
    assert error.value.exit_code == 2
    assert V100 in str(error.value)
    assert "NVIDIA Tesla V100-SXM2-16GB" in str(error.value)


def test_a_name_that_fits_many_shows_some_and_counts_the_rest():
    with pytest.raises(UserError, match=r"and \d+ more"):
        find_card("nvidia")


@pytest.mark.parametrize("text", ["RTX 9090", "", "   "])
def test_an_unknown_name_is_refused(text: str):
    with pytest.raises(UserError, match="aiscore leaderboard lists all"):
        find_card(text)


def test_an_unknown_name_with_a_known_word_is_answered_with_the_nearest():
    with pytest.raises(UserError, match="did you mean NVIDIA GeForce RTX 2070 SUPER"):
        find_card("Geforce 2070 Ti Super")
