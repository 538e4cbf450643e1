"""Which execution providers ONNX Runtime is asked for, and what it says of itself."""

import pytest

from aiscore import cuda_devices
from aiscore.backends.base import MissingFramework
from aiscore.spec import Device, DeviceKind, Options, Precision
from workloads.suite import FULL

pytestmark = pytest.mark.framework

CPU = Device(kind=DeviceKind.CPU, index=0, name="CPU")
H200 = Device(kind=DeviceKind.GPU, index=1, name="NVIDIA H200", memory_bytes=1000)


@pytest.fixture
def module():
    from aiscore.backends import onnxruntime

    return onnxruntime


@pytest.fixture
def on_h200(module, monkeypatch):
    """A machine where every provider works."""
    monkeypatch.setattr(module, "_starts", lambda provider: True)
    monkeypatch.setattr(module, "find_spec", lambda name: object())
    monkeypatch.setattr(cuda_devices, "gpus", lambda: [H200])
    monkeypatch.setattr(cuda_devices, "compute_capability", lambda index: (9, 0))
    return module


def test_the_cpu_is_there_and_sessions_are_described(module):
    backend = module.OnnxRuntimeBackend()
    assert [device.name for device in backend.devices()] == ["CPU"]
    software = backend.software()
    assert software["onnx_opset"] == "18"
    assert software["graph_optimization"] == "ORT_ENABLE_ALL"
    assert software["intra_op_threads"] == "automatic"
    assert backend.providers(CPU, Options()) == [("CPUExecutionProvider", {})]


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({}, {}),
        ({"precision": Precision.FP32}, {"use_tf32": "0"}),
        ({"precision": Precision.TF32}, {"use_tf32": "1"}),
        ({"memory_fraction": 0.5}, {"gpu_mem_limit": "500"}),
    ],
)
def test_cuda_comes_before_the_cpu(on_h200, options, changed):
    backend = on_h200.OnnxRuntimeBackend()
    assert backend.devices() == [CPU, H200]
    cuda, cpu = backend.providers(H200, Options(**options))
    assert cuda == ("CUDAExecutionProvider", {"device_id": "1", **changed})
    assert cpu == ("CPUExecutionProvider", {})


def test_tf32_depends_on_the_card(on_h200, monkeypatch):
    backend, tf32 = on_h200.OnnxRuntimeBackend(), Options(precision=Precision.TF32)
    assert backend.unsupported(FULL[0], H200, tf32) is None
    monkeypatch.setattr(cuda_devices, "compute_capability", lambda index: (7, 0))
    reason = "TF32 needs compute capability 8.0, the GPU has 7.0"
    assert backend.unsupported(FULL[0], H200, tf32) == reason
    assert Precision.TF32 not in backend.probes(H200, Options()).precisions


def test_tensorrt_comes_before_cuda_and_has_no_cpu(on_h200):
    backend = on_h200.TensorRtBackend()
    assert backend.devices() == [H200]
    (first, changed), *others = backend.providers(H200, Options(precision=Precision.FP16))
    assert (first, changed["trt_fp16_enable"]) == ("TensorrtExecutionProvider", "1")
    assert [name for name, _ in others] == ["CUDAExecutionProvider", "CPUExecutionProvider"]
    reason = backend.unsupported(FULL[0], H200, Options(precision=Precision.TF32))
    assert reason is not None
    assert "TensorRT chooses" in reason


def test_without_tensorrt_there_is_no_such_backend(module):
    with pytest.raises(MissingFramework, match="TensorRT is not installed: pip install tensorrt"):
        module.TensorRtBackend()


def test_without_the_exporter_nothing_can_be_run(module, monkeypatch):
    monkeypatch.setattr(module, "EXPORTER", ("no_such_exporter",))
    with pytest.raises(MissingFramework, match="no_such_exporter is not installed"):
        module.OnnxRuntimeBackend()


def test_memory_that_ran_out_is_told_from_other_errors(module):
    class Fail(RuntimeError):
        __module__ = "onnxruntime.capi.onnxruntime_pybind11_state"

    backend = module.OnnxRuntimeBackend()
    assert backend.is_out_of_memory(MemoryError())
    assert backend.is_out_of_memory(Fail("Failed to allocate memory for requested buffer"))
    assert not backend.is_out_of_memory(Fail("Unexpected input data type"))
    assert not backend.is_out_of_memory(RuntimeError("out of memory"))
