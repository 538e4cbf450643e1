"""Sweeps published: Markdown, CSV, JSON, SVG and a page; and compared."""

import csv
import io
import json
from pathlib import Path

import pytest

from aiscore.errors import UserError
from aiscore.report.charts import IN_A_FILE
from aiscore.report.disclosure import SWEEP_SAID, Disclosure
from aiscore.report.sweep_charts import DASHES, chart
from aiscore.report.sweep_export import FORMATS, to_csv, to_html, to_markdown, to_svg
from aiscore.report.sweep_rows import chapters, sentences
from aiscore.report.sweep_text import render_sweep
from aiscore.results import sweep_store
from aiscore.results.model import RunRecord
from aiscore.results.privacy import KEPT, TERMS, redacted
from aiscore.results.sweep import PointRecord, SelectionRecord, Sweep
from aiscore.results.sweep_summary import derive, summarise
from aiscore.spec import Precision, Xla
from tests import golden_files, pages
from tests.command_line import aiscore
from tests.filled import filled
from tests.sweep_factory import (
    FP16,
    FP32,
    SE,
    WITH_XLA,
    article,
    failed,
    line,
    measured,
    on_line,
    sweep,
)


def test_markdown():
    golden_files.check("throughput.md", to_markdown([article()]))


def test_csv_has_a_line_for_each_point():
    first, *others = csv.DictReader(io.StringIO(to_csv([article()])))
    assert len(others) + 1 == len(article().points)
    assert (first["sweep"], first["network"], first["batch"]) == ("article", "resnet50", "32")
    assert float(first["images_per_s"]) == pytest.approx(400)
    assert float(first["low_images_per_s"]) < 400 < float(first["high_images_per_s"])
    assert others[-1]["status"] == "oom" and others[-1]["images_per_s"] == ""


def test_the_chart_has_a_line_for_each_stack():
    (resnet, _) = chapters(article())
    spec = chart([("ResNet-50 training", resnet)], IN_A_FILE)
    golden_files.check("chart-throughput.json", json.dumps(spec, indent=1) + "\n")
    scales = {scale["name"]: scale for scale in spec["marks"][0]["scales"]}
    assert scales["colour"]["domain"] == [
        "tensorflow fp32",
        "tensorflow fp16",
        "tensorflow fp16 XLA",
    ]
    plain, half, with_xla = scales["colour"]["range"]
    assert plain != half == with_xla, "XLA is dashed, in the colour of its precision"
    assert scales["dash"]["range"] == [[], [], DASHES[True][0]]


def test_no_two_lines_of_three_backends_look_alike():
    lines = [
        line(backend=backend, precision=precision, xla=xla)
        for backend in ("tensorflow", "jax", "torch")
        for precision in Precision
        for xla in (Xla.OFF, Xla.ON)
    ]
    (chapter,) = chapters(sweep(point for one in lines for point in on_line(one, {32: 100})))
    spec = chart([("ResNet-50 training", chapter)], IN_A_FILE)
    scales = {scale["name"]: scale for scale in spec["marks"][0]["scales"]}
    looks = zip(scales["colour"]["range"], map(tuple, scales["dash"]["range"]), strict=True)
    assert len(set(looks)) == len(lines)


def test_a_mark_is_explained_wherever_it_stands():
    warms_up = measured(FP16, 32, 100)
    (done,) = warms_up.rounds
    passes_s = [9, *[3] * 40, *[2] * 36, *[1] * 24]
    done = done.model_copy(update={"passes_s": passes_s, "block_passes": [1] * len(passes_s)})
    made = sweep([warms_up.model_copy(update={"rounds": [done]})])
    for shown in (to_html([made]), to_markdown([made]), render_sweep(made)):
        assert "not steady: warming up" in shown
    assert "not steady" not in to_html([article()]) + to_markdown([article()])


def test_only_the_headings_that_are_there_are_explained():
    made = sweep(on_line(FP32, {32: 400, 64: 440}))
    for text in (render_sweep(made), to_markdown([made]), to_html([made])):
        assert "x before: as fast as" in text
        assert "x fp32" not in text and "x XLA" not in text


