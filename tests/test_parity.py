"""Every backend computes what TensorFlow computes, with the same weights."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from aiscore.spec import Mode, Precision
from tests.computed import CHOSEN, Request, compute, process, smallest
from workloads.suite import FULL

pytestmark = pytest.mark.framework

TOLERANCES = {Precision.DEFAULT: 1e-3, Precision.FP16: 5e-2, Precision.BF16: 2e-1}
"""Of the difference (docs/backends.md)."""

TRAINED = ("mobilenet_v2", "srcnn", "spade", "icnet", "pixel_rnn")
RECURRENT = ("pixel_rnn", "lstm_sentiment", "gnmt")
STEPS = 2

Compute = Callable[[str, Request], list[np.ndarray]]


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compute]:
    """What a backend computes; TensorFlow is asked once for the same."""
    known: dict[tuple[str, Request], list[np.ndarray]] = {}
    with (
        pytest.MonkeyPatch.context() as patch,
        process() as tensorflow,
        process() as jax,
        process() as torch,
        process() as onnxruntime,
    ):
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        processes = {
            "tensorflow": tensorflow,
            "jax": jax,
            "torch": torch,
            "onnxruntime": onnxruntime,
        }

        def ask(backend: str, request: Request) -> list[np.ndarray]:
            if (backend, request) in known:
                return known[backend, request]
            outputs = processes[backend].submit(compute, backend, request).result()
            if backend == "tensorflow":
                known.clear()
                known[backend, request] = outputs
            return outputs

        yield ask


def difference(output: np.ndarray, expected: np.ndarray) -> float:
    """Its root mean square over what is expected's deviation; of ids, the share that differ."""
    assert output.shape == expected.shape
    assert output.dtype == expected.dtype
    if not np.issubdtype(expected.dtype, np.floating):
        return float(np.mean(output != expected))
    return float(np.sqrt(np.mean(np.square(output - expected))) / expected.std())


@pytest.mark.parametrize(
    ("backend", "precision"),
    [
        ("jax", Precision.DEFAULT),
        ("jax", Precision.FP16),
        ("jax", Precision.BF16),
        ("torch", Precision.DEFAULT),
        ("torch", Precision.FP16),
        ("torch", Precision.BF16),
        ("onnxruntime", Precision.DEFAULT),
        ("onnxruntime", Precision.FP16),
    ],
)
@pytest.mark.parametrize("network", CHOSEN)
def test_inference_gives_the_same_output(
    computed: Compute,
    record_property: Callable[[str, object], None],
    network: str,
    backend: str,
    precision: Precision,
) -> None:
    if backend == "torch" and network in RECURRENT:
        pytest.skip("PyTorch's compiler unrolls loops")
    test = smallest(network)
    (expected,) = computed("tensorflow", Request(test))
    (output,) = computed(backend, Request(test, precision))
    if (backend, network) == ("torch", "dped") and np.isnan(output).any():
        assert precision is not Precision.DEFAULT
        pytest.xfail("PyTorch's vectorised kernels for the CPU give NaN (docs/backends.md)")
    record_property("difference", difference(output, expected))
    if network == "gnmt" and precision is not Precision.DEFAULT:
        return  # one id that rounding chooses otherwise changes all that come after it
    assert difference(output, expected) <= TOLERANCES[precision]


@pytest.mark.skipif("spade" not in CHOSEN, reason="AISCORE_NETWORKS=all compiles and exports it")
@pytest.mark.parametrize("backend", ["jax", "torch", "onnxruntime"])
def test_what_a_pass_writes_is_there_in_the_next(computed: Compute, backend: str) -> None:
    request = Request(smallest("spade"), passes=2)
    expected = computed("tensorflow", request)
    outputs = computed(backend, request)
    assert difference(expected[0], expected[1]) > TOLERANCES[Precision.DEFAULT]
    for output, same in zip(outputs, expected, strict=True):
        assert difference(output, same) <= TOLERANCES[Precision.DEFAULT]


@pytest.mark.parametrize("backend", ["jax", "torch"])
@pytest.mark.parametrize("network", [name for name in TRAINED if name in CHOSEN])
def test_training_changes_the_output_in_the_same_way(
    computed: Compute, network: str, backend: str
) -> None:
    if backend == "torch" and network in RECURRENT:
        pytest.skip("PyTorch's compiler unrolls loops")
    request = Request(smallest(network, Mode.TRAINING), passes=STEPS)
    before, after = computed("tensorflow", request)
    output_before, output_after = computed(backend, request)
    assert not np.array_equal(before, after)
    assert difference(output_after - output_before, after - before) <= 0.05


@pytest.mark.parametrize(
    ("backend", "mode"),
    [
        ("jax", Mode.INFERENCE),
        ("jax", Mode.TRAINING),
        ("torch", Mode.INFERENCE),
        ("torch", Mode.TRAINING),
        ("onnxruntime", Mode.INFERENCE),
    ],
)
def test_resident_passes_compute_what_classic_ones_do(
    computed: Compute, backend: str, mode: Mode
) -> None:
    test = smallest("spade" if "spade" in CHOSEN else "srcnn", mode)
    classic = computed(backend, Request(test, passes=2))
    resident = computed(backend, Request(test, passes=2, resident=True))
    assert np.array_equal(classic, resident)


@pytest.mark.parametrize("backend", ["jax", "torch"])
@pytest.mark.parametrize("precision", [Precision.FP16, Precision.BF16])
def test_training_in_16_bits_changes_the_output(
    computed: Compute, precision: Precision, backend: str
) -> None:
    """In float16 the first steps may do nothing but lower the scale of the loss."""
    test = smallest("srcnn", Mode.TRAINING)
    before, after = computed(backend, Request(test, precision, passes=40))
    assert np.isfinite(after).all()
    assert not np.array_equal(before, after)


@pytest.mark.parametrize("network", RECURRENT)
def test_what_pytorch_would_unroll_is_unsupported(computed: Compute, network: str) -> None:
    with pytest.raises(NotImplementedError, match=r"^PyTorch's compiler unrolls loops"):
        computed("torch", Request(smallest(network)))


def test_what_a_backend_cannot_run_it_says(computed: Compute) -> None:
    training = next(test for test in FULL if test.mode is Mode.TRAINING)
    for backend, request, reason in (
        ("onnxruntime", Request(training), "inference only"),
        ("onnxruntime", Request(FULL[0], Precision.BF16), "bfloat16"),
        ("onnxruntime", Request(FULL[0], Precision.TF32), "NVIDIA"),
        ("jax", Request(FULL[0], Precision.TF32), "NVIDIA"),
        ("torch", Request(FULL[0], Precision.TF32), "NVIDIA"),
    ):
        with pytest.raises(ValueError, match=reason):
            computed(backend, request)
