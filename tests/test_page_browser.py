"""The published page in a real browser: what readers do with it, from a file, without a network."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import Locator, Page, expect

from aiscore.report import rows
from aiscore.report.page import Entry, archived_entry, embedded_entry, make_page
from aiscore.results.model import PriceRecord, Result
from aiscore.results.prices import Prices
from aiscore.results.reference import cards
from aiscore.results.store import check
from aiscore.results.summary import summarise
from aiscore.spec import DeviceKind, Protocol
from tests import hostile
from tests.browsing import (
    A4,
    PATIENCE_MS,
    PHONE,
    WIDE,
    Visits,
    findings,
    is_as_wide_as_the_window,
    is_dark,
)
from tests.results_factory import at_speed, measured, resident, result, roof
from workloads.suite import QUICK

pytestmark = pytest.mark.browser

V100, RTX = "NVIDIA Tesla V100 SXM2 32GB", "NVIDIA GeForce RTX 2070 SUPER"
PRICES = {V100.lower(): PriceRecord(amount=6000, currency="EUR")}
SERIOUS = {"serious", "critical"}
expect.set_options(timeout=PATIENCE_MS)


def price(amount: float, currency: str = "EUR") -> PriceRecord:
    return PriceRecord(amount=amount, currency=currency)


RESULTS = (
    measured(1),
    result(at_speed(1.5), label="fast", price=price(1900)),
    result(at_speed(0.07, only=QUICK), label="quick", kind=DeviceKind.CPU, quick=True),
    result(backend="fake", label="other", price=price(500, "USD")),
)
ALL = len(RESULTS) + len(cards())


@pytest.fixture
def open_page(visits: Visits, tmp_path: Path) -> Callable[..., Page]:
    """Opens the page of these results."""

    def open_it(
        results: Sequence[Result] = RESULTS,
        prices: Prices = PRICES,
        viewport: dict[str, int] = WIDE,
        at: str = "",
        entries: Sequence[Entry] = (),
    ) -> Page:
        path = tmp_path / "page.html"
        made = entries or [embedded_entry(summarise(one)) for one in results]
        page = make_page(made, prices, "r.tar.gz" if entries else None)
        path.write_text(page.html, encoding="utf-8")
        return visits.open(path, viewport, at)

    return open_it


def row(page: Page, name: str) -> Locator:
    return page.locator("#table > tbody > tr", has=page.get_by_role("rowheader", name=name))


def names(page: Page) -> list[str]:
    return page.locator("#table > tbody > tr .opener").all_inner_texts()


def column(page: Page, kind: str) -> list[str]:
    return page.locator(f"#table > tbody > tr > .{kind}").all_inner_texts()


def count(page: Page) -> str:
    return page.get_by_role("status").first.inner_text()


def test_all_rows_are_there_with_the_highest_ai_score_first(open_page):
    page = open_page()
    assert count(page) == f"{ALL} rows"
    assert names(page)[:2] == ["NVIDIA H200", V100]
    assert page.locator("#table > thead [aria-sort]").inner_text().startswith("AI")
    assert column(page, "rank")[:2] == ["1", "2"]
    assert len(names(page)) == ALL


def test_sorting_by_a_column_and_back(open_page):
    page = open_page()
    page.get_by_role("button", name="Device").click()
    shown = names(page)
    assert shown == sorted(shown, key=str.lower)
    page.get_by_role("button", name="Device").click()
    assert names(page) == shown[::-1]
    assert page.locator("[aria-sort]").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Price", exact=True).click()
    assert column(page, "price")[:3] == ["1,900 EUR", "6,000 EUR", "500 USD"]
    page.get_by_role("button", name="AI per price").click()
    assert column(page, "value")[0] == "15.8 / EUR"


def test_what_is_partial_comes_after_whole_scores_both_ways(open_page):
    page = open_page()
    for _ in range(2):
        page.get_by_role("button", name="AI", exact=True).click()
        figures = page.locator("tbody > tr > .score:nth-child(6)").all_inner_texts()
        basis = ["none" if not text else "part" if "*" in text else "whole" for text in figures]
        assert basis == sorted(basis, key=["whole", "part", "none"].index)


def test_filters_hold_together_and_can_be_undone(open_page):
    page = open_page()
    page.locator("#origin").select_option("result")
    assert sorted(names(page)) == ["NVIDIA H200, host 1", "fast", "other", "quick"]
    page.locator("#kind").select_option("cpu")
    assert names(page) == ["quick"]
    assert count(page) == f"1 of {ALL} rows"
    page.get_by_role("button", name="Show all").click()
    assert count(page) == f"{ALL} rows"
    assert page.locator("#origin").input_value() == ""


def test_search_finds_all_words_in_any_text_of_a_row(open_page):
    page = open_page()
    page.locator("#search").fill("rtx SUPER")
    found = names(page)
    assert RTX in found
    assert len(found) < 10
    page.locator("#search").fill("no such device")
    assert count(page) == f"0 of {ALL} rows"


def test_ranks_are_among_the_rows_that_fit(open_page):
    page = open_page()
    page.locator("#origin").select_option("user report")
    assert column(page, "rank")[0] == "1"


def test_two_rows_are_compared_test_by_test(open_page):
    page = open_page()
    row(page, "fast").get_by_role("checkbox").check()
    assert "pick another row" in page.locator("#tray").inner_text()
    row(page, RTX).get_by_role("checkbox").check()
    page.get_by_role("link", name="See the comparison").click()
    compared = page.get_by_role("region", name="Comparison", exact=True)
    assert compared.is_visible()
    scores = compared.get_by_role("table", name="Scores compared")
    assert scores.get_by_role("row").nth(3).inner_text().split("\t")[1:] == [
        "30,000",
        "24,265",
        "0.809",
    ]
    tests = compared.get_by_role("table", name="Tests compared")
    assert tests.get_by_role("row").count() == 1 + 42
    line = tests.get_by_role("row", name="1.1 MobileNet-V2").inner_text().split("\t")
    assert float(line[2]) / float(line[3]) == pytest.approx(float(line[4]), rel=0.01)


def test_ratios_have_the_digits_that_the_terminal_shows(open_page):
    script = (Path(rows.__file__).parent / "templates" / "text.js").read_text()
    values = [0.9996, 1.0004, 0.98765, 9.996, 99.96]
    shown = open_page().evaluate(
        f"values => {{ {script}; return values.map(threeDigits); }}", values
    )
    assert shown == [rows.three_digits(value) for value in values]
    assert shown == ["1.00", "1.00", "0.988", "10.0", "100"]


def test_a_third_row_takes_the_place_of_the_first(open_page):
    page = open_page()
    for name in ("fast", "other", V100):
        row(page, name).get_by_role("checkbox").check()
    assert not row(page, "fast").get_by_role("checkbox").is_checked()
    assert page.locator(".sides").inner_text().splitlines() == ["A other", f"B {V100}"]
    assert "no test in common" in page.locator("#comparison").inner_text()
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#comparison").is_hidden()
    assert page.locator("#tray").is_hidden()


def test_two_rows_of_one_name_are_told_apart_by_where_they_are_from(open_page):
    page = open_page([result()])
    for box in page.get_by_label("Compare NVIDIA H200").all():
        box.check()
    shown = ["A NVIDIA H200 (this project, complete)", "B NVIDIA H200 (result, complete)"]
    assert page.locator(".sides").inner_text().splitlines() == shown


def test_a_result_shows_its_checks_tests_and_set_up(open_page):
    page = open_page()
    opener = page.get_by_role("button", name="NVIDIA H200, host 1")
    opener.click()
    panel = page.locator(".detail")
    panel.get_by_role("heading", name="Checks").wait_for()
    assert opener.get_attribute("aria-expanded") == "true"
    text = panel.text_content()
    assert "✓ noisy (passed): standard deviation / mean" in text
    assert "Intel Xeon Platinum 8468" in text
    assert panel.get_by_role("table").get_by_role("row").count() == 1 + 42
    opener.click()
    assert panel.count() == 0


def both_protocols(label: str, speed: float) -> Result:
    return resident(
        result(at_speed(speed), label=label), at_speed(2 * speed, protocol=Protocol.RESIDENT)
    ).model_copy(update={"roof": roof(Random(1))})  # noqa: S311  no secret


def test_a_result_under_both_protocols_shows_both_times_of_each_test(open_page):
    page = open_page(results=[both_protocols("both", 1), result()])
    figures = row(page, "both").locator(".score").all_inner_texts()
    assert [figure.split()[0] for figure in figures] == ["10,000", "10,000", "20,000", "!40,000"]
    page.get_by_role("button", name="Resident AI").click()
    assert names(page)[0] == "both"
    assert column(page, "rank")[0] == "", "resident scores are no rank among the cards"
    page.get_by_role("button", name="both").click()
    tests = page.locator(".detail").get_by_role("table", name="Tests")
    tests.wait_for()
    headings = tests.get_by_role("columnheader").all_inner_texts()
    line = tests.get_by_role("row", name="1.1 MobileNet-V2").inner_text().split("\t")
    shown = dict(zip(headings, line, strict=True))
    assert (shown["Classic ± std, ms"], shown["Resident ± std, ms"]) == ("75.0 ± 0.0", "37.5 ± 0.0")
    assert (shown["Host"], shown["Bound by"]) == ("50%", "host 50%")


def test_resident_times_are_compared_with_resident_times_only(open_page):
    page = open_page(results=[both_protocols("slow", 1), both_protocols("quick", 3)])
    for name in ("slow", "quick"):
        row(page, name).get_by_role("checkbox").check()
    compared = page.get_by_role("region", name="Comparison", exact=True)
    scores = compared.get_by_role("table", name="Scores compared").inner_text()
    assert "Resident AI score\t40,000\t120,000\t3.00" in scores
    tests = compared.get_by_role("table", name="Resident tests compared")
    assert tests.get_by_role("row").count() == 1 + 42
    row(page, V100).get_by_role("checkbox").check()
    scores = compared.get_by_role("table", name="Scores compared").inner_text()
    assert "Resident" not in scores
    assert not compared.get_by_role("table", name="Resident tests compared").count()


def test_a_card_names_its_source(open_page):
    page = open_page()
    page.get_by_role("button", name=RTX).click()
    link = page.locator(".detail").get_by_role("link")
    assert link.get_attribute("href").startswith("https://")
    assert link.get_attribute("rel") == "noopener noreferrer"


def test_the_saved_file_is_the_result_and_holds(open_page, tmp_path: Path):
    page = open_page()
    page.get_by_role("button", name="fast").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the result file").click()
    assert download.value.suggested_filename == "fast.json"
    download.value.save_as(tmp_path / "saved.json")
    assert check(tmp_path / "saved.json") == []
    assert json.loads((tmp_path / "saved.json").read_text())["run"]["label"] == "fast"


def test_a_point_of_the_chart_leads_to_its_row_and_steps_back_with_it(open_page):
    page = open_page()
    assert page.locator("svg a").count() == 2, "the prices in EUR"
    page.locator("#origin").select_option("official ranking")
    assert page.locator("svg a.out").count() == 1
    page.locator("svg a.out").click()
    page.locator(".detail").wait_for()
    assert page.evaluate("document.activeElement.innerText") == "fast"
    assert count(page) == f"{ALL} rows"


def test_an_address_can_name_a_row(open_page):
    page = open_page(at="#row-1")
    page.locator(".detail").wait_for()
    assert page.evaluate("document.activeElement.innerText") == "fast"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_follows_the_system_until_it_is_chosen(open_page, theme: str):
    page = open_page()
    page.emulate_media(color_scheme=theme)
    assert is_dark(page) == (theme == "dark")
    page.locator("#theme").select_option("light" if theme == "dark" else "dark")
    assert is_dark(page) == (theme == "light")


def test_everything_can_be_done_from_the_keyboard(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "To the table"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Device"
    page.keyboard.press("Space")
    assert page.locator("[data-key=name]").get_attribute("aria-sort") == "ascending"
    page.locator("#search").focus()
    page.keyboard.type("fast")
    row(page, "fast").get_by_role("checkbox").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".detail").wait_for()
    assert page.evaluate("document.activeElement.innerText") == "fast"
    page.locator("#search").fill(RTX)
    row(page, RTX).get_by_role("checkbox").focus()
    page.keyboard.press("Space")
    page.get_by_role("link", name="See the comparison").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "comparison"


def test_focus_can_be_seen(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_phone_shows_every_figure_without_scrolling_sideways(open_page):
    page = open_page(viewport=PHONE)
    assert is_as_wide_as_the_window(page)
    text = row(page, "fast").inner_text()
    assert all(part in text for part in ("15,000", "30,000", "1,900 EUR"))
    heading = "getComputedStyle(document.querySelector('#row-1 .score'), '::before').content"
    assert page.evaluate(heading) == '"Inference"'
    page.locator("#sort").select_option("name")
    shown = names(page)
    assert shown == sorted(shown, key=str.lower)
    page.get_by_role("button", name="NVIDIA H200, host 1").click()
    page.locator(".detail h3").first.wait_for()
    for name in ("fast", RTX):
        row(page, name).get_by_role("checkbox").check()
    assert is_as_wide_as_the_window(page)


def test_print_has_the_whole_table_and_no_controls(open_page, tmp_path: Path):
    page = open_page(
        results=[result(at_speed(only=["1.1"]), label=f"number {n}") for n in range(180)], prices={}
    )
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("#tools, #theme, .pick").filter(visible=True).count()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    page.pdf(path=tmp_path / "page.pdf")
    assert len(names(page)) == 180 + len(cards())


def test_print_on_paper_that_is_narrow_is_a_table(open_page):
    page = open_page(viewport=A4)
    page.emulate_media(media="print")
    head, first = (page.locator(f"#table > {part} > tr > .score") for part in ("thead", "tbody"))
    assert head.count() == 3
    for place in range(3):
        above, below = head.nth(place).bounding_box(), first.nth(place).bounding_box()
        assert above["x"] == below["x"] and above["width"] == below["width"]


def test_ten_thousand_rows_are_searched_sorted_and_come_as_one_scrolls(open_page):
    entry = archived_entry(summarise(result()), "r.json", "r.tar.gz")
    rows = [
        replace(entry, row=replace(entry.row, device=f"number {number}"))
        for number in range(10_000)
    ]
    page = open_page(entries=rows, prices={})
    table = page.locator("#table")
    assert count(page) == f"{10_000 + len(cards()):,} rows"
    assert table.get_attribute("aria-rowcount") == str(10_000 + len(cards()) + 1)
    for shown in (200, 400, 600):
        expect(page.locator("#table > tbody > tr")).to_have_count(shown)
        page.keyboard.press("End")
    page.locator("#search").fill("number 9999")
    assert names(page) == ["number 9999"]
    page.locator("#search").fill("")
    page.locator("[data-key=name] button").click()
    page.locator("[data-key=name] button").click()
    assert names(page)[0].startswith("unknown CPU")


@pytest.mark.parametrize("name", hostile.NAMES.values(), ids=hostile.NAMES)
def test_hostile_names_are_shown_and_nothing_else(open_page, name: str):
    evil = result(at_speed(9), label=name, device=name, price=price(5, name[:12]))
    page = open_page(results=(evil, evil), viewport=PHONE)
    shown = names(page)[0]
    assert shown
    assert not {"\u202e", "\x1b", "\u2066"} & set(shown)
    for place in (0, 1):
        page.locator("#table > tbody > tr:not(.detail) .opener").nth(place).click()
        page.locator("#table > tbody > tr:not(.detail) input").nth(place).check()
    page.locator(".detail h3").first.wait_for()
    assert page.locator("img, iframe, body script:not([type])").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the result file").first.click()
    assert "/" not in download.value.suggested_filename
    assert download.value.suggested_filename.endswith(".json")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_axe_has_no_serious_finding(open_page, viewport: dict[str, int], theme: str):
    page = open_page(viewport=viewport)
    page.emulate_media(color_scheme=theme)
    page.get_by_role("button", name="NVIDIA H200, host 1").click()
    page.locator(".detail h3").first.wait_for()
    for name in ("fast", RTX):
        row(page, name).get_by_role("checkbox").check()
    assert [finding for finding in findings(page) if finding[0] in SERIOUS] == []
