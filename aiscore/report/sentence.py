"""One sentence for each other side: what can be said for sure, and nothing else.

Without an interval that is a difference above what two hosts of one card have shown.
"""

from collections.abc import Callable, Sequence
from math import inf, log

from aiscore.report.rows import SCORE_TITLES, Priced, three_digits, value_of
from aiscore.results.subject import Subject, under
from aiscore.scoring.compare import Comparison, Finding, Verdict
from aiscore.spec import Family, Mode, Protocol

DECIDED = {Verdict.FASTER, Verdict.SLOWER}
VERBS = {Mode.TRAINING: "trains", Mode.INFERENCE: "runs"}
TWICE = 2  # from here on a factor reads better than a percentage


def sentence(
    base: Subject,
    other: Subject,
    found: Comparison,
    letters: Sequence[str],
    protocol: Protocol = Protocol.CLASSIC,
) -> str:
    """What is sure of the other against the base under a protocol; empty if nothing is."""
    names = (base.name, other.name) if base.name != other.name else letters
    clauses = [clause for mode in VERBS if (clause := _clause(mode, found, protocol))]
    if not clauses:
        return ""
    resident = "" if protocol is Protocol.CLASSIC else "Without the host, "
    value = _value(base, other, found, protocol)
    return f"{resident}{names[1]} {' and '.join(clauses)} than {names[0]}{value}."


def value_ratio(base: Priced, other: Priced, name: str, of: str) -> float | None:
    """How many times as much score for a quantity; None across currencies."""
    prices = [known.price for _, known in (base, other)]
    if of == "price" and len({price and price.currency for price in prices}) > 1:
        return None
    mine, theirs = (value_of(side, name, of) for side in (base, other))
    return theirs / mine if mine and theirs else None


def _clause(mode: Mode, found: Comparison, protocol: Protocol) -> str:
    """Of the whole mode, with the family that stands out; else of such a family alone."""
    whole = found.findings.get(under(protocol, mode.value))
    decided = whole if whole and _is_decided(whole) else None
    family = _family(mode, found, protocol, decided)
    parts = [f"networks {_by(decided)}"] if decided else []
    parts += [f"{family[0]} networks {_by(family[1])}"] if family else []
    return f"{VERBS[mode]} {', '.join(parts)}" if parts else ""


def _family(
    mode: Mode, found: Comparison, protocol: Protocol, whole: Finding | None
) -> tuple[str, Finding] | None:
    """The family that is surely faster or slower, and surely not as all networks together are."""
    decided = [
        (family.value, finding)
        for family in Family
        if (finding := found.kinds.get(under(protocol, f"{family}/{mode}")))
        and _is_decided(finding)
        and not (whole and _overlap(whole, finding))
    ]
    return max(decided, key=lambda pair: abs(log(pair[1].ratio)), default=None)


def _overlap(one: Finding, two: Finding) -> bool:
    (low, high), (lower, higher) = (item.interval or (0, inf) for item in (one, two))
    return low <= higher and lower <= high


def _is_decided(finding: Finding) -> bool:
    return finding.verdict in DECIDED


def _by(finding: Finding) -> str:
    """The difference and its interval: a percentage, or a factor from twice on."""
    show: Callable[[float], str]
    if finding.ratio >= TWICE:
        show, word, ends = three_digits, "x faster", finding.interval
    elif finding.ratio > 1:
        show, word, ends = _excess, "faster", finding.interval
    else:
        show, word, ends = _lack, "slower", finding.interval and finding.interval[::-1]
    interval = " to ".join(map(show, ends)) if ends else "no interval"
    return f"{show(finding.ratio)} {word} ({interval})"


def _excess(ratio: float) -> str:
    return f"{ratio - 1:.1%}"


def _lack(ratio: float) -> str:
    return f"{1 - ratio:.1%}"


def _value(base: Subject, other: Subject, found: Comparison, protocol: Protocol) -> str:
    """The value for the price by the first score that both have, if the prices are known."""
    sides = [(side.side.scores, side.worth) for side in (base, other)]
    for name in (under(protocol, mode.value) for mode in (Mode.TRAINING, Mode.INFERENCE)):
        finding = found.findings.get(name)
        ratio = value_ratio(sides[0], sides[1], name, "price")
        if finding and _is_decided(finding) and ratio:
            title = SCORE_TITLES[name].lower()
            return f", and gives {three_digits(ratio)} x as much {title} per price"
    return ""
