"""Runs ai-benchmark 0.1.2, unchanged, on a TensorFlow it was not written for.

Executed by the interpreter of the original's environment (``environment.py``):

    original.py side PACKAGE_PARENT            answers requests (``sides.py``)

PACKAGE_PARENT is the directory that holds the package ``ai_benchmark``; "-"
takes the installed one. Needs TensorFlow, tf-keras and pillow, and nothing of
aiscore.
"""

import argparse
import copy
import os
import sys
import time
import warnings
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import gpu_memory
import sides

INSTALLED = "-"


def stand_in(name: str, **attributes: Any) -> None:
    """Puts a module of that name in place of the real one."""
    module = ModuleType(name)
    vars(module).update(attributes)
    sys.modules[name] = module


def import_original(package_parent: str) -> ModuleType:
    """The module ``ai_benchmark`` with what newer releases took away put back.

    Its two uploads of machine data and scores are replaced by nothing, and
    ``requests`` is never imported, so that it cannot reach a network.
    """
    os.environ["TF_USE_LEGACY_KERAS"] = "1"  # its recurrent cells are Keras 2's
    import numpy as np
    from packaging.version import parse

    if not hasattr(np, "warnings"):
        np.warnings = warnings  # type: ignore[attr-defined]
    stand_in("pkg_resources", parse_version=parse)
    stand_in("requests")
    if find_spec("psutil") is None:
        stand_in("psutil", virtual_memory=None)
    if find_spec("cpuinfo") is None:
        stand_in("cpuinfo")

    if package_parent != INSTALLED:
        sys.path.insert(0, str(Path(package_parent).resolve()))
    import ai_benchmark
    from ai_benchmark import utils

    utils.update_info = lambda mode, info: None
    return ai_benchmark


class Original:
    """One network of the original: its graph, its session and its subtests."""

    def __init__(self, package_parent: str, load_every_pass: bool) -> None:
        import_original(package_parent)
        import numpy as np
        import tensorflow as tf
        from ai_benchmark import config, utils

        np.random.seed(42)
        self._tf, self._utils = tf, utils
        self._networks = {test.id: test for test in config.TestConstructor().getTests()}
        self._load_every_pass = load_every_pass
        self._contexts = ExitStack()
        self._network: Any = None

    def describe(self) -> dict[str, Any]:
        return {"software": {"tensorflow": self._tf.__version__}, "unsupported": {}}

    def open(self, test: str) -> None:
        number, position = (int(part) for part in test.split("."))
        if self._network is None:
            self._build(self._networks[number])
        gpu_memory.reset_peak(self._tf)
        subtests = [(s, False) for s in self._network.inference]
        subtests += [(s, True) for s in self._network.training]
        self._subtest, training = subtests[position - 1]
        self._fetch = self._train_step() if training else self._output
        self._target = self._training[0] if training else None
        self._data = None if self._load_every_pass else self._load()

    def _build(self, network: Any) -> None:
        """As the original: one graph, one session, all variables initialised."""
        tf = self._tf
        tf.compat.v1.reset_default_graph()
        session = tf.compat.v1.Session()
        self._contexts.enter_context(tf.Graph().as_default())
        self._session = self._contexts.enter_context(session)
        self._input, self._output, self._training = self._utils.getModelSrc(
            network, SimpleNamespace(tf_ver_2=True), session
        )
        tf.compat.v1.global_variables_initializer().run()
        if network.type == "nlp-text":
            session.run(tf.compat.v1.tables_initializer())
        self._network = network

    def _train_step(self) -> Any:
        if self._training is None:
            subtest = self._subtest
            target = self._tf.compat.v1.placeholder(self._tf.float32, subtest.getOutputDims())
            step = self._utils.constructOptimizer(
                self._session,
                self._output,
                target,
                subtest.loss_function,
                subtest.optimizer,
                subtest.learning_rate,
                True,
            )
            self._training = [target, step]
        return self._training[1]

    def _load(self) -> dict[Any, Any]:
        kind, subtest = self._network.type, self._subtest
        feed = {self._input: self._utils.loadData(kind, subtest.getInputDims())}
        if self._target is not None:
            feed[self._target] = self._utils.loadTargets(kind, subtest.getOutputDims())
        return feed

    def feed(self) -> dict[Any, Any]:
        """A batch that was just written, as the original's is when a pass starts."""
        if self._data is None:
            return self._load()
        return {placeholder: copy.copy(value) for placeholder, value in self._data.items()}

    def run_pass(self) -> float:
        feed = self.feed()
        started = time.perf_counter_ns()
        self._session.run(self._fetch, feed_dict=feed)
        return (time.perf_counter_ns() - started) / 1e9

    def peak_device_bytes(self) -> int | None:
        return gpu_memory.peak(self._tf)

    def close(self) -> None:
        self._data = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("mode", choices=["side"])
    parser.add_argument("package_parent", metavar="PACKAGE_PARENT")
    parser.add_argument("--load-every-pass", action="store_true")
    arguments = parser.parse_args()
    sides.serve(lambda: Original(arguments.package_parent, arguments.load_every_pass))


if __name__ == "__main__":
    main()
