"""Files of sweeps that are wrong in any way: refused in one line, or shown as their samples say.

As ``test_fuzz`` has it of results: real sweeps, of the fake backend and made to
measure, are changed at random.
"""

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.backends.fake import SCRIPT_VARIABLE
from aiscore.errors import UserError
from aiscore.execution import sweep as sweep_module
from aiscore.execution.journal import Journal
from aiscore.execution.process import open_workers
from aiscore.execution.runner import Observer
from aiscore.execution.sweep import execute
from aiscore.execution.sweep_request import SweepRequest, request_to_resume, select
from aiscore.report.escape import FORMULA_STARTS
from aiscore.report.sweep_compare import compare_document, compare_sweeps
from aiscore.report.sweep_export import FORMATS
from aiscore.report.sweep_rows import sweep_document
from aiscore.report.sweep_text import render_sweep, render_sweep_comparison
from aiscore.results import sweep_store
from aiscore.results.privacy import redacted
from aiscore.results.sweep import Sweep
from aiscore.spec import Status
from tests import mutations
from tests.fuzzing import (
    CHANCE,
    Named,
    Nobody,
    Place,
    damaged,
    damaged_journal,
    one_line,
    read,
    resumed_or_left_alone,
    share,
)
from tests.second_opinion_of_sweeps import disagreements
from tests.sweep_factory import FP16, WITH_XLA, article, failed, on_line, sweep

GPU = {"kind": "gpu", "index": 0, "name": "Fake GPU", "uuid": "GPU-1", "memory_bytes": 100}
RUNS = {
    "searched": {"batch": "32,64,max", "precision": "default", "xla": "off"},
    "failures": {"batch": "16,32", "precision": "fp32,fp16", "xla": "both"},
}
FAILS = {"resnet50/training/fake/fp16/xla-on/32": {"resident": {"failure": "segfault"}}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("fuzz") / "s.json")


