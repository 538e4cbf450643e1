"""What a device can do at most: how it is measured, and what becomes of a failure."""

import os
from dataclasses import replace

import pytest

from aiscore import roof
from aiscore.backends.fake import RATES, FakeBackend
from aiscore.execution import process
from aiscore.execution.process import Worker, open_workers
from aiscore.execution.roof import measure_roof
from aiscore.messages import Job, Probed, decode, encode
from aiscore.results.model import RoofRecord
from aiscore.spec import Device, DeviceKind, Options, Precision, Probe

CPU = Device(kind=DeviceKind.CPU, index=0, name="Fake CPU")
JOB = Job(backend="fake", device=CPU)
ALL = [
    (Probe.ARITHMETIC, Precision.DEFAULT),
    (Probe.ARITHMETIC, Precision.FP32),
    (Probe.MEMORY, None),
    (Probe.LAUNCH, None),
    (Probe.FEED, None),
    (Probe.FETCH, None),
]


def measured() -> list[Probed]:
    """As the worker does it, on the fake backend's clock."""
    backend = FakeBackend()
    return list(roof.measure(backend.probes(CPU, Options()), backend.clock_ns))


def names(record: RoofRecord) -> list[tuple[Probe, Precision | None]]:
    return [(probe.kind, probe.precision) for probe in record.probes]


@pytest.fixture
def workers(script):
    with open_workers(os.environ) as opened:
        yield opened


def test_every_probe_finds_the_rate_that_the_device_has(script):
    found = measured()
    assert [(probe.kind, probe.precision) for probe in found] == ALL
    for probe in found:
        assert probe.work is not None
        rate = RATES[probe.precision or probe.kind]
        assert probe.work / min(probe.passes_s) == pytest.approx(rate, rel=0.01)


@pytest.mark.parametrize("rate", [1e8, 1e11, 1e13, 1e15])
def test_slow_and_fast_devices_are_both_measured_in_seconds(script, rate):
    script(roof={"default": rate, "fp32": rate})
    product = measured()[0]
    assert product.problem is None
    assert sum(product.passes_s) < 10
    assert min(product.passes_s) > roof.LONG_ENOUGH_S / 2
    fewest, most = roof.PASSES
    assert fewest <= len(product.passes_s) <= most


def test_a_probe_that_fails_says_why_and_the_others_go_on(script):
    script(roof={"fp32": "error", "feed": "oom"})
    found = measured()
    assert [(probe.kind, probe.precision) for probe in found] == ALL
    failed = {probe.precision or probe.kind: probe for probe in found if probe.problem}
    assert failed.keys() == {"fp32", "feed"}
    assert failed["fp32"].problem == "RuntimeError: the script says that this pass fails"
    assert (failed["fp32"].work, failed["fp32"].passes_s) == (None, ())


def test_a_probe_survives_the_way_to_the_parent(script):
    for probe in measured():
        assert decode(encode(probe)) == probe


def test_the_job_survives_the_way_to_the_worker():
    assert Job.from_json(replace(JOB, roof=True).to_json()) == replace(JOB, roof=True)


def test_a_worker_measures_it(script, workers):
    script(roof={"fp16": 3e13})
    record = measure_roof(JOB, workers)
    assert names(record) == [*ALL[:2], (Probe.ARITHMETIC, Precision.FP16), *ALL[2:]]
    assert record.problem is None


@pytest.mark.parametrize(
    ("failure", "problem"),
    [
        ("segfault", "the worker was ended by SIGSEGV"),
        ("garbage", "codec can't decode"),
        ("hang", "no sign of life for 3 s"),
    ],
)
def test_what_was_measured_before_the_worker_was_lost_is_kept(script, workers, failure, problem):
    script(roof={"memory": failure})
    record = measure_roof(JOB, workers, silence_limit_s=3)
    assert names(record) == ALL[:2]
    assert problem in (record.problem or "")


def test_a_backend_that_is_not_there_is_said(script, workers):
    script(start="missing")
    record = measure_roof(JOB, workers)
    assert record.probes == []
    assert record.problem == "Fakework is not installed: pip install fakework"


def test_a_backend_without_probes_measures_nothing_and_that_is_said(script, workers, monkeypatch):
    class Bare(Worker):
        def begin(self, job):
            super().begin(replace(job, roof=False))

    monkeypatch.setattr(process, "Worker", Bare)
    record = measure_roof(JOB, workers)
    assert (record.probes, record.problem) == ([], "the fake backend has no probes")
