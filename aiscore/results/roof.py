"""What a result's device could do, and how near to that each test came."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from statistics import median

from aiscore.results.model import Result, RoofSummary, TestRecord, TestSummary
from aiscore.scoring.roofline import Bound, Roof, Work, bound, shares
from aiscore.spec import Mode, Precision, Probe, Protocol, TestSpec
from workloads.suite import NETWORKS, TESTS

GIGA, TERA, MICRO = 1e9, 1e12, 1e-6
MS_PER_S = 1000
FLOAT32 = (Precision.DEFAULT, Precision.FP32, Precision.TF32)
HALF = (Precision.FP16, Precision.BF16)
FLOAT64_BYTES, FLOAT32_BYTES = 8, 4
# A limit is what was reached once, an estimate what is usual.
TIMES: dict[Probe, Callable[[list[float]], float]] = {
    Probe.ARITHMETIC: min,
    Probe.MEMORY: min,
    Probe.LAUNCH: median,
    Probe.FEED: median,
    Probe.FETCH: median,
}
Rates = dict[tuple[Probe, Precision | None], float]


def rates(result: Result) -> Rates:
    """What each probe found, per second."""
    probes = result.roof.probes if result.roof else []
    return {
        (probe.kind, probe.precision): probe.work / TIMES[probe.kind](probe.passes_s)
        for probe in probes
        if probe.work and probe.passes_s
    }


def roof_summary(result: Result) -> RoofSummary | None:
    """The same in the units of people; None where nothing was measured."""
    found = rates(result)
    if not found:
        return None

    def gigabytes(kind: Probe) -> float | None:
        rate = found.get((kind, None))
        return None if rate is None else rate / GIGA

    launches = found.get((Probe.LAUNCH, None))
    return RoofSummary(
        tflops={
            precision.value: rate / TERA
            for (kind, precision), rate in found.items()
            if kind is Probe.ARITHMETIC and precision
        },
        memory_gb_s=gigabytes(Probe.MEMORY),
        feed_gb_s=gigabytes(Probe.FEED),
        fetch_gb_s=gigabytes(Probe.FETCH),
        launch_us=None if launches is None else 1 / launches / MICRO,
    )


def place_tests(
    result: Result, tests: Sequence[TestSummary], host_share: Mapping[str, float]
) -> list[TestSummary]:
    """The figures of a result's tests, with what each that has a score made of the device.

    A host's share that was measured takes the place of the estimate.
    """
    roof, specs = _roof(result), {spec.id: spec for spec in TESTS[result.suite]}
    return [
        _placed(
            test,
            _work(record, specs[test.id], result.options.precision),
            roof,
            host_share.get(test.id),
        )
        for record, test in zip(result.tests, tests, strict=True)
    ]


def _placed(test: TestSummary, work: Work, roof: Roof, host_share: float | None) -> TestSummary:
    if test.score is None or test.time_ms is None:
        return test
    time_s = test.time_ms / MS_PER_S
    found = shares(work, roof, time_s)
    if host_share is not None:
        found[Bound.HOST] = host_share
    figures = {
        "tflops": work.flop / time_s / TERA,
        "roof_shares": {resource.value: share for resource, share in found.items()},
        "bound": bound(found).value,
    }
    return test.model_copy(update=figures)


def _roof(result: Result) -> Roof:
    """What counts for its tests. Nothing is fed or fetched while data is resident."""
    found = rates(result)
    classic = result.protocol is Protocol.CLASSIC
    return Roof(
        flop=_flop(found, result.options.precision),
        memory_bytes=found.get((Probe.MEMORY, None)),
        operations=found.get((Probe.LAUNCH, None)),
        fed_bytes=found.get((Probe.FEED, None)) if classic else None,
        fetched_bytes=found.get((Probe.FETCH, None)) if classic else None,
    )


def _flop(found: Rates, precision: Precision) -> float | None:
    """The default may do what fp32 and tf32 do; PyTorch has TF32 in convolutions alone."""
    within_reach = FLOAT32 if precision is Precision.DEFAULT else (precision,)
    measured = (found.get((Probe.ARITHMETIC, reached)) for reached in within_reach)
    return max((rate for rate in measured if rate is not None), default=None)


def _work(test: TestRecord, spec: TestSpec, precision: Precision) -> Work:
    """What a pass does by the suite's table, with the operations that a worker counted."""
    training = spec.mode is Mode.TRAINING
    sweeps = 1 + NETWORKS[spec.network].backward if training else 1
    output = prod(spec.target) * spec.batch if spec.target else 0
    counts = [record.operations for record in test.ok_rounds if record.operations is not None]
    return Work(
        flop=sweeps * spec.gflop * GIGA,
        memory_bytes=sweeps * spec.gigabytes * GIGA / (2 if precision in HALF else 1),
        operations=max(counts, default=None),
        fed_bytes=FLOAT64_BYTES * (prod(spec.input) * spec.batch + (output if training else 0)),
        fetched_bytes=0 if training else FLOAT32_BYTES * output,
    )
