"""Exports are made once, of what is asked for, and never left unfinished."""

import fcntl
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aiscore.backends import onnx_export
from aiscore.backends.onnx_export import Recipe, exported
from aiscore.spec import Precision

SRCNN = Recipe(network="srcnn", shape=(64, 64, 3), precision=Precision.DEFAULT, seed=0)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Where the files go."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "aiscore" / "onnx"


@pytest.fixture
def made(cache, monkeypatch):
    """The recipes that were followed, by an export that writes next to nothing."""
    recipes = []

    def export(recipe, path):
        recipes.append(recipe)
        path.write_text("ONNX")

    monkeypatch.setattr(onnx_export, "_export_elsewhere", export)
    return recipes


def test_an_export_is_made_once(made, cache):
    path = exported(SRCNN)
    assert exported(SRCNN) == path
    assert made == [SRCNN]
    assert list(cache.iterdir()) == [path]
    assert path.read_text() == "ONNX"


@pytest.mark.parametrize(
    "change",
    [{"network": "vdsr"}, {"shape": (32, 32, 3)}, {"precision": Precision.FP16}, {"seed": 1}],
)
def test_another_recipe_makes_another_file(made, change):
    assert exported(replace(SRCNN, **change)) != exported(SRCNN)
    assert len(made) == 2


def test_another_version_of_a_package_makes_another_file(made, monkeypatch):
    before = exported(SRCNN)
    monkeypatch.setattr(onnx_export, "version", lambda package: "0")
    assert exported(SRCNN) != before


def test_the_source_of_a_network_is_all_that_it_imports():
    names = {path.stem for path in onnx_export._sources("gnmt")}
    assert names == {"gnmt", "blocks", "words", "data"}


def test_an_export_that_fails_leaves_nothing(cache, monkeypatch):
    def run(command, **kwargs):
        Path(command[-1]).write_text("half a fi")
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(RuntimeError, match="the export of srcnn to ONNX failed"):
        exported(SRCNN)
    assert list(cache.iterdir()) == []


def test_an_export_that_was_cut_off_is_made_anew(made, cache):
    cache.mkdir(parents=True)
    (cache / f"srcnn-{onnx_export._digest(SRCNN)}.unfinished").write_text("half a fi")
    assert exported(SRCNN).read_text() == "ONNX"
    assert len(list(cache.iterdir())) == 1


def test_processes_that_need_the_same_file_make_it_once(made, monkeypatch):
    locks, lock, all_there = [], fcntl.flock, threading.Barrier(4, timeout=60)

    def flock(file, operation):
        locks.append(operation)
        all_there.wait()  # each of them has found that there is no file
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with ThreadPoolExecutor(all_there.parties) as threads:
        paths = set(threads.map(exported, [SRCNN] * all_there.parties))
    assert locks == [fcntl.LOCK_EX] * all_there.parties
    assert (len(paths), made) == (1, [SRCNN])


def test_without_a_cache_of_its_own_it_is_the_users(made, tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert exported(SRCNN).parent == tmp_path / ".cache" / "aiscore" / "onnx"


@pytest.mark.framework
def test_an_export_that_is_there_needs_no_tensorflow(cache, capfd):
    code = (
        "import sys\n"
        "from tests.computed import *\n"
        "from aiscore.backends.onnxruntime import OnnxRuntimeBackend\n"
        "test, backend = smallest('srcnn'), OnnxRuntimeBackend()\n"
        "session = backend.open(NETWORKS['srcnn'], backend.devices()[0], Options(), 0)\n"
        "batch = make_batch(test, 0)\n"
        "session.prepare(test, batch)\n"
        "assert session.output(batch).shape == (1, *test.target)\n"
        "assert not {'tensorflow', 'keras', 'tf2onnx'} & set(sys.modules)\n"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], check=True)
        (path,) = cache.iterdir()
        made = path.stat().st_mtime_ns
    assert path.stat().st_mtime_ns == made


