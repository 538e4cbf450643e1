"""The CUDA libraries of this process: found where they are loaded, asked what they are."""

import ctypes
from types import SimpleNamespace

import pytest

from aiscore import cuda_libraries

LOADED = """\
7f00-7f01 r-xp 00000000 08:01 11 /usr/lib/x86_64-linux-gnu/libc.so.6
7f02-7f03 r-xp 00000000 08:01 12 /venv/nvidia/cuda_runtime/lib/libcudart.so.12
7f04-7f05 r-xp 00000000 08:01 13 /venv/nvidia/cudnn/lib/libcudnn_ops.so.9
7f06-7f07 r-xp 00000000 08:01 14 /venv/nvidia/cudnn/lib/libcudnn.so.9
"""


class Function:
    """A function of a C library."""

    def __init__(self, call):
        self._call = call
        self.restype = ctypes.c_int

    def __call__(self, *arguments):
        return self._call(*arguments)


@pytest.fixture
def process(tmp_path, monkeypatch):
    """A process with these libraries, which give these versions."""

    def load(maps, *, runtime=12050, status=0, cudnn=90300):
        def runtime_version(pointer):
            pointer._obj.value = runtime
            return status

        libraries = {
            "/venv/nvidia/cuda_runtime/lib/libcudart.so.12": SimpleNamespace(
                cudaRuntimeGetVersion=runtime_version
            ),
            "/venv/nvidia/cudnn/lib/libcudnn.so.9": SimpleNamespace(
                cudnnGetVersion=Function(lambda: cudnn)
            ),
        }
        (tmp_path / "maps").write_text(maps)
        monkeypatch.setattr(cuda_libraries, "MAPS", tmp_path / "maps")
        monkeypatch.setattr(ctypes, "CDLL", libraries.__getitem__)
        return cuda_libraries.versions()

    return load


@pytest.mark.parametrize(
    ("numbers", "versions"),
    [
        ({}, {"cuda": "12.5", "cudnn": "9.3.0"}),
        ({"runtime": 11080, "cudnn": 8907}, {"cuda": "11.8", "cudnn": "8.9.7"}),
        ({"cudnn": 91002}, {"cuda": "12.5", "cudnn": "9.10.2"}),
    ],
)
def test_loaded_libraries_tell_their_versions(process, numbers, versions):
    assert process(LOADED, **numbers) == versions


def test_what_is_not_loaded_is_unknown(process):
    assert process(LOADED.splitlines()[0]) == {
        "cuda": "unknown: libcudart is not loaded",
        "cudnn": "unknown: libcudnn is not loaded",
    }


def test_a_runtime_that_fails_is_unknown(process):
    assert process(LOADED, status=35)["cuda"] == "unknown: cudaRuntimeGetVersion gives error 35"


def test_without_the_kernels_list_all_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_libraries, "MAPS", tmp_path / "none")
    assert all(text.startswith("unknown: ") for text in cuda_libraries.versions().values())
