"""The published page: whole in one file, true to the results, and safe to open."""

import base64
import hashlib
import io
import os
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from aiscore.cli.published import MANY
from aiscore.report.page import MOST_EMBEDDED, Page, archived_entry, embedded_entry, make_page
from aiscore.results.model import ErrorRecord, OptionsRecord, PriceRecord, Result
from aiscore.results.prices import Prices
from aiscore.results.reference import cards
from aiscore.results.store import check, load, save
from aiscore.results.summary import summarise
from aiscore.spec import Precision, Protocol, Status
from tests import hostile, pages
from tests.command_line import aiscore
from tests.results_factory import at_speed, measured, record, resident, result, roof
from workloads.suite import FULL, QUICK

EUR = PriceRecord(amount=4000, currency="EUR")


def make(*results: Result, prices: Prices | None = None) -> Page:
    return make_page([embedded_entry(summarise(one)) for one in results], prices or {})


def rows_of(*results: Result, prices: Prices | None = None) -> list[dict]:
    return pages.data(make(*results, prices=prices).html)["rows"]


def test_results_come_first_then_every_card():
    shown = rows_of(result(label="mine"), result(at_speed(2)))
    assert [row["name"] for row in shown[:2]] == ["mine", "NVIDIA H200"]
    assert [row["name"] for row in shown[2:]] == [card.device for card in cards()]
    assert [row.get("mine", False) for row in shown] == [True] * 2 + [False] * len(cards())


def test_a_row_has_the_scores_and_what_they_stand_on():
    whole, quick, part, other = rows_of(
        result(),
        result(at_speed(only=QUICK), quick=True),
        result(at_speed(only=["1.1", "1.2"])),
        result(backend="fake"),
    )[:4]
    assert whole["scores"]["ai"] == {"value": 20000, "basis": "whole"}
    assert [row["scores"]["ai"]["basis"] for row in (quick, part, other)] == [
        "estimate",
        "part",
        "other scale",
    ]
    assert [row["state"] for row in (whole, quick, part)] == ["complete", "partial", "partial"]
    facts = dict(whole["facts"])
    assert facts["AI score"] == "20000"
    assert facts["On the leaderboard's scale"] == "yes"
    assert dict(part["facts"])["On the leaderboard's scale"] == "no: only 2 of 42 tests are ok"


def test_a_row_names_its_stack_where_it_is_not_the_leaderboards():
    fp16 = OptionsRecord(precision=Precision.FP16, xla=True)
    usual, jax, compiled = rows_of(
        result(), result(backend="jax"), result().model_copy(update={"options": fp16})
    )[:3]
    assert "stack" not in usual
    assert (jax["stack"], compiled["stack"]) == ("jax default", "tensorflow xla fp16")


def test_a_card_that_is_one_of_the_results_is_not_shown_beside_it():
    run = load(Path("docs/results/nvidia-h200.json"))
    names = [row["origin"] for row in rows_of(run) if row["name"] == "NVIDIA H200"]
    assert names == ["result"]
    assert len([row for row in rows_of(result()) if row["name"] == "NVIDIA H200"]) == 2


def test_stacks_of_one_device_stand_in_matrices_above_the_table():
    html = make(result(at_speed(2)), result(at_speed(3), backend="jax"), result(backend="jax")).html
    section = html[: html.index('aria-label="Scores"')]
    text = " ".join(re.sub(r"<[^>]+>", " ", section).split())
    assert "Stacks on NVIDIA H200 How many times as fast as the first side" in text
    assert "side stack status rounds begun GPU A tensorflow default complete 1 2026-11-30" in text
    assert "inference, 24 tests default tensorflow A 1.00 jax B 1.50, C 0.500" in text
    assert "segmentation (3) 1.00 1.50 0.500 jax default" in text
    assert "inference: jax default in 24 training: jax default in 18 " in text


def test_there_are_no_matrices_of_one_stack_or_of_two_devices():
    for pair in (
        [result(), result(at_speed(2))],
        [result(), result(backend="jax", device="NVIDIA L4")],
    ):
        assert "Stacks on" not in make(*pair).html


