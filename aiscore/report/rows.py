"""The rows of every table, and the documents of ``--json``: plain data, no layout."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor
from typing import Any

from aiscore.results.model import (
    CheckRecord,
    ImportRecord,
    ResidentSummary,
    Result,
    RoofRecord,
    RoofSummary,
    ScoreRecord,
    Summary,
    TestSummary,
)
from aiscore.results.reference import peak_memory_bytes, reference_ms
from aiscore.results.subject import under
from aiscore.results.summary import LEADERBOARD_BACKEND, derive, whole_rounds
from aiscore.results.worth import Worth, score_per, worth
from aiscore.scoring import validity
from aiscore.scoring.roofline import Bound
from aiscore.scoring.stats import ROUNDS_THAT_TELL
from aiscore.spec import KNOWN_KINDS, Precision, Status, Suite, TestSpec
from workloads.suite import NETWORKS, TESTS

Priced = tuple[Mapping[str, int | None], Worth]
"""A side's scores, and what they are set against."""

QUANTITIES = {
    "price": "price",
    "power_w": "watt drawn",
    "power_limit_w": "watt of power limit",
    "memory_gib": "GiB of memory",
}
SCORE_TITLES = {
    "inference": "Inference score",
    "training": "Training score",
    "ai": "AI score",
    "micro": "Micro score",
    "resident inference": "Resident inference score",
    "resident training": "Resident training score",
    "resident ai": "Resident AI score",
    "resident micro": "Resident micro score",
}
NO_REASON = "no reason given"
NOT_STEADY = (
    "* not steady: warming up after the first pass added more than "
    f"{validity.NOT_STEADY.limit:.0%} to the time"
)


def summary_of(result: Result) -> Summary:
    """The result's summary, made now if it has none."""
    return result.summary or derive(result)


def halves(result: Result) -> list[tuple[Result, Summary | ResidentSummary]]:
    """The result under each of its protocols, with what was derived from that."""
    summary = summary_of(result)
    derived: list[Summary | ResidentSummary] = [summary]
    if summary.resident:
        derived.append(summary.resident)
    return list(zip(result.parts, derived, strict=True))


def show_document(result: Result) -> dict[str, Any]:
    """What ``aiscore show --json`` prints; docs/result-file.md explains the keys."""
    summary = summary_of(result)
    half = summary.resident
    return {
        "schema_version": result.schema_version,
        "aiscore_version": result.aiscore_version,
        "suite": result.suite.value,
        "suite_sha256": result.suite_sha256,
        "protocol": result.protocol.value,
        "backend": result.backend,
        "label": result.run.label,
        "started_at": result.run.started_at,
        "quick": result.run.quick,
        "status": summary.status,
        "comparable_with_leaderboard": summary.comparable_with_leaderboard,
        "not_comparable_because": summary.not_comparable_because,
        "device": result.device.model_dump(mode="json"),
        "policy": result.policy.model_dump(mode="json"),
        "options": result.options.model_dump(mode="json"),
        "environment": result.environment.model_dump(mode="json"),
        "imported": result.imported and result.imported.model_dump(mode="json"),
        "price": result.run.price and result.run.price.model_dump(mode="json"),
        "scores": {
            name: record and record.model_dump(mode="json")
            for name, record in summary.scores.items()
        },
        "score_per": score_per(_values(summary.scores), worth(result)),
        "checks": [check.model_dump(mode="json") for check in summary.checks],
        "roof": summary.roof and summary.roof.model_dump(mode="json"),
        "tests": [test.model_dump(mode="json") for test in summary.tests],
        "resident": result.resident
        and half
        and {
            "policy": result.resident.policy.model_dump(mode="json"),
            **half.model_dump(mode="json"),
            "score_per": score_per(_values(half.scores), worth(result)),
        },
    }


def headline(result: Result) -> list[tuple[str, str]]:
    """What the result is: name and value, in reading order."""
    device, run = result.device, result.run
    chosen = ", chosen automatically" if device.automatic else ""
    rows = [
        ("Device", f"{device.name} ({device.kind.value} {device.index}{chosen})"),
        ("Suite", f"{result.suite.value}, {_protocols(result)} protocol"),
        ("Backend", ", ".join([result.backend, *_versions(result), *_options(result)])),
        ("Started", ", resumed ".join([run.started_at, *run.resumed_at])),
        ("Rounds", rounds_text(result)),
        *([("Passes", passes)] if (passes := passes_text(result)) else []),
        ("Status", status_text(result)),
        ("Checks", checks_text(result)),
    ]
    if run.price:
        rows.append(("Price", f"{run.price.amount:g} {run.price.currency}"))
    if result.imported:
        rows.append(("Imported", _origin(result.imported)))
    return [("Label", run.label), *rows] if run.label else rows


