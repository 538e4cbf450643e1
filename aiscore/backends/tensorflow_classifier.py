"""How TensorFlow trains a classifier, and runs it: a function of TensorFlow 2, one call a step.

What is inside the function is graph operations, or with XLA one program. A
call returns when its work is enqueued.
"""

import importlib
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from aiscore.backends.base import (
    CROSS_ENTROPY_SCALE,
    KERAS_POLICIES,
    MOMENTUM,
    SGD_RATE,
    WEIGHT_DECAY,
    Batch,
)
from aiscore.spec import Mode, Network, Options, Precision, TestSpec

GPU = "GPU:0"  # the parent lets a worker see one


class ClassifierSession:
    """One classifier on one device."""

    def __init__(self, network: Network, options: Options, seed: int) -> None:
        keras.utils.set_random_seed(seed)
        keras.config.set_dtype_policy(KERAS_POLICIES.get(options.precision, "float32"))
        self._model = importlib.import_module(f"workloads.{network.name}").build()
        self._xla = options.xla
        self._loss_scale = CROSS_ENTROPY_SCALE if options.precision is Precision.FP16 else 1.0

    def prepare(self, test: TestSpec, batch: Batch) -> None:
        """Makes the momenta, and the function that a pass calls."""
        if tf.config.list_logical_devices("GPU"):
            tf.config.experimental.reset_memory_stats(GPU)
        if test.mode is Mode.TRAINING:
            self._weights = [variable.value for variable in self._model.trainable_variables]
            self._momenta = [
                tf.Variable(tf.zeros_like(weight), trainable=False) for weight in self._weights
            ]
        self._run = tf.function(
            self._train if test.mode is Mode.TRAINING else self._infer,
            jit_compile=self._xla,
            autograph=False,
        )

    def place(self, batch: Batch) -> None:
        """Draws images and labels on the device, and runs the first pass."""
        count, classes = batch.target.shape if batch.target is not None else (0, 0)
        self._images = tf.random.uniform(batch.input.shape, -1, 1)
        # TensorFlow keeps int32 on the host, and would copy it in every step.
        self._labels = tf.random.uniform((count,), maxval=classes, dtype=tf.int64)
        self.resident_pass()
        self.sync()

    def resident_pass(self) -> None:
        """Calls the function once."""
        try:
            self._logits = self._run(self._images, self._labels)
        except tf.errors.UnimplementedError as error:
            raise NotImplementedError(error.message) from error

    def sync(self) -> None:
        """Waits for the device."""
        tf.test.experimental.sync_devices()

    def output(self, batch: Batch) -> np.ndarray:
        """The logits of the last pass."""
        return np.asarray(self._logits)

    def peak_device_bytes(self) -> int | None:
        """The peak of TensorFlow's allocator on the GPU since the test was prepared."""
        if not tf.config.list_logical_devices("GPU"):
            return None
        return int(tf.config.experimental.get_memory_info(GPU)["peak"])

    def close(self) -> None:
        """Gives up the data; the process, which is the test's own, ends soon."""
        del self._run

    def _infer(self, images: Any, labels: Any) -> Any:
        return tf.cast(self._model(images, training=False), tf.float32)

    def _train(self, images: Any, labels: Any) -> Any:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(self._weights)
            logits = tf.cast(self._model(images, training=True), tf.float32)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = self._loss_scale * tf.reduce_mean(losses)
        gradients = tape.gradient(loss, self._weights)
        for weight, momentum, gradient in zip(self._weights, self._momenta, gradients, strict=True):
            # Momenta are as many times larger as the loss is, and the rate as many times smaller.
            tf.raw_ops.ResourceApplyMomentum(
                var=weight.handle,
                accum=momentum.handle,
                lr=SGD_RATE / self._loss_scale,
                grad=gradient + self._loss_scale * WEIGHT_DECAY * weight,
                momentum=MOMENTUM,
            )
        return logits
