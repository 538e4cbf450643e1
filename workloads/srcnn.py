"""SRCNN 9-5-5: three convolutions that sharpen an image (arXiv:1501.00092)."""

import keras
from keras import ops

from workloads.blocks import broadcast_conv, image_range


def build() -> keras.Model:
    """Image of any size to an image of the same size, both 0..255."""
    inputs = keras.Input((None, None, 3))
    x = ops.relu(broadcast_conv(inputs / 255.0, 64, 9))
    x = ops.relu(broadcast_conv(x, 32, 5))
    x = broadcast_conv(x, 3, 5, biases=1)  # a single bias for all three channels
    return keras.Model(inputs, image_range(x))
