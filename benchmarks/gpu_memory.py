"""Peak memory that this process's TensorFlow took on the first GPU, the same for both sides."""

from typing import Any

FIRST = "GPU:0"


def reset_peak(tf: Any) -> None:
    """Starts a new peak at what is taken now."""
    if tf.config.list_physical_devices("GPU"):
        tf.config.experimental.reset_memory_stats(FIRST)


def peak(tf: Any) -> int | None:
    """Bytes since ``reset_peak``; None without a GPU."""
    if not tf.config.list_physical_devices("GPU"):
        return None
    bytes_: int = tf.config.experimental.get_memory_info(FIRST)["peak"]
    return bytes_
