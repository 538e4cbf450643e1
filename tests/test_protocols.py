"""Resident runs and runs under both protocols, from the worker to every output."""

import json
import os
from pathlib import Path

import pytest

from aiscore import api
from aiscore.errors import UserError
from aiscore.execution.journal import Journal
from aiscore.execution.request import BOTH, Request, request_to_resume
from aiscore.execution.run import execute
from aiscore.execution.runner import Observer
from aiscore.report.text import render_result
from aiscore.results.model import RoundRecord
from aiscore.results.reference import find_card, reference_ms
from aiscore.results.store import check, load, save
from aiscore.results.subject import compare_subjects, from_card, from_result
from aiscore.results.summary import derive
from aiscore.scoring.compare import Verdict
from aiscore.spec import Precision, Protocol, Status, Suite
from tests import golden_files
from tests.command_line import aiscore
from tests.results_factory import at_speed, resident, result
from workloads.suite import FULL, QUICK

OUTPUT = Path("result.json")
JOURNAL = Path("result.json.journal")


class Notebook(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.ran: list[tuple[str, str]] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def ended(self, record) -> None:
        self.ran.append((record.id, record.protocol.value))


def run(tests="1", protocol=BOTH, observer=None, **request):
    asked = Request(backend="fake", tests=tests, protocol=protocol, output=OUTPUT, **request)
    return execute(asked, observer or Notebook(), lambda question: False).result


def resume(**given):
    notebook = Notebook()
    made = execute(request_to_resume(OUTPUT, given), notebook, lambda question: False).result
    return made, notebook.ran


def statuses(records):
    return {(test.id, test.protocol.value): test.status.value for test in records}


PAIRS = [(test, protocol) for test in ("1.1", "1.2") for protocol in ("classic", "resident")]


# ---------------------------------------------------------------- what is run


def test_every_test_is_run_under_the_one_protocol_and_then_the_other(script):
    notebook = Notebook()
    made = run(observer=notebook)
    assert notebook.ran == PAIRS
    assert made.protocol is Protocol.CLASSIC
    assert made.resident is not None
    assert made.resident.policy.protocol is Protocol.RESIDENT
    assert [test.id for test in made.tests] == [test.id for test in made.resident.tests]
    assert load(OUTPUT) == made
    assert os.listdir() == [OUTPUT.name]


def test_the_blocks_are_what_the_backend_took(script):
    script(tests={"1.1": {"resident": {"passes_ms": [500, 120]}}})
    (test,) = run("1.1", "resident").tests
    (record,) = test.rounds
    assert record.passes_s[:4] == [0.5, 0.12, 0.5, 0.12]
    assert set(record.block_passes) == {1}
    assert test.protocol is Protocol.RESIDENT


def test_a_resident_run_has_resident_tests_alone(script):
    made = run(protocol="resident")
    assert (made.protocol, made.resident) == (Protocol.RESIDENT, None)
    assert statuses(made.tests) == {(test, "resident"): "ok" for test in ("1.1", "1.2")}


@pytest.mark.parametrize("failure", ["oom", "error", "segfault", "kill", "not_finite"])
def test_a_resident_failure_does_not_take_the_classic_time_away(script, failure):
    script(tests={"1.1": {"resident": {"failure": failure}}})
    made = run()
    assert statuses(made.tests) == {("1.1", "classic"): "ok", ("1.2", "classic"): "ok"}
    first, second = made.resident.tests
    assert first.status is not Status.OK
    assert first.error is not None
    assert second.status is Status.OK, "the rest goes on"
    assert derive(made).tests[0].score
    assert load(OUTPUT) == made


def test_a_classic_failure_does_not_take_the_resident_time_away(script):
    script(tests={"1.1": {"failure": "segfault", "resident": {}}})
    made = run("1.1")
    assert made.tests[0].status is Status.CRASH
    assert made.resident.tests[0].status is Status.OK


def test_a_timeout_of_the_one_is_none_of_the_other(script):
    script(tests={"1.1": {"resident": {"failure": "hang"}}})
    made = run("1.1", timeout=2)
    assert statuses(made.records) == {("1.1", "classic"): "ok", ("1.1", "resident"): "timeout"}


def test_a_quick_resident_run_has_three_blocks_that_count_and_no_estimate(script):
    made = execute(
        Request(backend="fake", quick=True, protocol="resident", output=OUTPUT),
        Notebook(),
        lambda question: False,
    ).result
    assert {len(test.rounds[0].counted_s) for test in made.tests} == {3}
    score = derive(made).scores["inference"]
    assert score is not None
    assert score.estimate is None, "it was made for classic scores"
    assert score.partial_value is not None


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"protocol": "modern"}, "there is no 'modern'"),
        ({"protocol": "resident", "early_stop": True}, "a resident test ends early anyway"),
    ],
)
def test_what_makes_no_sense_is_refused(request_, problem):
    with pytest.raises(UserError, match=problem):
        Request(**request_)


