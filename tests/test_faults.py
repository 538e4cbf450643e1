"""What a run survives: the finished work is on disk, and the user is told (docs/faults.md)."""

import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from aiscore.cli import info
from aiscore.cli.main import main
from aiscore.errors import UserError
from aiscore.execution import journal, output, process, run
from aiscore.execution.interrupts import one_interrupt, uninterrupted
from aiscore.execution.journal import Journal, read
from aiscore.execution.process import Worker, Workers, how_it_ended
from aiscore.execution.request import Request, request_to_resume
from aiscore.execution.run import execute
from aiscore.execution.runner import Observer, Runner
from aiscore.messages import Passes, Phase
from aiscore.report import text
from aiscore.report.rows import summary_of
from aiscore.results.store import load
from tests.results_factory import at_speed, result

RUN = [sys.executable, "-m", "aiscore", "run", "--backend", "fake"]
OUTPUT = Path("result.json")
JOURNAL = Path("result.json.journal")
FULL_DISK = OSError(errno.ENOSPC, "No space left on device")


class Notebook(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def start(tests="1,2", observer=None):
    asked = Request(backend="fake", tests=tests, output=OUTPUT)
    return execute(asked, observer or Notebook(), lambda question: True)


def statuses(outcome):
    return {test.id: test.status.value for test in outcome.result.tests}


def no_room(*arguments: object, **options: object) -> None:
    raise FULL_DISK


def test_a_disk_that_fills_up_loses_nothing_that_was_written(script):
    """The real thing: the system ends every write beyond 8 KiB of a file."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # else it is cut off as well
    done = subprocess.run(
        [*RUN, "-o", str(OUTPUT), "--tests", "1,2,3,5,8"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        preexec_fn=limit,
        env=environment,
    )
    assert done.returncode == 2
    assert "cannot write result.json.journal: File too large; the run goes on" in done.stderr
    assert "AI score" in done.stdout, "what could not be kept is shown at least"
    assert done.stderr.splitlines()[-1].startswith(
        "aiscore: error: cannot write result.json: File too large; "
    )
    assert os.listdir() == [JOURNAL.name]
    kept = [test.id for test in read(JOURNAL).tests]
    assert 2 <= len(kept) < 11

    notebook = Notebook()
    outcome = execute(request_to_resume(OUTPUT, {}), notebook, lambda question: False)
    assert notebook.notes[-1] == f"{len(kept)} of 11 tests are done already"
    assert set(statuses(outcome).values()) == {"ok"}


def test_a_journal_writes_what_it_owes_when_there_is_room_again(tmp_path, monkeypatch):
    made = result(at_speed(only=["1.1", "1.2", "2.1"]))
    header = made.model_copy(update={"tests": []})
    written = Journal(tmp_path / "journal", header, made.tests[:1])
    with monkeypatch.context() as patch:
        patch.setattr(journal.os, "fsync", no_room)
        with pytest.raises(OSError, match="No space left"):
            written.append(made.tests[1])
    assert not written.is_whole()
    written.append(made.tests[2])
    assert written.is_whole()
    written.close()
    assert read(tmp_path / "journal") == made


def test_half_a_line_is_written_over(tmp_path, monkeypatch):
    made = result(at_speed(only=["1.1", "1.2"]))
    path = tmp_path / "journal"
    written = Journal(path, made.model_copy(update={"tests": []}))
    with path.open("ab") as other:
        other.write(b'{"id": "1.1", "netw')  # as a full disk leaves it
    for record in made.tests:
        written.append(record)
    written.close()
    assert read(path) == made


def test_a_new_journal_does_not_take_the_place_of_the_old_one_before_it_is_whole(
    tmp_path, monkeypatch
):
    path = tmp_path / "journal"
    path.write_text("samples")
    monkeypatch.setattr(journal.os, "fsync", no_room)
    with pytest.raises(OSError, match="No space left"):
        Journal(path, result([]))
    assert path.read_text() == "samples"
    assert os.listdir(tmp_path) == ["journal"]


def test_a_result_that_cannot_be_saved_is_in_its_journal(script, monkeypatch):
    def refuse(made, path):
        raise UserError(f"cannot write {path}: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run, "save", refuse)
        outcome = start()
    assert outcome.unsaved is not None
    assert outcome.unsaved.advice == (
        "its tests are in result.json.journal; make room, then: aiscore run --resume result.json"
    )
    resumed = execute(request_to_resume(OUTPUT, {}), Notebook(), lambda question: False)
    assert resumed.result.tests == outcome.result.tests
    assert os.listdir() == [OUTPUT.name]


def test_a_result_that_its_disk_does_not_take_at_all_goes_elsewhere(script, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Journal, "append", no_room)
    monkeypatch.setattr(Journal, "is_whole", lambda journal: False)
    save = run.save

    def refuse_here(made, path):
        if path == OUTPUT:
            raise UserError(f"cannot write {path}: No space left on device")
        save(made, path)

    monkeypatch.setattr(run, "save", refuse_here)
    notebook = Notebook()
    outcome = start(observer=notebook)
    assert sum("the run goes on" in note for note in notebook.notes) == 4
    assert outcome.unsaved is not None
    place = Path(outcome.unsaved.advice.removeprefix("it is in "))
    assert load(place) == outcome.result


def runs_at_once(count, *options):
    """Their exit codes and last lines."""
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    [*RUN, "--tests", "1", *options],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(count)
        ]
        errors = [run.communicate()[1].splitlines()[-1] for run in running]
        return [(run.returncode, error) for run, error in zip(running, errors, strict=True)]


def test_runs_at_once_in_one_directory_have_a_file_each(script):
    ends = runs_at_once(4)
    places = {Path(line.removeprefix("aiscore: result file: ")) for _, line in ends}
    assert [status for status, _ in ends] == 4 * [0]
    assert len({load(place).run.id for place in places}) == 4


def test_of_runs_at_once_with_one_file_the_first_has_it(script):
    first, *others = sorted(runs_at_once(3, "-o", str(OUTPUT)))
    assert first == (0, "aiscore: result file: result.json")
    refusal = r"aiscore: error: (another run writes|result\.json(\.journal)? exists already)"
    for status, error in others:  # refused while the first one writes, before or after
        assert status == 2
        assert re.match(refusal, error)
    assert os.listdir() == [OUTPUT.name]


def test_a_result_that_another_run_wrote_meanwhile_is_not_overwritten(script):
    class Other(Notebook):
        def measuring_roof(self, device: str) -> None:
            execute(asked, Notebook(), lambda question: True)

    asked = Request(backend="fake", tests="1.1", output=OUTPUT)
    with pytest.raises(UserError, match="another run writes"):
        execute(asked, Other(), lambda question: True)
    assert [test.status.value for test in load(OUTPUT).tests] == ["ok"]
    assert os.listdir() == [OUTPUT.name]


def test_a_directory_that_is_removed_meanwhile_costs_no_test(script, monkeypatch, tmp_path):
    class Remover(Notebook):
        def ended(self, record) -> None:
            shutil.rmtree("results", ignore_errors=True)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    Path("results").mkdir()
    asked = Request(backend="fake", tests="1,2", output=Path("results/r.json"))
    outcome = execute(asked, Remover(), lambda question: True)
    assert outcome.unsaved is not None
    assert load(Path(outcome.unsaved.advice.removeprefix("it is in "))) == outcome.result
    assert set(statuses(outcome).values()) == {"ok"}


def test_a_run_killed_between_its_result_and_its_journals_end_is_resumed_to_the_same(script):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "remove", Journal.close)
        before = start()
    assert JOURNAL.exists()
    notebook = Notebook()
    after = execute(request_to_resume(OUTPUT, {}), notebook, lambda question: False)
    assert notebook.notes == ["nothing is missing in result.json"]
    assert after.result.tests == before.result.tests
    assert os.listdir() == [OUTPUT.name]


def test_a_directory_that_cannot_be_written_is_refused_before_any_work(script):
    script(start="hang")  # asking the backend would never end
    with pytest.raises(UserError, match="cannot write in /proc"):
        execute(
            Request(backend="fake", output=Path("/proc/result.json")),
            Notebook(),
            lambda question: True,
        )


def test_without_a_place_for_logs_nothing_starts(script, monkeypatch):
    monkeypatch.setattr(output, "check_writable", lambda directory: None)
    monkeypatch.setattr(tempfile, "TemporaryFile", no_room)
    with pytest.raises(UserError, match=r"does not start \(No space left on device\)"):
        start()


def test_a_clock_that_is_set_back_overwrites_no_result(script, monkeypatch):
    class Stuck(datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime(2026, 11, 30, 10, 0, 0, tzinfo=UTC)

    monkeypatch.setattr(run, "datetime", Stuck)
    asked = Request(backend="fake", tests="1.1")
    paths = [execute(asked, Notebook(), lambda question: True).path for _ in range(3)]
    assert [path.name for path in paths] == [
        f"20261130T100000Z-fake-cpu{suffix}.json" for suffix in ("", "-2", "-3")
    ]
    assert len({load(path).run.id for path in paths}) == 3


@pytest.mark.parametrize("pass_ms", [0, -3])
def test_a_clock_that_is_set_back_in_a_pass_ends_its_test_and_no_other(script, pass_ms):
    script(tests={"1.1": {"passes_ms": [9, 5, pass_ms, 5]}})
    outcome = start("1")
    assert statuses(outcome) == {"1.1": "crash", "1.2": "ok"}
    first = outcome.result.tests[0]
    assert first.error is not None
    assert (first.error.type, first.error.message) == ("Clock", "a pass took no time or less")
    assert first.rounds[0].passes_s[:3] == [0.009, 0.005, pass_ms / 1000], "measured is measured"
    assert load(OUTPUT) == outcome.result
    failed = [check.name for check in summary_of(outcome.result).checks if not check.ok]
    assert failed == ["clock_trouble"]


def test_a_clock_that_is_set_back_before_a_run_is_resumed_changes_nothing(script, monkeypatch):
    script(tests={"1.2": {"failure": "oom"}})
    before = start("1")

    class Earlier(datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime(2001, 1, 1, tzinfo=UTC)

    monkeypatch.setattr(run, "datetime", Earlier)
    script()
    after = execute(request_to_resume(OUTPUT, {}), Notebook(), lambda question: False)
    assert statuses(after) == {"1.1": "ok", "1.2": "ok"}
    assert after.result.run.resumed_at == ["2001-01-01T00:00:00+00:00"]
    assert after.result.run.started_at == before.result.run.started_at
    assert load(OUTPUT) == after.result


def test_processes_of_others_are_left_alone(script, monkeypatch):
    monkeypatch.setattr(process, "GRACE_S", 0.5)
    script(tests={"1.1": {"failure": "stubborn"}, "1.2": {"failure": "kill"}})
    with (
        subprocess.Popen(["sleep", "60"]) as sibling,
        subprocess.Popen(["sleep", "60"], start_new_session=True) as stranger,
    ):
        asked = Request(backend="fake", tests="1", output=OUTPUT, timeout=2)
        outcome = execute(asked, Notebook(), lambda question: True)
        assert statuses(outcome) == {"1.1": "timeout", "1.2": "crash"}
        assert (sibling.poll(), stranger.poll()) == (None, None)
        sibling.kill()
        stranger.kill()


def test_a_framework_that_is_gone_in_the_middle_fails_the_tests_that_are_left(script):
    class Saboteur(Notebook):
        def ended(self, record) -> None:
            script(start="missing")

    script(tests={"1.2": {"failure": "hang"}})
    asked = Request(backend="fake", tests="1,2", output=OUTPUT, timeout=2)
    outcome = execute(asked, Saboteur(), lambda question: True)
    assert statuses(outcome) == {"1.1": "ok", "1.2": "timeout", "2.1": "crash", "2.2": "crash"}
    error = outcome.result.tests[-1].error
    assert error is not None
    assert error.message == "Fakework is not installed: pip install fakework"


@pytest.mark.parametrize(
    "message", [Phase(test="2.1", phase="passes"), Passes(test="19.1", passes_s=(1.0,))]
)
def test_a_worker_that_speaks_out_of_turn_is_not_believed(script, monkeypatch, message):
    receive = Worker.receive
    said = []

    def receive_another(worker, limit_s):
        real = receive(worker, limit_s)
        if real == Phase(test="1.1", phase="passes") and not said:
            said.append(message)
            return message
        return real

    monkeypatch.setattr(Worker, "receive", receive_another)
    outcome = start("1.1,2.1")
    assert said
    assert statuses(outcome) == {"1.1": "crash", "2.1": "ok"}


def test_a_worker_that_prints_megabytes_leaves_its_last_lines(script):
    script(tests={"1.1": {"failure": "babble"}})
    outcome = start("1")
    assert statuses(outcome) == {"1.1": "crash", "1.2": "ok"}
    error = outcome.result.tests[0].error
    assert error is not None
    assert len(error.log) <= process.LOG_LINES
    assert error.log[-1] == "RuntimeError: the script says that this pass fails"


def test_a_worker_that_cannot_be_started_fails_its_tests(script, monkeypatch):
    class Saboteur(Notebook):
        def ended(self, record) -> None:
            super().ended(record)
            monkeypatch.setattr(process.subprocess, "Popen", no_room)

    script(tests={"1.1": {"failure": "garbage"}})  # which costs the first worker
    outcome = start("1", Saboteur())
    assert statuses(outcome) == {"1.1": "crash", "1.2": "crash"}
    assert outcome.result.tests[1].error is not None
    assert outcome.result.tests[1].error.message == "No space left on device"


DESCRIPTION, ROOF, FIRST, SECOND = 1, 2, 3, 4  # the jobs of a run


@pytest.fixture
def kill_worker(monkeypatch):
    """Kills the worker of that job, before it is asked for or only then."""

    def prepare(job: int, *, asked: bool) -> None:
        ready, workers_of_jobs = Workers.ready, []

        def ready_and_killed(workers: Workers, backend: str) -> Worker:
            worker = ready(workers, backend)
            workers_of_jobs.append(worker)
            if len(workers_of_jobs) != job:
                return worker
            os.kill(worker._process.pid, signal.SIGKILL)
            while not worker.has_ended():
                time.sleep(0.01)
            return worker if asked else ready(workers, backend)

        monkeypatch.setattr(Workers, "ready", ready_and_killed)

    return prepare


@pytest.mark.parametrize("job", [DESCRIPTION, ROOF, FIRST, SECOND])
def test_a_worker_that_ends_while_it_has_no_job_costs_nothing(script, kill_worker, job):
    kill_worker(job, asked=False)
    outcome = start()
    assert outcome.result.roof is not None
    assert outcome.result.roof.problem is None
    assert set(statuses(outcome).values()) == {"ok"}


def test_a_worker_that_ends_as_it_is_asked_what_it_sees_is_an_error(script, kill_worker):
    kill_worker(DESCRIPTION, asked=True)
    with pytest.raises(UserError, match=r"does not start \(its process was ended by SIGKILL\)"):
        start()


def test_a_worker_that_cannot_be_started_to_say_what_it_sees_is_an_error(script, monkeypatch):
    monkeypatch.setattr(process.subprocess, "Popen", no_room)
    with pytest.raises(UserError, match=r"fake backend does not start \(No space left on device\)"):
        start()


@pytest.mark.parametrize(
    ("number", "name"),
    [(signal.SIGKILL, "SIGKILL"), (signal.SIGRTMIN + 6, "SIGRTMIN+6")],
)
def test_every_signal_has_a_name(number, name):
    assert how_it_ended(-number) == f"was ended by {name}"


def test_a_worker_that_ends_as_the_roof_begins_costs_the_roof(script, kill_worker):
    kill_worker(ROOF, asked=True)
    outcome = start()
    assert outcome.result.roof is not None
    assert outcome.result.roof.problem == "the worker was ended by SIGKILL"
    assert set(statuses(outcome).values()) == {"ok"}


def test_a_worker_that_ends_as_a_job_begins_costs_this_job_alone(script, kill_worker):
    kill_worker(FIRST, asked=True)
    assert statuses(start()) == {"1.1": "crash", "1.2": "crash", "2.1": "ok", "2.2": "ok"}


def test_aiscore_killed_at_once_leaves_nothing_in_the_directory_for_temporary_files(
    script, monkeypatch, tmp_path
):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    script(tests={"1.1": {"failure": "hang"}})
    with subprocess.Popen(
        [*RUN, "-o", str(OUTPUT), "--tests", "1"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as running:
        while not JOURNAL.exists():
            time.sleep(0.01)
        running.kill()
    assert os.listdir(tmp_path / "temporary") == []


def test_progress_that_nobody_reads_any_more_ends_no_run(script):
    with subprocess.Popen(
        [*RUN, "-o", str(OUTPUT), "--tests", "1"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stderr.close()
        assert b"MobileNet-V2" in running.stdout.read()
    assert running.returncode == 0
    assert [test.status.value for test in load(OUTPUT).tests] == ["ok", "ok"]


def test_a_worker_that_says_ok_without_a_pass_is_not_believed(script, monkeypatch):
    receive = Worker.receive

    def lose_passes(worker, limit_s):
        while isinstance(message := receive(worker, limit_s), Passes):
            continue
        return message

    monkeypatch.setattr(Worker, "receive", lose_passes)
    outcome = start("1.1")
    assert statuses(outcome) == {"1.1": "crash"}
    assert outcome.result.tests[0].error is not None
    assert outcome.result.tests[0].error.type == "ProtocolError"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_waits_for_the_end_of_what_must_be_whole(number):
    done = []
    name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
    before = signal.getsignal(number)
    with one_interrupt(), pytest.raises(KeyboardInterrupt, match=name), uninterrupted():
        with uninterrupted():
            signal.raise_signal(number)
        done.append("whole")
    assert done == ["whole"]
    assert signal.getsignal(number) is before


def test_only_the_first_interrupt_counts():
    with one_interrupt():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)


def test_a_second_interrupt_does_not_cost_the_table(script, capsys, monkeypatch):
    """The first one ends the run; the second one comes when its result is written."""
    summed_up = run.summarise

    def summarise_and_interrupt(result):
        signal.raise_signal(signal.SIGINT)
        return summed_up(result)

    render = text.render_result

    def interrupt_and_render(result):
        signal.raise_signal(signal.SIGINT)
        return render(result)

    monkeypatch.setattr(Runner, "_run_network", lambda runner: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(run, "summarise", summarise_and_interrupt)
    monkeypatch.setattr(text, "render_result", interrupt_and_render)
    before = signal.getsignal(signal.SIGINT)
    assert main(["run", "--backend", "fake", "--tests", "1", "-o", str(OUTPUT)]) == 130
    assert signal.getsignal(signal.SIGINT) is before
    shown = capsys.readouterr()
    assert "interrupted" in shown.out
    assert shown.err.splitlines()[-1] == "aiscore: result file: result.json"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("content", "reached"),
    [({"start": "hang"}, None), ({"roof": {"memory": "hang"}}, "device chosen")],
    ids=["description", "roof"],
)
def test_an_interrupt_before_the_first_test_leaves_nothing(script, content, reached, number):
    script(**content)
    with subprocess.Popen(
        [*RUN, "-o", str(OUTPUT)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        if reached:
            assert reached in running.stderr.readline()
        workers = children_of(running.pid, 1 if reached is None else 2)
        running.send_signal(number)
        assert running.stderr.read() == "aiscore: interrupted\n"
    assert running.returncode == 130
    assert all(map(is_gone, workers))
    assert os.listdir() == []


def children_of(pid, count):
    """The processes below that one, when there are so many."""
    while len(below := psutil.Process(pid).children(recursive=True)) < count:
        time.sleep(0.01)
    return below


def is_gone(process):
    """Whether it has ended; nobody may have asked how yet."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_nothing_that_a_run_opened_stays_open(script, kill_worker):
    before = os.listdir("/proc/self/fd")
    script(tests={"1.1": {"failure": "garbage"}, "1.2": {"failure": "kill"}})
    start()
    script(start="exit")
    with pytest.raises(UserError):
        start()
    kill_worker(DESCRIPTION, asked=True)
    with pytest.raises(UserError):
        start()
    assert os.listdir("/proc/self/fd") == before


def test_sigterm_ends_every_command_as_ctrl_c_does(monkeypatch, capsys):
    monkeypatch.setattr(info, "examine", lambda: signal.raise_signal(signal.SIGTERM))
    assert main(["info"]) == 130
    assert capsys.readouterr().err == "aiscore: interrupted\n"


def test_a_run_in_another_thread_leaves_the_signals_alone(script):
    before = signal.getsignal(signal.SIGTERM)
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(start("1.1")))
    thread.start()
    thread.join()
    assert statuses(outcomes[0]) == {"1.1": "ok"}
    assert signal.getsignal(signal.SIGTERM) is before
