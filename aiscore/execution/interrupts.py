"""Ctrl-C, SIGTERM and SIGHUP, so that they end a run and lose nothing that was measured."""

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = {
    signal.SIGINT: "Ctrl-C",
    signal.SIGTERM: "SIGTERM",
    signal.SIGHUP: "SIGHUP",  # the terminal is gone, as when a connection breaks
}
OUTPUTS = (1, 2)  # standard output and error


class _State:
    """What the handler and the blocks below tell each other; the main thread's alone."""

    blocks = 0  # that put an interrupt off, one within the other
    waiting: str | None = None
    handled = False  # by the outermost one_interrupt
    interrupted = False  # within it


@contextmanager
def one_interrupt(*, until_exit: bool = False) -> Iterator[None]:
    """The first of these signals raises KeyboardInterrupt, which names it; others are ignored.

    SIGHUP stays ignored where it is, for nohup wants it so. Within another one, and
    outside the main thread, which alone receives signals, nothing is changed.
    ``until_exit``: the process ends after it, and what is ignored by then stays so.
    """
    if _State.handled or not _is_main_thread():
        yield
        return

    terminals = [stream for stream in OUTPUTS if os.isatty(stream)]

    def raise_once(number: int, frame: FrameType | None) -> None:
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        if number == signal.SIGHUP:
            _discard(terminals)
        _State.waiting, _State.interrupted = NAMES[signal.Signals(number)], True
        if not _State.blocks:
            _raise_waiting()

    before = {
        number: signal.getsignal(number)
        for number in NAMES
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    }
    for number in before:
        signal.signal(number, raise_once)
    _State.handled = True
    try:
        yield
    finally:
        if not (until_exit and _State.interrupted):
            for number, handler in before.items():
                signal.signal(number, handler)
        _State.waiting, _State.handled, _State.interrupted = None, False, False


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


def _discard(streams: Iterable[int]) -> None:
    """What is written there leads nowhere: on a terminal that is gone it would fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _raise_waiting() -> None:
    name, _State.waiting = _State.waiting, None
    raise KeyboardInterrupt(name)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
