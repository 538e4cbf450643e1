"""Every network is what the original's is: parameters, output shapes, operations."""

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aiscore.spec import Mode, Options, TestSpec
from tests.computed import smallest
from workloads.data import make_batch
from workloads.suite import FULL, MICRO, NETWORKS

pytestmark = pytest.mark.framework

EXPECTED = json.loads((Path(__file__).parent / "data" / "networks.json").read_text())
WRITTEN = [name for name in NETWORKS if importlib.util.find_spec(f"workloads.{name}")]
TESTS = [test for test in (*FULL, *MICRO) if test.network in WRITTEN]


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    """The Keras models built so far, one at a time."""
    return {}


def build(name: str, models: dict[str, Any]) -> Any:
    if name not in models:
        import aiscore.backends.tensorflow  # noqa: F401  (chooses the Keras backend)

        models.clear()
        models[name] = importlib.import_module(f"workloads.{name}").build()
    return models[name]


@pytest.mark.parametrize("name", WRITTEN)
def test_training_updates_exactly_the_original_parameters(
    name: str, models: dict[str, Any]
) -> None:
    trained = sum(int(np.prod(v.shape)) for v in build(name, models).trainable_variables)
    assert trained == EXPECTED["parameters"][name] == NETWORKS[name].parameters


@pytest.mark.parametrize("test", TESTS, ids=lambda test: f"{test.network}-{test.id}")
def test_shape_and_operations_of_every_subtest(test: TestSpec, models: dict[str, Any]) -> None:
    import tensorflow as tf

    from tests.flops import count_bytes, count_flops

    model = build(test.network, models)
    shape = test.input if test.target is None else (test.batch, *test.input)  # ids of a sentence
    forward = tf.function(lambda x: model(x, training=False), autograph=False)
    traced = forward.get_concrete_function(tf.TensorSpec(shape, model.inputs[0].dtype))
    expected = EXPECTED["tests"][test.id]
    if test.target is not None:
        assert traced.outputs[0].shape.as_list() == expected["output"]
        assert (test.batch, *test.target) == tuple(expected["output"])
    flops = count_flops(traced.graph)
    for op, count in expected["flops"].items():
        assert flops[op] == pytest.approx(count, rel=0.005), op
    assert test.gflop == pytest.approx(sum(expected["flops"].values()) / 1e9, rel=0.005)
    assert test.gigabytes == pytest.approx(count_bytes(traced.graph) / 1e9, rel=0.005, abs=0.005)


@pytest.mark.parametrize(
    "name", ["mobilenet_v2", "resnet_v2_50", "srcnn", "srgan", "unet", "icnet"]
)
def test_a_training_step_has_the_operations_that_are_counted(
    name: str, models: dict[str, Any]
) -> None:
    """A few percent less or more: the first layer's input needs no gradient, the last layer all."""
    import tensorflow as tf

    from tests.flops import count_flops

    model = build(name, models)
    (test,) = (test for test in FULL if test.network == name and test.mode is Mode.TRAINING)

    def step(batch: Any) -> Any:
        trained = [variable.value for variable in model.trainable_variables]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(trained)
            loss = tf.nn.l2_loss(model(batch, training=False))
        return tape.gradient(loss, trained)

    shape = tf.TensorSpec((1, *test.input), model.inputs[0].dtype)
    counted = count_flops(tf.function(step, autograph=False).get_concrete_function(shape).graph)
    expected = (1 + NETWORKS[name].backward) * test.gflop / test.batch
    assert 0.92 * expected <= counted.total() / 1e9 <= 1.01 * expected


@pytest.mark.parametrize("name", WRITTEN)
def test_runs_on_tensorflow(name: str) -> None:
    """Both modes of each network run on a small example: finite outputs, and training trains."""
    from aiscore.backends.tensorflow import TensorFlowBackend

    backend = TensorFlowBackend()
    session = backend.open(NETWORKS[name], backend.devices()[0], Options(), seed=1)
    for mode in sorted({test.mode for test in FULL if test.network == name}):
        test = smallest(name, mode)
        batch = make_batch(test, seed=1)
        session.prepare(test, batch)
        before = session.output(batch)
        fetched = session.classic_pass(batch)
        after = session.output(batch)
        assert np.isfinite(before).all()
        if mode is Mode.INFERENCE:
            assert fetched is not None
            assert fetched.shape == before.shape
        else:
            assert fetched is None
            assert not np.array_equal(before, after)
        if test.target is not None:
            assert before.shape == (1, *test.target)
    session.close()
