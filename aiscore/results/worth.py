"""What a score is set against: price, power and memory of the device, as far as known."""

from collections.abc import Mapping
from dataclasses import dataclass

from aiscore.results.model import PriceRecord, Result
from aiscore.spec import DeviceKind

GIB = 2**30
POWER = "gpu_power_w"
LEAST_W, MOST_W = 1e-9, 1e15


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """None is not known.

    ``power_w``: what the GPU drew while tests ran, the mean of their medians by
    duration. ``power_limit_w``: what the driver lets it draw.
    """

    price: PriceRecord | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    memory_gib: float | None = None


def worth(result: Result) -> Worth:
    """What the result says of its device."""
    memory = result.device.memory_bytes
    return Worth(
        price=result.run.price,
        power_w=_power_w(result),
        power_limit_w=_number(own_gpu(result).get("power_limit_w", "")),
        memory_gib=memory / GIB if memory else None,
    )


def score_per(scores: Mapping[str, int | None], known: Worth) -> dict[str, dict[str, float]]:
    """Each score that there is, over each quantity that is known."""
    quantities = {
        "price": known.price and known.price.amount,
        "power_w": known.power_w,
        "power_limit_w": known.power_limit_w,
        "memory_gib": known.memory_gib,
    }
    return {
        name: {of: score / quantity for of, quantity in quantities.items() if quantity}
        for name, score in scores.items()
        if score is not None
    }


def _power_w(result: Result) -> float | None:
    """Over the rounds whose GPU was watched; a CPU has no such sensor."""
    watched = [
        (record.telemetry.series[POWER].median, record.telemetry.duration_s)
        for test in result.tests
        for record in test.rounds
        if record.telemetry and POWER in record.telemetry.series
    ]
    seconds = sum(duration for _, duration in watched)
    if result.device.kind is not DeviceKind.GPU or not seconds:
        return None
    return _sane(sum(power * duration for power, duration in watched) / seconds)


def own_gpu(result: Result) -> Mapping[str, str]:
    """What the machine says of the GPU that ran, found by its UUID or as the only one."""
    if result.device.kind is DeviceKind.CPU:
        return {}
    gpus = result.environment.gpus
    mine = [gpu for gpu in gpus if gpu.get("uuid") == result.device.uuid]
    found = mine if result.device.uuid else gpus
    return found[0] if len(found) == 1 else {}


def _number(text: str) -> float | None:
    """The number, if it is one: what could not be read has a reason in its place."""
    try:
        return _sane(float(text))
    except ValueError:
        return None


def _sane(watts: float) -> float | None:
    """Those that a division by them cannot go beyond all numbers."""
    return watts if LEAST_W <= watts <= MOST_W else None
