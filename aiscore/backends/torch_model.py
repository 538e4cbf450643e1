"""A Keras model on PyTorch, as a function of weights that lie in tensors of our own."""

import importlib
from collections.abc import Sequence
from typing import Any

import keras
import torch

from aiscore.spec import Network

Tensor = Any
Tensors = list[Tensor]


class Model:
    """One network on one device, with seeded weights."""

    def __init__(self, network: Network, device: torch.device, seed: int) -> None:
        keras.config.disable_traceback_filtering()  # it hides what a network says it cannot do
        keras.utils.set_random_seed(seed)
        self.device = device
        with self._here():
            self._model = importlib.import_module(f"workloads.{network.name}").build()
        self.weights = [_stored(variable) for variable in self._model.trainable_variables]
        self.fixed = [_stored(variable) for variable in self._model.non_trainable_variables]

    def _here(self) -> Any:
        return keras.device(str(self.device))

    def __call__(
        self, weights: Sequence[Tensor], fixed: Sequence[Tensor], x: Tensor, training: bool = False
    ) -> Tensor:
        """The output, float32 or ids; what a pass writes to its variables is written to ``fixed``.

        (Batch norm's averages, and the vectors of Nvidia-SPADE.)
        """
        variables = [*self._model.trainable_variables, *self._model.non_trainable_variables]
        values = [*weights, *fixed]
        with self._here(), keras.StatelessScope(zip(variables, values, strict=True)) as scope:
            output: Tensor = self._model(x, training=training)
        for old, variable in zip(fixed, self._model.non_trainable_variables, strict=True):
            new = scope.get_current_value(variable)
            if new is not old:
                old.copy_(new.detach())
        return output.float() if output.is_floating_point() else output


def _stored(variable: Any) -> Tensor:
    """The value of a variable; a convolution's kernel lies as cuDNN wants it beside NHWC maps.

    Keras's kernels are (height, width, inputs, outputs), cuDNN's (outputs, height,
    width, inputs): of another layout every pass would make a copy.
    """
    value: Tensor = variable.value.detach()
    if value.ndim != 4:
        return value.clone()
    return value.permute(3, 0, 1, 2).contiguous().permute(1, 2, 3, 0)
