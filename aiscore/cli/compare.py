"""``aiscore compare``: what differs, who is faster, and by how much."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from aiscore.cli.prices import given_prices, price_options, with_price
from aiscore.errors import UserError
from aiscore.report import sweep_compare
from aiscore.report.comparisons import LETTERS, Compared, compare_all, compare_document
from aiscore.report.escape import terminal
from aiscore.report.sweep_compare import compare_sweeps
from aiscore.report.sweep_text import render_sweep_comparison
from aiscore.report.text import render_comparison
from aiscore.results.reference import find_card
from aiscore.results.subject import from_card, named
from aiscore.results.sweep import Sweep
from aiscore.results.sweep_store import is_sweep, load
from aiscore.scoring.compare import Verdict


def _margin(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """A part of the whole, from 0 to below 1: 2% or 0.02."""
    text = value.strip()
    try:
        part = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        part = -1
    if not 0 <= part < 1:
        raise click.BadParameter(f"{value!r} is no margin, such as 2%", context, parameter)
    return part


@click.command("compare")
@click.argument("sides", metavar="A B [C]...", nargs=-1, required=True)
@click.option("--normalize-to", "card", metavar="CARD", help="Show each test's speed against it.")
@price_options
@click.option(
    "--margin",
    callback=_margin,
    default="1%",
    show_default=True,
    metavar="M",
    help="Sides that differ by less are the same.",
)
@click.option(
    "--fail-on",
    type=click.Choice([Verdict.SLOWER.value]),
    help="Exit with 1 if a score of another side is surely lower than the first's.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    context: click.Context,
    sides: tuple[str, ...],
    card: str | None,
    amounts: tuple[float, ...],
    currency: str | None,
    prices_file: Path | None,
    margin: float,
    fail_on: str | None,
    as_json: bool,
) -> None:
    """Compare result files and leaderboard cards, or sweeps, with the first of them.

    Each side is the path of a result file, or the name of a card: its full
    name, or any part of it that fits no other. Only scores over all of their
    tests are compared, and only tests that both sides have. With at least 3
    rounds on both sides, ratios have intervals; without, small differences are
    inconclusive.
    """
    if not 2 <= len(sides) <= len(LETTERS):
        raise UserError(
            f"cannot compare {len(sides)}", f"name 2 to {len(LETTERS)} results or cards"
        )
    if any(is_sweep(Path(side)) for side in sides):
        given, prices = given_prices(amounts, currency, prices_file, len(sides))
        if card is not None:
            raise UserError("--normalize-to is for runs, not for sweeps", "leave it out")
        sweeps = [
            with_price(load(Path(side)), price, prices)
            for side, price in zip(sides, given, strict=True)
        ]
        context.exit(_compare_sweeps(sweeps, margin, as_json, fail_on))
    normal = None if card is None else from_card(find_card(card))
    given, prices = given_prices(amounts, currency, prices_file, len(sides))
    subjects = [named(side, prices, price) for side, price in zip(sides, given, strict=True)]
    compared = compare_all(subjects, normal, margin)
    if as_json:
        click.echo(json.dumps(compare_document(compared), indent=2))
    else:
        click.echo(render_comparison(compared), nl=False)
    if fail_on:
        context.exit(_failed(compared, Verdict(fail_on)))


def _compare_sweeps(
    sweeps: Sequence[Sweep], margin: float, as_json: bool, fail_on: str | None
) -> int:
    """Prints the comparison; 1 if it has what it is to fail on."""
    compared = compare_sweeps(sweeps, margin)
    if as_json:
        click.echo(json.dumps(sweep_compare.compare_document(compared), indent=2))
    else:
        click.echo(render_sweep_comparison(compared), nl=False)
    groups = [group for other in compared.others for group in other.groups]
    return int(bool(fail_on) and any(group.verdict == fail_on for group in groups))


def _failed(compared: Compared, verdict: Verdict) -> int:
    """1 if any finding is that, else 0; where nothing can be said, stderr says so."""
    findings = [
        (subject.name, name, finding.verdict)
        for subject, found in zip(compared.subjects[1:], compared.comparisons, strict=True)
        for name, finding in found.findings.items()
    ]
    for subject, name, found_verdict in findings:
        if found_verdict in (verdict, Verdict.INCONCLUSIVE):
            click.echo(terminal(f"{subject}: {name} {found_verdict}"), err=True)
    if not findings:
        click.echo("nothing to compare", err=True)
    return int(any(found_verdict is verdict for *_, found_verdict in findings))
