"""Variables of a graph of TensorFlow 1 form, and Adam over them: the operations and no more.

TensorFlow's own classes make the same operations, and wrap each in names, scopes
and initial values. For a large network that takes a quarter of the time to build it.
"""

from collections.abc import Collection, Mapping
from typing import Any

import tensorflow as tf

from aiscore.backends.base import BETA_1, BETA_2, EPSILON, LEARNING_RATE

v1 = tf.compat.v1
Tensor = Any
Operation = Any


class Reference:
    """A variable of the kind that the original has; gradients are taken by its ``target``.

    An update writes it in place, where that of a ``Resource`` copies it first if
    another operation may still read it.
    """

    def __init__(self, shape: Any, dtype: Any, name: str) -> None:
        self.shape, self.dtype = tf.TensorShape(shape), tf.as_dtype(dtype)
        self.target = tf.raw_ops.VariableV2(shape=self.shape, dtype=self.dtype, name=name)

    def read(self) -> Tensor:
        """Its value."""
        return tf.identity(self.target)

    def assign(self, value: Tensor) -> Operation:
        """Writes a value."""
        return tf.raw_ops.Assign(ref=self.target, value=value).op

    def adam(self, moments: "tuple[Reference, Reference]", **inputs: Tensor) -> Operation:
        """Takes a step, and moves the moments."""
        mean, variance = (moment.target for moment in moments)
        return tf.raw_ops.ApplyAdam(var=self.target, m=mean, v=variance, **inputs).op


class Resource:
    """The same of the kind that XLA takes."""

    def __init__(self, shape: Any, dtype: Any, name: str) -> None:
        self.shape, self.dtype = tf.TensorShape(shape), tf.as_dtype(dtype)
        own = v1.get_default_graph().unique_name(name, mark_as_used=False)
        self.target = tf.raw_ops.VarHandleOp(
            shape=self.shape, dtype=self.dtype, shared_name=own, name=name
        )

    def read(self) -> Tensor:
        """Its value."""
        return tf.raw_ops.ReadVariableOp(resource=self.target, dtype=self.dtype)

    def assign(self, value: Tensor) -> Operation:
        """Writes a value."""
        return tf.raw_ops.AssignVariableOp(resource=self.target, value=value)

    def adam(self, moments: "tuple[Resource, Resource]", **inputs: Tensor) -> Operation:
        """Takes a step, and moves the moments."""
        mean, variance = (moment.target for moment in moments)
        return tf.raw_ops.ResourceApplyAdam(var=self.target, m=mean, v=variance, **inputs)


class Adam:
    """The optimiser of TensorFlow 1: one fused operation a weight.

    ``initializers`` set its state, which is of the kind of the weights.
    """

    def __init__(self, weights: Collection[Any]) -> None:
        self.initializers: list[Operation] = []
        self._moments = {
            weight: (self._state(weight, "m"), self._state(weight, "v")) for weight in weights
        }
        kind = type(next(iter(weights)))
        self._powers = [kind([], tf.float32, f"beta{number}_power") for number in (1, 2)]
        for power, beta in zip(self._powers, (BETA_1, BETA_2), strict=True):
            self.initializers.append(power.assign(tf.constant(beta)))

    def _state(self, weight: Any, name: str) -> Any:
        state = type(weight)(weight.shape, weight.dtype, name)
        self.initializers.append(state.assign(tf.zeros(weight.shape, weight.dtype)))
        return state

    def step(self, gradients: Mapping[Any, Tensor]) -> Operation:
        """Moves the weights by their gradients."""
        powers = [power.read() for power in self._powers]
        betas = [tf.constant(BETA_1), tf.constant(BETA_2)]
        numbers = {
            "beta1_power": powers[0],
            "beta2_power": powers[1],
            "lr": tf.constant(LEARNING_RATE),
            "beta1": betas[0],
            "beta2": betas[1],
            "epsilon": tf.constant(EPSILON),
        }
        updates = [
            weight.adam(self._moments[weight], grad=gradient, **numbers)
            for weight, gradient in gradients.items()
        ]
        with tf.control_dependencies(updates):
            moved = [
                variable.assign(power * beta)
                for variable, power, beta in zip(self._powers, powers, betas, strict=True)
            ]
        return tf.group(*updates, *moved)
