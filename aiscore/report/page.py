"""One self-contained page: results and leaderboard cards, to sort, filter and compare offline."""

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from tarfile import BLOCKSIZE, TarInfo
from typing import Any

from aiscore.report import charts, rows
from aiscore.report.boards import LEGEND, MARKS, BoardRow, card_row, full_row
from aiscore.report.details import details
from aiscore.report.escape import short, terminal
from aiscore.report.html import make_html, shown_table, template
from aiscore.report.stack_sections import Group, sections
from aiscore.results.model import Result
from aiscore.results.prices import Prices
from aiscore.results.reference import THIS_PROJECT, Card, cards, find_card
from aiscore.scoring.compare import NOISE_FLOOR
from aiscore.spec import Protocol
from workloads.suite import FULL, MICRO

MOST_EMBEDDED = 200  # results; a page of more holds their rows only
SCRIPTS = ("text.js", "details.js", "compare.js", "table.js", "main.js")
ANCHOR = "NVIDIA Tesla V100 SXM2 32GB"
LONGEST_TITLE = 80  # letters of a name in it
END_OF_ARCHIVE = bytes(2 * BLOCKSIZE)
SMALL, FAST = 9, 4  # how hard gzip works: a file of many results is made in a minute
DIGITS = 4  # of a time
NO_COLUMN = {"resident inference", "resident training"}  # the sum of the two tells enough
RESIDENT = (
    " Resident scores, of data that lies on the device, are not on the leaderboard's scale:"
    " they compare with each other only."
)
ROW_ADDRESS = "https://row.invalid/"  # Vega takes whole addresses only


