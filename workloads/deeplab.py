"""DeepLab-V2: a dilated ResNet-101 and four parallel dilated classifiers (arXiv:1606.00915)."""

import keras
from keras import layers, ops

from workloads.blocks import AddN, Conv2D, Tensor, conv_bn, subtract_mean


def build() -> keras.Model:
    """Image of any size to three classes, at an eighth of its size."""
    inputs = keras.Input((None, None, 3))
    x = conv_bn(subtract_mean(inputs), 64, 7, strides=2)  # 1/2
    x = layers.MaxPooling2D(3, 2, padding="same")(x)  # 1/4
    for depth, units, strides, dilation in (
        (64, 3, 1, 1),
        (128, 4, 2, 1),  # 1/8
        (256, 23, 1, 2),
        (512, 3, 1, 4),
    ):
        x = _bottleneck(x, depth, strides, dilation, project=True)
        for _ in range(units - 1):
            x = _bottleneck(x, depth, dilation=dilation)
    classes = [Conv2D(3, 3, dilation_rate=dilation)(x) for dilation in (6, 12, 18, 24)]
    return keras.Model(inputs, AddN()(classes))


def _bottleneck(
    x: Tensor, depth: int, strides: int = 1, dilation: int = 1, project: bool = False
) -> Tensor:
    shortcut = conv_bn(x, 4 * depth, 1, strides, activation=None) if project else x
    x = conv_bn(x, depth, 1, strides)
    x = conv_bn(x, depth, 3, dilation=dilation)
    x = conv_bn(x, 4 * depth, 1, activation=None)
    return ops.relu(AddN()([shortcut, x]))
