"""``aiscore leaderboard``: the published cards, and a result among them."""

import json

import click

from aiscore.cli.files import read_result
from aiscore.report.boards import leaderboard, leaderboard_document
from aiscore.report.text import render_leaderboard
from aiscore.spec import DeviceKind


@click.command("leaderboard")
@click.option(
    "--sort",
    type=click.Choice(["inference", "training", "ai"]),
    default="ai",
    show_default=True,
    help="The score to sort by.",
)
@click.option(
    "--kind", type=click.Choice(list(map(str, DeviceKind))), help="Only CPUs or only GPUs."
)
@click.option("--with", "mine", metavar="RESULT", help="Put this result file among the cards.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    context: click.Context, sort: str, kind: str | None, mine: str | None, as_json: bool
) -> None:
    """List the published AI-Benchmark cards, each with its source and completeness."""
    result, holds = read_result(mine) if mine else (None, True)
    board = leaderboard(sort, DeviceKind(kind) if kind else None, result)
    if as_json:
        click.echo(json.dumps(leaderboard_document(board), indent=2))
    else:
        click.echo(render_leaderboard(board), nl=False)
    context.exit(0 if holds else 1)
