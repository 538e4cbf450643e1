"""The test double: a backend that computes nothing, for the tests of everything else.

Its passes take the times and fail in the ways that a script says. The clock
is simulated: a second of passes takes no time. Its results are never
comparable with the leaderboard, and ``--help`` does not name it.

The environment variable ``AISCORE_FAKE_SCRIPT`` names a JSON file, all of it
optional::

    {"start": "exit" | "hang" | "missing" | "print",  what its start does
     "devices": [{"kind": "gpu", "index": 0, "name": "...", "uuid": "..."}],
     "software": {"fake": "1"},
     "roof": {"fp16": 4e13, "memory": 1e12},       changes of RATES; a failure of IN_A_PASS
                                                   in place of a rate
     "tests": {"1.1": {"passes_ms": [3, 1],       cycled
                       "failure": "oom",          one of FAILURES
                       "at_pass": 2,              from 0, which is the default
                       "operations": 500,         that one pass has
                       "image_bytes": 1e9,        that one image takes: too many are an oom
                       "resident": {...}},        the same of its resident passes
               "*": {...}}}                       every test that is not named
"""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from aiscore.backends.base import Batch, Call, MissingFramework
from aiscore.messages import device_from_dict
from aiscore.spec import Device, DeviceKind, Mode, Network, Options, Precision, TestSpec

SCRIPT_VARIABLE = "AISCORE_FAKE_SCRIPT"
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
HOST_SHARE = 0.2  # of a classic pass, without a script
RATES = {
    "default": 1.6e13,
    "fp32": 1.6e13,
    "memory": 1e12,
    "launch": 1e6,
    "feed": 1e11,
    "fetch": 1e11,
}
"""What its device does in a second: floating-point operations, bytes, operations."""
CPU = Device(kind=DeviceKind.CPU, index=0, name="Fake CPU")


class FakeOutOfMemory(Exception):
    """What a framework would raise when its device is full."""


def _out_of_memory() -> NoReturn:
    raise FakeOutOfMemory("the script says that memory ran out")


def _error() -> NoReturn:
    raise RuntimeError("the script says that this pass fails")


def _babble() -> NoReturn:
    for _ in range(1 << 16):
        print("the script says that this pass has much to say, and then fails")
    _error()


def _signal(number: signal.Signals) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def _hang() -> NoReturn:
    while True:
        time.sleep(3600)


def _stubborn() -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "3600"])  # noqa: S607  it inherits what is ignored
    print(os.getpid(), child.pid, flush=True)
    _hang()


def _flood() -> NoReturn:
    while True:
        os.write(int(sys.argv[1]), b"x" * (1 << 16))  # an answer without an end


def _garbage() -> None:
    os.write(int(sys.argv[1]), b'{"event": "\xff\n')  # into the worker's answers
    _hang()


IN_A_PASS: dict[str, Callable[[], None]] = {
    "oom": _out_of_memory,
    "error": _error,
    "segfault": _signal(signal.SIGSEGV),
    "kill": _signal(signal.SIGKILL),
    "hang": _hang,
    "stubborn": _stubborn,
    "babble": _babble,
    "garbage": _garbage,
    "flood": _flood,
    "abort": os.abort,
}
FAILURES = (*IN_A_PASS, "not_finite", "wrong_shape", "unsupported")


