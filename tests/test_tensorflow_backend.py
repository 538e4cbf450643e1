"""The TensorFlow backend: its switches, resident passes, precisions and XLA."""

import dataclasses
from collections import Counter
from typing import Any

import numpy as np
import pytest

from aiscore.backends.base import Batch
from aiscore.spec import Device, DeviceKind, Mode, Options, Precision
from tests.computed import CHOSEN
from workloads.data import make_batch
from workloads.suite import FULL, NETWORKS

pytestmark = pytest.mark.framework

CPU = Device(kind=DeviceKind.CPU, index=0, name="CPU")
IN_GRAPH_ALONE = {  # what XLA's program is fed from and read by
    *("_Arg", "_Retval", "_HostSend", "_HostRecv", "Const", "Identity", "NoOp"),
    *("PlaceholderWithDefault", "VarHandleOp", "ReadVariableOp", "_XlaRun", "_XlaCompile"),
    *("XlaLaunch", "XlaLaunchV2"),
}


def open_session(network: str, **options: Any) -> Any:
    from aiscore.backends.tensorflow import TensorFlowBackend

    return TensorFlowBackend().open(NETWORKS[network], CPU, Options(**options), seed=1)


def small_test(network: str, mode: Mode) -> Any:
    test = next(test for test in FULL if test.network == network and test.mode is mode)
    small = {"input": (24, 24, 3), "target": (24, 24, 3)} if network == "srcnn" else {}
    return dataclasses.replace(test, batch=1, **small)


def prepared(network: str, mode: Mode, **options: Any) -> tuple[Any, Batch]:
    """A session, ready for a test with a batch of one, and that batch."""
    test = small_test(network, mode)
    batch = make_batch(test, seed=1)
    session = open_session(network, **options)
    session.prepare(test, batch)
    return session, batch


def executed(session: Any, operation: Any, feeds: dict[Any, Any]) -> Counter[str]:
    """The operations that one run executes."""
    import tensorflow as tf

    told = tf.compat.v1.RunMetadata()
    asked = tf.compat.v1.RunOptions(output_partition_graphs=True)
    session._session.run(operation, feeds, options=asked, run_metadata=told)
    return Counter(node.op for graph in told.partition_graphs for node in graph.node)


def test_the_switches_of_tensorflow_are_recorded():
    from aiscore.backends.tensorflow import TensorFlowBackend

    software = TensorFlowBackend().software()
    assert software["tf32"] == "on"
    assert software["xla"] == "off"
    assert software["onednn"] in {"on", "off"}
    assert software["intra_op_threads"] == software["inter_op_threads"] == "automatic"


# ------------------------------------------------------------------- resident


def test_resident_steps_train_as_classic_ones_do():
    classic, batch = prepared("srcnn", Mode.TRAINING)
    resident, _ = prepared("srcnn", Mode.TRAINING)
    before = classic.output(batch)
    resident.place(batch)
    for _ in range(3):
        classic.classic_pass(batch)
        resident.resident_pass()
    resident.sync()
    after = classic.output(batch)
    assert not np.allclose(before, after)
    np.testing.assert_allclose(resident.output(batch), after, rtol=1e-4, atol=1e-3)


def test_a_resident_pass_feeds_nothing_and_fetches_nothing():
    session, batch = prepared("srcnn", Mode.INFERENCE)
    session.place(batch)
    resident = executed(session, session._output.op, {})
    classic = executed(session, session._output, {session._input.tensor: batch.input})
    assert resident["_Arg"] == resident["_Retval"] == 0
    assert (classic["_Arg"], classic["_Retval"]) == (1, 1)
    work = {op: resident[op] for op in resident if "Conv" in op}
    assert work == {op: classic[op] for op in classic if "Conv" in op} != {}


def test_the_placed_batch_is_what_is_computed():
    session, batch = prepared("srcnn", Mode.INFERENCE)
    session.place(batch)
    placed = session._session.run(session._output)
    np.testing.assert_array_equal(placed, session.output(batch))


def test_a_batch_is_taken_from_the_device_before_the_next_test():
    session, batch = prepared("srcnn", Mode.INFERENCE)
    session.place(batch)
    session.prepare(small_test("srcnn", Mode.INFERENCE), batch)
    assert session._session.run(session._input.tensor).size == 0


def test_text_is_placed_as_ids():
    session, batch = prepared("gnmt", Mode.INFERENCE)
    session.place(batch)
    session.resident_pass()
    session.sync()
    placed = session._session.run(session._output)
    np.testing.assert_array_equal(placed, session.classic_pass(batch))


# ------------------------------------------------------------------- precision


