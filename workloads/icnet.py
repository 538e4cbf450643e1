"""ICNet: segmentation from an image in three resolutions (arXiv:1704.08545)."""

import keras
from keras import layers, ops

from workloads.blocks import AddN, Conv2D, Resize, Tensor, subtract_mean


def build() -> keras.Model:
    """Image (1024, 1536, 3) to a map of the same size, -1..1; only the last layer is trained."""
    inputs = keras.Input((1024, 1536, 3))
    image = subtract_mean(inputs)
    half, quarter = _low_resolutions(image)
    x = _fuse(quarter, half)  # 1/16
    x = _fuse(x, _full_resolution(image))  # 1/8
    x = _resize(x, (256, 384))
    x = _resize(_point_conv(x, 19), (1024, 1536))
    backbone = keras.Model(inputs, x)
    backbone.trainable = False
    return keras.Model(inputs, ops.tanh(Conv2D(3, 1)(x)))


def _low_resolutions(image: Tensor) -> tuple[Tensor, Tensor]:
    """The maps of the image at half, (64, 96, 256), and quarter resolution, (32, 48, 256)."""
    x = _resize(image, (512, 768))
    x = _conv_relu(x, 32, 3, 2)  # 256 x 384
    x = _conv_relu(_conv_relu(x, 32, 3), 64, 3)
    x = layers.MaxPooling2D(3, 2)(x)  # 127 x 191
    x = _bottleneck(x, 32, project=True)
    x = _bottleneck(_bottleneck(x, 32), 32)
    half = _bottleneck(x, 64, strides=2, project=True)  # 64 x 96
    x = _resize(half, (32, 48))
    for _ in range(3):
        x = _bottleneck(x, 64)
    x = _bottleneck(x, 128, rate=2, project=True)
    for _ in range(5):
        x = _bottleneck(x, 128, rate=2)
    x = _bottleneck(x, 256, rate=4, project=True)
    for _ in range(2):
        x = _bottleneck(x, 256, rate=4)
    return half, ops.relu(_point_conv(_pyramid(x), 256))


def _full_resolution(image: Tensor) -> Tensor:
    """The map of the full image, (128, 192, 64)."""
    x = _conv_relu(image, 32, 3, 2)
    x = _conv_relu(x, 32, 3, 2)
    return _conv_relu(x, 64, 3, 2)


def _fuse(coarse: Tensor, fine: Tensor) -> Tensor:
    """Brings a coarse map to the size of the finer one and adds both, with 128 channels."""
    x = _resize(coarse, fine.shape[1:3])
    x = Conv2D(128, 3, padding="valid", dilation_rate=2)(layers.ZeroPadding2D(2)(x))
    return ops.relu(AddN()([x, _point_conv(fine, 128)]))


def _pyramid(x: Tensor) -> Tensor:
    """The map plus its means over four grids, 4 x 4 to 1 x 1."""
    size = x.shape[1:3]
    means = [
        _resize(layers.AveragePooling2D(window)(x), size)
        for window in ((8, 12), (10, 16), (16, 24), (32, 48))
    ]
    return AddN()([x, *means])


def _bottleneck(
    x: Tensor, filters: int, strides: int = 1, rate: int = 1, project: bool = False
) -> Tensor:
    y = ops.relu(_point_conv(x, filters, strides))
    y = layers.ZeroPadding2D(rate)(y)
    y = ops.relu(Conv2D(filters, 3, padding="valid", dilation_rate=rate)(y))
    y = _point_conv(y, 4 * filters)
    if project:
        x = _point_conv(x, 4 * filters, strides)
    return ops.relu(AddN()([x, y]))


def _conv_relu(x: Tensor, filters: int, kernel: int, strides: int = 1) -> Tensor:
    return ops.relu(Conv2D(filters, kernel, strides)(x))


def _point_conv(x: Tensor, filters: int, strides: int = 1) -> Tensor:
    return Conv2D(filters, 1, strides, padding="valid")(x)


def _resize(x: Tensor, size: tuple[int, int]) -> Tensor:
    return Resize(size, align_corners=True)(x)
