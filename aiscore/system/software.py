"""The software that a run uses, and the environment variables that steer it."""

import json
import platform
import re
import shutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from aiscore import __version__

STEERING = ("TF_", "JAX_", "ORT_", "CUDA_", "OMP_", "XLA_", "MKL_", "NVIDIA_", "NCCL_", "KERAS_")
PRIVATE = re.compile(r"^TF_(CONFIG$|VAR_|CLI_)|KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
"""Of hosts, of Terraform (which also says TF_), and secrets."""
NO_SETTING = re.compile(r"^NVIDIA_REQUIRE_")
"""What an image demands of the driver, for the container's runtime: a thousand characters."""


def describe(framework: Mapping[str, str]) -> dict[str, str]:
    """Versions; ``framework`` is what the backend says of its own."""
    return {
        "python": platform.python_version(),
        "aiscore": __version__,
        "numpy": version("numpy"),
        "cuda_toolkit": _toolkit(),
        **framework,
    }


def _toolkit() -> str:
    """The version of the CUDA toolkit whose compiler is on PATH, from the file beside it."""
    compiler = shutil.which("nvcc")
    if compiler is None:
        return "none on PATH"
    try:
        text = (Path(compiler).resolve().parents[1] / "version.json").read_text()
        return str(json.loads(text)["cuda"]["version"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"unknown: nvcc has no version.json that says it ({type(error).__name__})"


def steering_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that frameworks and their libraries read, less private ones."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if name.startswith(STEERING) and not PRIVATE.search(name) and not NO_SETTING.match(name)
    }
