"""The work by which TensorFlow shows what a device can do at most (``aiscore.roof``)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from aiscore.backends.base import Call
from aiscore.spec import Precision

TYPES = {Precision.FP16: tf.float16, Precision.BF16: tf.bfloat16}
v1 = tf.compat.v1


class TensorFlowProbes:
    """Graphs in v1 sessions, like the tests."""

    def __init__(self, precisions: Sequence[Precision]) -> None:
        self.precisions = precisions
        self._tf32 = tf.config.experimental.tensor_float_32_execution_enabled()

    def product(self, precision: Precision, size: int, count: int) -> Call:
        """A chain of products; the left matrix keeps the length of what it multiplies."""
        kind = TYPES.get(precision, tf.float32)
        with v1.Graph().as_default():
            left = _variable(tf.random.normal([size, size], stddev=size**-0.5, dtype=kind, seed=0))
            product = _variable(tf.random.normal([size, size], dtype=kind, seed=1))
            for _ in range(count):
                product = tf.matmul(left, product)
            call = _call(product.op)
        return self._with_tf32(call, precision)

    def _with_tf32(self, call: Call, precision: Precision) -> Call:
        """The switch is the process's, and is looked at whenever a product is made."""
        allowed = {Precision.FP32: False, Precision.TF32: True}.get(precision, self._tf32)

        def switched() -> None:
            tf.config.experimental.enable_tensor_float_32_execution(allowed)
            call()

        return switched

    def add(self, values: int, count: int) -> Call:
        """In place: no memory is taken meanwhile."""
        with v1.Graph().as_default():
            total = v1.Variable(tf.zeros([values]), use_resource=True)
            part = _variable(tf.ones([values]))
            step = tf.no_op()
            for _ in range(count):
                with tf.control_dependencies([step]):
                    step = total.assign_add(part, read_value=False)
            return _call(step)

    def feed(self, batch: np.ndarray) -> Call:
        """A run of the session that keeps what it is fed with, and fetches nothing."""
        with v1.Graph().as_default():
            kept = v1.Variable(tf.zeros(batch.shape), use_resource=True)
            placeholder = v1.placeholder(tf.float32, batch.shape)
            return _call(kept.assign(placeholder, read_value=False), {placeholder: batch})

    def fetch(self, values: int) -> Call:
        """A run of the session that fetches a variable."""
        with v1.Graph().as_default():
            return _call(_variable(tf.zeros([values])))


def _variable(initial: Any) -> Any:
    """The value of a variable in the current graph: on the device before a step begins."""
    return tf.convert_to_tensor(v1.Variable(initial, use_resource=True))


def _call(fetch: Any, feed: dict[Any, np.ndarray] | None = None) -> Call:
    """Runs that in a session of the current graph, its variables set before."""
    session = v1.Session()
    session.run(v1.global_variables_initializer())
    return lambda: session.run(fetch, feed)
