"""The throughput sweep's networks are what their papers and reference implementations have."""

import importlib
from typing import Any

import numpy as np
import pytest

from aiscore.spec import Mode
from workloads.sweep import NETWORKS, point

pytestmark = pytest.mark.framework

# Parameters and GMAC of one 224 x 224 image. torchvision: num_params and _ops of
# ResNet50_Weights and ResNet101_Weights (torchvision/models/resnet.py). imgclsmob: the tables of
# github.com/osmr/imgclsmob, of Cadene's pretrained-models.pytorch (ResNeXt-101 32x4d,
# SE-ResNeXt-101 32x4d); their multiply-accumulates count biases and batch norm too.
PUBLISHED = {
    "resnet50": (25_557_032, 4.089, "torchvision"),
    "resnet101": (44_549_160, 7.801, "torchvision"),
    "resnext101_32x4d": (44_177_704, 8.003, "imgclsmob"),
    "se_resnext101_32x4d": (48_955_416, 8.008, "imgclsmob"),
}
UNCOUNTED = {"torchvision": 0.001, "imgclsmob": 0.006}
"""By how much of it a source's figure may differ from convolutions and products alone."""


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    import aiscore.backends.tensorflow  # noqa: F401  (chooses the Keras backend)

    return {name: importlib.import_module(f"workloads.{name}").build() for name in NETWORKS}


def graph(model: Any, batch: int) -> Any:
    import tensorflow as tf

    forward = tf.function(lambda x: model(x, training=False), autograph=False)
    return forward.get_concrete_function(tf.TensorSpec((batch, 224, 224, 3), tf.float32)).graph


def test_every_network_has_a_published_figure() -> None:
    assert PUBLISHED.keys() == NETWORKS.keys()


@pytest.mark.parametrize("name", NETWORKS)
def test_training_updates_the_published_number_of_parameters(
    name: str, models: dict[str, Any]
) -> None:
    trained = sum(int(np.prod(variable.shape)) for variable in models[name].trainable_variables)
    assert trained == PUBLISHED[name][0] == NETWORKS[name].parameters


@pytest.mark.parametrize("name", NETWORKS)
def test_operations_are_the_published_ones(name: str, models: dict[str, Any]) -> None:
    from tests.flops import count_bytes, count_flops

    _, gmac, source = PUBLISHED[name]
    traced = graph(models[name], 2)
    assert traced.outputs[0].shape.as_list() == [2, 1000]
    counted = count_flops(traced).total() / 1e9
    assert counted / 2 / 2 == pytest.approx(gmac, rel=UNCOUNTED[source])
    test = point(name, Mode.INFERENCE, 2)
    assert test.gflop == pytest.approx(counted, rel=1e-3)
    assert test.gigabytes == pytest.approx(count_bytes(traced) / 1e9, rel=5e-3)


@pytest.mark.parametrize("name", ["resnext101_32x4d", "se_resnext101_32x4d"])
def test_grouped_convolutions_are_one_operation_each_on_tensorflow(
    name: str, models: dict[str, Any]
) -> None:
    """Their kernels see a 32nd of the channels; nothing is split, and nothing compiled with XLA."""
    operations = graph(models[name], 2).get_operations()
    kernels = [tuple(op.inputs[1].shape) for op in operations if op.type == "Conv2D"]
    grouped = [kernel for kernel in kernels if kernel[:2] == (3, 3)]
    assert len(grouped) == 3 + 4 + 23 + 3
    assert all(kernel[2] * 32 == kernel[3] for kernel in grouped)
    assert not {"PartitionedCall", "StatefulPartitionedCall", "Split"} & {
        op.type for op in operations
    }


def test_the_stride_is_in_the_3_x_3_convolutions(models: dict[str, Any]) -> None:
    """That is version 1.5: the first version has it in the 1 x 1 convolutions before them."""
    operations = graph(models["resnet50"], 2).get_operations()
    strided = [
        tuple(op.inputs[1].shape)
        for op in operations
        if op.type == "Conv2D" and op.get_attr("strides") == [1, 2, 2, 1]
    ]
    in_a_bottleneck = [kernel for kernel in strided if kernel[0] == 3]
    shortcuts = [kernel for kernel in strided if kernel[3] == 2 * kernel[2]]
    assert (len(in_a_bottleneck), len(shortcuts), len(strided)) == (3, 3, 1 + 3 + 3)
