"""What is derived from a sweep, and that a file of one is believed only as far as it holds."""

import json
from pathlib import Path

import pytest

from aiscore.errors import UserError
from aiscore.report.sweep_rows import best_table, chapters, sentences, sweep_document
from aiscore.report.sweep_text import render_sweep
from aiscore.results import store, sweep_store
from aiscore.results.sweep_summary import derive
from aiscore.spec import Mode, Status, Xla
from tests import golden_files
from tests.command_line import aiscore
from tests.sweep_factory import (
    BLOCKS,
    FP16,
    GIB,
    SE,
    WATTS,
    article,
    failed,
    line,
    measured,
    on_line,
    sweep,
)

RUNS = measured(SE, 224, 442, sought=True)


def figures(made):
    return {
        (point.line, point.batch): found
        for point, found in zip(made.points, derive(made).points, strict=True)
    }


def test_images_a_second_are_of_the_median_block():
    (found,) = derive(sweep([measured(FP16, 128, 1500)])).points
    assert found.images_per_s == pytest.approx(1500)
    assert found.step_ms == pytest.approx(128 / 1.5)
    assert found.passes == BLOCKS + 1
    assert found.interval_kind == "passes"
    low, high = found.interval
    assert 1480 < low < 1500 < high < 1520
    assert found.peak_device_bytes == 128 * GIB // 12


def test_a_training_step_counts_three_forward_passes():
    training = measured(FP16, 128, 1000)
    inference = measured(line(mode=Mode.INFERENCE), 128, 1000)
    one, three = derive(sweep([inference, training])).points
    assert one.tflops == pytest.approx(8.178)
    assert three.tflops == pytest.approx(3 * 8.178)


def test_images_per_joule_are_of_the_energy_counter():
    with_counter, without = derive(
        sweep([measured(FP16, 64, 1200), measured(FP16, 128, 1200, energy=False)])
    ).points
    assert with_counter.images_per_j == pytest.approx(1200 / WATTS)
    assert without.images_per_j is None


def test_next_to_no_energy_is_none():
    point = measured(FP16, 64, 1200)
    (done,) = point.rounds
    idle = done.telemetry.model_copy(update={"totals": {"gpu_energy_j": 5e-324}})
    point = point.model_copy(update={"rounds": [done.model_copy(update={"telemetry": idle})]})
    assert derive(sweep([point])).points[0].images_per_j is None


def test_each_batch_is_set_against_the_next_smaller_one_that_ran():
    points = [*on_line(SE, {96: 110, 128: 275}), failed(SE, 160), measured(SE, 192, 440)]
    found = figures(sweep(points))
    assert found[SE, 96].scaling is None
    assert found[SE, 128].scaling == pytest.approx(2.5)
    assert found[SE, 160].scaling is None
    assert found[SE, 192].scaling == pytest.approx(1.6)


def test_precision_and_xla_are_set_against_fp32_and_no_xla_at_the_same_batch():
    found = figures(article())
    assert found[FP16, 64].precision_speedup == pytest.approx(1400 / 440)
    assert found[FP16, 64].xla_speedup is None
    with_xla = found[line(xla=Xla.ON), 128]
    assert with_xla.xla_speedup == pytest.approx(1900 / 1500)
    assert with_xla.precision_speedup is None, "there is no fp32 with XLA"


def test_xla_that_goes_wrong_at_one_batch_is_named():
    found = figures(article())
    named = {
        key[1]: value.xla_below_neighbours
        for key, value in found.items()
        if value.xla_below_neighbours
    }
    expected = ((1200 / 1000) * (1900 / 1500)) ** 0.5 / (500 / 1400)
    assert named == {64: pytest.approx(expected)}


