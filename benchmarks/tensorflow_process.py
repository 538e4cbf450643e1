"""What both sides ask of TensorFlow in the same way, so that their answers compare."""

from typing import Any

import numpy as np

FIRST_GPU = "GPU:0"


def description(tf: Any, device: str) -> dict[str, Any]:
    """The versions that decide a pass's time, and the device; ends a process that lacks it."""
    build = tf.sysconfig.get_build_info()
    software = {
        "tensorflow": tf.__version__,
        "tensorflow build": f"CUDA {build['cuda_version']}" if build["is_cuda_build"] else "CPU",
        "numpy": np.__version__,
    }
    gpus = tf.config.list_physical_devices("GPU")
    if device == "gpu" and not gpus:
        raise SystemExit("TensorFlow sees no GPU here")
    if device == "cpu":
        return {"software": software, "device": "CPU"}
    name = tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU")
    return {"software": software, "device": name}


def reset_peak(tf: Any) -> None:
    """Starts a new peak at what is taken now."""
    if tf.config.list_physical_devices("GPU"):
        tf.config.experimental.reset_memory_stats(FIRST_GPU)


def peak_bytes(tf: Any) -> int | None:
    """Peak of TensorFlow's memory on the first GPU since ``reset_peak``; None without one."""
    if not tf.config.list_physical_devices("GPU"):
        return None
    return int(tf.config.experimental.get_memory_info(FIRST_GPU)["peak"])
