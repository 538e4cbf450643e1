"""``aiscore leaderboard``: every card with its source, and a result among them."""

import json
from pathlib import Path

import pytest

from aiscore.results.reference import cards
from aiscore.results.store import save
from tests import golden_files
from tests.command_line import aiscore
from tests.results_factory import at_speed, result
from workloads.suite import QUICK


def rows(*arguments: object) -> list[dict]:
    return json.loads(aiscore("leaderboard", *arguments, "--json").out)["rows"]


def test_the_leaderboard_as_text():
    golden_files.check("leaderboard.txt", aiscore("leaderboard").out)


def test_the_table_fits_a_terminal_of_80_columns():
    table, _, _ = aiscore("leaderboard").out.partition("\n[1] ")
    assert max(map(len, table.splitlines())) <= 80


def test_every_card_is_there_with_source_and_completeness():
    found = rows()
    assert {row["device"] for row in found} == {card.device for card in cards()}
    assert all(row["source_kind"] and row["completeness"] and row["source_url"] for row in found)


def test_the_official_v100_row_leads_what_others_published():
    first = next(row for row in rows() if row["source_kind"] != "this project")
    assert first["rank"] == 2
    assert first["device"] == "NVIDIA Tesla V100 SXM2 32GB"
    assert first["scores"] == {"inference": 17761, "training": 18030, "ai": 35791}
    assert (first["source_kind"], first["completeness"]) == ("official ranking", "scores only")
    assert first["tests"] == {}


@pytest.mark.parametrize("sort", ["inference", "training", "ai"])
def test_ranks_follow_the_score_and_leave_out_what_is_partial(sort: str):
    ranked = [row for row in rows("--sort", sort) if row["rank"]]
    assert [row["rank"] for row in ranked] == list(range(1, len(ranked) + 1))
    scores = [row["scores"][sort] for row in ranked]
    assert scores == sorted(scores, reverse=True)
    assert all(row["score_basis"][sort] == "whole" for row in ranked)


def test_a_score_over_a_part_of_its_tests_is_marked_and_comes_after_the_whole_ones():
    found = rows()
    basis = [row["score_basis"]["ai"] for row in found]
    assert basis == sorted(basis, key=["whole", "part", None].index)
    assert "*11100" in aiscore("leaderboard").out, "the A770 over 23 of 24 tests"


def test_only_cpus():
    found = rows("--kind", "cpu")
    assert found
    assert {row["kind"] for row in found} == {"cpu"}


def test_a_whole_result_takes_its_rank_among_the_cards(tmp_path: Path):
    save(result(at_speed(1.2), label="mine"), tmp_path / "r.json")
    found = rows("--with", tmp_path / "r.json")
    mine = next(row for row in found if row["mine"])
    assert (mine["device"], mine["source_kind"], mine["rank"]) == ("mine", "this result", 4)
    assert len(found) == len(cards()) + 1


def test_a_quick_result_is_placed_by_its_estimate_and_has_no_rank(tmp_path: Path):
    save(result(at_speed(0.07, only=QUICK), quick=True), tmp_path / "r.json")
    found = rows("--with", tmp_path / "r.json", "--kind", "cpu")
    place = next(index for index, row in enumerate(found) if row["mine"])
    assert (found[place]["rank"], found[place]["score_basis"]["ai"]) == (None, "estimate")
    assert found[place - 1]["scores"]["ai"] >= found[place]["scores"]["ai"]
    assert "~ estimated" in aiscore("leaderboard", "--with", tmp_path / "r.json").out


def test_a_result_of_another_backend_has_no_rank(tmp_path: Path):
    save(result(backend="fake"), tmp_path / "r.json")
    mine = next(row for row in rows("--with", tmp_path / "r.json") if row["mine"])
    assert (mine["rank"], mine["score_basis"]["ai"]) == (None, "other scale")
    assert mine["not_comparable_because"]
    assert "!20000" in aiscore("leaderboard", "--with", tmp_path / "r.json").out


def test_a_file_that_is_no_result_exits_2(tmp_path: Path):
    assert aiscore("leaderboard", "--with", tmp_path / "missing.json").code == 2


@pytest.mark.parametrize(
    ("arguments", "key", "start"),
    [
        (["--source", "official"], "source_kind", "official ranking"),
        (["--source", "user"], "source_kind", "user report"),
        (["--source", "project"], "source_kind", "this project"),
        (["--completeness", "complete"], "completeness", "complete"),
        (["--completeness", "scores"], "completeness", "scores"),
        (["--completeness", "partial"], "completeness", "partial"),
    ],
)
def test_filters(arguments: list[str], key: str, start: str):
    found = rows(*arguments)
    assert found
    assert all(row[key].startswith(start) for row in found)
    assert len(found) == sum(row[key].startswith(start) for row in rows())


