"""Progress on stderr: a line per finished test, and on a terminal one that lives.

The live line is drawn twice a second at most, by a thread that sleeps in
between: the display must not take a core from the measured process.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from aiscore.cli.main import discard
from aiscore.execution.runner import Observer
from aiscore.report import escape
from aiscore.results.model import TestRecord
from aiscore.results.summary import figures
from aiscore.spec import Protocol, Status, TestSpec, Trial

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

REFRESHES_PER_S = 2
FEWEST_LETTERS = 12  # of a test's name


@dataclass(frozen=True, slots=True)
class Words:
    """How a trial that runs and one that has ended are told of."""

    title: Callable[[Trial], str]
    describe: Callable[[TestRecord], str]


def observer(words: Words | None = None) -> Observer:
    """The progress that suits stderr."""
    return LiveProgress(words) if sys.stderr.isatty() else PlainProgress(words)


class PlainProgress(Observer):
    """One line per finished test."""

    def __init__(self, words: Words | None = None) -> None:
        self._words = words or SUITE
        self._total = 0
        self._ended = 0

    def note(self, text: str) -> None:
        """On a line of its own."""
        self._print(f"aiscore: {escape.terminal(text)}")

    def begin(self, trials: Sequence[Trial]) -> None:
        """Learns how many tests there are in this round."""
        self._total, self._ended = len(trials), 0

    def added(self, count: int) -> None:
        """Learns that there are more."""
        self._total += count

    def ended(self, record: TestRecord) -> None:
        """What became of the test."""
        if record.status is Status.INTERRUPTED:
            return  # all that are left are so at once, and the table says so
        self._ended += 1
        self._print(f"[{self._ended}/{self._total}] {self._words.describe(record)}")

    def _print(self, line: str) -> None:
        try:
            self._write(line)
        except OSError:
            discard(sys.stderr)  # nobody reads it any more: no reason to end a measurement

    def _write(self, line: str) -> None:
        click.echo(line, err=True)


class LiveProgress(PlainProgress):
    """The same lines, with the running test below them."""

    def __init__(self, words: Words | None = None) -> None:
        super().__init__(words)
        self._live: Live | None = None
        self._trial: Trial | None = None
        self._begin = self._test_begin = time.monotonic()

    def asking(self, backend: str) -> None:
        """So that nobody wonders about the silence."""
        self.note(f"starting {backend}")

    def measuring_roof(self, device: str) -> None:
        """As above."""
        self.note(f"measuring what {device} can do at most")

    def begin(self, trials: Sequence[Trial]) -> None:
        """Starts to draw."""
        super().begin(trials)
        from rich.console import Console
        from rich.live import Live

        self._begin = time.monotonic()
        console = Console(stderr=True, highlight=False)
        self._live = Live(
            console=console,
            get_renderable=lambda: self._renderable(console.width),
            refresh_per_second=REFRESHES_PER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def started(self, trial: Trial) -> None:
        """The trial to show."""
        self._trial = trial
        self._test_begin = time.monotonic()

    def end(self) -> None:
        """Clears the live line."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _write(self, line: str) -> None:
        if self._live is None:
            super()._write(line)
        else:
            self._live.console.print(line, markup=False, soft_wrap=True)

    def line(self, width: int) -> str:
        """The running test, the time it took so far, and an estimate of the rest.

        Where the width is not enough, the middle of the test's name is left out.
        """
        now = time.monotonic()
        count = f"[{min(self._ended + 1, self._total)}/{self._total}]"
        rest = f" | elapsed {clock(now - self._begin)}"
        rest += f", about {clock(self._left_s())} left" if self._ended else ""
        if self._trial is None:
            return f"{count}{rest}"
        rest = f", {clock(now - self._test_begin)}{rest}"
        name = self._words.title(self._trial)
        return f"{count} {_without_middle(name, width - len(count) - 1 - len(rest))}{rest}"

    def _renderable(self, width: int) -> "Text":
        from rich.text import Text

        return Text(self.line(width), no_wrap=True, overflow="ellipsis")

    def _left_s(self) -> float:
        """From the mean duration of the tests so far: most of them end by the same time limit."""
        mean_s = (self._test_begin - self._begin) / self._ended
        running_s = time.monotonic() - self._test_begin
        return max(0.0, mean_s - running_s) + mean_s * (self._total - self._ended - 1)


def _without_middle(text: str, most: int) -> str:
    """The text in so many letters, or in a few where there is no room at all."""
    kept = max(most, FEWEST_LETTERS) - 1
    if len(text) <= kept + 1:
        return text
    return f"{text[: kept // 2]}\N{HORIZONTAL ELLIPSIS}{text[-(kept - kept // 2) :]}"


def title(test: TestSpec | TestRecord, protocol: Protocol) -> str:
    """A test in words."""
    words = f"{test.id} {test.title} {test.mode}"
    return words if protocol is Protocol.CLASSIC else f"{words}, {protocol}"


def describe(record: TestRecord) -> str:
    """A finished test in words."""
    name = title(record, record.protocol)
    if record.status is not Status.OK:
        return _ended_badly(name, record)
    time_ms = 1000 * figures(record).time
    digits = 0 if time_ms >= 100 else 1 if time_ms >= 10 else 2
    passes = sum(round_.passes for round_ in record.rounds)
    return f"{name}: {time_ms:.{digits}f} ms, {passes} passes"


def describe_point(record: TestRecord) -> str:
    """A finished point of a sweep in words."""
    if record.status is not Status.OK:
        return _ended_badly(record.id, record)
    speed = record.batch / figures(record).time
    passes = sum(round_.passes for round_ in record.rounds)
    return f"{record.id}: {speed:.{0 if speed >= 100 else 1}f} images/s, {passes} passes"


def _ended_badly(name: str, record: TestRecord) -> str:
    reason = f": {escape.terminal(record.error.headline)}" if record.error else ""
    return f"{name}: {record.status}{reason}"


SUITE = Words(lambda trial: title(trial.test, trial.protocol), describe)
SWEEP = Words(lambda trial: trial.test.id, describe_point)


def clock(seconds: float) -> str:
    """``1:02:03`` or ``2:03``."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
