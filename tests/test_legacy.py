"""Console logs of ai-benchmark: read in every form, and never more than is there."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiscore.compat import as_log
from aiscore.results.legacy import Log, read_log, score_mismatches
from aiscore.results.model import Result
from aiscore.results.reference import Card, cards, reference_ms
from aiscore.results.summary import summarise
from aiscore.spec import DeviceKind, Mode, Status, Suite
from tests import log_factory
from tests.log_factory import BYTE_FORMS, HEADING, TEXT_FORMS, of_card, original
from tests.results_factory import at_speed, passes_s, record, result
from workloads.suite import FULL, MICRO, TESTS

COMPLETE = [card for card in cards() if card.completeness == "complete"]
CARD = COMPLETE[0]
FALSE = {"inference": 99_999, "training": 88_888, "ai": 188_887}
SIMPLE_FORMS = [  # those that can follow each other in any order
    "fenced",
    "prompt",
    "quoted",
    "TensorFlow between",
    "verbose",
    "UTF-8 read as cp1252",
    "logger",
    "coloured",
    "renumbered",
    "indented",
]


def read(text: str | bytes) -> Log:
    return read_log(text.encode() if isinstance(text, str) else text, "log.txt")


def only(log: Log) -> Result:
    (found,) = log.results
    return found


def times(made: Result) -> dict[str, tuple[float, float | None]]:
    return {
        test.id: (test.printed.mean_ms, test.printed.std_ms) for test in made.tests if test.printed
    }


def check_scores(made: Result, card: Card) -> None:
    """The times give the scores that the card's source printed."""
    assert made.summary is not None
    for name, printed in card.scores.items():
        score = made.summary.scores[name]
        assert score is not None and score.interval is not None
        low, high = score.interval
        assert low <= printed <= high, name
        assert low <= score.value <= high, name
        assert score.interval_kind == "rounding"


@pytest.mark.parametrize("scores", [{}, FALSE], ids=["removed", "falsified"])
@pytest.mark.parametrize("card", COMPLETE, ids=lambda card: card.device)
def test_a_complete_card_gives_its_scores_whatever_the_log_says_they_are(card, scores):
    made = only(read(of_card(card, scores)))
    check_scores(made, card)
    assert made.summary.status == "complete"
    assert made.summary.comparable_with_leaderboard
    assert bool(score_mismatches(made)) == bool(scores)


@pytest.mark.parametrize("form", TEXT_FORMS)
def test_every_form_of_text(form: str):
    log = read(TEXT_FORMS[form](of_card(CARD)))
    made = only(log)
    assert log.unread == []
    check_scores(made, CARD)
    assert made.imported.printed_scores == CARD.scores
    assert score_mismatches(made) == []
    assert made.device.name == "NVIDIA GeForce RTX 2070 SUPER"
    assert made.environment.software["tensorflow"] == "2.4.1"
    assert made.imported.version == "0.1.2"


@pytest.mark.parametrize("form", BYTE_FORMS)
def test_every_form_of_bytes(form: str):
    log = read(BYTE_FORMS[form](of_card(CARD)))
    check_scores(only(log), CARD)
    assert log.unread == []


def test_what_the_heading_says():
    made = only(read(of_card(CARD)))
    assert (made.device.kind, made.backend, made.protocol) == ("gpu", "tensorflow", "classic")
    assert made.environment.software == {
        "tensorflow": "2.4.1",
        "cuda": "10.1",
        "cuda build": "V10.1.243",
    }
    assert made.environment.host == {
        "platform": "Linux-5.15.0-48-generic-x86_64-with-glibc2.29",
        "cpu": "unknown: printed as N/A",
        "memory": "16 GB",
    }
    assert made.environment.gpus == [
        {"name": "NVIDIA GeForce RTX 2070 SUPER", "memory for tensorflow": "6.4 GB"}
    ]
    assert made.run.started_at.startswith("unknown")
    assert (made.run.seed, made.run.duration_s) == (None, None)


def test_a_heading_without_a_gpu_is_a_cpu_and_no_heading_is_unknown():
    without = "\n".join(line for line in HEADING.split("\n") if "GPU" not in line)
    cpu = only(read(original(CARD.tests, {}, without)))
    assert (cpu.device.kind, cpu.device.name) == (DeviceKind.CPU, "unknown CPU")
    named = only(read(original(CARD.tests, {}, without.replace("N/A", "Intel i9", 1))))
    assert named.device.name == "Intel i9"
    bare = only(read(original(CARD.tests, {}, "")))
    assert (bare.device.kind, bare.device.name) == (DeviceKind.UNKNOWN, "unknown device")


