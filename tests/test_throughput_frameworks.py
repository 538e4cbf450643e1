"""A small sweep on the CPU, on the frameworks themselves, as a user runs it."""

from pathlib import Path

import pytest

from aiscore.results import sweep_store
from aiscore.spec import Status, Xla
from tests.command_line import aiscore

pytestmark = [pytest.mark.framework, pytest.mark.timeout(900)]


def test_a_sweep_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two backends, both modes, XLA on and off; TF32, which no CPU has, is unsupported."""
    monkeypatch.chdir(tmp_path)
    done = aiscore(
        *("throughput", "--device", "cpu", "--backend", "tensorflow,jax", "--xla", "both"),
        *("--mode", "training,inference", "--batch", "1,2", "--precision", "default"),
        *("--passes", 2, "--max-seconds-per-test", 2, "-o", "sweep.json"),
    )
    assert done.code == 0, done.err
    sweep = sweep_store.load(Path("sweep.json"))
    assert sweep_store.check(Path("sweep.json")) == []
    lines = {(point.backend, point.xla) for point in sweep.points}
    assert lines == {
        ("tensorflow", Xla.OFF),
        ("tensorflow", Xla.ON),
        ("jax", Xla.ALWAYS),
    }
    assert len(sweep.points) == 3 * 2 * 2
    assert {point.status for point in sweep.points} == {Status.OK}
    for figures in sweep.summary.points:
        assert 0.01 < figures.images_per_s < 10_000
        assert figures.passes >= 3
    done = aiscore(
        *("throughput", "--device", "cpu", "--backend", "tensorflow,onnxruntime"),
        *("--batch", 1, "--precision", "tf32", "-o", "tf32.json"),
    )
    assert done.code == 1
    refused = sweep_store.load(Path("tf32.json")).points
    assert {point.status for point in refused} == {Status.UNSUPPORTED}
    assert "TF32 is a number format of NVIDIA GPUs" in refused[0].error.message
