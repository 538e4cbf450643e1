"""A result without what tells of its host and its user: the form in which it is published."""

import re
from collections.abc import Collection, Mapping

from aiscore.results.model import ErrorRecord, Result

HIDDEN_PATH = "[path]"
HIDDEN_NAME = "[name]"
HOST_FACTS = {"container_id"}  # its beginning is the host name inside the container
SHORTEST_NAME = 2  # letters; one is everywhere

_PATH = re.compile(
    r"""(?x)
    (['"]) [^'"]* / [^'"]* \1                     # quoted, as errors show it, spaces included
    | (?: file: /+                                # a URL of this machine, not one of the web
        | (?<! [\w./] ) / (?! / )                 # absolute
        | (?<! [\w./:] ) //+
        | (?<! [\w./] ) \.{1,2} / )               # relative, and not to be mistaken for a ratio
      [^\s'",;()<>|]+
    """
)


def redacted(result: Result, names: Collection[str] = ()) -> Result:
    """The same result without paths, workers' logs and the container's id.

    The names, of users and hosts, are hidden in its arguments, variables and
    messages. Label, device and software stay, and so does all that is measured.
    """
    environment = result.environment
    run = result.run
    host = {name: text for name, text in environment.host.items() if name not in HOST_FACTS}
    return result.model_copy(
        update={
            "environment": environment.model_copy(
                update={
                    "host": _without_paths(host),
                    "gpus": [_without_paths(gpu) for gpu in environment.gpus],
                    "software": _without_paths(environment.software),
                    "variables": {
                        name: _hide(text, names) for name, text in environment.variables.items()
                    },
                }
            ),
            "run": run.model_copy(
                update={"arguments": [_hide_argument(text, names) for text in run.arguments]}
            ),
            "tests": [
                test.model_copy(update={"error": _error(test.error, names)}) if test.error else test
                for test in result.tests
            ],
        }
    )


def _without_paths(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: _hide(text, ()) for name, text in facts.items()}


def _error(error: ErrorRecord, names: Collection[str]) -> ErrorRecord:
    """Why the test failed; what its worker printed can hold anything."""
    return error.model_copy(update={"message": _hide(error.message, names), "log": []})


def _hide_argument(text: str, names: Collection[str]) -> str:
    """An argument with a slash is a path as a whole, or all that its option is set to."""
    if "/" not in text:
        return _hide(text, names)
    option, equals, _ = text.partition("=")
    return f"{option}={HIDDEN_PATH}" if equals and "/" not in option else HIDDEN_PATH


def _hide(text: str, names: Collection[str]) -> str:
    shown = _PATH.sub(HIDDEN_PATH, text)
    for name in sorted(names, key=len, reverse=True):
        if len(name) >= SHORTEST_NAME:
            shown = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", HIDDEN_NAME, shown)
    return shown
