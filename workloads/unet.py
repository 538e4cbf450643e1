"""U-Net: an encoder and a decoder with skip connections between them (arXiv:1505.04597)."""

import keras
from keras import layers, ops

from workloads.blocks import Conv2D, InstanceNorm, Tensor, add_bias, glorot, image_range


def build() -> keras.Model:
    """Image with sides divisible by 16 to an image of the same size, both 0..255."""
    inputs = keras.Input((None, None, 3))
    x = inputs / 127.5 - 1.0
    skips = []
    for filters in (64, 128, 256, 512):
        x = _level(x, filters)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)  # to 1/16
    x = _level(x, 1024)
    for filters in (512, 256, 128, 64):
        x = UpConv(filters, 2, 2, kernel_initializer=glorot)(x)  # to 1/1
        x = _level(ops.concatenate([x, skips.pop()], axis=-1), filters)
    return keras.Model(inputs, image_range(Conv2D(3, 1)(x)))


def _level(x: Tensor, filters: int) -> Tensor:
    for _ in range(2):
        x = ops.relu(InstanceNorm()(Conv2D(filters, 3)(x)))
    return x


class UpConv(layers.Conv2DTranspose):
    """Transposed convolution that doubles height and width, with a bias that is one BiasAdd."""

    def call(self, inputs: Tensor) -> Tensor:
        """(batch, h, w, channels) to (batch, 2 h, 2 w, filters)."""
        # With stride = kernel, SAME pads nothing, and the output size is one product.
        return add_bias(ops.conv_transpose(inputs, self.kernel, self.strides, "same"), self.bias)
