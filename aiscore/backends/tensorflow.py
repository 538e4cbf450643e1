"""The leaderboard backend: a TensorFlow graph in a v1 session, as the original runs it.

A network is built once with Keras and then called in a v1 graph in which v1
variables take the place of its weights; gradients and Adam are added there.
What is fed to a classic pass lies in variables for a resident one, so both run
the same graph. docs/method.md has the protocols.
"""

import importlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from aiscore import cuda_libraries
from aiscore.backends.base import (
    KERAS_POLICIES,
    LOSS_SCALE,
    Batch,
    MissingFramework,
    without_tf32,
)
from aiscore.spec import Device, DeviceKind, Mode, Network, Options, Precision, TestSpec
from workloads.words import encode

os.environ["KERAS_BACKEND"] = "tensorflow"
try:
    import keras
    import tensorflow as tf
except ModuleNotFoundError as error:
    raise MissingFramework(
        str(error.name), "pip install 'aiscore[cpu]' (NVIDIA: 'aiscore[cuda]')"
    ) from error

from aiscore.backends.tensorflow_classifier import ClassifierSession
from aiscore.backends.tensorflow_roof import TensorFlowProbes
from aiscore.backends.tensorflow_variables import Adam, Reference, Resource

GPU = "GPU:0"  # the parent lets a worker see one
# Nodes that hand on what is there, hold what never changes, or steer a loop.
WITHOUT_WORK = {
    *("VarHandleOp", "ReadVariableOp", "Const", "Identity", "NoOp", "_Arg", "_Retval"),
    *("Reshape", "Squeeze", "ExpandDims", "Shape", "ShapeN", "BroadcastGradientArgs"),
    *("Merge", "Switch", "NextIteration", "Enter", "Exit", "LoopCond", "LogicalAnd", "Less"),
    *("TensorListReserve", "TensorListGetItem", "TensorListSetItem", "TensorListFromTensor"),
}
LOOPS = ("While", "StatelessWhile")
v1 = tf.compat.v1


class TensorFlowBackend:
    """TensorFlow on the CPU or on an NVIDIA GPU."""

    name = "tensorflow"
    for_gpu = "pip install 'aiscore[cuda]'"

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

    def unsupported(self, test: TestSpec, device: Device, options: Options) -> str | None:
        """Every test runs here, but not every device has TF32."""
        return _without_tf32(device) if options.precision is Precision.TF32 else None

    def open(self, network: Network, device: Device, options: Options, seed: int) -> "Session":
        """Builds the network, its graph and its session on the device."""
        _set_up(device, options)
        return Session(network, options, seed)

    def open_classifier(
        self, network: Network, device: Device, options: Options, seed: int
    ) -> ClassifierSession:
        """Builds the network on the device."""
        _set_up(device, options)
        if device.kind is DeviceKind.CPU and _onednn() != _on(True):
            # Grappler would fuse a grouped convolution with what follows, for which only oneDNN
            # has a kernel.
            tf.config.optimizer.set_experimental_options({"remapping": False})
        return ClassifierSession(network, options, seed)

    def probes(self, device: Device, options: Options) -> TensorFlowProbes:
        """Its work on that device, in every precision that the device has."""
        _limit_memory(device, options)
        kinds = [kind for kind in Precision if kind is not Precision.TF32]
        return TensorFlowProbes(kinds if _without_tf32(device) else list(Precision))

    def is_out_of_memory(self, error: BaseException) -> bool:
        """TensorFlow or a library inside it says so, or an allocation on the host failed."""
        if isinstance(error, MemoryError | tf.errors.ResourceExhaustedError):
            return True
        says = str(error.message).lower() if isinstance(error, tf.errors.OpError) else ""
        return "resource_exhausted" in says or "out of memory" in says


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


def _without_tf32(device: Device) -> str | None:
    """Why the device cannot compute in TF32."""
    if device.kind is DeviceKind.CPU:
        return without_tf32(device, None)
    (gpu,) = tf.config.list_physical_devices("GPU")
    details = tf.config.experimental.get_device_details(gpu)
    return without_tf32(device, details.get("compute_capability"))


def _set_up(device: Device, options: Options) -> None:
    """What is this process's for good: its share of the memory, and whether TF32 is allowed."""
    _limit_memory(device, options)
    if options.precision in (Precision.FP32, Precision.TF32):
        tf.config.experimental.enable_tensor_float_32_execution(options.precision is Precision.TF32)


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


@dataclass(frozen=True, slots=True)
class Feed:
    """A tensor that a pass is fed with; without that it gives what ``place`` put on the device."""

    tensor: Any
    placing: Any
    place: Any
    initializer: Any


