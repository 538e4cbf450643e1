"""The work by which PyTorch shows what a device can do at most (``aiscore.roof``)."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from aiscore.backends.base import Call
from aiscore.backends.torch_program import captured, wait
from aiscore.spec import Precision

TYPES = {Precision.FP16: torch.float16, Precision.BF16: torch.bfloat16}
TF32 = {Precision.FP32: False, Precision.TF32: True}
"""Whether products are in TF32; else it is PyTorch's own choice."""


class TorchProbes:
    """Operations one after the other, on a GPU from a CUDA graph, like the tests."""

    def __init__(self, device: torch.device, precisions: Sequence[Precision]) -> None:
        self.precisions = precisions
        self._device = device
        self._default = torch.backends.cuda.matmul.allow_tf32

    def product(self, precision: Precision, size: int, count: int) -> Call:
        """A chain of products; the left matrix keeps the length of what it multiplies."""
        kind = TYPES.get(precision, torch.float32)
        left = (self._random(size, 0) * size**-0.5).to(kind)
        right = self._random(size, 1).to(kind)
        made = [torch.empty_like(right) for _ in range(min(2, count))]
        torch.backends.cuda.matmul.allow_tf32 = TF32.get(precision, self._default)

        def chain() -> None:
            last = right
            for turn in range(count):
                last = torch.matmul(left, last, out=made[turn % 2])

        return self._waiting(chain)

    def _random(self, size: int, seed: int) -> torch.Tensor:
        values = np.random.default_rng(seed).standard_normal((size, size), np.float32)
        return torch.from_numpy(values).to(self._device)

    def add(self, values: int, count: int) -> Call:
        """In place."""
        total = torch.zeros(values, device=self._device)
        part = torch.ones(values, device=self._device)

        def add() -> None:
            for _ in range(count):
                total.add_(part)

        return self._waiting(add)

    def feed(self, batch: np.ndarray) -> Call:
        """The conversion on the host, and the copy into an array that is there."""
        placed = torch.empty(batch.shape, device=self._device)
        return lambda: self._wait(placed.copy_(torch.from_numpy(batch.astype(np.float32))))

    def fetch(self, values: int) -> Call:
        """A new array each time; on the CPU, where an output already is, a copy of it."""
        source = torch.zeros(values, device=self._device)
        return lambda: source.to("cpu", copy=True).numpy()

    def _waiting(self, work: Callable[[], None]) -> Call:
        """The work, and a wait for its end."""
        run: Callable[[], object] = work
        if self._device.type == "cuda":
            work()  # libraries make themselves ready, which no graph can hold
            run = captured(work)
        return lambda: self._wait(run())

    def _wait(self, _: object) -> None:
        wait(self._device)
