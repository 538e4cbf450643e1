"""What progress says: plain lines, and one that lives on a terminal."""

from dataclasses import replace

import pytest

from aiscore.cli.progress import SWEEP, LiveProgress, PlainProgress, clock, describe
from aiscore.results.model import ErrorRecord, RoundRecord, TestRecord
from aiscore.spec import Status, Trial
from workloads.suite import FULL

TRIALS = tuple(Trial(test=test) for test in FULL)


def record(status=Status.OK, message=None):
    test = FULL[0]
    return TestRecord(
        id=test.id,
        network=test.network,
        title=test.title,
        mode=test.mode,
        batch=test.batch,
        input=list(test.input),
        status=status,
        rounds=[RoundRecord(round=1, passes_s=[9, 0.1, 0.3])],
        error=None if message is None else ErrorRecord(type="Error", message=message),
    )


def test_a_finished_test_shows_its_mean_without_the_first_pass():
    assert describe(record()) == "1.1 MobileNet-V2 inference: 200 ms, 3 passes"


def test_a_failed_test_shows_why_on_one_line():
    line = describe(record(Status.CRASH, "bad \x1b[2Jworse\nand more"))
    assert line == "1.1 MobileNet-V2 inference: crash: bad \\x1b[2Jworse ..."


def test_plain_lines_count_the_tests(capsys):
    progress = PlainProgress()
    progress.begin(TRIALS[:2])
    progress.started(TRIALS[0])
    progress.ended(record())
    progress.ended(record(Status.INTERRUPTED))
    progress.end()
    assert capsys.readouterr() == ("", "[1/2] 1.1 MobileNet-V2 inference: 200 ms, 3 passes\n")


def test_the_live_line_names_test_elapsed_and_what_is_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    progress = LiveProgress()
    progress.begin(TRIALS[:4])
    try:
        progress.started(TRIALS[0])
        now[0] += 60
        assert progress.line(80) == "[1/4] 1.1 MobileNet-V2 inference, 1:00 | elapsed 1:00"
        progress.ended(record())
        progress.started(TRIALS[1])
        now[0] += 20
        assert progress.line(80) == (
            "[2/4] 1.2 MobileNet-V2 training, 0:20 | elapsed 1:20, about 2:40 left"
        )
    finally:
        progress.end()


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (80, "[1/1] se_resnext101_32x4d/traini…ensorflow/fp16/xla-off/256, 0:05 | elapsed 0:05"),
        (50, "[1/1] se_resnext1…xla-off/256, 0:05 | elapsed 0:05"),
        (9, "[1/1] se_re…ff/256, 0:05 | elapsed 0:05"),
    ],
)
def test_of_a_long_name_both_ends_are_shown_as_far_as_the_times_leave_room(
    monkeypatch, width: int, line: str
):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    name = "se_resnext101_32x4d/training/tensorflow/fp16/xla-off/256"
    progress = LiveProgress(SWEEP)
    progress.begin([trial := Trial(test=replace(FULL[0], id=name))])
    try:
        progress.started(trial)
        now[0] += 5
        assert progress.line(width) == line
        assert len(line) <= max(width, 40)
    finally:
        progress.end()


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (3723, "1:02:03")])
def test_durations(seconds, text):
    assert clock(seconds) == text
