"""Resuming: exactly what is missing is run, under the same set-up or not at all."""

import os
from pathlib import Path

import pytest

from aiscore import api
from aiscore.errors import UserError
from aiscore.execution.journal import Journal, journal_path, read
from aiscore.execution.request import Request, request_to_resume
from aiscore.execution.run import execute
from aiscore.execution.runner import Observer
from aiscore.results.store import load, save
from aiscore.spec import Mode, Status, Suite

OUTPUT = Path("result.json")
JOURNAL = Path("result.json.journal")


class Notebook(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.ran: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def ended(self, record) -> None:
        self.ran.append(record.id)


def refuse(question: str) -> bool:
    raise AssertionError(f"nobody is there to answer: {question}")


def run(tests="1,2", **request):
    asked = Request(backend="fake", tests=tests, output=OUTPUT, **request)
    return execute(asked, Notebook(), refuse).result


def resume(**given):
    """The result, and the tests that ran for it."""
    notebook = Notebook()
    outcome = execute(request_to_resume(OUTPUT, given), notebook, refuse)
    assert outcome.path == OUTPUT
    return outcome.result, notebook.ran


def cut_off(done, **request):
    """A run of 1 and 2 that was killed when so many of its tests were done."""
    result = run(**request)
    OUTPUT.unlink()
    header = result.model_copy(update={"tests": [], "summary": None})
    Journal(JOURNAL, header, result.tests[:done]).close()
    return result


def statuses(result):
    return {test.id: test.status.value for test in result.tests}


ALL_OK = {"1.1": "ok", "1.2": "ok", "2.1": "ok", "2.2": "ok"}


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_a_run_that_was_cut_off_goes_on_where_it_was(script, done):
    before = cut_off(done)
    result, ran = resume()
    assert ran == list(ALL_OK)[done:]
    assert statuses(result) == ALL_OK
    assert result.tests[:done] == before.tests[:done]
    assert (result.run.id, result.run.started_at) == (before.run.id, before.run.started_at)
    assert len(result.run.resumed_at) == 1
    assert load(OUTPUT) == result
    assert os.listdir() == [OUTPUT.name]


def test_a_run_that_was_cut_off_twice_goes_on_too(script):
    cut_off(1)
    script(tests={"2.1": {"failure": "oom"}})
    _, ran = resume()
    assert ran == ["1.2", "2.1", "2.2"]
    script()
    second, ran = resume()
    assert ran == ["2.1"]
    assert statuses(second) == ALL_OK
    assert len(second.run.resumed_at) == 2


@pytest.mark.parametrize("failure", ["oom", "error", "kill", "not_finite"])
def test_what_failed_is_run_again(script, failure):
    script(tests={"1.2": {"failure": failure}})
    run()
    script()
    result, ran = resume()
    assert ran == ["1.2"]
    assert statuses(result) == ALL_OK


def test_what_is_unsupported_is_so_again_and_is_not_asked(script):
    script(tests={"1.2": {"failure": "unsupported"}, "2.1": {"failure": "oom"}})
    run()
    script()
    result, ran = resume()
    assert ran == ["2.1"]
    assert statuses(result) == {**ALL_OK, "1.2": "unsupported"}


def test_an_interrupted_result_is_resumed(script):
    before = run()
    interrupted = {"status": Status.INTERRUPTED, "rounds": []}
    tests = [before.tests[0], *(test.model_copy(update=interrupted) for test in before.tests[1:])]
    cut = before.run.model_copy(update={"interrupted": True})
    save(before.model_copy(update={"run": cut, "tests": tests}), OUTPUT)
    result, ran = resume()
    assert ran == ["1.2", "2.1", "2.2"]
    assert not result.run.interrupted
    assert result.summary is not None
    assert result.summary.status == "partial", "four of 42"


def test_a_result_that_misses_nothing_is_left_as_it_is(script):
    before = run()
    script(start="hang")  # asking the backend would never end
    assert resume() == (before, [])


def test_a_journal_that_misses_nothing_becomes_a_result(script):
    before = cut_off(4)
    script(start="hang")
    assert resume() == (before, [])
    assert load(OUTPUT) == before
    assert not JOURNAL.exists()


@pytest.mark.parametrize("cut_bytes", [1, 2, 100, 300])
def test_a_last_line_that_was_cut_off_is_left_out(script, cut_bytes):
    before = cut_off(3)
    whole = JOURNAL.read_bytes()
    JOURNAL.write_bytes(whole[:-cut_bytes])
    assert read(JOURNAL).tests == before.tests[:2]
    result, ran = resume()
    assert ran == ["2.1", "2.2"]
    assert statuses(result) == ALL_OK


def test_a_last_line_that_the_disk_made_up_is_left_out(script):
    before = cut_off(3)
    lines = JOURNAL.read_bytes().splitlines(keepends=True)
    JOURNAL.write_bytes(b"".join([*lines[:-1], b"\0" * 500 + b"\n"]))
    assert read(JOURNAL).tests == before.tests[:2]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "was cut off before its first test"),
        (b'{"schema_version": 1', "was cut off before its first test"),
        (b"\xff\xfe\n", "is not JSON"),
        (b"{}\n", "is JSON, but not a result"),
        (b'{"schema_version": 2}\n', "was written by a newer aiscore"),
        (b'{"schema_version": 1}\n', "is not a valid result"),
    ],
)
def test_a_file_that_is_no_journal_is_refused(script, content, problem):
    JOURNAL.write_bytes(content)
    with pytest.raises(UserError, match=problem):
        resume()
    assert JOURNAL.read_bytes() == content


