"""Before a file is written, it is said what it will tell of the machine."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from aiscore.report.disclosure import SAID, Disclosure
from aiscore.results.model import Result
from aiscore.results.store import save
from tests.command_line import aiscore
from tests.results_factory import result


def told(form: str, *results: Result) -> dict[str, str]:
    disclosure = Disclosure()
    for made in results:
        disclosure.add(SAID[form](made))
    return dict(disclosure.lines())


def test_the_more_a_format_holds_the_more_is_told():
    groups = [set(told(form, result())) for form in ("svg", "csv", "json", "html")]
    assert groups[0] == {"device"}
    assert groups[1] - groups[0] == {"run"}
    assert groups[2] - groups[1] == {"host", "GPU 0", "software"}
    assert "arguments run" in told("html", result())["run"]
    assert "arguments" not in told("json", result())["run"]


def test_several_results_are_told_together():
    shown = told("svg", *(result(device=f"card {number}") for number in (1, 2, 2, 3, 4, 5)))
    assert shown == {"device": "name card 1 | card 2 | card 3 and 2 more"}


def test_variables_are_told_by_their_names_and_all_else_in_words():
    made = result(software={"cuda_toolkit": "13.0"})
    environment = made.environment.model_copy(update={"variables": {"CUDA_HOME": "[path]"}})
    shown = told("json", made.model_copy(update={"environment": environment}))
    assert shown["variables"] == "CUDA_HOME [path]"
    assert "cuda toolkit 13.0" in shown["software"]


def test_a_long_text_is_cut():
    assert told("svg", result(device="x" * 500))["device"] == f"name {'x' * 120}..."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    save(result(arguments=["run", "-o", "/home/alice/r.json"]), tmp_path / "r.json")
    return tmp_path / "r.json"


def test_it_is_said_on_stderr_before_the_table_is_written(file: Path, tmp_path: Path):
    shown = aiscore("publish", file, "-o", tmp_path / "t.md")
    assert (shown.code, shown.out) == (0, "")
    assert "will say of the machine" in shown.err
    assert "NVIDIA H200" in shown.err
    assert "left out" in shown.err


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_on_a_terminal_it_asks_before_it_writes(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
):
    monkeypatch.setattr("aiscore.cli.publish.can_ask", lambda: True)
    path = tmp_path / "t.md"
    asked = aiscore("publish", file, "-o", path, typed=answer)
    assert asked.err.index("NVIDIA H200") < asked.err.index(f"Write {path}?")
    assert (asked.code, path.exists()) == (code, code == 0)


def test_yes_skips_the_question(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("aiscore.cli.publish.can_ask", lambda: True)
    shown = aiscore("publish", file, "-o", tmp_path / "t.md", "--yes")
    assert shown.code == 0
    assert "NVIDIA H200" in shown.err
    assert "Write" not in shown.err


def test_the_container_is_published_only_when_asked_for(tmp_path: Path):
    made = result()
    host = {**made.environment.host, "container_id": "f00dbabe"}
    made = made.model_copy(
        update={"environment": made.environment.model_copy(update={"host": host})}
    )
    save(made, tmp_path / "r.json")
    arguments = ("publish", tmp_path / "r.json", "-o", "-", "--format", "json")
    plain, whole = aiscore(*arguments), aiscore(*arguments, "--unredacted")
    assert "f00dbabe" not in plain.out + plain.err
    assert "f00dbabe" in whole.out
    assert "f00dbabe" in whole.err
    environment = json.loads(plain.out)["results"][0]["environment"]
    assert environment["host"]["kernel"] == "6.8.0"


def test_the_names_of_user_and_host_are_those_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("USER", "alice")
    monkeypatch.setenv("HOME", "/home/alice7")
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(nodename="box7.example.org"))
    arguments = ["run", "alice", "alice7", "box7.example.org", "box7", "--yes"]
    save(result(arguments=arguments), tmp_path / "r.json")
    shown = aiscore("publish", tmp_path / "r.json", "-o", tmp_path / "p.html")
    assert "arguments run [name] [name] [name] [name] --yes" in " ".join(shown.err.split())
