"""The leaderboard's rows, with a result among them: plain data, no layout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from aiscore.report.rows import status_text, summary_of
from aiscore.results.model import Result, ScoreRecord
from aiscore.results.reference import MODES, Card, cards
from aiscore.spec import DeviceKind

Basis = Literal["whole", "part", "estimate", "other scale"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One score and what it stands on; only a ``whole`` one has a rank."""

    value: int
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRow:
    """One card, or the result (``mine``). ``rank`` is by the score sorted by."""

    device: str
    kind: DeviceKind
    scores: Mapping[str, Figure | None]
    source_kind: str
    completeness: str
    rank: int | None = None
    mine: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


def leaderboard(
    sort: str, kind: DeviceKind | None = None, mine: Result | None = None
) -> list[BoardRow]:
    """The rows by that score, the highest first; scores over a part of their tests come last."""
    found = [_card_row(card) for card in cards()] + ([_result_row(mine)] if mine else [])
    shown = [row for row in found if kind is None or row.kind is kind or row.mine]
    ordered = sorted(shown, key=lambda row: _place(row.scores[sort]))
    ranked = [row for row in ordered if _basis(row.scores[sort]) == "whole"]
    ranks = {id(row): place for place, row in enumerate(ranked, start=1)}
    return [replace(row, rank=ranks.get(id(row))) for row in ordered]


def leaderboard_document(rows: Sequence[BoardRow]) -> dict[str, Any]:
    """What ``aiscore leaderboard --json`` prints."""
    return {
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
                **row.details,
            }
            for row in rows
        ]
    }


def _basis(figure: Figure | None) -> Basis | None:
    return figure.basis if figure else None


def _place(figure: Figure | None) -> tuple[int, int]:
    if figure is None:
        return 2, 0
    return int(figure.basis == "part"), -figure.value


def _card_row(card: Card) -> BoardRow:
    return BoardRow(
        device=card.device,
        kind=card.kind,
        scores={
            name: None if value is None else Figure(value, _card_basis(card, name))
            for name, value in card.scores.items()
        },
        source_kind=card.source_kind,
        completeness=card.completeness,
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


def _result_row(result: Result) -> BoardRow:
    summary = summary_of(result)
    return BoardRow(
        device=result.run.label or result.device.name,
        kind=result.device.kind,
        scores={
            name: _result_figure(summary.scores[name], summary.not_comparable_because)
            for name in MODES
        },
        source_kind="this result",
        completeness=status_text(result),
        mine=True,
        details={"not_comparable_because": summary.not_comparable_because},
    )


def _result_figure(record: ScoreRecord | None, reasons: Sequence[str]) -> Figure | None:
    if record is None:
        return None
    if record.value is not None:
        return Figure(record.value, "other scale" if reasons else "whole")
    if record.estimate is not None:
        return Figure(record.estimate, "estimate")
    return None if record.partial_value is None else Figure(record.partial_value, "part")
