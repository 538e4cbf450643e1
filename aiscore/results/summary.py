"""Everything derived from a result's samples: figures per test, scores, comparability."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import fsum, hypot
from typing import Literal, TypedDict

from aiscore.results.checks import make_checks, make_checks_of_tests
from aiscore.results.model import (
    PolicyRecord,
    Progress,
    ResidentSummary,
    Result,
    RoundRecord,
    ScoreRecord,
    Summary,
    TestRecord,
    TestSummary,
)
from aiscore.results.reference import reference_ms
from aiscore.results.roof import place_tests, roof_summary
from aiscore.scoring import quick, score, stats
from aiscore.scoring.validity import NOT_STEADY, warm_up_share
from aiscore.spec import (
    DeviceKind,
    Mode,
    Policy,
    Precision,
    Protocol,
    Status,
    Suite,
    TestSpec,
)
from workloads.suite import QUICK, TESTS

LEADERBOARD_BACKEND = "tensorflow"
ENERGY = {DeviceKind.GPU: "gpu_energy_j", DeviceKind.CPU: "cpu_energy_j"}
LONG_ENOUGH_S = 1.0  # energy counters move in steps of up to a tenth of a second
MS_PER_S = 1000


Figures = Mapping[str, score.Estimate]
"""Test to its figures (s)."""


class Interval(TypedDict):
    """How well a score is known, and from what."""

    interval: tuple[float, float] | None
    interval_kind: Literal["rounds"] | None


class Counts(TypedDict):
    """How many of a score's own tests count."""

    tests_ok: int
    tests_expected: int


def summarise(result: Result) -> Result:
    """The same result with its ``summary`` made anew from the samples."""
    return result.model_copy(update={"summary": derive(result)})


def derive(result: Result) -> Summary:
    """The summary that the samples give, whatever the result says."""
    reasons = _not_comparable_because(result)
    found = _figures(result)
    half = result.parts[1] if result.resident else None
    found_of_half = _figures(half) if half else {}
    host_share = {
        test: 1 - found_of_half[test].time / classic.time
        for test, classic in found.items()
        if test in found_of_half
    }
    tests = _test_summaries(result, found, host_share)
    return Summary(
        status=_status(result),
        comparable_with_leaderboard=not reasons,
        not_comparable_because=reasons,
        scores=_scores(result, found),
        checks=make_checks(result, tests),
        roof=roof_summary(result),
        tests=tests,
        resident=_resident(half, found_of_half, host_share) if half else None,
    )


def _figures(result: Result) -> Figures:
    """Of every test that is ok."""
    return {test.id: figures(test) for test in result.tests if test.status is Status.OK}


def _resident(half: Result, found: Figures, host_share: dict[str, float]) -> ResidentSummary:
    """The same of the resident half of a run."""
    tests = _test_summaries(half, found, {})
    return ResidentSummary(
        status=_status(half),
        scores=_scores(half, found),
        checks=make_checks_of_tests(half, tests),
        tests=tests,
        host_share=host_share,
    )


def round_figures(test: TestRecord, record: RoundRecord) -> score.Estimate:
    """The figures (s) of a test in one round that is ok."""
    return score.estimate(record.counted_s, test.protocol)


def whole_rounds(result: Result) -> list[int]:
    """The rounds in which every test that is ok was timed."""
    found = [
        {record.round for record in test.ok_rounds}
        for test in result.tests
        if test.status is Status.OK
    ]
    return sorted(set.intersection(*found)) if found else []


def round_scores(result: Result) -> dict[str, list[float]]:
    """Each score in each whole round, before rounding, over the tests that are ok."""
    counting = _counting(result)
    modes = {spec.id: spec.mode.value for spec in TESTS[result.suite] if spec.id in counting}
    names = dict.fromkeys(["micro"] if result.suite is Suite.MICRO else modes.values())
    scores = {
        name: _round_scores(result, [id for id, mode in modes.items() if name in (mode, "micro")])
        for name in names
        if modes
    }
    if len(scores) == len(Mode):
        scores["ai"] = [fsum(parts) for parts in zip(*scores.values(), strict=True)]
    return scores