def _origin(imported: ImportRecord) -> str:
    """The log, and what it printed as scores, which are not the result's."""
    version = f" of ai-benchmark {imported.version}" if imported.version else ""
    printed = ", ".join(f"{name} {value}" for name, value in imported.printed_scores.items())
    return (
        f"from the log {imported.log}{version}, lines {imported.first_line} to"
        f" {imported.last_line}; it printed {printed or 'no score'}"
    )


def _protocols(result: Result) -> str:
    return " and ".join(part.protocol for part in result.parts)


def _options(result: Result) -> list[str]:
    """What was changed of the arithmetic: a score that is made so carries it in its name."""
    options = result.options
    precision = [] if options.precision is Precision.DEFAULT else [options.precision.value]
    return [*precision, *(["XLA"] if options.xla else [])]


def _versions(result: Result) -> list[str]:
    """The version of the framework that the backend is called after, if it is known."""
    version = result.environment.software.get(result.backend)
    return [version] if version else []


def passes_text(result: Result) -> str:
    """How often the tests were timed, the fewest and the most, under each protocol."""
    return ", ".join(
        f"{part.protocol} {text}" if result.resident else text
        for part, summary in halves(result)
        if (text := _passes(summary))
    )


def _passes(summary: Summary | ResidentSummary) -> str:
    found = {test.passes for test in summary.tests if test.status is Status.OK and test.passes}
    if not found:
        return ""
    fewest, most = min(found), max(found)
    return f"{fewest} a test" if fewest == most else f"{fewest} to {most} a test"


def status_text(result: Result) -> str:
    """The status in a few words, a part never without its size."""
    return ", ".join(
        within(result, part) + _status(result, summary) for part, summary in halves(result)
    )


def _status(result: Result, summary: Summary | ResidentSummary) -> str:
    if summary.status == "complete":
        return "complete"
    _, whole = _main_score(summary)
    if whole.tests_ok == whole.tests_expected:
        return "complete, interrupted in a later round"
    kind = "partial, interrupted" if summary.status == "interrupted" else "partial"
    quick = ", the quick subset" if result.run.quick else ""
    return f"{kind} ({whole.tests_ok} of {whole.tests_expected}){quick}"


def main_score(result: Result) -> tuple[str, ScoreRecord]:
    """The score over all tests of the suite: its name and what there is of it."""
    return _main_score(summary_of(result))


def _main_score(summary: Summary | ResidentSummary) -> tuple[str, ScoreRecord]:
    records = {name: record for name, record in summary.scores.items() if record}
    name = "micro" if "micro" in records else "ai"
    return name, records[name]


def failed_checks(result: Result) -> list[str]:
    """What speaks against believing the result, a sentence for each check."""
    return [
        check_text(check, within(result, part))
        for part, summary in halves(result)
        for check in summary.checks
        if not check.ok
    ]


def within(result: Result, part: Result) -> str:
    """What tells the resident half of a result from the other."""
    return "" if part.protocol is result.protocol else f"{part.protocol} "


def checks_text(result: Result) -> str:
    """How many of the validity checks failed, and which."""
    made = [
        (check, within(result, part))
        for part, summary in halves(result)
        for check in summary.checks
    ]
    failed = [f"{half}{check_title(check)}" for check, half in made if not check.ok]
    if not made:
        return "none could be made"
    if not failed:
        return f"all {len(made)} passed"
    return f"{len(failed)} of {len(made)} failed: {', '.join(failed)}"


def check_title(check: CheckRecord) -> str:
    """Its name in words."""
    return check.name.replace("_", " ")


def check_text(check: CheckRecord, half: str = "") -> str:
    """A failed check in a sentence: what was found, where, and what to do."""
    return f"{half}{check_title(check)}: {check_finding(check)}; {check.advice}"


def check_finding(check: CheckRecord) -> str:
    """What was found, against what limit, and in which tests."""
    value, limit = (
        f"{figure:.3g}" if isinstance(figure, float) else figure
        for figure in (check.value, check.limit)
    )
    where = f" ({', '.join(check.tests)})" if check.tests else ""
    return f"{check.meaning} is {value}, the limit {limit}{where}"


def test_rows(result: Result) -> list[TestSummary]:
    """The tests that have a time."""
    return [test for test in summary_of(result).tests if test.mean_ms is not None]


