"""A run on another stack, from the command line to the result file."""

import subprocess
import sys

import pytest

from aiscore.results.store import load
from aiscore.spec import Status

pytestmark = pytest.mark.framework


@pytest.mark.parametrize("backend", ["jax", "torch", "onnxruntime"])
def test_a_run_in_both_protocols(backend, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = [sys.executable, "-m", "aiscore", "run", "--backend", backend, "--device", "cpu"]
    command += ["--suite", "micro", "--tests", "8", "--protocol", "both", "--passes", "3"]
    command += ["-o", str(tmp_path / "result.json")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = load(tmp_path / "result.json")
    assert result.backend == backend
    assert backend in result.environment.software
    assert result.resident is not None
    assert [test.status for test in (*result.tests, *result.resident.tests)] == [Status.OK] * 2
    assert result.roof is not None
    assert [probe.problem for probe in result.roof.probes] == [None] * len(result.roof.probes)


def test_a_test_that_a_stack_cannot_run_says_why(tmp_path):
    command = [sys.executable, "-m", "aiscore", "run", "--backend", "onnxruntime"]
    command += ["--device", "cpu", "--tests", "8.3", "-o", str(tmp_path / "result.json")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    (test,) = load(tmp_path / "result.json").tests
    assert test.status is Status.UNSUPPORTED
    assert test.error is not None
    assert test.error.message == "ONNX Runtime runs inference only"