def test_a_line_in_the_middle_that_is_no_test_is_refused(script):
    cut_off(3)
    lines = JOURNAL.read_text().splitlines(keepends=True)
    JOURNAL.write_text("".join([*lines[:2], "garbage\n", *lines[3:]]))
    with pytest.raises(UserError, match="line 3 is no test"):
        resume()


def test_a_journal_with_a_test_of_another_suite_is_refused(script):
    cut_off(2)
    JOURNAL.write_text(JOURNAL.read_text().replace('"id": "1.2"', '"id": "1.m"'))
    with pytest.raises(UserError, match=r"the full suite has no test '1\.m'"):
        resume()


@pytest.mark.parametrize(
    ("given", "difference"),
    [
        ({"seed": 7}, "seed was 0, is 7"),
        ({"passes": 3}, "passes was 22, is 3"),
        ({"max_seconds_per_test": 5.0}, "max seconds was 30.0, is 5.0"),
        ({"memory_fraction": 0.5}, "memory fraction was not set, is 0.5"),
        ({"tests": "1.1"}, "tests was 1.1, 1.2, 2.1, 2.2, is 1.1"),
        ({"only": Mode.INFERENCE}, "tests was 1.1, 1.2, 2.1, 2.2, is 1.1, 2.1, 3.1"),
        ({"suite": Suite.MICRO}, "suite was full, is micro"),
    ],
)
def test_another_set_up_is_refused_with_what_differs(script, given, difference):
    cut_off(2)
    left = JOURNAL.read_bytes()
    with pytest.raises(UserError) as caught:
        resume(**given)
    assert difference in caught.value.problem
    assert "begun with another set-up" in caught.value.problem
    assert (JOURNAL.read_bytes(), os.listdir()) == (left, [JOURNAL.name])


def test_another_framework_device_or_environment_is_refused(script, monkeypatch):
    cut_off(2)
    script(software={"fake": "2"}, devices=[{"kind": "cpu", "index": 0, "name": "Other CPU"}])
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    monkeypatch.setattr("aiscore.execution.setup.__version__", "9.9")
    with pytest.raises(UserError) as caught:
        resume()
    for difference in (
        "device was cpu Fake CPU, is cpu Other CPU",
        "fake was 1, is 2",
        "TF_ENABLE_ONEDNN_OPTS was not set, is 0",
        "aiscore was 0.1.0, is 9.9",
    ):
        assert difference in caught.value.problem


def test_the_same_options_given_again_are_no_difference(script):
    cut_off(3, seed=7, passes=5)
    result, ran = resume(seed=7, passes=5, tests="1,2", suite=Suite.FULL, backend="fake")
    assert (ran, statuses(result)) == (["2.2"], ALL_OK)
    assert len(result.tests[3].rounds[0].passes_s) == 5


def test_label_and_timeout_are_no_set_up(script):
    cut_off(3, label="old", timeout=900)
    result, _ = resume(label="new", timeout=1800.0)
    assert (result.run.label, result.run.timeout_s) == ("new", 1800)


def test_a_device_that_was_asked_for_is_asked_for_again(script):
    cards = [
        {"kind": "gpu", "index": index, "name": "Fake GPU", "uuid": f"GPU-{index}"}
        for index in range(2)
    ]
    script(devices=cards)
    cut_off(1, device="GPU-1")
    result, _ = resume()
    assert (result.device.uuid, result.device.automatic) == ("GPU-1", False)
    OUTPUT.unlink()
    cut_off(1, device="GPU-1")
    script(devices=cards[:1])
    with pytest.raises(UserError, match="there is no device 'GPU-1'"):
        resume()


def test_a_quick_run_stays_one(script):
    asked = Request(backend="fake", quick=True, only=Mode.INFERENCE, output=OUTPUT)
    before = execute(asked, Notebook(), refuse).result
    OUTPUT.unlink()
    Journal(JOURNAL, before.model_copy(update={"tests": [], "summary": None})).close()
    result, ran = resume()
    assert ran == before.run.requested
    assert result.run.quick
    assert result.summary == before.summary


def test_a_run_that_still_writes_is_left_alone(script):
    result = run()
    OUTPUT.unlink()
    journal = Journal(JOURNAL, result.model_copy(update={"tests": [], "summary": None}))
    with pytest.raises(UserError, match=r"a run is still writing result\.json\.journal"):
        resume()
    journal.close()
    assert resume()[1] == list(ALL_OK)


def test_without_a_result_or_a_journal_there_is_nothing_to_resume(script):
    with pytest.raises(UserError, match=r"cannot read result\.json"):
        resume()


def test_from_python(script):
    cut_off(2)
    assert statuses(api.run(resume=OUTPUT)) == ALL_OK
    with pytest.raises(UserError, match="tests was"):
        api.run(resume=str(OUTPUT), tests="3")


def test_the_journal_lies_beside_its_result():
    assert journal_path(Path("a/b.json")) == Path("a/b.json.journal")


def test_what_was_skipped_for_want_of_memory_is_tried_again(script, monkeypatch):
    def lack(*setup):
        return lambda test: "needs more" if test.id == "1.2" else None

    with monkeypatch.context() as patch:
        patch.setattr("aiscore.execution.run.shortage", lack)
        assert statuses(run()) == {**ALL_OK, "1.2": "skipped"}
    result, ran = resume()
    assert (ran, statuses(result)) == (["1.2"], ALL_OK)
