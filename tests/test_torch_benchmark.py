"""The PyTorch loop beside the sweep: what of it can be told without PyTorch."""

import json
from pathlib import Path

import pytest
import torch_resnet50

from aiscore.results import sweep_store
from aiscore.spec import Mode, Precision
from tests.sweep_factory import FP16, SE, line, on_line, sweep


@pytest.fixture
def path(tmp_path: Path) -> Path:
    points = [
        *on_line(FP16, {128: 2500, 256: 2700}),
        *on_line(line(precision=Precision.BF16, backend="jax"), {256: 2900}),
        *on_line(line(mode=Mode.INFERENCE), {256: 9000}),
        *on_line(SE, {256: 9000}),
    ]
    sweep_store.save(sweep(points), tmp_path / "sweep.json")
    return tmp_path / "sweep.json"


def test_the_best_resnet50_training_is_of_any_line_and_batch(path: Path):
    assert torch_resnet50.best_resnet50(path) == pytest.approx(2900)


@pytest.mark.parametrize(("torch_speed", "code"), [(3000.0, 0), (3300.0, 1)])
def test_below_nine_tenths_is_a_finding(path: Path, monkeypatch, capsys, torch_speed, code):
    monkeypatch.setattr(torch_resnet50, "measure", lambda options: {"images_per_s": torch_speed})
    output = path.with_name("torch.json")
    assert torch_resnet50.main(["--against", str(path), "-o", str(output)]) == code
    assert json.loads(output.read_text()) == {"images_per_s": torch_speed}
    assert f"{2900 / torch_speed:.2f} of PyTorch's" in capsys.readouterr().out
