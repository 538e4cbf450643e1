"""``aiscore tests``: what the suite is made of."""

import json

import click

from aiscore.report.rows import suite_document
from aiscore.report.text import render_suite
from aiscore.spec import Suite


@click.command("tests")
@click.option(
    "--suite", type=click.Choice(list(map(str, Suite))), default="full", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(suite: str, as_json: bool) -> None:
    """List the tests: network, mode, batch, input, work, size and reference time.

    GFLOP is the forward pass of the whole batch, GB what its convolutions and
    matrix products read and write of float32; parameters are those that
    training updates; a test that takes its reference time scores 10000. MiB is
    the peak memory measured with TensorFlow: of the whole process on a CPU, of
    the card on a GPU with room to spare.
    """
    if as_json:
        click.echo(json.dumps(suite_document(Suite(suite)), indent=2))
    else:
        click.echo(render_suite(Suite(suite)), nl=False)