def test_what_a_device_is_called_stays_text_in_the_matrices():
    name = "<b>\x1b[31m{{ 7 * 7 }}"
    html = make(result(device=name), result(device=name, backend="jax")).html
    assert "Stacks on &lt;b&gt;\\x1b[31m{{ 7 * 7 }}" in html


def test_the_lead_says_that_cards_are_of_users_and_of_this_project_too():
    lead = make(result()).html
    assert "One result of aiscore beside 43 cards: published AI-Benchmark reports and runs" in lead


def test_times_stand_in_the_order_of_the_tests():
    document = pages.data(make(result(at_speed(only=["1.2", "5.1"]))).html)
    times = dict(
        zip([test["id"] for test in document["tests"]], document["rows"][0]["classic"], strict=True)
    )
    assert {test: time for test, time in times.items() if time} == {"1.2": 265, "5.1": 48}


def test_a_card_has_its_source_and_what_that_says():
    row = next(row for row in rows_of(result()) if row["name"] == "NVIDIA GeForce RTX 2070 SUPER")
    assert row["source"].startswith("https://")
    assert dict(row["facts"])["TensorFlow"] == "2.4.1"
    assert row["scores"]["ai"] == {"value": 24265, "basis": "whole"}


def test_the_results_are_in_the_page_as_the_files_that_verify_accepts(tmp_path: Path):
    made = [result(label="a"), result(at_speed(only=QUICK), quick=True)]
    held = pages.results(make(*made).html)
    for content, one in zip(held, made, strict=True):
        (tmp_path / "r.json").write_bytes(content)
        assert check(tmp_path / "r.json") == []
        assert load(tmp_path / "r.json") == summarise(one)


def test_the_same_results_make_the_same_page():
    assert make(result()) == make(result())


def test_more_results_than_a_page_holds_are_in_one_file_beside_it(tmp_path: Path):
    made = [summarise(result(label=name)) for name in "abc"]
    entries = [archived_entry(one, f"{one.run.label}.json", "x.tar.gz") for one in made]
    page = make_page(entries, {}, "x.tar.gz")
    assert pages.results(page.html) == []
    assert page.archive
    with tarfile.open(fileobj=io.BytesIO(page.archive)) as archive:
        assert archive.getnames() == ["a.json", "b.json", "c.json"]
        for name in archive.getnames():
            member = archive.extractfile(name)
            assert member is not None
            (tmp_path / name).write_bytes(member.read())
    for one in made:
        assert check(tmp_path / f"{one.run.label}.json") == []
        assert load(tmp_path / f"{one.run.label}.json") == one
    third = pages.data(page.html)["rows"][2]
    assert third["facts"] == [["Result file", "c.json in x.tar.gz"]]
    assert third["classic"], "two rows can be compared all the same"


def test_the_file_beside_the_page_is_named_after_it(tmp_path: Path):
    save(result(at_speed(only=["1.1"])), tmp_path / "r.json")
    files = [tmp_path / "r.json"] * (MOST_EMBEDDED + 1)
    assert aiscore("publish", *files, "-o", tmp_path / "p.html").code == 0
    assert sorted(os.listdir(tmp_path)) == ["p.html", "p.results.tar.gz", "r.json"]
    assert "000201.json in p.results.tar.gz" in (tmp_path / "p.html").read_text()
    (tmp_path / "p.html").unlink()
    refused = aiscore("publish", *files, "-o", tmp_path / "p.html")
    assert (refused.code, "p.results.tar.gz exists" in refused.err) == (2, True)
    refused = aiscore("publish", *files, "-o", "-", "--format", "html")
    assert (refused.code, refused.out) == (2, "")