def test_the_options_reach_the_backend_and_the_file(script, monkeypatch):
    made = run(protocol="classic", precision=Precision.BF16, xla=True)
    assert (made.options.precision, made.options.xla) == (Precision.BF16, True)
    assert load(OUTPUT).options == made.options


def test_from_python(script):
    made = api.run(
        backend="fake", tests="1.1", protocol="both", precision="tf32", xla=True, output=OUTPUT
    )
    assert made.resident is not None
    assert made.options.precision is Precision.TF32
    with pytest.raises(UserError, match="there is no 'fp8'"):
        api.run(precision="fp8")


# ------------------------------------------------------------ rounds, resuming


def test_rounds_repeat_both(script):
    notebook = Notebook()
    made = run(rounds=2, observer=notebook)
    assert notebook.ran == 2 * PAIRS
    assert all([record.round for record in test.rounds] == [1, 2] for test in made.records)


def test_what_failed_is_not_repeated_and_the_other_half_is(script):
    script(tests={"1.1": {"resident": {"failure": "oom"}}})
    notebook = Notebook()
    made = run("1.1", rounds=3, observer=notebook)
    assert notebook.ran == [("1.1", "classic"), ("1.1", "resident"), *2 * [("1.1", "classic")]]
    assert made.tests[0].status is Status.OK


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_a_run_that_was_cut_off_goes_on_where_it_was(script, done):
    before = run()
    OUTPUT.unlink()
    records = [before.tests[0], before.resident.tests[0], before.tests[1]]
    header = before.with_records([]).model_copy(update={"summary": None})
    Journal(JOURNAL, header, records[:done]).close()
    made, ran = resume()
    assert ran == PAIRS[done:]
    assert set(statuses(made.records).values()) == {"ok"}
    assert load(OUTPUT) == made


def test_a_resident_failure_alone_is_resumed_alone(script):
    script(tests={"1.2": {"resident": {"failure": "oom"}}})
    run()
    script()
    made, ran = resume()
    assert ran == [("1.2", "resident")]
    assert set(statuses(made.records).values()) == {"ok"}


@pytest.mark.parametrize(
    "request_",
    [
        {"protocol": "resident"},
        {"protocol": "resident", "passes": 7},
        {"protocol": BOTH, "passes": 7, "max_seconds_per_test": 3},
        {"protocol": BOTH, "early_stop": True},
        {"protocol": "classic", "precision": Precision.FP16, "xla": True},
    ],
)
def test_the_set_up_is_found_again(script, request_):
    script(tests={"1.2": {"failure": "oom", "resident": {"failure": "oom"}}})
    run(**request_)
    script()
    made, _ = resume()
    assert set(statuses(made.records).values()) == {"ok"}


@pytest.mark.parametrize(
    ("given", "difference"),
    [
        ({"protocol": "classic"}, "protocol was classic, resident, is classic"),
        ({"passes": 7}, "resident passes was 100, is 7"),
        ({"precision": Precision.BF16}, "precision was default, is bf16"),
        ({"xla": True}, "xla was False, is True"),
    ],
)
def test_another_set_up_is_refused(script, given, difference):
    script(tests={"1.2": {"failure": "oom", "resident": {"failure": "oom"}}})
    run()
    with pytest.raises(UserError) as caught:
        resume(**given)
    assert difference in caught.value.problem


# --------------------------------------------------------- what comes out of it


def both(classic_speed=1.0, resident_speed=2.0, **run_record):
    """A whole run under both protocols at so many times the reference speed."""
    suite = run_record.get("suite", Suite.FULL)
    return resident(
        result(at_speed(classic_speed, suite=suite), **run_record),
        at_speed(resident_speed, suite=suite, protocol=Protocol.RESIDENT),
    )


def alone(speed=1.0, **run_record):
    """A whole resident run."""
    tests = at_speed(speed, protocol=Protocol.RESIDENT, suite=run_record.get("suite", Suite.FULL))
    return result(tests, protocol=Protocol.RESIDENT, **run_record)


