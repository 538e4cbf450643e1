"""The leaderboard's rows, with a result among them: plain data, no layout."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from aiscore.errors import UserError
from aiscore.report.rows import halves, status_text, summary_of
from aiscore.report.stacks import Stack, stack_of
from aiscore.results.model import Result, ScoreRecord, Summary
from aiscore.results.prices import Prices
from aiscore.results.reference import Card, cards
from aiscore.results.subject import under
from aiscore.results.summary import LEADERBOARD_BACKEND
from aiscore.results.worth import Worth, score_per, worth
from aiscore.spec import DeviceKind, Precision, Protocol

Basis = Literal["whole", "part", "estimate", "other scale"]
MARKS: Mapping[Basis, str] = {"whole": "", "part": "*", "estimate": "~", "other scale": "!"}
LEADERBOARD_STACK = Stack.of(LEADERBOARD_BACKEND, Precision.DEFAULT, xla=False)
LEGEND = {
    "*": "over the tests that ran only: no full score",
    "~": "estimated from the quick subset",
    "!": "not run as the leaderboard's rows were",
    "^": "on another stack than TensorFlow's own for CPUs and CUDA",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One score and what it stands on; only a ``whole`` one has a rank.

    ``error`` is relative, and an estimate's own.
    """

    value: int
    basis: Basis
    error: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRow:
    """One card, or the result (``mine``). ``rank`` is by the score sorted by.

    ``stack`` is named where it is not the one of the leaderboard.
    """

    device: str
    kind: DeviceKind
    scores: Mapping[str, Figure | None]
    source_kind: str
    completeness: str
    worth: Worth
    source: str = ""
    stack: str | None = None
    rank: int | None = None
    mine: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def score_per(self) -> dict[str, dict[str, float]]:
        """Each whole score, over each quantity that is known."""
        return score_per(
            {
                name: figure.value
                for name, figure in self.scores.items()
                if figure and figure.basis in ("whole", "other scale")
            },
            self.worth,
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the result is among the ranked cards that are shown, by one score.

    ``percentile``: how many of a hundred such cards are slower, at least and at
    most. The cards are reports that people published, no sample of all devices.
    """

    score: str
    cards: int
    slower_cards: int
    percentile: tuple[int, int]


def leaderboard(
    sort: str,
    mine: Result | None = None,
    *,
    kind: DeviceKind | None = None,
    source_kind: str | None = None,
    completeness: str | None = None,
    prices: Prices | None = None,
) -> list[BoardRow]:
    """The rows by that score, the highest first; scores over a part of their tests come last.

    The filters and the prices hold for cards; a result is always shown, at its own price.
    """
    shown = [
        card_row(card, prices or {})
        for card in cards()
        if kind in (None, card.kind)
        and source_kind in (None, card.source_kind)
        and completeness in (None, card.completeness_kind)
    ] + ([result_row(mine)] if mine else [])
    ordered = sorted(shown, key=lambda row: _place(row.scores[sort]))
    ranked = [row for row in ordered if _basis(row.scores[sort]) == "whole"]
    ranks = {id(row): place for place, row in enumerate(ranked, start=1)}
    return [replace(row, rank=ranks.get(id(row))) for row in ordered]


def standing(rows: Sequence[BoardRow], sort: str) -> Standing | None:
    """Of the result among the rows; None without one whose score is on the cards' scale."""
    mine = next((row.scores[sort] for row in rows if row.mine), None)
    others = [
        figure.value
        for row in rows
        if not row.mine and (figure := row.scores[sort]) and figure.basis == "whole"
    ]
    if mine is None or mine.basis not in ("whole", "estimate") or not others:
        return None
    low, high = (
        round(100 * sum(value < bound for value in others) / len(others))
        for bound in (mine.value * (1 - mine.error), mine.value * (1 + mine.error))
    )
    slower = sum(value < mine.value for value in others)
    return Standing(sort, len(others), slower, (low, high))


def leaderboard_document(rows: Sequence[BoardRow], sort: str) -> dict[str, Any]:
    """What ``aiscore leaderboard --json`` prints."""
    found = standing(rows, sort)
    return {
        "sort": sort,
        "standing": found and asdict(found),
        "rows": [
            {
                "rank": row.rank,
                "mine": row.mine,
                "device": row.device,
                "kind": row.kind.value,
                "scores": {name: figure and figure.value for name, figure in row.scores.items()},
                "score_basis": {name: _basis(figure) for name, figure in row.scores.items()},
                "source_kind": row.source_kind,
                "completeness": row.completeness,
                "stack": row.stack,
                "price": (price := row.worth.price) and price.model_dump(mode="json"),
                "score_per": row.score_per,
                **row.details,
            }
            for row in rows
        ],
    }


def _basis(figure: Figure | None) -> Basis | None:
    return figure.basis if figure else None


def _place(figure: Figure | None) -> tuple[int, int]:
    if figure is None:
        return 2, 0
    return int(figure.basis == "part"), -figure.value


def card_row(card: Card, prices: Prices) -> BoardRow:
    """The card, at its price if the prices have one."""
    return BoardRow(
        device=card.device,
        kind=card.kind,
        scores={
            name: None if value is None else Figure(value, _card_basis(card, name))
            for name, value in card.scores.items()
        },
        source_kind=card.source_kind,
        completeness=card.completeness,
        source=card.source_url,
        stack=card.stack,
        worth=Worth(price=prices.get(card.device.lower())),
        details={
            "tf_version": card.tf_version,
            "platform": card.platform,
            "cpu": card.cpu,
            "source_url": card.source_url,
            "note": card.note,
            "tests": {test: list(times) for test, times in card.tests.items()},
        },
    )


def _card_basis(card: Card, score: str) -> Basis:
    return "whole" if card.is_whole(score) else "part"


def result_row(result: Result) -> BoardRow:
    """The result among the cards, by its label or its device.

    Raises UserError for resident scores, which are never set against the cards'.
    """
    if result.protocol is not Protocol.CLASSIC:
        raise UserError(
            f"this result has {result.protocol} scores, and the leaderboard has none",
            "take a classic result",
        )
    row = full_row(result)
    summary = summary_of(result)
    return replace(row, scores={name: row.scores[name] for name in summary.scores})


def full_row(result: Result) -> BoardRow:
    """The result with its scores under every protocol; resident ones have names of their own."""
    summary = summary_of(result)
    return BoardRow(
        device=result.run.label or result.device.name,
        kind=result.device.kind,
        scores={
            under(part.protocol, name): _result_figure(record, part, summary)
            for part, derived in halves(result)
            for name, record in derived.scores.items()
        },
        source_kind="imported log" if result.imported else "this result",
        completeness=status_text(result),
        stack=_stack(result),
        mine=True,
        worth=worth(result),
        details={"not_comparable_because": summary.not_comparable_because},
    )


def _stack(result: Result) -> str | None:
    """What it ran on, if that is not the leaderboard's stack."""
    found = stack_of(result)
    return None if result.imported or found == LEADERBOARD_STACK else str(found)


def _result_figure(record: ScoreRecord | None, part: Result, summary: Summary) -> Figure | None:
    if record is None:
        return None
    if record.value is not None:
        classic = part.protocol is Protocol.CLASSIC
        whole = classic and summary.comparable_with_leaderboard
        return Figure(record.value, "whole" if whole else "other scale")
    if record.estimate is not None:
        return Figure(record.estimate, "estimate", record.estimate_error or 0)
    return None if record.partial_value is None else Figure(record.partial_value, "part")
