"""Nvidia-SPADE: a generator that a segmentation map steers in every norm (arXiv:1903.07291)."""

from collections.abc import Sequence

import keras
from keras import layers, ops

from workloads.blocks import (
    Resize,
    StandardNormal,
    Tensor,
    add_bias,
    glorot,
    moments,
    normal,
    padded_conv,
    read,
)


def build() -> keras.Model:
    """Segmentation map (128, 128, 3), 0..255, to an image of the same size."""
    inputs = keras.Input((128, 128, 3))
    segmentation = inputs / 127.5 - 1.0
    x = StandardNormal((1, 256))(segmentation)  # one draw for the whole batch
    x = ops.reshape(layers.Dense(2 * 2 * 1024, kernel_initializer=glorot)(x), (1, 2, 2, 1024))
    for filters in (1024, 1024, 1024, 512, 256, 128):
        x = _residual_block(x, segmentation, filters)
        x = Resize((2 * x.shape[1], 2 * x.shape[2]))(x)  # 4 x 4 to 128 x 128
    x = _residual_block(x, segmentation, 64)
    x = padded_conv(_leaky_relu(x), 3, 3)
    return keras.Model(inputs, (ops.tanh(x) + 1.0) * 27.5)  # 27.5, as in the original


def _residual_block(x: Tensor, segmentation: Tensor, filters: int) -> Tensor:
    y = SpectralConv2D(filters, 3)(_leaky_relu(_spade(x, segmentation)))
    y = SpectralConv2D(filters, 3)(_leaky_relu(_spade(y, segmentation)))
    if x.shape[-1] != filters:
        x = SpectralConv2D(filters, 1, use_bias=False)(_spade(x, segmentation))
    return y + x


def _spade(x: Tensor, segmentation: Tensor) -> Tensor:
    _, height, width, channels = x.shape
    condition = Resize((height, width), nearest=True)(segmentation)
    condition = ops.relu(padded_conv(condition, 128, 5))
    gamma = padded_conv(condition, channels, 5)
    beta = padded_conv(condition, channels, 5)
    return Normalize()(x) * (1.0 + gamma) + beta


def _leaky_relu(x: Tensor) -> Tensor:
    return ops.maximum(0.2 * x, x)


class Normalize(layers.Layer):
    """Maps with mean 0 and variance 1, each over its height and width."""

    def call(self, x: Tensor) -> Tensor:
        """Same shape out."""
        mean, variance = moments(x)
        return (x - mean) / ops.sqrt(variance + 1e-5)

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> Sequence[int | None]:
        """The input's shape."""
        return input_shape


class SpectralConv2D(layers.Layer):
    """Convolution whose kernel is divided by its largest singular value (arXiv:1802.05957).

    Every pass makes one step of power iteration and writes its vector ``u``,
    in inference too.
    """

    def __init__(self, filters: int, kernel_size: int, use_bias: bool = True) -> None:
        super().__init__()
        self.filters = filters
        self.kernel_size = kernel_size
        self.use_bias = use_bias

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Kernel, the vector u (1, filters), which is not trained, and a bias."""
        shape = (self.kernel_size, self.kernel_size, input_shape[-1], self.filters)
        self.kernel = self.add_weight(name="kernel", shape=shape, initializer=glorot)
        self.u = self.add_weight(
            name="u", shape=(1, self.filters), initializer=normal, trainable=False
        )
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(self.filters,), initializer="zeros")

    def call(self, x: Tensor) -> Tensor:
        """(batch, h, w, channels) to (batch, h, w, filters)."""
        if self.kernel_size > 1:
            margin = self.kernel_size // 2
            x = ops.pad(x, ((0, 0), (margin, margin), (margin, margin), (0, 0)))
        x = ops.conv(x, self._normalized_kernel(), padding="valid")
        return add_bias(x, self.bias) if self.use_bias else x

    def _normalized_kernel(self) -> Tensor:
        matrix = ops.reshape(read(self.kernel), (-1, self.filters))
        v = _unit(ops.matmul(read(self.u), ops.transpose(matrix)))
        u = ops.stop_gradient(_unit(ops.matmul(v, matrix)))
        product = ops.matmul(ops.stop_gradient(v), matrix)
        largest = ops.matmul(product, ops.transpose(u))
        self.u.assign(u)
        return ops.reshape(matrix / largest, self.kernel.shape)

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> tuple[int | None, ...]:
        """(batch, h, w, filters)."""
        return (*input_shape[:-1], self.filters)


def _unit(vector: Tensor) -> Tensor:
    square = ops.sum(ops.square(vector), axis=(0, 1), keepdims=True)
    return vector * ops.rsqrt(ops.maximum(square, 1e-12))