def test_a_bad_file_among_many_is_named(tmp_path: Path):
    save(result(at_speed(only=["1.1"])), tmp_path / "r.json")
    files = [*[tmp_path / "r.json"] * MANY, tmp_path / "missing.json"]
    refused = aiscore("publish", *files, "-o", tmp_path / "p.html")
    assert refused.code == 2
    assert f"cannot read {tmp_path / 'missing.json'}" in refused.err
    assert os.listdir(tmp_path) == ["r.json"]


def test_fifty_results_take_less_than_a_megabyte_and_a_half():
    made = make(*(measured(seed) for seed in range(50)))
    assert len(pages.results(made.html)) == 50 <= MOST_EMBEDDED
    assert len(made.html.encode()) < 1_500_000


def both_protocols() -> Result:
    """Its resident tests twice as fast as its classic ones, one of them not ok; with a roof."""
    error = ErrorRecord(type="ResourceExhausted", message="out of memory")
    failed = record(FULL[1], protocol=Protocol.RESIDENT, rounds=[], status=Status.OOM, error=error)
    first, _, *others = at_speed(2, protocol=Protocol.RESIDENT)
    made = resident(result(label="both"), [first, failed, *others])
    return made.model_copy(update={"roof": roof(Random(1))})  # noqa: S311  no secret


def test_a_result_under_both_protocols_shows_both():
    page = make(both_protocols(), result())
    row, alone = pages.data(page.html)["rows"][:2]
    assert row["scores"]["ai"] == {"value": 20000, "basis": "whole"}
    assert row["scores"]["resident inference"] == {"value": 20000, "basis": "other scale"}
    assert row["scores"]["resident ai"]["basis"] == "part"
    assert "resident ai" not in alone["scores"]
    assert dict(row["facts"])["Resident inference score"] == "20000"
    assert row["classic"][0] == 2 * row["resident"][0]
    assert "resident" not in alone
    told = pages.details(page.html)[0]
    assert told["headings"] == [
        "Test",
        "Mode",
        "Classic ± std, ms",
        "Resident ± std, ms",
        "Host",
        "TFLOP/s",
        "Of peak",
        "Bound by",
        "Score",
    ]
    first, second = told["tests"][:2]
    assert first[:5] == ["1.1 MobileNet-V2", "inference", "75.0 ± 0.0", "37.5 ± 0.0", "50%"]
    assert first[7:] == ["host 50%", "10,000"]
    assert second[2:5] == ["265.0 ± 0.0", "", ""]
    assert told["failures"] == [["1.2", "resident oom (ResourceExhausted: out of memory)"]]
    assert any(name == "resident noisy" for _, name, _ in told["checks"])


def test_resident_scores_have_a_column_of_their_own_if_there_are_any():
    with_them = pages.data(make(both_protocols()).html)
    assert with_them["columns"] == ["inference", "training", "ai", "resident ai"]
    assert pages.data(make(result()).html)["columns"] == ["inference", "training", "ai"]
    assert "Resident scores" in make(both_protocols()).html
    assert "Resident scores" not in make(result()).html


def test_a_resident_result_is_never_among_the_leaderboards_scores():
    made = result(at_speed(2, protocol=Protocol.RESIDENT), protocol=Protocol.RESIDENT)
    page = make(made)
    (row,) = [row for row in pages.data(page.html)["rows"] if row.get("mine")]
    assert row["scores"].keys() == {"resident inference", "resident training", "resident ai"}
    assert row["scores"]["resident ai"] == {"value": 40000, "basis": "other scale"}
    assert "classic" not in row
    assert pages.details(page.html)[0]["headings"][2:] == ["Passes", "Median ± std, ms", "Score"]


def test_each_test_is_set_against_the_roof_where_it_is_known():
    made = measured(1)
    told, plain = pages.details(make(made, result()).html)
    assert told["headings"][4:] == ["TFLOP/s", "Of peak", "Bound by", "Score"]
    assert dict(rows_of(made)[0]["facts"])["Roof"].startswith("default 399, fp32 50.0")
    assert plain["headings"] == ["Test", "Mode", "Passes", "Mean ± std, ms", "Score"]
    assert plain["tests"][0] == ["1.1 MobileNet-V2", "inference", "22", "75.0 ± 0.0", "10,000"]