def test_the_best_batch_and_what_it_is_worth():
    lines = {(one.network, one.precision, one.xla): one for one in derive(article()).lines}
    best = lines["se_resnext101_32x4d", "fp16", "off"]
    assert (best.best_batch, best.best_images_per_s) == (224, pytest.approx(442))
    assert best.per_price == pytest.approx(442 / 30000)
    assert best.per_gib == pytest.approx(442 / 140)
    assert best.largest.model_dump() == {
        "batch": 224,
        "peak_device_bytes": 224 * GIB // 12,
        "beyond": 240,
        "beyond_status": Status.OOM,
    }


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (
            [measured(SE, 224, 442, sought=True), failed(SE, 240, sought=True)],
            "224 (18.7 GiB, 240 oom)",
        ),
        ([failed(SE, 1, sought=True)], "none (1 oom)"),
        ([measured(SE, 65536, 442, sought=True)], "65536 (5461.3 GiB, none too large)"),
        (
            [measured(SE, 224, 442), failed(SE, 448, Status.INTERRUPTED, sought=True)],
            "224 (18.7 GiB, larger not tried)",
        ),
    ],
)
def test_what_the_search_found_is_said_and_no_more(points, said: str):
    assert said in render_sweep(sweep(points))


def test_no_currency_takes_the_place_of_another_column():
    price = {"price": {"amount": 5, "currency": "GiB"}}
    made = sweep(on_line(FP16, {32: 100}), run=price)
    header, (cells,) = best_table(made, chapters(made)[0])
    assert header == ["stack", "best batch", "images/s", "per GiB", "per GiB"]
    assert cells[3:] == ["20.0", "0.714"]


def test_nothing_is_said_of_a_largest_batch_that_was_not_sought():
    (found,) = derive(sweep(on_line(FP16, {32: 1000}))).lines
    assert found.largest is None


def test_the_sentence_of_the_article():
    said = sentences(article())
    title = "SE-ResNeXt-101-32x4d training, tensorflow fp16"
    assert f"{title}: batch 128 trains 2.5 x as fast as 96." in said
    fewer = sweep(on_line(SE, {128: 275, 192: 440}))
    assert sentences(fewer) == [f"{title}: batch 192 trains 1.6 x as fast as 128."]


def test_a_step_within_what_hosts_differ_by_is_not_called_one():
    (said,) = sentences(sweep(on_line(FP16, {32: 1000, 64: 1100, 128: 1200})))
    assert said.endswith("from 32 to 128 no batch trains 15% faster than the one before it.")


def test_inference_runs():
    (said,) = sentences(sweep(on_line(line(mode=Mode.INFERENCE), {32: 1000, 64: 1800})))
    assert said == "ResNet-50 inference, tensorflow fp16: batch 64 runs 1.8 x as fast as 32."


def test_a_batch_that_was_asked_for_and_does_not_fit_makes_it_partial():
    assert derive(sweep([measured(FP16, 32, 1000), failed(FP16, 64)])).status == "partial"
    assert (
        derive(sweep([measured(FP16, 32, 1000), failed(FP16, 64, sought=True)])).status
        == "complete"
    )
    assert derive(sweep([failed(FP16, 1, sought=True)])).status == "partial"


def test_the_tables():
    golden_files.check("throughput.txt", render_sweep(article()))


def test_the_document_has_every_figure():
    document = sweep_document(article())
    assert json.loads(json.dumps(document))["kind"] == "throughput"
    assert [point["batch"] for point in document["points"]][-3:] == [224, 240, 256]
    assert document["points"][0]["images_per_s"] == pytest.approx(400)
    assert document["lines"][0]["best_batch"] == 128
    assert document["sentences"] == sentences(article())


# ---------------------------------------------------------------- files


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.json"
    sweep_store.save(article(), path)
    return path


def changed(path: Path, change) -> Path:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def test_a_file_comes_back_as_it_was(saved: Path):
    assert sweep_store.is_sweep(saved)
    assert sweep_store.load(saved) == article()
    assert sweep_store.check(saved) == []
    shown = aiscore("show", saved)
    assert (shown.code, shown.out) == (0, render_sweep(article()))
    assert json.loads(aiscore("show", saved, "--json").out) == sweep_document(article())
    assert aiscore("verify", saved).out == f"{saved}: holds\n"