def test_where_nothing_ran_nothing_is_drawn():
    made = sweep([*on_line(FP16, {32: 100}), failed(SE, 32)])
    assert "SE-ResNeXt" not in to_svg([made])
    assert to_html([made]).count("<figure") == 1
    with pytest.raises(UserError, match="no point ran"):
        to_svg([sweep([failed(FP16, 32)])])
    assert to_html([sweep([failed(FP16, 32)])]).count("<figure") == 0


def test_a_long_name_leaves_room_for_that_of_the_network():
    made = sweep(on_line(FP16, {32: 100}), run={"label": "W" * 500})
    assert "W\N{HORIZONTAL ELLIPSIS}: ResNet-50 training" in to_svg([made])


def test_a_name_without_letters_is_none():
    made = sweep(on_line(FP16, {32: 100}), device=" ", run={"label": " "})
    assert "unnamed: throughput" in to_html([made])


def test_svg_shows_every_network():
    drawn = to_svg([article()])
    assert "article: ResNet-50 training" in drawn
    assert "article: SE-ResNeXt-101-32x4d training" in drawn


def test_the_page_loads_nothing_and_runs_nothing():
    page = to_html([article()])
    found = pages.elements(page)
    policies = [
        attributes["content"]
        for tag, attributes in found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert "default-src 'none'" in policies[0] and "script-src" not in policies[0]
    assert not [tag for tag, _ in found if tag in ("script", "iframe", "object", "img")]
    for sentence in sentences(article()):
        assert sentence in page
    assert page.count("<figure") == 2
    assert "224 (18.7 GiB, 240 oom)" in page


def test_text_from_a_file_is_shown_and_does_nothing():
    label = "<script>alert(1)</script>\x1b[2J|"
    made = sweep(on_line(FP16, {32: 100}), run={"label": label})
    page, table = to_html([made]), to_markdown([made])
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "\\<script\\>" in table and "\x1b" not in page + table
    assert "<script" not in to_svg([made])


# ---------------------------------------------------------------- the command


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.json"
    sweep_store.save(article(), path)
    return path


@pytest.mark.parametrize("suffix", ["md", "csv", "json", "svg", "html"])
def test_publish_writes_every_format(saved: Path, suffix: str):
    output = saved.with_name(f"out.{suffix}")
    done = aiscore("publish", saved, "-o", output, "--yes")
    assert done.code == 0, done.err
    assert "will say of the machine" in done.err and "article" in done.err
    assert output.stat().st_size > 500


def test_what_is_published_has_no_paths_and_no_names(saved: Path, monkeypatch):
    monkeypatch.setenv("USER", "ada")
    document = json.loads(saved.read_text())
    document["run"]["arguments"] = ["throughput", "-o", "/home/ada/sweep.json"]
    document["points"][-1]["error"] = {
        "type": "OOM",
        "message": "ada has no room in /home/ada/x",
        "log": ["/home/ada/secret"],
    }
    saved.write_text(json.dumps(document))
    for suffix in ("md", "json", "html"):
        output = saved.with_name(f"out.{suffix}")
        aiscore("publish", saved, "-o", output, "--yes")
        text = output.read_text()
        assert "/home" not in text and "secret" not in text and "ada " not in text


def test_a_picture_of_runs_is_none_of_sweeps(saved: Path):
    refused = aiscore("publish", saved, "-o", saved.with_name("x.svg"), "--picture", "badge")
    assert (refused.code, "--picture is for runs" in refused.err) == (2, True)


def test_a_file_that_does_not_hold_is_published_with_a_finding(saved: Path):
    document = json.loads(saved.read_text())
    document["summary"]["lines"][0]["best_batch"] = 7
    saved.write_text(json.dumps(document))
    done = aiscore("publish", saved, "-o", saved.with_name("out.md"), "--yes")
    assert done.code == 1
    assert "summary" in done.err or "lines.0.best_batch" in done.err


PATH = "/home/alice/box7/secret.json"
TEXT = f"alice on box7 could not write '/mnt/secret files/x', {PATH} or ~/secret"
NAMES = {"alice", "box7"}
SECRETS = ("alice", "box7", "secret")


def full_of_secrets() -> Sweep:
    """A sweep that says them wherever a file may; labels and devices are their user's own words."""
    return summarise(
        filled(
            Sweep,
            TEXT,
            key=PATH,
            given={
                **{(model, field): "mine" for model, fields in KEPT.items() for field in fields},
                **{(model, field): PATH for model, fields in TERMS.items() for field in fields},
                (RunRecord, "requested"): [PATH],
                (RunRecord, "resumed_at"): [PATH],
                (SelectionRecord, "networks"): [PATH],
                (SelectionRecord, "backends"): [PATH],
                (PointRecord, "id"): "resnet50/inference/tensorflow/default/xla-off/32",
                (PointRecord, "network"): "resnet50",
                (PointRecord, "batch"): 32,
                (PointRecord, "printed"): None,
                (Sweep, "summary"): None,
            },
        )
    )


def secrets_in(text: str) -> set[str]:
    return {secret for secret in SECRETS if secret in text}


def test_no_text_of_a_sweep_is_forgotten():
    made = full_of_secrets()
    assert secrets_in(made.model_dump_json()) == set(SECRETS)
    shown = redacted(made, NAMES)
    assert secrets_in(shown.model_dump_json()) == set()
    assert shown.summary == derive(shown), "so that it verifies"


@pytest.mark.parametrize("form", FORMATS)
def test_no_secret_is_in_what_is_published_nor_in_what_is_said_before(form: str):
    shown = redacted(full_of_secrets(), NAMES)
    assert secrets_in(FORMATS[form]([shown])) == set()
    disclosure = Disclosure()
    disclosure.add(SWEEP_SAID[form](shown))
    assert secrets_in(str(disclosure.lines())) == set()


# ---------------------------------------------------------------- comparing


def faster():
    """Another card: 1.5 x as fast, but for XLA at batch 64; and with more memory."""
    return sweep(
        [
            *on_line(FP16, {32: 1500, 64: 2100, 128: 2250}),
            *on_line(WITH_XLA, {32: 1800, 64: 300, 128: 2850}),
            measured(FP16, 256, 2300, sought=True),
        ],
        device="NVIDIA B200",
        run={"price": {"amount": 40000, "currency": "EUR"}},
        memory_fraction=0.9,
    )


@pytest.fixture
def pair(saved: Path) -> tuple[Path, Path]:
    other = saved.with_name("other.json")
    sweep_store.save(faster(), other)
    return saved, other


def test_two_sweeps_side_by_side(pair):
    done = aiscore("compare", *pair)
    assert done.code == 0
    golden_files.check("compare-throughput.txt", done.out)


def test_points_that_both_have_are_compared_and_the_odd_one_is_named(pair):
    document = json.loads(aiscore("compare", *pair, "--json").out)
    (other,) = document["others"]
    ratios = {(point["xla"], point["batch"]): point["ratio"] for point in other["points"]}
    assert ratios["off", 32] == pytest.approx(1.5)
    assert ratios["on", 64] == pytest.approx(0.6)
    assert len(ratios) == 6, "of the others only one has them"
    odd = [point for point in other["points"] if point["below_neighbours"]]
    assert [(point["xla"], point["batch"]) for point in odd] == [("on", 64)]
    assert odd[0]["below_neighbours"] == pytest.approx(1.5 / 0.6)
    assert other["groups"][0]["ratio"] == pytest.approx(1.5 ** (5 / 6) * 0.6 ** (1 / 6))
    assert other["groups"][0]["verdict"] == "faster"
    assert document["differences"]["memory fraction"] == [None, "0.9"]
    assert document["differences"]["device"] == ["NVIDIA H200", "NVIDIA B200"]
    odd_one = "at batch 64 NVIDIA B200 is 2.5 x slower than the batches beside it predict"
    assert any(odd_one in text for text in document["sentences"])


def test_a_sweep_that_is_slower_can_fail(pair):
    base, other = pair
    assert aiscore("compare", base, other, "--fail-on", "slower").code == 0
    assert aiscore("compare", other, base, "--fail-on", "slower").code == 1
    assert aiscore("compare", base, base, "--fail-on", "slower").code == 0


def test_a_sweep_is_compared_with_sweeps_only(saved: Path):
    refused = aiscore("compare", saved, "Tesla V100")
    assert refused.code == 2
    assert len(refused.err.splitlines()) == 1
    refused = aiscore("compare", saved, saved, "--normalize-to", "Tesla V100")
    assert (refused.code, "--normalize-to is for runs" in refused.err) == (2, True)
