"""The TensorFlow backend's variables and Adam: what TensorFlow's own classes make, and no more."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.framework

STEPS = 3
INITIAL = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)
PREPARATION = {"_Arg", "_Retval", "_SOURCE", "_SINK", "Const", "Identity", "NoOp"}


def loss(weight: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_sum(tf.square(tf.matmul(weight, weight) - 1.0))


def ours(kind: str) -> tuple[np.ndarray, Counter[str]]:
    """The weight after some steps of our Adam, and the operations that a step executes."""
    from aiscore.backends import tensorflow_variables
    from aiscore.backends.tensorflow_variables import Adam, v1

    with v1.Graph().as_default(), v1.Session() as session:
        weight = getattr(tensorflow_variables, kind)(INITIAL.shape, "float32", "weight")
        value = v1.placeholder("float32", INITIAL.shape)
        (gradient,) = v1.gradients(loss(weight.read()), [weight.target], gate_gradients=True)
        adam = Adam([weight])
        step = adam.step({weight: gradient})
        session.run([weight.assign(value), *adam.initializers], {value: INITIAL})
        return after(session, step, weight.read())


def theirs(use_resource: bool) -> tuple[np.ndarray, Counter[str]]:
    """The same of TensorFlow's optimiser, with the numbers of the original."""
    from aiscore.backends.base import LEARNING_RATE
    from aiscore.backends.tensorflow_variables import v1

    with v1.Graph().as_default(), v1.Session() as session:
        weight = v1.Variable(INITIAL, use_resource=use_resource)
        step = v1.train.AdamOptimizer(LEARNING_RATE).minimize(loss(weight))
        session.run(v1.global_variables_initializer())
        return after(session, step, weight.read_value())


def after(session: Any, step: Any, value: Any) -> tuple[np.ndarray, Counter[str]]:
    from aiscore.backends.tensorflow_variables import v1

    told = v1.RunMetadata()
    session.run(step, options=v1.RunOptions(output_partition_graphs=True), run_metadata=told)
    for _ in range(STEPS - 1):
        session.run(step)
    nodes = (node.op for graph in told.partition_graphs for node in graph.node)
    return session.run(value), Counter(op for op in nodes if op not in PREPARATION)


@pytest.mark.parametrize(("kind", "use_resource"), [("Reference", False), ("Resource", True)])
def test_adam_takes_the_steps_of_tensorflows_with_the_same_operations(kind, use_resource):
    weight, operations = ours(kind)
    expected, executed = theirs(use_resource)
    assert not np.allclose(weight, INITIAL, atol=1e-5)
    np.testing.assert_array_equal(weight, expected)
    if use_resource:  # TensorFlow's reads them more often, which XLA does not mind
        del operations["ReadVariableOp"], executed["ReadVariableOp"]
    assert operations == executed


def test_two_variables_of_one_name_are_two():
    from aiscore.backends.tensorflow_variables import Resource, v1

    with v1.Graph().as_default(), v1.Session() as session:
        one, other = (Resource([], "float32", "weight") for _ in range(2))
        session.run([one.assign(1.0), other.assign(2.0)])
        assert session.run([one.read(), other.read()]) == [1, 2]
