"""The calls that ``import aiscore`` offers."""

from pathlib import Path

from aiscore.execution.request import Request, request_to_resume, typed
from aiscore.execution.run import execute
from aiscore.execution.runner import Observer
from aiscore.results.model import Result
from aiscore.spec import Precision, Protocol, Suite


def run(
    *,
    suite: str = Suite.FULL,
    quick: bool = False,
    only: str | None = None,
    tests: str | None = None,
    backend: str = "tensorflow",
    device: str = "auto",
    protocol: str = Protocol.CLASSIC,
    precision: str = Precision.DEFAULT,
    xla: bool = False,
    rounds: int = 1,
    passes: int | None = None,
    early_stop: bool = False,
    max_seconds_per_test: float | None = None,
    timeout: float | None = None,
    memory_fraction: float | None = None,
    seed: int = 0,
    label: str | None = None,
    price: float | None = None,
    currency: str | None = None,
    output: str | Path | None = None,
    resume: str | Path | None = None,
    yes: bool = False,
) -> Result:
    """Runs the suite as ``aiscore run`` does, quietly; the keywords are its options.

    The result is written to ``output``, or to its default place, as well as
    returned. ``resume`` finishes the result of that path; of the other keywords
    only those count then that are not the default. Ctrl-C returns what there is,
    marked interrupted. Raises ``aiscore.errors.UserError``.
    """
    given = dict(locals())
    options = typed({key: value for key, value in given.items() if key not in ("resume", "yes")})
    options["output"] = None if output is None else Path(output)
    if resume is None:
        said = {key: value for key, value in given.items() if value not in (None, False)}
        arguments = tuple(f"{key}={value}" for key, value in said.items())
        request = Request(**options, arguments=arguments)
    else:
        standard = Request()
        changed = {key: value for key, value in options.items() if value != getattr(standard, key)}
        request = request_to_resume(Path(resume), changed)
    outcome = execute(request, Observer(), lambda question: yes)
    if outcome.unsaved is not None:
        raise outcome.unsaved
    return outcome.result
