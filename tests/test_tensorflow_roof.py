"""The probes of TensorFlow, on the CPU and small: all of them run, in every precision."""

import numpy as np
import pytest

from aiscore import roof
from aiscore.spec import Options, Precision, Probe

pytestmark = pytest.mark.framework


@pytest.fixture
def small(monkeypatch):
    """Sizes and times that a test can afford."""
    monkeypatch.setattr(roof, "SIZES", (64, 128))
    monkeypatch.setattr(roof, "LONG_ENOUGH_S", 0.001)
    monkeypatch.setattr(roof, "AT_LEAST_S", 0.01)
    monkeypatch.setattr(roof, "MEMORY_VALUES", 1 << 16)
    monkeypatch.setattr(roof, "HOST_VALUES", 1 << 16)


def probes():
    from aiscore.backends.tensorflow import TensorFlowBackend

    backend = TensorFlowBackend()
    (cpu,) = (device for device in backend.devices() if device.kind == "cpu")
    return backend.probes(cpu, Options())


def test_every_probe_is_measured(small):
    found = list(roof.measure(probes()))
    assert [probe.problem for probe in found] == [None] * len(found)
    assert [probe.precision for probe in found if probe.kind is Probe.ARITHMETIC] == [
        precision for precision in Precision if precision is not Precision.TF32
    ]
    assert {probe.kind for probe in found} == set(Probe)
    assert all(probe.work and min(probe.passes_s) > 0 for probe in found)


def test_twice_the_products_take_about_twice_the_time():
    made = probes()
    times = [
        min(roof._repeat(made.product(Precision.DEFAULT, 512, count), roof.time.perf_counter_ns))
        for count in (2, 8)
    ]
    assert 2 < times[1] / times[0] < 8, "no product is left out, and none is made twice"


def test_what_is_fed_arrives(small):
    made = probes()
    assert made.feed(np.ones(1 << 16))() is None
    fetched = made.fetch(1 << 16)()
    assert isinstance(fetched, np.ndarray)
    assert (fetched.dtype, fetched.size) == (np.float32, 1 << 16)
