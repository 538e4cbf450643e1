"""What a published file says of machines and their users: shown before it is written."""

from collections.abc import Callable, Mapping

from aiscore.results.model import Result
from aiscore.results.sweep import Sweep

Facts = Mapping[str, Mapping[str, str]]
"""Group to name to text."""

VARIABLES = "variables"  # the group whose names are shown as they are
MOST_SHOWN = 3  # of the texts that several results have
LONGEST = 120  # characters of a text


def _names(result: Result) -> Facts:
    """A picture has these."""
    label = {"label": result.run.label} if result.run.label else {}
    return {"device": {**label, "name": result.device.name}}


def _table(result: Result) -> Facts:
    """A table has what it was run with, too."""
    run = result.run
    price = {"price": f"{run.price.amount:g} {run.price.currency}"} if run.price else {}
    log = {"log": result.imported.log} if result.imported else {}
    backend = f"{result.backend} {result.environment.software.get(result.backend, '')}".strip()
    return {
        **_names(result),
        "run": {
            "started": run.started_at,
            "backend": backend,
            **price,
            **log,
        },
    }


def _document(result: Result) -> Facts:
    """``show --json`` has the whole set-up."""
    environment = result.environment
    facts = _table(result)
    uuid = {"uuid": result.device.uuid} if result.device.uuid else {}
    return {
        **facts,
        "device": {**facts["device"], **uuid},
        "host": environment.host,
        **{f"GPU {index}": gpu for index, gpu in enumerate(environment.gpus)},
        "software": environment.software,
        VARIABLES: environment.variables,
    }


def _file(result: Result) -> Facts:
    """A result file has the command as well, and why tests and probes failed."""
    roof = result.roof
    problems = [roof.problem, *(probe.problem for probe in roof.probes)] if roof else []
    said = [*(test.error and test.error.message for test in result.records), *problems]
    messages = dict.fromkeys(message for message in said if message)
    facts = _document(result)
    return {
        **facts,
        "run": {**facts["run"], "arguments": " ".join(result.run.arguments)},
        "failures": {"messages": "; ".join(messages)} if messages else {},
    }


SAID: Mapping[str, Callable[[Result], Facts]] = {
    "markdown": _table,
    "csv": _table,
    "json": _document,
    "svg": _names,
    "html": _file,
}
"""Format to what it says of the machine of a result, in the form in which it is published."""


def _sweep_table(sweep: Sweep) -> Facts:
    """A table of a sweep has what it was run with, and why batches did not run."""
    run = sweep.run
    label = {"label": run.label} if run.label else {}
    price = {"price": f"{run.price.amount:g} {run.price.currency}"} if run.price else {}
    messages = {point.error.message: "" for point in sweep.points if point.error}
    backends = [f"{name} {stack.get(name, '')}".strip() for name, stack in sweep.stacks.items()]
    return {
        "device": {**label, "name": sweep.device.name},
        "run": {"started": run.started_at, "backend": ", ".join(backends), **price},
        "failures": {"messages": "; ".join(messages)} if messages else {},
    }


def _sweep_document(sweep: Sweep) -> Facts:
    """``show --json`` has the whole set-up."""
    environment, facts = sweep.environment, _sweep_table(sweep)
    uuid = {"uuid": sweep.device.uuid} if sweep.device.uuid else {}
    return {
        **facts,
        "device": {**facts["device"], **uuid},
        "host": environment.host,
        **{f"GPU {index}": gpu for index, gpu in enumerate(environment.gpus)},
        "software": environment.software,
        **sweep.stacks,
        VARIABLES: environment.variables,
    }


def _sweep_names(sweep: Sweep) -> Facts:
    """Pictures, and lists of points, have these."""
    return {"device": _sweep_table(sweep)["device"]}


SWEEP_SAID: Mapping[str, Callable[[Sweep], Facts]] = {
    "markdown": _sweep_table,
    "csv": _sweep_names,
    "json": _sweep_document,
    "svg": _sweep_names,
    "html": _sweep_table,
}
"""The same of sweeps."""


class Disclosure:
    """Gathers what a file says of the machines, result by result."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, said: Facts) -> None:
        """Takes in what is said of one more."""
        for group, facts in said.items():
            for name, text in facts.items():
                self._texts.setdefault((group, name), {})[text] = None

    def lines(self) -> list[tuple[str, str]]:
        """Group and what is said in it; of many texts the first few and their number."""
        groups: dict[str, list[str]] = {}
        for (group, name), texts in self._texts.items():
            title = name if group == VARIABLES else name.replace("_", " ")
            groups.setdefault(group, []).append(f"{title} {_shown(list(texts))}")
        return [(group, "; ".join(parts)) for group, parts in groups.items()]


def _shown(texts: list[str]) -> str:
    cut = [text if len(text) <= LONGEST else f"{text[:LONGEST]}..." for text in texts[:MOST_SHOWN]]
    more = len(texts) - len(cut)
    return " | ".join(cut) + (f" and {more} more" if more else "")
