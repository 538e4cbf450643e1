"""The A/A benchmark (benchmarks/same.py): what it keeps, what it measures, what it says."""

from pathlib import Path

import pytest
import same

from aiscore.errors import UserError
from aiscore.execution.journal import Journal, journal_path
from aiscore.execution.process import Worker
from aiscore.results.model import Result
from aiscore.results.reference import reference_ms
from aiscore.results.store import load, save
from aiscore.scoring.compare import MARGIN
from aiscore.spec import Suite
from tests.results_factory import record, result
from workloads.suite import MICRO

SPECS = [spec for spec in MICRO if spec.id in {"1.m", "5.m", "8.m"}]
KEPT = Path("kept")


def run_of(*speeds: float) -> Result:
    """A result of three tests that ran at these speeds in its rounds."""
    tests = []
    for spec in SPECS:
        times = [reference_ms(Suite.MICRO)[spec.id] / 1000 / speed for speed in speeds]
        rounds = [
            {"round": number, "passes_s": [1.0, time, time]}
            for number, time in enumerate(times, start=1)
        ]
        tests.append(record(spec, rounds=rounds))
    return result(tests, suite=Suite.MICRO, software={"python": "3.11.7", "tensorflow": "2.21.0"})


QUIET = (run_of(1.0, 1.003, 0.997), run_of(1.001, 0.999, 1.002))
APART = (run_of(1.0, 1.001, 0.999), run_of(1.03, 1.031, 1.029))
NOISY = (run_of(1.0, 1.2, 0.9), run_of(1.1, 0.95, 1.2))


def said(pairs) -> tuple[list[str], bool]:
    text, holds = same.report(pairs)
    return text.splitlines(), holds


def test_pairs_that_agree_choose_the_margin_of_compare():
    lines, holds = said([QUIET, NOISY] * 5)
    assert holds
    assert "choose the floor: 1.0%. None of them gets a winner" in "\n".join(lines)
    assert "- Of the other 5 pairs 0 get a winner at that floor (at most 1 may)." in lines


def test_the_floor_is_as_high_as_the_first_pairs_need():
    found = [same.compared(pair) for pair in (QUIET, APART)]
    assert found[0].beyond == 0
    assert 0.02 < found[1].beyond < 0.03
    floor = same.floor_for(found)
    assert (floor, any(pair.wins(floor) for pair in found)) == (pytest.approx(0.03), False)
    assert found[1].wins(MARGIN)


def test_a_floor_above_that_of_compare_does_not_hold():
    lines, holds = said([APART, *[QUIET] * 9])
    assert not holds
    assert "choose the floor: 3.0%. One of them gets a winner at any margin below 2." in "\n".join(
        lines
    )


@pytest.mark.parametrize(("apart", "holds"), [(1, True), (2, False)])
def test_one_of_the_other_pairs_may_get_a_winner(apart: int, holds: bool):
    lines, held = said([*[QUIET] * (10 - apart), *[APART] * apart])
    assert held is holds
    assert f"- Of the other 5 pairs {apart} get a winner at that floor (at most 1 may)." in lines
    assert f"- Without any floor {apart} of 10 would get one," in "\n".join(lines)


def test_the_table_has_a_row_for_each_pair_and_says_where_it_is_from():
    lines, _ = said([QUIET] * 9 + [APART])
    assert lines[0].startswith("`--suite micro --tests 1,5,8 --rounds 3 --passes 8` on NVIDIA H200")
    assert "tensorflow 2.21.0, Python 3.11.7" in lines[0]
    rows = [line for line in lines if line.startswith("| ")][1:]
    assert len(rows) == 10
    assert rows[0].startswith("| 1 | 1.000")
    assert rows[0].endswith("| never | none |")
    assert rows[-1].startswith("| 10 | 1.030")
    assert rows[-1].endswith(" | a winner |")


def test_single_rounds_are_set_against_the_floor_without_an_interval():
    lines, _ = said([NOISY] * 10)
    assert "- One round of A and one of B differ by 33.3% at most (90 such pairs)." in lines[-1]
    assert "compare asks for 15%" in lines[-1]


def measure():
    first, _ = same.measure(KEPT, 2, "fake", "auto")
    return first


def test_one_pair_cannot_choose_and_check(script):
    with pytest.raises(UserError, match="1 pairs cannot choose a floor and check it"):
        same.measure(KEPT, 1, "fake", "auto")


def test_pairs_are_measured_and_kept_and_not_measured_again(script, capsys):
    first = measure()
    assert [len(made.tests) for made in first] == [3, 3]
    assert {record.round for test in first[0].tests for record in test.rounds} == {1, 2, 3}
    assert {len(record.passes_s) for test in first[0].tests for record in test.rounds} == {8}
    kept = sorted(path.name for path in KEPT.iterdir())
    assert kept == [f"pair-0{number}-{side}.json" for number in (1, 2) for side in "ab"]
    script(start="hang")  # asking the backend would never end
    assert measure() == first


def test_what_was_cut_off_is_measured_anew(script):
    whole, other = measure()
    path = KEPT / "pair-01-a.json"
    cut = whole.run.model_copy(update={"interrupted": True})
    save(whole.model_copy(update={"run": cut}), path)
    (KEPT / "pair-01-b.json").unlink()
    header = other.model_copy(update={"tests": [], "summary": None})
    Journal(journal_path(KEPT / "pair-01-b.json"), header, other.tests[:1]).close()
    again, too = measure()
    assert whole.run.id != again.run.id == load(path).run.id
    assert too.run.id != other.run.id
    assert not list(KEPT.glob("*.journal"))


def test_ctrl_c_ends_it_and_the_next_start_goes_on(script, monkeypatch, capsys):
    with pytest.MonkeyPatch.context() as patch:

        def interrupt(worker, limit_s):
            raise KeyboardInterrupt

        patch.setattr(Worker, "receive", interrupt)
        arguments = [str(KEPT), "--pairs", "2", "--backend", "fake"]
        assert same.main(arguments) == 130
    assert "the same command goes on from here" in capsys.readouterr().err
    assert same.main(arguments) == 0
    assert "| 2 | 1.0000 |" in capsys.readouterr().out


def test_results_of_two_set_ups_are_no_pairs(script):
    measure()
    (KEPT / "pair-01-b.json").unlink()
    script(software={"fake": "2"})
    with pytest.raises(UserError, match="the results differ in fake: "):
        measure()


def test_a_test_that_fails_is_said(script):
    script(tests={"5.m": {"failure": "oom"}})
    with pytest.raises(UserError, match="has a test that is not ok"):
        measure()
