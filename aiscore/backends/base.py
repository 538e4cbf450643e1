"""What a backend must do. One file beside this one is one backend.

A backend is found by its name through the entry points ``aiscore.backends``
(setup.cfg) and is imported in a worker process only: the parent never imports
a framework. A backend names no network, and the runner names no backend.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from aiscore.spec import Device, DeviceKind, Network, Options, Precision, TestSpec

if TYPE_CHECKING:
    import numpy as np  # the parent asks for the backends' names, and needs no arrays

ENTRY_POINT_GROUP = "aiscore.backends"
Call = Callable[[], object]

LEARNING_RATE = 1e-4  # of Adam, whose other numbers are its defaults:
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
LOSS_SCALE = 2.0**15  # at first, for a mean of squares
SGD_RATE, MOMENTUM, WEIGHT_DECAY = 0.01, 0.9, 1e-4  # of classifiers
CROSS_ENTROPY_SCALE = 128.0  # of float16, and fixed: that of NVIDIA's ResNet-50 v1.5
KERAS_POLICIES = {Precision.FP16: "mixed_float16", Precision.BF16: "mixed_bfloat16"}
TF32_CAPABILITY = (8, 0)


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch on the host, as the original feeds it: float64, or text."""

    input: "np.ndarray"
    target: "np.ndarray | None"


class MissingFramework(Exception):
    """The backend's framework is not installed; ``install`` names what brings it."""

    def __init__(self, framework: str, install: str) -> None:
        self.framework = framework
        self.install = install
        super().__init__(f"{framework} is not installed: {install}")


def without_tf32(device: Device, capability: tuple[int, int] | None) -> str | None:
    """Why a device with this compute capability, where it is known, cannot compute in TF32."""
    if device.kind is DeviceKind.CPU:
        return "TF32 is a number format of NVIDIA GPUs, not of CPUs"
    if capability is None or capability >= TF32_CAPABILITY:
        return None
    needed, found = (".".join(map(str, pair)) for pair in (TF32_CAPABILITY, capability))
    return f"TF32 needs compute capability {needed}, the GPU has {found}"


@runtime_checkable
class ResidentSession(Protocol):
    """One network on one device: its tests are prepared and run in order.

    Whatever the framework turns out not to have is a NotImplementedError.
    """

    def prepare(self, test: TestSpec, batch: Batch) -> None:
        """Builds and compiles what this test needs. Nothing of it is timed."""
        ...

    def place(self, batch: Batch) -> None:
        """Puts the batch on the device, where resident passes find it. Nothing of it is timed."""
        ...

    def resident_pass(self) -> None:
        """Enqueues one pass over the placed batch (training: a step); the output stays there."""
        ...

    def sync(self) -> None:
        """Returns when everything that was enqueued is done."""
        ...

    def output(self, batch: Batch) -> "np.ndarray":
        """The test's output, for checking outside the timed region.

        Training tests give the network's output after the steps so far.
        """
        ...

    def peak_device_bytes(self) -> int | None:
        """Peak memory that the framework took on the device; None if it cannot tell."""
        ...

    def close(self) -> None:
        """Frees the device."""
        ...


@runtime_checkable
class Session(ResidentSession, Protocol):
    """A session that has the original's passes too."""

    def classic_pass(self, batch: Batch) -> "np.ndarray | None":
        """Host batch in, host output out (training: a step, and nothing out)."""
        ...


@runtime_checkable
class Backend(Protocol):
    """A framework that can run the networks."""

    name: str

    def software(self) -> dict[str, str]:
        """Versions of the framework and of the libraries it loaded."""
        ...

    def devices(self) -> list[Device]:
        """The devices that this framework can use here, the CPU among them."""
        ...

    def unsupported(self, test: TestSpec, device: Device, options: Options) -> str | None:
        """Why this backend cannot run the test on the device in this way; None if it can."""
        ...

    def open(self, network: Network, device: Device, options: Options, seed: int) -> Session:
        """Builds the network with seeded weights, ready to prepare its tests."""
        ...

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether this error of the framework means that memory ran out."""
        ...


@runtime_checkable
class Classifying(Protocol):
    """A backend that also trains classifiers as they are trained (docs/throughput.md)."""

    def open_classifier(
        self, network: Network, device: Device, options: Options, seed: int
    ) -> ResidentSession:
        """Builds the network with seeded weights, ready for one test.

        A training step: batch norm by the batch, softmax cross-entropy, SGD with
        momentum and weight decay. The session makes its own images and labels on
        the device when it places the batch, of which only the shape counts, and
        runs the first pass then, which compiles.
        """
        ...


@runtime_checkable
class Counting(Protocol):
    """A session that can tell what it launches, so that its cost is known."""

    def operations(self, batch: Batch) -> int | None:
        """How many operations the device is given in one pass; None if that cannot be told.

        May run a pass. Nothing of it is timed.
        """
        ...


class Probes(Protocol):
    """Work of known size, done on a device as this framework has it done (``aiscore.roof``).

    Every method makes ready what its work needs, and gives a call that does the
    work once and returns when it is done.
    """

    precisions: Sequence[Precision]
    """In what the device can multiply matrices, the framework's default first."""

    def product(self, precision: Precision, size: int, count: int) -> Call:
        """``count`` products of matrices of that size in one step, each with the one before.

        The numbers are random, and stay in the range of the precision.
        """
        ...

    def add(self, values: int, count: int) -> Call:
        """Adds a float32 array in the device's memory to another, ``count`` times in one step."""
        ...

    def feed(self, batch: "np.ndarray") -> Call:
        """Takes a float64 batch to the device as float32, in the way of a classic pass."""
        ...

    def fetch(self, values: int) -> Call:
        """Takes a float32 array from the device to the host, in the way of a classic pass."""
        ...


@runtime_checkable
class Measurable(Protocol):
    """A backend that can show what a device can do at most."""

    def probes(self, device: Device, options: Options) -> Probes:
        """The work that shows it, on this device."""
        ...


@runtime_checkable
class Advising(Protocol):
    """A backend that knows what brings its framework to NVIDIA's GPUs."""

    for_gpu: str
    """The command that installs it."""


@runtime_checkable
class Simulated(Protocol):
    """A test double that stands in for time and data as well as for a framework."""

    def clock_ns(self) -> int:
        """The clock by which its passes are timed, in nanoseconds."""
        ...

    def make_batch(self, test: TestSpec, seed: int) -> Batch:
        """The batch of a test, in place of ``workloads.data.make_batch``."""
        ...


def names() -> list[str]:
    """The names of the installed backends, without importing any."""
    return sorted(point.name for point in entry_points(group=ENTRY_POINT_GROUP))


def load(name: str) -> Backend:
    """Imports the backend of that name; raises ``MissingFramework``."""
    (point,) = entry_points(group=ENTRY_POINT_GROUP, name=name)
    backend: Backend = point.load()()
    return backend
