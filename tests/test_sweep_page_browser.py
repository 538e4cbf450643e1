"""The page of sweeps in a real browser: what readers see of it, from a file, without a network."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Page

from aiscore.report.sweep_page import make_page
from aiscore.results.model import ErrorRecord
from aiscore.results.sweep import Sweep
from aiscore.spec import Line, Precision, Xla
from tests import hostile
from tests.browsing import A4, PHONE, WIDE, Visits, findings, is_as_wide_as_the_window, is_dark
from tests.sweep_factory import FP16, SE, article, failed, line, on_line, sweep

pytestmark = pytest.mark.browser

OTHER = sweep(on_line(FP16, {32: 90, 64: 95}), device="NVIDIA B200")
SWEEPS = (article(), OTHER)


@pytest.fixture
def open_page(visits: Visits, tmp_path: Path) -> Callable[..., Page]:
    """Opens the page of these sweeps."""

    def open_it(sweeps: Sequence[Sweep] = SWEEPS, viewport: dict[str, int] = WIDE) -> Page:
        path = tmp_path / "page.html"
        path.write_text(make_page(sweeps), encoding="utf-8")
        return visits.open(path, viewport)

    return open_it


def every_line() -> list[Line]:
    """More than a chart has colours."""
    return [
        line(backend=backend, precision=precision, xla=xla)
        for backend in ("tensorflow", "jax")
        for precision in Precision
        for xla in (Xla.OFF, Xla.ON)
    ]


def large() -> Sweep:
    """A sweep as large as they get: 20 lines of 12 batches."""
    batches = [8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 1536, 2048]
    return sweep(
        point
        for place, one in enumerate(every_line(), start=1)
        for point in on_line(one, {batch: place * 300 * batch**0.3 for batch in batches})
    )


def test_every_sweep_has_a_chart_and_tables_for_each_network(open_page):
    page = open_page()
    for name, count in (("article", 2), ("NVIDIA B200", 1)):
        section = page.locator("section", has=page.get_by_role("heading", name=name, exact=True))
        assert section.get_by_role("figure").count() == count
        assert section.get_by_role("table", name="Points").count() == count
    points = page.get_by_role("table", name="Points: SE-ResNeXt-101-32x4d training")
    assert points.get_by_role("row", name="tensorflow fp16 192").inner_text().split("\t")[:3] == [
        "tensorflow fp16",
        "192",
        "440",
    ]


def test_charts_and_their_points_have_names(open_page):
    page = open_page([article()])
    figure = page.get_by_role("figure", name="Chart: ResNet-50 training")
    described = "images per second against the batch: ResNet-50 training"
    assert figure.locator("svg").get_attribute("aria-label") == described
    names = [
        mark.get_attribute("aria-label")
        for mark in figure.locator("[aria-roledescription='symbol mark']").all()
    ]
    assert len(names) == 9
    assert "tensorflow fp16 XLA, batch 64: 500 images/s" in names


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("sweeps", [SWEEPS, (large(),)], ids=["two", "large"])
def test_axe_finds_nothing(open_page, sweeps, viewport: dict[str, int], theme: str):
    page = open_page(sweeps, viewport)
    page.emulate_media(color_scheme=theme)
    assert is_dark(page) == (theme == "dark")
    assert findings(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_charts_are_drawn_in_the_ink_of_the_theme(open_page, theme: str):
    page = open_page()
    page.emulate_media(color_scheme=theme)
    colour = "getComputedStyle(document.querySelector('svg .role-axis-label text')).fill"
    ink = page.evaluate(colour)
    assert (sum(map(int, ink[4:-1].split(","))) > 3 * 128) == (theme == "dark")


@pytest.mark.parametrize("sweeps", [SWEEPS, (large(),)], ids=["two", "large"])
def test_a_phone_scrolls_tables_and_charts_in_themselves_only(open_page, sweeps):
    page = open_page(sweeps, PHONE)
    assert is_as_wide_as_the_window(page)
    for place in page.locator(".scroll").all():
        assert place.get_attribute("tabindex") == "0", "the keyboard reaches it"
        assert place.get_attribute("aria-label")


def test_the_keyboard_reaches_what_scrolls_and_shows_where_it_is(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused) == "Chart: ResNet-50 training"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Points: ResNet-50 training"


def test_a_chart_can_be_read_on_a_phone(open_page):
    page = open_page(viewport=PHONE)
    label = page.locator("svg .role-axis-label text").first
    assert label.bounding_box()["height"] > 8
    figure = page.get_by_role("figure").first
    assert figure.evaluate("it => it.scrollWidth > it.clientWidth")


def test_print_cuts_nothing_off(open_page):
    page = open_page((large(),), A4)
    page.emulate_media(media="print", color_scheme="dark")
    assert not is_dark(page)
    for place in page.locator(".scroll").all():
        assert place.evaluate("it => it.scrollWidth <= it.clientWidth")


@pytest.mark.parametrize("name", hostile.NAMES.values(), ids=hostile.NAMES)
def test_hostile_texts_are_shown_and_do_nothing(open_page, name: str):
    price = {"price": {"amount": 5, "currency": name[:12]}}
    evil = line(backend=name)
    points = [
        *on_line(evil, {32: 100, 64: 150}),
        failed(evil, 128).model_copy(update={"error": ErrorRecord(type=name, message=name)}),
        failed(SE, 8),
    ]
    made = sweep(points, device=name, run={"label": name, **price})
    page = open_page((made, made), PHONE)
    text = page.locator("body").inner_text()
    assert not {"\u202e", "\x1b", "\u2066"} & set(text)
    assert all(heading.inner_text().strip() for heading in page.get_by_role("heading").all())
    assert page.locator("img, iframe, script, a, foreignObject").count() == 0
    assert is_as_wide_as_the_window(page)
    assert findings(page) == []