def test_everything_that_needs_passes_is_absent():
    test = only(read(of_card(CARD))).summary.tests[0]
    assert (test.mean_ms, test.std_ms, test.score) == (pytest.approx(36.5), 0.0005 * 1000, 20548)
    assert (test.passes, test.median_ms, test.first_ms) == (None, None, None)


def test_a_training_run_is_numbered_from_one_and_known_by_its_mode():
    training = {spec.id: CARD.tests[spec.id] for spec in FULL if spec.mode is Mode.TRAINING}
    text = original(training, {"training": CARD.scores["training"]}, networks=18)
    made = only(read(text.replace("8.3 -", "8.1 -").replace("1.2 -", "1.1 -")))
    assert times(made).keys() == training.keys()
    assert made.summary.scores["training"].value is not None
    assert made.summary.scores["ai"].value is None
    assert score_mismatches(made) == []
    assert "only 18 of 42 tests are ok" in made.summary.not_comparable_because


def test_a_micro_run():
    made = summarise(result(at_speed(2, suite=Suite.MICRO), suite=Suite.MICRO))
    found = only(read(as_log(made)))
    assert found.suite is Suite.MICRO
    assert found.summary.scores["micro"].tests_ok == len(MICRO)
    assert found.imported.printed_scores == {"micro": 20000}
    assert score_mismatches(found) == []
    assert not found.summary.comparable_with_leaderboard


def test_several_runs_are_several_results():
    slow = {test: (mean * 2, std) for test, (mean, std) in CARD.tests.items()}
    log = read(of_card(CARD) + original(slow, {}) + original(CARD.tests, {}, heading=""))
    assert len(log.results) == 3
    assert times(log.results[0]) == times(log.results[2]) != times(log.results[1])
    assert len({made.run.id for made in log.results}) == 3
    assert log.results[2].device.kind is DeviceKind.UNKNOWN, "its own heading is missing"


def test_a_run_that_stops_in_a_test_and_one_that_starts_anew():
    text = of_card(CARD)
    cut = text[: text.index("5.2 - training")]
    log = read(f"{cut}\n{text}")
    assert [len(made.tests) for made in log.results] == [9, 42]
    assert log.results[0].summary.status == "partial"


CRASH = """
Traceback (most recent call last):
  File "/usr/lib/python3.8/site-packages/tensorflow/python/client/session.py", line 1365, in _do_call
    return fn(*args)
tensorflow.python.framework.errors_impl.{error}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
{error}
"""  # noqa: E501


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("ResourceExhaustedError: OOM when allocating tensor", Status.OOM),
        ("InternalError: Blas GEMM launch failed", Status.CRASH),
        ("KeyboardInterrupt", Status.INTERRUPTED),
    ],
)
def test_a_crash_is_charged_to_the_test_that_was_at_work(error: str, status: Status):
    text = of_card(CARD)
    made = only(read(text[: text.index("8.3 - training")] + CRASH.format(error=error)))
    assert [test.id for test in made.tests][-1] == "8.3"
    assert made.tests[-1].status is status
    assert made.tests[-1].error.message in error
    assert len(times(made)) == 16
    assert made.run.interrupted == (status is Status.INTERRUPTED)
    assert not made.summary.comparable_with_leaderboard


def test_a_crash_in_the_training_of_the_first_network():
    text = of_card(CARD)
    made = only(read(text[: text.index("1.2 - training")] + "Killed\n"))
    assert [(test.id, test.status) for test in made.tests] == [("1.1", "ok"), ("1.2", "crash")]


def test_an_error_that_the_benchmark_outlives_ends_no_test():
    text = of_card(CARD).replace("\n2/19", CRASH.format(error="ValueError: late") + "\n2/19")
    assert {test.status for test in only(read(text)).tests} == {Status.OK}


def one_test(line: str) -> str:
    return f"1/19. MobileNet-V2\n1.2 - training | batch=50, size=224x224: 1 ± 0 ms\n{line}"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1.1 - inference | batch=50, size=224x224: 36.5 ± 0.", "no time"),
        ("1.1 - inference | batch=50, size=224x224: nan ± nan ms", "no time"),
        ("1.1 - inference | batch=50, size=224x224: -3.0 ± 0.1 ms", "no time"),
        ("1.1 - inference | batch=50, size=224x224: 0.0 ± 0.0 ms", "a time of 0 ms is none"),
        ("1.1 - inference | batch=49, size=224x224: 36.5 ± 0.5 ms", "no test of the suite"),
        ("1.1 - inference | batch=1, size=224x224: 36.5 ± 0.5 ms", "a test of the micro suite"),
        ("1.2 - training | batch=50, size=224x224: 9.0 ± 0.5 ms", "it was there before"),
        ("1.1 - inference | batch=50, si", "not whole"),
        ("20/20. GPT\n1.1 - inference | batch=50, size=224x224: 1 ± 0 ms", "no network"),
        ("Device AI Score: about 5", "not whole"),
        ("Device AI Score: 5\nDevice AI Score: 6", "another score"),
    ],
)
def test_what_cannot_be_read_is_kept_with_its_line_and_reason(line: str, reason: str):
    log = read(one_test(line))
    assert list(times(only(log))) == ["1.2"]
    assert log.unread
    assert reason in log.unread[0].reason
    assert log.unread[0].line >= 3


