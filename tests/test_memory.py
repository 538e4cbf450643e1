"""A test that cannot fit the device is skipped with the reason, and voids its score."""

from types import SimpleNamespace

import pytest

from aiscore.execution import memory
from aiscore.execution.request import Request
from aiscore.execution.run import execute
from aiscore.execution.runner import Observer
from aiscore.results.reference import peak_memory_bytes
from aiscore.spec import Device, DeviceKind, Options, Suite
from workloads.suite import FULL, TESTS

GIB = 1 << 30
BY_ID = {test.id: test for test in FULL}


def gpu(memory_bytes: int | None) -> Device:
    return Device(kind=DeviceKind.GPU, index=0, name="Card", memory_bytes=memory_bytes)


@pytest.fixture
def peaks(monkeypatch):
    """Test 1.1 peaks at 10 GiB, on every backend and device."""
    monkeypatch.setattr(memory, "peak_memory_bytes", lambda backend, kind: {"1.1": 10 * GIB})


def lack(device: Device, fraction: float | None = None, test: str = "1.1") -> str | None:
    options = Options(memory_fraction=fraction)
    return memory.shortage("tensorflow", device, options)(BY_ID[test])


def test_a_card_with_less_than_the_least_share_of_the_peak_lacks_memory(peaks):
    assert lack(gpu(2 * GIB)) == "needs about 3.0 GiB, has 2.0 GiB"
    assert lack(gpu(4 * GIB)) is None


def test_a_memory_fraction_counts(peaks):
    assert lack(gpu(4 * GIB), fraction=0.5) == "needs about 3.0 GiB, has 2.0 GiB"


def test_what_is_not_known_may_fit(peaks):
    assert lack(gpu(None)) is None
    assert lack(gpu(1), test="1.2") is None


def test_host_memory_is_what_is_available_and_allowed(peaks, monkeypatch):
    cpu = Device(kind=DeviceKind.CPU, index=0, name="CPU")
    available = SimpleNamespace(available=9 * GIB)
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: available)
    monkeypatch.setattr(memory.host, "memory_limit_bytes", lambda: None)
    assert lack(cpu) is None
    monkeypatch.setattr(memory.host, "memory_limit_bytes", lambda: 7 * GIB)
    assert lack(cpu) == "needs about 8.0 GiB, has 7.0 GiB"


def test_the_tests_before_and_after_a_skipped_one_run(script, peaks, tmp_path, monkeypatch):
    monkeypatch.setattr(
        memory, "peak_memory_bytes", lambda backend, kind: {"8.2": 10 * GIB, "9.1": 10 * GIB}
    )
    script(devices=[{"kind": "gpu", "index": 0, "name": "Card", "memory_bytes": 2 * GIB}])
    request = Request(backend="fake", tests="8,9", output=tmp_path / "result.json")
    result = execute(request, Observer(), lambda question: True).result
    assert {test.id: test.status.value for test in result.tests} == {
        "8.1": "ok",
        "8.2": "skipped",
        "8.3": "ok",
        "9.1": "skipped",
        "9.2": "ok",
        "9.3": "ok",
    }
    skipped = result.tests[1]
    assert skipped.rounds == []
    assert skipped.error is not None
    assert skipped.error.message == "needs about 3.0 GiB, has 2.0 GiB"
    assert result.summary is not None
    assert result.summary.scores["inference"].value is None


@pytest.mark.parametrize("kind", [DeviceKind.CPU, DeviceKind.GPU])
def test_every_test_has_a_measured_peak(kind):
    known = peak_memory_bytes("tensorflow", kind)
    assert known.keys() == {test.id for suite in Suite for test in TESTS[suite]}
    assert min(known.values()) > 50 << 20


def test_nothing_is_known_of_a_backend_that_nobody_measured():
    assert peak_memory_bytes("fake", DeviceKind.GPU) == {}
