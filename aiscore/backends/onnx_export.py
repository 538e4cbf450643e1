"""From a network in Keras to a file in ONNX, once, kept in the user's cache directory.

``exported`` gives the file and imports no framework: where the file is not
there yet, ``python -P -m aiscore.backends.onnx_export`` makes it, in a process
of its own, with TensorFlow and tf2onnx. Nothing is ever fetched.
"""

import fcntl
import hashlib
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from aiscore.spec import Precision, Shape

INSTALL = "pip install 'aiscore[cpu]' (NVIDIA: 'aiscore[cuda]')"
OPSET = 18
BATCH = "batch"  # the name of the one axis whose size the file leaves open
INPUT, OUTPUT = "input", "output"
STATE, NEXT_STATE = "state", "next_state"
"""Prefixes of a pair per variable that every pass writes: what it was and what it becomes."""
WEIGHT = "weight"
LARGE = 1 << 20  # elements of a weight
REDUCTIONS = ("ReduceMean", "ReduceSum", "ReduceSumSquare", "ReduceL2")

PACKAGES = ("tensorflow", "tensorflow-cpu", "keras", "tf2onnx", "onnx", "onnxruntime")
NETWORKS = "workloads"
IMPORTED = re.compile(rf"^from {NETWORKS}\.(\w+) import", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a file is made from; ``shape`` is that of one input, without the batch."""

    network: str
    shape: Shape
    precision: Precision
    seed: int


def exported(recipe: Recipe) -> Path:
    """The file of a recipe. Makes it where it is not there: minutes, for a large network.

    Raises RuntimeError if the export fails, and OSError if the cache cannot be written.
    """
    path = _cache() / f"{recipe.network}-{_digest(recipe)}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # another process may be making the same file
            if not path.exists():
                _export_elsewhere(recipe, unfinished)
                unfinished.replace(path)
    return path


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "aiscore" / "onnx"


def _digest(recipe: Recipe) -> str:
    """Of everything that decides the file's content."""
    sources = sorted([Path(__file__), *_sources(recipe.network)])
    ingredients = [
        asdict(recipe),
        [hashlib.sha256(source.read_bytes()).hexdigest() for source in sources],
        {package: _version(package) for package in PACKAGES},
    ]
    return hashlib.sha256(json.dumps(ingredients).encode()).hexdigest()[:16]


def _sources(module: str) -> set[Path]:
    """The files that a network is written in: its own and those that it imports."""
    source = Path(str(import_module(NETWORKS).__file__)).with_name(f"{module}.py")
    imported = IMPORTED.findall(source.read_text())
    return {source}.union(*map(_sources, imported))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _export_elsewhere(recipe: Recipe, path: Path) -> None:
    """Runs the export in another process, on the CPU; what it prints joins what this one prints."""
    command = [sys.executable, "-P", "-m", __name__, json.dumps(asdict(recipe)), str(path)]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        path.unlink(missing_ok=True)
        raise RuntimeError(
            f"the export of {recipe.network} to ONNX failed (exit status {done.returncode});"
            " its messages are above"
        )


def export(recipe: Recipe, path: Path) -> None:
    """Builds the network and writes it as ONNX. Imports TensorFlow."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ["TF2ONNX_CATCH_ERRORS"] = "no"  # an optimisation that fails is not left out silently
    import keras
    import onnx

    from workloads import blocks

    blocks.OP_FOR_OP = False
    keras.utils.set_random_seed(recipe.seed)
    network = import_module(f"{NETWORKS}.{recipe.network}").build()
    onnx.save(convert(network, recipe.shape, recipe.precision), path)


def convert(network: Any, shape: Shape, precision: Precision) -> Any:
    """A Keras model on TensorFlow as an ONNX model of that input shape, with its weights.

    What the network writes to its variables in every pass leaves it as outputs
    and comes in again as inputs, whose defaults are the first values.
    """
    import tf2onnx
    from keras.src.export.tf2onnx_lib import patch_tf2onnx  # as Keras's own export does

    patch_tf2onnx()
    outside = _outside(network, shape)
    function, signature = _forward(network, shape, outside)
    model, _ = tf2onnx.convert.from_function(function, signature, opset=OPSET)
    _name_batch(model.graph)
    _give_values(model.graph, outside)
    _hoist_invariants(model.graph)
    _omit_empty(model.graph)
    return _in_half(model) if precision is Precision.FP16 else model


def _outside(network: Any, shape: Shape) -> dict[str, Any]:
    """The variables that stand outside the graph while it is converted, by their names there.

    Those are the network's state, and large weights, of which the conversion
    would keep a dozen copies.
    """
    state = _written(network, shape)
    known = {id(variable) for variable in state}
    weights = [
        variable
        for variable in network.variables
        if id(variable) not in known and math.prod(variable.shape) >= LARGE
    ]
    return {f"{STATE}_{number}": variable for number, variable in enumerate(state)} | {
        f"{WEIGHT}_{number}": variable for number, variable in enumerate(weights)
    }


def _forward(network: Any, shape: Shape, outside: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The forward pass as a function of the input and of those variables, and its signature."""
    import keras
    import tensorflow as tf

    variables = outside.values()
    signature = [
        _entry(network, shape),
        *(tf.TensorSpec(v.shape, v.dtype, name) for name, v in outside.items()),
    ]

    def forward(x: Any, *values: Any) -> dict[str, Any]:
        with keras.StatelessScope(zip(variables, values, strict=True)) as scope:
            outputs = {OUTPUT: network(x, training=False)}
        for name, variable in outside.items():
            if name.startswith(STATE):
                value = tf.identity(scope.get_current_value(variable))
                outputs[name.replace(STATE, NEXT_STATE)] = value
        return outputs

    return tf.function(forward, input_signature=signature, autograph=False), signature


def _written(network: Any, shape: Shape) -> list[Any]:
    """The variables that a forward pass writes."""
    import keras
    import tensorflow as tf

    with keras.StatelessScope() as scope:
        forward = tf.function(lambda x: network(x, training=False), autograph=False)
        forward.get_concrete_function(_entry(network, shape))
    return [
        variable
        for variable in network.non_trainable_variables
        if scope.get_current_value(variable) is not None
    ]


def _entry(network: Any, shape: Shape) -> Any:
    import tensorflow as tf

    (entry,) = network.inputs
    whole = (None, *shape) if entry.shape[0] is None else shape
    return tf.TensorSpec(whole, entry.dtype, INPUT)


def _name_batch(graph: Any) -> None:
    (axis, *_) = graph.input[0].type.tensor_type.shape.dim
    if not axis.dim_value:
        axis.dim_param = BATCH


def _give_values(graph: Any, outside: dict[str, Any]) -> None:
    """The state's values are defaults of inputs; a weight is no input any more."""
    from onnx import numpy_helper

    for name, variable in outside.items():
        graph.initializer.append(numpy_helper.from_array(variable.numpy(), name))
    inputs = [entry for entry in graph.input if not entry.name.startswith(WEIGHT)]
    del graph.input[:]
    graph.input.extend(inputs)


def _omit_empty(graph: Any) -> None:
    """Leaves out what a Resize gets as empty: after a cast, nobody would see that it is."""
    empty = {tensor.name for tensor in graph.initializer if 0 in tensor.dims}
    for node in graph.node:
        if node.op_type == "Resize":
            node.input[:] = ["" if name in empty else name for name in node.input]


def _hoist_invariants(graph: Any) -> None:
    """Lets loops read from outside what they would only hand on from step to step.

    That is every weight of a recurrent network: handed on, it is copied in each step.
    """
    needed = {output.name for output in graph.output}
    for node in graph.node:
        for body in _bodies(node):
            _hoist_invariants(body)
            if node.op_type == "Loop":
                _rename(graph, _hoist_from(node, body, needed))


def _hoist_from(loop: Any, body: Any, needed: set[str]) -> dict[str, str]:
    """Takes what is only handed on out of one loop; gives the names that its outputs had.

    A loop has inputs (limit, condition, *carried) and outputs (*carried, ...),
    its body (step, condition, *carried) and (condition, *carried, ...).
    """
    sources = {node.output[0]: node.input[0] for node in body.node if node.op_type == "Identity"}

    def source(name: str) -> str:
        return source(sources[name]) if name in sources else name

    inside, outside = {}, {}
    for place in reversed(range(len(loop.input) - 2)):
        inner, outer = body.input[2 + place].name, loop.input[2 + place]
        uses = [output.name for output in body.output].count(inner)
        handed_on = body.output[1 + place].name
        is_needed = loop.output[place] in needed or uses > (handed_on == inner)
        if source(handed_on) == inner and not is_needed:
            inside[inner], outside[loop.output[place]] = outer, outer
            del body.input[2 + place], loop.input[2 + place]
            del body.output[1 + place], loop.output[place]
    _rename(body, inside)
    return outside


def _rename(graph: Any, names: dict[str, str]) -> None:
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        for body in _bodies(node):
            _rename(body, names)


def _bodies(node: Any) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g


def _in_half(model: Any) -> Any:
    """Weights and arithmetic in float16; input, output, state and sums stay float32.

    A sum over a large map is beyond the range of float16; frameworks, too, take
    the moments of a norm in float32. No loop of the suite sums over a map, and the
    converter would put the casts around a sum in a loop outside of it.
    """
    from onnxruntime.transformers.float16 import convert_float_to_float16

    sums = [node.name for node in model.graph.node if node.op_type in REDUCTIONS]
    return convert_float_to_float16(model, keep_io_types=True, node_block_list=sums)


def main(recipe: str, path: str) -> None:
    """What the other process does."""
    data = json.loads(recipe)
    data |= {"shape": tuple(data["shape"]), "precision": Precision(data["precision"])}
    export(Recipe(**data), Path(path))


if __name__ == "__main__":
    main(*sys.argv[1:])
