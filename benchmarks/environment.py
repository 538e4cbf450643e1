"""An interpreter that can run ai-benchmark 0.1.2 beside this one."""

import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from original import INSTALLED

from aiscore.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
ASK_TENSORFLOW = """
import numpy, tensorflow as tf
cuda = tf.sysconfig.get_build_info()["is_cuda_build"]
print("tensorflow" if cuda else "tensorflow-cpu", tf.__version__, numpy.__version__)
"""


@dataclass(frozen=True, slots=True)
class OriginalPython:
    """The interpreter that runs ``original.py``, and where it finds the package."""

    interpreter: tuple[str, ...]
    package_parent: str

    def command(self, mode: str, *arguments: str) -> list[str]:
        """The command for one mode of ``original.py``."""
        script = str(Path(__file__).with_name("original.py"))
        return [*self.interpreter, script, mode, self.package_parent, *arguments]


def variables(device: str) -> dict[str, str]:
    """What the environment of both sides sets: quiet, and no GPU or one that is shared."""
    if device == "cpu":
        return {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"}
    return {"TF_CPP_MIN_LOG_LEVEL": "2", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}


def original_python(unpacked: Path | None, device: str) -> OriginalPython:
    """With an unpacked copy, this interpreter if it has what the copy needs.

    Otherwise an environment under build/ with the same TensorFlow and NumPy as
    here, made once.
    """
    if unpacked is None:
        return OriginalPython(_environment(device), INSTALLED)
    if not (unpacked / "ai_benchmark" / "utils.py").is_file():
        raise UserError(
            f"{unpacked} does not hold the package ai_benchmark", "name the directory around it"
        )
    if find_spec("tf_keras") and find_spec("PIL"):
        return OriginalPython((sys.executable,), str(unpacked))
    return OriginalPython(_environment(device), str(unpacked))


def _environment(device: str) -> tuple[str, ...]:
    distribution, release, numpy = _stack()
    cuda = "[and-cuda]" if device == "gpu" else ""
    needed = [f"{distribution}{cuda}=={release}", f"numpy=={numpy}", "pillow", "packaging"]
    # without their requirements: these name `tensorflow`, which would overwrite tensorflow-cpu
    alone = [f"tf-keras=={release.rpartition('.')[0]}.*", "ai-benchmark==0.1.2"]

    directory = ROOT / "build" / "ai-benchmark"
    python = directory / "bin" / "python"
    stamp = directory / "installed.txt"
    wanted = "\n".join([*needed, *alone]) + "\n"
    if not stamp.is_file() or stamp.read_text() != wanted:
        print(f"installing {', '.join([*needed, *alone])} in {directory}", file=sys.stderr)
        _execute([sys.executable, "-m", "venv", "--clear", str(directory)])
        _execute([str(python), "-m", "pip", "install", "-q", *needed])
        _execute([str(python), "-m", "pip", "install", "-q", "--no-deps", *alone])
        stamp.write_text(wanted)
    return (str(python), "-E")  # -E: nothing of this environment's PYTHONPATH


def _stack() -> tuple[str, str, str]:
    """The distribution and version of the TensorFlow that is here, and NumPy's version.

    TensorFlow itself is asked: where both of its distributions were installed,
    their metadata do not tell whose files lie on top.
    """
    if find_spec("tensorflow") is None:
        raise UserError("TensorFlow is not installed here", "pip install 'aiscore[cpu]'")
    asked = subprocess.run([sys.executable, "-c", ASK_TENSORFLOW], capture_output=True, text=True)
    if asked.returncode != 0:
        raise UserError("TensorFlow does not start here", asked.stderr.strip().splitlines()[-1])
    distribution, release, numpy = asked.stdout.split()
    return distribution, release, numpy


def _execute(command: list[str]) -> None:
    if subprocess.run(command, stdout=sys.stderr).returncode != 0:
        raise UserError(
            f"failed: {' '.join(command)}", "see above; without an index use --original PATH"
        )
