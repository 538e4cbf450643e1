"""Runs ai-benchmark 0.1.2, unchanged, on a TensorFlow that it was not written for.

Executed by an interpreter with TensorFlow, tf-keras and pillow; nothing of
aiscore is needed (``environment.py`` makes one).
"""

import argparse
import copy
import importlib
import json
import os
import resource
import sys
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import sides
import tensorflow_process

INSTALLED = "-"


def import_original(package_parent: str) -> tuple[Any, Any]:
    """The modules ``ai_benchmark`` and ``ai_benchmark.utils``.

    What newer releases took away is put back. ``requests`` is an empty module
    and the function that uploads machine data and scores does nothing, so that
    no network is reached; what is only printed about the machine is left out.
    """
    os.environ["TF_USE_LEGACY_KERAS"] = "1"  # its recurrent cells are Keras 2's
    import numpy as np
    from packaging.version import parse

    if not hasattr(np, "warnings"):
        np.warnings = warnings  # type: ignore[attr-defined]
    _stand_in("pkg_resources", parse_version=parse)
    _stand_in("psutil", virtual_memory=None)
    _stand_in("cpuinfo")
    _stand_in("requests")
    if package_parent != INSTALLED:
        sys.path.insert(0, str(Path(package_parent).resolve()))
    ai_benchmark = importlib.import_module("ai_benchmark")
    utils = importlib.import_module("ai_benchmark.utils")
    utils.update_info = lambda mode, info: None  # type: ignore[attr-defined]
    return ai_benchmark, utils


def _stand_in(name: str, **attributes: Any) -> None:
    module = ModuleType(name)
    vars(module).update(attributes)
    sys.modules[name] = module


class Original:
    """One network of the original: its graph, its session and its subtests."""

    def __init__(self, package_parent: str, device: str, load_every_pass: bool) -> None:
        _, utils = import_original(package_parent)
        utils.np.random.seed(42)
        os.chdir(Path(utils.__file__).parent)  # GNMT's graph names its vocabulary from there
        self._utils, self._tf = utils, utils.tf
        self._device = device
        self._load_every_pass = load_every_pass
        self._contexts = ExitStack()
        self._network: Any = None

    def describe(self) -> dict[str, Any]:
        """TensorFlow's versions and the device."""
        return tensorflow_process.description(self._tf, self._device)

    def open(self, test: str) -> None:
        """Builds the network for its first subtest, the training step for its training."""
        number, position = (int(part) for part in test.split("."))
        if self._network is None:
            self._build(number)
        tensorflow_process.reset_peak(self._tf)
        inference, training = self._network.inference, self._network.training
        self._subtest = [*inference, *training][position - 1]
        if position <= len(inference):
            self._fetch, self._target = self._output, None
        else:
            self._target, self._fetch = self._training_step()
        self._loaded = None if self._load_every_pass else self._load()

    def _build(self, number: int) -> None:
        """As the original: one graph, one session, all variables initialised."""
        tests = self._utils.TestConstructor().getTests()
        network = next(test for test in tests if test.id == number)
        v1 = self._tf.compat.v1
        v1.reset_default_graph()
        session = v1.Session()
        self._contexts.enter_context(self._tf.Graph().as_default())
        self._session = self._contexts.enter_context(session)
        self._input, self._output, self._training = self._utils.getModelSrc(
            network, SimpleNamespace(tf_ver_2=True), session
        )
        v1.global_variables_initializer().run()
        if network.type == "nlp-text":
            session.run(v1.tables_initializer())
        self._network = network

    def _training_step(self) -> tuple[Any, Any]:
        """Target and step; the recurrent networks have them from the start."""
        if self._training is None:
            subtest, v1 = self._subtest, self._tf.compat.v1
            target = v1.placeholder(self._tf.float32, subtest.getOutputDims())
            step = self._utils.constructOptimizer(
                self._session,
                self._output,
                target,
                subtest.loss_function,
                subtest.optimizer,
                subtest.learning_rate,
                tf_ver_2=True,
            )
            self._training = [target, step]
        return self._training[0], self._training[1]

    def _load(self) -> dict[Any, Any]:
        kind, subtest = self._network.type, self._subtest
        feed = {self._input: self._utils.loadData(kind, subtest.getInputDims())}
        if self._target is not None:
            feed[self._target] = self._utils.loadTargets(kind, subtest.getOutputDims())
        return feed

    def _feed(self) -> dict[Any, Any]:
        """A batch that was just written, as the original's is when a pass starts."""
        if self._loaded is None:
            return self._load()
        return {placeholder: copy.copy(value) for placeholder, value in self._loaded.items()}

    def run_pass(self) -> float:
        """What the original times, by a finer clock."""
        feed = self._feed()
        started = time.perf_counter_ns()
        self._session.run(self._fetch, feed_dict=feed)
        return (time.perf_counter_ns() - started) / 1e9

    def close(self) -> int | None:
        """Drops the batch."""
        self._loaded = None
        return tensorflow_process.peak_bytes(self._tf)


