"""Rounds: repeated in fresh processes, stopped early, kept when one is cut short."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aiscore.errors import UserError
from aiscore.execution.journal import Journal
from aiscore.execution.process import Worker
from aiscore.execution.request import Request, request_to_resume
from aiscore.execution.run import execute
from aiscore.execution.runner import Observer
from aiscore.messages import Passes
from aiscore.report.rows import rounds_text, score_rows, status_text
from aiscore.results.reference import reference_ms
from aiscore.results.store import load
from aiscore.results.summary import derive, round_scores, whole_rounds
from aiscore.spec import Status, Suite
from tests.results_factory import record, result
from workloads.suite import FULL, MICRO

OUTPUT = Path("result.json")
JOURNAL = Path("result.json.journal")


class Notebook(Observer):
    """Writes down what happens; ``at`` is called with the number of each round at its start."""

    def __init__(self, at=lambda number: None) -> None:
        self.at = at
        self.ran: list[tuple[int, str]] = []
        self.round = 0

    def note(self, text: str) -> None:
        if text.startswith("round "):
            self.round = int(text.split()[1])
            self.at(self.round)

    def ended(self, record) -> None:
        self.ran.append((self.round, record.id))


def run(observer, tests="1", **request):
    asked = Request(backend="fake", tests=tests, output=OUTPUT, **request)
    return execute(asked, observer, lambda question: False).result


def rounds_of(test):
    return [(record.round, record.status.value) for record in test.rounds]


def noisy(script, share):
    """A script whose passes take longer in every second round."""

    def at(number):
        pass_ms = 10 * (1 + share * (number % 2))
        script(tests={"*": {"passes_ms": [pass_ms]}})

    return at


def test_every_round_has_every_test_in_order(script):
    notebook = Notebook()
    made = run(notebook, rounds=3)
    assert notebook.ran == [(n, id) for n in (1, 2, 3) for id in ("1.1", "1.2")]
    for test in made.tests:
        assert rounds_of(test) == [(1, "ok"), (2, "ok"), (3, "ok")]
        assert all(len(record.passes_s) == 22 for record in test.rounds)
    assert made.run.rounds == 3
    assert load(OUTPUT) == made
    assert os.listdir() == [OUTPUT.name]


def test_rounds_that_agree_end_after_the_fifth(script):
    made = run(Notebook(), rounds=8)
    assert whole_rounds(made) == [1, 2, 3, 4, 5]
    assert rounds_text(made) == "5 of at most 8"


def test_rounds_that_differ_go_on_to_the_last(script):
    made = run(Notebook(noisy(script, 0.1)), rounds=7)
    assert whole_rounds(made) == [1, 2, 3, 4, 5, 6, 7]
    assert rounds_text(made) == "7"


@pytest.mark.parametrize("rounds", [1, 2])
def test_too_few_rounds_say_so(script, rounds):
    made = run(Notebook(), rounds=rounds)
    assert rounds_text(made) == f"{rounds} (how much runs differ was not measured)"


def test_a_test_that_fails_in_a_round_is_not_ok_and_not_repeated(script):
    def at(number):
        script(tests={"1.2": {"failure": "oom"}} if number == 2 else {})

    notebook = Notebook(at)
    made = run(notebook, rounds=3)
    assert notebook.ran == [(1, "1.1"), (1, "1.2"), (2, "1.1"), (2, "1.2"), (3, "1.1")]
    first, second = made.tests
    assert rounds_of(first) == [(1, "ok"), (2, "ok"), (3, "ok")]
    assert second.status is Status.OOM
    assert second.error is not None
    assert rounds_of(second) == [(1, "ok"), (2, "oom")]
    assert whole_rounds(made) == [1, 2, 3]


def test_an_interrupt_in_a_later_round_keeps_the_whole_ones(script, monkeypatch):
    receive = Worker.receive
    notebook = Notebook()
    seen = []

    def receive_until_the_third_round(worker, limit_s):
        if notebook.round == 3 and seen and isinstance(seen[-1], Passes):
            raise KeyboardInterrupt
        seen.append(receive(worker, limit_s))
        return seen[-1]

    def forget(number):
        seen.clear()

    notebook.at = forget
    monkeypatch.setattr(Worker, "receive", receive_until_the_third_round)
    made = run(notebook, rounds=5)
    first, second = made.tests
    assert (first.status, second.status) == (Status.OK, Status.OK)
    assert rounds_of(first) == [(1, "ok"), (2, "ok"), (3, "interrupted")]
    assert first.rounds[2].passes_s, "measured is measured"
    assert rounds_of(second) == [(1, "ok"), (2, "ok")]
    assert whole_rounds(made) == [1, 2]
    assert made.run.interrupted
    assert derive(made).tests[0].passes == 44
    assert load(OUTPUT) == made

    notebook = Notebook()
    monkeypatch.setattr(Worker, "receive", receive)
    resumed = execute(request_to_resume(OUTPUT, {}), notebook, lambda question: False).result
    assert notebook.ran == [(n, id) for n in (3, 4, 5) for id in ("1.1", "1.2")]
    assert [rounds_of(test) for test in resumed.tests] == [
        [(n, "ok") for n in range(1, 6)] for _ in range(2)
    ]
    assert not resumed.run.interrupted


def test_an_interrupt_between_two_rounds_keeps_the_whole_ones(script):
    def at(number):
        if number == 2:
            raise KeyboardInterrupt

    made = run(Notebook(at), rounds=3)
    assert [rounds_of(test) for test in made.tests] == [[(1, "ok")], [(1, "ok")]]
    assert made.run.interrupted


def test_a_run_killed_in_a_later_round_goes_on_in_it(script):
    made = run(Notebook(), rounds=3)
    OUTPUT.unlink()
    header = made.model_copy(update={"tests": [], "summary": None})
    journal = Journal(JOURNAL, header)
    lines = [
        test.model_copy(update={"rounds": [test.rounds[number]]})
        for number in range(3)
        for test in made.tests
    ]
    for line in lines[:3]:
        journal.append(line)
    journal.close()
    notebook = Notebook()
    resumed = execute(request_to_resume(OUTPUT, {}), notebook, lambda question: False).result
    assert notebook.ran == [(2, "1.2"), (3, "1.1"), (3, "1.2")]
    assert [rounds_of(test) for test in resumed.tests] == [
        [(n, "ok") for n in (1, 2, 3)] for _ in range(2)
    ]


def test_a_test_that_failed_in_a_later_round_is_resumed_in_it(script):
    def at(number):
        script(tests={"1.2": {"failure": "oom", "at_pass": 2}} if number == 2 else {})

    run(Notebook(at), rounds=3)
    notebook = Notebook()
    resumed = execute(request_to_resume(OUTPUT, {}), notebook, lambda question: False).result
    assert notebook.ran == [(2, "1.2"), (3, "1.2")]
    assert all(test.status is Status.OK for test in resumed.tests)


def test_ctrl_c_in_a_later_round_exits_130_and_says_what_there_is(script):
    command = [sys.executable, "-m", "aiscore", "run", "--backend", "fake", "--tests", "1"]
    with subprocess.Popen(
        [*command, "--rounds", "1000", "-o", str(OUTPUT)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert any("round 2 of at most" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
    assert whole_rounds(load(OUTPUT))[:1] == [1]


def test_no_round_is_an_error():
    with pytest.raises(UserError, match="0 rounds measure nothing"):
        Request(rounds=0)


def speeds(spec, *pass_ms):
    """A test whose passes took so long in each round, the slow first pass aside."""
    rounds = [
        {"round": number, "passes_s": [9.0, time / 1000, time / 1000]}
        for number, time in enumerate(pass_ms, start=1)
    ]
    return record(spec, rounds=rounds)


def at_reference(*factors, suite=Suite.MICRO):
    specs = MICRO if suite is Suite.MICRO else FULL
    reference = reference_ms(suite)
    tests = [speeds(spec, *(reference[spec.id] * factor for factor in factors)) for spec in specs]
    return result(tests, suite=suite)


def test_a_score_is_the_geometric_mean_of_its_rounds():
    made = at_reference(1, 0.25, 0.5)
    assert round_scores(made)["micro"] == pytest.approx([10_000, 40_000, 20_000])
    score = derive(made).scores["micro"]
    assert score is not None
    assert (score.value, score.interval_kind) == (20_000, "rounds")
    assert score.interval is not None
    low, high = score.interval
    assert low < 20_000 < high
    assert low * high == pytest.approx(20_000**2), "centred in logarithms"


def test_the_ai_score_has_an_interval_of_its_own():
    made = at_reference(1, 1.01, 0.99, suite=Suite.FULL)
    scores = derive(made).scores
    inference, training, ai = (scores[name] for name in ("inference", "training", "ai"))
    assert inference is not None and training is not None and ai is not None
    assert ai.value == inference.value + training.value
    assert ai.interval_kind == "rounds"
    assert ai.interval == pytest.approx([2 * bound for bound in inference.interval])
    assert derive(made).comparable_with_leaderboard


def test_a_score_is_shown_with_the_interval_that_rounds_give_it():
    _, shown, _ = score_rows(at_reference(1, 1.01, 0.99))[0]
    assert shown == "10000 (95 % over rounds: 9754 to 10252)"
    _, shown, _ = score_rows(at_reference(1, 1.01))[0]
    assert shown == "9950"


def test_two_rounds_give_no_interval():
    score = derive(at_reference(1, 1.01)).scores["micro"]
    assert score is not None
    assert (score.interval, score.interval_kind) == (None, None)


def test_a_round_that_is_not_whole_does_not_count():
    made = at_reference(1, 1, 1)
    *others, last = made.tests
    cut = last.model_copy(update={"rounds": last.rounds[:2]})
    run_record = made.run.model_copy(update={"interrupted": True, "rounds": 3})
    made = made.model_copy(update={"tests": [*others, cut], "run": run_record})
    assert whole_rounds(made) == [1, 2]
    assert len(round_scores(made)["micro"]) == 2
    assert rounds_text(made) == "2 of at most 3 (how much runs differ was not measured)"
    assert status_text(made) == "complete, interrupted in a later round"
    assert derive(made).not_comparable_because == ["the micro suite has a scale of its own"]
