"""``aiscore run``."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from aiscore.cli import measuring
from aiscore.cli.files import ask, is_given
from aiscore.cli.main import INTERRUPTED
from aiscore.cli.progress import observer
from aiscore.execution.output import DIRECTORY
from aiscore.execution.request import PROTOCOLS, Request, request_to_resume, typed
from aiscore.execution.run import execute
from aiscore.report import rows, text
from aiscore.sampling import EARLY_STOP_ERROR, EARLY_STOP_PASSES
from aiscore.scoring.stats import FEWEST_TO_STOP, PRECISION
from aiscore.spec import RESIDENT_POLICY, Mode, Policy, Precision, Status, Suite

NOT_OK = 1
STANDARD = Policy()


@click.command(short_help="Measure this machine and write a result file.")
@click.option(
    "--suite",
    type=click.Choice([suite.value for suite in Suite]),
    default="full",
    show_default=True,
)
@click.option("--quick", is_flag=True, help="A few tests and passes: an estimate in minutes.")
@click.option(
    "--only",
    type=click.Choice([mode.value for mode in Mode]),
    help="Leave out the tests of the other kind.",
)
@click.option("--tests", metavar="LIST", help="Ids, numbers or names of networks: 1.1,5,resnet*.")
@click.option("--backend", metavar="NAME", default="tensorflow", show_default=True)
@measuring.device
@click.option(
    "--protocol",
    type=click.Choice([*PROTOCOLS]),
    default="classic",
    show_default=True,
    help="resident: input, target and output stay on the device; a score of its own.",
)
@click.option(
    "--precision",
    type=click.Choice([precision.value for precision in Precision]),
    default="default",
    show_default=True,
    help="default: the framework's own; fp16 and bf16: mixed, with weights in float32.",
)
@click.option("--xla", is_flag=True, help="Compile each whole step with XLA.")
@click.option(
    "--rounds",
    type=int,
    metavar="N",
    default=1,
    show_default=True,
    help=f"Repeat in fresh processes, at most N times: after {FEWEST_TO_STOP} rounds or more "
    f"it ends when the scores are known to {PRECISION:.0%}.",
)
@click.option(
    "--passes",
    type=int,
    metavar="N",
    help=f"At most N a test; else {STANDARD.passes}. resident: blocks of passes that count, else"
    f" {RESIDENT_POLICY.passes}.",
)
@click.option(
    "--early-stop",
    is_flag=True,
    help=f"End a test after {EARLY_STOP_PASSES} passes or more, once its mean is known to "
    f"{EARLY_STOP_ERROR:.1%}: not comparable with the leaderboard.",
)
@click.option(
    "--max-seconds-per-test",
    type=float,
    metavar="S",
    help=f"No pass starts later, the first {STANDARD.min_passes} aside; "
    f"else {STANDARD.max_seconds:g}.",
)
@click.option(
    "--timeout",
    type=float,
    metavar="S",
    help="End a test that takes longer altogether; else an hour more than its time limit.",
)
@measuring.memory_fraction
@measuring.seed
@click.option("--label", metavar="TEXT", help="A name for this result.")
@measuring.price
@measuring.currency
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help=f"The result file; else {DIRECTORY}/<UTC time>-<device>.json.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Finish the result of that path: what is missing, under the same set-up.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the table.")
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
    """Measure this machine and write a result file.

    Progress goes to stderr, the table and the scores to stdout. Exit code 1
    says that a test that was asked for is not ok, 130 that Ctrl-C, SIGTERM or SIGHUP
    ended the run: the tests that were finished by then are in the result file.
    """
    if resume is None:
        request = Request(**typed(options), arguments=tuple(sys.argv[1:]))
    else:
        given = {name: value for name, value in options.items() if is_given(context, name)}
        request = request_to_resume(resume, typed(given))
    progress = observer()
    outcome = execute(request, progress, lambda question: yes or ask(question))
    result = outcome.result
    if as_json:
        click.echo(json.dumps(rows.show_document(result), indent=2))
    else:
        click.echo(text.render_result(result), nl=False)
    if outcome.unsaved is not None:
        raise outcome.unsaved
    progress.note(f"result file: {outcome.path}")
    if result.run.interrupted:
        context.exit(INTERRUPTED)
    if any(test.status is not Status.OK for test in result.records):
        context.exit(NOT_OK)