def side_by_side(result: Result) -> list[tuple[TestSummary, TestSummary, float]]:
    """Each test that is ok under both protocols: classic, resident, and the host's share."""
    summary = summary_of(result)
    if summary.resident is None:
        return []
    resident = {test.id: test for test in summary.resident.tests}
    return [
        (test, resident[test.id], summary.resident.host_share[test.id])
        for test in summary.tests
        if test.id in summary.resident.host_share
    ]


def failures(result: Result) -> list[tuple[str, str, list[str]]]:
    """Status, reason and the tests that ended so, in the order of the suite."""
    groups: dict[tuple[str, str], list[str]] = {}
    for part in result.parts:
        for test in part.tests:
            if test.status is not Status.OK:
                reason = test.error.reason if test.error else NO_REASON
                status = within(result, part) + test.status
                groups.setdefault((status, reason), []).append(test.id)
    return [(status, reason, tests) for (status, reason), tests in groups.items()]


def milliseconds(*values: float | None) -> list[str]:
    """Times with as many decimals as the first of them deserves."""
    decimals = 1 if (values[0] or 0) >= 10 else 2
    return ["-" if value is None else f"{value:.{decimals}f}" for value in values]


def score_rows(result: Result) -> list[tuple[str, str, str]]:
    """Title, figure and the count of tests behind it, for each score of the suite."""
    return [
        (
            SCORE_TITLES[under(part.protocol, name)] + _variant(result),
            score_text(record),
            f"{record.tests_ok} of {record.tests_expected}",
        )
        for part, summary in halves(result)
        for name, record in summary.scores.items()
        if record
    ]


def _variant(result: Result) -> str:
    """What a score is called after besides its protocol."""
    changed = ", ".join(_options(result))
    return f" ({changed})" if changed else ""


def value_rows(result: Result) -> list[list[str]]:
    """What the scores are per price, watt and GiB, as far as these are known."""
    return value_lines([_priced(result)])


def value_lines(sides: Sequence[Priced]) -> list[list[str]]:
    """A line for each score and quantity that a side has: its title, then a cell for each side."""
    return [
        [
            f"{SCORE_TITLES[name]} per {QUANTITIES[of]}",
            *(per_text(value_of(side, name, of), side[1], of) for side in sides),
        ]
        for name, of in value_keys(sides)
    ]


def value_keys(sides: Sequence[Priced]) -> list[tuple[str, str]]:
    """Score and quantity, where a side has both."""
    return [
        (name, of)
        for of in QUANTITIES
        for name in SCORE_TITLES
        if any(value_of(side, name, of) is not None for side in sides)
    ]


def value_of(side: Priced, name: str, of: str) -> float | None:
    """That score of the side for one of that quantity, None if either is not known."""
    return score_per(*side).get(name, {}).get(of)


def per_text(value: float | None, known: Worth, of: str) -> str:
    """What there is of a score for one of a quantity; a price has its currency."""
    if value is None:
        return "-"
    currency = f" / {known.price.currency}" if known.price and of == "price" else ""
    return f"{three_digits(value)}{currency}"


def three_digits(value: float) -> str:
    """As many decimals as three digits leave: 1.00 of 0.9996 and of 1.0004."""
    rounded = float(f"{value:.3g}")
    decimals = 0 if rounded >= 100 else 1 if rounded >= 10 else 2 if rounded >= 1 else 3
    return f"{value:.{decimals}f}"


def _values(scores: Mapping[str, ScoreRecord | None]) -> dict[str, int | None]:
    return {name: record.value for name, record in scores.items() if record}


def _priced(result: Result) -> Priced:
    """The scores under each protocol, and what they are set against."""
    values = {
        under(part.protocol, name): value
        for part, summary in halves(result)
        for name, value in _values(summary.scores).items()
    }
    return values, worth(result)


def score_text(record: ScoreRecord) -> str:
    """The score, or what there is instead of one, and never one for the other."""
    if record.value is not None:
        return f"{record.value}{_rounds_interval(record)}"
    if record.estimate is not None and record.estimate_error is not None:
        return f"about {record.estimate} (estimate, +-{record.estimate_error:.0%})"
    if record.partial_value is not None:
        return f"none ({record.partial_value} over the tests that ran)"
    return "none"


def _rounds_interval(record: ScoreRecord) -> str:
    """Where the score of the next rounds is to be expected; nothing where that is not known."""
    if record.interval is None or record.interval_kind != "rounds":
        return ""
    low, high = record.interval
    return f" (95 % over rounds: {floor(low)} to {ceil(high)})"


def roof_text(record: RoofRecord, roof: RoofSummary | None) -> str:
    """What the device could do before the tests, and what of that could not be measured."""
    known = [] if roof is None else _roof_figures(roof)
    failed = [
        f"{' '.join(filter(None, (probe.kind, probe.precision)))} unknown: {probe.problem}"
        for probe in record.probes
        if probe.problem
    ]
    return "; ".join([*known, *failed, *([record.problem] if record.problem else [])])


