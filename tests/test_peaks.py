"""The benchmark script that collects peak memory (benchmarks/peaks.py)."""

import json

import peaks
import pytest
from results_factory import at_speed, result

from aiscore.spec import DeviceKind, Status

MIB = 1 << 20


@pytest.fixture
def measured():
    """A result of three tests whose process or device peaked at so many MiB."""

    def make(kind, *sizes_mib):
        tests = at_speed(only=["1.1", "1.2", "2.1"])
        for test, size_mib in zip(tests, sizes_mib, strict=True):
            test.rounds[0].peak_rss_bytes = (size_mib if kind is DeviceKind.CPU else 1) * MIB
            test.rounds[0].peak_device_bytes = (size_mib if kind is DeviceKind.GPU else 1) * MIB
        return result(tests, kind=kind)

    return make


def known(document, *results):
    return json.loads(peaks.updated(document, results))


def test_the_highest_peak_counts_of_the_process_on_a_cpu_and_of_the_card_on_a_gpu(measured):
    cpu = [measured(DeviceKind.CPU, 100, 200, 300), measured(DeviceKind.CPU, 90, 210, 300)]
    document = known({"about": "peaks"}, *cpu, measured(DeviceKind.GPU, 10, 20, 30))
    assert document == {
        "about": "peaks",
        "tensorflow": {
            "cpu": {"1.1": 100, "1.2": 210, "2.1": 300},
            "gpu": {"1.1": 10, "1.2": 20, "2.1": 30},
        },
    }


def test_what_was_not_measured_this_time_stays(measured):
    older = {"about": "peaks", "tensorflow": {"cpu": {"8.1": 7, "1.1": 6}, "gpu": {"1.1": 5}}}
    cpu = known(older, measured(DeviceKind.CPU, 100, 200, 300))["tensorflow"]
    assert cpu == {"cpu": {"1.1": 100, "1.2": 200, "2.1": 300, "8.1": 7}, "gpu": {"1.1": 5}}
    assert list(cpu["cpu"]) == ["1.1", "1.2", "2.1", "8.1"], "in the suite's order"


def test_a_test_that_failed_has_no_peak(measured):
    failed = measured(DeviceKind.CPU, 100, 200, 300)
    failed.tests[1].status = Status.OOM
    assert list(known({"about": ""}, failed)["tensorflow"]["cpu"]) == ["1.1", "2.1"]


def test_the_file_as_it_is_reads_back_as_it_was():
    text = peaks.MEMORY.read_text()
    assert json.loads(peaks.updated(json.loads(text), [])) == json.loads(text)