class Session:
    """One network in one v1 session: all of its tests share graph and weights."""

    def __init__(self, network: Network, options: Options, seed: int) -> None:
        keras.utils.set_random_seed(seed)
        keras.config.set_dtype_policy(KERAS_POLICIES.get(options.precision, "float32"))
        module = importlib.import_module(f"workloads.{network.name}")
        with tf.device("CPU"):  # the weights move to the device with the v1 variables
            model = module.build()
            values = [variable.numpy() for variable in model.variables]
        self._options = options
        self._graph = v1.Graph()
        self._target: Feed | None = None
        self._step: Any = None
        self._mode = Mode.INFERENCE
        self._placed = False
        with self._graph.as_default():
            kind = Resource if options.xla else Reference
            weights = [kind(each.shape, each.dtype, each.name) for each in model.variables]
            initial = [v1.placeholder(weight.dtype, weight.shape) for weight in weights]
            initializers = [
                weight.assign(value) for weight, value in zip(weights, initial, strict=True)
            ]
            self._trained = [
                weight
                for weight, variable in zip(weights, model.variables, strict=True)
                if variable.trainable
            ]
            self._input = _feed("input", model.inputs[0].shape, model.inputs[0].dtype)
            self._forward = partial(_call, model, weights)
            self._output = self._compiled(self._forward, self._input)
            self._sync = tf.raw_ops.SyncDevice()
            self._session = v1.Session()
            # A loop's gradient changes the loop, which a session refuses once it has run it;
            # the original too has the step of its recurrent networks in the graph from the start.
            trains = self._output.dtype.is_floating  # a network that gives ids has no training
            if trains and any(op.type in LOOPS for op in self._graph.get_operations()):
                self._add_training_step(self._output.shape)
            self._session.run(
                [self._input.initializer, *initializers],
                dict(zip(initial, values, strict=True)),
            )

    def _compiled(self, computation: Callable[..., Any], *feeds: Feed) -> Any:
        """What the computation gives for the feeds: as one program of XLA, if so asked."""
        tensors = [feed.tensor for feed in feeds]
        if not self._options.xla:
            return computation(*tensors)
        made = tf.xla.experimental.compile(computation, tensors)
        return made[0] if isinstance(made, Sequence) else made

    def prepare(self, test: TestSpec, batch: Batch) -> None:
        """Adds the training step to the graph when the first training test needs it."""
        self._mode = test.mode
        if self._placed:
            self._session.run([feed.initializer for feed in self._feeds()])
            self._placed = False
        if _has_gpu():
            tf.config.experimental.reset_memory_stats(GPU)
        if batch.target is not None and test.mode is Mode.TRAINING and self._step is None:
            with self._graph.as_default():
                self._add_training_step(batch.target.shape)

    def _feeds(self) -> list[Feed]:
        return [self._input, *([self._target] if self._target else [])]

    def _add_training_step(self, target_shape: Any) -> None:
        self._target = _feed("target", target_shape, tf.float32)
        initializers, scale = [self._target.initializer], None
        if self._options.precision is Precision.FP16:
            elements = math.prod(size or 1 for size in target_shape)
            scale = v1.Variable(LOSS_SCALE / elements, trainable=False, use_resource=True)
            initializers.append(scale.initializer)

        def step(output: Any, target: Any) -> Any:
            loss = 2 * tf.nn.l2_loss(output - target)
            gradients, others = _gradients(loss, self._trained, scale)
            with tf.init_scope():  # no variable is made inside of a computation of XLA
                optimizer = Adam(gradients)
            initializers.extend(optimizer.initializers)
            return tf.group(optimizer.step(gradients), *others)

        if self._options.xla:
            self._step = self._compiled(
                lambda x, target: step(self._forward(x), target), self._input, self._target
            )
        else:
            self._step = step(self._output, self._target.tensor)
        self._session.run(initializers)

    def classic_pass(self, batch: Batch) -> np.ndarray | None:
        """One run of the v1 session, fed from and fetched to the host."""
        if self._mode is Mode.INFERENCE:
            return self.output(batch)
        values = (batch.input, batch.target)
        tensors = (feed.tensor for feed in self._feeds())
        self._run(self._step, dict(zip(tensors, values, strict=True)))
        return None

    def place(self, batch: Batch) -> None:
        """Assigns the batch to the variables that stand behind the feeds."""
        values = [encode(batch.input), batch.target]
        for feed, value in zip(self._feeds(), values, strict=False):
            self._session.run(feed.place, {feed.placing: value})
        self._placed = True
        last = self._output.op if self._mode is Mode.INFERENCE else self._step
        self._run_resident = self._session.make_callable(last)
        self._run_sync = self._session.make_callable(self._sync)

    def resident_pass(self) -> None:
        """One run of the v1 session that feeds nothing and fetches nothing.

        A v1 session waits for its device at the end of every run, by itself.
        """
        try:
            self._run_resident()
        except tf.errors.UnimplementedError as error:
            raise NotImplementedError(_reason(error)) from error

    def sync(self) -> None:
        """Waits for the device, whatever TF_SYNC_ON_FINISH says."""
        self._run_sync()

    def output(self, batch: Batch) -> np.ndarray:
        """The network's output for the batch."""
        return np.asarray(self._run(self._output, {self._input.tensor: encode(batch.input)}))

    def _run(self, fetches: Any, feeds: dict[Any, np.ndarray | None]) -> Any:
        try:
            return self._session.run(fetches, feeds)
        except tf.errors.UnimplementedError as error:
            raise NotImplementedError(_reason(error)) from error

    def operations(self, batch: Batch) -> int | None:
        """The nodes with work of their own that TensorFlow runs on the GPU in a traced pass."""
        if not _has_gpu():
            return None
        traced = v1.RunOptions(trace_level=v1.RunOptions.SOFTWARE_TRACE)
        metadata = v1.RunMetadata()
        training = self._mode is Mode.TRAINING
        feeds = self._feeds() if training else [self._input]
        values = (encode(batch.input), batch.target)
        self._session.run(
            self._step if training else self._output,
            {feed.tensor: value for feed, value in zip(feeds, values, strict=False)},
            traced,
            metadata,
        )
        return sum(
            _type(node.timeline_label) not in WITHOUT_WORK
            for part in metadata.step_stats.dev_stats
            if GPU in part.device
            for node in part.node_stats
        )

    def peak_device_bytes(self) -> int | None:
        """The peak of TensorFlow's allocator on the GPU since the test was prepared."""
        if not _has_gpu():
            return None
        return int(tf.config.experimental.get_memory_info(GPU)["peak"])

    def close(self) -> None:
        """Ends the session."""
        self._session.close()


