"""ONNX Runtime: inference with networks that were exported once (onnx_export.py).

One session per test: the file leaves the batch open, and a session that knows
it can plan its memory. With TensorRT in front it is a backend of its own.
"""

from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from aiscore import cuda_devices, cuda_libraries
from aiscore.backends import onnx_export
from aiscore.backends.base import Batch, MissingFramework, without_tf32
from aiscore.backends.onnx_export import NEXT_STATE, OPSET, OUTPUT, STATE, Recipe
from aiscore.spec import Device, DeviceKind, Mode, Network, Options, Precision, TestSpec
from workloads.words import as_float32

try:
    import onnx
    import onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotImplemented_
except ModuleNotFoundError as error:
    raise MissingFramework(str(error.name), onnx_export.INSTALL) from error

from aiscore.backends.onnxruntime_roof import OnnxRuntimeProbes, Providers, make_session

EXPORTER = ("tensorflow", "keras", "tf2onnx")
CPU, CUDA, TENSORRT = (f"{name}ExecutionProvider" for name in ("CPU", "CUDA", "Tensorrt"))
OUT_OF_MEMORY = ("Failed to allocate memory", "out of memory", "bad_alloc")
LATER = "disable_synchronize_execution_providers"  # leaves the waiting to `sync`


class OnnxRuntimeBackend:
    """ONNX Runtime with its own kernels for the CPU and for NVIDIA GPUs."""

    name = "onnxruntime"
    # The builds for CPUs and for GPUs lie in one folder: the one has to go before the other comes.
    for_gpu = "pip uninstall -y onnxruntime onnxruntime-gpu; pip install 'aiscore[cuda]'"
    provider = CUDA

    def __init__(self) -> None:
        """Starts nothing: CUDA does not survive the fork of a process."""
        for framework in EXPORTER:
            if find_spec(framework) is None:
                raise MissingFramework(framework, onnx_export.INSTALL)

    @cached_property
    def gpus(self) -> list[Device]:
        """The GPUs on which the provider starts."""
        return cuda_devices.gpus() if _starts(self.provider) else []

    def software(self) -> dict[str, str]:
        """Versions, the options of every session, and the CUDA libraries."""
        options = onnxruntime.SessionOptions()
        versions = {
            "onnxruntime": onnxruntime.__version__,
            "onnx": onnx.__version__,
            "onnx_opset": str(OPSET),
            "graph_optimization": options.graph_optimization_level.name,
            "execution_mode": options.execution_mode.name,
            "intra_op_threads": str(options.intra_op_num_threads or "automatic"),
            "inter_op_threads": str(options.inter_op_num_threads or "automatic"),
        }
        return versions | cuda_libraries.versions() if self.gpus else versions

    def devices(self) -> list[Device]:
        """The CPU, and the GPUs that CUDA can be used on."""
        return [Device(kind=DeviceKind.CPU, index=0, name="CPU"), *self.gpus]

    def unsupported(self, test: TestSpec, device: Device, options: Options) -> str | None:
        """Training, XLA and some precisions are not there."""
        if test.mode is Mode.TRAINING:
            return "ONNX Runtime runs inference only"
        if options.xla:
            return "XLA is no part of ONNX Runtime"
        return self._without(options.precision, device)

    def _without(self, precision: Precision, device: Device) -> str | None:
        """Why it cannot compute in that precision on the device."""
        if precision is Precision.BF16:
            return "ONNX Runtime has no convolution in bfloat16"
        if precision is Precision.TF32:
            return without_tf32(device, cuda_devices.compute_capability(device.index))
        return None

    def open(self, network: Network, device: Device, options: Options, seed: int) -> "Session":
        """A session that exports and loads with each test."""
        return Session(network, device, options.precision, seed, self.providers(device, options))

    def providers(self, device: Device, options: Options) -> Providers:
        """The execution providers by precedence, with what differs from their defaults."""
        if device.kind is DeviceKind.CPU:
            return [(CPU, {})]
        changed = {"device_id": str(device.index)}
        if options.precision in (Precision.FP32, Precision.TF32):
            changed["use_tf32"] = str(int(options.precision is Precision.TF32))
        if options.memory_fraction is not None:
            changed["gpu_mem_limit"] = str(_memory_limit(device, options.memory_fraction))
        return [(CUDA, changed), (CPU, {})]

    def probes(self, device: Device, options: Options) -> OnnxRuntimeProbes:
        """Its work on that device, in every precision that the device has."""
        kinds = [kind for kind in Precision if self._without(kind, device) is None]
        return OnnxRuntimeProbes(
            device,
            kinds,
            lambda precision: self.providers(device, replace(options, precision=precision)),
        )

    def is_out_of_memory(self, error: BaseException) -> bool:
        """An allocation failed, in Python or in one of the arenas."""
        of_framework = type(error).__module__.startswith("onnxruntime")
        return isinstance(error, MemoryError) or (
            of_framework and any(sign in str(error) for sign in OUT_OF_MEMORY)
        )


