"""ResNet-V2-50: pre-activation residual units (arXiv:1603.05027)."""

import keras

from workloads.blocks import resnet_v2


def build() -> keras.Model:
    """Image (346, 346, 3) to 1001 class probabilities."""
    return resnet_v2((346, 346, 3), units=(3, 4, 6, 3))
