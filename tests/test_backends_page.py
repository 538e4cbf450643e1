"""The backend that docs/backends.md shows works as it stands there."""

import os
import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from aiscore.results.store import load

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LONGEST = 60  # lines


@pytest.fixture
def blocks() -> dict[str, str]:
    """The page's code, by its language."""
    return dict(BLOCK.findall((ROOT / "docs" / "backends.md").read_text()))


def test_the_example_is_short(blocks):
    assert len(blocks["python"].splitlines()) <= LONGEST


@pytest.mark.framework
def test_the_example_runs(blocks, tmp_path):
    """Installed as pip would install it: a module, and metadata with its entry point."""
    config = ConfigParser()
    config.read_string(blocks["ini"])
    metadata = tmp_path / "aiscore_eager-1.dist-info"
    metadata.mkdir()
    (tmp_path / "aiscore_eager.py").write_text(blocks["python"])
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: aiscore-eager\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "".join(f"[{group}]{points}\n" for group, points in config["options.entry_points"].items())
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-m", "aiscore", "run", "--backend", "eager", "--device", "cpu"]
    command += ["--suite", "micro", "--tests", "8", "--passes", "3", "-o", "result.json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = load(tmp_path / "result.json")
    assert result.backend == "eager"
    assert [test.status.value for test in result.tests] == ["ok"]
