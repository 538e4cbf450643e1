"""What several test files need."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aiscore.backends.fake import SCRIPT_VARIABLE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browsing import Visits


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


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Opened once for all tests of a file."""
    from tests.browsing import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture
def visits(browser: "Browser") -> "Iterator[Visits]":
    """Opens pages; every error and every request but the file's fails the test."""
    from tests.browsing import Visits

    made = Visits(browser)
    yield made
    made.end()
