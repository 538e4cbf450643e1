"""Results made to measure, for the tests."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from random import Random
from typing import Any

from aiscore.results.model import (
    DeviceRecord,
    EnvironmentRecord,
    ErrorRecord,
    OptionsRecord,
    PolicyRecord,
    ProbeRecord,
    ResidentRecord,
    Result,
    RoofRecord,
    RoundRecord,
    RunRecord,
    SeriesRecord,
    TelemetryRecord,
    TestRecord,
)
from aiscore.results.reference import reference_ms
from aiscore.spec import (
    RESIDENT_POLICY,
    DeviceKind,
    Precision,
    Probe,
    Protocol,
    Status,
    Suite,
    TestSpec,
)
from workloads.suite import TESTS

PASSES = 22
RESIDENT = PolicyRecord(**asdict(RESIDENT_POLICY))
PROTOCOL = {"passes": 22, "min_passes": 5, "max_seconds": 30.0, "hard_limit_s": 100.0}


def passes_s(mean_ms: float, wobble: float = 0.0, n: int = PASSES) -> list[float]:
    """A slow first pass, then passes around the mean: n - 1 of them, in turn below and above."""
    rest = [mean_ms * (1 + wobble * (-1) ** index) / 1000 for index in range(n - 1)]
    return [10 * mean_ms / 1000, *rest]


def record(
    spec: TestSpec, passes: Sequence[float] = (), status: Status = Status.OK, **changes: Any
) -> TestRecord:
    """One test of the suite with these passes."""
    error = None if status is Status.OK else ErrorRecord(type="Error", message=status.value)
    fields = {
        "id": spec.id,
        "network": spec.network,
        "title": spec.title,
        "mode": spec.mode,
        "batch": spec.batch,
        "input": list(spec.input),
        "status": status,
        "rounds": [RoundRecord(round=1, passes_s=list(passes))],
        "error": error,
    }
    return TestRecord(**{**fields, **changes})


def result(
    tests: Iterable[TestRecord] | None = None,
    *,
    suite: Suite = Suite.FULL,
    backend: str = "tensorflow",
    device: str = "NVIDIA H200",
    kind: DeviceKind = DeviceKind.GPU,
    protocol: Protocol = Protocol.CLASSIC,
    policy: Mapping[str, Any] | None = None,
    software: Mapping[str, str] | None = None,
    **run: Any,
) -> Result:
    """A whole run at the reference speed, or one with these tests, as the policy has them."""
    asked = at_speed(suite=suite) if tests is None else list(tests)
    longest = max((len(one.passes_s) for test in asked for one in test.rounds), default=0)
    rules = {**PROTOCOL, "passes": max(PASSES, longest), **(policy or {})}
    classic = PolicyRecord(protocol=Protocol.CLASSIC, **rules)
    if protocol is Protocol.RESIDENT:
        records = asked
    else:
        records = [_at_most(int(rules["passes"]), test) for test in asked]
    return Result(
        aiscore_version="0.1.0",
        suite=suite,
        protocol=protocol,
        backend=backend,
        device=DeviceRecord(kind=kind, index=0, name=device, automatic=True),
        policy=RESIDENT if protocol is Protocol.RESIDENT else classic,
        options=OptionsRecord(),
        environment=EnvironmentRecord(
            host={"cpu": "Intel Xeon Platinum 8468", "kernel": "6.8.0"},
            gpus=[{"name": device, "driver": "580.95"}],
            software=dict(software or {"python": "3.11.7", "tensorflow": "2.21.0"}),
        ),
        run=RunRecord(
            **{
                "id": "0b9b0bd2",
                "started_at": "2026-11-30T10:00:00Z",
                "duration_s": 369.0,
                "arguments": ["run"],
                "requested": [test.id for test in records],
                "seed": 42,
                "rounds": max((one.round for test in records for one in test.rounds), default=1),
                **run,
            }
        ),
        tests=records,
    )


def _at_most(passes: int, test: TestRecord) -> TestRecord:
    """The test without the passes that so many do not allow."""
    rounds = [one.model_copy(update={"passes_s": one.passes_s[:passes]}) for one in test.rounds]
    return test.model_copy(update={"rounds": rounds})


def resident(classic: Result, tests: Iterable[TestRecord]) -> Result:
    """The same run under both protocols, with these resident tests."""
    half = ResidentRecord(policy=RESIDENT, tests=list(tests))
    return classic.model_copy(update={"resident": half})


def at_speed(
    speed: float = 1.0,
    *,
    suite: Suite = Suite.FULL,
    only: Iterable[str] | None = None,
    wobble: float = 0.0,
    protocol: Protocol = Protocol.CLASSIC,
) -> list[TestRecord]:
    """The suite's tests, or only these, at so many times the reference speed."""
    wanted = None if only is None else set(only)
    blocks = [1] * PASSES if protocol is Protocol.RESIDENT else []
    return [
        record(
            spec,
            protocol=protocol,
            rounds=[
                RoundRecord(
                    round=1,
                    passes_s=passes_s(reference_ms(suite)[spec.id] / speed, wobble),
                    block_passes=blocks,
                )
            ],
        )
        for spec in TESTS[suite]
        if wanted is None or spec.id in wanted
    ]


