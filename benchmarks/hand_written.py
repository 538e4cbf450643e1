"""The shortest loops that run a network's passes on the device, one for each backend."""

import importlib
from collections.abc import Callable
from typing import Any

from aiscore.backends.base import Batch
from aiscore.spec import Mode, TestSpec

LEARNING_RATE, BETA_1, BETA_2, EPSILON = 1e-4, 0.9, 0.999, 1e-8

Loop = Callable[[int], None]
"""Runs so many passes, and returns when the last is done."""


def tensorflow(session: Any, test: TestSpec, batch: Batch) -> Loop:
    """Runs the operation of the session's own graph, over the batch that was placed there.

    A v1 session returns from a run when that is done.
    """
    operation = session._output.op if test.mode is Mode.INFERENCE else session._step
    run = session._session.make_callable(operation)

    def loop(passes: int) -> None:
        for _ in range(passes):
            run()

    return loop


def jax(session: Any, test: TestSpec, batch: Batch) -> Loop:
    """Compiles the same model anew, with weights and an Adam of its own."""
    import jax
    from jax import numpy as jnp

    model = importlib.import_module(f"workloads.{test.network}").build()
    fixed = [variable.value for variable in model.non_trainable_variables]
    weights = [variable.value for variable in model.trainable_variables]
    x = jnp.asarray(batch.input, "float32")

    def call(weights: Any, fixed: Any, x: Any) -> Any:
        return model.stateless_call(weights, fixed, x)[0]

    forward = jax.jit(call)

    def infer(passes: int) -> None:
        for _ in range(passes):
            output = forward(weights, fixed, x)
        jax.block_until_ready(output)

    if test.mode is Mode.INFERENCE:
        return infer

    target = jnp.asarray(batch.target, "float32")
    zeros = [jnp.zeros_like(weight) for weight in weights]
    state = (weights, zeros, [zero.copy() for zero in zeros], jnp.float32(0))

    def loss(weights: Any, fixed: Any, x: Any, target: Any) -> Any:
        return jnp.sum(jnp.square(call(weights, fixed, x) - target))

    def step(state: Any, *batch: Any) -> Any:
        weights, means, variances, steps = state
        steps += 1
        rate = LEARNING_RATE * jnp.sqrt(1 - BETA_2**steps) / (1 - BETA_1**steps)
        gradients = jax.grad(loss)(weights, *batch)
        means = [BETA_1 * m + (1 - BETA_1) * g for m, g in zip(means, gradients, strict=True)]
        variances = [
            BETA_2 * v + (1 - BETA_2) * g * g for v, g in zip(variances, gradients, strict=True)
        ]
        weights = [
            w - rate * m / (jnp.sqrt(v) + EPSILON)
            for w, m, v in zip(weights, means, variances, strict=True)
        ]
        return weights, means, variances, steps

    compiled = jax.jit(step, donate_argnums=0)

    def train(passes: int) -> None:
        nonlocal state
        for _ in range(passes):
            state = compiled(state, fixed, x, target)
        jax.block_until_ready(state)

    return train


LOOPS: dict[str, Callable[[Any, TestSpec, Batch], Loop]] = {"tensorflow": tensorflow, "jax": jax}