@pytest.mark.parametrize("name", CHOSEN)
def test_a_network_is_built_in_mixed_precision(name: str):
    """Forward pass and training step in 16 bits, weights and output in 32."""
    import tensorflow as tf

    session = open_session(name, precision=Precision.BF16)
    assert session._output.dtype in (tf.float32, tf.int32)
    assert all(weight.dtype.base_dtype == tf.float32 for weight in session._trained)
    if any(test.network == name and test.mode is Mode.TRAINING for test in FULL):
        target = np.zeros((1, *(small_test(name, Mode.TRAINING).target)), np.float32)
        session.prepare(small_test(name, Mode.TRAINING), Batch(np.zeros(1), target))
        assert session._step is not None
    work = Counter(
        operation.inputs[0].dtype
        for graph in [session._graph, *functions(session._graph)]
        for operation in graph.get_operations()
        if operation.type in ("Conv2D", "DepthwiseConv2dNative", "MatMul", "BatchMatMulV2")
    )
    assert work[tf.bfloat16] > 0
    assert work[tf.float32] == 0, "no product is left in float32"


def functions(graph: Any) -> list[Any]:
    """The bodies of its loops."""
    from tensorflow.python.framework.function_def_to_graph import function_def_to_graph

    library = graph.as_graph_def().library
    return [function_def_to_graph(definition) for definition in library.function]


@pytest.mark.parametrize("precision", [Precision.FP16, Precision.BF16])
def test_mixed_precision_computes_nearly_the_same(precision):
    exact, batch = prepared("srcnn", Mode.INFERENCE)
    mixed, _ = prepared("srcnn", Mode.INFERENCE, precision=precision)
    expected, found = exact.output(batch), mixed.output(batch)
    assert found.dtype == np.float32
    assert not np.array_equal(expected, found)
    assert np.abs(found - expected).max() < 0.05 * np.abs(expected).max()


@pytest.mark.parametrize("precision", [Precision.FP16, Precision.BF16])
def test_mixed_precision_trains(precision):
    session, batch = prepared("srcnn", Mode.TRAINING, precision=precision)

    def error() -> float:
        return float(np.square(session.output(batch) - batch.target).mean())

    before = error()
    for _ in range(40):  # in float16 the first ones only find the scale
        session.classic_pass(batch)
    assert error() < before


def test_gradients_that_are_not_finite_change_no_weight_and_halve_the_scale():
    import tensorflow as tf

    from aiscore.backends.tensorflow import _gradients, v1
    from aiscore.backends.tensorflow_variables import Adam, Reference

    with tf.Graph().as_default(), v1.Session() as session:
        weight = Reference([1], tf.float32, "weight")
        scale = v1.Variable(8.0, trainable=False, use_resource=True)
        factor = v1.placeholder(tf.float32, ())
        gradients, others = _gradients(tf.reduce_sum(weight.read() * factor), [weight], scale)
        adam = Adam(gradients)
        step = tf.group(adam.step(gradients), *others)
        session.run([weight.assign(tf.constant([2.0])), scale.initializer, *adam.initializers])
        session.run(step, {factor: np.inf})
        assert session.run([weight.read(), scale]) == [[2.0], 4.0]
        session.run(step, {factor: 1.0})
        assert session.run(scale) == 4.0
        assert session.run(weight.read())[0] < 2.0


def test_tf32_is_refused_where_there_is_none():
    from aiscore.backends.tensorflow import TensorFlowBackend

    backend, test = TensorFlowBackend(), FULL[0]
    assert backend.unsupported(test, CPU, Options(precision=Precision.TF32)) == (
        "TF32 is a number format of NVIDIA GPUs, not of CPUs"
    )
    for precision in Precision:
        if precision is not Precision.TF32:
            assert backend.unsupported(test, CPU, Options(precision=precision)) is None


def test_fp32_switches_tf32_off():
    import tensorflow as tf

    enabled = tf.config.experimental.tensor_float_32_execution_enabled
    try:
        open_session("srcnn", precision=Precision.FP32)
        assert not enabled()
        open_session("srcnn", precision=Precision.TF32)
        assert enabled()
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(True)


# ------------------------------------------------------------------------ XLA


@pytest.mark.parametrize("mode", Mode)
def test_xla_compiles_the_whole_step(mode: Mode):
    session, batch = prepared("srcnn", mode, xla=True)
    session.place(batch)
    operation = session._output.op if mode is Mode.INFERENCE else session._step
    assert not executed(session, operation, {}).keys() - IN_GRAPH_ALONE


def test_what_xla_does_not_have_is_said_in_a_line():
    session, batch = prepared("gnmt", Mode.INFERENCE, xla=True)
    with pytest.raises(NotImplementedError) as caught:
        session.classic_pass(batch)
    assert str(caught.value) == "TensorArrays with dynamic size are not supported by XLA."


def test_xla_computes_and_trains_as_without_it():
    plain, batch = prepared("srcnn", Mode.TRAINING)
    compiled, _ = prepared("srcnn", Mode.TRAINING, xla=True)
    for session in (plain, compiled):
        session.classic_pass(batch)
    np.testing.assert_allclose(compiled.output(batch), plain.output(batch), rtol=1e-3, atol=1e-2)