def _type(label: str) -> str:
    """The operation in a trace's label, such as "[GPU_0_bfc 1.2MB 1.2MB] conv = Conv2D(x, w)"."""
    return label.partition(" = ")[2].partition("(")[0]


def _reason(error: Any) -> str:
    """What TensorFlow or XLA says that it does not have, without where the graph was made."""
    lines: list[str] = error.message.partition("Node: ")[2].splitlines()
    return lines[1] if len(lines) > 1 else str(error.message)


def _has_gpu() -> bool:
    return bool(tf.config.list_logical_devices("GPU"))


def _feed(name: str, shape: Any, dtype: Any) -> Feed:
    """A placeholder in the current graph, with a variable behind it that holds nothing yet."""
    shape = tf.TensorShape(shape)
    dtype = tf.as_dtype(dtype)
    placed = v1.Variable(
        np.zeros([0] * len(shape), dtype.as_numpy_dtype),
        trainable=False,
        use_resource=True,
        shape=tf.TensorShape([None] * len(shape)),
        name=f"placed_{name}",
    )
    placing = v1.placeholder(dtype, shape)
    return Feed(
        tensor=v1.placeholder_with_default(placed, shape, name=name),
        placing=placing,
        place=placed.assign(placing, read_value=False),
        initializer=placed.initializer,
    )


def _call(model: Any, weights: list[Any], inputs: Any) -> Any:
    """Calls a Keras model in the current v1 graph, with variables of the graph as its weights.

    Gives its output, numbers as float32. What the model writes to its variables
    is written to the weights, and before the output is there.
    """
    values = [weight.read() for weight in weights]
    pairs = list(zip(model.variables, values, strict=True))
    with keras.StatelessScope(state_mapping=pairs) as scope:
        output = model(inputs, training=False)
    if output.dtype.is_floating:
        output = tf.cast(output, tf.float32)
    writes = [
        weight.assign(scope.get_current_value(variable))
        for weight, (variable, value) in zip(weights, pairs, strict=True)
        if scope.get_current_value(variable) is not value
    ]
    with tf.control_dependencies(writes):
        return tf.identity(output, name="output")


def _gradients(loss: Any, weights: list[Any], scale: Any) -> tuple[dict[Any, Any], list[Any]]:
    """The gradients by the weights that the loss depends on, and what has to run besides.

    With a scale the loss is scaled dynamically (arXiv:1710.03740): gradients that are
    not finite are taken for zeros and halve the scale. It never grows again, for no
    test is that long.
    """
    factor = None if scale is None else scale.read_value()
    found = v1.gradients(
        loss if factor is None else loss * factor,
        [weight.target for weight in weights],
        gate_gradients=factor is None,  # as TensorFlow's optimisers do
    )
    pairs = zip(weights, found, strict=True)
    gradients = {weight: gradient for weight, gradient in pairs if gradient is not None}
    if factor is None:
        return gradients, []
    finite = tf.reduce_all(
        [tf.reduce_all(tf.math.is_finite(gradient)) for gradient in gradients.values()]
    )
    unscale = tf.where(finite, 1 / factor, 0.0)
    halved = scale.assign(tf.where(finite, factor, factor / 2), read_value=False)
    return {
        weight: tf.math.multiply_no_nan(gradient, unscale) for weight, gradient in gradients.items()
    }, [halved]
