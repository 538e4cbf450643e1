"""What several test files need."""

import json
from pathlib import Path

import pytest

from aiscore.backends.fake import SCRIPT_VARIABLE


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Writes the fake backend's script and makes an empty directory the current one."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    current = tmp_path / "current"
    current.mkdir()
    monkeypatch.chdir(current)

    def write(**content: object) -> Path:
        path = tmp_path / "script.json"
        path.write_text(json.dumps(content))
        monkeypatch.setenv(SCRIPT_VARIABLE, str(path))
        return path

    write()
    return write
