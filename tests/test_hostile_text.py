"""Text that means harm, wherever a file, a log or a machine may hold text: every output is safe."""

import ast
import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from aiscore.cli import info
from aiscore.cli.main import main
from aiscore.errors import UserError
from aiscore.report.escape import FORMULA_STARTS
from aiscore.report.sweep_export import FORMATS as SWEEP_FORMATS
from aiscore.results import sweep_store
from aiscore.results.reference import find_card
from aiscore.results.store import load, save
from aiscore.spec import Status
from aiscore.system import gpu
from tests import mutations
from tests.command_line import aiscore
from tests.log_factory import of_card
from tests.results_factory import at_speed, record, result
from tests.sweep_factory import failed, line, on_line, sweep
from workloads.suite import FULL

HARM = "=cmd|'/C calc'!A0\n\x1b[2J\x9b31m\u202e\u200f<b>[x](y)`z`@someone"
MARKUP = re.compile(r"(?<!\\)(?:\\\\)*[<>\[\]`*_]")


def safe(text: str) -> bool:
    """Whether a terminal shows it as it stands: no control, no change of direction."""
    return text.replace("\n", "").isprintable()


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    """A result with harm in every text that a result file may have changed, and in names."""
    failed = record(FULL[1], status=Status.CRASH)
    path = tmp_path / "r.json"
    save(result([*at_speed(only=["1.1"]), failed], label="label", price=None), path)
    document = json.loads(path.read_text())
    changed = poison(path, document, load)
    assert {
        ("device", "name"),
        ("run", "label"),
        ("run", "started_at"),
        ("tests", 1, "error", "message"),
        ("tests", 0, "title"),
        ("aiscore_version",),
        ("backend",),
    } <= changed
    return path


@pytest.fixture
def poisoned_sweep(tmp_path: Path) -> Path:
    """The same of a sweep; a backend's name is a part of every id."""
    path = tmp_path / "s.json"
    evil = line(backend=HARM)
    made = sweep(
        [*on_line(evil, {32: 100, 64: 150, 96: 160}), failed(evil, 128)],
        run={"label": "label", "price": {"amount": 5, "currency": HARM[18:30]}},
    )
    sweep_store.save(made, path)
    changed = poison(path, json.loads(path.read_text()), sweep_store.load)
    assert {
        ("device", "name"),
        ("run", "label"),
        ("run", "started_at"),
        ("points", 3, "error", "message"),
        ("points", 0, "title"),
        ("aiscore_version",),
        ("stacks", HARM, HARM),
    } <= changed
    return path


def poison(
    path: Path, document: dict[str, Any], load: Callable[[Path], object]
) -> set[mutations.Place]:
    """Writes the document with harm in every text that may have it; where that is."""
    for facts in (document["environment"]["host"], *document["environment"]["gpus"]):
        facts[HARM] = ""
    document["environment"]["variables"] = {HARM: ""}
    changed = set()
    for place in list(mutations.places(document)):
        *above, key = place
        parent = mutations.at(document, tuple(above))
        before = parent[key]
        if not isinstance(before, str):
            continue
        parent[key] = HARM
        path.write_text(json.dumps(document))
        try:
            load(path)
            changed.add(place)
        except UserError:
            parent[key] = before
    path.write_text(json.dumps(document))
    return changed


@pytest.mark.parametrize(
    "command", ["show", "verify", "leaderboard --with", "compare 2070", "publish -o - --format csv"]
)
def test_a_terminal_gets_nothing_but_text(poisoned: Path, command: str):
    shown = aiscore(*command.split(), poisoned)
    assert shown.code in (0, 1)
    assert shown.out
    assert safe(shown.out)
    assert safe(shown.err)


@pytest.mark.parametrize(
    "command",
    ["show", "verify", "compare 2", *(f"publish -o - --format {form}" for form in SWEEP_FORMATS)],
)
def test_of_a_sweep_nothing_but_text_comes_out(poisoned_sweep: Path, command: str):
    sides = [poisoned_sweep] * (2 if command.endswith("2") else 1)
    shown = aiscore(*command.removesuffix(" 2").split(), *sides)
    assert shown.code in (0, 1)
    assert shown.out
    assert safe(shown.out)
    assert safe(shown.err)


def test_a_chart_of_a_sweep_is_sound_xml(poisoned_sweep: Path):
    drawn = aiscore("publish", "-o", "-", "--format", "svg", poisoned_sweep).out
    texts = "".join(ElementTree.fromstring(drawn).itertext())  # noqa: S314  our own
    assert "\\x1b[2J" in texts and "<b>[x]" in texts


