"""``aiscore verify``: every file is checked, and what does not hold is a line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from aiscore.results.store import save
from tests.command_line import aiscore
from tests.results_factory import at_speed, result

RESULTS = Path(__file__).parents[1] / "docs" / "results"


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Writes a result, with pieces of its text replaced."""

    def write(name: str = "r.json", **replaced: tuple[str, str]) -> Path:
        path = tmp_path / name
        save(result(at_speed(only=["1.1", "1.2"])), path)
        text = path.read_text()
        for old, new in replaced.values():
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text)
        return path

    return write


def test_a_file_that_holds(make):
    path = make()
    shown = aiscore("verify", path)
    assert (shown.code, shown.out, shown.err) == (0, f"{path}: holds\n", "")


def test_every_result_file_of_the_documentation_holds():
    paths = sorted(RESULTS.rglob("*.json"))
    assert paths
    shown = aiscore("verify", *paths)
    assert shown.out.splitlines() == [f"{path}: holds" for path in paths]


def test_every_mismatch_is_a_line(make):
    path = make(
        score=('"partial_value": 10000', '"partial_value": 99999'),
        time=('"mean_ms": 75.0', '"mean_ms": 7.5'),
    )
    shown = aiscore("verify", path)
    assert shown.code == 1
    assert shown.out.splitlines() == [
        f"{path}: scores.inference.partial_value: the file says 99999, its samples 10000",
        f"{path}: tests.0.mean_ms: the file says 7.5, its samples 75.0",
    ]


def test_every_breach_of_the_schema_is_a_line(make):
    path = make(
        batch=('"batch": 50', '"batch": 0'),
        unknown=('"seed": 42', '"seed": "x"'),
    )
    shown = aiscore("verify", path)
    assert shown.code == 1
    assert [line.split(": ")[1] for line in shown.out.splitlines()] == [
        "run.seed",
        "tests.0.batch",
    ]


def test_a_contradiction_of_the_suite_does_not_hold(make):
    shown = aiscore("verify", make(mode=('"mode": "inference"', '"mode": "training"')))
    assert shown.code == 1
    assert "test 1.1 is mobilenet_v2 inference" in shown.out


def test_all_files_are_checked_and_the_worst_decides(make, tmp_path: Path):
    good = make("good.json")
    bad = make("bad.json", score=('"partial_value": 10000', '"partial_value": 1'))
    cut = tmp_path / "cut.json"
    cut.write_text(good.read_text()[:500])
    shown = aiscore("verify", cut, bad, good)
    assert shown.code == 2
    assert "cut.json is cut off" in shown.err
    assert shown.err.count("\n") == 1
    assert [line.split(": ")[0] for line in shown.out.splitlines()] == [str(bad), str(good)]
    assert aiscore("verify", bad, good).code == 1


def test_the_document(make, tmp_path: Path):
    good = make("good.json")
    shown = aiscore("verify", good, tmp_path / "missing.json", "--json")
    files = json.loads(shown.out)["files"]
    assert [file["status"] for file in files] == ["holds", "unreadable"]
    assert files[0] == {"path": str(good), "status": "holds", "problems": []}
    assert "No such file" in files[1]["problems"][0]
    assert shown.code == 2


def test_a_file_of_a_later_release_is_refused_politely(make):
    shown = aiscore("verify", make(version=('"schema_version": 1', '"schema_version": 2')))
    assert shown.code == 2
    assert "was written by a newer aiscore; upgrade: pip install -U aiscore" in shown.err


def test_control_characters_do_not_reach_the_terminal(make):
    path = make(key=('"seed": 42', '"seed": 42, "\\u001b[31m": 1'))
    shown = aiscore("verify", path)
    assert shown.code == 1
    assert "\x1b" not in shown.out
