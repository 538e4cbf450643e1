"""A function over tensors as one compiled step, in which neither Python nor the dispatcher acts."""

from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx


class Program:
    """A function over tensors that stay where they are: what they hold may change.

    The last argument is a tensor, those before it may be collections of tensors.

    The function is traced into one graph of PyTorch's own operations, loops
    unrolled and gradients written out; ``torch.compile`` makes kernels of it. On
    a GPU a CUDA graph then launches them all at once.
    """

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._function = function
        self._arguments = arguments
        self._replay: Callable[[], object] | None = None
        self.output: Any = None

    def __call__(self) -> None:
        """Runs the function once; may return before a GPU is done. The first call compiles."""
        if self._replay is None:
            self._replay = self._compiled()
        else:
            self._replay()

    def _compiled(self) -> Callable[[], object]:
        """Compiles, runs once, and gives what runs it again."""
        traced = make_fx(self._function, tracing_mode="fake", _allow_non_fake_inputs=True)(
            *self._arguments
        )
        compiled = torch.compile(traced, dynamic=False)

        def run() -> None:
            with torch.no_grad():
                self.output = compiled(*self._arguments)

        run()
        if not self._arguments[-1].is_cuda:
            return run
        first = self.output
        replay = captured(run)
        if first is not None:
            self.output.copy_(first)  # the graph's own output, which no replay has filled yet
        return replay


def captured(run: Callable[[], object]) -> Callable[[], object]:
    """What ``run`` launches on the GPU, as a CUDA graph; nothing of it is run meanwhile."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    replay: Callable[[], object] = graph.replay
    return replay


def wait(device: torch.device) -> None:
    """Returns when everything that was enqueued there is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_bytes(device: torch.device) -> int | None:
    """The peak of PyTorch's allocator on the GPU since the process began."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
