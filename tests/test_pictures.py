"""``aiscore publish`` as SVG: bars, score against price, and a badge."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.report import charts, pictures
from aiscore.report.charts import IN_A_FILE, Point
from aiscore.results.model import PriceRecord, Result
from aiscore.results.store import save
from aiscore.results.summary import summarise
from aiscore.spec import Suite
from tests import golden_files, hostile
from tests.command_line import aiscore
from tests.results_factory import at_speed, result
from workloads.suite import QUICK

SVG = "{http://www.w3.org/2000/svg}"


def euros(amount: float) -> PriceRecord:
    return PriceRecord(amount=amount, currency="EUR")


def draw(picture: str, *results: Result) -> ElementTree.Element:
    svg = pictures.draw(picture, [summarise(one) for one in results], {})
    return ElementTree.fromstring(svg)  # noqa: S314  our own


def texts(svg: ElementTree.Element) -> list[str]:
    return [text for element in svg.iter(f"{SVG}text") if (text := element.text)]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A whole result, a quick one and one that failed in part, in this order."""
    save(result(at_speed(2.3), label="whole", price=euros(4000)), tmp_path / "a.json")
    save(result(at_speed(0.07, only=QUICK), label="quick", quick=True), tmp_path / "b.json")
    save(result(at_speed(only=["1.1", "1.2"]), label="part"), tmp_path / "c.json")
    return [tmp_path / f"{name}.json" for name in "abc"]


def test_a_badge_in_full(files: list[Path], tmp_path: Path):
    path = tmp_path / "badge.svg"
    assert aiscore("publish", files[0], "-o", path, "--picture", "badge").code == 0
    golden_files.check("badge.svg", path.read_text(encoding="utf-8"))


def test_bars_are_the_picture_if_none_is_named(files: list[Path], tmp_path: Path):
    assert aiscore("publish", *files, "-o", tmp_path / "bars.svg").code == 0
    shown = texts(ElementTree.parse(tmp_path / "bars.svg").getroot())  # noqa: S314
    assert [name for name in shown if name in ("whole", "quick", "part")] == [
        "whole",
        "quick",
        "part",
    ]
    assert {"46000", "Inference", "Training"} <= set(shown)
    assert any(re.fullmatch(r"about \d+ \(estimate, \+-15%\)", text) for text in shown)
    assert any(text.startswith("none (") for text in shown)


BARS = [
    charts.Bar("b", {"inference": 1, "training": 2}, "3", True),
    charts.Bar("a", {"inference": 10, "training": 20}, "30", False),
]
POINTS = [Point(0, "a", 100, 5000, True), Point(1, "b", 2000, 6000, False)]


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("bars", charts.bar_chart(BARS)),
        ("price", charts.price_chart(POINTS, "EUR", IN_A_FILE, "https://example.org/")),
    ],
)
def test_what_vega_is_told(name: str, spec: charts.Spec):
    golden_files.check(f"chart-{name}.json", json.dumps(spec, indent=1) + "\n")


def test_a_bar_is_as_long_as_the_score():
    spec = charts.bar_chart(BARS)
    parts, wholes = (data["values"] for data in spec["data"])
    assert [(part["start"], part["end"]) for part in parts] == [(0, 10), (10, 30), (0, 1), (1, 3)]
    assert [whole["end"] for whole in wholes] == [30, 3]
    assert spec["signals"][0]["value"] == ["a", "b"]
    assert parts[0]["fill"] != parts[2]["fill"], "what is not sure looks otherwise"


def test_a_score_that_is_none_has_no_bar():
    (bar,) = [pictures._bar(summarise(result(at_speed(only=["1.1", "1.2"]))))]
    assert (bar.parts, bar.sure) == ({}, False)


def test_a_score_on_another_scale_says_so():
    assert "20000 (not on the leaderboard's scale)" in texts(draw("bars", result(backend="fake")))


def test_micro_results_have_a_bar_of_their_own():
    shown = texts(draw("bars", result(suite=Suite.MICRO)))
    assert any(text.startswith("10000") for text in shown)


def test_score_against_price_with_the_cards_of_the_prices_file(files: list[Path], tmp_path: Path):
    (tmp_path / "prices.toml").write_text('"NVIDIA Tesla V100 SXM2 32GB" = 6000\ncurrency = "EUR"')
    arguments = ("--picture", "price", "--prices", tmp_path / "prices.toml")
    assert aiscore("publish", *files, "-o", tmp_path / "p.svg", *arguments).code == 0
    root = ElementTree.parse(tmp_path / "p.svg").getroot()  # noqa: S314
    assert {"whole", "NVIDIA Tesla V100 SXM2 32GB", "Price, EUR"} <= set(texts(root))
    assert "quick" not in texts(root), "an estimate is no score"
    assert not root.findall(f".//{SVG}a")