def test_two_of_them_are_compared_in_plain_text(poisoned: Path, tmp_path: Path):
    other = tmp_path / "other.json"
    other.write_text(poisoned.read_text().replace("31m", "32m"))
    shown = aiscore("compare", poisoned, other)
    assert "\\x1b[2J" in shown.out
    assert safe(shown.out)


@pytest.mark.parametrize(
    "command", ["show --json", "verify --json", "leaderboard --json --with", "compare --json 2070"]
)
def test_a_document_is_ascii(poisoned: Path, command: str):
    shown = aiscore(*command.split(), poisoned)
    assert shown.out.isascii()
    assert safe(shown.out)
    json.loads(shown.out)


def test_a_markdown_table_stays_one(poisoned: Path):
    text = aiscore("publish", poisoned, "-o", "-").out
    assert "\\<b\\>" in text
    assert safe(text)
    assert not MARKUP.search(text)
    for table in text.split("\n\n"):
        bars = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in table.splitlines()}
        assert len(bars) == 1


def test_a_spreadsheet_computes_nothing(poisoned: Path):
    text = aiscore("publish", poisoned, "-o", "-", "--format", "csv").out
    rows = list(csv.reader(io.StringIO(text)))
    assert {len(row) for row in rows} == {3}
    assert not any(cell.startswith(FORMULA_STARTS) for row in rows for cell in row)
    assert any(cell.startswith("'=cmd") for row in rows for cell in row)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\uff1d"])
def test_every_start_of_a_formula_is_known(start: str, tmp_path: Path):
    save(result(at_speed(only=["1.1"]), label=f"{start}1+1"), tmp_path / "r.json")
    text = aiscore("publish", tmp_path / "r.json", "-o", "-", "--format", "csv").out
    assert text.splitlines()[0] == f"item,figure,'{start}1+1"


def test_a_path_in_a_file_is_not_followed(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("precious")
    save(result(label=str(secret), device=f"file://{secret}"), tmp_path / "r.json")
    for command in ("show", "publish -o -", "leaderboard --with", "compare 2070"):
        assert "precious" not in aiscore(*command.split(), tmp_path / "r.json").out
    assert secret.read_text() == "precious"


def test_nothing_of_a_file_can_be_evaluated():
    root = Path(__file__).parent.parent
    for path in [*root.glob("aiscore/**/*.py"), *root.glob("workloads/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "marshal", "shelve", "yaml"}, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec", "compile"}, path


def test_a_log_is_imported_without_harm(tmp_path: Path):
    log = tmp_path / "log.txt"
    harm = HARM.replace("\n", " ")
    text = of_card(find_card("2070")).replace("NVIDIA GeForce RTX 2070 SUPER", harm)
    log.write_text(f"{text}\n1.1 - inference | batch=50 {harm}", encoding="utf-8")
    shown = aiscore("import", log, "-o", tmp_path / "r.json")
    assert shown.code == 0
    assert "not read 1," in shown.err
    assert safe(shown.out) and safe(shown.err)
    assert load(tmp_path / "r.json").device.name.startswith("=cmd|")


def test_a_run_on_a_machine_that_means_harm(script, capsys):
    device = {"kind": "gpu", "index": 0, "name": HARM, "uuid": f"GPU-{HARM}"}
    script(devices=[device], software={"fake": HARM, HARM: "1"})
    arguments = ["--backend", "fake", "--tests", "1.1", "--label", HARM, "-o", "r.json"]
    assert main(["run", *arguments]) == 0
    shown = capsys.readouterr()
    assert "\\x1b[2J" in shown.out and "\\x1b[2J" in shown.err
    assert safe(shown.out) and safe(shown.err)
    assert main(["run", "--backend", "fake", "--device", f"no {HARM}", "-o", "s.json"]) == 2
    assert main(["run", "--backend", "fake", "--tests", HARM, "-o", "s.json", "--debug"]) == 2
    assert safe(capsys.readouterr().err)


def test_the_machine_is_described_without_harm(script, capsys, monkeypatch):
    monkeypatch.setattr(info, "offered_backends", lambda: ["fake"])
    monkeypatch.setattr(gpu, "read", lambda: gpu.Reading([{"name": HARM, "uuid": HARM}], HARM))
    monkeypatch.setenv(f"TF_{HARM[1:]}", HARM)
    script(software={"fake": HARM, HARM: "1"})
    assert main(["info"]) == 0
    assert safe(capsys.readouterr().out)
