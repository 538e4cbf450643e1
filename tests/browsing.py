"""A published page in a real browser, from a file and without a network."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}
A4 = {"width": 680, "height": 1010}  # within its margins
PATIENCE_MS = 30_000


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, which connects to nothing by itself."""
    found = shutil.which("chromium")
    if found is None:
        reason = "needs Chromium: apt-get install chromium"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=options)
        yield opened
        opened.close()


class Visits:
    """The pages that a test opens, and every error and every request but for the file."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._troubles: list[str] = []

    def open(self, path: Path, viewport: dict[str, int] = WIDE, at: str = "") -> Page:
        """The page in that file, in a window of that size, at that address in it."""
        page = self._browser.new_context(viewport=viewport, offline=True).new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: self._troubles.append(message.text))
        page.on("pageerror", lambda error: self._troubles.append(str(error)))
        page.on("dialog", lambda dialog: self._troubles.append(dialog.message))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "blob:", "data:"))
                or self._troubles.append(request.url)
            ),
        )
        page.goto(f"{path.as_uri()}{at}")
        return page

    def end(self) -> None:
        """Closes them all; fails if there was any trouble."""
        for context in self._browser.contexts:
            context.close()
        assert self._troubles == [], self._troubles


def is_as_wide_as_the_window(page: Page) -> bool:
    """Whether nothing has to be scrolled sideways to, but what scrolls in itself."""
    root = "document.documentElement"
    return bool(page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"))


def is_dark(page: Page) -> bool:
    """Whether the paper is."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(","))) < 200


def findings(page: Page) -> list[tuple[str, str, list[str]]]:
    """What axe finds: how bad, what, and where."""
    return [
        (found["impact"], found["id"], [node["html"][:200] for node in found["nodes"][:3]])
        for found in Axe().run(page).response["violations"]
    ]