class FakeBackend:
    """Runs nothing, by a script."""

    name = "fake"
    for_gpu = "pip install fakework-gpu"

    def __init__(self) -> None:
        path = os.environ.get(SCRIPT_VARIABLE)
        self.script: dict[str, Any] = json.loads(Path(path).read_text()) if path else {}
        self.now_ns = 0
        match self.script.get("start"):
            case "exit":
                print("the script says that the worker does not start", file=sys.stderr, flush=True)
                os._exit(1)
            case "hang":
                _hang()
            case "print":
                print("the script says that the framework greets")
            case "missing":
                raise MissingFramework("Fakework", "pip install fakework")

    def clock_ns(self) -> int:
        """The simulated time."""
        return self.now_ns

    def make_batch(self, test: TestSpec, seed: int) -> Batch:
        """Next to nothing: the suite's real batches take seconds to make."""
        return Batch(input=np.zeros(1), target=None)

    def software(self) -> dict[str, str]:
        """As scripted."""
        return dict(self.script.get("software", {"fake": "1"}))

    def devices(self) -> list[Device]:
        """As scripted; a CPU without a script."""
        if "devices" not in self.script:
            return [CPU]
        return [device_from_dict(device) for device in self.script["devices"]]

    def unsupported(self, test: TestSpec, device: Device, options: Options) -> str | None:
        """As scripted."""
        failure = self.rules(test).get("failure")
        return "the script says so" if failure == "unsupported" else None

    def open(self, network: Network, device: Device, options: Options, seed: int) -> "FakeSession":
        """A session that needs nothing."""
        return FakeSession(self, (device.memory_bytes or math.inf) * (options.memory_fraction or 1))

    def open_classifier(
        self, network: Network, device: Device, options: Options, seed: int
    ) -> "FakeSession":
        """The same."""
        return self.open(network, device, options, seed)

    def probes(self, device: Device, options: Options) -> "FakeProbes":
        """As scripted."""
        return FakeProbes(self)

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Only the error that the script raises."""
        return isinstance(error, FakeOutOfMemory)

    def rules(self, test: TestSpec) -> dict[str, Any]:
        """What the script says of a test."""
        tests = self.script.get("tests", {})
        rules: dict[str, Any] = tests.get(test.id, tests.get("*", {}))
        for failure in (rules.get("failure"), rules.get("resident", {}).get("failure")):
            if failure not in (None, *FAILURES):
                raise ValueError(f"no such failure: {failure!r}")
        return rules


class FakeProbes:
    """Work that takes as long as the script says."""

    def __init__(self, backend: FakeBackend) -> None:
        self._backend = backend
        self._rates: dict[str, float | str] = {**RATES, **backend.script.get("roof", {})}
        self.precisions = [precision for precision in Precision if precision in self._rates]

    def product(self, precision: Precision, size: int, count: int) -> Call:
        """Multiplying and launching take time."""
        return self._call({precision: 2 * size**3 * count, "launch": count})

    def add(self, values: int, count: int) -> Call:
        """Twelve bytes a value, and the launching."""
        return self._call({"memory": 12 * values * count, "launch": count})

    def feed(self, batch: np.ndarray) -> Call:
        """Its bytes."""
        return self._call({"feed": batch.nbytes})

    def fetch(self, values: int) -> Call:
        """Four bytes a value."""
        return self._call({"fetch": 4 * values})

    def _call(self, work: dict[str, float]) -> Call:
        def call() -> None:
            for name, amount in work.items():
                rate = self._rates[name]
                if isinstance(rate, str):
                    IN_A_PASS[rate]()
                else:
                    self._backend.now_ns += round(amount / rate * NS_PER_S)

        return call


class FakeSession:
    """One network that is not there."""

    def __init__(self, backend: FakeBackend, room_bytes: float = math.inf) -> None:
        self._backend = backend
        self._room_bytes = room_bytes

    def prepare(self, test: TestSpec, batch: Batch) -> None:
        """Takes the rules of this test, and the memory."""
        self._test = test
        rules = self._backend.rules(test)
        self._taken_bytes = round(test.batch * rules.get("image_bytes", 0))
        if self._taken_bytes > self._room_bytes:
            _out_of_memory()
        self._follow(rules, rules.get("passes_ms", default_passes_ms(test)))

    def _follow(self, rules: dict[str, Any], passes_ms: list[float]) -> None:
        self._failure = rules.get("failure")
        self._at_pass = rules.get("at_pass", 0)
        self._passes_ms = passes_ms
        self._index = 0

    def classic_pass(self, batch: Batch) -> np.ndarray | None:
        """Moves the clock on, or fails."""
        self._pass()
        return None

    def place(self, batch: Batch) -> None:
        """Takes the rules of this test's resident passes."""
        rules = self._backend.rules(self._test).get("resident", {})
        self._follow(rules, rules.get("passes_ms", [(1 - HOST_SHARE) * self._passes_ms[-1]]))

    def resident_pass(self) -> None:
        """Moves the clock on, or fails."""
        self._pass()

    def sync(self) -> None:
        """Everything is done at once."""

    def _pass(self) -> None:
        if self._failure in IN_A_PASS and self._index == self._at_pass:
            IN_A_PASS[self._failure]()
        pass_ms = self._passes_ms[self._index % len(self._passes_ms)]
        self._backend.now_ns += round(pass_ms * NS_PER_MS)
        self._index += 1

    def output(self, batch: Batch) -> np.ndarray:
        """Zeros of the right shape that take no memory, unless scripted otherwise."""
        shape = (self._test.batch, *(self._test.target or (1,)))
        if self._failure == "wrong_shape":
            shape = (*shape, 2)
        value = np.nan if self._failure == "not_finite" else 0.0
        return np.broadcast_to(np.float32(value), shape)

    def operations(self, batch: Batch) -> int | None:
        """As scripted."""
        operations: int | None = self._backend.rules(self._test).get("operations")
        return operations

    def peak_device_bytes(self) -> int | None:
        """What its images take; without a script there is no device."""
        return self._taken_bytes or None

    def close(self) -> None:
        """Nothing is open."""


def default_passes_ms(test: TestSpec) -> list[float]:
    """A device of 10 TFLOP/s that warms up in the first pass; a training step costs thrice."""
    pass_ms = test.gflop / 10 * (3 if test.mode is Mode.TRAINING else 1)
    return [10 * pass_ms, *21 * [pass_ms]]
