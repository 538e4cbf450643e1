"""The leaderboard backend: a TensorFlow graph in a v1 session, as the original runs it.

A network is built once with Keras and then called in a v1 graph in which v1
variables take the place of its weights; gradients and Adam are added there.
docs/method.md has the protocol.
"""

import importlib
import os
from typing import Any

import numpy as np

from aiscore import cuda_libraries
from aiscore.backends.base import Batch, MissingFramework
from aiscore.spec import Device, DeviceKind, Mode, Network, Options, TestSpec

os.environ["KERAS_BACKEND"] = "tensorflow"
try:
    import keras
    import tensorflow as tf
except ModuleNotFoundError as error:
    raise MissingFramework(
        str(error.name), "pip install 'aiscore[cpu]' (NVIDIA: 'aiscore[cuda]')"
    ) from error

LEARNING_RATE = 1e-4
GPU = "GPU:0"  # the parent lets a worker see one
LOOPS = ("While", "StatelessWhile")
v1 = tf.compat.v1


class TensorFlowBackend:
    """TensorFlow on the CPU or on an NVIDIA GPU."""

    name = "tensorflow"

    def software(self) -> dict[str, str]:
        """Versions of TensorFlow, Keras and the CUDA libraries, and TensorFlow's switches."""
        build = tf.sysconfig.get_build_info()
        versions = {"tensorflow": tf.__version__, "keras": keras.__version__}
        for key in ("cuda_version", "cudnn_version"):
            if key in build:
                versions[f"tensorflow_build_{key}"] = str(build[key])
        if tf.test.is_built_with_cuda():
            versions |= cuda_libraries.versions()
        return versions | _switches()

    def devices(self) -> list[Device]:
        """The CPU, and the GPUs that TensorFlow can use."""
        gpus = [
            Device(
                kind=DeviceKind.GPU,
                index=index,
                name=tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name),
            )
            for index, gpu in enumerate(tf.config.list_physical_devices("GPU"))
        ]
        return [Device(kind=DeviceKind.CPU, index=0, name="CPU"), *gpus]

    def unsupported(self, test: TestSpec, device: Device) -> str | None:
        """Every test runs here."""
        return None

    def open(self, network: Network, device: Device, options: Options, seed: int) -> "Session":
        """Builds the network, its graph and its session on the device."""
        _limit_memory(device, options)
        return Session(network, seed)

    def is_out_of_memory(self, error: BaseException) -> bool:
        """TensorFlow says so, or an allocation inside it failed."""
        return isinstance(error, MemoryError | tf.errors.ResourceExhaustedError)


def _switches() -> dict[str, str]:
    """What decides how operations are computed, as this process has it."""
    threading = tf.config.threading
    return {
        "tf32": _on(tf.config.experimental.tensor_float_32_execution_enabled()),
        "xla": tf.config.optimizer.get_jit() or "off",
        "onednn": _onednn(),
        "intra_op_threads": _threads(threading.get_intra_op_parallelism_threads()),
        "inter_op_threads": _threads(threading.get_inter_op_parallelism_threads()),
    }


def _onednn() -> str:
    try:
        from tensorflow.python.util import _pywrap_util_port  # nothing public tells
    except ImportError as error:
        return f"unknown: {error}"
    return _on(_pywrap_util_port.IsMklEnabled())


def _on(state: bool) -> str:
    return "on" if state else "off"


def _threads(number: int) -> str:
    return str(number) if number else "automatic"


def _limit_memory(device: Device, options: Options) -> None:
    if options.memory_fraction is None or device.kind is DeviceKind.CPU:
        return
    if device.memory_bytes is None:
        raise ValueError("the GPU's memory size is unknown, so no share of it can be set")
    (gpu,) = tf.config.list_physical_devices("GPU")
    if tf.config.get_logical_device_configuration(gpu):
        return  # set when this process opened its first session, and for good
    limit_mib = int(options.memory_fraction * device.memory_bytes / 2**20)
    configuration = tf.config.LogicalDeviceConfiguration(memory_limit=limit_mib)
    tf.config.set_logical_device_configuration(gpu, [configuration])


