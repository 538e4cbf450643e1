"""VGG-16: thirteen 3 x 3 convolutions and three fully connected layers (arXiv:1409.1556)."""

import keras
from keras import layers

from workloads.blocks import Conv2D, scale_to_one, squeeze_map


def build() -> keras.Model:
    """Image (224, 224, 3) to 1000 logits, without softmax."""
    inputs = keras.Input((224, 224, 3))
    x = scale_to_one(inputs)
    for filters, convolutions in (
        (64, 2),  # pooled to 112 x 112
        (128, 2),  # 56 x 56
        (256, 3),  # 28 x 28
        (512, 3),  # 14 x 14
        (512, 3),  # 7 x 7
    ):
        for _ in range(convolutions):
            x = Conv2D(filters, 3, activation="relu")(x)
        x = layers.MaxPooling2D(2)(x)
    # The fully connected layers are convolutions.
    x = Conv2D(4096, 7, padding="valid", activation="relu")(x)  # 1 x 1 x 4096
    x = Conv2D(4096, 1, activation="relu")(x)
    return keras.Model(inputs, squeeze_map(Conv2D(1000, 1)(x)))
