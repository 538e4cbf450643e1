"""Ctrl-C and SIGTERM, so that they end a run and lose nothing that was measured."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


class _State:
    """What the handler and the blocks below tell each other; the main thread's alone."""

    blocks = 0  # that put an interrupt off, one within the other
    waiting: str | None = None
    handled = False  # by the outermost one_interrupt


@contextmanager
def one_interrupt() -> Iterator[None]:
    """The first Ctrl-C or SIGTERM raises KeyboardInterrupt, which names it; others are ignored.

    Within another one, and outside the main thread, which alone receives them, it
    changes nothing.
    """
    if _State.handled or not _is_main_thread():
        yield
        return

    def raise_once(number: int, frame: FrameType | None) -> None:
        for other in NAMES:
            signal.signal(other, signal.SIG_IGN)
        _State.waiting = NAMES[signal.Signals(number)]
        if not _State.blocks:
            _raise_waiting()

    before = {number: signal.signal(number, raise_once) for number in NAMES}
    _State.handled = True
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _State.waiting, _State.handled = None, False


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Puts an interrupt off until the end of the block, which is short.

    A signal mask would not do: another thread may be given the signal, and
    Python handles it in the main thread all the same.
    """
    if not _is_main_thread():
        yield
        return
    _State.blocks += 1
    try:
        yield
    finally:
        _State.blocks -= 1
        if _State.waiting and not _State.blocks:
            _raise_waiting()


def _raise_waiting() -> None:
    name, _State.waiting = _State.waiting, None
    raise KeyboardInterrupt(name)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
