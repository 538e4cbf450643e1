"""The set-up of a run: its device, and the result before its first test."""

import os
import uuid
from dataclasses import asdict
from datetime import datetime

from aiscore import __version__
from aiscore.errors import UserError
from aiscore.execution.common_request import AUTO
from aiscore.execution.devices import choose_device, describe_backend, hides_gpus
from aiscore.execution.plan import Plan
from aiscore.execution.process import Workers, job_environment, worker_environment
from aiscore.execution.request import Request
from aiscore.execution.runner import Observer
from aiscore.messages import Ready, Unavailable
from aiscore.results.model import (
    DeviceRecord,
    EnvironmentRecord,
    OptionsRecord,
    PolicyRecord,
    ResidentRecord,
    Result,
    RunRecord,
)
from aiscore.results.reference import suite_sha256
from aiscore.spec import Device, DeviceKind, Options
from aiscore.system import gpu, host, software


def set_up(
    request: Request, plan: Plan, now: datetime, observer: Observer, workers: Workers
) -> tuple[Device, Result]:
    """The device, and the result before its first test; raises UserError if it cannot run."""
    observer.asking(request.backend)
    answer = ready(request.backend, workers)
    device = choose_device(request.device, answer.devices)
    reading = gpu.read()
    if request.device == AUTO:
        note_automatic(device, answer, reading, observer)
    environment = EnvironmentRecord(
        host=host.describe(),
        gpus=reading.gpus,
        software=software.describe(answer.software),
        variables=steering_variables(device, request.options()),
    )
    return device, _header(request, plan, device, environment, now, answer.import_s)


def steering_variables(device: Device, options: Options) -> dict[str, str]:
    """What of the environment can change the times of a job with that device and these options."""
    variables = worker_environment(os.environ) | job_environment(os.environ, device, options)
    return software.steering_variables(variables)


def ready(backend: str, workers: Workers) -> Ready:
    """What the backend is and sees; raises UserError if it cannot run here."""
    answer = describe_backend(backend, workers)
    if isinstance(answer, Unavailable):
        raise UserError(answer.reason, answer.advice)
    return answer


def note_automatic(device: Device, ready: Ready, reading: gpu.Reading, observer: Observer) -> None:
    """Says which device nobody chose, and what another one lacks."""
    observer.note(f"device chosen automatically: {device.name}")
    if device.kind is DeviceKind.CPU and reading.gpus and not hides_gpus(os.environ):
        advice = f"{ready.for_gpu}; " if ready.for_gpu else ""
        observer.note(
            f"this machine has an NVIDIA GPU ({reading.gpus[0]['name']}) that the framework"
            f" cannot use; {advice}'aiscore info' says more"
        )


def _header(
    request: Request,
    plan: Plan,
    device: Device,
    environment: EnvironmentRecord,
    started: datetime,
    import_s: float,
) -> Result:
    """The result before its first test."""
    policy, *others = (PolicyRecord(**asdict(policy)) for policy in request.policies())
    return Result(
        aiscore_version=__version__,
        suite=request.suite,
        suite_sha256=suite_sha256(request.suite),
        protocol=policy.protocol,
        backend=request.backend,
        device=DeviceRecord(**asdict(device), automatic=request.device == AUTO),
        policy=policy,
        options=OptionsRecord(**asdict(request.options())),
        environment=environment,
        run=RunRecord(
            id=uuid.uuid4().hex,
            started_at=started.isoformat(timespec="seconds"),
            duration_s=0,
            import_s=import_s,
            arguments=list(request.arguments),
            requested=[test.id for test in plan.tests],
            quick=request.quick,
            label=request.label,
            price=request.price_record(),
            seed=request.seed,
            rounds=request.rounds,
            timeout_s=request.timeout_s(),
        ),
        tests=[],
        resident=ResidentRecord(policy=others[0]) if others else None,
    )