@pytest.fixture(scope="module", autouse=True)
def fake_backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    script = tmp_path_factory.mktemp("script") / "script.json"
    script.write_text(json.dumps({"devices": [GPU], "tests": {"*": {"image_bytes": 1}, **FAILS}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SCRIPT_VARIABLE, str(script))
        yield


@pytest.fixture(scope="module")
def made(fake_backend: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sweep]:
    """Those of the fake backend, and some with every figure that there is."""
    folder = tmp_path_factory.mktemp("made")
    found = Named(
        article=article(),
        small=sweep([*on_line(FP16, {32: 100, 64: 150}), failed(WITH_XLA, 32)]),
    )
    for name, lists in RUNS.items():
        selection = select(network="resnet50", mode="training", backend="fake", **lists)
        asked = SweepRequest(selection=selection, output=folder / f"{name}.json")
        found[name] = execute(asked, Observer(), lambda question: False).sweep
    return found


@pytest.fixture(scope="module")
def texts(made: dict[str, Sweep], place: Place) -> dict[str, str]:
    """Their files."""
    found = Named()
    for name, one in made.items():
        sweep_store.save(one, place.result)
        found[name] = place.result.read_text(encoding="utf-8")
    return found


FILES = st.sampled_from(["article", "small", "small", *RUNS])


def accepted(place: Place) -> Sweep | None:
    """What loading the file gives; no figure of it is another than its samples give."""
    loaded, problems = read(place, sweep_store)
    if not problems:
        assert disagreements(json.loads(place.result.read_text(encoding="utf-8"))) == []
    if loaded is not None:
        assert disagreements(loaded.model_dump(mode="json")) == []
    return loaded


def test_the_files_themselves_hold(texts: dict[str, str], place: Place):
    for text in texts.values():
        place.result.write_text(text, encoding="utf-8")
        assert accepted(place) is not None
        assert sweep_store.check(place.result) == []


def test_they_have_what_a_sweep_can_have(made: dict[str, Sweep]):
    points = [point for one in made.values() for point in one.points]
    assert {point.status for point in points} == {Status.OK, Status.OOM, Status.CRASH}
    assert {point.sought for point in made["searched"].points} == {True, False}
    figures = [point for one in made.values() for point in one.summary.points]
    for name in type(figures[0]).model_fields:
        assert any(getattr(point, name) is not None for point in figures), name


@share(0.6)
@given(name=FILES, chance=CHANCE)
def test_no_figure_is_accepted_that_does_not_follow_from_the_samples(
    texts: dict[str, str], place: Place, name: str, chance: Random
):
    place.empty()
    place.result.write_bytes(damaged(chance, texts[name]))
    accepted(place)


@share(0.15)
@given(name=FILES, chance=CHANCE)
def test_whatever_is_read_is_shown_everywhere_and_does_no_harm(
    texts: dict[str, str], made: dict[str, Sweep], place: Place, name: str, chance: Random
):
    place.empty()
    place.result.write_text(mutations.in_document(chance, texts[name]))
    loaded = accepted(place)
    if loaded is None:
        return
    compared = compare_sweeps([made[name], loaded], margin=0.01)
    for text in (
        render_sweep(loaded),
        render_sweep_comparison(compared),
        *(write([loaded, made[name]]) for write in FORMATS.values()),
    ):
        assert text.replace("\n", "").isprintable()
    for document in (sweep_document(loaded), compare_document(compared)):
        json.dumps(document, allow_nan=False)
    for line in csv.reader(io.StringIO(FORMATS["csv"]([loaded]))):
        assert not any(cell.startswith(FORMULA_STARTS) for cell in line)
    sweep_store.save(redacted(loaded, {"fp16"}), place.result)
    assert accepted(place) is not None


@share(0.05)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_at_all_is_refused_in_one_line(place: Place, value: object):
    place.empty()
    for document in (value, {"kind": "throughput", "schema_version": 1, "points": value}):
        place.result.write_text(json.dumps(document), encoding="utf-8", errors="replace")
        with pytest.raises(UserError) as caught:
            sweep_store.load(place.result)
        one_line(caught.value)


@pytest.fixture(scope="module")
def left(made: dict[str, Sweep], place: Place) -> dict[str, tuple[Path, bytes]]:
    """What sweeps that were cut off left behind: which file, and what is in it."""
    place.empty()
    found = Named()
    for name in RUNS:
        header = made[name].with_points([]).model_copy(update={"summary": None})
        Journal(place.journal, header, made[name].points[:-2]).close()
        found[name] = place.journal, place.journal.read_bytes()
    sweep_store.save(made["failures"], place.result)
    found["result"] = place.result, place.result.read_bytes()
    return found


@pytest.fixture(scope="module")
def resume(fake_backend: None, place: Place) -> Iterator[Callable[[], Sweep]]:
    """Resumes what is there on the backend that it was begun on, without measuring anything."""
    with pytest.MonkeyPatch.context() as patch:
        ask = sweep_module.ready
        with open_workers(os.environ) as workers:
            answer = ask("fake", workers)
        patch.setattr(
            sweep_module,
            "ready",
            lambda name, workers: answer if name == "fake" else ask(name, workers),
        )
        patch.setattr(sweep_module, "Runner", Nobody)
        patch.setattr(sweep_module, "open_monitor", lambda device: nullcontext())
        patch.setattr(os, "fsync", lambda descriptor: None)

        def go_on() -> Sweep:
            request = request_to_resume(place.result, [], ())
            outcome = execute(request, Observer(), lambda question: False)
            assert outcome.unsaved is None
            return outcome.sweep

        yield go_on


def test_what_is_whole_is_resumed(
    left: dict[str, tuple[Path, bytes]], resume: Callable[[], Sweep], place: Place
):
    for path, data in left.values():
        place.empty()
        path.write_bytes(data)
        assert resume().points


@share(0.2)
@given(name=st.sampled_from([*RUNS, "result"]), chance=CHANCE)
def test_whatever_a_sweep_left_is_resumed_as_it_is_or_left_alone(
    left: dict[str, tuple[Path, bytes]],
    resume: Callable[[], Sweep],
    place: Place,
    name: str,
    chance: Random,
):
    path, data = left[name]
    place.empty()
    if name == "result":
        path.write_bytes(damaged(chance, data.decode()))
    else:
        path.write_bytes(damaged_journal(chance, data))
    resumed_or_left_alone(place, resume, sweep_store)
