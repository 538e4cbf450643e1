"""The benchmark of what launching takes (benchmarks/launch_floor.py): a batch against one input."""

import time

import launch_floor
import numpy as np
import pytest

from aiscore.backends.base import Batch

PER_PASS_S, PER_INPUT_S = 1e-3, 5e-4


class Session:
    """Takes a time for every pass, and one for every input of the batch that was placed."""

    def place(self, batch: Batch) -> None:
        self.pass_s = PER_PASS_S + PER_INPUT_S * len(batch.input)

    def resident_pass(self) -> None:
        time.sleep(self.pass_s)

    def sync(self) -> None:
        pass


def test_a_batch_of_one_is_the_first_input_and_its_target():
    whole = Batch(input=np.arange(6).reshape(3, 2), target=np.arange(3))
    one = launch_floor.first_of(whole)
    assert one.input.tolist() == [[0, 1]]
    assert one.target is not None and one.target.tolist() == [0]
    assert launch_floor.first_of(Batch(input=whole.input, target=None)).target is None


def test_the_time_of_a_pass_is_that_of_the_batch_that_was_placed():
    whole = Batch(input=np.zeros((8, 2)), target=None)
    session = Session()
    ratio = launch_floor.time_pass(session, whole) / launch_floor.time_pass(
        session, launch_floor.first_of(whole)
    )
    assert ratio == pytest.approx(5 / 1.5, rel=0.5)


@pytest.fixture
def command(monkeypatch) -> list[str]:
    """The command, to which a test adds its arguments."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")  # which it sets for itself
    arguments = ["launch_floor", "--backend", "fake", "--device", "cpu"]
    monkeypatch.setattr("sys.argv", arguments)
    return arguments


def test_the_table_has_a_line_for_each_test(command, capsys):
    command += ["--tests", "1.1,5.2"]
    assert launch_floor.main() == 0
    *_, first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("| 1.1 MobileNet-V2 inference | 50 | ")
    assert second.startswith("| 5.2 ResNet-V2-50 training | 10 | ")


def test_tests_that_there_are_not_are_refused(command, capsys):
    command += ["--tests", "77"]
    assert launch_floor.main() == 2
    assert "77" in capsys.readouterr().err
