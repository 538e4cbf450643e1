"""What a benchmark is made of: plain frozen data, standard library only.

Shapes are NHWC without the batch; times are seconds; sizes are bytes.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

Shape = tuple[int, ...]


class Mode(StrEnum):
    """What one pass of a test does."""

    INFERENCE = "inference"
    TRAINING = "training"


class Suite(StrEnum):
    """A fixed set of tests with a scale of its own."""

    FULL = "full"
    MICRO = "micro"


class Protocol(StrEnum):
    """What is inside the timed region (docs/method.md)."""

    CLASSIC = "classic"
    RESIDENT = "resident"


class Precision(StrEnum):
    """In what numbers a backend computes; weights and outputs are float32 in all of them.

    ``DEFAULT`` is the framework's own choice. ``FP32`` forbids TF32 and ``TF32``
    allows it; ``FP16`` and ``BF16`` are mixed precision.
    """

    DEFAULT = "default"
    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"


class Xla(StrEnum):
    """Whether a whole step is one program of XLA; ``ALWAYS``: the framework knows nothing else."""

    OFF = "off"
    ON = "on"
    ALWAYS = "always"


class Probe(StrEnum):
    """Work of known size that shows what a device can do at most (``aiscore.roof``)."""

    ARITHMETIC = "arithmetic"
    MEMORY = "memory"
    LAUNCH = "launch"
    FEED = "feed"
    FETCH = "fetch"


class Status(StrEnum):
    """How a test ended. Only an ``ok`` test has a time that counts."""

    OK = "ok"
    OOM = "oom"
    TIMEOUT = "timeout"
    CRASH = "crash"
    UNSUPPORTED = "unsupported"
    INVALID_OUTPUT = "invalid_output"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


class Family(StrEnum):
    """The kind of work a network stands for."""

    CLASSIFICATION = "classification"
    IMAGE_TO_IMAGE = "image to image"
    SEGMENTATION = "segmentation"
    SEQUENCE = "recurrent and translation"


class DeviceKind(StrEnum):
    """Where a test runs. ``UNKNOWN``: where it ran, an imported log does not say."""

    CPU = "cpu"
    GPU = "gpu"
    UNKNOWN = "unknown"


KNOWN_KINDS = (DeviceKind.CPU, DeviceKind.GPU)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSpec:
    """One row of the suite: a network, a mode, a batch and its shapes.

    ``input`` and ``target`` are the shapes of one example. ``gflop`` is the
    forward pass of the whole batch, one multiply-accumulate counted as two;
    ``gigabytes`` is what its convolutions and matrix products read and write
    of float32 in that pass, every operand and every output once.
    """

    __test__: ClassVar[bool] = False  # the name is the domain's; pytest must not collect it

    id: str
    network: str
    title: str
    mode: Mode
    batch: int
    input: Shape
    target: Shape | None
    gflop: float
    gigabytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The facts of one network; its ``build`` stands beside it.

    ``parameters`` are those that training updates. ``backward`` is how many times
    the forward pass's operations a backward pass has: two, one for the gradients
    of the weights and one for those of the activations, unless weights are frozen.
    """

    name: str
    title: str
    family: Family
    paper: str
    parameters: int
    backward: float = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How often a test is timed (docs/method.md gives the reasons).

    No pass starts after ``max_seconds`` of a test, except that the first
    ``min_passes`` are always started unless ``hard_limit_s`` have passed. With
    ``early_stop`` a test ends once its time is well known. Under ``resident``
    all of this is said of the blocks that count: of as many passes as take
    ``block_seconds`` at most, or of a single longer one.
    """

    protocol: Protocol = Protocol.CLASSIC
    passes: int = 22
    min_passes: int = 5
    max_seconds: float = 30.0
    hard_limit_s: float = 100.0
    early_stop: bool = False
    block_seconds: float | None = None


RESIDENT_POLICY = Policy(protocol=Protocol.RESIDENT, passes=100, early_stop=True, block_seconds=0.2)
STANDARD_POLICY = {policy.protocol: policy for policy in (Policy(), RESIDENT_POLICY)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One test under one protocol: what is run, journalled and told of at a time."""

    test: TestSpec
    protocol: Protocol = Protocol.CLASSIC


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a throughput sweep: all that its points have in common but the batch."""

    network: str
    mode: Mode
    backend: str
    precision: Precision
    xla: Xla


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device that a backend can run on, named as its driver names it."""

    kind: DeviceKind
    index: int
    name: str
    uuid: str | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user may change of the way a backend runs.

    ``memory_fraction`` is the share of the GPU's memory that the framework
    may take; without it the framework grows on demand. ``xla``: the whole step
    is compiled by XLA, in a framework where that is a choice.
    """

    memory_fraction: float | None = None
    precision: Precision = Precision.DEFAULT
    xla: bool = False
