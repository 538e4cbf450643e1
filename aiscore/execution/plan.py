"""What a run consists of: the tests that were asked for, each under one or both protocols."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

from aiscore.errors import UserError
from aiscore.spec import Mode, Protocol, Suite, TestSpec, Trial
from workloads.suite import QUICK, TESTS


@dataclass(frozen=True, slots=True)
class Plan:
    """The trials of a run in the suite's order."""

    suite: Suite
    trials: tuple[Trial, ...]

    @property
    def tests(self) -> tuple[TestSpec, ...]:
        """The tests, each once."""
        return tuple(dict.fromkeys(trial.test for trial in self.trials))


def make_plan(
    suite: Suite,
    *,
    quick: bool = False,
    only: Mode | None = None,
    tests: str | None = None,
    protocols: Sequence[Protocol] = (Protocol.CLASSIC,),
) -> Plan:
    """Selects tests of the suite; raises UserError where nothing fits.

    ``tests`` lists ids (``1.1``), numbers of networks (``5``), names of
    networks and patterns (``resnet*``), separated by commas.
    """
    if quick and suite is not Suite.FULL:
        raise UserError(f"there is no quick subset of the {suite} suite", "leave one of them out")
    if quick and tests is not None:
        raise UserError("the quick subset is fixed", "give either --quick or --tests")
    rows = TESTS[suite]
    wanted = {test.id for test in rows}
    if quick:
        wanted = set(QUICK)
    elif tests is not None:
        wanted = _select(tests, rows)
    selected = tuple(
        test for test in rows if test.id in wanted and (only is None or test.mode is only)
    )
    if not selected:
        raise UserError(f"none of these tests is for {only}", "'aiscore tests' lists the suite")
    trials = (Trial(test=test, protocol=each) for test in selected for each in protocols)
    return Plan(suite, tuple(trials))


def _select(text: str, rows: tuple[TestSpec, ...]) -> set[str]:
    tokens = [token.strip() for token in text.split(",")]
    if not any(tokens):
        raise UserError("no test is named", "'aiscore tests' lists the suite")
    wanted: set[str] = set()
    for token in filter(None, tokens):
        matches = {test.id for test in rows if _matches(token.lower(), test)}
        if not matches:
            raise UserError(f"no test of this suite fits {token!r}", _advice(token, rows))
        wanted |= matches
    return wanted


def _names(test: TestSpec) -> tuple[str, ...]:
    return test.id, test.id.partition(".")[0], test.network, test.title.lower()


def _matches(token: str, test: TestSpec) -> bool:
    return any(fnmatchcase(name, token) for name in _names(test))


def _advice(token: str, rows: tuple[TestSpec, ...]) -> str:
    names = {name: None for test in rows for name in _names(test)}  # in order, once each
    close = get_close_matches(token.lower(), names, n=4, cutoff=0.5)
    if not close:
        return "'aiscore tests' lists the suite"
    return f"close to it: {', '.join(close)}"
