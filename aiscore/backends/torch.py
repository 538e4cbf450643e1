"""PyTorch: a network is traced once, compiled by torch.compile, and replayed.

Called eagerly, a small network would measure PyTorch's dispatcher. Here a pass is
one compiled program (``torch_program``), on a GPU one launch of a CUDA graph. A
training step holds the gradient and Adam too, and writes the weights in place.
"""

import os
import shutil
from functools import partial
from typing import NamedTuple

import numpy as np

from aiscore import cuda_libraries
from aiscore.backends.base import (
    BETA_1,
    BETA_2,
    EPSILON,
    KERAS_POLICIES,
    LEARNING_RATE,
    LOSS_SCALE,
    Batch,
    MissingFramework,
    without_tf32,
)
from aiscore.spec import Device, DeviceKind, Mode, Network, Options, Precision, TestSpec
from workloads.words import as_float32

os.environ["KERAS_BACKEND"] = "torch"
os.environ["KERAS_TORCH_DEVICE"] = "cpu"  # or Keras asks for a GPU, and no fork could use one
try:
    import keras
    import torch
except ModuleNotFoundError as error:
    raise MissingFramework(str(error.name), "pip install 'aiscore[torch]'") from error

from aiscore.backends.torch_classifier import ClassifierSession
from aiscore.backends.torch_model import Model, Tensor, Tensors
from aiscore.backends.torch_program import Program, peak_bytes, wait
from aiscore.backends.torch_roof import TorchProbes


class TorchBackend:
    """PyTorch on the CPU or on a GPU."""

    name = "torch"
    for_gpu = "pip install 'aiscore[torch]'"

    def software(self) -> dict[str, str]:
        """Versions of PyTorch, Keras and the CUDA libraries."""
        versions = {"torch": torch.__version__, "keras": keras.__version__, "xla": "never"}
        return versions | cuda_libraries.versions() if torch.cuda.is_available() else versions

    def devices(self) -> list[Device]:
        """The CPU, and the GPUs that PyTorch can use."""
        gpus = [
            Device(kind=DeviceKind.GPU, index=index, name=torch.cuda.get_device_name(index))
            for index in range(torch.cuda.device_count())
        ]
        return [Device(kind=DeviceKind.CPU, index=0, name="CPU"), *gpus]

    def unsupported(self, test: TestSpec, device: Device, options: Options) -> str | None:
        """PyTorch has a compiler of its own, and it needs one for C++."""
        if options.xla:
            return "PyTorch has a compiler of its own: leave --xla out"
        if shutil.which(os.environ.get("CXX", "g++")) is None:
            return "PyTorch compiles with a C++ compiler, and there is none: install g++ or set CXX"
        return _without_tf32(device) if options.precision is Precision.TF32 else None

    def open(self, network: Network, device: Device, options: Options, seed: int) -> "Session":
        """Builds the network on the device."""
        return Session(network, _set_up(device, options), options.precision, seed)

    def open_classifier(
        self, network: Network, device: Device, options: Options, seed: int
    ) -> ClassifierSession:
        """Builds the network on the device."""
        return ClassifierSession(network, _set_up(device, options), options.precision, seed)

    def probes(self, device: Device, options: Options) -> TorchProbes:
        """Its work on that device, in every precision that the device has."""
        kinds = [kind for kind in Precision if kind is not Precision.TF32]
        return TorchProbes(_device(device), kinds if _without_tf32(device) else list(Precision))

    def is_out_of_memory(self, error: BaseException) -> bool:
        """The GPU's allocator says so, or the host's."""
        if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
            return True
        says = str(error).lower() if isinstance(error, RuntimeError) else ""
        return "out of memory" in says or "can't allocate memory" in says


def _set_up(device: Device, options: Options) -> torch.device:
    """Precision, the choice of kernels and the share of the memory, for this process."""
    keras.config.set_dtype_policy(KERAS_POLICIES.get(options.precision, "float32"))
    if options.precision in (Precision.FP32, Precision.TF32):  # else as PyTorch does
        tf32 = options.precision is Precision.TF32
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True  # kernels are chosen in the first pass, as elsewhere
    where = _device(device)
    if options.memory_fraction is not None and where.type == "cuda":
        torch.cuda.set_per_process_memory_fraction(options.memory_fraction, where)
    return where


def _device(device: Device) -> torch.device:
    if device.kind is DeviceKind.CPU:
        return torch.device("cpu")
    torch.cuda.set_device(device.index)
    return torch.device("cuda", device.index)


def _without_tf32(device: Device) -> str | None:
    """Why the device cannot compute in TF32."""
    gpu = device.kind is DeviceKind.GPU
    return without_tf32(device, torch.cuda.get_device_capability(device.index) if gpu else None)


class TrainingState(NamedTuple):
    """What a training step reads and overwrites."""

    weights: Tensors
    means: Tensors
    variances: Tensors
    steps: Tensor
    loss_scale: Tensor


