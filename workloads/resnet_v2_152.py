"""ResNet-V2-152: pre-activation residual units (arXiv:1603.05027)."""

import keras

from workloads.blocks import resnet_v2


def build() -> keras.Model:
    """Image (256, 256, 3) to 1001 class probabilities."""
    return resnet_v2((256, 256, 3), units=(3, 8, 36, 3))
