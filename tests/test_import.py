"""``aiscore import``: logs become files, and what was not read is said."""

import json
import os
from pathlib import Path

import pytest

from aiscore.results.reference import find_card
from aiscore.results.store import check, load
from tests.command_line import aiscore
from tests.log_factory import of_card, original

CARD = find_card("2070")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A whole log, in an empty current directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "card.txt"
    path.write_text(of_card(CARD), encoding="utf-8")
    return path


def test_a_log_becomes_a_file_that_verifies(log: Path, tmp_path: Path):
    shown = aiscore("import", log, "-o", tmp_path / "r.json")
    assert shown.code == 0
    assert shown.out == (
        f"{tmp_path}/r.json: NVIDIA GeForce RTX 2070 SUPER, complete;"
        " Inference score 12153; Training score 12115; AI score 24268\n"
    )
    assert shown.err == (
        f"{log}: runs 1, lines of the benchmark not read 0, other lines left out 0\n"
    )
    assert check(tmp_path / "r.json") == []
    assert aiscore("verify", tmp_path / "r.json").code == 0


def test_without_a_path_it_is_called_after_the_log(log: Path, tmp_path: Path):
    assert aiscore("import", log).code == 0
    assert os.listdir(tmp_path / "aiscore-results") == ["card.json"]


def test_show_compare_leaderboard_and_publish_take_it(log: Path, tmp_path: Path):
    path = tmp_path / "r.json"
    aiscore("import", log, "-o", path)
    text = " ".join(aiscore("show", path).out.split())
    assert "from the log card.txt of ai-benchmark 0.1.2, lines 2 to" in text
    assert "it printed inference 12150, training 12115, ai 24265" in text
    assert "Comparable with the leaderboard" in text
    compared = json.loads(aiscore("compare", "2070", path, "--json").out)
    assert compared["comparisons"][0]["groups"]["ai"]["ratio"] == pytest.approx(1)
    assert compared["changed"] == []
    assert compared["subjects"][1]["source"] == "log"
    assert "imported log: no interval" in aiscore("compare", path, path).out
    assert aiscore("leaderboard", "--with", path).code == 0
    assert "as a log printed it" in aiscore("publish", path, "-o", "-").out


def test_a_score_that_the_times_do_not_give_exits_1_and_is_not_the_score(log: Path, tmp_path: Path):
    log.write_text(of_card(CARD, {"inference": 35791}), encoding="utf-8")
    shown = aiscore("import", log, "-o", tmp_path / "r.json")
    assert shown.code == 1
    assert "it printed inference score 35791, but its 42 times give 1" in shown.err
    loaded = load(tmp_path / "r.json")
    assert loaded.summary.scores["inference"].value < 13_000
    assert loaded.imported.printed_scores == {"inference": 35791}


def test_several_runs_need_a_folder(log: Path, tmp_path: Path):
    log.write_text(of_card(CARD) + original({"1.1": (9.0, 0.1)}, {}), encoding="utf-8")
    refused = aiscore("import", log, "-o", tmp_path / "r.json")
    assert (refused.code, refused.out) == (2, "")
    assert "holds 2 runs" in refused.err
    assert not (tmp_path / "r.json").exists()
    made = aiscore("import", log, "-o", f"{tmp_path / 'runs'}/")
    assert made.code == 0
    assert sorted(os.listdir(tmp_path / "runs")) == ["card-1.json", "card-2.json"]
    assert "partial (1 of 42)" in made.out


def test_what_was_not_read_is_shown_and_counted(log: Path, tmp_path: Path):
    text = of_card(CARD).replace("36.5 ± 0.5 ms", "36.5 ± \x1b]0;x")
    log.write_text(f"{text}\nand more\n", encoding="utf-8")
    shown = aiscore("import", log, "-o", tmp_path / "r.json")
    assert "card.txt:21: not read (no time): 1.1 - inference" in shown.err
    assert "not read 1, other lines left out 1" in shown.err
    assert "\x1b" not in shown.err


def test_the_document(log: Path, tmp_path: Path):
    shown = aiscore("import", log, "-o", tmp_path / "r.json", "--json")
    document = json.loads(shown.out)
    (made,) = document["results"]
    assert document["not_read"] == []
    assert document["other_lines"] == 0
    assert (made["path"], made["score_mismatches"]) == (str(tmp_path / "r.json"), [])
    shown_again = json.loads(aiscore("show", tmp_path / "r.json", "--json").out)
    assert shown_again.items() <= made.items()
    assert made["imported"]["printed_scores"]["ai"] == 24265
    assert made["scores"]["ai"]["interval_kind"] == "rounding"


def test_an_existing_file_is_kept_without_yes(log: Path, tmp_path: Path):
    path = tmp_path / "r.json"
    path.write_text("old")
    assert aiscore("import", log, "-o", path).code == 2
    assert path.read_text() == "old"
    assert aiscore("import", log, "-o", path, "--yes").code == 0


@pytest.mark.parametrize("content", [b"", b"hello", b"{}", b"Device AI Score: 24265\n"])
def test_what_is_no_log_is_refused_in_one_line(log: Path, tmp_path: Path, content: bytes):
    log.write_bytes(content)
    shown = aiscore("import", log, "-o", tmp_path / "r.json")
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert not (tmp_path / "r.json").exists()


def test_a_log_that_is_not_there_is_refused(tmp_path: Path):
    for path in (tmp_path / "missing.txt", tmp_path):
        shown = aiscore("import", path)
        assert (shown.code, shown.err.count("\n")) == (2, 1)


def test_a_printed_time_in_a_result_that_was_not_imported_is_refused(log: Path, tmp_path: Path):
    path = tmp_path / "r.json"
    aiscore("import", log, "-o", path)
    document = json.loads(path.read_text())
    document["imported"] = None
    path.write_text(json.dumps(document))
    shown = aiscore("verify", path)
    assert shown.code == 1
    assert "was not imported" in shown.out