def run_complete(package_parent: str, networks: set[int], device: str) -> dict[str, Any]:
    """The original's own run, its printed lines and its 22 passes, of these networks.

    ``announcement_s`` is the time that it sleeps before the first test, part of
    ``wall_s`` like everything else but the import.
    """
    started = time.perf_counter()
    ai_benchmark, utils = import_original(package_parent)
    import_s = time.perf_counter() - started
    description = tensorflow_process.description(utils.tf, device)

    tests = [test for test in utils.TestConstructor().getTests() if test.id in networks]
    utils.TestConstructor = lambda: SimpleNamespace(getTests=lambda: tests)
    announce, announcement_s = utils.printTestStart, 0.0

    def timed_announcement() -> None:
        nonlocal announcement_s
        begin = time.perf_counter()
        announce()
        announcement_s = time.perf_counter() - begin

    utils.printTestStart = timed_announcement
    started = time.perf_counter()
    results = ai_benchmark.AIBenchmark(use_CPU=device == "cpu").run()
    wall_s = time.perf_counter() - started
    return {
        **description,
        "scores": {
            "inference": results.inference_score,
            "training": results.training_score,
            "ai": results.ai_score,
        },
        "tests": [
            {"id": id, "mode": mode, "mean_ms": time.mean, "std_ms": time.std, "ref_ms": ref_ms}
            for (id, mode, ref_ms) in _subtests(tests)
            for time in [results.test_results[id]]
        ],
        "import_s": import_s,
        "announcement_s": announcement_s,
        "wall_s": wall_s,
        "peak_device_bytes": tensorflow_process.peak_bytes(utils.tf),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _subtests(tests: list[Any]) -> list[tuple[str, str, float]]:
    """Id, mode and reference time of each, in the original's order."""
    rows = []
    for test in tests:
        modes = [("inference", s) for s in test.inference] + [
            ("training", s) for s in test.training
        ]
        for position, (mode, subtest) in enumerate(modes, 1):
            rows.append((f"{test.id}.{position}", mode, subtest.ref_time))
    return rows


def main() -> None:
    """Serves passes, or runs the original as it is."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("mode", choices=["side", "run"])
    parser.add_argument(
        "package_parent", help=f"the directory of the package ai_benchmark; {INSTALLED}: installed"
    )
    parser.add_argument("--device", choices=["cpu", "gpu"], required=True)
    parser.add_argument(
        "--load-every-pass", action="store_true", help="side: decode the images anew"
    )
    parser.add_argument("--networks", help="run: network numbers, comma separated")
    parser.add_argument("-o", dest="output", type=Path, help="run: the JSON file to write")
    arguments = parser.parse_args()
    parent, device = arguments.package_parent, arguments.device
    if arguments.mode == "side":
        sides.serve(lambda: Original(parent, device, arguments.load_every_pass))
    else:
        output = arguments.output.resolve()  # the original changes the working directory
        networks = {int(number) for number in arguments.networks.split(",")}
        output.write_text(json.dumps(run_complete(parent, networks, device), indent=1) + "\n")


if __name__ == "__main__":
    main()
