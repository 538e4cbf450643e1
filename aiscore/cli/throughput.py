"""``aiscore throughput``."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from aiscore.cli import measuring
from aiscore.cli.files import ask, is_given
from aiscore.cli.main import INTERRUPTED
from aiscore.cli.progress import SWEEP, observer
from aiscore.execution.output import DIRECTORY
from aiscore.execution.sweep import execute
from aiscore.execution.sweep_request import (
    LARGEST,
    SweepRequest,
    request_to_resume,
    select,
)
from aiscore.report.sweep_rows import sweep_document
from aiscore.report.sweep_text import render_sweep
from aiscore.results.sweep import XLA_CHOICES
from aiscore.spec import RESIDENT_POLICY, Precision, Status
from workloads.sweep import NETWORKS

NOT_OK = 1
SELECTION = ("network", "mode", "batch", "precision", "xla", "backend")
BATCHES = "32,64,96,128,192,256"


@click.command("throughput", short_help="Measure images/s over batches, precisions and XLA.")
@click.option(
    "--network",
    metavar="LIST",
    default="resnet50",
    show_default=True,
    help=f"Of {', '.join(NETWORKS)}; patterns too: *.",
)
@click.option(
    "--mode",
    metavar="LIST",
    default="training",
    show_default=True,
    help="training, inference or both of them.",
)
@click.option(
    "--batch",
    metavar="LIST",
    default=BATCHES,
    show_default=True,
    help=f"Batches; {LARGEST} seeks the largest one that fits.",
)
@click.option(
    "--precision",
    metavar="LIST",
    default="default",
    show_default=True,
    help=f"Of {', '.join(Precision)}; fp16 and bf16 are mixed, with weights in float32.",
)
@click.option(
    "--xla",
    type=click.Choice([*XLA_CHOICES]),
    default="off",
    show_default=True,
    help="Compile each whole step with XLA. JAX always does and PyTorch never: with both, "
    "each of them is measured once.",
)
@click.option("--backend", metavar="LIST", default="tensorflow", show_default=True)
@measuring.device
@measuring.memory_fraction
@click.option(
    "--passes",
    type=int,
    metavar="N",
    help=f"At most N blocks of passes a point; else {RESIDENT_POLICY.passes}.",
)
@click.option(
    "--max-seconds-per-test",
    type=float,
    metavar="S",
    help=f"No block of a point starts later, the first {RESIDENT_POLICY.min_passes} aside; "
    f"else {RESIDENT_POLICY.max_seconds:g}.",
)
@click.option(
    "--timeout",
    type=float,
    metavar="S",
    help="End a point that takes longer altogether; else an hour more than its time limit.",
)
@measuring.seed
@click.option("--label", metavar="TEXT", help="A name for this sweep.")
@measuring.price
@measuring.currency
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help=f"The file; else {DIRECTORY}/<UTC time>-<device>-throughput.json.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Finish the sweep of that path as it was begun.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the tables.")
@measuring.yes
@click.pass_context
def command(
    context: click.Context,
    /,
    resume: Path | None,
    as_json: bool,
    yes: bool,
    **options: Any,
) -> None:
    """Measure images/s of the ResNet family over batches, precisions and XLA.

    Every point (network, mode, backend, precision, XLA, batch) runs in a
    process of its own on data that is made on the device. A batch that does
    not fit is oom, and the sweep goes on. Nothing of it is scored
    (docs/throughput.md). Exit code 1 says that a batch that was asked for is
    not ok, 130 that Ctrl-C, SIGTERM or SIGHUP ended the sweep: the points that were
    finished by then are in the file.
    """
    arguments = tuple(sys.argv[1:])
    if resume is None:
        selection = select(**{name: options.pop(name) for name in SELECTION})
        request = SweepRequest(selection=selection, **options, arguments=arguments)
    else:
        given = [name for name in options if is_given(context, name)]
        request = request_to_resume(resume, given, arguments)
    progress = observer(SWEEP)
    outcome = execute(request, progress, lambda question: yes or ask(question))
    sweep = outcome.sweep
    if as_json:
        click.echo(json.dumps(sweep_document(sweep), indent=2))
    else:
        click.echo(render_sweep(sweep), nl=False)
    if outcome.unsaved is not None:
        raise outcome.unsaved
    progress.note(f"sweep file: {outcome.path}")
    if sweep.run.interrupted:
        context.exit(INTERRUPTED)
    if any(point.status is not Status.OK and not point.sought for point in sweep.points):
        context.exit(NOT_OK)
