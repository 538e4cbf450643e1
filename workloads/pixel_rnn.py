"""Pixel-RNN: seven diagonal bidirectional LSTM layers (arXiv:1601.06759)."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from workloads.blocks import Tensor, add_bias, glorot, part, read, scan, skew, unskew

SIDE = 64
DIAGONALS = 2 * SIDE - 1  # columns of a skewed map
HIDDEN = 16


def build() -> keras.Model:
    """Image (64, 64, 3) to an image of the same size, both 0..255."""
    inputs = keras.Input((SIDE, SIDE, 3))
    x = MaskedConv2D(HIDDEN, 7, see_centre=False)(inputs / 255.0)
    for _ in range(7):
        x = DiagonalBiLSTM()(x)
    for _ in range(2):
        x = ops.relu(MaskedConv2D(32, 1)(x))
    return keras.Model(inputs, ops.sigmoid(MaskedConv2D(3, 1)(x)) * 255.0)


class MaskedConv2D(layers.Layer):
    """A SAME convolution, with bias, that sees the pixels above and to the left alone.

    ``see_centre``: the pixel itself too. The kernel is masked in every pass.
    """

    def __init__(self, filters: int, size: int, see_centre: bool = True) -> None:
        super().__init__()
        self.filters = filters
        self.size = size
        self.see_centre = see_centre

    def build(self, input_shape: Sequence[Any]) -> None:
        """One kernel (size, size, channels, filters) and one bias."""
        shape = (self.size, self.size, input_shape[-1], self.filters)
        self.kernel = self.add_weight(name="kernel", shape=shape, initializer=glorot)
        self.bias = self.add_weight(name="bias", shape=(self.filters,), initializer="zeros")
        centre = self.size // 2
        self.mask = np.ones(shape, np.float32)
        self.mask[centre, centre + self.see_centre :] = 0
        self.mask[centre + 1 :] = 0

    def call(self, x: Tensor) -> Tensor:
        """NHWC in, NHWC out."""
        kernel = self.kernel * ops.cast(self.mask, x.dtype)
        return add_bias(ops.conv(x, kernel, padding="same"), self.bias)

    def compute_output_shape(self, input_shape: Sequence[Any]) -> Sequence[Any]:
        """As many channels as there are filters."""
        return (*input_shape[:-1], self.filters)


class DiagonalBiLSTM(layers.Layer):
    """A diagonal LSTM from the left plus one from the right.

    The map from the right gets a last row of zeros; it should also move down
    by one row, so that no pixel sees its own future, but does not in the original.
    """

    def __init__(self) -> None:
        super().__init__()
        self.left = DiagonalLSTM()
        self.right = DiagonalLSTM()

    def build(self, input_shape: Sequence[Any]) -> None:
        """Both LSTMs."""
        self.left.build(input_shape)
        self.right.build(input_shape)

    def call(self, x: Tensor) -> Tensor:
        """(batch, 64, 64, channels) to (batch, 64, 64, 16)."""
        left = self.left(x)
        right = ops.flip(self.right(ops.flip(x, 2)), 2)
        zeros = ops.zeros_like(part(right, 1, SIDE - 1, 1))
        return left + ops.concatenate([part(right, 1, 0, SIDE - 1), zeros], axis=1)

    def compute_output_shape(self, input_shape: Sequence[Any]) -> Sequence[Any]:
        """16 channels."""
        return (*input_shape[:-1], HIDDEN)


class DiagonalLSTM(layers.Layer):
    """An LSTM whose steps are the diagonals of the map, one after the other.

    All rows of a diagonal are one step: the input's gates are a 1 x 1
    convolution of the skewed map, the state's a 2 x 1 convolution down the column.
    """

    def __init__(self) -> None:
        super().__init__()
        self.input_gates = MaskedConv2D(4 * HIDDEN, 1)

    def build(self, input_shape: Sequence[Any]) -> None:
        """One kernel (2, 1, 16, 64) and one bias (64) for the state."""
        gates = 4 * HIDDEN
        self.kernel = self.add_weight(
            name="kernel", shape=(2, 1, HIDDEN, gates), initializer=glorot
        )
        self.input_gates.build(input_shape)
        self.bias = self.add_weight(name="bias", shape=(gates,), initializer="zeros")

    def call(self, x: Tensor) -> Tensor:
        """(batch, 64, 64, channels) to (batch, 64, 64, 16)."""
        gates = ops.transpose(self.input_gates(skew(x)), (0, 2, 1, 3))
        gates = ops.reshape(gates, (-1, DIAGONALS, SIDE * 4 * HIDDEN))
        # Read outside the loop, so that the loop itself stays free of state.
        kernel, bias = read(self.kernel), read(self.bias)
        hidden, _ = scan(
            lambda gates, state: _step(gates, state[0], kernel, bias),
            ops.transpose(gates, (1, 0, 2)),
            (ops.zeros((ops.shape(x)[0], 2 * SIDE * HIDDEN), x.dtype),),
        )
        hidden = ops.reshape(ops.transpose(hidden, (1, 0, 2)), (-1, DIAGONALS, SIDE, HIDDEN))
        return unskew(ops.transpose(hidden, (0, 2, 1, 3)))

    def compute_output_shape(self, input_shape: Sequence[Any]) -> Sequence[Any]:
        """16 channels."""
        return (*input_shape[:-1], HIDDEN)


def _step(
    input_gates: Tensor, state: Tensor, kernel: Tensor, bias: Tensor
) -> tuple[Tensor, tuple[Tensor]]:
    """One diagonal: gates (batch, 64 x 64) and state (batch, 2 x 64 x 16), cell and hidden.

    The gates are cut from the flat vector, so each gate is 16 rows of all 64
    channels rather than 16 channels of all rows, and each is a sigmoid.
    """
    units = SIDE * HIDDEN
    cell, hidden = part(state, 1, 0, units), part(state, 1, units, units)
    column = ops.reshape(hidden, (-1, SIDE, 1, HIDDEN))
    gates = add_bias(ops.conv(column, kernel, padding="same"), bias)
    gates = ops.reshape(gates, (-1, 4 * units))
    i, g, f, o = ops.split(ops.sigmoid(gates + input_gates), 4, axis=1)
    cell = f * cell + i * g
    hidden = o * ops.tanh(cell)
    return hidden, (ops.concatenate([cell, hidden], axis=1),)
