"""The GPUs that CUDA's driver names."""

import ctypes
from types import SimpleNamespace

import pytest

from aiscore import cuda_devices

ABSENT = 100  # CUDA_ERROR_NO_DEVICE


@pytest.fixture
def driver(monkeypatch):
    """A driver that knows these cards, and whose functions give these errors."""

    def install(*names, **errors):
        def count(pointer):
            pointer._obj.value = len(names)
            return errors.get("count", 0)

        def get(pointer, index):
            pointer._obj.value = index
            return errors.get("get", 0)

        def name(buffer, size, handle):
            buffer.value = names[handle.value]
            return errors.get("name", 0)

        def attribute(pointer, number, handle):
            pointer._obj.value = {75: 9, 76: handle.value}[number]
            return errors.get("attribute", 0)

        library = SimpleNamespace(
            cuInit=lambda flags: errors.get("init", 0),
            cuDeviceGetCount=count,
            cuDeviceGet=get,
            cuDeviceGetName=name,
            cuDeviceGetAttribute=attribute,
        )
        monkeypatch.setattr(ctypes, "CDLL", {cuda_devices.DRIVER: library}.__getitem__)
        return [(gpu.index, gpu.name) for gpu in cuda_devices.gpus()]

    return install


def test_cards_come_in_the_order_of_cuda(driver):
    assert driver(b"NVIDIA H200", b"Tesla T4") == [(0, "NVIDIA H200"), (1, "Tesla T4")]


def test_a_card_without_a_name_has_its_number(driver):
    assert driver(b"NVIDIA H200", name=1) == [(0, "GPU 0")]


@pytest.mark.parametrize("function", ["init", "count"])
def test_where_cuda_sees_nothing_there_is_nothing(driver, function):
    assert driver(b"NVIDIA H200", **{function: ABSENT}) == []


def test_without_a_driver_there_is_nothing(monkeypatch):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert cuda_devices.gpus() == []
    assert cuda_devices.compute_capability(0) is None


def test_a_card_tells_what_it_can_compute(driver):
    driver(b"NVIDIA H200", b"NVIDIA H200")
    assert cuda_devices.compute_capability(1) == (9, 1)
    driver(b"NVIDIA H200", attribute=1)
    assert cuda_devices.compute_capability(0) is None
