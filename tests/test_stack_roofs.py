"""The probes of the other stacks, on the CPU and small: no work of them is left out."""

import time

import pytest

from aiscore import roof
from aiscore.backends import base
from aiscore.messages import Probed
from aiscore.spec import Options, Precision, Probe
from tests.computed import process

pytestmark = pytest.mark.framework

PRECISIONS = {
    "jax": [Precision.DEFAULT, Precision.FP32, Precision.FP16, Precision.BF16],
    "torch": [Precision.DEFAULT, Precision.FP32, Precision.FP16, Precision.BF16],
    "onnxruntime": [Precision.DEFAULT, Precision.FP32, Precision.FP16],
}
PAIRS = 50
VALUES = 1 << 22  # more than a cache holds


def probes(backend):
    framework = base.load(backend)
    return framework.probes(framework.devices()[0], Options())


def measure(backend: str) -> list[Probed]:
    """Every probe, in sizes and times that a test can afford."""
    roof.SIZES, roof.LONG_ENOUGH_S, roof.AT_LEAST_S = (64, 128), 0.001, 0.01
    roof.MEMORY_VALUES = roof.HOST_VALUES = 1 << 16
    return list(roof.measure(probes(backend)))


def growth(backend: str, work: str) -> float:
    """How much longer eight times the work takes than twice, of products or of additions."""
    made = probes(backend)
    calls = {
        "product": lambda count: made.product(Precision.DEFAULT, 512, count),
        "add": lambda count: made.add(VALUES, count),
    }
    twice, often = calls[work](2), calls[work](8)
    pairs = [(timed(twice), timed(often)) for _ in range(PAIRS)]
    return min(often_s for _, often_s in pairs) / min(twice_s for twice_s, _ in pairs)


def timed(call):
    return roof._timed(call, time.perf_counter_ns)


@pytest.mark.parametrize("backend", PRECISIONS)
def test_every_probe_is_measured(backend):
    with process() as executor:
        found = executor.submit(measure, backend).result()
    assert [probe.problem for probe in found] == [None] * len(found)
    precisions = [probe.precision for probe in found if probe.kind is Probe.ARITHMETIC]
    assert precisions == PRECISIONS[backend]
    assert {probe.kind for probe in found} == set(Probe)
    assert all(probe.work and min(probe.passes_s) > 0 for probe in found)


@pytest.mark.parametrize("work", ["product", "add"])
@pytest.mark.parametrize("backend", PRECISIONS)
def test_more_work_takes_more_time(backend, work):
    with process() as executor:
        assert executor.submit(growth, backend, work).result() > 2
