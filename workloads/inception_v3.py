"""Inception-V3: modules of parallel, factorised convolutions (arXiv:1512.00567)."""

import keras
from keras import layers, ops

from workloads.blocks import (
    Conv2D,
    Tensor,
    average_3x3,
    chain,
    concat,
    fork,
    inception_stem,
    scale_to_one,
    squeeze_map,
)


def build() -> keras.Model:
    """Image (346, 346, 3) to 1001 class probabilities."""
    inputs = keras.Input((346, 346, 3))
    x = inception_stem(scale_to_one(inputs))  # 40 x 40 x 192
    for pooled in (32, 64, 64):
        x = _module_a(x, pooled)
    x = concat(  # 19 x 19 x 768
        chain(x, (384, 3, 2, "valid")),
        chain(x, (64, 1), (96, 3), (96, 3, 2, "valid")),
        layers.MaxPooling2D(3, 2)(x),
    )
    for filters in (128, 160, 160, 192):
        x = _module_b(x, filters)
    x = concat(  # 9 x 9 x 1280
        chain(x, (192, 1), (320, 3, 2, "valid")),
        chain(x, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2, "valid")),
        layers.MaxPooling2D(3, 2)(x),
    )
    for _ in range(2):
        x = _module_c(x)
    # The window leaves out the last row and column of the 9 x 9 map, as in the original.
    x = layers.AveragePooling2D(8, 2)(x)  # 1 x 1 x 2048
    x = squeeze_map(Conv2D(1001, 1)(x))
    return keras.Model(inputs, ops.softmax(x))


def _module_a(x: Tensor, pooled: int) -> Tensor:
    return concat(
        chain(x, (64, 1)),
        chain(x, (48, 1), (64, 5)),
        chain(x, (64, 1), (96, 3), (96, 3)),
        chain(average_3x3(x), (pooled, 1)),
    )


def _module_b(x: Tensor, n: int) -> Tensor:
    return concat(
        chain(x, (192, 1)),
        chain(x, (n, 1), (n, (1, 7)), (192, (7, 1))),
        chain(x, (n, 1), (n, (7, 1)), (n, (1, 7)), (n, (7, 1)), (192, (1, 7))),
        chain(average_3x3(x), (192, 1)),
    )


def _module_c(x: Tensor) -> Tensor:
    return concat(
        chain(x, (320, 1)),
        fork(chain(x, (384, 1)), 384),
        fork(chain(x, (448, 1), (384, 3)), 384),
        chain(average_3x3(x), (192, 1)),
    )
