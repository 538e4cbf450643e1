"""What the backends' classifier sessions do, each in a process of its own (``tests.computed``)."""

import sys
from types import ModuleType
from typing import Any

import numpy as np

from aiscore.backends import base
from aiscore.spec import Family, Mode, Network, Options, Precision, TestSpec
from workloads.data import shape_only

SEED = 1
SIDE, CLASSES = 4, 5
TINY = Network(name="tiny", title="Tiny", family=Family.CLASSIFICATION, paper="", parameters=0)


def tiny_test(mode: Mode, batch: int) -> TestSpec:
    return TestSpec(
        id="tiny",
        network="tiny",
        title="Tiny",
        mode=mode,
        batch=batch,
        input=(SIDE, SIDE, 3),
        target=(CLASSES,),
        gflop=1,
        gigabytes=1,
    )


def _linear() -> Any:
    """Logits are a product of the pixels: all that a step does can be said in a few lines."""
    import keras

    inputs = keras.Input((SIDE, SIDE, 3))
    pixels = keras.layers.Flatten()(inputs)
    return keras.Model(inputs, keras.layers.Dense(CLASSES)(pixels))


def _normalised() -> Any:
    """The linear one after batch norm."""
    import keras

    from workloads.blocks import TrainedBatchNorm

    inputs = keras.Input((SIDE, SIDE, 3))
    pixels = keras.layers.Flatten()(TrainedBatchNorm()(inputs))
    return keras.Model(inputs, keras.layers.Dense(CLASSES)(pixels))


BUILDS = {"linear": _linear, "normalised": _normalised}


def train(
    backend: str, build: str, images: np.ndarray, labels: np.ndarray, steps: int, options: Options
) -> dict[str, list[np.ndarray]]:
    """All variables before and after so many steps on this data, and the last logits."""
    session = _open(backend, build, options)
    session.prepare(tiny_test(Mode.TRAINING, len(images)), shape_only(_test(images)))
    _place(backend, session, images, labels)
    before = _variables(backend, session)
    for _ in range(steps):
        session.resident_pass()
    session.sync()
    return {
        "before": before,
        "after": _variables(backend, session),
        "logits": [session.output(shape_only(_test(images)))],
    }


def infer(
    backend: str, build: str, images: np.ndarray, labels: np.ndarray, precision: Precision
) -> dict[str, list[np.ndarray]]:
    """The logits of inference, and the variables behind them."""
    session = _open(backend, build, Options(precision=precision))
    session.prepare(tiny_test(Mode.INFERENCE, len(images)), shape_only(_test(images)))
    _place(backend, session, images, labels)
    session.resident_pass()
    session.sync()
    return {
        "after": _variables(backend, session),
        "logits": [session.output(shape_only(_test(images)))],
    }


def run(backend: str, network: str, mode: Mode, batch: int, options: Options) -> dict[str, Any]:
    """A network of the sweep, as a worker runs it: its logits after the first pass and two more."""
    from workloads.sweep import NETWORKS, point

    test = point(network, mode, batch)
    framework: Any = base.load(backend)
    device = framework.devices()[0]
    session = framework.open_classifier(NETWORKS[network], device, options, SEED)
    session.prepare(test, shape_only(test))
    session.place(shape_only(test))
    first = session.output(shape_only(test))
    for _ in range(2):
        session.resident_pass()
    session.sync()
    return {"first": first, "last": session.output(shape_only(test))}


def _test(images: np.ndarray) -> TestSpec:
    return tiny_test(Mode.TRAINING, len(images))


def _open(backend: str, build: str, options: Options) -> Any:
    module: Any = ModuleType("workloads.tiny")
    module.build = BUILDS[build]
    sys.modules["workloads.tiny"] = module
    framework: Any = base.load(backend)
    return framework.open_classifier(TINY, framework.devices()[0], options, SEED)


def _place(backend: str, session: Any, images: np.ndarray, labels: np.ndarray) -> None:
    """What ``place`` does, with this data, and without the first pass."""
    if backend == "tensorflow":
        import tensorflow as tf

        session._images, session._labels = tf.constant(images), tf.constant(labels)
    elif backend == "torch":
        import torch

        session._use(torch.from_numpy(images), torch.from_numpy(labels).long())
    else:
        import jax

        session._images, session._labels = jax.device_put((images, labels))


def _variables(backend: str, session: Any) -> list[np.ndarray]:
    """Trained ones, then averages."""
    if backend == "tensorflow":
        model = session._model
        found = [*model.trainable_variables, *model.non_trainable_variables]
        return [variable.numpy() for variable in found]
    if backend == "torch":
        # Copies, for steps overwrite them.
        return [np.array(value) for value in (*session._model.weights, *session._model.fixed)]
    return [np.array(value) for value in (*session._weights, *session._averages)]
