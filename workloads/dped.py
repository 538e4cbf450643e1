"""ResNet-DPED: a residual network that retouches photos of phones (arXiv:1704.02470)."""

import keras
from keras import ops

from workloads.blocks import InstanceNorm, Tensor, broadcast_conv, image_range


def build() -> keras.Model:
    """Image of any size to an image of the same size, both 0..255."""
    inputs = keras.Input((None, None, 3))
    x = ops.relu(broadcast_conv(inputs / 255.0, 64, 9))
    for _ in range(4):
        x = _conv_norm(_conv_norm(x)) + x
    for _ in range(2):
        x = ops.relu(broadcast_conv(x, 64, 3))
    return keras.Model(inputs, image_range(broadcast_conv(x, 3, 9)))


def _conv_norm(x: Tensor) -> Tensor:
    return ops.relu(InstanceNorm()(broadcast_conv(x, 64, 3)))
