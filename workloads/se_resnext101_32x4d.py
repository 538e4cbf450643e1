"""SE-ResNeXt-101, 32 x 4d: ResNeXt-101 with squeeze and excitation (arXiv:1709.01507)."""

import keras

from workloads.resnet_v1 import resnet_v1


def build() -> keras.Model:
    """Image (224, 224, 3) to 1000 logits."""
    return resnet_v1((3, 4, 23, 3), groups=32, group_width=4, excite=True)
