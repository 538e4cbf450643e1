"""``aiscore info``: the machine, and the doctor of the backends."""

import json
import os
from dataclasses import asdict
from typing import Any

import click

from aiscore.errors import UserError
from aiscore.execution.devices import describe_backend, offered_backends
from aiscore.execution.process import Workers, open_workers
from aiscore.messages import Unavailable
from aiscore.report import escape
from aiscore.results.worth import GIB
from aiscore.spec import DeviceKind
from aiscore.system import gpu, host, software

Document = dict[str, Any]

NO_COMMAND = "install its framework's build for NVIDIA GPUs"


@click.command(short_help="Show the machine, and what each backend needs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Show the machine, and what each backend needs.

    Says for every backend which devices it can use, or what is missing and the
    command that installs it.
    """
    document = examine()
    click.echo(json.dumps(document, indent=2) if as_json else render(document))


def examine() -> Document:
    """Everything that there is to say, as it is printed with --json."""
    reading = gpu.read()
    with open_workers(os.environ) as workers:
        backends = [_examine_backend(name, workers) for name in offered_backends()]
    return {
        "host": host.describe(),
        "gpus": reading.gpus,
        "software": software.describe({}),
        "variables": software.steering_variables(os.environ),
        "backends": backends,
        "findings": findings(reading, backends),
    }


def _examine_backend(name: str, workers: Workers) -> Document:
    try:
        answer = describe_backend(name, workers)
    except UserError as error:
        return {"name": name, "usable": False, "reason": error.problem, "advice": error.advice}
    if isinstance(answer, Unavailable):
        return {"name": name, "usable": False, "reason": answer.reason, "advice": answer.advice}
    return {
        "name": name,
        "usable": True,
        "software": answer.software,
        "devices": [asdict(device) for device in answer.devices],
        "for_gpu": answer.for_gpu,
    }


def findings(reading: gpu.Reading, backends: list[Document]) -> list[str]:
    """What keeps this machine from being measured as it could be, and what to do."""
    found = [
        f"{backend['name']}: {backend['reason']}; {backend['advice']}"
        for backend in backends
        if not backend["usable"]
    ]
    if not reading.gpus:
        return found
    for backend in backends:
        kinds = {device["kind"] for device in backend.get("devices", [])}
        if backend["usable"] and DeviceKind.GPU not in kinds:
            found.append(
                f"{backend['name']} does not see the GPU ({reading.gpus[0]['name']});"
                f" {backend['for_gpu'] or NO_COMMAND}"
            )
    if reading.problem:
        found.append(f"{reading.problem}; pip install nvidia-ml-py")
    return found


def render(document: Document) -> str:
    """For people."""
    lines = ["Machine", *_facts(document["host"])]
    for index, card in enumerate(document["gpus"]):
        lines += ["", f"GPU {index}", *_facts(card)]
    lines += ["", "Software", *_facts(document["software"])]
    if document["variables"]:
        lines += ["", "Environment variables", *_lines(document["variables"])]
    for backend in document["backends"]:
        lines += ["", f"Backend {backend['name']}", *_facts(_backend_facts(backend))]
    advice = document["findings"] or ["nothing is missing"]
    lines += ["", "Findings", *(f"  {escape.terminal(line)}" for line in advice)]
    return "\n".join(lines)


def _backend_facts(backend: Document) -> dict[str, str]:
    if not backend["usable"]:
        return {"usable": f"no: {backend['reason']}"}
    devices = {
        "cpu" if device["kind"] == DeviceKind.CPU else f"gpu:{device['index']}": device["name"]
        for device in backend["devices"]
    }
    return {"usable": "yes", **backend["software"], **devices}


def _facts(facts: dict[str, str]) -> list[str]:
    return _lines(dict(_in_words(name, value) for name, value in facts.items()))


def _in_words(name: str, value: str) -> tuple[str, str]:
    """Sizes in GiB; what is not known, and why, stays as it is."""
    if name.endswith("_bytes"):
        name = name.removesuffix("_bytes")
        value = f"{int(value) / GIB:.1f} GiB" if value.isdecimal() else value
    return name.replace("_", " "), value


def _lines(facts: dict[str, str]) -> list[str]:
    return [f"  {escape.terminal(f'{name:<18} {value}')}" for name, value in facts.items()]
