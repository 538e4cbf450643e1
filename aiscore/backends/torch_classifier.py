"""How PyTorch trains a classifier, and runs it: one compiled program, weights written in place."""

from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from aiscore.backends.base import (
    CROSS_ENTROPY_SCALE,
    MOMENTUM,
    SGD_RATE,
    WEIGHT_DECAY,
    Batch,
)
from aiscore.backends.torch_model import Model, Tensor, Tensors
from aiscore.backends.torch_program import Program, peak_bytes, wait
from aiscore.spec import Mode, Network, Precision, TestSpec


class ClassifierSession:
    """One classifier on one device."""

    def __init__(
        self, network: Network, device: torch.device, precision: Precision, seed: int
    ) -> None:
        self._model = Model(network, device, seed)
        self._scale = CROSS_ENTROPY_SCALE if precision is Precision.FP16 else 1.0
        self._seed = seed
        self._program: Program | None = None

    def prepare(self, test: TestSpec, batch: Batch) -> None:
        """Remembers what the test is."""
        self._trains = test.mode is Mode.TRAINING

    def place(self, batch: Batch) -> None:
        """Draws images and labels on the device, and runs the first pass."""
        count, classes = batch.target.shape if batch.target is not None else (0, 1)
        device = self._model.device
        generator = torch.Generator(device).manual_seed(self._seed)
        images = torch.rand(batch.input.shape, generator=generator, device=device) * 2 - 1
        labels = torch.randint(classes, (count,), generator=generator, device=device)
        self._use(images, labels)
        self.resident_pass()
        self.sync()

    def _use(self, images: Tensor, labels: Tensor) -> None:
        model = self._model
        if self._trains:
            momenta = [torch.zeros_like(weight) for weight in model.weights]
            state = State(model.weights, momenta, model.fixed)
            self._program = Program(partial(_train, model, self._scale), state, images, labels)
        else:
            self._program = Program(model, model.weights, model.fixed, images)

    def resident_pass(self) -> None:
        """Enqueues one run of the program."""
        if self._program is None:
            raise RuntimeError("no batch was placed")
        self._program()

    def sync(self) -> None:
        """Waits for the GPU."""
        wait(self._model.device)

    def output(self, batch: Batch) -> np.ndarray:
        """The logits of the last pass."""
        logits: np.ndarray = self._program.output.cpu().numpy()  # type: ignore[union-attr]
        return logits

    def peak_device_bytes(self) -> int | None:
        """The peak of PyTorch's allocator on the GPU since the process began."""
        return peak_bytes(self._model.device)

    def close(self) -> None:
        """Gives up everything on the device."""
        self._program = None
        del self._model


class State(NamedTuple):
    """What a training step reads and overwrites."""

    weights: Tensors
    momenta: Tensors
    averages: Tensors


def _train(model: Model, loss_scale: float, state: State, images: Tensor, labels: Tensor) -> Tensor:
    """One step of SGD on the softmax cross-entropy; gives the logits."""
    with torch.enable_grad():
        weights = [weight.detach().requires_grad_() for weight in state.weights]
        logits = model(weights, state.averages, images, training=True)
        loss = functional.cross_entropy(logits, labels) * loss_scale
        gradients = torch.autograd.grad(loss, weights)
    with torch.no_grad():
        for weight, momentum, gradient in zip(state.weights, state.momenta, gradients, strict=True):
            momentum.mul_(MOMENTUM).add_(gradient / loss_scale).add_(weight, alpha=WEIGHT_DECAY)
            weight.sub_(momentum, alpha=SGD_RATE)
    return logits.detach()
