"""Rounds: which trials the next one has, and one record out of those of several."""

from aiscore.execution.plan import Plan
from aiscore.results.model import Result, TestRecord
from aiscore.results.summary import round_scores
from aiscore.scoring import stats
from aiscore.spec import Protocol, Status, Trial

Key = tuple[str, Protocol]


def next_round(asked: Plan, result: Result) -> tuple[int, Plan] | None:
    """The number and the trials of the round to run now; None when nothing is left to do.

    What has failed is not repeated. A new round begins only while the result's
    scores are not known well enough.
    """
    records = {key(record): record for record in result.records}
    begun = max((len(record.rounds) for record in records.values()), default=0)
    for number in range(1, min(result.run.rounds, begun + 1) + 1):
        due = tuple(trial for trial in asked.trials if _is_due(records.get(key(trial)), number))
        if due:
            return None if _is_settled(result) else (number, Plan(asked.suite, due))
    return None


def key(item: Trial | TestRecord) -> Key:
    """What tells a trial from all others of a run."""
    test = item.test.id if isinstance(item, Trial) else item.id
    return test, item.protocol


def _is_due(record: TestRecord | None, number: int) -> bool:
    if record is None:
        return True
    return record.status is Status.OK and all(done.round != number for done in record.rounds)


def _is_settled(result: Result) -> bool:
    scores = [values for part in result.parts for values in round_scores(part).values()]
    return bool(scores) and all(map(stats.is_settled, scores))


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