def test_the_median_of_the_blocks_makes_the_score():
    made = alone()
    skewed = RoundRecord(round=1, passes_s=[9, 0.1, 0.1, 0.4], block_passes=[1, 1, 1, 1])
    tests = [made.tests[0].model_copy(update={"rounds": [skewed]}), *made.tests[1:]]
    (test, *_) = derive(made.model_copy(update={"tests": tests})).tests
    assert (test.time_ms, test.median_ms, test.first_ms) == pytest.approx((100, 100, 9000))
    assert test.mean_ms == pytest.approx(200)
    assert test.score == round(10 * reference_ms(Suite.FULL)["1.1"] * 10)
    assert test.passes == 4


def test_blocks_count_with_their_passes():
    record = RoundRecord(round=1, passes_s=[1, 0.1, 0.1, 0.1], block_passes=[1, 1, 2, 2])
    assert (record.passes, list(record.counted_s)) == (6, [0.1, 0.1])


def test_a_whole_resident_run_has_complete_scores_that_are_not_the_leaderboards():
    summary = derive(alone())
    assert summary.status == "complete"
    assert summary.scores["ai"].value == 20_000
    assert not summary.comparable_with_leaderboard
    assert summary.not_comparable_because == [
        "it was timed with the resident protocol, the leaderboard's is classic"
    ]


def test_the_resident_half_takes_nothing_from_the_classic_one():
    summary = derive(both())
    assert summary.comparable_with_leaderboard
    assert summary.scores["ai"].value == 20_000
    assert summary.resident.scores["ai"].value == 40_000
    assert summary.resident.status == "complete"


def test_the_host_share_is_what_a_resident_pass_does_not_take():
    shares = derive(both(1.0, 1.25)).resident.host_share
    assert shares.keys() == {test.id for test in FULL}
    assert list(shares.values()) == pytest.approx([0.2] * 42)


def test_a_test_that_is_not_ok_under_both_has_no_host_share():
    made = both()
    broken = made.resident.tests[0].model_copy(update={"status": Status.OOM})
    made = made.with_records([*made.tests, broken, *made.resident.tests[1:]])
    summary = derive(made)
    assert "1.1" not in summary.resident.host_share
    assert summary.status == "complete"
    assert summary.resident.status == "partial"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"precision": "fp16"}, "it ran in fp16, the leaderboard's is the framework's default"),
        ({"precision": "fp32"}, "it ran in fp32, the leaderboard's is the framework's default"),
        ({"xla": True}, "it was compiled with XLA, the leaderboard's was not"),
    ],
)
def test_a_changed_arithmetic_is_complete_and_not_comparable(options, reason):
    made = with_options(result(), **options)
    summary = derive(made)
    assert (summary.status, summary.scores["ai"].value) == ("complete", 20_000)
    assert summary.not_comparable_because == [reason]


def with_options(made, **options):
    changed = made.options.model_copy(
        update={**options, "precision": Precision(options.get("precision", "default"))}
    )
    return made.model_copy(update={"options": changed})


def test_a_score_is_called_after_its_protocol_and_its_arithmetic():
    text = render_result(with_options(both(), precision="bf16", xla=True))
    for line in (
        "Inference score (bf16, XLA)           10000",
        "Resident AI score (bf16, XLA)         40000",
        "Suite    full, classic and resident protocol",
    ):
        assert line in text
    assert "Backend  tensorflow, 2.21.0, bf16, XLA" in text


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("show-both.txt", both(2.3, 3.1, suite=Suite.MICRO)),
        ("show-resident.txt", alone(2.3, suite=Suite.MICRO)),
    ],
)
def test_as_text(name, made):
    text = render_result(made)
    golden_files.check(name, text)
    assert max(map(len, text.splitlines())) <= 80


def test_the_keys_of_show(tmp_path):
    save(both(), tmp_path / "r.json")
    document = json.loads(aiscore("show", tmp_path / "r.json", "--json").out)
    assert document["protocol"] == "classic"
    assert document["scores"]["inference"]["value"] == 10_000
    half = document["resident"]
    assert half["scores"]["inference"]["value"] == 20_000
    assert half["policy"]["block_seconds"] == 0.2
    assert half["host_share"]["1.1"] == pytest.approx(0.5)
    assert [test["id"] for test in half["tests"]] == [test["id"] for test in document["tests"]]
    save(result(), tmp_path / "c.json")
    assert json.loads(aiscore("show", tmp_path / "c.json", "--json").out)["resident"] is None