def _round_scores(result: Result, tests: Sequence[str]) -> list[float]:
    """The score over these tests in each whole round."""
    reference = reference_ms(result.suite)
    times_s = {
        test.id: {record.round: round_figures(test, record).time for record in test.ok_rounds}
        for test in result.tests
        if test.id in tests
    }
    return [
        score.SCALE
        * score.geometric_mean(
            reference[test] / (times_s[test][number] * MS_PER_S) for test in tests
        )
        for number in whole_rounds(result)
    ]


def figures(test: TestRecord) -> score.Estimate:
    """The figures (s) of a test that is ok, from its passes or from what a log printed."""
    if test.printed is None:
        counted_s = [value for record in test.ok_rounds for value in record.counted_s]
        return score.estimate(counted_s, test.protocol)
    mean, std_ms = test.printed.mean_ms / MS_PER_S, test.printed.std_ms
    std = None if std_ms is None else std_ms / MS_PER_S
    return score.Estimate(time=mean, error=None, mean=mean, median=None, std=std)


def rounding_band(tests: Sequence[TestRecord], suite: Suite) -> tuple[int, int]:
    """The lowest and the highest score over these printed times that rounding allows."""
    printed = [(test.id, test.printed) for test in tests if test.printed]
    return score.score_band(
        [reference_ms(suite)[test] for test, _ in printed],
        [score.rounding_band(time.mean_ms, time.digits) for _, time in printed],
    )


def resized(test: TestRecord, suite: Suite) -> bool:
    """Whether the test ran with another batch or input than the suite's: it cannot count."""
    spec = _specs(suite)[test.id]
    return test.batch != spec.batch or tuple(test.input) != spec.input


@cache
def _specs(suite: Suite) -> Mapping[str, TestSpec]:
    return {spec.id: spec for spec in TESTS[suite]}


def _counting(result: Result) -> dict[str, TestRecord]:
    """Id to each test that counts."""
    return {
        test.id: test
        for test in result.tests
        if test.status is Status.OK and not resized(test, result.suite)
    }


def _test_summaries(
    result: Result, found: Figures, host_share: Mapping[str, float]
) -> list[TestSummary]:
    """The figures of every test, those against the roof included where one was measured."""
    kind = result.device.kind
    made = [_test_summary(test, found.get(test.id), result.suite, kind) for test in result.tests]
    return made if result.roof is None else place_tests(result, made, host_share)


def _test_summary(
    test: TestRecord, found: score.Estimate | None, suite: Suite, kind: DeviceKind
) -> TestSummary:
    """The figures of one test; a test that is not ok has no time."""
    rounds = test.ok_rounds if found else test.rounds
    timed = [value for record in rounds for value in record.passes_s]
    return TestSummary(
        id=test.id,
        network=test.title,
        mode=test.mode,
        status=test.status,
        passes=None if test.printed else sum(record.passes for record in rounds),
        time_ms=_ms(found.time if found else None),
        mean_ms=_ms(found.mean if found else None),
        median_ms=_ms(found.median if found else None),
        std_ms=_ms(found.std if found else None),
        first_ms=_ms(timed[0]) if timed else None,
        energy_per_pass_j=energy_per_pass_j(test, ENERGY[kind]) if found and rounds else None,
        steady=is_steady(test) if found else None,
        score=(
            score.test_score(reference_ms(suite)[test.id], found.time * MS_PER_S)
            if found and not resized(test, suite)
            else None
        ),
    )


def _ms(time_s: float | None) -> float | None:
    return None if time_s is None else time_s * MS_PER_S


def energy_per_pass_j(test: TestRecord, counter: str) -> float | None:
    """Over the passes that were watched, the pauses between them included."""
    measured = [
        (record.telemetry.totals[counter], record.passes - record.telemetry.unwatched_passes)
        for record in test.rounds
        if record.telemetry
        and record.telemetry.duration_s >= LONG_ENOUGH_S
        and counter in record.telemetry.totals
    ]
    passes = sum(count for _, count in measured)
    return fsum(energy for energy, _ in measured) / passes if passes else None