def test_a_price_given_later_counts(saved: Path):
    document = json.loads(aiscore("show", saved, "--json", "--price", 100, "--currency", "EUR").out)
    assert document["lines"][0]["per_price"] == pytest.approx(450 / 100)


def test_changed_figures_are_found(saved: Path):
    def faster(document):
        document["summary"]["points"][0]["images_per_s"] = 9000

    changed(saved, faster)
    (problem,) = sweep_store.check(saved)
    assert "points.0.images_per_s: the file says 9000" in problem
    assert aiscore("show", saved).code == 1


@pytest.mark.parametrize("name", ["images_per_s", "tflops", "steady", "interval"])
def test_no_figure_may_be_missing(saved: Path, name: str):
    changed(saved, lambda document: document["summary"]["points"][0].pop(name))
    (problem,) = sweep_store.check(saved)
    assert f"points.0.{name}: the file says None" in problem


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda point: point.update(batch=48), "is 'resnet50/training/tensorflow/fp32/xla-off/48'"),
        (lambda point: point.update(network="vgg"), "is on a line that was not asked for"),
        (lambda point: point.update(sought=True), "was asked for"),
        (lambda point: point.update(input=[8, 8, 3]), "has another input"),
        (lambda point: point["rounds"][0].update(passes_s=[1.0]), "other blocks than times"),
        (lambda point: point.update(rounds=[]), "is ok, but has no pass"),
        (lambda point: point.update(extra=1), "Extra inputs are not permitted"),
        (lambda point: point.update(batch=1 << 20), "less than or equal to 65536"),
        (lambda point: point["rounds"].append(point["rounds"][0]), "has more than one round"),
        (lambda point: point.update(xla="always"), "is on a line that was not asked for"),
    ],
)
def test_points_that_contradict_themselves_are_refused(saved: Path, change, problem: str):
    changed(saved, lambda document: change(document["points"][0]))
    assert problem in sweep_store.check(saved)[0]
    with pytest.raises(UserError, match="is not a valid result"):
        sweep_store.load(saved)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda it: it["selection"].update(networks=["vgg"]), "a sweep has no network 'vgg'"),
        (lambda it: it["selection"].update(backends=[]), "at least 1 item"),
        (lambda it: it["selection"].update(largest=False), "was sought, but nothing was to be"),
        (lambda it: it.update(stacks={}), "stacks says nothing of 'tensorflow'"),
        (lambda it: it["run"].update(seed=None), "run.seed or run.duration_s is missing"),
        (lambda it: it["policy"].update(protocol="classic"), "points are resident"),
    ],
)
def test_sweeps_that_contradict_themselves_are_refused(saved: Path, change, problem: str):
    changed(saved, change)
    assert problem in sweep_store.check(saved)[0]


def test_a_point_stands_there_once(saved: Path):
    changed(saved, lambda document: document["points"].append(document["points"][0]))
    assert "stands there twice" in sweep_store.check(saved)[0]


def test_a_sweep_is_not_taken_for_a_result_nor_a_result_for_a_sweep(saved: Path, tmp_path: Path):
    from tests.results_factory import at_speed, result

    with pytest.raises(UserError, match="is a sweep of 'aiscore throughput'"):
        store.load(saved)
    store.save(result(at_speed(only=["1.1"])), tmp_path / "run.json")
    assert not sweep_store.is_sweep(tmp_path / "run.json")
    with pytest.raises(UserError, match="is no sweep"):
        sweep_store.load(tmp_path / "run.json")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"kind": 1}', "null", '{"kind": "throughput"}'])
def test_what_is_no_sweep_is_refused_in_a_line(tmp_path: Path, text: str):
    path = tmp_path / "x.json"
    path.write_text(text)
    for command in ("show", "verify"):
        refused = aiscore(command, path)
        assert refused.code == 2
        assert len(refused.err.splitlines()) == 1
