"""Layers and small functions that several networks share.

Where Keras has no op like the original's, a layer here has one branch per
Keras backend; no other file of this package asks which backend runs.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import keras
import numpy as np
from keras import layers, ops

Tensor = Any
Size = int | tuple[int, int]
BACKEND = keras.backend.backend()

OP_FOR_OP = BACKEND == "tensorflow"
"""Whether the graph is to be the original's, op for op. An export needs the same numbers only."""

if BACKEND == "tensorflow":
    import tensorflow as tf
elif BACKEND == "torch":
    import torch


def glorot(shape: Sequence[int], dtype: str | None = None) -> Tensor:
    """Glorot's uniform start for a kernel (..., inputs, outputs); see ``uniform``."""
    *window, inputs, outputs = shape
    return uniform(shape, (6 / (math.prod(window) * (inputs + outputs))) ** 0.5)


def uniform(shape: Sequence[int], limit: float) -> Tensor:
    """Random float32 numbers up to ``limit`` on both sides of zero.

    NumPy draws them: many times faster than Keras's own initializers, and the
    same numbers with every Keras backend. ``keras.utils.set_random_seed`` seeds them.
    """
    values = _generator().random(shape, np.float32)
    values -= 0.5
    values *= 2 * limit
    return ops.convert_to_tensor(values)


def normal(shape: Sequence[int], dtype: str | None = None) -> Tensor:
    """Random float32 numbers, normally distributed with deviation 0.05; NumPy draws them too."""
    values = _generator().standard_normal(shape, np.float32)
    values *= 0.05
    return ops.convert_to_tensor(values)


def _generator() -> np.random.Generator:
    return np.random.default_rng(np.random.randint(1 << 31))


class Conv2D(layers.Conv2D):
    """Convolution, SAME by default, with a bias that is one BiasAdd.

    Frameworks fuse that BiasAdd with what follows. A 1 x 1 kernel needs SAME
    too: VALID hides from Grappler that input and output have the same size.
    A dilated convolution on TensorFlow is the original's: the space to the
    batch, a dense convolution, and back. A grouped one is TensorFlow's own op:
    Keras would compile each of them with XLA, unasked.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Size,
        strides: int = 1,
        padding: str = "same",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, kernel_initializer=glorot, **kwargs
        )

    def convolution_op(self, inputs: Tensor, kernel: Any) -> Tensor:
        """The convolution alone."""
        if BACKEND == "tensorflow" and self.dilation_rate != (1, 1):
            return tf.nn.with_space_to_batch(
                inputs,
                self.dilation_rate,
                self.padding.upper(),
                lambda x, _, padding: tf.nn.conv2d(x, kernel, 1, padding),
                filter_shape=kernel.shape,
            )
        if BACKEND == "tensorflow" and self.groups > 1:
            return tf.nn.conv2d(inputs, kernel, self.strides, self.padding.upper())
        return super().convolution_op(inputs, kernel)

    def call(self, inputs: Tensor) -> Tensor:
        """NHWC in, NHWC out."""
        outputs = self.convolution_op(inputs, self.kernel)
        if self.use_bias:
            outputs = add_bias(outputs, self.bias)
        return self.activation(outputs)


class BatchNorm(layers.Layer):
    """Batch norm in its inference form, in training too: statistics are never updated.

    beta and, with ``scale``, gamma are trained; mean and variance are not. All
    stay float32 in mixed precision. On TensorFlow this is the fused op, which
    Grappler can merge into the convolution before it (Keras's own batch norm is
    about six ops).
    """

    def __init__(self, epsilon: float = 1e-3, scale: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.scale = scale

    def build(self, input_shape: Sequence[Any]) -> None:
        """One number per channel in each vector."""

        def vector(name: str, initializer: str, trainable: bool = True) -> Any:
            return self.add_weight(
                name=name,
                shape=(input_shape[-1],),
                initializer=initializer,
                trainable=trainable,
                autocast=False,
            )

        self.gamma = vector("gamma", "ones") if self.scale else None
        self.beta = vector("beta", "zeros")
        self.mean = vector("mean", "zeros", trainable=False)
        self.variance = vector("variance", "ones", trainable=False)

    def call(self, x: Tensor) -> Tensor:
        """Same shape out."""
        gamma = ops.ones(self.beta.shape) if self.gamma is None else self.gamma
        if BACKEND == "tensorflow":
            y, _, _ = tf.compat.v1.nn.fused_batch_norm(
                x,
                *map(read, (gamma, self.beta, self.mean, self.variance)),
                epsilon=self.epsilon,
                is_training=False,
            )
            return y
        mean, variance, beta = map(read, (self.mean, self.variance, self.beta))
        y = ops.batch_normalization(x, mean, variance, -1, beta, read(gamma), self.epsilon)
        return ops.cast(y, x.dtype)

    def compute_output_shape(self, input_shape: Sequence[Any]) -> Sequence[Any]:
        """The input's shape."""
        return input_shape


