"""The figures of a sweep's file once more, from its raw values alone, by docs/throughput.md."""

from collections.abc import Iterator, Mapping
from math import exp, log
from statistics import median
from typing import Any

from tests.second_opinion import agree

Document = Mapping[str, Any]
Line = tuple[str, ...]
Speeds = dict[Line, dict[int, float]]
WAY = ("network", "mode", "backend", "precision", "xla")
GFLOP = {
    "resnet50": 8.178,
    "resnet101": 15.603,
    "resnext101_32x4d": 15.940,
    "se_resnext101_32x4d": 15.949,
}


def disagreements(document: Document) -> list[str]:
    """Where the file's summary states another figure than its samples give."""
    stated = document.get("summary")
    if stated is None:
        return []
    points = document["points"]
    if [said["id"] for said in stated["points"]] != [point["id"] for point in points]:
        return ["other points"]
    speeds = _speeds(document)
    by_line: dict[Line, list[Document]] = {}
    for point in points:
        by_line.setdefault(_line(point), []).append(point)
    if [_line(said) for said in stated["lines"]] != list(by_line):
        return ["other lines"]
    return [
        f"{place}: {said}, not {made}"
        for place, said, made in (
            ("status", stated["status"], _progress(document)),
            *(
                (f"{point['id']}.{name}", said.get(name), value)
                for point, said in zip(points, stated["points"], strict=True)
                for name, value in _figures(document, point, speeds)
            ),
            *(
                (f"{line}.{name}", value_of(said, name), value)
                for said, (line, on_line) in zip(stated["lines"], by_line.items(), strict=True)
                for name, value in _of_line(document, on_line, speeds.get(line, {}))
            ),
        )
        if not (said == made if isinstance(made, str) else agree(said, made))
    ]


def value_of(said: Document, name: str) -> Any:
    """The value in the record, or in the record of the largest batch."""
    first, _, rest = name.partition(".")
    return (said[first] or {}).get(rest) if rest else said[first]


def _line(point: Document) -> Line:
    return tuple(point[name] for name in WAY)


def _speeds(document: Document) -> Speeds:
    found: Speeds = {}
    for point in document["points"]:
        if point["status"] == "ok":
            found.setdefault(_line(point), {})[point["batch"]] = point["batch"] / _time_s(point)
    return found


def _time_s(point: Document) -> float:
    """The median of the blocks that count: of the last size, not the first, and settled."""
    (one,) = point["rounds"]
    times, sizes = one["passes_s"], one["block_passes"]
    if len(times) == 1:
        return float(times[0])
    changes = [place for place in range(1, len(sizes)) if sizes[place] != sizes[place - 1]]
    times = times[max(changes, default=1) :]
    settled = 1.02 * median(times[len(times) // 2 :])
    while times[0] > settled:
        times = times[1:]
    return median(times)


def _figures(
    document: Document, point: Document, speeds: Speeds
) -> Iterator[tuple[str, float | str | None]]:
    yield "status", point["status"]
    if point["status"] != "ok":
        return
    line, batch, time_s = _line(point), point["batch"], _time_s(point)
    speed, own = batch / time_s, speeds[line]
    yield "step_ms", 1000 * time_s
    yield "images_per_s", speed
    smaller = [other for other in own if other < batch]
    yield "scaling", speed / own[max(smaller)] if smaller else None
    network, mode, backend, precision, xla = line
    fp32 = speeds.get((network, mode, backend, "fp32", xla), {})
    yield "precision_speedup", _ratio(own, fp32).get(batch) if precision != "fp32" else None
    plain = speeds.get((network, mode, backend, precision, "off"), {})
    by_batch = _ratio(own, plain) if xla == "on" else {}
    yield "xla_speedup", by_batch.get(batch)
    yield "xla_below_neighbours", _below(by_batch, batch) if batch in by_batch else None
    forward = GFLOP[network] * speed / 1000
    yield "tflops", 3 * forward if mode == "training" else forward
    (one,) = point["rounds"]
    yield "peak_device_bytes", one.get("peak_device_bytes") or None
    watched = one.get("telemetry") or {"duration_s": 0}
    energy_j = watched.get("totals", {}).get(f"{document['device']['kind']}_energy_j", 0)
    energy_j /= sum(one["block_passes"]) - watched.get("unwatched_passes", 0)
    known = watched["duration_s"] >= 1 and energy_j >= 1e-9
    yield "images_per_j", batch / energy_j if known else None


def _ratio(values: Mapping[int, float], base: Mapping[int, float]) -> dict[int, float]:
    return {batch: values[batch] / base[batch] for batch in sorted(values) if batch in base}


def _below(ratios: Mapping[int, float], batch: int) -> float | None:
    """How many times lower than the neighbours say, from 1.25 on."""
    others = [other for other in ratios if other != batch]
    if len(others) < 2:
        return None
    smaller = [other for other in others if other < batch]
    larger = [other for other in others if other > batch]
    if smaller and larger:
        low, high = smaller[-1], larger[0]
        share = (log(batch) - log(low)) / (log(high) - log(low))
        expected = exp(log(ratios[low]) + share * (log(ratios[high]) - log(ratios[low])))
    else:
        expected = min(ratios[other] for other in (larger[:2] or smaller[-2:]))
    times = expected / ratios[batch]
    return times if times >= 1.25 else None


def _of_line(
    document: Document, points: list[Document], own: Mapping[int, float]
) -> Iterator[tuple[str, float | str | None]]:
    best = min(own, key=lambda batch: (-own[batch], batch), default=None)
    speed = None if best is None else own[best]
    yield "best_batch", best
    yield "best_images_per_s", speed
    price, memory = document["run"].get("price"), document["device"].get("memory_bytes")
    yield "per_price", speed / price["amount"] if speed and price else None
    yield "per_gib", speed * 2**30 / memory if speed and memory else None
    if not document["selection"]["largest"]:
        yield "largest", None
        return
    largest = max(own, default=None)
    tried = {"oom", "crash", "timeout", "invalid_output"}
    beyond = [
        point["batch"]
        for point in points
        if point["status"] in tried and point["batch"] > (largest or 0)
    ]
    yield "largest.batch", largest
    yield "largest.beyond", min(beyond, default=None)


def _progress(document: Document) -> str:
    if document["run"].get("interrupted"):
        return "interrupted"
    ok = {point["id"] for point in document["points"] if point["status"] == "ok"}
    lines = {_line(point) for point in document["points"]}
    whole = ok.issuperset(document["run"]["requested"]) and lines == set(_speeds(document))
    return "complete" if whole else "partial"
