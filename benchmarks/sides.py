"""Two processes that take turns: how the parent asks, how a side answers.

One JSON object a line, over the side's standard input and output:

    (the side has started)   {"software": {...}, "device": name, ...}
    {"open": test id}        {"setup_s": seconds}
    {"pass": true}           {"seconds": seconds}
    {"close": true}          {"peak_device_bytes": bytes or null, "peak_rss_bytes": bytes}

A request that fails is answered by {"error": message}. A side that is not
asked sleeps in a read, so that only one of the two works at any time; the end
of its input ends it. Standard library only: a side may run in an environment
where nothing of aiscore is installed.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TextIO, cast

LOG_LINES = 15


class SideError(Exception):
    """A side could not do what it was asked; the message says why."""


class Runner(Protocol):
    """What a side does: the tests of one network, in order."""

    def describe(self) -> dict[str, Any]:
        """What runs here, and on what."""
        ...

    def open(self, test: str) -> None:
        """Builds what the test needs, and its batch."""
        ...

    def run_pass(self) -> float:
        """One timed pass of the open test, in seconds."""
        ...

    def close(self) -> int | None:
        """Drops the test's batch; gives the peak device memory since ``open``."""
        ...


def answer(runner: Runner, request: dict[str, Any]) -> dict[str, Any]:
    """Does what one request asks."""
    if "open" in request:
        started = time.perf_counter()
        runner.open(request["open"])
        return {"setup_s": time.perf_counter() - started}
    if "pass" in request:
        return {"seconds": runner.run_pass()}
    if "close" in request:
        peak = runner.close()
        kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {"peak_device_bytes": peak, "peak_rss_bytes": kib * 1024}
    raise ValueError(f"unknown request: {request}")


def serve(start: Callable[[], Runner]) -> None:
    """Answers requests until the input ends, then ends the process.

    The process's own standard output is put aside first: what a framework
    prints goes to standard error and never mixes with an answer.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def send(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    runner = start()
    send(runner.describe())
    for line in sys.stdin:
        try:
            send(answer(runner, json.loads(line)))
        except Exception as error:  # whatever a framework raises, the parent reports it
            send({"error": f"{type(error).__name__}: {error}"})
    sys.stderr.flush()
    os._exit(0)  # a framework's own end takes seconds, and nothing is left to be written


class Side:
    """The parent's end of one side. ``waited_s`` is the time spent waiting for it."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self.waited_s = 0.0
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  # __exit__ does
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **environment},
            text=True,
        )
        self._requests = cast(TextIO, self._process.stdin)
        self._answers = cast(TextIO, self._process.stdout)

    def start(self) -> dict[str, Any]:
        """Waits until the side can be asked; gives its description."""
        return self._receive()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Sends a request and waits for its answer; raises ``SideError``."""
        try:
            self._requests.write(json.dumps(request) + "\n")
            self._requests.flush()
        except BrokenPipeError:
            raise self._ended() from None
        return self._receive()

    def _receive(self) -> dict[str, Any]:
        started = time.perf_counter()
        line = self._answers.readline()
        self.waited_s += time.perf_counter() - started
        if not line:
            raise self._ended()
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            raise SideError(f"{self.name}: {message['error']}")
        return message

    def _ended(self) -> SideError:
        status = self._process.wait()
        self._log.seek(0)
        log = "".join(self._log.readlines()[-LOG_LINES:])
        return SideError(f"{self.name} ended with status {status}\n{log}".rstrip())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()  # a side keeps nothing, and a pass may take long
        self._process.communicate()
        self._log.close()
