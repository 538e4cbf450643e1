"""``aiscore throughput`` on the fake backend: what is measured, in which order, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aiscore.execution.process import Worker
from aiscore.results import sweep_store
from aiscore.spec import Xla
from tests.command_line import aiscore

OUTPUT = Path("sweep.json")
GPU = {
    "kind": "gpu",
    "index": 0,
    "name": "Fake GPU",
    "uuid": "GPU-1",
    "memory_bytes": 1000,
}


def throughput(*arguments):
    return aiscore("throughput", "--backend", "fake", "-o", OUTPUT, "--yes", *arguments)


def points(path=OUTPUT):
    return {point.id: point.status.value for point in sweep_store.load(path).points}


def ids(network, *batches, mode="training", precision="default", xla="off"):
    return [f"{network}/{mode}/fake/{precision}/xla-{xla}/{batch}" for batch in batches]


def test_every_combination_is_a_point(script):
    done = throughput(
        *("--network", "resnet50,se_*", "--mode", "training,inference"),
        *("--precision", "fp32,bf16", "--xla", "both", "--batch", "64,32"),
    )
    assert done.code == 0
    found = points()
    assert len(found) == 2 * 2 * 2 * 2 * 2
    assert set(found.values()) == {"ok"}
    assert list(found)[:2] == ids("resnet50", 32, 64, precision="fp32")
    assert sweep_store.check(OUTPUT) == []
    assert os.listdir() == [OUTPUT.name]


def test_the_table_goes_to_stdout_and_progress_to_stderr(script):
    done = throughput("--batch", "32,64")
    assert "ResNet-50 training" in done.out
    first, second = ids("resnet50", 32, 64)
    assert done.err.splitlines() == [
        "aiscore: device chosen automatically: Fake CPU",
        f"[1/2] {first}: 509 images/s, 24 passes",
        f"[2/2] {second}: 509 images/s, 12 passes",
        "aiscore: sweep file: sweep.json",
    ]
    document = json.loads(throughput("--batch", "32", "--json").out)
    assert [point["id"] for point in document["points"]] == [first]


def test_every_point_has_a_process_of_its_own(script, monkeypatch):
    jobs, begin = [], Worker.begin

    def note(worker, job):
        jobs.append(job)
        begin(worker, job)

    monkeypatch.setattr(Worker, "begin", note)
    throughput("--batch", "32,64", "--precision", "fp32,fp16", "--memory-fraction", "0.5")
    measured = [job for job in jobs if job.trials]
    assert [len(job.trials) for job in measured] == [1, 1, 1, 1]
    assert [job.options.precision.value for job in measured] == ["fp32", "fp32", "fp16", "fp16"]
    assert {job.options.memory_fraction for job in measured} == {0.5}


def test_a_batch_that_does_not_fit_is_a_status_and_not_an_end(script):
    script(devices=[GPU], tests={"*": {"image_bytes": 10}})
    done = throughput("--batch", "64,128,96")
    assert list(points().values()) == ["ok", "ok", "oom"]
    assert done.code == 1, "it was asked for, and is not ok"
    assert "Status   partial (2 of 3 points ok)" in done.out


@pytest.mark.parametrize(
    ("failure", "status"), [("segfault", "crash"), ("not_finite", "invalid_output")]
)
def test_no_other_failure_is_an_end_either(script, failure, status):
    script(tests={ids("resnet50", 64)[0]: {"resident": {"failure": failure}}})
    assert throughput("--batch", "32,64,96").code == 1
    assert list(points().values()) == ["ok", status, "ok"]


def test_max_finds_the_largest_batch_that_fits_and_its_memory(script):
    script(devices=[GPU], tests={"*": {"image_bytes": 1}})
    done = throughput("--batch", "64,max")
    assert done.code == 0, "a try that does not fit is how it ends"
    sweep = sweep_store.load(OUTPUT)
    (found,) = sweep.summary.lines
    assert found.largest.batch == 992 and found.largest.beyond == 1024
    assert found.largest.peak_device_bytes == 992
    assert found.largest.beyond_status == "oom"
    assert [point.batch for point in sweep.points if not point.sought] == [64]
    assert "[1/1] " in done.err and f"/{len(sweep.points)}] " in done.err.splitlines()[-2]


def test_a_share_of_the_memory_holds_less(script):
    script(devices=[GPU], tests={"*": {"image_bytes": 1}})
    throughput("--batch", "max", "--memory-fraction", "0.5")
    (found,) = sweep_store.load(OUTPUT).summary.lines
    assert 468 < found.largest.batch <= 500 < found.largest.beyond


def test_max_where_nothing_fits_is_a_finding(script):
    script(devices=[GPU], tests={"*": {"image_bytes": 2000}})
    done = throughput("--batch", "max")
    sweep = sweep_store.load(OUTPUT)
    largest = sweep.summary.lines[0].largest
    assert (largest.batch, largest.beyond) == (None, 1)
    assert "Status   partial\n" in done.out, "no point was asked for by its batch"
    assert "stack\n-----\n" not in done.out, "no table without figures"
    assert "none (1 oom)" in done.out
    assert sweep.summary.status == "partial"


def test_max_is_not_sought_where_a_point_is_unsupported(script):
    script(devices=[GPU], tests={"*": {"failure": "unsupported"}})
    throughput("--batch", "64,max")
    assert list(points().values()) == ["unsupported"]


def test_max_is_not_sought_on_a_cpu(script):
    refused = throughput("--batch", "max")
    assert refused.code == 2
    assert "the largest batch is not sought on a CPU" in refused.err
    assert os.listdir() == []


def test_a_backend_that_always_uses_xla_is_measured_once(script):
    script(software={"fake": "1", "xla": "always"})
    assert throughput("--batch", "32", "--xla", "both").code == 0
    (point,) = sweep_store.load(OUTPUT).points
    assert point.xla is Xla.ALWAYS


def test_a_backend_that_never_uses_xla_is_measured_once(script):
    script(software={"fake": "1", "xla": "never"})
    assert throughput("--batch", "32", "--xla", "both").code == 0
    (point,) = sweep_store.load(OUTPUT).points
    assert point.xla is Xla.OFF


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--network", "vgg"], "no network fits 'vgg'; there are: resnet50, resnet101"),
        (["--network", ","], "no network is named"),
        (["--batch", "0"], "'0' is no batch"),
        (["--batch", "many"], "'many' is no batch"),
        (["--batch", "99999999"], "'99999999' is no batch"),
        pytest.param(["--batch", "9" * 5000], "9' is no batch", id="thousands of digits"),
        (["--precision", "int8"], "there is no 'int8'; give one of: default, fp32"),
        (["--mode", "both"], "there is no 'both'; give one of: inference, training"),
        (["--xla", "maybe"], "'maybe' is not one of 'off', 'on', 'both'"),
        (["--backend", "nope"], "there is no backend 'nope'"),
        (["--device", "gpu"], "there is no device 'gpu'"),
        (["--memory-fraction", "2"], "2.0 is no share of the memory"),
        (["--passes", "0"], "0 passes measure nothing"),
        (["--currency", "EUR"], "'EUR' without a price"),
        (["-o", "no/such/place.json"], "there is no directory no/such"),
        (["--resume", "nothing.json"], "a sweep goes on as it was begun; leave out"),
        (["--device", "gpu:7"], "there is no device 'gpu:7'"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(script, arguments, problem):
    done = subprocess.run(
        [sys.executable, "-m", "aiscore", "throughput", "--backend", "fake", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert problem in done.stderr
    assert os.listdir() == []


def test_an_existing_file_is_not_overwritten_unasked(script):
    OUTPUT.write_text("precious")
    refused = aiscore("throughput", "--backend", "fake", "-o", OUTPUT, "--batch", "32")
    assert (refused.code, OUTPUT.read_text()) == (2, "precious")


# ---------------------------------------------------------------- going on


def test_a_sweep_on_a_device_that_was_named_goes_on_there(script):
    throughput("--batch", "32", "--device", "cpu")
    done = aiscore("throughput", "--resume", OUTPUT)
    assert done.code == 0, done.err


@pytest.mark.parametrize("command", ["run", "throughput"])
@pytest.mark.parametrize("directory", [".", "/"])
def test_a_directory_does_not_go_on(script, command: str, directory: str):
    refused = aiscore(command, "--resume", directory)
    assert (refused.code, f"{directory} is not a file" in refused.err) == (2, True)


def test_a_sweep_in_which_nothing_is_missing_stays_as_it_is(script):
    script(devices=[GPU], tests={"*": {"image_bytes": 1}})
    throughput("--batch", "32,max")
    before = OUTPUT.read_bytes()
    script(start="missing")
    done = aiscore("throughput", "--resume", OUTPUT)
    assert done.code == 0
    assert "aiscore: nothing is missing in sweep.json" in done.err
    assert OUTPUT.read_bytes() == before


def test_one_point_is_told_of_as_one(script):
    script(tests={ids("resnet50", 64)[0]: {"resident": {"failure": "error"}}})
    throughput("--batch", "32,64")
    assert "aiscore: 1 point is done already" in aiscore("throughput", "--resume", OUTPUT).err


def test_a_file_that_asks_for_other_points_than_its_selection_does_not_go_on(script):
    throughput("--batch", "32,64")
    document = json.loads(OUTPUT.read_text())
    document["run"]["requested"].pop()
    document["points"].pop()
    document["summary"] = None
    OUTPUT.write_text(json.dumps(document))
    refused = aiscore("throughput", "--resume", OUTPUT)
    assert refused.code == 2
    assert "was begun with another set-up: points was" in refused.err


def test_a_point_that_crashed_is_measured_again_and_the_others_stay(script):
    crashed, *_ = ids("resnet50", 64)
    script(tests={crashed: {"resident": {"failure": "segfault"}}})
    throughput("--batch", "32,64,96")
    before = sweep_store.load(OUTPUT)
    script()
    done = aiscore("throughput", "--resume", OUTPUT)
    assert done.code == 0
    assert "aiscore: 2 points are done already" in done.err
    assert f"[1/1] {crashed}: 509 images/s" in done.err
    after = sweep_store.load(OUTPUT)
    assert [after.points[0], after.points[2]] == [before.points[0], before.points[2]]
    assert after.summary.status == "complete"
    assert len(after.run.resumed_at) == 1


def test_the_search_goes_on_where_it_was(script):
    hangs = {ids("resnet50", 256)[0]: {"resident": {"failure": "hang"}}}
    script(devices=[GPU], tests={"*": {"image_bytes": 1}, **hangs})
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "aiscore", "throughput", "--backend", "fake"),
            *("-o", str(OUTPUT), "--batch", "64,max"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert any("/128: " in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert list(points().values()) == ["ok", "ok", "interrupted"]
    assert sweep_store.load(OUTPUT).summary.status == "interrupted"
    script(devices=[GPU], tests={"*": {"image_bytes": 1}})
    done = aiscore("throughput", "--resume", OUTPUT)
    assert "aiscore: 2 points are done already" in done.err
    sweep = sweep_store.load(OUTPUT)
    assert sweep.summary.status == "complete"
    assert sweep.summary.lines[0].largest.batch == 992


def test_a_run_that_was_killed_goes_on_from_its_journal(script):
    script(tests={ids("resnet50", 64)[0]: {"resident": {"failure": "hang"}}})
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "aiscore", "throughput", "--backend", "fake"),
            *("-o", str(OUTPUT), "--batch", "32,64"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert any("/32: " in line for line in process.stderr)
        process.kill()
        process.communicate(timeout=60)
    assert not OUTPUT.exists()
    script()
    assert aiscore("throughput", "--resume", OUTPUT).code == 0
    assert list(points().values()) == ["ok", "ok"]
    assert os.listdir() == [OUTPUT.name]


def test_another_set_up_is_refused(script):
    script(tests={"*": {"resident": {"failure": "error"}}})
    throughput("--batch", "32")
    script(software={"fake": "2"})
    refused = aiscore("throughput", "--resume", OUTPUT)
    assert refused.code == 2
    assert "was begun with another set-up: fake's fake was 1, is 2" in refused.err
