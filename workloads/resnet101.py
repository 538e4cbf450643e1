"""ResNet-101 v1.5: ResNet-50 with 17 more bottlenecks in its third stage (arXiv:1512.03385)."""

import keras

from workloads.resnet_v1 import resnet_v1


def build() -> keras.Model:
    """Image (224, 224, 3) to 1000 logits."""
    return resnet_v1((3, 4, 23, 3))