class Session:
    """One network in one v1 session: all of its tests share graph and weights."""

    def __init__(self, network: Network, seed: int) -> None:
        keras.utils.set_random_seed(seed)
        module = importlib.import_module(f"workloads.{network.name}")
        self._encode = getattr(module, "encode", None)
        with tf.device("CPU"):  # the weights move to the device with the v1 variables
            model = module.build()
            values = [variable.numpy() for variable in model.variables]
        self._graph = v1.Graph()
        self._target: Any = None
        self._step: Any = None
        self._mode = Mode.INFERENCE
        with self._graph.as_default():
            weights = [_variable(variable) for variable in model.variables]
            self._trained = [weight for weight in weights if weight.trainable]
            self._input, self._output = _call(model, weights)
            self._session = v1.Session()
            # A loop's gradient changes the loop, which a session refuses once it has run it;
            # the original too has the step of its recurrent networks in the graph from the start.
            trains = self._output.dtype.is_floating  # a network that gives ids has no training
            if trains and any(op.type in LOOPS for op in self._graph.get_operations()):
                self._add_training_step(self._output.shape)
            self._session.run(
                [weight.initializer for weight in weights],
                {
                    weight.initializer.inputs[1]: value
                    for weight, value in zip(weights, values, strict=True)
                },
            )

    def prepare(self, test: TestSpec, batch: Batch) -> None:
        """Adds the training step to the graph when the first training test needs it."""
        self._mode = test.mode
        if _has_gpu():
            tf.config.experimental.reset_memory_stats(GPU)
        if batch.target is not None and test.mode is Mode.TRAINING and self._step is None:
            with self._graph.as_default():
                self._add_training_step(batch.target.shape)

    def _add_training_step(self, target_shape: Any) -> None:
        self._target = v1.placeholder(tf.float32, target_shape, name="target")
        loss = 2 * tf.nn.l2_loss(self._output - self._target)
        optimizer = v1.train.AdamOptimizer(LEARNING_RATE)
        self._step = optimizer.minimize(loss, var_list=self._trained)
        self._session.run(v1.variables_initializer(optimizer.variables()))

    def classic_pass(self, batch: Batch) -> np.ndarray | None:
        """One run of the v1 session, fed from and fetched to the host."""
        if self._mode is Mode.INFERENCE:
            return self.output(batch)
        self._session.run(self._step, {self._input: batch.input, self._target: batch.target})
        return None

    def output(self, batch: Batch) -> np.ndarray:
        """The network's output for the batch."""
        inputs = batch.input if self._encode is None else self._encode(batch.input)
        return np.asarray(self._session.run(self._output, {self._input: inputs}))

    def peak_device_bytes(self) -> int | None:
        """The peak of TensorFlow's allocator on the GPU since the test was prepared."""
        if not _has_gpu():
            return None
        return int(tf.config.experimental.get_memory_info(GPU)["peak"])

    def close(self) -> None:
        """Ends the session."""
        self._session.close()


def _has_gpu() -> bool:
    return bool(tf.config.list_logical_devices("GPU"))


def _variable(variable: Any) -> Any:
    """A v1 variable that takes the place of a Keras variable in the current graph.

    Like the original's it is no resource: a step that updates a resource
    copies it first wherever another operation may still read it.
    """
    return v1.Variable(
        tf.zeros(variable.shape, variable.dtype),
        trainable=variable.trainable,
        name=variable.name,
        use_resource=False,
    )


def _call(model: Any, weights: list[Any]) -> tuple[Any, Any]:
    """Calls a Keras model in the current v1 graph, with v1 variables as its weights.

    Gives input and output. What the model writes to its variables is written
    to the weights, and before the output is there.
    """
    inputs = model.inputs[0]
    placeholder = v1.placeholder(inputs.dtype, inputs.shape, name="input")
    values = [tf.convert_to_tensor(weight) for weight in weights]
    pairs = list(zip(model.variables, values, strict=True))
    with keras.StatelessScope(state_mapping=pairs) as scope:
        output = model(placeholder, training=False)
    writes = [
        weight.assign(scope.get_current_value(variable), read_value=False)
        for weight, (variable, value) in zip(weights, pairs, strict=True)
        if scope.get_current_value(variable) is not value
    ]
    with tf.control_dependencies(writes):
        return placeholder, tf.identity(output, name="output")