def measured(seed: int, device: str = "NVIDIA H200") -> Result:
    """A result as large as a real one: no two passes alike, sensors read, a roof measured."""
    random = Random(seed)  # noqa: S311  no secret
    tests = [
        record(
            spec,
            rounds=[
                RoundRecord(
                    round=1,
                    passes_s=[  # to a nanosecond, as they are timed
                        round(reference_ms(Suite.FULL)[spec.id] / 1e3 * random.gauss(1, 0.02), 9)
                        for _ in range(PASSES)
                    ],
                    prepare_s=random.uniform(1, 9),
                    peak_rss_bytes=random.randrange(1 << 33),
                    peak_device_bytes=random.randrange(1 << 36),
                    operations=random.randrange(100, 3000),
                    telemetry=_telemetry(random),
                )
            ],
        )
        for spec in TESTS[Suite.FULL]
    ]
    made = result(tests, device=device, label=f"{device}, host {seed}")
    return made.model_copy(update={"roof": roof(random)})


def roof(random: Random) -> RoofRecord:
    """What the probes of a GPU server find, in as many passes as they make."""
    rates: dict[tuple[Probe, Precision | None], float] = {
        (Probe.ARITHMETIC, Precision.DEFAULT): 4e14,
        (Probe.ARITHMETIC, Precision.FP32): 5e13,
        (Probe.ARITHMETIC, Precision.FP16): 7e14,
        (Probe.MEMORY, None): 4e12,
        (Probe.LAUNCH, None): 2e5,
        (Probe.FEED, None): 5e9,
        (Probe.FETCH, None): 1e10,
    }
    return RoofRecord(
        probes=[
            ProbeRecord(
                kind=kind,
                precision=precision,
                work=rate / 20,
                passes_s=[round(random.uniform(0.05, 0.06), 9) for _ in range(10)],
            )
            for (kind, precision), rate in rates.items()
        ]
    )


def _telemetry(random: Random) -> TelemetryRecord:
    """Every sensor of a GPU server, with the digits that it gives."""
    gauges: dict[str, Callable[[], float]] = {
        "cpu_others_share": lambda: random.uniform(0, 0.05),
        "cpu_stolen_share": lambda: 0,
        "cpu_frequency_mhz": lambda: random.uniform(2000, 3800),
        "gpu_sm_clock_mhz": lambda: random.randrange(1200, 1980, 15),
        "gpu_memory_clock_mhz": lambda: 3201,
        "gpu_temperature_c": lambda: random.randrange(30, 70),
        "gpu_power_w": lambda: random.randrange(100_000, 700_000) * 0.001,
        "gpu_utilization_percent": lambda: random.randrange(101),
        "gpu_memory_used_bytes": lambda: random.randrange(1 << 20) << 16,
    }
    series = {
        name: SeriesRecord(min=low, median=middle, max=high)
        for name, gauge in gauges.items()
        for low, middle, high in [sorted(gauge() for _ in range(3))]
    }
    return TelemetryRecord(
        duration_s=random.uniform(1, 30),
        samples=random.randrange(2, 60),
        cost_s=random.uniform(0, 0.01),
        series=series,
        shares={"gpu_throttled": 0, "gpu_sw_power_cap": random.randrange(10) / 9},
        totals={"gpu_energy_j": random.randrange(10**7) * 0.001, "cpu_core_throttles": 0},
    )