class Session:
    """One network on one device: all of its tests share the weights."""

    def __init__(
        self, network: Network, device: torch.device, precision: Precision, seed: int
    ) -> None:
        self._model = Model(network, device, seed)
        self._device = device
        self._scales_loss = precision is Precision.FP16
        self._training: TrainingState | None = None
        self._program: Program | None = None
        self._prepared: str | None = None  # the test that the program is for

    def prepare(self, test: TestSpec, batch: Batch) -> None:
        """Makes the optimiser for the first training test. A test's first pass compiles."""
        if test.id == self._prepared:  # under another protocol: the program is the same
            return
        self._program = None  # lets go of what the last test needed
        self._prepared = test.id
        self._mode = test.mode
        self._input = self._like(batch.input)
        if test.mode is Mode.INFERENCE or batch.target is None:
            model = self._model
            self._program = Program(model, model.weights, model.fixed, self._input)
            return
        if self._training is None:
            scale = LOSS_SCALE / batch.target.size if self._scales_loss else 1.0
            self._training = self._new_training(scale)
        self._target = self._like(batch.target)
        step = partial(_step, self._model, self._scales_loss)
        self._program = Program(step, self._training, self._model.fixed, self._input, self._target)

    def _like(self, values: np.ndarray) -> Tensor:
        return torch.empty_like(torch.from_numpy(as_float32(values)), device=self._device)

    def _new_training(self, loss_scale: float) -> TrainingState:
        weights = self._model.weights
        return TrainingState(
            weights=weights,
            means=[torch.zeros_like(weight) for weight in weights],
            variances=[torch.zeros_like(weight) for weight in weights],
            steps=torch.zeros((), device=self._device),
            loss_scale=torch.tensor(loss_scale, device=self._device),
        )

    def classic_pass(self, batch: Batch) -> np.ndarray | None:
        """One run of the program, from and to the host."""
        self.place(batch)
        self.resident_pass()
        if self._mode is Mode.INFERENCE:
            return self._fetch()
        self.sync()
        return None

    def place(self, batch: Batch) -> None:
        """Copies input and target to the device."""
        self._input.copy_(torch.from_numpy(as_float32(batch.input)))
        if self._mode is Mode.TRAINING and batch.target is not None:
            self._target.copy_(torch.from_numpy(as_float32(batch.target)))

    def resident_pass(self) -> None:
        """Enqueues one run of the program on what was placed."""
        if self._program is None:
            raise RuntimeError("no test was prepared")
        self._program()

    def sync(self) -> None:
        """Waits for the GPU."""
        wait(self._device)

    def output(self, batch: Batch) -> np.ndarray:
        """The network's output: after training, of an eager pass."""
        self.place(batch)
        if self._mode is Mode.INFERENCE:
            self.resident_pass()
            return self._fetch()
        with torch.no_grad():
            output = self._model(self._model.weights, self._model.fixed, self._input)
        values: np.ndarray = output.cpu().numpy()
        return values

    def _fetch(self) -> np.ndarray:
        values: np.ndarray = self._program.output.cpu().numpy()  # type: ignore[union-attr]
        return values

    def peak_device_bytes(self) -> int | None:
        """The peak of PyTorch's allocator on the GPU since the process began."""
        return peak_bytes(self._device)

    def close(self) -> None:
        """Gives up everything on the device."""
        self._program = self._training = None
        del self._model


def _step(
    model: Model,
    scales_loss: bool,
    state: TrainingState,
    fixed: Tensors,
    x: Tensor,
    target: Tensor,
) -> None:
    """One training step on the sum of squared errors."""
    with torch.enable_grad():
        weights = [weight.detach().requires_grad_() for weight in state.weights]
        error = torch.sum(torch.square(model(weights, fixed, x) - target))
        loss = error * state.loss_scale if scales_loss else error
        gradients = torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True)
    with torch.no_grad():
        if scales_loss:
            gradients = _unscale(gradients, state.loss_scale)
        _adam(state, gradients)


def _unscale(gradients: tuple[Tensor, ...], scale: Tensor) -> tuple[Tensor, ...]:
    """The gradients of the loss itself; changes the scale for the next step (arXiv:1710.03740).

    Gradients that are not finite are taken for zeros and halve the scale. It
    never grows again, for no test is that long.
    """
    finite = torch.stack([torch.isfinite(gradient).all() for gradient in gradients]).all()
    unscaled = tuple(torch.where(finite, gradient / scale, 0.0) for gradient in gradients)
    scale.copy_(torch.where(finite, scale, scale / 2))
    return unscaled


def _adam(state: TrainingState, gradients: tuple[Tensor, ...]) -> None:
    """Adam as in TensorFlow's v1 optimiser: epsilon stands outside the bias correction."""
    state.steps.add_(1)
    rate = LEARNING_RATE * torch.sqrt(1 - BETA_2**state.steps) / (1 - BETA_1**state.steps)
    for weight, mean, variance, gradient in zip(
        state.weights, state.means, state.variances, gradients, strict=True
    ):
        mean.lerp_(gradient, 1 - BETA_1)
        variance.mul_(BETA_2).addcmul_(gradient, gradient, value=1 - BETA_2)
        weight.sub_(rate * mean / (variance.sqrt() + EPSILON))
