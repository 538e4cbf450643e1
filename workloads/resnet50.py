"""ResNet-50 v1.5: bottlenecks with the stride in the 3 x 3 convolution (arXiv:1512.03385)."""

import keras

from workloads.resnet_v1 import resnet_v1


def build() -> keras.Model:
    """Image (224, 224, 3) to 1000 logits."""
    return resnet_v1((3, 4, 6, 3))
