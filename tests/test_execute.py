"""Runs with real worker processes and the fake backend: order, failures, what is kept."""

import os
import select
from contextlib import nullcontext
from pathlib import Path

import pytest

from aiscore.errors import UserError
from aiscore.execution import process
from aiscore.execution import run as run_module
from aiscore.execution.process import Worker
from aiscore.execution.request import Request
from aiscore.execution.run import execute
from aiscore.execution.runner import Observer
from aiscore.messages import Passes
from aiscore.results.model import TestRecord
from aiscore.results.store import load
from aiscore.spec import Status
from aiscore.system import gpu
from aiscore.system.monitor import Monitor, Telemetry
from workloads.suite import FULL

GPU = {"kind": "gpu", "index": 0, "name": "Fake GPU", "uuid": "GPU-1"}
OUTPUT = Path("result.json")


class Notebook(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.events: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def started(self, trial) -> None:
        self.events.append(f"{trial.test.id} started")

    def ended(self, record: TestRecord) -> None:
        self.events.append(f"{record.id} {record.status}")


def run(tests, *, observer=None, yes=False, request=None, **injected):
    asked = Request(backend="fake", tests=tests, output=OUTPUT, **(request or {}))
    return execute(asked, observer or Notebook(), lambda question: yes, **injected).result


def ends(pid, limit_s=10):
    """Whether that process has ended or does so in time; a zombie has."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(limit_s * 1000))
    finally:
        os.close(descriptor)


def statuses(result):
    return {test.id: test.status.value for test in result.tests}


def test_the_whole_suite_runs_in_order(script):
    notebook = Notebook()
    result = run(None, observer=notebook)
    ids = [test.id for test in FULL]
    assert [test.id for test in result.tests] == result.run.requested == ids
    assert notebook.events == [f"{id} {what}" for id in ids for what in ("started", "ok")]
    assert all(len(test.rounds[0].passes_s) == 22 for test in result.tests)
    assert result.summary is not None
    assert result.summary.status == "complete"
    assert not result.summary.comparable_with_leaderboard


def test_the_result_is_in_the_file_and_the_journal_is_gone(script):
    result = run("1")
    assert load(OUTPUT) == result
    assert os.listdir() == [OUTPUT.name]


def test_the_samples_are_what_the_backend_took(script):
    script(tests={"1.1": {"passes_ms": [30, 10, 20]}})
    (test,) = run("1.1", request={"passes": 5}).tests
    assert test.rounds[0].passes_s == [0.03, 0.01, 0.02, 0.03, 0.01]
    assert test.rounds[0].peak_rss_bytes is not None


def test_what_was_asked_for_is_recorded(script):
    script(software={"fakework": "3.1"}, devices=[GPU])
    request = {
        "seed": 7,
        "label": "mine",
        "memory_fraction": 0.5,
        "max_seconds_per_test": 9,
        "arguments": ("run", "--seed", "7"),
    }
    result = run("1.1", request=request)
    assert (result.run.seed, result.run.label) == (7, "mine")
    assert result.run.import_s is not None
    assert result.run.arguments == ["run", "--seed", "7"]
    assert result.options.memory_fraction == 0.5
    assert (result.policy.max_seconds, result.policy.passes) == (9, 22)
    assert result.device.model_dump(mode="json") == {
        **GPU,
        "memory_bytes": None,
        "automatic": True,
    }
    assert result.environment.software["fakework"] == "3.1"
    assert result.environment.variables["CUDA_VISIBLE_DEVICES"] == "GPU-1"
    assert result.environment.host["kernel"] == os.uname().release


class Diary(Monitor):
    """Writes down what the monitor is told, and watches nothing."""

    def __init__(self) -> None:
        super().__init__([])
        self.events: list[str] = []
        self.workers: list[int] = []

    def begin(self, worker: int) -> None:
        super().begin(worker)
        self.workers.append(worker)
        self.events.append("begin")

    def end(self) -> Telemetry | None:
        telemetry = super().end()
        self.events += ["end"] if telemetry else []
        return telemetry


@pytest.fixture
def diary(monkeypatch):
    made = Diary()
    asked = []

    def open_monitor(device):
        asked.append(device)
        return nullcontext(made)

    monkeypatch.setattr(run_module, "open_monitor", open_monitor)
    made.devices = asked
    return made


def test_the_passes_of_every_test_are_watched_on_the_device_under_test(script, diary):
    script(devices=[GPU, {**GPU, "index": 1, "uuid": "GPU-2"}])
    result = run("1,2.1", request={"device": "GPU-2"})
    assert [device.uuid for device in diary.devices] == ["GPU-2"]
    assert diary.events == ["begin", "end"] * 3
    assert all(test.rounds[0].telemetry is not None for test in result.tests)
    assert len(set(diary.workers)) == 2, "each network has a process of its own"
    assert load(OUTPUT) == result


def test_the_first_pass_which_compiles_is_not_watched(script, diary):
    script()
    for test in run("1").tests:
        (done,) = test.rounds
        assert done.passes > 1
        assert done.telemetry is not None
        assert done.telemetry.unwatched_passes == 1


@pytest.mark.parametrize("failure", ["oom", "segfault", "not_finite"])
def test_watching_ends_with_a_test_that_fails(script, diary, failure):
    script(tests={"1.1": {"failure": failure, "at_pass": 1, "passes_ms": [1000]}})
    result = run("1")
    assert diary.events == ["begin", "end"] * 2
    assert all(test.rounds[0].telemetry is not None for test in result.tests)


def test_a_test_that_does_not_run_has_no_telemetry(script, diary):
    script(tests={"1.1": {"failure": "unsupported"}})
    assert run("1.1").tests[0].rounds == []
    assert diary.events == []


def test_a_quick_run_has_three_passes(script):
    asked = Request(backend="fake", quick=True, only=None, output=OUTPUT)
    result = execute(asked, Notebook(), lambda question: False).result
    assert result.run.quick
    assert {len(test.rounds[0].passes_s) for test in result.tests} == {3}


@pytest.mark.parametrize(
    ("failure", "status", "kind"),
    [
        ("oom", "oom", "FakeOutOfMemory"),
        ("error", "crash", "RuntimeError"),
        ("segfault", "crash", "SIGSEGV"),
        ("kill", "crash", "SIGKILL"),
        ("abort", "crash", "SIGABRT"),
        ("garbage", "crash", "ProtocolError"),
        ("flood", "crash", "ProtocolError"),
        ("not_finite", "invalid_output", "InvalidOutput"),
        ("wrong_shape", "invalid_output", "InvalidOutput"),
        ("unsupported", "unsupported", "unsupported"),
    ],
)
def test_a_failure_is_charged_to_its_test_and_the_others_run(script, failure, status, kind):
    script(tests={"8.2": {"failure": failure}})
    result = run("8,19")
    assert statuses(result) == {"8.1": "ok", "8.2": status, "8.3": "ok", "19.1": "ok"}
    error = result.tests[1].error
    assert error is not None
    assert error.type == kind
    assert error.message
    assert load(OUTPUT) == result


def test_a_hanging_test_is_a_timeout_and_the_others_run(script):
    script(tests={"8.2": {"failure": "hang"}})
    result = run("8", silence_limit_s=8)
    assert statuses(result) == {"8.1": "ok", "8.2": "timeout", "8.3": "ok"}
    assert result.tests[1].error is not None
    assert "phase: passes" in result.tests[1].error.message


def test_a_test_that_takes_too_long_is_ended_with_its_samples_and_the_others_run(script):
    script(tests={"8.2": {"failure": "hang", "at_pass": 3, "passes_ms": [1000]}})
    result = run("8", request={"timeout": 1.5})
    assert statuses(result) == {"8.1": "ok", "8.2": "timeout", "8.3": "ok"}
    late = result.tests[1]
    assert late.error is not None
    assert late.error.message == "not done after 1.5 s (phase: passes)"
    assert late.rounds[0].passes_s == [1, 1, 1]
    assert result.run.timeout_s == 1.5


def test_a_test_that_talks_on_and_on_is_ended_too(script):
    script(tests={"8.2": {"passes_ms": [1000]}})  # in simulated time: a message for each
    endless = {"passes": 10**8, "max_seconds_per_test": 1e12}
    result = run("8.2", request={"timeout": 1, **endless})
    assert statuses(result) == {"8.2": "timeout"}
    assert len(result.tests[0].rounds[0].passes_s) > 22


def test_a_timeout_ends_the_whole_group_of_the_worker(script, monkeypatch):
    monkeypatch.setattr(process, "GRACE_S", 0.5)
    script(tests={"1.1": {"failure": "stubborn"}})
    result = run("1.1", request={"timeout": 2})
    assert statuses(result) == {"1.1": "timeout"}
    assert result.tests[0].error is not None
    worker, child = map(int, result.tests[0].error.log[-1].split())
    assert ends(worker)
    assert ends(child)


def test_a_test_has_far_more_time_than_it_needs_unless_told_otherwise():
    assert Request().timeout_s() == 3700
    assert Request(max_seconds_per_test=86_400).timeout_s() == 90_000
    assert Request(timeout=5).timeout_s() == 5


def test_passes_before_a_failure_are_kept(script):
    script(tests={"1.1": {"failure": "oom", "at_pass": 3, "passes_ms": [5]}})
    (test,) = run("1.1").tests
    assert test.status is Status.OOM
    assert test.rounds[0].passes_s == [0.005] * 3


def test_passes_before_ctrl_c_are_kept(script, monkeypatch):
    script(tests={"1.2": {"failure": "hang", "at_pass": 1, "passes_ms": [1000]}})
    receive = Worker.receive
    seen = []

    def receive_until_the_pass(worker, limit_s):
        if seen and seen[-1] == Passes(test="1.2", passes_s=(1.0,)):
            raise KeyboardInterrupt
        seen.append(receive(worker, limit_s))
        return seen[-1]

    monkeypatch.setattr(Worker, "receive", receive_until_the_pass)
    result = run("1,2.1")
    assert statuses(result) == {"1.1": "ok", "1.2": "interrupted", "2.1": "interrupted"}
    assert result.tests[1].rounds[0].passes_s == [1]
    assert result.tests[1].rounds[0].telemetry is not None
    assert result.tests[2].rounds == []
    assert result.run.interrupted
    assert load(OUTPUT) == result


def test_sigkill_is_out_of_memory_when_the_kernel_counted_one(script):
    script(tests={"1.1": {"failure": "kill"}})
    counts = iter([4, 5, 5])
    result = run("1", count_oom_kills=lambda: next(counts))
    assert statuses(result) == {"1.1": "oom", "1.2": "ok"}


def test_the_end_of_the_log_stays_with_the_failure(script):
    script(tests={"1.1": {"failure": "segfault"}, "1.2": {"failure": "error"}})
    first, second = run("1").tests
    assert first.error is not None and second.error is not None
    assert any("Segmentation fault" in line for line in first.error.log)
    assert any("the script says that this pass fails" in line for line in second.error.log)
    assert len(second.error.log) <= 50


class Saboteur(Notebook):
    """Changes what the next worker finds when the first one is lost, with test 1.1."""

    def __init__(self, script, **content) -> None:
        super().__init__()
        script(tests={"1.1": {"failure": "garbage"}})
        self.sabotage = lambda: script(**content)

    def ended(self, record) -> None:
        super().ended(record)
        self.sabotage()


def test_workers_that_cannot_start_any_more_fail_their_tests(script):
    result = run("1,2.1", observer=Saboteur(script, start="exit"))
    assert statuses(result) == {"1.1": "crash", "1.2": "crash", "2.1": "crash"}
    assert result.tests[1].error is not None
    assert "exit status 1 (phase: start)" in result.tests[1].error.message
    assert result.tests[1].error.log == ["the script says that the worker does not start"]


def test_a_device_that_goes_away_fails_the_tests_that_are_left(script):
    result = run("1", observer=Saboteur(script, devices=[]))
    assert statuses(result) == {"1.1": "crash", "1.2": "crash"}
    assert result.tests[1].error is not None
    assert "does not see the device Fake CPU" in result.tests[1].error.message


def test_a_worker_that_hangs_at_its_start_is_a_timeout(script):
    result = run("1", observer=Saboteur(script, start="hang"), silence_limit_s=1)
    assert statuses(result) == {"1.1": "crash", "1.2": "timeout"}


def test_one_import_serves_description_roof_and_first_round(script, monkeypatch):
    started = []
    real = Worker.__init__

    def count(worker, *arguments):
        started.append(worker)
        real(worker, *arguments)

    monkeypatch.setattr(Worker, "__init__", count)
    run("1,2.1", request={"rounds": 2})
    assert len(started) == 2, "the second round imports the framework anew"


def test_a_missing_framework_is_an_error_that_says_what_to_install(script):
    script(start="missing")
    with pytest.raises(UserError) as caught:
        run("1.1")
    assert caught.value.problem == "Fakework is not installed"
    assert caught.value.advice == "pip install fakework"
    assert os.listdir() == []


def test_a_last_line_without_an_end_is_cut(script, monkeypatch):
    monkeypatch.setattr(Worker, "log_tail", lambda worker: ["x" * 60_000 + " in vain"])
    script(start="exit")
    with pytest.raises(UserError, match=r"in vain$") as caught:
        run("1.1")
    assert len(str(caught.value)) < 600


def test_a_backend_that_does_not_start_is_an_error_with_its_last_line(script):
    script(start="exit")
    with pytest.raises(UserError, match=r"does not start.*the script says"):
        run("1.1")
    assert os.listdir() == []


def test_an_unknown_backend_is_an_error_that_names_the_real_ones(script):
    with pytest.raises(UserError) as caught:
        execute(Request(backend="fakes", output=OUTPUT), Notebook(), lambda question: False)
    assert caught.value.advice == "there are: jax, onnxruntime, tensorflow, tensorrt, torch"


def test_a_missing_device_is_an_error_that_lists_those_there_are(script):
    script(devices=[GPU, {**GPU, "index": 1, "name": "Other GPU", "uuid": "GPU-2"}])
    with pytest.raises(UserError) as caught:
        run("1.1", request={"device": "gpu:2"})
    assert caught.value.advice == "there are: gpu:0 (Fake GPU, GPU-1), gpu:1 (Other GPU, GPU-2)"
    assert os.listdir() == []


def test_a_gpu_named_by_its_uuid_is_the_one_that_runs(script):
    script(devices=[GPU, {**GPU, "index": 1, "uuid": "GPU-2"}])
    result = run("1.1", request={"device": "gpu-2"})
    assert (result.device.uuid, result.device.automatic) == ("GPU-2", False)
    assert result.environment.variables["CUDA_VISIBLE_DEVICES"] == "GPU-2"


def test_a_cpu_that_the_framework_has_no_name_for_gets_its_own(script):
    script(devices=[{"kind": "cpu", "index": 0, "name": "CPU"}])
    result = run("1.1")
    assert statuses(result) == {"1.1": "ok"}
    assert result.device.name == result.environment.host["cpu"] != "CPU"


def test_the_automatic_choice_is_named(script):
    notebook = Notebook()
    assert run("1.1", observer=notebook).device.automatic
    assert "device chosen automatically: Fake CPU" in notebook.notes


@pytest.mark.parametrize(("visible", "said"), [(None, True), ("0", True), ("-1", False)])
def test_a_gpu_that_the_framework_cannot_use_is_said(script, monkeypatch, visible, said):
    card = {"name": "NVIDIA H200", "uuid": "GPU-a1"}
    monkeypatch.setattr(gpu, "read", lambda: gpu.Reading([card]))
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    notebook = Notebook()
    run("1.1", observer=notebook)
    assert any("pip install fakework-gpu" in note for note in notebook.notes) is said
    assert run("1.1", observer=notebook, yes=True, request={"device": "cpu"})
    assert sum("fakework-gpu" in note for note in notebook.notes) == said


def test_an_existing_file_is_kept_unless_the_user_agrees(script):
    OUTPUT.write_text("precious")
    with pytest.raises(UserError, match="exists already"):
        run("1.1")
    assert OUTPUT.read_text() == "precious"
    assert run("1.1", yes=True) == load(OUTPUT)


def test_a_journal_of_a_run_that_was_cut_off_is_kept_too(script):
    Path("result.json.journal").write_text("samples")
    with pytest.raises(UserError, match=r"result\.json\.journal exists already"):
        run("1.1")


@pytest.mark.parametrize("place", ["", "no-such-directory/result.json", "file/result.json"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(script, place):
    Path("file").touch()
    script(start="hang")  # asking the backend would never end
    with pytest.raises(UserError):
        execute(Request(backend="fake", output=Path(place)), Notebook(), lambda question: True)
    assert os.listdir() == ["file"]


def test_the_default_place_names_time_and_device(script):
    asked = Request(backend="fake", tests="1.1")
    outcome = execute(asked, Notebook(), lambda question: False)
    assert outcome.path.parent == Path("aiscore-results")
    assert outcome.path.name.endswith("Z-fake-cpu.json")
    assert load(outcome.path) == outcome.result


@pytest.mark.parametrize(
    "absurd",
    [
        {"passes": 0},
        {"max_seconds_per_test": -1},
        {"max_seconds_per_test": float("nan")},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"memory_fraction": 0},
        {"memory_fraction": 1.01},
        {"seed": -1},
        {"seed": 1 << 32},
    ],
)
def test_absurd_requests_are_errors(absurd):
    with pytest.raises(UserError):
        Request(**absurd)


def test_the_current_directory_stays(script):
    before = Path.cwd()
    run("1.1")
    assert Path.cwd() == before
