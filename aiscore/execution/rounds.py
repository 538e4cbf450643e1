"""Rounds: which tests the next one has, and one record out of those of several."""

from aiscore.execution.plan import Plan
from aiscore.results.model import Result, TestRecord
from aiscore.results.summary import round_scores
from aiscore.scoring import stats
from aiscore.spec import Status


def next_round(asked: Plan, result: Result) -> tuple[int, Plan] | None:
    """The number and the tests of the round to run now; None when nothing is left to do.

    A test that has failed is not repeated. A new round begins only while the
    result's scores are not known well enough.
    """
    records = {test.id: test for test in result.tests}
    begun = max((len(record.rounds) for record in records.values()), default=0)
    for number in range(1, min(result.run.rounds, begun + 1) + 1):
        tests = tuple(test for test in asked.tests if _is_due(records.get(test.id), number))
        if tests:
            return None if _is_settled(result) else (number, Plan(asked.suite, tests))
    return None


def _is_due(record: TestRecord | None, number: int) -> bool:
    if record is None:
        return True
    return record.status is Status.OK and all(done.round != number for done in record.rounds)


def _is_settled(result: Result) -> bool:
    scores = round_scores(result).values()
    return bool(scores) and all(stats.is_settled(values) for values in scores)


def join(earlier: TestRecord | None, later: TestRecord) -> TestRecord:
    """One record of a test's rounds so far and its next one.

    A test that fails in any round is not ok. An interrupt takes nothing away
    from the rounds before it.
    """
    if earlier is None:
        return later
    ending = earlier if later.status is Status.INTERRUPTED else later
    return later.model_copy(
        update={
            "rounds": [*earlier.rounds, *later.rounds],
            "status": ending.status,
            "error": ending.error,
        }
    )
