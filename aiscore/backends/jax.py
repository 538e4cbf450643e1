"""JAX: a network is a pure function of its weights and its input, compiled by XLA.

The network is built once with Keras on JAX. A pass of inference is one call
of the jitted function; a training step is one call too, with the gradient and
Adam inside, and overwrites the weights that it was given.
"""

import importlib
import os
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from aiscore import cuda_libraries
from aiscore.backends.base import (
    BETA_1,
    BETA_2,
    EPSILON,
    KERAS_POLICIES,
    LEARNING_RATE,
    LOSS_SCALE,
    Batch,
    MissingFramework,
    without_tf32,
)
from aiscore.spec import Device, DeviceKind, Mode, Network, Options, Precision, TestSpec
from workloads.words import as_float32

os.environ["KERAS_BACKEND"] = "jax"
try:
    import jax
    import jaxlib
    import keras
    from jax import numpy as jnp
except ModuleNotFoundError as error:
    raise MissingFramework(
        str(error.name), "pip install 'aiscore[jax]' (NVIDIA: 'aiscore[jax-cuda]')"
    ) from error

from aiscore.backends.jax_classifier import ClassifierSession
from aiscore.backends.jax_roof import PRODUCTS, JaxProbes

Array = Any
Arrays = list[Array]
Writes = dict[int, Array]  # what a pass wrote to a variable that is not trained, by its place


class JaxBackend:
    """JAX on the CPU or on a GPU."""

    name = "jax"
    for_gpu = "pip install 'aiscore[jax-cuda]'"

    def software(self) -> dict[str, str]:
        """Versions of JAX, Keras and the CUDA libraries."""
        versions = {
            "jax": jax.__version__,
            "jaxlib": jaxlib.__version__,
            "keras": keras.__version__,
            "xla": "always",
        }
        return versions | cuda_libraries.versions() if _gpus() else versions

    def devices(self) -> list[Device]:
        """The CPU, and the GPUs that JAX can use."""
        gpus = [
            Device(kind=DeviceKind.GPU, index=index, name=gpu.device_kind)
            for index, gpu in enumerate(_gpus())
        ]
        return [Device(kind=DeviceKind.CPU, index=0, name="CPU"), *gpus]

    def unsupported(self, test: TestSpec, device: Device, options: Options) -> str | None:
        """Every test runs here, but XLA is no choice, and not every device has TF32."""
        if options.xla:
            return "JAX compiles everything with XLA: leave --xla out"
        return _without_tf32(device) if options.precision is Precision.TF32 else None

    def open(self, network: Network, device: Device, options: Options, seed: int) -> "Session":
        """Builds the network on the device."""
        _set_precision(options.precision)
        return Session(network, _device(device), options.precision, seed)

    def open_classifier(
        self, network: Network, device: Device, options: Options, seed: int
    ) -> ClassifierSession:
        """Builds the network on the device."""
        _set_precision(options.precision)
        return ClassifierSession(network, _device(device), options.precision, seed)

    def probes(self, device: Device, options: Options) -> JaxProbes:
        """Its work on that device, in every precision that the device has."""
        kinds = [kind for kind in Precision if kind is not Precision.TF32]
        return JaxProbes(_device(device), kinds if _without_tf32(device) else list(Precision))

    def is_out_of_memory(self, error: BaseException) -> bool:
        """XLA says so, or an allocation on the host failed."""
        if isinstance(error, MemoryError):
            return True
        says = str(error).lower() if isinstance(error, jax.errors.JaxRuntimeError) else ""
        return "resource_exhausted" in says or "out of memory" in says


def _gpus() -> list[Any]:
    return [device for device in jax.devices() if device.platform == "gpu"]


def _device(device: Device) -> Any:
    return jax.devices(device.kind.value)[device.index]


def _set_precision(precision: Precision) -> None:
    """For this process, and for good."""
    keras.config.set_dtype_policy(KERAS_POLICIES.get(precision, "float32"))
    jax.config.update("jax_default_matmul_precision", PRODUCTS.get(precision))


def _without_tf32(device: Device) -> str | None:
    """Why the device cannot compute in TF32."""
    capability = getattr(_device(device), "compute_capability", None)  # NVIDIA's, as "9.0"
    if capability is None:
        return without_tf32(device, None)
    major, minor = map(int, capability.split("."))
    return without_tf32(device, (major, minor))


class Optimizer(NamedTuple):
    """Adam's state; ``loss_scale`` where gradients are float16."""

    steps: Array
    means: Arrays
    variances: Arrays
    loss_scale: Array | None


