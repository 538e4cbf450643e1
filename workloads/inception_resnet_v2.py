"""Inception-ResNet-V2: Inception modules as residuals (arXiv:1602.07261)."""

import keras
from keras import layers, ops

from workloads.blocks import (
    Conv2D,
    Tensor,
    average_3x3,
    chain,
    concat,
    glorot,
    inception_stem,
    scale_to_one,
)


def build() -> keras.Model:
    """Image (346, 346, 3) to 1001 class probabilities."""
    inputs = keras.Input((346, 346, 3))
    x = inception_stem(scale_to_one(inputs))  # 40 x 40 x 192
    x = concat(  # 40 x 40 x 320
        chain(x, (96, 1)),
        chain(x, (48, 1), (64, 5)),
        chain(x, (64, 1), (96, 3), (96, 3)),
        chain(average_3x3(x), (64, 1)),
    )
    for _ in range(10):
        x = ops.relu(_block_35(x))
    x = concat(  # 19 x 19 x 1088
        chain(x, (384, 3, 2, "valid")),
        chain(x, (256, 1), (256, 3), (384, 3, 2, "valid")),
        layers.MaxPooling2D(3, 2)(x),
    )
    for _ in range(20):
        x = ops.relu(_block_17(x))
    x = concat(  # 9 x 9 x 2080
        chain(x, (256, 1), (384, 3, 2, "valid")),
        chain(x, (256, 1), (288, 3, 2, "valid")),
        chain(x, (256, 1), (288, 3), (320, 3, 2, "valid")),
        layers.MaxPooling2D(3, 2)(x),
    )
    for _ in range(9):
        x = ops.relu(_block_8(x))
    x = _block_8(x, scale=1.0)
    x = chain(x, (1536, 1))
    x = layers.Flatten()(layers.AveragePooling2D(9, 2)(x))  # 1536
    return keras.Model(inputs, ops.softmax(layers.Dense(1001, kernel_initializer=glorot)(x)))


def _block_35(x: Tensor) -> Tensor:
    branches = (
        chain(x, (32, 1)),
        chain(x, (32, 1), (32, 3)),
        chain(x, (32, 1), (48, 3), (64, 3)),
    )
    return _add_residual(x, branches, scale=0.17)


def _block_17(x: Tensor) -> Tensor:
    branches = chain(x, (192, 1)), chain(x, (128, 1), (160, (1, 7)), (192, (7, 1)))
    return _add_residual(x, branches, scale=0.10)


def _block_8(x: Tensor, scale: float = 0.20) -> Tensor:
    branches = chain(x, (192, 1)), chain(x, (192, 1), (224, (1, 3)), (256, (3, 1)))
    return _add_residual(x, branches, scale)


def _add_residual(x: Tensor, branches: tuple[Tensor, ...], scale: float) -> Tensor:
    return x + Conv2D(x.shape[-1], 1)(concat(*branches)) * scale