def test_other_lines_are_counted():
    assert read(one_test("hello\n\nworld\n---\n")).other_lines == 2


def test_a_test_before_any_network_is_not_guessed_from_its_number():
    log = read("1.1 - inference | batch=50, size=224x224: 36.5 ± 0.5 ms")
    assert log.results == []
    assert log.unread[0].reason == "no network stands above it"


def test_scores_without_times_are_no_result():
    log = read("Device Inference Score: 7149\nDevice Training Score: 5825\n")
    assert log.results == []
    assert (log.unread[0].text, log.unread[0].reason) == (
        "7149, 5825",
        "a score without times is none",
    )


@pytest.mark.parametrize("data", [b"", b"hello", b"\x00" * 99, b"\xff\xfe", bytes(range(256))])
def test_what_is_no_log_gives_nothing(data: bytes):
    assert read(data).results == []


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_break_it(data: bytes):
    assert read(data).results == []


def test_a_printed_score_of_what_is_not_there_is_a_mismatch():
    log = read(one_test("Device Inference Score: 0\nDevice Training Score: 17"))
    (line,) = score_mismatches(only(log))
    assert "training score 17" in line


def suites() -> st.SearchStrategy[Result]:
    """A run of some tests of either suite at any speeds, some failed."""
    return st.sampled_from(Suite).flatmap(
        lambda suite: st.fixed_dictionaries(
            {},
            optional={
                spec.id: st.tuples(
                    st.floats(0.01, 90),
                    st.floats(0, 0.3),
                    st.sampled_from([Status.OK] * 5 + [Status.OOM, Status.CRASH]),
                )
                for spec in TESTS[suite]
            },
        ).map(lambda drawn: made(suite, drawn))
    )


def made(suite: Suite, drawn: dict[str, tuple[float, float, Status]]) -> Result:
    records = [
        record(spec, passes_s(reference_ms(suite)[spec.id] / speed, wobble), status)
        for spec in TESTS[suite]
        if spec.id in drawn
        for speed, wobble, status in [drawn[spec.id]]
    ]
    return summarise(result(records, suite=suite))


def as_printed(run: Result) -> dict[str, tuple[float, float]]:
    """The times of a result as its log has them."""
    shown = {}
    for test in run.summary.tests:
        if test.mean_ms is not None:
            digits = 0 if test.std_ms > 1 and test.mean_ms > 100 else 1
            pair = tuple(float(f"{value:.{digits}f}") for value in (test.mean_ms, test.std_ms))
            if pair[0]:
                shown[test.id] = pair
    return shown


@settings(deadline=None, max_examples=60)
@given(
    run=suites(),
    forms=st.lists(st.sampled_from(SIMPLE_FORMS), max_size=3, unique=True),
    encode=st.sampled_from(list(BYTE_FORMS.values())),
)
def test_any_result_survives_its_log_in_any_form(
    run: Result, forms: list[str], encode: Callable[[str], bytes]
):
    text = as_log(run)
    for form in forms:
        text = TEXT_FORMS[form](text)
    log = read(encode(text))
    expected = as_printed(run)
    assert [times(found) for found in log.results] == ([expected] if expected else [])
    for found in log.results:
        assert found.suite is run.suite
        assert score_mismatches(found) == []
        assert {test.id: test.status for test in found.tests if not test.printed} == {
            test.id: test.status for test in run.tests if test.status is not Status.OK
        }


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 3000), st.sampled_from(list(TEXT_FORMS)))
def test_a_log_that_stops_anywhere_gives_the_tests_before(end: int, form: str):
    log = read(TEXT_FORMS[form](of_card(CARD)[:end]))
    whole = times(only(read(of_card(CARD))))
    for found in log.results:
        assert all(mean == whole[test][0] for test, (mean, _) in times(found).items())
        assert list(times(found)) == list(whole)[: len(found.tests)]


def test_the_factory_prints_as_the_original_does():
    assert log_factory.printed(36.5, 0.5) == "36.5 ± 0.5 ms"
    assert log_factory.printed(228, 18) == "228 ± 18 ms"
    assert "1.2 - training  | batch=50, size=224x224: 228 ± 18 ms" in of_card(CARD)