@pytest.mark.framework
def test_what_a_loop_only_hands_on_is_read_from_outside():
    """y = x times w, three times, where the loop hands w on to itself."""
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    def value(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    number, truth, count = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["goes_on"]),
            helper.make_node("Mul", ["x_in", "w_in"], ["x_out"]),
            helper.make_node("Identity", ["w_in"], ["w_between"]),
            helper.make_node("Identity", ["w_between"], ["w_out"]),
        ],
        "body",
        [value("step", count, []), value("go", truth, [])]
        + [value(name, number, [2]) for name in ("x_in", "w_in")],
        [value("goes_on", truth, [])] + [value(name, number, [2]) for name in ("x_out", "w_out")],
    )
    graph = helper.make_graph(
        [
            helper.make_node("Loop", ["limit", "go_in", "x", "w"], ["last", "w_last"], body=body),
            helper.make_node("Add", ["last", "w_last"], ["y"]),
        ],
        "graph",
        [value("x", number, [2])],
        [value("y", number, [2])],
        [
            numpy_helper.from_array(np.array(3), "limit"),
            numpy_helper.from_array(np.array(True), "go_in"),
            numpy_helper.from_array(np.array([2, 3], np.float32), "w"),
        ],
    )
    opset = helper.make_opsetid("", onnx_export.OPSET)
    model = helper.make_model_gen_version(graph, opset_imports=[opset])

    def run():
        onnx.checker.check_model(model, full_check=True)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        return session.run(None, {"x": np.array([1, 10], np.float32)})[0].tolist()

    assert run() == [10, 273]
    onnx_export._hoist_invariants(model.graph)
    assert list(model.graph.node[0].input) == ["limit", "go_in", "x"]
    assert run() == [10, 273]


@pytest.mark.framework
def test_float16_keeps_sums_and_the_sizes_of_a_resize():
    """A mean over more than float16 can count, of a map that is made twice as large.

    The converter writes the two empty inputs of a resize as one float32 array.
    """
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [
            helper.make_node("Resize", ["x", "none", "none", "sizes"], ["large"], mode="linear"),
            helper.make_node("ReduceMean", ["large", "axes"], ["y"], "mean", keepdims=0),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 64, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])],
        [
            numpy_helper.from_array(np.zeros(0, np.float32), "none"),
            numpy_helper.from_array(np.array([1, 1, 128, 128]), "sizes"),
            numpy_helper.from_array(np.array([2, 3]), "axes"),
        ],
    )
    opset = helper.make_opsetid("", onnx_export.OPSET)
    model = helper.make_model_gen_version(graph, opset_imports=[opset])
    onnx_export._omit_empty(model.graph)
    half = onnx_export._in_half(model)
    kinds = {value.name: value.type.tensor_type.elem_type for value in half.graph.value_info}
    (mean,) = (node for node in half.graph.node if node.op_type == "ReduceMean")
    assert kinds[mean.input[0]] == TensorProto.FLOAT
    session = onnxruntime.InferenceSession(half.SerializeToString())
    (y,) = session.run(None, {"x": np.full((1, 1, 64, 64), 100, np.float32)})
    assert y.tolist() == [[100]]


@pytest.mark.framework
def test_a_loop_with_a_sum_in_it_is_converted_to_float16():
    """In each of three steps the sum of x is added to all of x."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    value, number = helper.make_tensor_value_info, TensorProto.FLOAT
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["goes_on"], "on"),
            helper.make_node("ReduceSum", ["x_in", "axes"], ["sum"], "sum", keepdims=1),
            helper.make_node("Add", ["x_in", "sum"], ["x_out"], "add"),
        ],
        "body",
        [
            value("step", TensorProto.INT64, []),
            value("go", TensorProto.BOOL, []),
            value("x_in", number, [2]),
        ],
        [value("goes_on", TensorProto.BOOL, []), value("x_out", number, [2])],
    )
    graph = helper.make_graph(
        [
            helper.make_node("Loop", ["limit", "go_in", "x"], ["last"], "loop", body=body),
            helper.make_node("Mul", ["last", "two"], ["y"], "double"),
        ],
        "graph",
        [value("x", number, [2])],
        [value("y", number, [2])],
        [
            numpy_helper.from_array(np.array(3), "limit"),
            numpy_helper.from_array(np.array(True), "go_in"),
            numpy_helper.from_array(np.array([0]), "axes"),
            numpy_helper.from_array(np.array(2, np.float32), "two"),
        ],
    )
    opset = helper.make_opsetid("", onnx_export.OPSET)
    half = onnx_export._in_half(helper.make_model_gen_version(graph, opset_imports=[opset]))
    session = onnxruntime.InferenceSession(half.SerializeToString())
    (y,) = session.run(None, {"x": np.array([1, 2], np.float32)})
    assert y.tolist() == [80, 82]
