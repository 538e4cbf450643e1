"""How the original is made to run (benchmarks/original.py), with a package that stands for it."""

import json
import subprocess
import sys
from pathlib import Path

import original
import pytest
from environment import original_python
from full_run import summary

from aiscore.errors import UserError

UTILS = '''
"""Imports what the original imports, and measures as little as possible."""
import os
import time
from types import SimpleNamespace as Space

import cpuinfo
import numpy as np
import requests
from pkg_resources import parse_version
from psutil import virtual_memory

def update_info(mode, info):
    raise AssertionError("the original would reach a network here")

def printTestStart():
    print("The tests might take a while")

class TestConstructor:
    def getTests(self):
        def sub(ref_time):
            return [Space(ref_time=ref_time)]
        return [
            Space(id=1, inference=sub(75), training=sub(265)),
            Space(id=8, inference=sub(100) + sub(85), training=sub(285)),
            Space(id=19, inference=sub(193), training=[]),
        ]

tf = Space(
    __version__=str(parse_version("2.21.0")),
    sysconfig=Space(get_build_info=lambda: {"is_cuda_build": False}),
    config=Space(list_physical_devices=lambda kind: []),
)
'''
PACKAGE = """
from types import SimpleNamespace as Space
from ai_benchmark import utils

class AIBenchmark:
    def __init__(self, use_CPU):
        utils.np.warnings.filterwarnings("ignore")
        self.use_CPU = use_CPU

    def run(self):
        assert self.use_CPU
        utils.update_info("launch", None)
        utils.printTestStart()
        utils.os.chdir("/")
        results = {}
        for test in utils.TestConstructor().getTests():
            for position in range(1, len(test.inference) + len(test.training) + 1):
                results[f"{test.id}.{position}"] = Space(mean=10.0 * position, std=0.5)
        print("Device AI Score: 3")
        return Space(test_results=results, inference_score=1, training_score=2, ai_score=3)
"""


@pytest.fixture
def package_parent(tmp_path):
    package = tmp_path / "unpacked" / "ai_benchmark"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PACKAGE)
    (package / "utils.py").write_text(UTILS)
    return package.parent


def run(package_parent, *options):
    script = str(Path(original.__file__))
    return subprocess.run(
        [sys.executable, script, "run", str(package_parent), *options],
        cwd=package_parent.parent,
        capture_output=True,
        text=True,
    )


def test_a_complete_run_keeps_the_scores_times_and_wall_time_of_some_networks(package_parent):
    done = run(package_parent, "--device", "cpu", "--networks", "8,19", "-o", "out.json")

    assert done.returncode == 0, done.stderr
    assert "Device AI Score: 3" in done.stdout
    written = json.loads((package_parent.parent / "out.json").read_text())
    assert [(t["id"], t["mode"], t["mean_ms"], t["ref_ms"]) for t in written["tests"]] == [
        ("8.1", "inference", 10.0, 100),
        ("8.2", "inference", 20.0, 85),
        ("8.3", "training", 30.0, 285),
        ("19.1", "inference", 10.0, 193),
    ]
    assert written["scores"] == {"inference": 1, "training": 2, "ai": 3}
    assert 0 <= written["announcement_s"] <= written["wall_s"]


def test_a_gpu_that_is_not_there_is_an_error(package_parent):
    done = run(package_parent, "--device", "gpu", "--networks", "1", "-o", "out.json")

    assert done.returncode == 1
    assert done.stderr == "TensorFlow sees no GPU here\n"
    assert not (package_parent.parent / "out.json").exists()


def test_a_directory_without_the_package_is_refused(tmp_path):
    with pytest.raises(UserError, match="does not hold the package ai_benchmark"):
        original_python(tmp_path, "cpu")


def part(*tests, wall_s):
    return {
        "tests": [
            {"id": id, "mode": mode, "mean_ms": mean_ms, "ref_ms": ref_ms}
            for id, mode, mean_ms, ref_ms in tests
        ],
        "import_s": 2.0,
        "announcement_s": 6.4,
        "wall_s": wall_s,
    }


def test_parts_add_up_to_scores_and_to_the_wall_time_of_one_run():
    parts = [
        part(("1.1", "inference", 10.0, 20.0), ("1.2", "training", 10.0, 5.0), wall_s=26.4),
        part(("19.1", "inference", 10.0, 80.0), wall_s=16.4),
    ]

    assert summary(parts).splitlines() == [
        "inference: 40000 (2 tests)",
        "training: 5000 (1 tests)",
        "wall time: 38.4 s, of it import 2.0 s, announcement (asleep) 6.4 s",
    ]
