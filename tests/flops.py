"""Counts the floating-point operations of a traced TensorFlow function, by op."""

import math
from collections import Counter
from typing import Any

LOOPS = ("While", "StatelessWhile")


def count_flops(graph: Any) -> Counter[str]:
    """2 x multiply-accumulate per op type; a loop's body counts once for each of its steps."""
    from tensorflow.python.framework import function_def_to_graph

    functions = {f.signature.name: f for f in graph.as_graph_def().library.function}
    flops: Counter[str] = Counter()
    for op in graph.get_operations():
        if op.type in LOOPS:
            steps = _steps(op)
            definition = functions[op.get_attr("body").name]
            shapes = [tensor.shape for tensor in op.inputs]
            body = function_def_to_graph.function_def_to_graph(definition, shapes)
            for name, count in count_flops(body).items():
                flops[name] += steps * count
        elif op.type in ("Conv2D", "DepthwiseConv2dNative"):
            flops[op.type] += 2 * _convolution(op.inputs[1].shape, op.outputs[0].shape)
        elif op.type == "Conv2DBackpropInput":
            flops[op.type] += 2 * _convolution(op.inputs[1].shape, op.inputs[2].shape)
        elif op.type == "MatMul":
            inner = op.inputs[0].shape[0 if op.get_attr("transpose_a") else 1]
            flops[op.type] += 2 * inner * math.prod(op.outputs[0].shape)
    return flops


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