class Session:
    """One network on one device: all of its tests share the weights."""

    def __init__(self, network: Network, device: Any, precision: Precision, seed: int) -> None:
        keras.utils.set_random_seed(seed)
        self._device = device
        self._scales_loss = precision is Precision.FP16
        with jax.default_device(self._device):
            model = importlib.import_module(f"workloads.{network.name}").build()
        self._weights = self._values(model.trainable_variables)
        self._fixed = self._values(model.non_trainable_variables)
        self._forward = jax.jit(partial(_call, model))
        self._step = jax.jit(partial(_step, model), donate_argnums=(0, 1))
        self._optimizer: Optimizer | None = None
        self._mode = Mode.INFERENCE
        self._output: Array = None

    def _values(self, variables: list[Any]) -> Arrays:
        values: Arrays = jax.device_put([variable.value for variable in variables], self._device)
        return values

    def prepare(self, test: TestSpec, batch: Batch) -> None:
        """Makes the optimiser for the first training test. The first pass compiles."""
        self._mode = test.mode
        if test.mode is Mode.TRAINING and batch.target is not None and self._optimizer is None:
            scale = LOSS_SCALE / batch.target.size if self._scales_loss else None
            self._optimizer = jax.device_put(_new_optimizer(self._weights, scale), self._device)

    def classic_pass(self, batch: Batch) -> np.ndarray | None:
        """One call, from and to the host."""
        if self._mode is Mode.INFERENCE:
            return self.output(batch)
        self._enqueue_step(*_on_host(batch))
        self.sync()
        return None

    def place(self, batch: Batch) -> None:
        """Copies input and target to the device.

        They are not bound to it, and are to the compiled program what arrays of the
        host are: bound ones would have it compiled a second time.
        """
        with jax.default_device(self._device):
            self._placed = jax.block_until_ready(jax.device_put(_on_host(batch)))

    def resident_pass(self) -> None:
        """Enqueues one call on what was placed."""
        x, target = self._placed
        if self._mode is Mode.INFERENCE:
            self._enqueue_forward(x)
        else:
            self._enqueue_step(x, target)

    def sync(self) -> None:
        """Waits for the last output and the last weights."""
        jax.block_until_ready((self._output, self._weights))

    def output(self, batch: Batch) -> np.ndarray:
        """The network's output for the batch."""
        self._enqueue_forward(as_float32(batch.input))
        return np.asarray(self._output)

    def _enqueue_forward(self, x: Array) -> None:
        self._output, writes = self._forward(self._weights, self._fixed, x)
        self._write(writes)

    def _enqueue_step(self, x: Array, target: Array) -> None:
        self._weights, self._optimizer, writes = self._step(
            self._weights, self._optimizer, self._fixed, x, target
        )
        self._write(writes)

    def _write(self, writes: Writes) -> None:
        for place, value in writes.items():
            self._fixed[place] = value

    def peak_device_bytes(self) -> int | None:
        """The peak of XLA's allocator on the GPU since the process began."""
        statistics = self._device.memory_stats()
        return None if statistics is None else int(statistics["peak_bytes_in_use"])

    def close(self) -> None:
        """Gives up everything on the device."""
        self._weights, self._fixed, self._optimizer = [], [], None
        self._output = self._placed = None


def _on_host(batch: Batch) -> tuple[np.ndarray, np.ndarray | None]:
    target = None if batch.target is None else as_float32(batch.target)
    return as_float32(batch.input), target


def _call(model: Any, weights: Arrays, fixed: Arrays, x: Array) -> tuple[Array, Writes]:
    """The network's output, float32 or ids, and what it wrote to its variables."""
    variables = [*model.trainable_variables, *model.non_trainable_variables]
    with keras.StatelessScope(zip(variables, [*weights, *fixed], strict=True)) as scope:
        output = model(x, training=False)
    values = map(scope.get_current_value, model.non_trainable_variables)
    pairs = enumerate(zip(fixed, values, strict=True))
    writes = {place: new for place, (old, new) in pairs if new is not old}
    is_number = jnp.issubdtype(output.dtype, jnp.floating)
    return (output.astype(jnp.float32) if is_number else output), writes


def _new_optimizer(weights: Arrays, loss_scale: float | None) -> Optimizer:
    return Optimizer(
        steps=jnp.float32(0),
        means=[jnp.zeros_like(weight) for weight in weights],
        variances=[jnp.zeros_like(weight) for weight in weights],
        loss_scale=None if loss_scale is None else jnp.float32(loss_scale),
    )


def _step(
    model: Any, weights: Arrays, optimizer: Optimizer, fixed: Arrays, x: Array, target: Array
) -> tuple[Arrays, Optimizer, Writes]:
    """One training step on the sum of squared errors."""
    scale = optimizer.loss_scale

    def loss(weights: Arrays) -> tuple[Array, Writes]:
        output, writes = _call(model, weights, fixed, x)
        error = jnp.sum(jnp.square(output - target))
        return (error if scale is None else error * scale), writes

    gradients, writes = jax.grad(loss, has_aux=True)(weights)
    if scale is not None:
        gradients, scale = _unscale(gradients, scale)
    weights, optimizer = _adam(weights, optimizer, gradients)
    return weights, optimizer._replace(loss_scale=scale), writes


def _unscale(gradients: Arrays, scale: Array) -> tuple[Arrays, Array]:
    """The gradients of the loss itself, and the scale of the next step (arXiv:1710.03740).

    Gradients that are not finite are taken for zeros and halve the scale. It
    never grows again, for no test is that long.
    """
    # Without the barrier, which only GPUs have, XLA may put the whole conjunction into the
    # update of each weight: on a CPU that is eight times as many operations to compile.
    finite = jax.lax.optimization_barrier(
        jnp.all(jnp.array([jnp.isfinite(gradient).all() for gradient in gradients]))
    )
    unscaled = [jnp.where(finite, gradient / scale, 0.0) for gradient in gradients]
    return unscaled, jnp.where(finite, scale, scale / 2)


def _adam(weights: Arrays, optimizer: Optimizer, gradients: Arrays) -> tuple[Arrays, Optimizer]:
    """Adam as in TensorFlow's v1 optimiser: epsilon stands outside the bias correction."""
    steps = optimizer.steps + 1
    rate = LEARNING_RATE * jnp.sqrt(1 - BETA_2**steps) / (1 - BETA_1**steps)
    means = [
        BETA_1 * mean + (1 - BETA_1) * gradient
        for mean, gradient in zip(optimizer.means, gradients, strict=True)
    ]
    variances = [
        BETA_2 * variance + (1 - BETA_2) * jnp.square(gradient)
        for variance, gradient in zip(optimizer.variances, gradients, strict=True)
    ]
    weights = [
        weight - rate * mean / (jnp.sqrt(variance) + EPSILON)
        for weight, mean, variance in zip(weights, means, variances, strict=True)
    ]
    return weights, optimizer._replace(steps=steps, means=means, variances=variances)