class TensorRtBackend(OnnxRuntimeBackend):
    """ONNX Runtime that hands what it can to TensorRT; the rest runs on its CUDA kernels."""

    name = "tensorrt"
    provider = TENSORRT

    def __init__(self) -> None:
        super().__init__()
        if find_spec("tensorrt") is None:
            raise MissingFramework("TensorRT", "pip install tensorrt, beside 'aiscore[cuda]'")

    def software(self) -> dict[str, str]:
        """The same, and TensorRT's version."""
        import tensorrt

        return {**super().software(), "tensorrt": tensorrt.__version__}

    def devices(self) -> list[Device]:
        """The GPUs alone."""
        return self.gpus

    def _without(self, precision: Precision, device: Device) -> str | None:
        """TensorRT decides on TF32 by itself."""
        if precision in (Precision.FP32, Precision.TF32):
            return "TensorRT chooses between float32 and TF32 by itself"
        return super()._without(precision, device)

    def providers(self, device: Device, options: Options) -> Providers:
        """TensorRT first."""
        changed = {"device_id": str(device.index)}
        if options.precision is Precision.FP16:
            changed["trt_fp16_enable"] = "1"
        return [(TENSORRT, changed), *super().providers(device, options)]


def _starts(provider: str) -> bool:
    """Whether a session on the provider starts, its libraries being found."""
    if provider not in onnxruntime.get_available_providers() or not cuda_devices.gpus():
        return False
    onnxruntime.preload_dlls()
    if provider == TENSORRT:
        import tensorrt  # noqa: F401  (loads the libraries that the provider asks for)
    session = make_session([("Identity", "x", "y")], {"x": np.zeros(1, np.float32)}, [provider])
    return provider in session.get_providers()


def _memory_limit(device: Device, fraction: float) -> int:
    if device.memory_bytes is None:
        raise ValueError("the GPU's memory size is unknown, so no share of it can be set")
    return int(fraction * device.memory_bytes)


class Session:
    """One network on one device. What it keeps from pass to pass stays on the device."""

    def __init__(
        self,
        network: Network,
        device: Device,
        precision: Precision,
        seed: int,
        providers: Providers,
    ) -> None:
        self._network = network
        self._device = "cpu" if device.kind is DeviceKind.CPU else "cuda"
        self._index = device.index
        self._precision = precision
        self._seed = seed
        self._providers = providers
        self._session: Any = None
        self._binding: Any = None
        self._later = onnxruntime.RunOptions()
        self._later.add_run_config_entry(LATER, "1")

    def prepare(self, test: TestSpec, batch: Batch) -> None:
        """Exports the network if that was never done, and loads it for this batch."""
        self.close()  # the last test's weights leave before the next one's come
        recipe = Recipe(
            network=self._network.name,
            shape=test.input,
            precision=self._precision,
            seed=self._seed,
        )
        options = onnxruntime.SessionOptions()
        options.add_free_dimension_override_by_name(onnx_export.BATCH, test.batch)
        path = str(onnx_export.exported(recipe))
        try:
            self._session = onnxruntime.InferenceSession(
                path, options, self._providers, enable_fallback=0
            )
        except NotImplemented_ as error:
            raise NotImplementedError(str(error)) from error
        wanted = self._providers[0][0]
        if wanted not in self._session.get_providers():
            raise RuntimeError(f"ONNX Runtime does not start its {wanted}")
        self._input = self._session.get_inputs()[0].name
        self._states = [
            (state.name, state.name.replace(STATE, NEXT_STATE, 1))
            for state in self._session.get_overridable_initializers()
        ]
        self._binding = self._session.io_binding()

    def classic_pass(self, batch: Batch) -> np.ndarray | None:
        """One run, from and to the host."""
        return self.output(batch)

    def place(self, batch: Batch) -> None:
        """Copies the input to the device, and binds the output there."""
        x = onnxruntime.OrtValue.ortvalue_from_numpy(
            as_float32(batch.input), self._device, self._index
        )
        self._binding.bind_ortvalue_input(self._input, x)
        self._binding.bind_output(OUTPUT, self._device, self._index)

    def resident_pass(self) -> None:
        """Enqueues one run on what was placed."""
        self._run(self._later)

    def sync(self) -> None:
        """Waits for the device."""
        self._binding.synchronize_outputs()

    def output(self, batch: Batch) -> np.ndarray:
        """The network's output for the batch."""
        self._binding.bind_cpu_input(self._input, as_float32(batch.input))
        self._binding.bind_output(OUTPUT)
        self._run()
        output: np.ndarray = self._binding.get_outputs()[0].numpy()
        return output

    def _run(self, options: Any = None) -> None:
        for _, after in self._states:
            self._binding.bind_output(after, self._device, self._index)
        self._session.run_with_iobinding(self._binding, options)
        if self._states:
            _, *values = self._binding.get_outputs()
            for (before, _), value in zip(self._states, values, strict=True):
                self._binding.bind_ortvalue_input(before, value)

    def peak_device_bytes(self) -> int | None:
        """ONNX Runtime does not tell."""
        return None

    def close(self) -> None:
        """Frees the session."""
        self._binding = self._session = None
