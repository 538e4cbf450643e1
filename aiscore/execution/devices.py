"""What a backend can use here, and which of its devices was asked for."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace

from aiscore.backends import base
from aiscore.errors import UserError
from aiscore.execution.process import (
    START_LIMIT_S,
    Silence,
    Worker,
    Workers,
    how_it_ended,
    worker_environment,
)
from aiscore.messages import Ended, Job, Message, Ready, Unavailable
from aiscore.spec import Device, DeviceKind
from aiscore.system import gpu, host

TEST_DOUBLE = "fake"
LONGEST_LINE = 400  # of a log, in an error
GPU_INDEX = re.compile(r"gpu:(\d+)")


def offered_backends() -> list[str]:
    """The installed backends that measure something."""
    return [name for name in base.names() if name != TEST_DOUBLE]


def describe_backend(name: str, workers: Workers) -> Ready | Unavailable:
    """Asks a worker what the backend is and sees.

    Raises UserError for an unknown backend, and for one that does not start.
    """
    if name not in base.names():
        raise UserError(f"there is no backend {name!r}", f"there are: {_list(offered_backends())}")
    refusal = f"the {name} backend does not start"
    try:
        worker = workers.ready(name)
    except OSError as error:
        reason = error.strerror or str(error)
        advice = "it needs a process, a few open files, and room for its log in TMPDIR"
        raise UserError(f"{refusal} ({reason})", advice) from error
    worker.begin(Job(backend=name))
    try:
        answer = worker.receive(START_LIMIT_S)
        if isinstance(answer, Unavailable):
            return answer
        if isinstance(answer, Ready):
            workers.await_end()
            return replace(answer, devices=_identify(answer.devices))
        problem = _problem(answer, worker)
    except Silence:
        problem = f"nothing came for {START_LIMIT_S:g} s"
    except ValueError as error:
        problem = str(error)
    last = "".join(worker.log_tail()[-1:])[-LONGEST_LINE:] or "it printed nothing"
    raise UserError(f"{refusal} ({problem})", f"its last line: {last}")


def _problem(answer: Message | None, worker: Worker) -> str:
    match answer:
        case None:
            return f"its process {how_it_ended(worker.wait())}"
        case Ended(exit_status=status):
            return f"its process {how_it_ended(status)}"
        case message:
            return f"it spoke out of turn: {message}"


def choose_device(text: str, devices: tuple[Device, ...]) -> Device:
    """The device that ``text`` names: auto, cpu, gpu, gpu:N, a UUID, or part of either name.

    Raises UserError where none fits, or several do.
    """
    if not devices:
        raise UserError("this backend sees no device", "'aiscore info' says what it needs")
    wanted = text.strip().lower()
    gpus = [device for device in devices if device.kind is DeviceKind.GPU]
    if wanted == "auto":
        return next(iter(gpus), devices[0])
    if wanted == "gpu":
        fitting = gpus[:1]
    elif wanted == "cpu":
        fitting = [device for device in devices if device.kind is DeviceKind.CPU]
    elif match := GPU_INDEX.fullmatch(wanted):
        fitting = [device for device in gpus if device.index == int(match[1])]
    elif wanted:
        fitting = [device for device in devices if _fits(wanted, device)]
    else:
        fitting = []
    if not fitting:
        raise UserError(f"there is no device {text!r}", f"there are: {_list_devices(devices)}")
    if len(fitting) > 1:
        raise UserError(f"several devices fit {text!r}", f"choose one of: {_list_devices(fitting)}")
    return fitting[0]


def hides_gpus(variables: Mapping[str, str]) -> bool:
    """Whether the caller's environment keeps frameworks from every GPU.

    CUDA reads CUDA_VISIBLE_DEVICES up to the first entry that names no device.
    """
    first = variables.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    return not (first.isdecimal() or first.startswith(("GPU-", "MIG-")))


def _identify(devices: tuple[Device, ...]) -> tuple[Device, ...]:
    """The devices with what the machine knows of them and the framework does not."""
    named = tuple(
        replace(device, name=host.cpu_name()) if device.name == "CPU" else device
        for device in devices
    )
    return gpu.identify(named, gpu.read().gpus, worker_environment(os.environ))


def _fits(wanted: str, device: Device) -> bool:
    return wanted in device.name.lower() or wanted in (device.uuid or "").lower()


def _list_devices(devices: tuple[Device, ...] | list[Device]) -> str:
    return _list([_title(device) for device in devices])


def _title(device: Device) -> str:
    if device.kind is DeviceKind.CPU:
        return f"cpu ({device.name})"
    return f"gpu:{device.index} ({', '.join(filter(None, (device.name, device.uuid)))})"


def _list(names: list[str]) -> str:
    return ", ".join(names) or "none"
