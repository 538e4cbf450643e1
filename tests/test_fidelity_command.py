"""The fidelity benchmark's command line (benchmarks/fidelity.py), without a framework."""

import subprocess
import sys
from pathlib import Path

import fidelity
import pytest
from pairs import Paired, Times
from record import Record


def run(*arguments):
    return subprocess.run(
        [sys.executable, fidelity.__file__, *map(str, arguments)], capture_output=True, text=True
    )


def written(path, ratio, test="1.1"):
    times = [Times(0.1, 1.0, [seconds] * 11) for seconds in (1.0, ratio)]
    record = Record("2026-01-02T03:04:05+00:00", {"cpu": "a"}, 0.1, tests=[Paired(test, *times)])
    path.write_text(record.to_json())
    return path


@pytest.mark.parametrize(("ratio", "status"), [(1.0, 0), (1.2, 1)])
def test_the_exit_status_tells_whether_fidelity_holds(tmp_path, ratio, status):
    done = run("--results", written(tmp_path / "a.json", ratio), "-o", tmp_path / "table.md")

    assert (done.returncode, done.stderr) == (status, "")
    assert f"{ratio:.3f}" in done.stdout
    assert (tmp_path / "table.md").read_text() == done.stdout


def test_several_files_are_reported_as_one(tmp_path):
    parts = [written(tmp_path / f"{id}.json", 1.0, id) for id in ("1.1", "5.1")]

    assert "2 of 24" in run("--results", *parts).stdout


def test_a_file_that_cannot_be_read_is_one_clear_line(tmp_path):
    done = run("--results", tmp_path / "nothing.json")

    assert done.returncode == 2
    assert done.stderr.startswith("fidelity: ")
    assert done.stderr.count("\n") == 1


def test_an_output_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    done = run("--tests", "1.1", "--original", tmp_path, "-o", tmp_path / "none" / "table.md")

    assert done.returncode == 2
    assert "cannot write" in done.stderr


@pytest.mark.parametrize("arguments", [("--tests", "1.9"), ("--tests", ""), ("--pairs", "0")])
def test_what_makes_no_sense_is_refused(arguments):
    assert run(*arguments).returncode == 2


@pytest.mark.parametrize(
    ("text", "ids"),
    [("8", ["8.1", "8.2", "8.3"]), ("18.2,1.1", ["1.1", "18.2"]), ("8,8.1", ["8.1", "8.2", "8.3"])],
)
def test_tests_are_named_by_id_or_network_and_run_in_the_suites_order(text, ids):
    assert fidelity._ids(text) == ids


class FakeSide:
    """Starts at once; a test in ``fails`` breaks it."""

    def __init__(self, log, name, fails=(), software="1", unsupported=()):
        self.waited_s = 0.0
        self._log, self._name, self._fails = log, name, fails
        self._description = {
            "device": "CPU",
            "software": {"tensorflow": software},
            "unsupported": dict.fromkeys(unsupported, "not yet"),
        }

    def start(self):
        self._log.append((self._name, "start"))
        return self._description

    def ask(self, request):
        if request.get("open") in self._fails:
            raise fidelity.SideError(f"{self._name}: broken")
        return {"setup_s": 0.0, "seconds": 1.0, "peak_device_bytes": None, "peak_rss_bytes": 1}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._log.append((self._name, "end"))


def run_network(tests, saves=None, **candidate):
    log = []
    record = Record("2026-01-02T03:04:05+00:00", {}, 0.1)
    network = fidelity.NetworkRun(
        record,
        record.tests,
        lambda: FakeSide(log, "original"),
        lambda: FakeSide(log, "aiscore", **candidate),
        pairs=2,
        save=lambda: None if saves is None else saves.append(len(record.tests)),
    )
    network.run(tests)
    return record, log


def test_one_pair_of_processes_runs_the_tests_of_a_network():
    saves = []
    record, log = run_network(["8.1", "8.2", "8.3"], saves)

    assert [(test.test, test.ratios()) for test in record.tests] == [
        ("8.1", [1.0, 1.0]),
        ("8.2", [1.0, 1.0]),
        ("8.3", [1.0, 1.0]),
    ]
    assert log.count(("aiscore", "start")) == 1
    assert record.software == {"device": "CPU", "tensorflow": "1"}
    assert saves == [1, 2, 3]


def test_a_failed_test_does_not_stop_the_others_which_get_fresh_processes():
    record, log = run_network(["8.1", "8.2", "8.3"], fails=("8.2",))

    assert [test.error for test in record.tests] == [None, "aiscore: broken", None]
    assert (
        log
        == [
            ("original", "start"),
            ("aiscore", "start"),
            ("aiscore", "end"),
            ("original", "end"),
        ]
        * 2
    )


def test_what_aiscore_does_not_support_is_noted_and_not_run():
    record, _ = run_network(["8.1", "8.2"], unsupported=("8.1",))

    assert record.unsupported == {"8.1": "not yet"}
    assert [test.test for test in record.tests] == ["8.2"]


def test_two_different_frameworks_are_not_compared():
    with pytest.raises(fidelity.UserError, match="the sides differ"):
        run_network(["8.1"], software="2")


def test_the_command_needs_no_framework_to_start():
    code = "import sys, fidelity; sys.exit('tensorflow' in sys.modules)"
    path = str(Path(fidelity.__file__).parent)

    assert subprocess.run([sys.executable, "-c", code], cwd=path).returncode == 0
