"""Verdicts, tables and files of the fidelity benchmark (benchmarks/report.py, record.py)."""

import pytest
import report
from pairs import Paired, Times
from record import Record, combined, read

from aiscore.errors import UserError
from tests import golden_files


def paired(test, ratios, **fields):
    return Paired(
        test,
        reference=Times(0.5, 2.0, [1.0] * len(ratios), 20.0, None, 2**30),
        candidate=Times(1.5, 3.0, list(ratios), 30.0, None, 2**31),
        **fields,
    )


def record(*tests, **fields):
    return Record(
        started_at="2026-01-02T03:04:05+00:00",
        host={"cpu": "A|B", "cores": "2"},
        bar=0.1,
        software={"tensorflow": "2.21.0"},
        tests=list(tests),
        **fields,
    )


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([1.0] * 11, "ok"),
        ([1.099] * 11, "ok"),
        ([1.101] * 11, "off"),
        ([0.899] * 11, "off"),
        ([1.0] + [1.3] * 10, "off"),  # of eleven, the second smallest is the interval's end
        ([1.0] * 2 + [1.3] * 9, "ok"),
        ([1.0] + [1.3] * 4, "ok"),  # of five, the smallest
    ],
)
def test_a_test_is_off_only_if_its_interval_lies_wholly_outside_the_bar(ratios, verdict):
    assert report.judge(paired("1.1", ratios), bar=0.1).verdict == verdict


def test_a_test_that_a_side_did_not_finish_is_failed_whatever_its_ratio():
    assert report.judge(paired("1.1", [1.0] * 11, error="broken"), bar=0.1).verdict == "failed"
    assert report.judge(paired("1.1", []), bar=0.1).verdict == "failed"


def test_each_score_is_over_its_own_tests():
    inference, training = report.scores(
        [paired("1.1", [1.1] * 11), paired("5.1", [1 / 1.1] * 11), paired("1.2", [1.2] * 11)]
    )

    assert inference.ratio.value == pytest.approx(1)
    assert (inference.tests, inference.expected, inference.verdict) == (2, 24, "ok")
    assert training.ratio.value == pytest.approx(1.2)
    assert (training.tests, training.expected, training.verdict) == (1, 18, "off")


@pytest.mark.parametrize(
    ("value", "verdict"), [(1.029, "ok"), (1.031, "off"), (0.971, "ok"), (0.969, "off")]
)
def test_a_score_is_off_beyond_three_percent(value, verdict):
    (score,) = report.scores([paired("1.1", [value] * 11)])

    assert score.verdict == verdict


def test_a_failed_test_is_in_no_score():
    assert report.scores([paired("1.1", [1.0] * 11, error="broken")]) == []


@pytest.mark.parametrize(
    ("tests", "holds"),
    [
        ([paired("1.1", [1.0] * 11)], True),
        ([paired("1.1", [1.2] * 11)], False),
        ([paired("1.1", [1.05] * 11)], False),  # within the test's bar, not within the score's
        ([paired("1.1", [1.0] * 11), paired("1.2", [1.0] * 11, error="broken")], False),
    ],
)
def test_fidelity_holds_if_every_test_and_score_is_ok(tests, holds):
    assert report.holds(record(*tests)) is holds


def test_the_noise_decides_nothing():
    assert report.holds(record(paired("1.1", [1.0] * 11), noise=[paired("1.1", [2.0] * 11)]))


def test_the_tables():
    text = report.render(
        record(
            paired("1.1", [1.01] * 11),
            paired("18.2", [0.25] * 5),
            paired("5.1", [], error="aiscore ended with status 1\nlast | line"),
            noise=[paired("8.1", [1.0] * 5)],
            unsupported={"19.1": "not yet"},
        )
    )

    golden_files.check("fidelity.md", text)


def test_a_record_survives_its_file(tmp_path):
    whole = record(
        paired("1.1", [1.0, 2.0]),
        paired("1.2", [], error="broken"),
        noise=[paired("8.1", [1.0])],
        unsupported={"19.1": "not yet"},
    )
    path = tmp_path / "record.json"
    path.write_text(whole.to_json())

    assert read(path) == whole


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tests": 1}', "\x00", '{"tests": [{}]}'])
def test_a_file_that_holds_no_record_is_refused(tmp_path, text):
    path = tmp_path / "record.json"
    path.write_text(text)

    with pytest.raises(UserError, match="holds no record"):
        read(path)


def test_parts_of_a_stretch_are_put_together_in_the_order_of_the_suite():
    whole = combined(
        [
            record(paired("5.1", [1.0]), unsupported={"19.1": "not yet"}),
            record(paired("1.2", [1.0]), noise=[paired("8.1", [1.0])]),
        ]
    )

    assert [test.test for test in whole.tests] == ["1.2", "5.1"]
    assert (len(whole.noise), whole.unsupported) == (1, {"19.1": "not yet"})


def test_parts_from_two_machines_are_refused():
    other = record(paired("5.1", [1.0]))
    other.host = {"cpu": "another"}

    with pytest.raises(UserError, match="differ in host"):
        combined([record(paired("1.1", [1.0])), other])


def test_a_test_measured_twice_is_refused():
    with pytest.raises(UserError, match=r"more than one part: 1\.1"):
        combined([record(paired("1.1", [1.0])), record(paired("1.1", [1.0]))])


def test_nothing_measured_is_not_fidelity():
    assert not report.holds(record(unsupported={"1.1": "not yet"}))
