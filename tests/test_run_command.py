"""``aiscore run`` as a user runs it: a process of its own, its streams, its exit code."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from aiscore.results.store import load

RUN = [sys.executable, "-m", "aiscore", "run", "--backend", "fake"]
OUTPUT = Path("result.json")


def aiscore_run(*arguments):
    return subprocess.run(
        [*RUN, "-o", str(OUTPUT), *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def hanging_run(script):
    """A run that has finished test 1.1 and hangs in 1.2."""
    script(tests={"1.2": {"failure": "hang"}})
    with subprocess.Popen(
        [*RUN, "-o", str(OUTPUT), "--tests", "1,2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert any(line.startswith("[1/4] 1.1 ") for line in process.stderr)
        yield process
        process.kill()


def test_the_result_goes_to_stdout_and_progress_to_stderr(script):
    done = aiscore_run("--tests", "1,19.1")
    assert done.returncode == 0
    assert "MobileNet-V2" in done.stdout
    assert done.stderr.splitlines() == [
        "aiscore: device chosen automatically: Fake CPU",
        "[1/3] 1.1 MobileNet-V2 inference: 3.01 ms, 22 passes",
        "[2/3] 1.2 MobileNet-V2 training: 9.02 ms, 22 passes",
        "[3/3] 19.1 GNMT-Translation inference: 1.40 ms, 22 passes",
        "aiscore: result file: result.json",
    ]


def test_json_is_the_whole_of_stdout(script):
    done = aiscore_run("--tests", "1.1", "--json")
    assert done.returncode == 0
    assert [test["id"] for test in json.loads(done.stdout)["tests"]] == ["1.1"]


@pytest.mark.parametrize("failure", ["oom", "unsupported"])
def test_a_test_that_is_not_ok_is_a_finding(script, failure):
    script(tests={"1.2": {"failure": failure}})
    done = aiscore_run("--tests", "1")
    assert done.returncode == 1
    assert f"[2/2] 1.2 MobileNet-V2 training: {failure}: the script says" in done.stderr
    assert OUTPUT.exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--tests", "1.9"], "no test of this suite fits '1.9'"),
        (["--device", "gpu"], "there is no device 'gpu'; there are: cpu (Fake CPU)"),
        (["--backend", "no-such"], "there is no backend 'no-such'"),
        (["--timeout", "0"], "0.0 s is not a deadline; give a number of seconds"),
        (["--passes", "0"], "0 passes measure nothing"),
        (["--passes", "many"], "'many' is not a valid integer"),
        (["--memory-fraction", "1.5"], "1.5 is no share of the memory"),
        (["--suite", "huge"], "'huge' is not one of 'full', 'micro'"),
        (["-o", "."], ". is a directory"),
        (["-o", "no/such/place.json"], "there is no directory no/such"),
        (["--no-such-option"], "No such option '--no-such-option'"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(script, arguments, problem):
    done = aiscore_run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("aiscore: error: ")
    assert problem in done.stderr
    assert os.listdir() == []


def test_without_a_terminal_an_existing_file_is_refused(script):
    OUTPUT.write_text("precious")
    done = aiscore_run("--tests", "1.1")
    assert done.returncode == 2
    assert "result.json exists already; name another file, or pass --yes" in done.stderr
    assert OUTPUT.read_text() == "precious"
    assert aiscore_run("--tests", "1.1", "--yes").returncode == 0


def test_control_characters_do_not_reach_the_terminal(script):
    done = aiscore_run("--tests", "\x1b[2J\nzzz")
    assert "\x1b" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_debug_shows_the_traceback_as_well(script):
    done = aiscore_run("--tests", "1.9", "--debug")
    assert done.returncode == 2
    assert done.stderr.startswith("Traceback")
    assert done.stderr.splitlines()[-1].startswith("aiscore: error: no test")


def test_ctrl_c_keeps_the_finished_tests_in_a_valid_file(hanging_run):
    worker = psutil.Process(hanging_run.pid).children(recursive=True)
    hanging_run.send_signal(signal.SIGINT)
    assert hanging_run.wait() == 130
    result = load(OUTPUT)
    assert result.run.interrupted
    assert [(test.id, test.status.value) for test in result.tests] == [
        ("1.1", "ok"),
        ("1.2", "interrupted"),
        ("2.1", "interrupted"),
        ("2.2", "interrupted"),
    ]
    assert os.listdir() == [OUTPUT.name]
    assert not any(process.is_running() for process in worker)


def test_sigterm_keeps_them_as_ctrl_c_does(hanging_run):
    hanging_run.send_signal(signal.SIGTERM)
    assert hanging_run.wait() == 130
    result = load(OUTPUT)
    assert result.run.interrupted
    assert [test.status.value for test in result.tests] == ["ok", *3 * ["interrupted"]]
    assert result.tests[1].error is not None
    # The signal may come before the worker has told how far it is.
    phases = ("start", "prepare", "passes")
    assert result.tests[1].error.message in [f"SIGTERM (phase: {phase})" for phase in phases]
    assert os.listdir() == [OUTPUT.name]


def test_a_terminal_that_is_lost_keeps_them_too(script):
    script(tests={"1.2": {"failure": "hang"}})
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [*RUN, "-o", str(OUTPUT), "--tests", "1,2"], stdout=end, stderr=end, start_new_session=True
    ) as run:
        os.close(end)
        shown = b""
        while b"1.1 MobileNet-V2 inference: " not in shown:
            shown += os.read(terminal, 4096)
        os.close(terminal)  # what is written there fails from here on
        run.send_signal(signal.SIGHUP)
        assert run.wait() == 130
    result = load(OUTPUT)
    assert [test.status.value for test in result.tests] == ["ok", *3 * ["interrupted"]]
    assert result.tests[1].error is not None
    assert result.tests[1].error.message.startswith("SIGHUP (phase: ")
    assert os.listdir() == [OUTPUT.name]


def test_nohup_keeps_a_run_going_when_its_terminal_is_lost(script):
    script(tests={"1.2": {"failure": "hang"}})
    with subprocess.Popen(
        ["nohup", *RUN, "-o", str(OUTPUT), "--tests", "1,2", "--timeout", "3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stderr is not None
        assert any(line.startswith("[1/4] 1.1 ") for line in run.stderr)
        run.send_signal(signal.SIGHUP)
        run.communicate()
    assert run.returncode == 1
    assert [test.status.value for test in load(OUTPUT).tests] == ["ok", "timeout", "ok", "ok"]


def test_impatient_ctrl_c_loses_nothing(hanging_run):
    for _ in range(5):
        hanging_run.send_signal(signal.SIGINT)
    assert hanging_run.wait() == 130
    assert load(OUTPUT).tests[0].status == "ok"


def test_ctrl_c_that_does_not_stop_changes_nothing(hanging_run):
    while hanging_run.poll() is None:
        hanging_run.send_signal(signal.SIGINT)
        time.sleep(0.01)
    assert hanging_run.returncode == 130
    assert load(OUTPUT).tests[0].status == "ok"


def test_when_aiscore_is_killed_its_worker_ends_and_the_journal_stays(hanging_run):
    workers = psutil.Process(hanging_run.pid).children(recursive=True)
    hanging_run.kill()
    hanging_run.wait()
    ended, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []
    assert ended
    header, finished = Path("result.json.journal").read_text().splitlines()
    assert json.loads(header)["run"]["requested"] == ["1.1", "1.2", "2.1", "2.2"]
    assert json.loads(finished)["id"] == "1.1"


def test_a_run_that_was_killed_is_resumed_to_a_complete_result(hanging_run, script):
    hanging_run.kill()
    hanging_run.wait()
    script(tests={"1.1": {"passes_ms": [99]}})  # it must not run again
    done = subprocess.run(
        [*RUN, "--resume", str(OUTPUT)], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0
    assert done.stderr.splitlines()[1:] == [
        "aiscore: 1 of 4 tests are done already",
        "[1/3] 1.2 MobileNet-V2 training: 9.02 ms, 22 passes",
        "[2/3] 2.1 Inception-V3 inference: 29.3 ms, 22 passes",
        "[3/3] 2.2 Inception-V3 training: 87.9 ms, 22 passes",
        "aiscore: result file: result.json",
    ]
    result = load(OUTPUT)
    assert [(test.id, test.status.value) for test in result.tests] == [
        (id, "ok") for id in ("1.1", "1.2", "2.1", "2.2")
    ]
    assert result.tests[0].rounds[0].passes_s[0] != 0.099
    assert len(result.run.resumed_at) == 1
    assert os.listdir() == [OUTPUT.name]


def test_an_option_that_changes_the_set_up_of_a_resumed_run_is_refused(script):
    assert aiscore_run("--tests", "1").returncode == 0
    before = OUTPUT.read_text()
    script(software={"fake": "2"}, tests={"1.2": {"failure": "oom"}})
    for options, problem in (
        (["--seed", "7"], "nothing is missing"),
        (["--tests", "1.1"], "begun with another set-up: tests was 1.1, 1.2, is 1.1;"),
        (["-o", "other.json"], "--resume writes the file that it resumes; leave out -o"),
    ):
        done = subprocess.run(
            [*RUN, "--resume", str(OUTPUT), *options], capture_output=True, text=True
        )
        assert problem in done.stderr
    assert OUTPUT.read_text() == before
