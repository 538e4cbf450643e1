"""Runs aiscore pass by pass, through its backend, without its own pass loop."""

import argparse
import copy
import time
from typing import Any

import sides
import tensorflow_process

from aiscore.backends import base
from aiscore.backends.base import Batch
from aiscore.spec import DeviceKind, Options
from workloads import data, suite

SEED = 0
TESTS = {test.id: test for test in suite.FULL}


class Ours:
    """One network of aiscore: its session and its tests."""

    def __init__(self, kind: DeviceKind) -> None:
        self._backend = base.load("tensorflow")
        import tensorflow as tf  # the backend says how to get it when it is not there

        self._tf = tf
        self._description = tensorflow_process.description(tf, kind.value)
        self._device = next(d for d in self._backend.devices() if d.kind is kind)
        self._session: Any = None
        self._batch: Any = None

    def describe(self) -> dict[str, Any]:
        """TensorFlow's versions, the device, and which tests the backend cannot run."""
        reasons = {
            id: self._backend.unsupported(test, self._device, Options())
            for id, test in TESTS.items()
        }
        unsupported = {id: reason for id, reason in reasons.items() if reason is not None}
        return {**self._description, "unsupported": unsupported}

    def open(self, test: str) -> None:
        """Builds the network for its first test, then what this test needs."""
        spec = TESTS[test]
        if self._session is None:
            network = suite.NETWORKS[spec.network]
            self._session = self._backend.open(network, self._device, Options(), SEED)
        tensorflow_process.reset_peak(self._tf)
        self._batch = data.make_batch(spec, SEED)
        self._session.prepare(spec, self._batch)

    def run_pass(self) -> float:
        """One classic pass of a batch that was just written."""
        batch = Batch(copy.copy(self._batch.input), copy.copy(self._batch.target))
        started = time.perf_counter_ns()
        self._session.classic_pass(batch)
        return (time.perf_counter_ns() - started) / 1e9

    def close(self) -> int | None:
        """Drops the batch."""
        self._batch = None
        return tensorflow_process.peak_bytes(self._tf)


def main() -> None:
    """Serves passes."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--device", choices=list(DeviceKind), type=DeviceKind, required=True)
    arguments = parser.parse_args()
    sides.serve(lambda: Ours(arguments.device))


if __name__ == "__main__":
    main()