def test_verify_recomputes_the_resident_half(tmp_path):
    path = tmp_path / "r.json"
    save(both(), path)
    assert check(path) == []
    document = json.loads(path.read_text())
    document["summary"]["resident"]["host_share"]["1.1"] = 0.9
    path.write_text(json.dumps(document))
    assert check(path) == ["resident.host_share.1.1: the file says 0.9, its samples 0.5"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d["resident"]["tests"][0].update(protocol="classic"), "1.1 is classic"),
        (lambda d: d["tests"][0].update(protocol="resident"), "1.1 is resident"),
        (lambda d: d["resident"]["policy"].update(protocol="classic"), "policy.protocol differ"),
        (lambda d: rounds(d["resident"])[0]["block_passes"].pop(), "other blocks than times"),
        (lambda d: rounds(d)[0].update(block_passes=[1] * 22), "other blocks than times"),
        (lambda d: d["resident"]["tests"].append(d["resident"]["tests"][0]), "stands there twice"),
    ],
)
def test_a_file_that_contradicts_itself_is_found_out(tmp_path, change, problem):
    path = tmp_path / "r.json"
    save(both(), path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    assert any(problem in found for found in check(path))


def rounds(half):
    return half["tests"][0]["rounds"]


def test_a_file_from_before_there_was_a_resident_protocol_holds(tmp_path):
    path = tmp_path / "r.json"
    save(result(), path)
    document = json.loads(path.read_text())
    del document["resident"], document["summary"]["resident"]
    del document["options"]["precision"], document["options"]["xla"]
    del document["policy"]["block_seconds"]
    for test in document["tests"]:
        del test["protocol"], test["rounds"][0]["block_passes"]
    for test in document["summary"]["tests"]:
        del test["time_ms"]
    path.write_text(json.dumps(document))
    assert check(path) == []


# ------------------------------------------------------------------ comparisons


def test_resident_scores_are_never_set_against_a_card_or_a_classic_result():
    resident_side = from_result(alone())
    for other in (from_card(find_card("Tesla V100 SXM2 32GB")), from_result(result())):
        found = compare_subjects(resident_side, other)
        assert (found.scores, found.tests, found.findings) == ({}, {}, {})


def test_resident_scores_are_set_against_each_other():
    found = compare_subjects(from_result(alone()), from_result(alone(2.0)))
    assert found.scores["resident ai"] == 2.0
    assert found.tests["resident 1.1"] == pytest.approx(2.0)
    assert found.findings["resident ai"].verdict is Verdict.FASTER


def test_two_runs_under_both_protocols_are_compared_under_each():
    found = compare_subjects(from_result(both(1, 2)), from_result(both(1, 6)))
    assert (found.scores["ai"], found.scores["resident ai"]) == (1.0, 3.0)
    assert found.kinds["classification/inference"].ratio == pytest.approx(1.0)
    assert found.kinds["resident classification/inference"].ratio == pytest.approx(3.0)


def test_a_changed_precision_is_the_changed_variable(tmp_path):
    for name, made in (("a", result()), ("b", with_options(result(), precision="bf16"))):
        save(made, tmp_path / f"{name}.json")
    out = aiscore("compare", tmp_path / "a.json", tmp_path / "b.json").out
    assert out.startswith("Changed: precision (precision default against bf16).")


def test_publish_gives_each_protocol_a_column(tmp_path):
    save(both(), tmp_path / "r.json")
    lines = aiscore("publish", tmp_path / "r.json", "-o", "-").out.splitlines()
    assert lines[0] == "|  | NVIDIA H200 | resident NVIDIA H200 |"
    assert "| AI score | 20000 |  |" in lines
    assert "| Resident AI score |  | 40000 |" in lines


def test_a_resident_result_has_no_place_among_the_cards(tmp_path):
    save(alone(), tmp_path / "r.json")
    shown = aiscore("leaderboard", "--with", tmp_path / "r.json")
    assert shown.code == 2
    assert "this result has resident scores" in shown.err
    save(both(), tmp_path / "b.json")
    assert aiscore("leaderboard", "--with", tmp_path / "b.json").code == 0


def test_the_quick_subset_is_estimated_in_the_classic_half_alone():
    quick = resident(
        result(at_speed(only=QUICK), quick=True, policy={"passes": 3}),
        at_speed(only=QUICK, protocol=Protocol.RESIDENT),
    )
    summary = derive(quick)
    assert summary.scores["ai"].estimate is not None
    assert summary.resident.scores["ai"].estimate is None


def test_the_command(script):
    made = aiscore("run", "--backend", "fake", "--tests", "1.1", "--protocol", "both")
    assert made.code == 0
    assert "classic ms  resident ms" in made.out
    assert "20%" in made.out, "what the fake backend takes for the host"
    script(tests={"1.1": {"resident": {"failure": "oom"}}})
    assert aiscore("run", "--backend", "fake", "--tests", "1.1", "--protocol", "both").code == 1
