"""Has a worker measure what the device can do at most, before the tests."""

from collections.abc import Iterator
from dataclasses import asdict, replace

from aiscore.execution.process import START_LIMIT_S, Silence, Worker, Workers, how_it_ended
from aiscore.messages import Ended, Job, Probed, Ready, Unavailable
from aiscore.results.model import ProbeRecord, RoofRecord


def measure_roof(job: Job, workers: Workers, silence_limit_s: float = START_LIMIT_S) -> RoofRecord:
    """What it measured, and what went wrong: that is no reason not to run the tests.

    ``job`` is what every worker is told, less its network and tests.
    """
    probes: list[ProbeRecord] = []
    try:
        worker = workers.ready(job.backend)
        worker.begin(replace(job, roof=True))
        for probed in _listen(worker, silence_limit_s):
            probes.append(ProbeRecord(**asdict(probed)))
        problem = None if probes else f"the {job.backend} backend has no probes"
    except Silence:
        problem = f"no sign of life for {silence_limit_s:g} s"
    except (OSError, ValueError) as error:
        problem = str(error)
    if problem is not None:
        workers.end()
    return RoofRecord(probes=probes, problem=problem)


def _listen(worker: Worker, silence_limit_s: float) -> Iterator[Probed]:
    """What it measures until its job is done; raises ValueError where it does not get there."""
    while True:
        match worker.receive(silence_limit_s):
            case Ready():
                continue
            case Probed() as probed:
                yield probed
            case Ended(exit_status=0):
                return
            case Ended(exit_status=status):
                raise ValueError(f"the worker {how_it_ended(status)}")
            case Unavailable(reason=reason, advice=advice):
                raise ValueError(f"{reason}: {advice}")
            case None:
                raise ValueError(f"the worker {how_it_ended(worker.wait())}")
            case message:
                raise ValueError(f"the worker spoke out of turn: {message}")
