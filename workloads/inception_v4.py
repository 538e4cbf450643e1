"""Inception-V4: a deeper, more uniform Inception (arXiv:1602.07261)."""

import keras
from keras import layers, ops

from workloads.blocks import Tensor, average_3x3, chain, concat, fork, glorot, scale_to_one


def build() -> keras.Model:
    """Image (346, 346, 3) to 1001 class probabilities."""
    inputs = keras.Input((346, 346, 3))
    x = _stem(scale_to_one(inputs))  # 40 x 40 x 384
    for _ in range(4):
        x = _module_a(x)
    x = concat(  # 19 x 19 x 1024
        chain(x, (384, 3, 2, "valid")),
        chain(x, (192, 1), (224, 3), (256, 3, 2, "valid")),
        layers.MaxPooling2D(3, 2)(x),
    )
    for _ in range(7):
        x = _module_b(x)
    x = concat(  # 9 x 9 x 1536
        chain(x, (192, 1), (192, 3, 2, "valid")),
        chain(x, (256, 1), (256, (1, 7)), (320, (7, 1)), (320, 3, 2, "valid")),
        layers.MaxPooling2D(3, 2)(x),
    )
    for _ in range(3):
        x = _module_c(x)
    x = layers.Flatten()(layers.AveragePooling2D(9, 1)(x))  # 1536
    return keras.Model(inputs, ops.softmax(layers.Dense(1001, kernel_initializer=glorot)(x)))


def _stem(x: Tensor) -> Tensor:
    x = chain(x, (32, 3, 2, "valid"), (32, 3, 1, "valid"), (64, 3))  # 170 x 170 x 64
    x = concat(layers.MaxPooling2D(3, 2)(x), chain(x, (96, 3, 2, "valid")))  # 84 x 84 x 160
    x = concat(  # 82 x 82 x 192
        chain(x, (64, 1), (96, 3, 1, "valid")),
        chain(x, (64, 1), (64, (1, 7)), (64, (7, 1)), (96, 3, 1, "valid")),
    )
    return concat(chain(x, (192, 3, 2, "valid")), layers.MaxPooling2D(3, 2)(x))


def _module_a(x: Tensor) -> Tensor:
    return concat(
        chain(x, (96, 1)),
        chain(x, (64, 1), (96, 3)),
        chain(x, (64, 1), (96, 3), (96, 3)),
        chain(average_3x3(x), (96, 1)),
    )


def _module_b(x: Tensor) -> Tensor:
    return concat(
        chain(x, (384, 1)),
        chain(x, (192, 1), (224, (1, 7)), (256, (7, 1))),
        chain(x, (192, 1), (192, (7, 1)), (224, (1, 7)), (224, (7, 1)), (256, (1, 7))),
        chain(average_3x3(x), (128, 1)),
    )


def _module_c(x: Tensor) -> Tensor:
    return concat(
        chain(x, (256, 1)),
        fork(chain(x, (384, 1)), 256),
        fork(chain(x, (384, 1), (448, (3, 1)), (512, (1, 3))), 256),
        chain(average_3x3(x), (256, 1)),
    )
