"""ResNet-SRGAN: the generator of SRGAN on a map of a quarter of the size (arXiv:1609.04802)."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import layers, ops

from workloads.blocks import Conv2D, DepthToSpace, Tensor, broadcast_conv, read


def build() -> keras.Model:
    """Image with sides divisible by 4 to an image of the same size, both 0..255."""
    inputs = keras.Input((None, None, 3))
    x = ops.relu(broadcast_conv(inputs / 127.5 - 1.0, 64, 7, strides=4))  # 1/4
    x = skip = ops.relu(broadcast_conv(x, 64, 3))
    for _ in range(16):
        y = ops.relu(_conv_norm(x))
        x = x + _conv_norm(y)
    x = _conv_norm(x) + skip
    for _ in range(2):  # 1/2, 1/1
        x = ops.relu(DepthToSpace()(broadcast_conv(x, 256, 3)))
    x = broadcast_conv(x, 3, 1)
    return keras.Model(inputs, (ops.tanh(x) + 1.0) * 127.5)


def _conv_norm(x: Tensor) -> Tensor:
    return FixedBatchNorm()(Conv2D(64, 3, use_bias=False)(x))


class FixedBatchNorm(layers.Layer):
    """Batch norm with four vectors of which none is trained, in elementwise ops."""

    def build(self, input_shape: Sequence[int | None]) -> None:
        """One number per channel in each vector."""

        def vector(name: str, initializer: str) -> Any:
            return self.add_weight(
                name=name, shape=(input_shape[-1],), initializer=initializer, trainable=False
            )

        self.gamma = vector("gamma", "ones")
        self.beta = vector("beta", "zeros")
        self.mean = vector("mean", "zeros")
        self.variance = vector("variance", "ones")

    def call(self, x: Tensor) -> Tensor:
        """Same shape out."""
        scale = ops.rsqrt(read(self.variance) + 1e-5) * read(self.gamma)
        return x * scale + (read(self.beta) - read(self.mean) * scale)

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> Sequence[int | None]:
        """The input's shape."""
        return input_shape