def test_filters_hold_together_and_ranks_are_among_what_is_shown():
    found = rows("--kind", "cpu", "--completeness", "complete")
    assert [(row["kind"], row["completeness"]) for row in found] == [("cpu", "complete")] * 3
    assert [row["rank"] for row in found] == [1, 2, 3]


@pytest.mark.parametrize("option", ["--kind", "--source", "--completeness", "--sort"])
def test_an_unknown_filter_is_refused(option: str):
    assert aiscore("leaderboard", option, "unknown").code == 2


def test_other_stacks_are_marked():
    stacks = {row["device"]: row["stack"] for row in rows()}
    assert stacks["Intel Arc A770 (openvino_tensorflow)"] == "OpenVINO"
    assert stacks["Intel Arc A770 (oneAPI, intel-extension-for-tensorflow)"] == "Intel's extension"
    assert stacks["AMD Radeon RX 6600 XT (tensorflow-directml-plugin)"] == "DirectML"
    assert stacks["AMD Instinct MI100"] == "ROCm"
    assert stacks["NVIDIA Tesla V100 SXM2 32GB"] is None
    assert stacks["NVIDIA H100 80GB HBM3"] is None
    text = " ".join(aiscore("leaderboard").out.split())
    assert "^OpenVINO" in text
    assert "^ on another stack" in text
    assert "^" not in aiscore("leaderboard", "--source", "official").out


def test_every_row_names_its_source():
    text = aiscore("leaderboard").out
    for card in cards():
        assert card.source_url in text


def test_the_standing_of_a_whole_result(tmp_path: Path):
    save(result(at_speed(1.2), label="mine"), tmp_path / "r.json")
    document = json.loads(aiscore("leaderboard", "--with", tmp_path / "r.json", "--json").out)
    assert document["standing"] == {
        "score": "ai",
        "cards": 16,
        "slower_cards": 13,
        "percentile": [81, 81],
    }
    text = " ".join(aiscore("leaderboard", "--with", tmp_path / "r.json").out.split())
    assert "ahead of 13 of the 16 ranked cards" in text
    assert "percentile among such cards 81" in text


def test_the_standing_of_an_estimate_is_a_range(tmp_path: Path):
    save(result(at_speed(0.03, only=QUICK), quick=True), tmp_path / "r.json")
    document = json.loads(
        aiscore("leaderboard", "--with", tmp_path / "r.json", "--kind", "cpu", "--json").out
    )
    low, high = document["standing"]["percentile"]
    assert low <= high


@pytest.mark.parametrize(
    "made", [result(backend="fake"), result(at_speed(only=["1.1"]))], ids=["scale", "part"]
)
def test_what_has_no_comparable_score_has_no_standing(tmp_path: Path, made):
    save(made, tmp_path / "r.json")
    shown = json.loads(aiscore("leaderboard", "--with", tmp_path / "r.json", "--json").out)
    assert shown["standing"] is None
    assert json.loads(aiscore("leaderboard", "--json").out)["standing"] is None


def test_prices_give_a_column_of_value_by_the_score_sorted_by(tmp_path: Path):
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "EUR"\n"NVIDIA GeForce RTX 2070 SUPER" = 500\n')
    save(result(label="mine"), tmp_path / "r.json")
    given = ("--with", tmp_path / "r.json", "--price", 4000, "--currency", "EUR")
    shown = aiscore("leaderboard", "--prices", prices, *given).out
    assert "AI/price" in shown
    assert "48.5 / EUR" in shown
    assert "5.00 / EUR" in shown
    assert "24.2 / EUR" in aiscore("leaderboard", "--prices", prices, "--sort", "training").out
    priced = {row["device"]: row for row in rows("--prices", prices, *given) if row["price"]}
    assert priced["mine"]["score_per"]["ai"]["price"] == 5
    assert priced["NVIDIA GeForce RTX 2070 SUPER"]["price"]["amount"] == 500
    assert "price" not in aiscore("leaderboard").out


def test_a_price_is_that_of_a_result():
    refused = aiscore("leaderboard", "--price", 4000, "--currency", "EUR")
    assert (refused.code, "--price was given 1 times for 0" in refused.err) == (2, True)
