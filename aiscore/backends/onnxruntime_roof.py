"""The work by which ONNX Runtime shows what a device can do at most (``aiscore.roof``)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from aiscore.backends.base import Call
from aiscore.backends.onnx_export import OPSET
from aiscore.spec import Device, DeviceKind, Precision

Node = tuple[str, ...]  # operation, inputs, output
Providers = list[tuple[str, dict[str, str]]]


def make_session(
    nodes: Sequence[Node], inputs: Mapping[str, np.ndarray], providers: Sequence[Any]
) -> Any:
    """A session on a graph of these nodes; all that it takes and gives is of one type and shape."""
    (sample, *_) = inputs.values()
    kind = helper.np_dtype_to_tensor_dtype(sample.dtype)
    *_, (_, *_, output) = nodes
    graph = helper.make_graph(
        [helper.make_node(operation, list(names[:-1]), [names[-1]]) for operation, *names in nodes],
        "probe",
        [helper.make_tensor_value_info(name, kind, sample.shape) for name in inputs],
        [helper.make_tensor_value_info(output, kind, sample.shape)],
    )
    opset = onnx.helper.make_opsetid("", OPSET)
    model = helper.make_model_gen_version(graph, opset_imports=[opset])
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=providers, enable_fallback=0
    )


class OnnxRuntimeProbes:
    """Sessions on graphs of a few nodes, bound to the device like the tests."""

    def __init__(
        self,
        device: Device,
        precisions: Sequence[Precision],
        providers: Callable[[Precision], Providers],
    ) -> None:
        self.precisions = precisions
        self._place = ("cpu" if device.kind is DeviceKind.CPU else "cuda", device.index)
        self._providers = providers

    def product(self, precision: Precision, size: int, count: int) -> Call:
        """A chain of products; the left matrix keeps the length of what it multiplies."""
        kind = np.float16 if precision is Precision.FP16 else np.float32
        left, right = (
            np.random.default_rng(seed).standard_normal((size, size), np.float32) for seed in (0, 1)
        )
        inputs = {"left": (left * size**-0.5).astype(kind), "0": right.astype(kind)}
        nodes = [("MatMul", "left", str(step), str(step + 1)) for step in range(count)]
        return self._call(nodes, inputs, precision)

    def add(self, values: int, count: int) -> Call:
        """Each sum goes to memory that an earlier one has left."""
        inputs = {"part": np.ones(values, np.float32), "0": np.zeros(values, np.float32)}
        nodes = [("Add", "part", str(step), str(step + 1)) for step in range(count)]
        return self._call(nodes, inputs, Precision.DEFAULT)

    def _call(
        self, nodes: Sequence[Node], inputs: Mapping[str, np.ndarray], precision: Precision
    ) -> Call:
        """One run on what lies on the device; its output stays there."""
        session = make_session(nodes, inputs, self._providers(precision))
        binding = session.io_binding()
        for name, value in inputs.items():
            placed = onnxruntime.OrtValue.ortvalue_from_numpy(value, *self._place)
            binding.bind_ortvalue_input(name, placed)
        binding.bind_output(session.get_outputs()[0].name, *self._place)
        return lambda: session.run_with_iobinding(binding)

    def feed(self, batch: np.ndarray) -> Call:
        """A run that is given an array of the host, and leaves its copy on the device."""
        session = self._identity(batch.shape)
        binding = session.io_binding()
        binding.bind_output("y", *self._place)

        def call() -> None:
            binding.bind_cpu_input("x", batch.astype(np.float32))
            session.run_with_iobinding(binding)

        return call

    def fetch(self, values: int) -> Call:
        """A run that is given an array of the device, and gives its copy on the host."""
        session = self._identity((values,))
        binding = session.io_binding()
        zeros = np.zeros(values, np.float32)
        placed = onnxruntime.OrtValue.ortvalue_from_numpy(zeros, *self._place)
        binding.bind_ortvalue_input("x", placed)
        binding.bind_output("y")

        def call() -> object:
            session.run_with_iobinding(binding)
            return binding.get_outputs()[0].numpy()

        return call

    def _identity(self, shape: tuple[int, ...]) -> Any:
        sample = np.broadcast_to(np.float32(0), shape)
        return make_session(
            [("Identity", "x", "y")], {"x": sample}, self._providers(Precision.DEFAULT)
        )
