"""Score for price, watt and memory: as far as these are known, and never across currencies."""

import csv
import io
import json
from pathlib import Path

import pytest

from aiscore.errors import UserError
from aiscore.results.model import PriceRecord, Result, SeriesRecord, TelemetryRecord, TestRecord
from aiscore.results.prices import priced, read_prices
from aiscore.results.store import load, save
from aiscore.results.worth import score_per, worth
from aiscore.spec import DeviceKind
from tests.command_line import aiscore
from tests.results_factory import at_speed, result

GIB = 2**30


def known(made: Result, power: str = "700.0", memory: int | None = 141 * GIB) -> Result:
    """The result with the GPU's power limit and memory."""
    gpus = [{**made.environment.gpus[0], "power_limit_w": power}]
    return made.model_copy(
        update={
            "environment": made.environment.model_copy(update={"gpus": gpus}),
            "device": made.device.model_copy(update={"memory_bytes": memory}),
        }
    )


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A card of 20000 in all, and one that is twice as fast."""
    save(known(result(label="slow")), tmp_path / "a.json")
    save(known(result(at_speed(2), label="fast")), tmp_path / "b.json")
    return [tmp_path / "a.json", tmp_path / "b.json"]


def flat(text: str) -> str:
    return " ".join(text.split())


def test_a_score_over_each_quantity_that_is_known():
    made = known(result())
    assert score_per({"ai": 20_000, "micro": None}, worth(made)) == {
        "ai": pytest.approx({"power_limit_w": 20_000 / 700, "memory_gib": 20_000 / 141})
    }
    assert score_per({"ai": 20_000}, worth(result())) == {"ai": {}}


@pytest.mark.parametrize("power", ["unknown: NVML: no permission", "nan", "inf", "0", "-1"])
def test_a_power_limit_that_was_not_read_is_not_known(power: str):
    assert worth(known(result(), power=power)).power_limit_w is None


def test_power_is_what_the_gpu_drew_by_duration():
    first, second, *rest = at_speed()
    tests = [watched(first, watts=100, seconds=3), watched(second, watts=200, seconds=1), *rest]
    assert worth(result(tests)).power_w == pytest.approx(125)
    assert worth(result(tests, kind=DeviceKind.CPU)).power_w is None
    assert worth(result()).power_w is None


def watched(test: TestRecord, watts: float, seconds: float) -> TestRecord:
    """The test with what the monitor saw."""
    series = {"gpu_power_w": SeriesRecord(min=watts, median=watts, max=watts)}
    telemetry = TelemetryRecord(duration_s=seconds, samples=9, cost_s=0, series=series)
    rounds = [record.model_copy(update={"telemetry": telemetry}) for record in test.rounds]
    return test.model_copy(update={"rounds": rounds})


def test_show_has_a_table_of_value_only_with_something_to_say(files: list[Path], tmp_path: Path):
    shown = flat(aiscore("show", files[0], "--price", 4000, "--currency", "EUR").out)
    assert "Price 4000 EUR" in shown
    assert "AI score per price 5.00 / EUR" in shown
    assert "AI score per watt of power limit 28.6" in shown
    assert "AI score per GiB of memory 142" in shown
    save(result(), tmp_path / "plain.json")
    assert "per price" not in aiscore("show", tmp_path / "plain.json").out


def test_no_score_no_value(tmp_path: Path):
    save(known(result(at_speed(only=["1.1"]))), tmp_path / "r.json")
    assert (
        " per " not in aiscore("show", tmp_path / "r.json", "--price", 9, "--currency", "EUR").out
    )


def test_the_document_of_show(files: list[Path]):
    shown = aiscore("show", files[0], "--price", 4000, "--currency", "EUR", "--json")
    document = json.loads(shown.out)
    assert document["price"] == {"amount": 4000.0, "currency": "EUR"}
    assert document["score_per"]["ai"]["price"] == 5


def test_prices_of_a_file_are_found_by_label_device_or_card(tmp_path: Path, files: list[Path]):
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'currency = "EUR"\nSlow = 4000\n"nvidia h200" = 9\n'
        '"NVIDIA GeForce RTX 2070 SUPER" = {price = 500, currency = "USD"}\n'
    )
    read = read_prices(prices)
    assert priced(result(label="slow"), read).run.price == PriceRecord(amount=4000, currency="EUR")
    assert priced(result(), read).run.price == PriceRecord(amount=9, currency="EUR")
    assert priced(result(device="other"), read).run.price is None
    found = json.loads(aiscore("compare", "2070", files[0], "--prices", prices, "--json").out)
    assert [side["price"]["currency"] for side in found["subjects"]] == ["USD", "EUR"]
    assert found["subjects"][0]["score_per"]["ai"]["price"] == pytest.approx(24265 / 500)
    line = next(
        line
        for line in aiscore("compare", "2070", files[0], "--prices", prices).out.splitlines()
        if line.startswith("AI score per price")
    )
    assert line.split()[4:] == ["48.5", "/", "USD", "5.00", "/", "EUR", "-"], "no ratio"


def test_json_prices(tmp_path: Path):
    prices = tmp_path / "prices.json"
    prices.write_text('{"NVIDIA H200": {"price": 30000.5, "currency": "USD"}}')
    assert read_prices(prices)["nvidia h200"] == PriceRecord(amount=30000.5, currency="USD")


def test_compare_gives_the_ratio_of_value(files: list[Path]):
    shown = aiscore("compare", *files, "--price", 4000, "--price", 5000, "--currency", "EUR").out
    line = next(line for line in shown.splitlines() if line.startswith("AI score per price"))
    assert line.split()[-1] == "1.60"


def test_publish_has_rows_of_value(files: list[Path], tmp_path: Path):
    arguments = (*files, "--price", 4000, "--price", 5000, "--currency", "EUR", "-o", "-")
    assert "| AI score per price | 5.00 / EUR | 8.00 / EUR |" in aiscore("publish", *arguments).out
    table = list(csv.reader(io.StringIO(aiscore("publish", *arguments, "--format", "csv").out)))
    assert ["AI score per GiB of memory", "", "142", "284"] in table
    document = json.loads(aiscore("publish", *arguments, "--format", "json").out)
    assert [made["score_per"]["ai"]["price"] for made in document["results"]] == [5, 8]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--price", "5", "--currency", "EUR"], "--price was given 1 times for 2"),
        (["--price", "5", "--price", "6"], "5 of no currency is no price"),
        (["--price", "0", "--price", "6", "--currency", "EUR"], "0 EUR is no price"),
        (["--price", "nan", "--price", "6", "--currency", "EUR"], "nan EUR is no price"),
        (["--currency", "EUR"], "--currency without --price"),
        (["--prices", "missing.toml"], "cannot read missing.toml"),
    ],
)
def test_bad_prices_exit_2_with_one_line(files: list[Path], arguments: list[str], problem: str):
    shown = aiscore("compare", *files, *arguments)
    assert (shown.code, shown.out) == (2, "")
    assert problem in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        "x = [",
        'x = "5"',
        "x = 5",
        "x = {price = 5}",
        'x = {price = -5, currency = "EUR"}',
        'x = {price = 5, currency = "EUR", colour = "red"}',
        'x = {price = nan, currency = "EUR"}',
    ],
)
def test_a_prices_file_that_holds_none_is_refused(tmp_path: Path, text: str):
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises(UserError) as error:
        read_prices(tmp_path / "prices.toml")
    assert "\n" not in str(error.value)


def test_hostile_names_and_currencies_stay_text(files: list[Path], tmp_path: Path):
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"slow": {"price": 5, "currency": "=\x1b[1m|<b>"}}))
    for form in ("markdown", "csv"):
        shown = aiscore("publish", files[0], "--prices", prices, "-o", "-", "--format", form).out
        assert "\x1b" not in shown
        assert "<b>" not in shown or form == "csv"


def test_run_takes_the_price_into_its_result(script):
    arguments = ("--backend", "fake", "--tests", "1.1", "--passes", 2, "-o", "r.json")
    made = aiscore("run", *arguments, "--price", 4000, "--currency", "EUR")
    assert "Price 4000 EUR" in flat(made.out)
    assert load(Path("r.json")).run.price == PriceRecord(amount=4000, currency="EUR")


@pytest.mark.parametrize("given", [["--price", "4000"], ["--currency", "EUR"], ["--price", "-1"]])
def test_run_refuses_half_a_price_before_it_measures(script, given: list[str]):
    refused = aiscore("run", "--backend", "fake", "-o", "r.json", *given)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert not Path("r.json").exists()
