"""How JAX trains a classifier, and runs it: a pure function, compiled by XLA, one call a step.

A training step overwrites the weights, momenta and averages that it was given.
"""

import importlib
from functools import partial
from typing import Any

import jax
import keras
import numpy as np
from jax import numpy as jnp

from aiscore.backends.base import (
    CROSS_ENTROPY_SCALE,
    MOMENTUM,
    SGD_RATE,
    WEIGHT_DECAY,
    Batch,
)
from aiscore.spec import Mode, Network, Precision, TestSpec

Array = Any
Arrays = list[Array]
State = tuple[Arrays, Arrays, Arrays]  # weights, momenta, and the averages of batch norm


class ClassifierSession:
    """One classifier on one device."""

    def __init__(self, network: Network, device: Any, precision: Precision, seed: int) -> None:
        keras.utils.set_random_seed(seed)
        self._device = device
        self._seed = seed
        scale = CROSS_ENTROPY_SCALE if precision is Precision.FP16 else 1.0
        with jax.default_device(device):
            model = importlib.import_module(f"workloads.{network.name}").build()
        self._weights = self._values(model.trainable_variables)
        self._averages = self._values(model.non_trainable_variables)
        self._momenta: Arrays = []
        self._infer = jax.jit(partial(_infer, model))
        self._train = jax.jit(partial(_train, model, scale), donate_argnums=0)
        self._logits: Array = None

    def _values(self, variables: list[Any]) -> Arrays:
        values: Arrays = jax.device_put([variable.value for variable in variables], self._device)
        return values

    def prepare(self, test: TestSpec, batch: Batch) -> None:
        """Makes the momenta."""
        self._trains = test.mode is Mode.TRAINING
        if self._trains:
            self._momenta = [jnp.zeros_like(weight) for weight in self._weights]

    def place(self, batch: Batch) -> None:
        """Draws images and labels on the device, and runs the first pass."""
        count, classes = batch.target.shape if batch.target is not None else (0, 0)
        with jax.default_device(self._device):
            images, labels = jax.random.split(jax.random.key(self._seed))
            self._images = jax.random.uniform(images, batch.input.shape, minval=-1)
            self._labels = jax.random.randint(labels, (count,), 0, classes)
        self.resident_pass()
        self.sync()

    def resident_pass(self) -> None:
        """Enqueues one call."""
        if not self._trains:
            self._logits = self._infer(self._weights, self._averages, self._images)
            return
        state = (self._weights, self._momenta, self._averages)
        state, self._logits = self._train(state, self._images, self._labels)
        self._weights, self._momenta, self._averages = state

    def sync(self) -> None:
        """Waits for the last logits and the last weights."""
        jax.block_until_ready((self._logits, self._weights))

    def output(self, batch: Batch) -> np.ndarray:
        """The logits of the last pass."""
        return np.asarray(self._logits)

    def peak_device_bytes(self) -> int | None:
        """The peak of XLA's allocator on the GPU since the process began."""
        statistics = self._device.memory_stats()
        return None if statistics is None else int(statistics["peak_bytes_in_use"])

    def close(self) -> None:
        """Gives up everything on the device."""
        self._weights, self._momenta, self._averages = [], [], []
        self._logits = self._images = self._labels = None


def _call(
    model: Any, weights: Arrays, averages: Arrays, images: Array, training: bool
) -> tuple[Array, Arrays]:
    """The logits in float32, and the averages after that."""
    variables = [*model.trainable_variables, *model.non_trainable_variables]
    with keras.StatelessScope(zip(variables, [*weights, *averages], strict=True)) as scope:
        logits = model(images, training=training)
    moved = [scope.get_current_value(variable) for variable in model.non_trainable_variables]
    return logits.astype(jnp.float32), moved


def _infer(model: Any, weights: Arrays, averages: Arrays, images: Array) -> Array:
    logits, _ = _call(model, weights, averages, images, training=False)
    return logits


def _train(
    model: Any, loss_scale: float, state: State, images: Array, labels: Array
) -> tuple[State, Array]:
    """One step of SGD on the softmax cross-entropy; gives the new state and the logits."""
    weights, momenta, averages = state

    def loss(weights: Arrays) -> tuple[Array, tuple[Array, Arrays]]:
        logits, moved = _call(model, weights, averages, images, training=True)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
        return -loss_scale * jnp.mean(chosen), (logits, moved)

    gradients, (logits, averages) = jax.grad(loss, has_aux=True)(weights)
    momenta = [
        MOMENTUM * momentum + gradient / loss_scale + WEIGHT_DECAY * weight
        for momentum, gradient, weight in zip(momenta, gradients, weights, strict=True)
    ]
    weights = [
        weight - SGD_RATE * momentum for weight, momentum in zip(weights, momenta, strict=True)
    ]
    return (weights, momenta, averages), logits