def _roof_figures(roof: RoofSummary) -> list[str]:
    products = ", ".join(f"{name} {three_digits(value)}" for name, value in roof.tflops.items())
    figures = {
        "memory {} GB/s": roof.memory_gb_s,
        "float64 batch to the device {} GB/s": roof.feed_gb_s,
        "output back {} GB/s": roof.fetch_gb_s,
        "an operation {} us": roof.launch_us,
    }
    return [
        *([f"{products} TFLOP/s"] if products else []),
        *(text.format(three_digits(value)) for text, value in figures.items() if value is not None),
    ]


def roof_rows(tests: Iterable[TestSummary]) -> list[tuple[str, str, str, str, str, str]]:
    """Id, network, mode, TFLOP/s, share of the peak, and what takes most of the time."""
    return [
        (
            test.id,
            test.network,
            test.mode.value,
            *roof_cells(test),
        )
        for test in tests
        if test.tflops is not None
    ]


def roof_cells(test: TestSummary | None) -> tuple[str, str, str]:
    """TFLOP/s, share of the peak, and what takes most of the time: empty where not known."""
    if test is None or test.tflops is None or test.roof_shares is None or test.bound is None:
        return "", "", ""
    bound = f"{test.bound} {percent(test.roof_shares.get(test.bound))}".removesuffix(" -")
    return three_digits(test.tflops), percent(test.roof_shares.get(Bound.ARITHMETIC)), bound


def percent(share: float | None) -> str:
    """A share, with a decimal if it is small."""
    return "-" if share is None else f"{share:.{0 if share >= 0.1 else 1}%}"


def suite_document(suite: Suite) -> dict[str, Any]:
    """What ``aiscore tests --json`` prints; parameters are those that training updates."""
    reference = reference_ms(suite)
    peaks = {kind: peak_memory_bytes(LEADERBOARD_BACKEND, kind) for kind in KNOWN_KINDS}
    return {
        "suite": suite.value,
        "tests": [
            {
                "id": spec.id,
                "network": spec.network,
                "title": spec.title,
                "mode": spec.mode.value,
                "batch": spec.batch,
                "input": list(spec.input),
                "target": spec.target and list(spec.target),
                "gflop": spec.gflop,
                "gigabytes": spec.gigabytes,
                "parameters": NETWORKS[spec.network].parameters,
                "ref_ms": reference[spec.id],
                "peak_memory_bytes": {
                    kind.value: known.get(spec.id) for kind, known in peaks.items()
                },
            }
            for spec in TESTS[suite]
        ],
    }


def published_facts(results: Sequence[Result]) -> list[list[str]]:
    """What each result is and its scores: a title and a text for each result."""
    facts = [dict(headline(result)) for result in results]
    named = (
        "Label",
        "Device",
        "Suite",
        "Backend",
        "Started",
        "Passes",
        "Status",
        "Checks",
        "Price",
        "Imported",
    )
    scores = [{title: figure for title, figure, _ in score_rows(result)} for result in results]
    comparable = [
        f"no: {'; '.join(reasons)}"
        if (reasons := summary_of(result).not_comparable_because)
        else "yes"
        for result in results
    ]
    return [
        *(
            [title, *(fact.get(title, "") for fact in facts)]
            for title in named
            if any(title in fact for fact in facts)
        ),
        *(
            [title, *(score.get(title, "") for score in scores)]
            for title in dict.fromkeys(title for score in scores for title in score)
        ),
        *value_lines([_priced(result) for result in results]),
        ["Rounds", *(rounds_text(result) for result in results)],
        ["On the leaderboard's scale", *comparable],
    ]


def rounds_text(result: Result) -> str:
    """In how many fresh processes each test ran, and what so few cannot tell."""
    if result.imported:
        return "as a log printed it (how much runs differ was not measured)"
    whole, asked = min(len(whole_rounds(part)) for part in result.parts), result.run.rounds
    most = f" of at most {asked}" if whole < asked > 1 else ""
    known = "" if whole >= ROUNDS_THAT_TELL else " (how much runs differ was not measured)"
    return f"{whole}{most}{known}"


def published_tests(results: Sequence[Result]) -> list[tuple[TestSpec, list[TestSummary | None]]]:
    """Each test that a result has, with what became of it in each."""
    found = [{test.id: test for test in summary_of(result).tests} for result in results]
    return [
        (spec, [tests.get(spec.id) for tests in found])
        for suite in TESTS.values()
        for spec in suite
        if any(spec.id in tests for tests in found)
    ]
