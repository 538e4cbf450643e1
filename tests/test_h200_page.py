"""The card that this project measured: its page holds its files, its text their figures."""

import re
from pathlib import Path
from statistics import median

import pytest

from aiscore.report.rows import three_digits
from aiscore.report.stacks import find_stacks
from aiscore.results.model import Result
from aiscore.results.store import load
from aiscore.results.subject import KINDS, from_result
from aiscore.spec import Protocol
from tests import pages

TEXT = Path("docs/h200.md").read_text()
RESULTS = Path("docs/results")
STACKS = {
    "TensorFlow": "h200/tensorflow/default",
    "TensorFlow fp16": "h200/tensorflow/fp16",
    "ONNX Runtime": "h200/onnxruntime/default",
    "ONNX Runtime fp16": "h200/onnxruntime/fp16",
    "JAX": "h200-stacks/jax",
    "JAX fp16": "h200-stacks/jax-fp16",
}
BESIDE_JAX = "h200-stacks/tensorflow.json"


def table(first: str) -> list[dict[str, str]]:
    """The table of the page's text whose header begins so, as a dict for each line."""
    header, _, *lines = (
        TEXT[TEXT.index(f"\n| {first}".rstrip()) :].strip().split("\n\n")[0].split("\n")
    )
    names = [cell.strip() for cell in header.split("|")[1:-1]]
    return [
        dict(zip(names, (cell.strip() for cell in line.split("|")[1:-1]), strict=True))
        for line in lines
    ]


def result(stack: str) -> Result:
    return load(RESULTS / f"{STACKS[stack]}.json")


def test_the_page_holds_the_files_that_the_text_names():
    held = {
        re.search(rb'"id":"(\w{32})"', one)
        for one in pages.results(Path("docs/h200.html").read_text())
    }
    ids = {match.group(1).decode() for match in held if match}
    files = [*(f"{name}.json" for name in STACKS.values()), "nvidia-h200.json"]
    assert ids == {load(RESULTS / name).run.id for name in files}


@pytest.mark.parametrize("line", table("| TensorFlow fp16 |"), ids=lambda line: line[""])
def test_the_speeds_of_the_text_are_those_of_the_files(line: dict[str, str]):
    kind, mode = line.pop("").rsplit(", ", 1)
    for stack, told in line.items():
        base = load(RESULTS / BESIDE_JAX) if stack.startswith("JAX") else result("TensorFlow")
        sides = {"A": from_result(base), "B": from_result(result(stack))}
        found = find_stacks(sides)
        assert found is not None
        speeds = next(
            (
                f"{three_digits(each.speeds[kind]['B'])} ({each.tests[kind]})"
                for each in found.kinds
                if (each.protocol, each.mode) == (Protocol.RESIDENT, mode) and kind in each.speeds
            ),
            "-" if stack.startswith("ONNX") else "",
        )
        assert told == speeds, stack


@pytest.mark.parametrize(
    "line", table("share of the peak"), ids=lambda line: line["share of the peak"]
)
def test_the_shares_of_the_peak_are_the_medians_of_the_files(line: dict[str, str]):
    kind, mode = line.pop("share of the peak").rsplit(", ", 1)
    for stack, told in line.items():
        summary = result(stack).summary
        assert summary is not None and summary.resident is not None and summary.roof is not None
        if kind == "peak":
            precision = "fp16" if stack.endswith("fp16") else "default"
            assert told == f"{summary.roof.tflops[precision]:.0f}", stack
            continue
        shares = [
            test.roof_shares["arithmetic"]
            for test in summary.resident.tests
            if test.id in KINDS[f"{kind}/{mode}"] and test.roof_shares
        ]
        assert told == (f"{median(shares):.0%}".replace("%", " %") if shares else "-"), stack


def test_the_seconds_to_start_are_those_of_the_files():
    stacks = ["TensorFlow", "TensorFlow fp16", "ONNX Runtime", "ONNX Runtime fp16"]
    sides = {name: from_result(result(name)) for name in stacks}
    found = find_stacks(sides)
    assert found is not None
    told = {line.pop(""): list(line.values()) for line in table("| 22 tests of inference")}
    assert [each.tests for each in found.start_ups] == [22, 16]
    assert told == {
        name: [
            f"{three_digits(each.prepare_s[name])} + {three_digits(each.first_passes_s[name])}"
            if name in each.prepare_s
            else "-"
            for each in found.start_ups
        ]
        for name in stacks
    }
