"""Seeded inputs and targets, in the form in which the original feeds them.

Images are float64 pixel values 0..255, sequences are float64 in [-4, 4), class
targets are one-hot float64 rows, text is one sentence of 20 words. A batch
lies in host memory; conversion and copying belong to the timed region.
"""

import zlib

import numpy as np

from aiscore.backends.base import Batch
from aiscore.spec import TestSpec

SENTENCE = (
    "every morning the old captain counts his ships and writes the number "
    "in a small red book beside the window"
)


def make_batch(test: TestSpec, seed: int) -> Batch:
    """The batch of a test; the same test and seed always give the same numbers."""
    rng = np.random.default_rng([seed, zlib.crc32(test.id.encode())])
    return Batch(input=_input(test, rng), target=_target(test, rng))


def shape_only(test: TestSpec) -> Batch:
    """A batch that takes no memory, for those who make their own data on the device."""
    zero = np.float32(0)
    return Batch(
        input=np.broadcast_to(zero, (test.batch, *test.input)),
        target=np.broadcast_to(zero, (test.batch, *(test.target or ()))),
    )


def _input(test: TestSpec, rng: np.random.Generator) -> np.ndarray:
    shape = (test.batch, *test.input)
    if len(test.input) == 3:
        return _pixels(shape, rng)
    if test.target is None:
        return np.array(SENTENCE)
    return rng.uniform(-4, 4, shape)


def _target(test: TestSpec, rng: np.random.Generator) -> np.ndarray | None:
    if test.target is None:
        return None
    if len(test.target) == 1:
        return np.eye(test.target[0])[rng.integers(test.target[0], size=test.batch)]
    return _pixels((test.batch, *test.target), rng)


def _pixels(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 256, shape, dtype=np.uint8).astype(np.float64)
