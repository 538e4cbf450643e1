"""The body that ResNet, ResNeXt and SE-ResNeXt share, in version 1.5.

Post-activation bottlenecks (arXiv:1512.03385) with the stride in the 3 x 3
convolution; cardinality (arXiv:1611.05431) and squeeze and excitation
(arXiv:1709.01507) are what the variants add. Pixels come normalised.
"""

from functools import partial

import keras
from keras import layers, ops

from workloads.blocks import Conv2D, Tensor, TrainedBatchNorm, glorot

CLASSES = 1000
SQUEEZE = 16  # how many times fewer channels the middle of squeeze and excitation has
Dense = partial(layers.Dense, kernel_initializer=glorot)


def resnet_v1(
    units: tuple[int, int, int, int],
    *,
    groups: int = 1,
    group_width: int = 64,
    excite: bool = False,
) -> keras.Model:
    """Image (224, 224, 3) to 1000 logits, with so many bottlenecks in the four stages.

    ``groups`` and ``group_width``: of the 3 x 3 convolutions in the first stage;
    the width doubles from stage to stage. ``excite``: with squeeze and excitation.
    """
    inputs = keras.Input((224, 224, 3))
    x = _conv_norm(inputs, 64, 7, strides=2)  # 112 x 112
    x = layers.MaxPooling2D(3, 2, padding="same")(ops.relu(x))  # 56 x 56
    for stage, count in enumerate(units):  # to 56, 28, 14, 7
        width, filters = groups * group_width * 2**stage, 256 * 2**stage
        unit = partial(_bottleneck, width=width, filters=filters, groups=groups, excite=excite)
        x = unit(x, strides=1 if stage == 0 else 2, project=True)
        for _ in range(count - 1):
            x = unit(x)
    x = layers.GlobalAveragePooling2D()(x)  # 2048
    return keras.Model(inputs, Dense(CLASSES)(x))


def _bottleneck(
    x: Tensor,
    *,
    width: int,
    filters: int,
    groups: int,
    excite: bool,
    strides: int = 1,
    project: bool = False,
) -> Tensor:
    shortcut = _conv_norm(x, filters, 1, strides) if project else x
    x = ops.relu(_conv_norm(x, width, 1))
    x = ops.relu(_conv_norm(x, width, 3, strides, groups))
    x = _conv_norm(x, filters, 1)
    if excite:
        x = _squeeze_excite(x)
    return ops.relu(x + shortcut)


def _conv_norm(x: Tensor, filters: int, kernel: int, strides: int = 1, groups: int = 1) -> Tensor:
    x = Conv2D(filters, kernel, strides, groups=groups, use_bias=False)(x)
    return TrainedBatchNorm()(x)


def _squeeze_excite(x: Tensor) -> Tensor:
    """Scales each channel by what the means of all channels say of it."""
    channels = x.shape[-1]
    scale = layers.GlobalAveragePooling2D()(x)
    scale = Dense(channels // SQUEEZE, activation="relu")(scale)
    scale = Dense(channels, activation="sigmoid")(scale)
    return x * layers.Reshape((1, 1, channels))(scale)
