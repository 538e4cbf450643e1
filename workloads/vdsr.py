"""VDSR, "VGG-19 Super-Res" in the suite: 20 convolutions that add detail (arXiv:1511.04587)."""

import keras

from workloads.blocks import Conv2D


def build() -> keras.Model:
    """Image of any size, 0..255, to an image of the same size."""
    inputs = keras.Input((None, None, 3))
    image = inputs / 255.0
    x = image
    for _ in range(19):
        x = Conv2D(64, 3, activation="relu")(x)
    return keras.Model(inputs, (Conv2D(3, 3)(x) + image) * 255.0)
