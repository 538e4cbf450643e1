"""Counts the floating-point operations and the memory traffic of a traced TensorFlow graph."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

LOOPS = ("While", "StatelessWhile")
CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")
INPUT_GRADIENTS = tuple(f"{name}BackpropInput" for name in CONVOLUTIONS)
KERNEL_GRADIENTS = tuple(f"{name}BackpropFilter" for name in CONVOLUTIONS)
COUNTED = (*CONVOLUTIONS, *INPUT_GRADIENTS, *KERNEL_GRADIENTS, "MatMul")


def count_flops(graph: Any) -> Counter[str]:
    """2 x multiply-accumulate per op type; a loop's body counts once for each of its steps."""
    return _count(graph, _flops)


def count_bytes(graph: Any) -> int:
    """What those ops read and write of float32: every operand and every output once."""
    return 4 * _count(graph, _values).total()


def _count(graph: Any, of: Callable[[Any], int]) -> Counter[str]:
    from tensorflow.python.framework import function_def_to_graph

    functions = {f.signature.name: f for f in graph.as_graph_def().library.function}
    found: Counter[str] = Counter()
    for op in graph.get_operations():
        if op.type in LOOPS:
            steps = _steps(op)
            definition = functions[op.get_attr("body").name]
            shapes = [tensor.shape for tensor in op.inputs]
            body = function_def_to_graph.function_def_to_graph(definition, shapes)
            for name, count in _count(body, of).items():
                found[name] += steps * count
        elif op.type in COUNTED:
            found[op.type] += of(op)
    return found


def _flops(op: Any) -> int:
    if op.type == "MatMul":
        inner = op.inputs[0].shape[0 if op.get_attr("transpose_a") else 1]
        return 2 * int(inner) * math.prod(op.outputs[0].shape)
    kernel = op.outputs[0] if op.type in KERNEL_GRADIENTS else op.inputs[1]
    positions = op.outputs[0] if op.type in CONVOLUTIONS else op.inputs[2]
    return 2 * _convolution(kernel.shape, positions.shape)


def _values(op: Any) -> int:
    operands = op.inputs[1:] if op.type in INPUT_GRADIENTS else op.inputs  # a shape comes first
    return sum(math.prod(tensor.shape) for tensor in (*operands, op.outputs[0]))


def _steps(loop: Any) -> int:
    """The length of what the loop reads, or else its maximum_iterations."""
    from tensorflow.python.framework import tensor_util

    read = [tensor.op for tensor in loop.inputs if tensor.op.type == "TensorListFromTensor"]
    if read:
        return int(read[0].inputs[0].shape[0])
    return int(tensor_util.constant_value(loop.inputs[1]))


def _convolution(kernel: Any, output: Any) -> int:
    """Multiply-accumulates: the whole kernel (height, width, in, out) at every position."""
    return math.prod(kernel) * math.prod(output[:3])