def test_the_page_loads_nothing_and_allows_nothing_else():
    html = make(result(), prices={"nvidia h200": EUR}).html
    found = pages.elements(html)
    policy = next(
        attributes["content"]
        for _, attributes in found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    for name in ("style", "script"):
        inline = re.findall(rf"<{name}(?: type=\"module\")?>(.*?)</{name}>", html, re.DOTALL)
        assert len(inline) == 1
        digest = base64.b64encode(hashlib.sha256(inline[0].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert {tag for tag, _ in found}.isdisjoint({"img", "iframe", "object", "embed", "audio"})
    addresses = [
        value
        for _, attributes in found
        for name, value in attributes.items()
        if name in ("src", "href", "action", "xlink:href")
    ]
    assert all(re.match(r"#|data:,$", value or "") for value in addresses)
    assert not any(name.startswith("on") for _, attributes in found for name in attributes)


@pytest.mark.parametrize("name", hostile.NAMES.values(), ids=hostile.NAMES)
def test_hostile_names_stay_text(name: str):
    def shape(html: str) -> Sequence[str]:
        return [tag for tag, _ in pages.elements(html)]

    price = PriceRecord(amount=9, currency=name[:12])
    made = make(*[result(label=name, device=name, price=price)] * 2)
    plain = make(*[result(label="a", device="b", price=EUR)] * 2)
    assert shape(made.html) == shape(plain.html)
    assert "<" not in pages.text(made.html, "data")
    assert pages.data(made.html)["rows"][0]["name"] == (name if name.strip() else "unnamed")
    assert all(char.isprintable() or char == "\n" for char in made.html)


@pytest.mark.parametrize("name", hostile.NAMES.values(), ids=hostile.NAMES)
def test_the_title_is_the_name_on_one_line(name: str):
    html = make(result(label=name)).html
    assert pages.text(html, "title") == pages.text(html, "h1")
    assert pages.text(html, "title").endswith(": deep learning scores")
    assert len(pages.text(html, "title")) < 150


def test_value_is_offered_as_far_as_it_is_known():
    assert pages.data(make(result()).html)["quantities"] == {}
    priced = pages.data(make(result(price=EUR)).html)
    assert priced["quantities"] == {"price": "price"}
    assert priced["rows"][0]["per"]["ai"] == {"price": 5}
    assert priced["rows"][0]["price"] == {"amount": 4000, "currency": "EUR"}


def test_cards_have_the_prices_of_the_prices_file():
    name = "NVIDIA GeForce RTX 2070 SUPER"
    row = next(row for row in rows_of(result(), prices={name.lower(): EUR}) if row["name"] == name)
    assert row["per"]["ai"] == {"price": 6.066}
    assert dict(row["facts"])["AI score per price"] == "6.07 / EUR"


def test_a_chart_of_score_against_price_for_each_currency_with_two_prices():
    usd = PriceRecord(amount=500, currency="USD")
    html = make(result(price=EUR), result(at_speed(2), price=EUR), result(price=usd)).html
    assert html.count("<svg") == 1
    assert "AI score against price in EUR" in html
    assert {"#row-0", "#row-1"} == set(re.findall(r'href="(#row-\d+)"', html))
    assert "<svg" not in make(result(price=EUR)).html


def test_nothing_private_is_in_a_published_page(tmp_path: Path):
    save(result(arguments=["run", "-o", "/home/alice/r.json"]), tmp_path / "r.json")
    assert aiscore("publish", tmp_path / "r.json", "-o", tmp_path / "p.html").code == 0
    (held,) = pages.results((tmp_path / "p.html").read_text(encoding="utf-8"))
    assert b"alice" not in held
    assert b"[path]" in held
    aiscore("publish", tmp_path / "r.json", "-o", tmp_path / "p.html", "--yes", "--unredacted")
    (held,) = pages.results((tmp_path / "p.html").read_text(encoding="utf-8"))
    assert b"alice" in held