@pytest.mark.parametrize(
    ("picture", "prices", "problem"),
    [
        ("price", [None], "no price is known"),
        ("price", [euros(1), PriceRecord(amount=1, currency="USD")], "prices are in EUR, USD"),
        ("badge", [None, None], "a badge shows one result, not 2"),
    ],
)
def test_a_picture_that_cannot_be_made_is_an_error(
    tmp_path: Path, picture: str, prices: Sequence[PriceRecord | None], problem: str
):
    paths = [tmp_path / f"{index}.json" for index, _ in enumerate(prices)]
    for path, price in zip(paths, prices, strict=True):
        save(result(price=price), path)
    refused = aiscore("publish", *paths, "-o", tmp_path / "p.svg", "--picture", picture)
    assert (refused.code, problem in refused.err) == (2, True)
    assert not (tmp_path / "p.svg").exists()


def test_the_two_suites_do_not_mix(files: list[Path], tmp_path: Path):
    save(result(suite=Suite.MICRO), tmp_path / "m.json")
    refused = aiscore("publish", files[0], tmp_path / "m.json", "-o", tmp_path / "p.svg")
    assert (refused.code, "scales of their own" in refused.err) == (2, True)


def test_a_picture_of_a_table_is_refused(files: list[Path]):
    assert aiscore("publish", files[0], "-o", "-", "--picture", "badge").code == 2


@pytest.mark.parametrize("picture", pictures.PICTURES)
@pytest.mark.parametrize("name", hostile.NAMES.values(), ids=hostile.NAMES)
def test_hostile_names_stay_text(picture: str, name: str):
    price = PriceRecord(amount=9, currency=name[:12])
    evil = draw(picture, result(label=name, device=name, price=price))
    plain = draw(picture, result(label="a", device="b", price=euros(9)))

    def tags(root: ElementTree.Element) -> set[str]:
        return {element.tag for element in root.iter()}

    assert tags(evil) <= tags(plain)
    assert all(text.isprintable() for text in texts(evil))
    assert max(map(len, texts(evil))) < 200
    assert not any(
        attribute.startswith("on") for element in evil.iter() for attribute in element.attrib
    )


@given(
    st.lists(
        st.tuples(
            st.floats(0, charts.WIDTH), st.floats(0, charts.PRICE_HEIGHT), st.integers(1, 60)
        ),
        min_size=1,
        max_size=30,
    )
)
def test_names_of_points_lie_over_nothing(points: list[tuple[float, float, int]]):
    lines = []
    for (x, y, letters), side in zip(points, charts._label_sides(points), strict=True):
        width = min(charts.LETTER * letters, charts.LONGEST_NAME)
        start = {"right": x + charts.LABEL_GAP, "left": x - charts.LABEL_GAP - width}.get(side)
        if start is not None:
            assert 0 <= start <= start + width <= charts.WIDTH
            lines.append((start, start + width, y))
    for index, (start, end, y) in enumerate(lines):
        for other_start, other_end, other_y in lines[:index]:
            assert end <= other_start or other_end <= start or abs(y - other_y) >= charts.LINE


def test_a_point_with_room_has_its_name_on_the_right_else_on_the_left():
    assert charts._label_sides([(10, 10, 20), (charts.WIDTH - 5, 200, 20)]) == ["right", "left"]
    assert charts._label_sides([(300, 10, 20), (320, 10, 20)]) == ["left", "right"]


def test_a_result_lies_over_the_card_of_its_price_and_score():
    same = [Point(0, "a", 100, 5, True), Point(1, "a", 100, 5, False), Point(2, "b", 9, 2, False)]
    (points,) = charts.price_chart(same, "EUR", IN_A_FILE)["data"]
    assert points["values"][-1]["fill"] == IN_A_FILE.accent
    assert points["values"][-1]["name"] == "a"


def test_a_logarithmic_axis_where_values_are_far_apart():
    near = charts.price_chart(
        [Point(0, "a", 1000, 5, True), Point(1, "b", 2000, 6, True)], "", IN_A_FILE
    )
    far = charts.price_chart(
        [Point(0, "a", 100, 5, True), Point(1, "b", 2000, 6, True)], "", IN_A_FILE
    )
    assert [spec["scales"][0]["type"] for spec in (near, far)] == ["linear", "log"]
    assert far["axes"][0]["values"] == [100, 200, 500, 1000, 2000]


def test_without_the_packages_it_is_said_what_to_install(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("aiscore.cli.publish.find_spec", lambda name: None)
    for name in ("p.svg", "p.html"):
        refused = aiscore("publish", files[0], "-o", tmp_path / name)
        assert refused.code == 2
        assert "pip install 'aiscore[report]'" in refused.err
    assert aiscore("publish", files[0], "-o", tmp_path / "p.md").code == 0
