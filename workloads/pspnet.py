"""PSPNet-50: a dilated ResNet and a pyramid of pooled features (arXiv:1612.01105)."""

from functools import partial

import keras
from keras import layers, ops

from workloads.blocks import (
    RESNET_EPSILON,
    AddN,
    Conv2D,
    ResizeLike,
    Tensor,
    conv_bn,
    subtract_mean,
)


def build() -> keras.Model:
    """Image of any size whose eighth is 60 or more to three classes, at an eighth of its size."""
    inputs = keras.Input((None, None, 3))
    x = _conv_bn(subtract_mean(inputs), 64, 3, strides=2, padding="same")  # 1/2
    x = _conv_bn(x, 64, 3, padding="same")
    x = _conv_bn(x, 128, 3, padding="same")
    x = layers.MaxPooling2D(3, 2, padding="same")(x)  # 1/4
    for depth, units, strides, dilation in (
        (64, 3, 1, 1),
        (128, 4, 2, 1),  # 1/8
        (256, 6, 1, 2),
        (512, 3, 1, 4),
    ):
        x = _bottleneck(x, depth, strides, dilation, project=True)
        for _ in range(units - 1):
            x = _bottleneck(x, depth, dilation=dilation)
    # The kernels stay the same, whatever the size of the map.
    levels = [_pyramid_level(x, kernel) for kernel in (10, 20, 30, 60)]
    x = ops.concatenate([x, *levels], axis=-1)  # 2048 + 4 x 512
    x = _conv_bn(x, 512, 3, padding="same")
    return keras.Model(inputs, Conv2D(3, 1, padding="valid")(x))


_conv_bn = partial(conv_bn, padding="valid", epsilon=RESNET_EPSILON)


def _bottleneck(
    x: Tensor, depth: int, strides: int = 1, dilation: int = 1, project: bool = False
) -> Tensor:
    shortcut = _conv_bn(x, 4 * depth, 1, strides, activation=None) if project else x
    x = _conv_bn(x, depth, 1, strides)
    x = layers.ZeroPadding2D(dilation)(x)
    x = _conv_bn(x, depth, 3, dilation=dilation)
    x = _conv_bn(x, 4 * depth, 1, activation=None)
    return ops.relu(AddN()([shortcut, x]))


def _pyramid_level(x: Tensor, kernel: int) -> Tensor:
    y = layers.AveragePooling2D(kernel, padding="valid")(x)
    return ResizeLike()(_conv_bn(y, 512, 1), x)
