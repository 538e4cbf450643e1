"""The work by which JAX shows what a device can do at most (``aiscore.roof``)."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from aiscore.backends.base import Call
from aiscore.spec import Precision

PRODUCTS = {Precision.FP32: "float32", Precision.TF32: "tensorfloat32"}
"""JAX's names for how float32 matrices are multiplied; without one it is JAX's own choice."""
TYPES = {Precision.FP16: jnp.float16, Precision.BF16: jnp.bfloat16}


class JaxProbes:
    """Jitted functions, like the tests."""

    def __init__(self, device: Any, precisions: Sequence[Precision]) -> None:
        self.precisions = precisions
        self._device = device

    def product(self, precision: Precision, size: int, count: int) -> Call:
        """A chain of products; the left matrix keeps the length of what it multiplies.

        A loop compiles in seconds however long the chain is.
        """
        kind = TYPES.get(precision, jnp.float32)
        left, right = (self._random(size, seed).astype(kind) for seed in (0, 1))
        left = (left * size**-0.5).astype(kind)

        multiply = partial(jnp.matmul, precision=PRODUCTS.get(precision))

        def chain(left: Any, product: Any) -> Any:
            return jax.lax.fori_loop(0, count, lambda _, last: multiply(left, last), product)

        compiled = jax.jit(chain)
        return lambda: jax.block_until_ready(compiled(left, right))

    def _random(self, size: int, seed: int) -> Any:
        values = np.random.default_rng(seed).standard_normal((size, size), np.float32)
        return jax.device_put(values, self._device)

    def add(self, values: int, count: int) -> Call:
        """In place; a loop keeps XLA from making one addition of them all."""

        @partial(jax.jit, donate_argnums=0)
        def step(total: Any, part: Any) -> Any:
            return jax.lax.fori_loop(0, count, lambda _, sum_: sum_ + part, total)

        part = jax.device_put(np.ones(values, np.float32), self._device)
        total = jax.device_put(np.zeros(values, np.float32), self._device)

        def call() -> None:
            nonlocal total
            total = jax.block_until_ready(step(total, part))

        return call

    def feed(self, batch: np.ndarray) -> Call:
        """The conversion on the host, and the copy."""
        return lambda: jax.block_until_ready(jax.device_put(batch.astype(np.float32), self._device))

    def fetch(self, values: int) -> Call:
        """A new array each time: of one that was fetched before, JAX keeps the copy."""
        source = jax.device_put(np.zeros(values, np.float32), self._device)
        fresh = jax.jit(lambda x: x + 1)
        return lambda: np.asarray(fresh(source))