@dataclass(frozen=True, slots=True)
class Page:
    """The page; and the results file beside it, where the page does not hold them."""

    html: str
    archive: bytes | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table, its times by test, and what else is said of it: titles and texts.

    ``result`` is there if the page holds it whole.
    ``packed`` is the result file, compressed; a card has none. In the page, a line
    follows it with what was derived and is shown: far less than the summary.
    """

    row: BoardRow
    times_ms: Mapping[Protocol, Mapping[str, float]]
    facts: Sequence[Sequence[str]]
    packed: bytes = b""
    result: Result | None = None


def embedded_entry(result: Result) -> Entry:
    """The row of a summarised result that the page holds whole."""
    facts = rows.published_facts([result])
    if result.roof:
        facts.append(["Roof", rows.roof_text(result.roof, rows.summary_of(result).roof)])
    shown = json.dumps(asdict(details(result)), separators=(",", ":")).encode()
    packed = _packed(_file(result) + b"\n" + shown, SMALL)
    return Entry(full_row(result), _times_ms(result), facts, packed, result)


def archived_entry(result: Result, name: str, archive_name: str) -> Entry:
    """The row of a result that is a file of that name in the results file beside the page."""
    content = _file(result)
    header = TarInfo(name)
    header.size = len(content)
    padding = bytes(-len(content) % BLOCKSIZE)
    facts = [["Result file", f"{name} in {archive_name}"]]
    packed = _packed(header.tobuf() + content + padding, FAST)
    return Entry(full_row(result), _times_ms(result), facts, packed)


def _file(result: Result) -> bytes:
    """Without its summary, which is made anew whenever it is read. It is one line."""
    return result.model_copy(update={"summary": None}).model_dump_json().encode()


def _packed(content: bytes, level: int) -> bytes:
    """The same content makes the same bytes."""
    return gzip.compress(content, level, mtime=0)


def make_page(results: Iterable[Entry], prices: Prices, archive_name: str | None = None) -> Page:
    """The page of these results and of all leaderboard cards.

    It holds the results, or they are in a file of that name, a tar archive,
    compressed in pieces: one gzip member for each result.
    """
    mine = list(results)
    own = [_whole_scores(entry.row) for entry in mine]
    others = (_card_entry(card, prices) for card in cards())
    entries = [*mine, *(entry for entry in others if not _is_one_of(entry.row, own))]
    packed = [entry.packed for entry in entries if entry.packed]
    if archive_name is None:
        embedded = [base64.b64encode(one).decode("ascii") for one in packed]
        return Page(_render(entries, embedded, ""), None)
    closing = f"The result files are in {archive_name}."
    return Page(_render(entries, [], closing), b"".join([*packed, _packed(END_OF_ARCHIVE, FAST)]))


def _is_one_of(card: BoardRow, results: Sequence[Mapping[str, int]]) -> bool:
    """Whether a card of this project is one of the results, which tell more."""
    scores = _whole_scores(card)
    return card.source_kind == THIS_PROJECT and bool(scores) and scores in results


def _whole_scores(row: BoardRow) -> dict[str, int]:
    return {
        name: figure.value
        for name, figure in row.scores.items()
        if figure and figure.basis == "whole"
    }


def _times_ms(result: Result) -> dict[Protocol, dict[str, float]]:
    """What the scores are made of, under each protocol."""
    return {
        part.protocol: {test.id: test.time_ms for test in half.tests if test.time_ms is not None}
        for part, half in rows.halves(result)
    }


def _card_entry(card: Card, prices: Prices) -> Entry:
    """With what its source says, and its value for the price."""
    row = card_row(card, prices)
    known = {
        "TensorFlow": card.tf_version,
        "Platform": card.platform,
        "Processor": card.cpu,
        "Note": card.note,
    }
    scores = {name: value for name, value in card.scores.items() if card.is_whole(name)}
    facts = [
        *([title, text] for title, text in known.items() if text),
        *rows.value_lines([(scores, row.worth)]),
    ]
    times_ms = {test: mean for test, (mean, _) in card.tests.items()}
    return Entry(row, {Protocol.CLASSIC: times_ms}, facts)


def _render(entries: Sequence[Entry], packed: Sequence[str], closing: str) -> str:
    return make_html(
        "page.html",
        script="\n".join(template(name) for name in SCRIPTS),
        title=_title(entries),
        lead=_lead(entries),
        closing=closing,
        data=_json(_document(entries, len(packed))),
        packed=packed,
        sections=list(_sections(entries)),
        charts=list(_charts(entries)),
    )


def _sections(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """The stacks of each device that has several, with texts that show what they are."""
    for section in sections(entry.result for entry in entries if entry.result):
        yield {
            "title": terminal(section.title),
            "notes": section.notes,
            "sides": shown_table(*section.sides),
            "groups": list(map(_group, section.groups)),
            "best": _group(section.best),
            "counts": list(map(terminal, section.counts)),
        }


def _group(group: Group) -> dict[str, Any]:
    return {"title": terminal(group.title), "tables": [shown_table(*grid) for grid in group.tables]}


def _charts(entries: Sequence[Entry]) -> Iterator[dict[str, str]]:
    """Score against price, for each currency in which two rows or more have a price."""
    for currency, points in charts.by_currency([entry.row for entry in entries]).items():
        if len(points) > 1:
            chart = charts.price_chart(points, currency, charts.IN_THE_PAGE, ROW_ADDRESS)
            yield {
                "title": f"AI score against price in {currency}",
                "svg": charts.draw(chart).replace(f'href="{ROW_ADDRESS}', 'href="#row-'),
            }


def _title(entries: Sequence[Entry]) -> str:
    """The device, if all results are of one, else what they are."""
    names = [short(entry.row.device, LONGEST_TITLE) for entry in entries if entry.row.mine]
    return f"{names[0]}: deep learning scores" if len(set(names)) == 1 else "Deep learning scores"


def _lead(entries: Sequence[Entry]) -> str:
    """What is shown, and on what scale."""
    anchor = find_card(ANCHOR).scores
    count = sum(entry.row.mine for entry in entries)
    shown = "one result" if count == 1 else f"{count:,} results"
    resident = any(Protocol.RESIDENT in entry.times_ms for entry in entries)
    return (
        f"{shown[0].upper()}{shown[1:]} of aiscore beside {len(entries) - count} cards: published"
        " AI-Benchmark reports and runs of this project. Scores without a mark are on the scale of"
        " the public AI-Benchmark leaderboard, where a Tesla V100 SXM2 32GB has"
        f" {anchor['inference']:,} in inference and {anchor['training']:,} in training."
        " A higher score is faster; the AI score is the sum of the two."
        f"{RESIDENT if resident else ''}"
    )


def _document(entries: Sequence[Entry], embedded: int) -> dict[str, Any]:
    """What the page's script works with."""
    timed = {test for entry in entries for times in entry.times_ms.values() for test in times}
    tests = [spec for spec in FULL + MICRO if spec.id in timed]
    scores = [
        name for name in rows.SCORE_TITLES if any(entry.row.scores.get(name) for entry in entries)
    ]
    quantities = Counter(
        of for entry in entries for per in entry.row.score_per.values() for of in per
    )
    return {
        "embedded": embedded,
        "scores": scores,
        "columns": [name for name in scores if name not in NO_COLUMN],
        "titles": rows.SCORE_TITLES,
        "quantities": {of: text for of, text in rows.QUANTITIES.items() if of in quantities},
        "marks": MARKS,
        "legend": LEGEND,
        "noise_floor": NOISE_FLOOR,
        "tests": [{"id": spec.id, "title": spec.title, "mode": spec.mode.value} for spec in tests],
        "rows": [_row(entry, [spec.id for spec in tests]) for entry in entries],
    }


def _row(entry: Entry, tests: Sequence[str]) -> dict[str, Any]:
    row = entry.row
    found = {
        "name": row.device if row.device.strip() else "unnamed",
        "kind": row.kind.value,
        "origin": "result" if row.source_kind == "this result" else row.source_kind,
        "state": row.completeness.split(",")[0].split()[0],
        "status": row.completeness,
        "stack": row.stack,
        "source": row.source,
        "mine": row.mine,
        "price": row.worth.price and row.worth.price.model_dump(mode="json"),
    }
    return {
        **{key: value for key, value in found.items() if value},
        "scores": {
            name: {"value": figure.value, "basis": figure.basis}
            for name, figure in row.scores.items()
            if figure
        },
        "per": {
            name: {of: _rounded(value) for of, value in per.items()}
            for name, per in row.score_per.items()
        },
        "facts": entry.facts,
        **{
            protocol.value: [_rounded(times.get(test)) for test in tests]
            for protocol, times in entry.times_ms.items()
        },
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _json(document: dict[str, Any]) -> str:
    """JSON that no text in it can end: it has no angle bracket."""
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")
