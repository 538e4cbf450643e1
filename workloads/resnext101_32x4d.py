"""ResNeXt-101, 32 x 4d: 3 x 3 convolutions in 32 groups (arXiv:1611.05431)."""

import keras

from workloads.resnet_v1 import resnet_v1


def build() -> keras.Model:
    """Image (224, 224, 3) to 1000 logits."""
    return resnet_v1((3, 4, 23, 3), groups=32, group_width=4)
