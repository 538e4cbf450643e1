"""``aiscore info``: the machine, and what is missing."""

import json
import re
from importlib.metadata import metadata
from pathlib import Path

import pytest

from aiscore.cli import info
from aiscore.cli.main import main
from aiscore.system import gpu

H200 = {"name": "NVIDIA H200", "uuid": "GPU-a1"}
BLIND = {
    "name": "fake",
    "usable": True,
    "devices": [{"kind": "cpu", "name": "CPU"}],
    "for_gpu": "pip install fakework-gpu",
}


@pytest.fixture
def fake_is_offered(script, monkeypatch):
    monkeypatch.setattr(info, "offered_backends", lambda: ["fake"])


def test_a_usable_backend_shows_its_devices(fake_is_offered, capsys):
    assert main(["info", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["findings"] == []
    assert [device["name"] for device in document["backends"][0]["devices"]] == ["Fake CPU"]
    assert main(["info"]) == 0
    output = capsys.readouterr().out
    assert "Backend fake" in output and "Fake CPU" in output
    assert "nothing is missing" in output


@pytest.mark.parametrize(
    ("start", "finding"),
    [
        ("missing", "fake: Fakework is not installed; pip install fakework"),
        ("exit", "the script says that the worker does not start"),
    ],
)
def test_an_unusable_backend_is_a_finding_with_its_remedy(
    fake_is_offered, script, capsys, start, finding
):
    script(start=start)
    assert main(["info"]) == 0
    assert finding in capsys.readouterr().out


def test_a_gpu_that_the_framework_does_not_see_is_a_finding():
    (finding,) = info.findings(gpu.Reading([H200]), [BLIND])
    assert "does not see the GPU (NVIDIA H200)" in finding
    assert finding.endswith("; pip install fakework-gpu")
    (finding,) = info.findings(gpu.Reading([H200]), [{**BLIND, "for_gpu": None}])
    assert finding.endswith("; install its framework's build for NVIDIA GPUs")


def test_every_backend_names_the_extra_that_setup_has_for_its_gpu_build():
    extras = {"tensorflow": "cuda", "jax": "jax-cuda", "onnxruntime": "cuda"}
    for name, extra in extras.items():
        source = (Path(info.__file__).parents[1] / "backends" / f"{name}.py").read_text()
        (command,) = re.findall(r'^    for_gpu = "(.*)"$', source, re.MULTILINE)
        assert command.endswith(f"pip install 'aiscore[{extra}]'")
        assert extra in metadata("aiscore").get_all("Provides-Extra")


def test_a_gpu_without_nvml_is_a_finding():
    seeing = {**BLIND, "devices": [{"kind": "gpu", "name": "NVIDIA H200"}]}
    (finding,) = info.findings(gpu.Reading([H200], "nvidia-ml-py is not installed"), [seeing])
    assert finding == "nvidia-ml-py is not installed; pip install nvidia-ml-py"


def test_the_machine_is_told_in_words_and_variables_by_their_names(
    fake_is_offered, monkeypatch, capsys
):
    monkeypatch.setattr(info.host, "describe", lambda: {"memory_bytes": "25276518400"})
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert main(["info"]) == 0
    output = capsys.readouterr().out
    assert "  memory             23.5 GiB\n" in output
    assert "CUDA_VISIBLE_DEVICES" in output


def test_control_characters_of_the_machine_do_not_reach_the_terminal(
    fake_is_offered, script, capsys
):
    script(software={"fake": "\x1b[2J"})
    assert main(["info"]) == 0
    assert "\x1b" not in capsys.readouterr().out
