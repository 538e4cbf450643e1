"""A classifier's training step is SGD on the cross-entropy, with batch norm by the batch."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

from aiscore.backends.base import MOMENTUM, SGD_RATE, WEIGHT_DECAY
from aiscore.spec import Mode, Options, Precision
from tests import classifiers
from tests.classifiers import CLASSES, SIDE
from tests.computed import process

pytestmark = pytest.mark.framework

RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.uniform(-1, 3, (6, SIDE, SIDE, 3)).astype(np.float32)
LABELS = RANDOM.integers(CLASSES, size=6, dtype=np.int32)
STEPS = 3
WAYS = {
    "tensorflow": [
        Options(),
        Options(xla=True),
        Options(precision=Precision.FP32),
        Options(precision=Precision.BF16),
        Options(precision=Precision.FP16),
    ],
    "jax": [
        Options(),
        Options(precision=Precision.BF16),
        Options(precision=Precision.FP16),
    ],
    "torch": [
        Options(),
        Options(precision=Precision.BF16),
        Options(precision=Precision.FP16),
    ],
}
# Relative to the largest change: 16-bit products have 8 or 11 bits.
TOLERANCE = {Precision.BF16: 3e-2, Precision.FP16: 4e-3}


@pytest.fixture(scope="module", params=WAYS)
def backend(request) -> Iterator[tuple[str, ProcessPoolExecutor]]:
    with process() as executor:
        yield request.param, executor


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def sgd(kernel: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The linear classifier's steps in NumPy, float64."""
    x = IMAGES.reshape(len(IMAGES), -1).astype(np.float64)
    weights = [kernel.astype(np.float64), bias.astype(np.float64)]
    momenta = [np.zeros_like(weight) for weight in weights]
    logits = np.zeros(0)
    for _ in range(STEPS):
        logits = x @ weights[0] + weights[1]
        error = (softmax(logits) - np.eye(CLASSES)[LABELS]) / len(x)
        gradients = [x.T @ error, error.sum(axis=0)]
        for place, gradient in enumerate(gradients):
            decayed = gradient + WEIGHT_DECAY * weights[place]
            momenta[place] = MOMENTUM * momenta[place] + decayed
            weights[place] = weights[place] - SGD_RATE * momenta[place]
    return weights[0], weights[1], logits


def test_steps_are_sgd_with_momentum_and_weight_decay_on_the_cross_entropy(backend):
    name, executor = backend
    for options in WAYS[name]:
        made = executor.submit(
            classifiers.train, name, "linear", IMAGES, LABELS, STEPS, options
        ).result()
        kernel, bias, logits = sgd(*made["before"])
        tolerance = TOLERANCE.get(options.precision, 1e-4)
        for expected, before, after in zip(
            (kernel, bias), made["before"], made["after"], strict=True
        ):
            moved = expected - before
            assert np.abs(after - expected).max() <= tolerance * np.abs(moved).max(), options
        assert np.abs(made["logits"][0] - logits).max() <= tolerance * np.abs(logits).max(), options


def test_batch_norm_is_by_the_batch_in_training_and_moves_the_averages(backend):
    name, executor = backend
    mean = IMAGES.mean(axis=(0, 1, 2), dtype=np.float64)
    variance = IMAGES.var(axis=(0, 1, 2), dtype=np.float64)
    elements = IMAGES[..., 0].size
    for options in WAYS[name]:
        made = executor.submit(
            classifiers.train, name, "normalised", IMAGES, LABELS, 1, options
        ).result()
        gamma, beta, kernel, bias, *averages = made["before"]
        assert [average.tolist() for average in averages] == [[0, 0, 0], [1, 1, 1]]
        x = (IMAGES - mean) / np.sqrt(variance + 1e-5) * gamma + beta
        logits = x.reshape(len(x), -1) @ kernel + bias
        tolerance = TOLERANCE.get(options.precision, 1e-4)
        assert np.abs(made["logits"][0] - logits).max() <= tolerance * np.abs(logits).max(), options
        *_, moved_mean, moved_variance = made["after"]
        assert moved_mean == pytest.approx(0.1 * mean, rel=tolerance), options
        unbiased = variance * elements / (elements - 1)
        assert moved_variance == pytest.approx(0.9 + 0.1 * unbiased, rel=tolerance), options


@pytest.mark.parametrize("precision", [Precision.DEFAULT, Precision.FP16])
def test_inference_normalises_by_the_averages_and_moves_nothing(backend, precision):
    name, executor = backend
    made = executor.submit(
        classifiers.infer, name, "normalised", IMAGES, LABELS, precision
    ).result()
    *_, kernel, bias, mean, variance = made["after"]
    assert [mean.tolist(), variance.tolist()] == [[0, 0, 0], [1, 1, 1]]
    logits = (IMAGES / np.sqrt(1 + 1e-5)).reshape(len(IMAGES), -1) @ kernel + bias
    tolerance = TOLERANCE.get(precision, 1e-4)
    assert np.abs(made["logits"][0] - logits).max() <= tolerance * np.abs(logits).max()


@pytest.mark.timeout(900)  # PyTorch compiles for minutes on a small machine
@pytest.mark.parametrize("mode", Mode)
def test_a_network_of_the_sweep_runs(backend, mode):
    name, executor = backend
    network = "resnet50" if mode is Mode.TRAINING else "se_resnext101_32x4d"  # XLA takes minutes
    made: dict[str, Any] = executor.submit(
        classifiers.run, name, network, mode, 2, Options()
    ).result()
    assert made["last"].shape == (2, 1000)
    assert np.isfinite(made["last"]).all()
    assert np.array_equal(made["first"], made["last"]) == (mode is Mode.INFERENCE)
