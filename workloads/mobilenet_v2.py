"""MobileNet-V2 1.0: inverted residuals with depthwise convolutions (arXiv:1801.04381)."""

import keras
from keras import layers

from workloads.blocks import (
    Conv2D,
    Tensor,
    conv_bn,
    glorot,
    norm_activation,
    scale_to_one,
    squeeze_map,
)


def build() -> keras.Model:
    """Image (224, 224, 3) to 1001 logits, without softmax."""
    inputs = keras.Input((224, 224, 3))
    x = conv_bn(scale_to_one(inputs), 32, 3, strides=2, activation="relu6")  # 112 x 112 x 32
    x = _inverted_residual(x, 16, expansion=1)
    for filters, strides, repeats in (
        (24, 2, 2),  # 56 x 56
        (32, 2, 3),  # 28 x 28
        (64, 2, 4),  # 14 x 14
        (96, 1, 3),
        (160, 2, 3),  # 7 x 7
        (320, 1, 1),
    ):
        x = _inverted_residual(x, filters, strides)
        for _ in range(repeats - 1):
            x = _inverted_residual(x, filters)
    x = conv_bn(x, 1280, 1, activation="relu6")
    x = layers.AveragePooling2D(7, padding="valid")(x)  # 1 x 1 x 1280
    return keras.Model(inputs, squeeze_map(Conv2D(1001, 1)(x)))


def _inverted_residual(x: Tensor, filters: int, strides: int = 1, expansion: int = 6) -> Tensor:
    channels = x.shape[-1]
    y = x
    if expansion > 1:
        y = conv_bn(y, expansion * channels, 1, activation="relu6")
    y = layers.DepthwiseConv2D(
        3, strides, padding="same", use_bias=False, depthwise_initializer=glorot
    )(y)
    y = norm_activation(y, "relu6")
    y = conv_bn(y, filters, 1, activation=None)
    return x + y if strides == 1 and channels == filters else y
