"""What backends compute, each in a process of its own: Keras can run on one framework only."""

import gc
import math
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

import numpy as np

from aiscore.backends import base
from aiscore.spec import Mode, Options, Precision, TestSpec
from workloads.data import make_batch
from workloads.suite import FULL, NETWORKS

SEED = 1

QUICKEST = ("mobilenet_v2", "srcnn", "lstm_sentiment")
CHOSEN = tuple(NETWORKS) if os.environ.get("AISCORE_NETWORKS") == "all" else QUICKEST
"""All of them take an hour on two cores: most of it is building, compiling and exporting."""


@dataclass(frozen=True)
class Request:
    """The output of a test and, where there are some, the output after so many passes."""

    test: TestSpec
    precision: Precision = Precision.DEFAULT
    passes: int = 0
    resident: bool = False


RESIDUAL = {"resnet_v2_50", "resnet_v2_152", "srgan", "icnet", "pspnet", "deeplab"}
SIDES = {"srcnn": 64, "vdsr": 64, "srgan": 64, "dped": 64, "unet": 64, "deeplab": 96, "pspnet": 480}
"""Of the smallest images for networks that take images of any size."""


def smallest(network: str, mode: Mode = Mode.INFERENCE) -> TestSpec:
    """A test of the network with a single example, and a small one where that is possible."""
    test = next(test for test in FULL if test.network == network and test.mode is mode)
    test = replace(test, batch=1)
    if network not in SIDES or test.target is None:
        return test
    side, shrinks = SIDES[network], test.input[0] // test.target[0]
    return replace(test, input=(side, side, 3), target=(side // shrinks, side // shrinks, 3))


@contextmanager
def process() -> Iterator[ProcessPoolExecutor]:
    """A fresh process, for one backend."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        yield executor


def compute(backend: str, request: Request) -> list[np.ndarray]:
    """What was asked for, with other weights than usual and fixed draws."""
    framework = base.load(backend)
    (device, *_) = framework.devices()
    options = Options(precision=request.precision)
    reason = framework.unsupported(request.test, device, options)
    if reason is not None:
        raise ValueError(reason)
    _make_comparable(backend, request.test.network)
    session: Any = framework.open(NETWORKS[request.test.network], device, options, SEED)
    try:
        return _compute(session, request)
    finally:
        session.close()
        _forget()


def _compute(session: Any, request: Request) -> list[np.ndarray]:
    batch = make_batch(request.test, SEED)
    session.prepare(request.test, batch)
    outputs = [session.output(batch)]
    if request.resident:
        session.place(batch)
    for _ in range(request.passes):
        if request.resident:
            session.resident_pass()
        else:
            session.classic_pass(batch)
    if request.resident:
        session.sync()
    if request.passes:
        outputs.append(session.output(batch))
    return outputs


def _make_comparable(backend: str, network: str) -> None:
    """Makes outputs tell of every layer, and be the same for the same weights.

    With Glorot's weights the outputs of deep networks are too close to zero;
    He's keep their size (arXiv:1502.01852), but for residual networks without
    a norm, which need half of it. What a network draws in a pass is one draw,
    also in what is exported: that is done in this process, for once.
    """
    if backend == "onnxruntime":
        from aiscore.backends import onnx_export

        onnx_export._export_elsewhere = onnx_export.export
        os.environ["KERAS_BACKEND"] = "tensorflow"
    from keras import ops

    from workloads import blocks

    def he(shape: tuple[int, ...], dtype: str | None = None) -> Any:
        inputs = math.prod(shape[:2] if shape[-1] == 1 else shape[:-1])  # 1: depthwise
        gain = 0.5 if network in RESIDUAL else 1.0
        return blocks.uniform(shape, gain * (6 / inputs) ** 0.5)

    def draw(layer: Any, x: Any) -> Any:
        drawn = np.random.default_rng(SEED).standard_normal(layer.shape).astype(np.float32)
        return ops.convert_to_tensor(drawn)

    blocks.glorot = he
    blocks.StandardNormal.call = draw


def _forget() -> None:
    """Lets go of the networks built so far."""
    import keras

    keras.utils.clear_session()
    gc.collect()
