"""Ctrl-C, so that it ends a run and loses nothing that was measured."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def one_interrupt() -> Iterator[None]:
    """The first Ctrl-C raises KeyboardInterrupt; the impatient ones after it are ignored.

    Outside the main thread, which alone receives Ctrl-C, it changes nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_once(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, raise_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Puts Ctrl-C off until the end of the block, which is short."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
