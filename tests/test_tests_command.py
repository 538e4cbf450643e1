"""``aiscore tests``: the suite as data and as a table."""

import json

import pytest

from tests import golden_files
from tests.command_line import aiscore
from workloads.suite import FULL, MICRO


@pytest.mark.parametrize("suite", ["full", "micro"])
def test_the_suite_as_text(suite: str):
    golden_files.check(f"tests-{suite}.txt", aiscore("tests", "--suite", suite).out)


def test_the_keys():
    document = json.loads(aiscore("tests", "--json").out)
    assert document["suite"] == "full"
    for test in document["tests"]:
        peaks = test.pop("peak_memory_bytes")
        assert set(peaks) == {"cpu", "gpu"}
        assert min(peaks.values()) > 100 << 20
    assert [test["id"] for test in document["tests"]] == [test.id for test in FULL]
    assert document["tests"][0] == {
        "id": "1.1",
        "network": "mobilenet_v2",
        "title": "MobileNet-V2",
        "mode": "inference",
        "batch": 50,
        "input": [224, 224, 3],
        "target": [1001],
        "gflop": 30.08,
        "gigabytes": 2.7,
        "parameters": 3_506_153,
        "ref_ms": 75,
    }
    assert document["tests"][-1]["target"] is None


def test_the_micro_suite_has_reference_times_of_its_own():
    document = json.loads(aiscore("tests", "--suite", "micro", "--json").out)
    assert document["suite"] == "micro"
    assert len(document["tests"]) == len(MICRO)
    assert document["tests"][0]["ref_ms"] == 6


def test_an_unknown_suite_exits_2():
    assert aiscore("tests", "--suite", "huge").code == 2
