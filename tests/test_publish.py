"""``aiscore publish``: score tables that are safe to open and safe to write."""

import csv
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.report import escape, export
from aiscore.results.model import PriceRecord, Result
from aiscore.results.store import save
from aiscore.spec import DeviceKind
from tests import golden_files
from tests.command_line import aiscore
from tests.results_factory import at_speed, result
from workloads.suite import QUICK

HOSTILE = "=cmd|' /C calc'!A0\n| <script>[x](javascript:y) `z`\x1b[31m"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A whole result, and a quick one with a label that means harm."""
    quick = result(
        at_speed(0.07, only=QUICK, wobble=0.02),
        quick=True,
        policy={"passes": 3},
        kind=DeviceKind.CPU,
        label=HOSTILE,
    )
    save(result(at_speed(2.3, wobble=0.01)), tmp_path / "a.json")
    save(quick, tmp_path / "b.json")
    return [tmp_path / "a.json", tmp_path / "b.json"]


@pytest.mark.parametrize("suffix", ["md", "csv"])
def test_two_results_side_by_side(files: list[Path], tmp_path: Path, suffix: str):
    path = tmp_path / f"table.{suffix}"
    assert aiscore("publish", *files, "-o", path).code == 0
    golden_files.check(f"publish.{suffix}", path.read_text(encoding="utf-8"))


def test_json_holds_the_documents_of_show(files: list[Path], tmp_path: Path):
    assert aiscore("publish", *files, "-o", tmp_path / "table.json").code == 0
    published = json.loads((tmp_path / "table.json").read_text())["results"]
    assert published == [json.loads(aiscore("show", file, "--json").out) for file in files]


def test_the_format_can_be_named_and_the_table_printed(files: list[Path]):
    assert aiscore("publish", files[0], "-o", "-").out.startswith("|  | NVIDIA H200 |")
    assert aiscore("publish", files[0], "-o", "-", "--format", "csv").out.startswith("item,")


@pytest.mark.parametrize("directory", [".", "/"])
@pytest.mark.parametrize("form", ["markdown", "html"])
def test_a_directory_is_no_file_to_write(files: list[Path], form: str, directory: str):
    refused = aiscore("publish", files[0], "-o", directory, "--format", form, "--yes")
    assert (refused.code, refused.err) == (2, f"{directory} is a directory: name a file in it\n")


def test_results_of_one_name_are_told_apart(files: list[Path]):
    header = aiscore("publish", files[0], files[0], "-o", "-").out.splitlines()[0]
    assert header == "|  | NVIDIA H200 (1) | NVIDIA H200 (2) |"


def test_a_result_of_one_round_says_what_it_cannot_tell(files: list[Path]):
    assert "how much runs differ was not measured" in aiscore("publish", files[0], "-o", "-").out


def test_an_existing_file_is_kept_without_yes(files: list[Path], tmp_path: Path):
    path = tmp_path / "table.md"
    path.write_text("old")
    refused = aiscore("publish", files[0], "-o", path, typed="y\n")
    assert (refused.code, refused.out) == (2, "")
    assert "exists: pass --yes" in refused.err
    assert path.read_text() == "old"
    assert aiscore("publish", files[0], "-o", path, "--yes").code == 0
    assert path.read_text() != "old"


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_on_a_terminal_it_asks(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
):
    monkeypatch.setattr("aiscore.cli.files.can_ask", lambda: True)
    path = tmp_path / "table.md"
    path.write_text("old")
    asked = aiscore("publish", files[0], "-o", path, typed=answer)
    assert "Overwrite it?" in asked.err
    assert (asked.code, path.read_text() == "old") == (code, code != 0)


@pytest.mark.parametrize("name", ["table.pdf", "table"])
def test_a_format_that_is_not_there_is_refused_before_anything_is_written(
    files: list[Path], tmp_path: Path, name: str
):
    refused = aiscore("publish", files[0], "-o", tmp_path / name)
    assert refused.code == 2
    assert "no format is known" in refused.err
    assert sorted(os.listdir(tmp_path)) == ["a.json", "b.json"]


def test_a_bad_result_among_them_writes_nothing(files: list[Path], tmp_path: Path):
    assert aiscore("publish", files[0], tmp_path / "c.json", "-o", tmp_path / "t.md").code == 2
    assert sorted(os.listdir(tmp_path)) == ["a.json", "b.json"]


def test_a_place_that_cannot_be_written_is_one_line(files: list[Path], tmp_path: Path):
    refused = aiscore("publish", files[0], "-o", tmp_path / "missing" / "t.md")
    assert refused.code == 2
    assert refused.err.count("\n") == 1


def test_a_file_that_does_not_hold_is_published_as_its_samples_say_and_exits_1(
    files: list[Path],
):
    files[0].write_text(files[0].read_text().replace('"value": 22989', '"value": 99999'))
    shown = aiscore("publish", files[0], "-o", "-")
    assert shown.code == 1
    assert "99999" not in shown.out
    assert "99999" in shown.err


def test_what_a_result_lacks_is_an_empty_cell_for_spreadsheets():
    made = [result(price=PriceRecord(amount=100, currency="EUR")), result()]
    (value,) = csv_lines(made, "AI score per price")
    assert value == ["AI score per price", "", "200 / EUR", ""]


def csv_lines(made: list[Result], item: str) -> list[list[str]]:
    return [line for line in csv.reader(io.StringIO(export.to_csv(made))) if line[0] == item]


@given(st.text(max_size=30))
def test_a_cell_stays_a_cell(text: str):
    made = [result(at_speed(only=["1.1"]), label=text or None, device=text)]
    parsed = list(csv.reader(io.StringIO(export.to_csv(made))))
    assert {len(line) for line in parsed} == {3}
    assert not any(cell.startswith(escape.FORMULA_STARTS) for line in parsed for cell in line)
    lines = export.to_markdown(made).splitlines()
    bars = {line.replace("\\\\", "").replace("\\|", "").count("|") for line in lines if line}
    assert bars == {3, 5}


@given(st.text())
def test_a_terminal_gets_one_harmless_line(text: str):
    assert escape.terminal(text).isprintable()
    assert len(escape.terminal(text).splitlines()) <= 1


def test_text_that_prints_is_left_alone():
    assert escape.terminal("使用 AMD Radeon™ ±1") == "使用 AMD Radeon™ ±1"
    assert escape.markdown("Intel(R) Xeon(R) CPU @ 2.20GHz") == "Intel(R) Xeon(R) CPU @ 2.20GHz"
    assert escape.csv_cell("Intel Core i7-6700HQ, 8 GB") == "Intel Core i7-6700HQ, 8 GB"