def is_steady(test: TestRecord) -> bool | None:
    """Whether the passes of every round had settled, as far as can be told."""
    found = [
        warm_up_share(passes) <= NOT_STEADY.limit
        for record in test.ok_rounds
        if len(passes := record.counted_s) > 1
    ]
    return all(found) if found else None


def _scores(result: Result, found: Figures) -> dict[str, ScoreRecord | None]:
    several = len(whole_rounds(result)) > 1
    by_round = round_scores(result) if several else {}
    if result.suite is Suite.MICRO:
        micro = _mode_score(result, found, TESTS[Suite.MICRO], by_round.get("micro", []))
        return {"inference": None, "training": None, "ai": None, "micro": micro}
    inference, training = (
        _mode_score(
            result,
            found,
            [spec for spec in TESTS[Suite.FULL] if spec.mode is mode],
            by_round.get(mode.value, []),
        )
        for mode in (Mode.INFERENCE, Mode.TRAINING)
    )
    ai = _sum(inference, training, by_round.get("ai", []))
    return {"inference": inference, "training": training, "ai": ai}


def _mode_score(
    result: Result, found: Figures, specs: Sequence[TestSpec], by_round: Sequence[float]
) -> ScoreRecord:
    """The score over these tests, all of one mode; ``by_round`` is what it was in each round."""
    counting = _counting(result)
    valid = {spec.id: found[spec.id] for spec in specs if spec.id in counting}
    ran = list(valid)
    counts: Counts = {"tests_ok": len(ran), "tests_expected": len(specs)}
    if not ran:
        return ScoreRecord(value=None, **counts)
    if len(by_round) > 1:
        value = score.points(score.geometric_mean(by_round))
    else:
        value = _score_over(ran, valid, result.suite)
    if len(ran) == len(specs) and result.imported:
        band = rounding_band([test for test in result.tests if test.id in ran], result.suite)
        return ScoreRecord(value=value, interval=band, interval_kind="rounding", **counts)
    if len(ran) == len(specs) and len(by_round) > 1:
        return ScoreRecord(value=value, **_rounds_interval(by_round), **counts)
    if len(ran) == len(specs):
        error = score.relative_error([valid[test] for test in ran])
        return ScoreRecord(
            value=value,
            interval=None if error is None else score.interval(value, value * error),
            interval_kind=None if error is None else "passes",
            **counts,
        )
    classic = result.protocol is Protocol.CLASSIC  # what the estimate was made for
    if result.run.quick and classic and _is_quick_subset(ran, specs):
        calibration = quick.INFERENCE if specs[0].mode is Mode.INFERENCE else quick.TRAINING
        return ScoreRecord(
            value=None,
            estimate=round(value * calibration.factor),
            estimate_error=calibration.error,
            **counts,
        )
    return ScoreRecord(value=None, partial_value=value, **counts)


def _rounds_interval(by_round: Sequence[float]) -> Interval:
    bounds = stats.interval(by_round)
    return {"interval": bounds, "interval_kind": "rounds" if bounds else None}


def _score_over(tests: Iterable[str], valid: dict[str, score.Estimate], suite: Suite) -> int:
    reference = reference_ms(suite)
    pairs = [(reference[test], valid[test].time * MS_PER_S) for test in tests]
    return score.suite_score([ref for ref, _ in pairs], [time for _, time in pairs])


def _is_quick_subset(ran: Sequence[str], specs: Sequence[TestSpec]) -> bool:
    """Whether exactly the quick tests among these ran: what the calibration stands for."""
    return set(ran) == set(QUICK) & {spec.id for spec in specs}


