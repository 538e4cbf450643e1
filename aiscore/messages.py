"""What the parent and a worker say to each other: one JSON object a line.

The parent writes a ``Job`` to the worker's standard input, the next one when
that has ``Ended``, and keeps the pipe open: its end tells the worker that the
parent is gone. The worker answers over an inherited descriptor, so that what a
framework prints never mixes with a measurement. Standard library only.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from aiscore.spec import (
    Device,
    DeviceKind,
    Mode,
    Options,
    Policy,
    Precision,
    Probe,
    Protocol,
    Status,
    Suite,
    TestSpec,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker has to do. Without ``network`` it only describes the backend.

    ``trials``: the ids of tests, each with its protocol, in order; ``tests`` are
    those of them that no suite has. ``policies`` holds one for each of these
    protocols. With ``count_operations`` each test
    ends with a pass in which its operations are counted. With ``roof`` the
    worker measures what the device can do, and runs no test. ``environment`` is set
    in the process that does the job, which has the worker's otherwise.
    """

    backend: str
    suite: Suite = Suite.FULL
    roof: bool = False
    network: str | None = None
    trials: tuple[tuple[str, Protocol], ...] = ()
    tests: tuple[TestSpec, ...] = ()
    device: Device | None = None
    options: Options = field(default_factory=Options)
    policies: tuple[Policy, ...] = (Policy(),)
    count_operations: bool = False
    seed: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "Job":
        """The inverse of ``to_json``."""
        data = json.loads(line)
        device = data.pop("device")
        options = data.pop("options")
        return cls(
            backend=data.pop("backend"),
            suite=Suite(data.pop("suite")),
            trials=tuple((test, Protocol(protocol)) for test, protocol in data.pop("trials")),
            tests=tuple(map(_test_from_dict, data.pop("tests"))),
            device=None if device is None else device_from_dict(device),
            options=Options(**{**options, "precision": Precision(options["precision"])}),
            policies=tuple(
                Policy(**{**policy, "protocol": Protocol(policy["protocol"])})
                for policy in data.pop("policies")
            ),
            **data,
        )


def _test_from_dict(data: dict[str, Any]) -> TestSpec:
    target = data["target"]
    shapes = {"input": tuple(data["input"]), "target": None if target is None else tuple(target)}
    return TestSpec(**{**data, **shapes, "mode": Mode(data["mode"])})


def device_from_dict(data: dict[str, Any]) -> Device:
    """The inverse of ``dataclasses.asdict`` for a device."""
    return Device(**{**data, "kind": DeviceKind(data["kind"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The framework is imported: its versions, what it can run on, who does the job.

    ``import_s`` is what the import took the worker, once for all of its jobs.
    ``for_gpu``: the command that brings the framework to NVIDIA's GPUs, if it is known.
    """

    event: ClassVar[str] = "ready"
    pid: int
    software: dict[str, str]
    devices: tuple[Device, ...]
    import_s: float
    for_gpu: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """The backend cannot run here at all: what is missing and what brings it."""

    event: ClassVar[str] = "unavailable"
    reason: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """The times of a probe, or the ``problem`` that there are none.

    ``work`` is what one pass does: floating-point operations (arithmetic),
    bytes (memory, feed, fetch) or operations (launch).
    """

    event: ClassVar[str] = "probed"
    kind: Probe
    precision: Precision | None = None
    work: float | None = None
    passes_s: tuple[float, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """The worker goes on to ``phase`` of a test: prepare, passes or check."""

    event: ClassVar[str] = "phase"
    test: str
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """Passes timed since the last such message, in order, the first pass included.

    Of a resident test, the mean pass of each block: of ``block_passes`` passes.
    """

    event: ClassVar[str] = "passes"
    test: str
    passes_s: tuple[float, ...]
    block_passes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A test ended. Its passes were sent before."""

    event: ClassVar[str] = "finished"
    test: str
    status: Status
    prepare_s: float | None = None
    peak_rss_bytes: int | None = None
    peak_device_bytes: int | None = None
    operations: int | None = None
    error_type: str | None = None
    error_message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The process that did the job is gone: its exit status, or minus its signal's number."""

    event: ClassVar[str] = "ended"
    exit_status: int


Message = Ready | Unavailable | Probed | Phase | Passes | Finished | Ended
_BY_EVENT: dict[str, type[Message]] = {
    kind.event: kind for kind in (Ready, Unavailable, Probed, Phase, Passes, Finished, Ended)
}


def encode(message: Message) -> str:
    """One line, without its end."""
    return json.dumps({"event": message.event, **asdict(message)})


def decode(line: str) -> Message:
    """The inverse of ``encode``; raises ValueError for anything else."""
    try:
        data = json.loads(line)
        kind = _BY_EVENT[data.pop("event")]
        if kind is Ready:
            data["devices"] = tuple(device_from_dict(device) for device in data["devices"])
        if kind is Probed:
            precision = data["precision"]
            data["kind"] = Probe(data["kind"])
            data["precision"] = None if precision is None else Precision(precision)
        if kind in (Probed, Passes):
            data["passes_s"] = tuple(data["passes_s"])
        if kind is Passes:
            data["block_passes"] = tuple(data["block_passes"])
        if kind is Finished:
            data["status"] = Status(data["status"])
        return kind(**data)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a worker's message: {line[:200]!r}") from error
