"""Tables for a terminal: plain text, no colour, 80 columns where the content allows."""

from collections.abc import Sequence

from aiscore.report import comparisons, rows, stacks
from aiscore.report.boards import LEGEND, MARKS, BoardRow, Figure, standing
from aiscore.report.comparisons import LETTERS, Compared
from aiscore.report.escape import terminal
from aiscore.report.layout import WIDTH, facts, table, wrapped
from aiscore.report.stacks import Stacks
from aiscore.results.model import Result, TestSummary
from aiscore.spec import Mode, Protocol, Suite


def render_result(result: Result) -> str:
    """A whole result: what it is, its tests, what failed and why, its scores."""
    parts = [
        facts(rows.headline(result)),
        _tests(result),
        _side_by_side(result),
        _failures(result),
        table(("score", "", "tests ok"), rows.score_rows(result), "lll"),
        _value(result),
        _roof(result),
        _failed_checks(result),
        _not_comparable(result),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _tests(result: Result) -> str:
    """The time that counts comes first."""
    tests = rows.test_rows(result)
    resident = result.protocol is Protocol.RESIDENT
    lines = [
        (
            test.id,
            test.network,
            test.mode.value,
            *_marked(test, rows.milliseconds(test.time_ms, test.std_ms)),
            *rows.milliseconds(test.mean_ms if resident else test.median_ms),
            *rows.milliseconds(test.first_ms),
            "-" if test.score is None else str(test.score),
        )
        for test in tests
    ]
    times = ("median ms", "std", "mean") if resident else ("mean ms", "std", "median")
    header = ("test", "network", "mode", *times, "first", "score")
    legend = [rows.NOT_STEADY] if any(test.steady is False for test in tests) else []
    return "\n".join([table(header, lines, "lllrrrrr"), *legend]) if lines else ""


def _side_by_side(result: Result) -> str:
    """What the host takes of the classic passes."""
    lines = [
        (
            classic.id,
            classic.network,
            classic.mode.value,
            *rows.milliseconds(classic.time_ms),
            *_marked(resident, rows.milliseconds(resident.time_ms, resident.std_ms)),
            f"{share:.0%}",
        )
        for classic, resident, share in rows.side_by_side(result)
    ]
    header = ("test", "network", "mode", "classic ms", "resident ms", "std", "host")
    return table(header, lines, "lllrrrr") if lines else ""


def _marked(test: TestSummary, times: Sequence[str]) -> list[str]:
    """The times, the first with a star if warming up is a part of it."""
    time, *others = times
    return [f"*{time}" if test.steady is False else time, *others]


def _failures(result: Result) -> str:
    """Each reason once, with the tests that it stopped."""
    return "\n".join(
        wrapped("Not ok: ", f"{', '.join(tests)}: {status} ({reason})")
        for status, reason, tests in rows.failures(result)
    )


def _failed_checks(result: Result) -> str:
    return "\n".join(
        wrapped("Check failed: ", f"{sentence}.") for sentence in rows.failed_checks(result)
    )


def _value(result: Result) -> str:
    lines = rows.value_rows(result)
    return table(("value", ""), lines, "lr") if lines else ""


def _roof(result: Result) -> str:
    """What the device could do, and what each test made of that under each protocol."""
    if result.roof is None:
        return ""
    summary = rows.summary_of(result)
    halves = {result.protocol: summary.tests}
    if summary.resident:
        halves[Protocol.RESIDENT] = summary.resident.tests
    parts = [wrapped("Roof     ", rows.roof_text(result.roof, summary.roof))]
    for protocol, tests in halves.items():
        header = (protocol, "network", "mode", "TFLOP/s", "of peak", "bound by")
        if lines := rows.roof_rows(tests):
            parts.append(table(header, lines, "lllrrl"))
    return "\n\n".join(parts)


def _not_comparable(result: Result) -> str:
    summary = rows.summary_of(result)
    resident = " The resident ones never are." if summary.resident else ""
    if summary.comparable_with_leaderboard:
        return f"Comparable with the leaderboard.{resident}"
    reasons = "; ".join(summary.not_comparable_because)
    return wrapped("", f"Not comparable with the leaderboard: {reasons}.{resident}")


def render_leaderboard(board: Sequence[BoardRow], sort: str) -> str:
    """The cards, the result among them with an arrow, and where each is from."""
    sources = list(dict.fromkeys(row.source for row in board if row.source))
    per_price = [
        rows.per_text(row.score_per.get(sort, {}).get("price"), row.worth, "price") for row in board
    ]
    priced = set(per_price) != {"-"}
    lines = [
        (
            ">" if row.mine else "" if row.rank is None else str(row.rank),
            row.device,
            row.kind.value,
            *(_figure(row.scores[name]) for name in ("inference", "training", "ai")),
            *([value] if priced else []),
            _origin(row, sources),
        )
        for row, value in zip(board, per_price, strict=True)
    ]
    value_header = [f"{'AI' if sort == 'ai' else sort}/price"] if priced else []
    header = (
        *("#", "device", "kind", "inference", "training", "AI"),
        *value_header,
        "source",
    )
    figures = 3 + len(value_header)
    shown = table(
        header, lines, f"rll{'r' * figures}l", widths=(None, 21, None, *[None] * figures, 18)
    )
    used = {line[column][:1] for line in lines for column in (3, 4, 5)}
    used |= {"^"} if any(row.stack for row in board) else set()
    legend = [f"{mark} {meaning}" for mark, meaning in LEGEND.items() if mark in used]
    listed = [f"[{number}] {terminal(source)}" for number, source in enumerate(sources, start=1)]
    parts = [_standing(board, sort), "\n".join([shown, *legend]), "\n".join(listed)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _origin(row: BoardRow, sources: Sequence[str]) -> str:
    """The kind of source with its number in the list, and what the scores stand on."""
    number = f" [{sources.index(row.source) + 1}]" if row.source else ""
    stack = f", ^{row.stack}" if row.stack else ""
    return f"{row.source_kind}{number}, {row.completeness}{stack}"


def _standing(board: Sequence[BoardRow], sort: str) -> str:
    """Rank and percentile of the result, and what they are worth."""
    found = standing(board, sort)
    if found is None:
        return ""
    low, high = found.percentile
    percentile = f"{low}" if low == high else f"{low} to {high}"
    return wrapped(
        "",
        f"By {rows.SCORE_TITLES[sort]} the result is ahead of {found.slower_cards} of the"
        f" {found.cards} ranked cards below; estimated percentile among such cards {percentile}"
        " (published reports, no sample of all devices).",
    )


def _figure(figure: Figure | None) -> str:
    return "-" if figure is None else f"{MARKS[figure.basis]}{figure.value}"


def render_suite(suite: Suite) -> str:
    """The tests of a suite. GFLOP, GB: the forward pass of the whole batch; MiB: peak memory."""
    tests = rows.suite_document(suite)["tests"]
    lines = [
        (
            test["id"],
            test["title"],
            test["mode"],
            str(test["batch"]),
            "x".join(map(str, test["input"])),
            f"{test['gflop']:.2f}",
            f"{test['gigabytes']:.2f}",
            f"{test['parameters']:,}",
            f"{test['ref_ms']:g}",
            *(_mib(test["peak_memory_bytes"][kind]) for kind in ("cpu", "gpu")),
        )
        for test in tests
    ]
    header = (
        *("test", "network", "mode", "batch", "input"),
        *("GFLOP", "GB", "parameters", "ref ms", "CPU MiB", "GPU MiB"),
    )
    return table(header, lines, "lllrrrrrrrr") + "\n"


def _mib(size_bytes: int | None) -> str:
    return "-" if size_bytes is None else f"{size_bytes / (1 << 20):.0f}"


def render_comparison(compared: Compared) -> str:
    """What was changed, who is who, who is faster, how sure, and the figures behind that."""
    letters = LETTERS[: len(compared.subjects)]
    ratios = [f"{letter}/A" for letter in letters[1:]]
    align = "r" * len(letters) + "r" * len(ratios)
    scores = comparisons.score_lines(compared)
    value = comparisons.worth_lines(compared)
    findings = comparisons.finding_lines(compared)
    parts = [
        wrapped("", comparisons.first_line(compared)),
        _subjects(compared),
        _differences(compared),
        table(("", "against A", "ratio", "95 % interval", "verdict"), findings, "llrll")
        if findings
        else "",
        "\n".join(wrapped("", note) for note in comparisons.notes(compared)),
        table(("score", *letters, *ratios), scores, f"l{align}") if scores else "",
        table(("value", *letters, *ratios), value, f"l{align}") if value else "",
        _kinds(compared, ratios),
        _compared_tests(compared, letters, ratios),
        _normalized(compared),
        _stacks(compared.stacks),
        "\n".join(wrapped("", sentence) for sentence in comparisons.sentences(compared)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _kinds(compared: Compared, ratios: Sequence[str]) -> str:
    """Of several stacks there is a table with a column for each of them."""
    if compared.stacks and len(ratios) > 1:
        return ""
    lines = comparisons.kind_lines(compared)
    header = [f"{name} {mode}" for name in ratios for mode in Mode]
    return table(("kind of work", *header), lines, "l" * (1 + len(header))) if lines else ""


def _compared_tests(compared: Compared, letters: str, ratios: Sequence[str]) -> str:
    """Ratios of many stacks would make it too wide; the best stack of each test follows."""
    lines = comparisons.test_lines(compared)
    if not lines:
        return ""
    if compared.stacks and len(ratios) > 1:
        lines, ratios = [line[: 3 + len(letters)] for line in lines], []
    more = ("moves", "sure") if len(ratios) == 1 else ()
    header = ("test", "network", "mode", *(f"{letter} ms" for letter in letters), *ratios, *more)
    align = "lll" + "r" * (len(letters) + len(ratios)) + "rl"[: len(more)]
    note = comparisons.test_note(compared)
    return "\n".join([table(header, lines, align), *([wrapped("", note)] if note else [])])


def _subjects(compared: Compared) -> str:
    lines = []
    for letter, subject in zip(LETTERS, compared.subjects, strict=False):
        stack = f", {compared.stacks.stacks[letter]}" if compared.stacks else ""
        lines.append(wrapped(f"{letter}  ", f"{subject.name} ({subject.source}{stack})"))
        lines += [wrapped("   - ", remark) for remark in subject.remarks]
    return "\n".join(lines)


def _differences(compared: Compared) -> str:
    lines = comparisons.setup_lines(compared.differences)
    if not lines:
        return "Set-up: no difference known."
    count = len(compared.subjects)
    widest = min(WIDTH // 2, max(len(key) for key, *_ in lines))
    width = max(12, (WIDTH - widest) // count - 2)
    header = ("set-up", *LETTERS[:count])
    return table(header, lines, "l" * (count + 1), widths=(widest, *[width] * count))


def _normalized(compared: Compared) -> str:
    if compared.normalized is None:
        return ""
    letters = LETTERS[: len(compared.subjects)]
    lines = comparisons.normalized_lines(compared.normalized)
    title = wrapped("", f"Times as fast as {compared.normalized.card}:")
    return f"{title}\n\n" + table(
        ("test", "network", "mode", *letters), lines, "lll" + "r" * len(letters)
    )


def _grid(grid: stacks.Grid) -> str:
    header, lines = grid
    return table(header, lines, "l" * len(header))


def _stacks(found: Stacks | None) -> str:
    if found is None:
        return ""
    title = (
        f"Stacks on {found.device}, how many times as fast as the first side of each table"
        " (~ where the best is not sure):"
    )
    parts = [wrapped("", title)]
    parts += [_grid(stacks.matrix_grid(found, matrix)) for matrix in found.matrices]
    parts += [_grid(stacks.kind_grid(found, kinds)) for kinds in found.kinds]
    if found.start_ups:
        parts.append(wrapped("", "Building + first passes, which compile, in s:"))
    parts += [_grid(stacks.start_up_grid(found, start_up)) for start_up in found.start_ups]
    header = ["test", "network", "mode", "best stack", "ms", "lead"]
    legend = (
        "lead: how many times as fast as the next stack, ~ where that is not sure."
        f" Best: {'; '.join(stacks.best_counts(found))}."
    )
    best = table(header, stacks.best_lines(found), "llllrr")
    parts.append("\n".join([best, wrapped("", legend)]))
    return "\n\n".join(parts)