def _sum(inference: ScoreRecord, training: ScoreRecord, by_round: Sequence[float]) -> ScoreRecord:
    """The AI score: the sum of the two, of the same kind as they are."""
    counts: Counts = {
        "tests_ok": inference.tests_ok + training.tests_ok,
        "tests_expected": inference.tests_expected + training.tests_expected,
    }
    if inference.value is not None and training.value is not None:
        value = inference.value + training.value
        if inference.interval and training.interval and inference.interval_kind == "rounding":
            low, high = map(sum, zip(inference.interval, training.interval, strict=True))
            return ScoreRecord(
                value=value, interval=(low, high), interval_kind="rounding", **counts
            )
        if len(by_round) > 1:
            return ScoreRecord(value=value, **_rounds_interval(by_round), **counts)
        if inference.interval and training.interval:
            half = hypot(*(high - low for low, high in (inference.interval, training.interval))) / 2
            return ScoreRecord(
                value=value,
                interval=(value - half, value + half),
                interval_kind="passes",
                **counts,
            )
        return ScoreRecord(value=value, **counts)
    if inference.estimate is not None and training.estimate is not None:
        return ScoreRecord(
            value=None,
            estimate=inference.estimate + training.estimate,
            estimate_error=quick.AI_ERROR,
            **counts,
        )
    parts = [
        part.partial_value if part.value is None else part.value for part in (inference, training)
    ]
    ran = [part for part in parts if part is not None]
    partial = sum(ran) if len(ran) == len(parts) else None
    return ScoreRecord(value=None, partial_value=partial, **counts)


def _status(result: Result) -> Progress:
    if result.run.interrupted:
        return "interrupted"
    complete = len(_counting(result)) == len(TESTS[result.suite])
    return "complete" if complete else "partial"


def _not_comparable_because(result: Result) -> list[str]:
    """Why the scores are not on the leaderboard's scale, in plain words."""
    ok, expected = len(_counting(result)), len(TESTS[result.suite])
    named = [test.id for test in result.tests if resized(test, result.suite)]
    reasons = {
        "the micro suite has a scale of its own": result.suite is Suite.MICRO,
        f"it ran on the {result.backend} backend, the leaderboard's is {LEADERBOARD_BACKEND}": (
            result.backend != LEADERBOARD_BACKEND
        ),
        f"it was timed with the {result.protocol} protocol, the leaderboard's is classic": (
            result.protocol is not Protocol.CLASSIC
        ),
        f"it ran in {result.options.precision}, the leaderboard's is the framework's default": (
            result.options.precision is not Precision.DEFAULT
        ),
        "it was compiled with XLA, the leaderboard's was not": result.options.xla,
        "the run was interrupted": result.run.interrupted and ok < expected,
        f"only {ok} of {expected} tests are ok": ok < expected,
        f"batch or input was changed: {', '.join(named)}": bool(named),
    }
    classic = result.protocol is Protocol.CLASSIC  # else its policy is another
    return [
        *(text for text, holds in reasons.items() if holds),
        *(_cut_short(result.policy) if classic else []),
        *(_stopped_early(result) if classic else []),
    ]


def _stopped_early(result: Result) -> list[str]:
    """Where a test has fewer passes than the protocol would have given it."""
    standard = Policy()
    named = [
        test.id
        for test in result.tests
        if test.status is Status.OK
        and any(
            len(record.passes_s) < standard.passes and fsum(record.passes_s) < standard.max_seconds
            for record in test.ok_rounds
        )
    ]
    if not (result.policy.early_stop and named):
        return []
    return [f"tests were ended early (--early-stop): {', '.join(named)}"]


def _cut_short(policy: PolicyRecord) -> list[str]:
    """Where the timing policy asks for less than the protocol."""
    standard = Policy()
    return [
        f"{text} is {getattr(policy, field):g}, the protocol's is {getattr(standard, field):g}"
        for field, text in {
            "passes": "the most passes of a test",
            "min_passes": "the fewest passes of a test",
            "max_seconds": "the time limit of a test (s)",
            "hard_limit_s": "the hard time limit of a test (s)",
        }.items()
        if getattr(policy, field) < getattr(standard, field)
    ]
