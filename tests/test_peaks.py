"""The benchmark script that collects peak memory (benchmarks/peaks.py)."""

import json

import peaks

from aiscore.results.model import RoundRecord
from aiscore.spec import DeviceKind, Status
from tests.results_factory import record, result
from workloads.suite import FULL

MIB = 1 << 20


def measured(kind, *sizes_mib, status=Status.OK):
    """A result of tests whose process or device peaked at so many MiB."""
    specs = [test for test in FULL if test.id in ("1.1", "1.2", "2.1")]
    cpu = kind is DeviceKind.CPU
    return result(
        [
            record(
                spec,
                status=status,
                rounds=[
                    RoundRecord(
                        round=1,
                        passes_s=[1.0],
                        peak_rss_bytes=(size_mib if cpu else 1) * MIB,
                        peak_device_bytes=(1 if cpu else size_mib) * MIB,
                    )
                ],
            )
            for spec, size_mib in zip(specs, sizes_mib, strict=True)
        ],
        kind=kind,
    )


def known(document, *results):
    return json.loads(peaks.updated(document, results))


def test_the_highest_peak_counts_of_the_process_on_a_cpu_and_of_the_card_on_a_gpu():
    cpu = [measured(DeviceKind.CPU, 100, 200, 300), measured(DeviceKind.CPU, 90, 210, 300)]
    document = known({"about": "peaks"}, *cpu, measured(DeviceKind.GPU, 10, 20, 30))
    assert document == {
        "about": "peaks",
        "tensorflow": {
            "cpu": {"1.1": 100, "1.2": 210, "2.1": 300},
            "gpu": {"1.1": 10, "1.2": 20, "2.1": 30},
        },
    }


def test_what_was_not_measured_this_time_stays():
    older = {"about": "peaks", "tensorflow": {"cpu": {"8.1": 7, "1.1": 6}, "gpu": {"1.1": 5}}}
    cpu = known(older, measured(DeviceKind.CPU, 100, 200, 300))["tensorflow"]
    assert cpu == {"cpu": {"1.1": 100, "1.2": 200, "2.1": 300, "8.1": 7}, "gpu": {"1.1": 5}}
    assert list(cpu["cpu"]) == ["1.1", "1.2", "2.1", "8.1"], "in the suite's order"


def test_a_test_that_failed_has_no_peak():
    failed = measured(DeviceKind.CPU, 100, 200, 300, status=Status.OOM)
    assert known({"about": ""}, failed)["tensorflow"] == {"cpu": {}}


def test_the_file_as_it_is_reads_back_as_it_was():
    text = peaks.MEMORY.read_text()
    assert json.loads(peaks.updated(json.loads(text), [])) == json.loads(text)