class TrainedBatchNorm(layers.Layer):
    """Batch norm with the statistics of the batch while training, which move the averages.

    In inference it normalises by the averages. gamma and beta are trained; all
    of its weights stay float32 in mixed precision, and so do the statistics. The
    variance that moves the average is the unbiased one, as in cuDNN and PyTorch.
    On TensorFlow it is one fused op.
    """

    momentum = 0.9
    epsilon = 1e-5

    def build(self, input_shape: Sequence[Any]) -> None:
        """One number per channel in each vector."""
        vector = partial(self.add_weight, shape=(input_shape[-1],), autocast=False)
        self.gamma = vector(name="gamma", initializer="ones")
        self.beta = vector(name="beta", initializer="zeros")
        self.mean = vector(name="mean", initializer="zeros", trainable=False)
        self.variance = vector(name="variance", initializer="ones", trainable=False)

    def call(self, x: Tensor, training: bool = False) -> Tensor:
        """Same shape out."""
        weights = tuple(map(read, (self.gamma, self.beta, self.mean, self.variance)))
        if not training:
            y, _, _ = self._normalise(x, weights, training)
            return y
        y, mean, variance = self._normalise(x, weights, training)
        self.mean.assign(mean)
        self.variance.assign(variance)
        return y

    def _normalise(
        self, x: Tensor, weights: Sequence[Tensor], training: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The normalised map, and the averages after it."""
        moves = 1 - self.momentum
        gamma, beta, mean, variance = weights
        if BACKEND == "tensorflow":
            factor = {"exponential_avg_factor": moves} if training else {}
            fused = tf.compat.v1.nn.fused_batch_norm
            made: tuple[Tensor, Tensor, Tensor] = fused(
                x, *weights, epsilon=self.epsilon, is_training=training, **factor
            )
            return made
        number = ops.cast(x, "float32")
        if training:
            of_batch = ops.mean(number, (0, 1, 2))
            spread = ops.mean(ops.square(number), (0, 1, 2)) - ops.square(of_batch)
            elements = math.prod(x.shape[:-1])
            unbiased = spread * (elements / max(1, elements - 1))
            moved = (
                mean + moves * (of_batch - mean),
                variance + moves * (unbiased - variance),
            )
            mean, variance = of_batch, spread
        else:
            moved = (mean, variance)
        y = (number - mean) * (ops.rsqrt(variance + self.epsilon) * gamma) + beta
        return ops.cast(y, x.dtype), *moved

    def compute_output_shape(self, input_shape: Sequence[Any]) -> Sequence[Any]:
        """The input's shape."""
        return input_shape


class BroadcastBias(layers.Layer):
    """Adds one number per channel, or a single one for all, by broadcasting."""

    def __init__(self, biases: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.biases = biases

    def build(self, input_shape: Sequence[Any]) -> None:
        """One vector of ``biases`` numbers."""
        self.bias = self.add_weight(name="bias", shape=(self.biases,), initializer="zeros")

    def call(self, x: Tensor) -> Tensor:
        """Same shape out."""
        return x + self.bias

    def compute_output_shape(self, input_shape: Sequence[Any]) -> Sequence[Any]:
        """The input's shape."""
        return input_shape


class AddN(layers.Layer):
    """The sum of several maps of one shape, in one op where there is one."""

    def call(self, terms: Sequence[Tensor]) -> Tensor:
        """Same shape out."""
        if BACKEND == "tensorflow":
            return tf.add_n(terms)
        return sum(terms[1:], terms[0])

    def compute_output_shape(self, input_shapes: Sequence[Sequence[Any]]) -> Sequence[Any]:
        """The shape of the first."""
        return input_shapes[0]


class BasicLSTM(layers.Layer):
    """A basic LSTM layer: the output of the last step, (batch, units).

    The input's and the recurrent kernel are one matrix, multiplied in every
    step; Keras's LSTM takes the input's product out of the loop.
    """

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape: Sequence[Any]) -> None:
        """One kernel (inputs + units, 4 units) and one bias (4 units)."""
        gates = 4 * self.units
        shape = (input_shape[-1] + self.units, gates)
        self.kernel = self.add_weight(name="kernel", shape=shape, initializer=glorot)
        self.bias = self.add_weight(name="bias", shape=(gates,), initializer="zeros")

    def call(self, x: Tensor) -> Tensor:
        """Runs over the second axis of (batch, steps, inputs)."""
        # Read outside the loop, so that the loop itself stays free of state.
        kernel, bias = read(self.kernel), read(self.bias)
        zeros = ops.zeros((ops.shape(x)[0], self.units), x.dtype)
        outputs, _ = scan(
            lambda x, state: lstm_step(x, state, kernel, bias),
            ops.transpose(x, (1, 0, 2)),
            (zeros, zeros),
        )
        return ops.take(outputs, x.shape[1] - 1, axis=0)

    def compute_output_shape(self, input_shape: Sequence[Any]) -> Sequence[Any]:
        """(batch, units)."""
        return (input_shape[0], self.units)


def read(weight: Any) -> Tensor:
    """The value of a layer's weight, read here and now."""
    if BACKEND == "tensorflow":
        return tf.convert_to_tensor(weight)
    return ops.convert_to_tensor(weight)


def add_bias(x: Tensor, bias: Tensor) -> Tensor:
    """Adds one number per channel."""
    if BACKEND == "tensorflow":
        return tf.nn.bias_add(x, read(bias))
    return ops.add(x, bias)


Step = Callable[[Tensor, tuple[Tensor, ...]], tuple[Tensor, tuple[Tensor, ...]]]


def scan(
    step: Step, inputs: Tensor, state: tuple[Tensor, ...], lengths: Tensor | None = None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Runs ``step(input, state) -> (output, state)`` over the first axis of ``inputs``.

    Gives the outputs of all steps, stacked along the first axis, and the last
    state. Where a sequence is over, by ``lengths`` (batch), its outputs are
    zeros and its state stays.
    """
    if BACKEND == "tensorflow":
        with nullcontext() if lengths is None else _v1_loops():
            return _scan_tensorflow(step, inputs, state, lengths)
    if BACKEND == "torch":
        raise NotImplementedError(
            "PyTorch's compiler unrolls loops: a recurrent network becomes tens of thousands"
            " of operations, which take hours to compile"
        )
    return _scan(step, inputs, state, lengths)


def _scan(
    step: Step, inputs: Tensor, state: tuple[Tensor, ...], lengths: Tensor | None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    def body(state: tuple[Tensor, ...], scanned: Any) -> tuple[tuple[Tensor, ...], Tensor]:
        x, time = scanned
        output, next_state = step(x, state)
        if lengths is not None:
            over = ops.expand_dims(time >= lengths, 1)
            output = ops.where(over, ops.zeros_like(output), output)
            next_state = tuple(map(partial(ops.where, over), state, next_state))
        return next_state, output

    state, outputs = ops.scan(body, state, (inputs, ops.arange(inputs.shape[0])))
    return outputs, state


def _scan_tensorflow(
    step: Step, inputs: Tensor, state: tuple[Tensor, ...], lengths: Tensor | None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    steps = tf.shape(inputs)[0]
    end = steps if lengths is None else tf.minimum(steps, tf.maximum(1, tf.reduce_max(lengths)))
    source = tf.TensorArray(inputs.dtype, steps, element_shape=inputs.shape[1:]).unstack(inputs)
    sink = tf.TensorArray(inputs.dtype, steps)

    def body(time: Tensor, sink: Any, *state: Tensor) -> tuple[Any, ...]:
        output, next_state = step(source.read(time), state)
        if lengths is not None:
            over = partial(tf.compat.v1.where, time >= lengths)
            output = over(tf.zeros_like(output), output)
            next_state = tuple(map(over, state, next_state))
        return (time + 1, sink.write(time, output), *next_state)

    _, sink, *state = tf.while_loop(
        lambda time, *_: time < end,
        body,
        (tf.constant(0), sink, *state),
        parallel_iterations=32,
        maximum_iterations=steps,
    )
    outputs = sink.stack()
    outputs.set_shape((inputs.shape[0], *outputs.shape[1:]))
    return outputs, tuple(state)


@contextmanager
def _v1_loops() -> Iterator[None]:
    """Loops of TensorFlow's first kind, where they are allowed (in a graph, not in a function).

    They hold what does not change; loops of the second kind hand every weight
    on from step to step. The original's translation graph has the first kind,
    its other recurrent networks have the second.
    """
    tf.compat.v1.disable_control_flow_v2()
    try:
        yield
    finally:
        tf.compat.v1.enable_control_flow_v2()


def lstm_step(
    x: Tensor, state: tuple[Tensor, Tensor], kernel: Tensor, bias: Tensor
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """One step of a basic LSTM: one product for [x, h], gates i, j, f, o, forget bias 1.

    Shapes: x (batch, inputs), state (cell, hidden) each (batch, units), kernel
    (inputs + units, 4 units), bias (4 units).
    """
    cell, hidden = state
    gates = add_bias(ops.matmul(ops.concatenate([x, hidden], axis=1), kernel), bias)
    i, j, f, o = ops.split(gates, 4, axis=1)
    cell = cell * ops.sigmoid(f + 1.0) + ops.sigmoid(i) * ops.tanh(j)
    hidden = ops.tanh(cell) * ops.sigmoid(o)
    return hidden, (cell, hidden)


def subtract_mean(x: Tensor) -> Tensor:
    """Pixels 0..255 less the mean colour of ImageNet, in the order blue, green, red."""
    return x - np.array([103.939, 116.779, 123.68], np.float32)


def scale_to_one(x: Tensor) -> Tensor:
    """Pixels 0..255 to -1..1, by the original's three elementwise ops."""
    return (x / 255.0 - 0.5) * 2.0


def conv_bn(
    x: Tensor,
    filters: int,
    kernel: Size,
    strides: int = 1,
    padding: str = "same",
    *,
    activation: str | None = "relu",
    scale: bool = True,
    epsilon: float = 1e-3,
    dilation: int = 1,
) -> Tensor:
    """Convolution without bias, batch norm, activation."""
    x = Conv2D(filters, kernel, strides, padding, dilation_rate=dilation, use_bias=False)(x)
    return norm_activation(x, activation, scale, epsilon)


def norm_activation(
    x: Tensor, activation: str | None = "relu", scale: bool = True, epsilon: float = 1e-3
) -> Tensor:
    """Batch norm and activation."""
    x = BatchNorm(epsilon, scale)(x)
    return x if activation is None else layers.Activation(activation)(x)


def image_range(x: Tensor) -> Tensor:
    """Activations to pixels: 255 (0.58 tanh x + 0.5)."""
    return (ops.tanh(x) * 0.58 + 0.5) * 255.0


def squeeze_map(x: Tensor) -> Tensor:
    """A 1 x 1 map (batch, 1, 1, channels) to (batch, channels)."""
    return ops.squeeze(x, (1, 2))


def resnet_v2(shape: tuple[int, int, int], units: tuple[int, int, int, int]) -> keras.Model:
    """The pre-activation ResNet (arXiv:1603.05027) with ``units`` in its four blocks.

    The stride stands in the last unit of a block, as in the original.
    """
    inputs = keras.Input(shape)
    x = layers.ZeroPadding2D(3)(scale_to_one(inputs))
    x = Conv2D(64, 7, 2, padding="valid")(x)  # 1/2
    x = layers.MaxPooling2D(3, 2, padding="same")(x)  # 1/4
    for depth, count, strides in zip((64, 128, 256, 512), units, (2, 2, 2, 1), strict=True):
        x = _resnet_v2_unit(x, depth, project=True)
        for _ in range(count - 2):
            x = _resnet_v2_unit(x, depth)
        x = _resnet_v2_unit(x, depth, strides)
    x = norm_activation(x, epsilon=RESNET_EPSILON)
    x = ops.mean(x, (1, 2), keepdims=True)
    x = squeeze_map(Conv2D(1001, 1)(x))
    return keras.Model(inputs, ops.softmax(x))


RESNET_EPSILON = 1.001e-5


def _resnet_v2_unit(x: Tensor, depth: int, strides: int = 1, project: bool = False) -> Tensor:
    y = norm_activation(x, epsilon=RESNET_EPSILON)
    if project:
        x = Conv2D(4 * depth, 1)(y)
    elif strides > 1:
        x = layers.MaxPooling2D(1, strides)(x)
    y = conv_bn(y, depth, 1, epsilon=RESNET_EPSILON)
    if strides > 1:
        y = layers.ZeroPadding2D(1)(y)
        y = conv_bn(y, depth, 3, strides, padding="valid", epsilon=RESNET_EPSILON)
    else:
        y = conv_bn(y, depth, 3, epsilon=RESNET_EPSILON)
    return x + Conv2D(4 * depth, 1)(y)


def chain(x: Tensor, *convolutions: tuple[int, Size] | tuple[int, Size, int, str]) -> Tensor:
    """An Inception branch: convolutions in a row, batch norm without gamma, ReLU.

    Each is (filters, kernel), or (filters, kernel, strides, padding).
    """
    for convolution in convolutions:
        x = conv_bn(x, *convolution, scale=False)
    return x


def fork(x: Tensor, filters: int) -> Tensor:
    """A 1 x 3 and a 3 x 1 convolution side by side, the last stage of a branch."""
    return concat(chain(x, (filters, (1, 3))), chain(x, (filters, (3, 1))))


def concat(*maps: Tensor) -> Tensor:
    """The channels of all maps."""
    return ops.concatenate(maps, axis=3)


def average_3x3(x: Tensor) -> Tensor:
    """Means over 3 x 3 neighbourhoods, same size."""
    return layers.AveragePooling2D(3, 1, padding="same")(x)


def inception_stem(x: Tensor) -> Tensor:
    """The first five convolutions of Inception-V3: 346 x 346 x 3 to 40 x 40 x 192."""
    x = chain(x, (32, 3, 2, "valid"), (32, 3, 1, "valid"), (64, 3))  # 170 x 170 x 64
    x = layers.MaxPooling2D(3, 2)(x)  # 84 x 84
    x = chain(x, (80, 1, 1, "valid"), (192, 3, 1, "valid"))  # 82 x 82 x 192
    return layers.MaxPooling2D(3, 2)(x)


class DepthToSpace(layers.Layer):
    """Pixel shuffle: every 2 x 2 block of pixels comes from four channels of one pixel."""

    def call(self, x: Tensor) -> Tensor:
        """(batch, h, w, 4 c) to (batch, 2 h, 2 w, c)."""
        if BACKEND == "tensorflow":
            return tf.nn.depth_to_space(x, 2)
        batch, height, width, channels = ops.shape(x)
        x = ops.reshape(x, (batch, height, width, 2, 2, channels // 4))
        x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
        return ops.reshape(x, (batch, 2 * height, 2 * width, channels // 4))

    def compute_output_shape(self, input_shape: Sequence[Any]) -> tuple[int | None, ...]:
        """(batch, 2 h, 2 w, c)."""
        batch, *sides, channels = input_shape
        sides = [None if side is None else 2 * side for side in sides]
        return (batch, *sides, channels // 4)


class InstanceNorm(layers.Layer):
    """Instance norm with trained scale and shift, in elementwise ops and reductions."""

    def build(self, input_shape: Sequence[Any]) -> None:
        """One number per channel in each vector."""
        channels = (input_shape[-1],)
        self.scale = self.add_weight(name="scale", shape=channels, initializer="ones")
        self.shift = self.add_weight(name="shift", shape=channels, initializer="zeros")

    def call(self, x: Tensor) -> Tensor:
        """Same shape out."""
        mean, variance = moments(x)
        normalized = (x - mean) / (variance + 1e-3) ** 0.5
        return read(self.scale) * normalized + read(self.shift)

    def compute_output_shape(self, input_shape: Sequence[Any]) -> Sequence[Any]:
        """The input's shape."""
        return input_shape


class StandardNormal(layers.Layer):
    """Normally distributed numbers of a fixed shape, drawn anew in every pass.

    The input only ties the draw to the pass.
    """

    def __init__(self, shape: tuple[int, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.shape = shape
        if BACKEND == "jax":
            self.seed_generator = keras.random.SeedGenerator()

    def call(self, x: Tensor) -> Tensor:
        """Any input; gives the fixed shape."""
        if BACKEND == "tensorflow":
            return tf.random.normal(self.shape)
        if BACKEND == "torch":
            return torch.randn(self.shape, device=x.device)
        return keras.random.normal(self.shape, seed=self.seed_generator)

    def compute_output_shape(self, input_shape: Sequence[Any]) -> tuple[int, ...]:
        """The fixed shape."""
        return self.shape


class Resize(layers.Layer):
    """Resizes maps to a fixed size, with sources counted from the corner pixel.

    Pixel i comes from i * scale; the scale is that of the sizes or, with
    ``align_corners``, that of the distances between first and last pixel.
    (Keras's resize counts from pixel centres.)
    """

    def __init__(
        self,
        size: tuple[int, int],
        align_corners: bool = False,
        nearest: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.size = size
        self.align_corners = align_corners
        self.nearest = nearest

    def call(self, x: Tensor) -> Tensor:
        """(batch, h, w, c) to (batch, *size, c); bilinear, or the nearest pixel towards zero."""
        if BACKEND == "tensorflow":
            op = tf.raw_ops.ResizeNearestNeighbor if self.nearest else tf.raw_ops.ResizeBilinear
            resized = op(images=x, size=self.size, align_corners=self.align_corners)
            return tf.cast(resized, x.dtype)  # bilinear gives float32 whatever it gets
        return _resize(x, self.size, self.align_corners, self.nearest)

    def compute_output_shape(self, input_shape: Sequence[Any]) -> tuple[int | None, ...]:
        """(batch, *size, c)."""
        return (input_shape[0], *self.size, input_shape[-1])


class ResizeLike(layers.Layer):
    """Bilinear resizing to the height and width of another map, corners aligned."""

    def call(self, x: Tensor, like: Tensor) -> Tensor:
        """(batch, h, w, c) and (batch, H, W, any) to (batch, H, W, c)."""
        if BACKEND == "tensorflow":
            size = tf.shape(like)[1:3]
            resized = tf.raw_ops.ResizeBilinear(images=x, size=size, align_corners=True)
            return tf.cast(resized, x.dtype)
        return _resize(x, like.shape[1:3], align_corners=True)

    def compute_output_shape(
        self, x_shape: Sequence[Any], like_shape: Sequence[Any]
    ) -> Sequence[Any]:
        """``like``'s height and width."""
        return (x_shape[0], *like_shape[1:3], x_shape[3])


def _resize(x: Tensor, sizes: Sequence[int], align_corners: bool, nearest: bool = False) -> Tensor:
    for axis, size in enumerate(sizes, start=1):
        x = _resize_axis(x, axis, size, align_corners, nearest)
    return x


def _resize_axis(x: Tensor, axis: int, size: int, align_corners: bool, nearest: bool) -> Tensor:
    pixels = x.shape[axis]
    gaps = int(align_corners and size > 1)
    source = np.arange(size) * ((pixels - gaps) / (size - gaps))
    low = np.minimum(source.astype(int), pixels - 1)
    if nearest:
        return ops.take(x, low, axis)
    high = np.minimum(low + 1, pixels - 1)
    weight = (source - low).astype("float32").reshape((-1,) + (1,) * (3 - axis))
    weight, rest = map(ops.convert_to_tensor, (weight, 1 - weight))
    resized = ops.take(x, low, axis) * rest + ops.take(x, high, axis) * weight
    return ops.cast(resized, x.dtype)


def moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance over height and width, (batch, 1, 1, channels) each.

    On PyTorch Keras would subtract two squares, which in 16 bits can be negative.
    """
    if BACKEND == "torch":
        variance, mean = torch.var_mean(x.float(), (1, 2), correction=0, keepdim=True)
        return ops.cast(mean, x.dtype), ops.cast(variance, x.dtype)
    compute = tf.nn.moments if BACKEND == "tensorflow" else ops.moments
    mean, variance = compute(x, (1, 2), keepdims=True)
    return mean, variance


def broadcast_conv(
    x: Tensor, filters: int, kernel: Size, strides: int = 1, biases: int | None = None
) -> Tensor:
    """Convolution with a bias that is added by broadcasting: one per filter, or ``biases``."""
    x = Conv2D(filters, kernel, strides, use_bias=False)(x)
    return BroadcastBias(biases or filters)(x)


def padded_conv(x: Tensor, filters: int, kernel: int) -> Tensor:
    """Convolution without stride over maps that an op of its own has padded to keep their size."""
    return Conv2D(filters, kernel, padding="valid")(layers.ZeroPadding2D(kernel // 2)(x))


def part(x: Tensor, axis: int, start: int, size: int) -> Tensor:
    """``size`` rows of an axis from ``start`` on, in one op."""
    if BACKEND == "tensorflow":
        starts, sizes = [0] * x.shape.rank, [-1] * x.shape.rank
        starts[axis], sizes[axis] = start, size
        return tf.slice(x, starts, sizes)
    return x[(slice(None),) * axis + (slice(start, start + size),)]


def skew(x: Tensor) -> Tensor:
    """(batch, n, n, channels) to (batch, n, 2 n - 1, channels): row k moves right by k."""
    side, channels = x.shape[2:]
    if OP_FOR_OP:
        rows = []
        for index, row in enumerate(ops.split(x, side, axis=1)):
            row = ops.transpose(ops.squeeze(row, 1), (0, 2, 1))
            row = ops.pad(ops.reshape(row, (-1, side)), ((0, 0), (index, side - 1 - index)))
            row = ops.reshape(row, (-1, channels, 2 * side - 1))
            rows.append(ops.transpose(row, (0, 2, 1)))
        return ops.stack(rows, axis=1)
    # Rows of length 2 n, read as rows of length 2 n - 1: each begins one place later.
    x = ops.pad(x, ((0, 0), (0, 0), (0, side), (0, 0)))
    x = ops.reshape(x, (-1, side * 2 * side, channels))
    return ops.reshape(part(x, 1, 0, side * (2 * side - 1)), (-1, side, 2 * side - 1, channels))


def unskew(x: Tensor) -> Tensor:
    """(batch, n, 2 n - 1, channels) to (batch, n, n, channels): row k moves left by k."""
    side, channels = x.shape[1], x.shape[3]
    if OP_FOR_OP:
        rows = ops.split(x, side, axis=1)
        return ops.concatenate([part(row, 2, n, side) for n, row in enumerate(rows)], axis=1)
    x = ops.reshape(x, (-1, side * (2 * side - 1), channels))
    x = ops.pad(x, ((0, 0), (0, side), (0, 0)))
    return part(ops.reshape(x, (-1, side, 2 * side, channels)), 2, 0, side)


def rows(table: Any, ids: Tensor) -> Tensor:
    """The rows of a table by their numbers, none negative."""
    if BACKEND == "tensorflow":
        return tf.gather(read(table), ids)
    return ops.take(table, ids, axis=0)


def argmax(x: Tensor) -> Tensor:
    """The place of the largest number along the last axis, as int32."""
    if BACKEND == "tensorflow":
        return tf.argmax(x, axis=-1, output_type=tf.int32)
    return ops.argmax(x, axis=-1)


def generate(
    step: Callable[[tuple[Tensor, ...]], tuple[Tensor, Tensor, tuple[Tensor, ...]]],
    state: tuple[Tensor, ...],
    limit: Tensor,
    batch: int = 1,
) -> Tensor:
    """Runs ``step(state) -> (ids, ended, state)`` until all sequences ended.

    At most ``limit`` times. ids are int32 and ended is bool, (batch) both.
    Gives the ids of all steps, (steps, batch); where shapes are fixed, the
    steps that were not needed are zeros.
    """
    if BACKEND == "tensorflow":
        with _v1_loops():
            return _generate_tensorflow(step, state, limit, batch)

    def body(time: Tensor, ids: Tensor, ended: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        new_ids, now_ended, state = step(state)
        ids = ops.slice_update(ids, (time, 0), new_ids[None])
        return (time + 1, ids, ops.logical_or(ended, now_ended), *state)

    _, ids, *_ = ops.while_loop(
        lambda time, ids, ended, *_: ops.logical_not(ops.all(ended)),
        body,
        (0, ops.zeros((limit, batch), "int32"), ops.zeros((batch,), "bool"), *state),
        maximum_iterations=limit,
    )
    return ids


def _generate_tensorflow(
    step: Callable[..., Any], state: tuple[Tensor, ...], limit: Tensor, batch: int
) -> Tensor:
    def body(time: Tensor, sink: Any, ended: Tensor, *state: Tensor) -> tuple[Any, ...]:
        ids, now_ended, state = step(state)
        return (time + 1, sink.write(time, ids), tf.logical_or(now_ended, ended), *state)

    sink = tf.TensorArray(tf.int32, 0, dynamic_size=True, element_shape=(batch,))
    _, sink, *_ = tf.while_loop(
        lambda time, sink, ended, *_: tf.logical_not(tf.reduce_all(ended)),
        body,
        (tf.constant(0), sink, tf.zeros((batch,), tf.bool), *state),
        parallel_iterations=32,
        maximum_iterations=limit,
    )
    return sink.stack()


def checked_positive(x: Tensor) -> Tensor:
    """The same numbers, after a check that all are above zero where graphs can hold one."""
    if BACKEND == "tensorflow":
        with tf.control_dependencies([tf.debugging.assert_positive(x)]):
            return tf.identity(x)
    return x
