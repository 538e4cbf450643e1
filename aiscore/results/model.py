"""The result file: versioned, strict, and complete enough to recompute everything.

Raw samples and what was asked for are stored; scores are derived from them
(``aiscore.results.summary``) and are recomputed whenever a file is loaded.
Times are seconds, sizes are bytes, instants are UTC in ISO 8601.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, NonNegativeInt

from aiscore.scoring import resident, score
from aiscore.spec import DeviceKind, Mode, Precision, Probe, Protocol, Status, Suite, TestSpec

SCHEMA_VERSION: Literal[1] = 1

# Numbers that are computed with have bounds, far beyond all measurements, within which no
# arithmetic overflows: a file may hold anything.
PassSeconds = Annotated[float, Field(ge=-1e9, le=1e9)]
PrintedMilliseconds = Annotated[float, Field(ge=0, le=1e12)]
Count = Annotated[int, Field(ge=1, lt=1 << 63)]
PassCount = Annotated[int, Field(ge=1, lt=1 << 31)]
Bytes = Annotated[int, Field(ge=0, lt=1 << 63)]
Amount = Annotated[float, Field(ge=1e-9, le=1e15)]
Reading = Annotated[float, Field(ge=-1e21, le=1e21)]
ProbeSeconds = Annotated[float, Field(ge=1e-9, le=1e9)]
ProbeWork = Annotated[float, Field(ge=1, le=1e21)]
LONGEST_HEADLINE = 300  # letters


class Strict(BaseModel):
    """Frozen, and closed to fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DeviceRecord(Strict):
    """The device under test. ``automatic``: nobody asked for it by name."""

    kind: DeviceKind
    index: int
    name: str
    uuid: str | None = None
    memory_bytes: Bytes | None = None
    automatic: bool = False


class PolicyRecord(Strict):
    """The timing policy in force (``aiscore.spec.Policy``)."""

    protocol: Protocol
    passes: Count
    min_passes: Count
    max_seconds: NonNegativeFloat
    hard_limit_s: NonNegativeFloat
    early_stop: bool = False
    block_seconds: Amount | None = None

    def in_words(self) -> dict[str, Any]:
        """Its fields but the protocol, by their names in words."""
        prefix = "" if self.protocol is Protocol.CLASSIC else f"{self.protocol} "
        return {
            prefix + name.replace("_", " "): value
            for name, value in self.model_dump(exclude={"protocol"}).items()
        }


class OptionsRecord(Strict):
    """What the user changed of the way the backend runs."""

    memory_fraction: float | None = None
    precision: Precision = Precision.DEFAULT
    xla: bool = False


class EnvironmentRecord(Strict):
    """The machine and the stack, name to value as read; ``unknown: reason`` if not readable."""

    host: dict[str, str]
    gpus: list[dict[str, str]] = Field(default_factory=list)
    software: dict[str, str]
    variables: dict[str, str] = Field(default_factory=dict)


class ProbeRecord(Strict):
    """Work of known size, timed again and again, or the ``problem`` that it was not.

    ``work`` is what one pass does: floating-point operations (arithmetic),
    bytes (memory, feed, fetch) or operations (launch).
    """

    kind: Probe
    precision: Precision | None = None
    work: ProbeWork | None = None
    passes_s: list[ProbeSeconds] = Field(default_factory=list)
    problem: str | None = None


class RoofRecord(Strict):
    """What the device could do before the tests (``aiscore.roof``)."""

    probes: list[ProbeRecord]
    problem: str | None = None


class ErrorRecord(Strict):
    """Why a test is not ok, with the last lines of its worker's log."""

    type: str
    message: str
    log: list[str] = Field(default_factory=list)

    @property
    def headline(self) -> str:
        """The message's first line, or its beginning: compilers say pages."""
        lines = self.message.strip().splitlines() or [""]
        first = lines[0].rstrip()
        cut = len(lines) > 1 or len(first) > LONGEST_HEADLINE
        return f"{first[:LONGEST_HEADLINE]}{' ...' if cut else ''}"

    @property
    def reason(self) -> str:
        """Its type and its headline."""
        return f"{self.type}: {self.headline}"


class SeriesRecord(Strict):
    """The samples of one sensor, reduced."""

    min: Reading
    median: Reading
    max: Reading


class TelemetryRecord(Strict):
    """What the sensors said during the passes of a round (``aiscore.system.monitor``).

    ``unwatched_passes``: how many were over before. ``shares``: in what part of the
    samples something was the case. ``totals``: counted over the watched passes.
    ``cost_s``: the processor time that reading the sensors took. What could not be
    read is absent.
    """

    unwatched_passes: NonNegativeInt = 0
    duration_s: NonNegativeFloat
    samples: NonNegativeInt
    cost_s: NonNegativeFloat
    series: dict[str, SeriesRecord] = Field(default_factory=dict)
    shares: dict[str, Reading] = Field(default_factory=dict)
    totals: dict[str, Reading] = Field(default_factory=dict)


class RoundRecord(Strict):
    """One round of one test: every pass in order, the first one included.

    ``status`` is how this round of it ended; one that is not ok counts for nothing.
    Under the resident protocol passes are timed in blocks: ``passes_s`` has the
    mean pass of each, ``block_passes`` their number.
    """

    round: Count
    status: Status = Status.OK
    passes_s: list[PassSeconds] = Field(default_factory=list)
    block_passes: list[PassCount] = Field(default_factory=list)
    prepare_s: PassSeconds | None = None
    peak_rss_bytes: Bytes | None = None
    peak_device_bytes: Bytes | None = None
    operations: Annotated[int, Field(ge=0, le=10**12)] | None = None
    telemetry: TelemetryRecord | None = None

    @property
    def passes(self) -> int:
        """How many there were."""
        return sum(self.block_passes) if self.block_passes else len(self.passes_s)

    @property
    def counted_s(self) -> Sequence[float]:
        """The passes, or mean passes of blocks, that count."""
        if self.block_passes:
            return resident.counted(self.block_passes, self.passes_s)
        return score.counted(self.passes_s)


class PrintedTime(Strict):
    """A test's time as a log printed it: rounded to ``digits`` decimals, its passes unknown."""

    mean_ms: PrintedMilliseconds
    std_ms: PrintedMilliseconds | None = None
    digits: Annotated[int, Field(ge=0, le=9)]


class TestRecord(Strict):
    """One test as it was asked for and what became of it under one protocol.

    An imported test has a ``printed`` time instead of rounds.
    """

    __test__ = False

    id: str
    network: str
    title: str
    mode: Mode
    protocol: Protocol = Protocol.CLASSIC
    batch: Count
    input: list[Count]
    status: Status
    rounds: list[RoundRecord] = Field(default_factory=list)
    printed: PrintedTime | None = None
    error: ErrorRecord | None = None

    @classmethod
    def of(
        cls,
        test: TestSpec,
        status: Status,
        *,
        protocol: Protocol = Protocol.CLASSIC,
        rounds: Iterable[RoundRecord] = (),
        printed: PrintedTime | None = None,
        error: ErrorRecord | None = None,
    ) -> "TestRecord":
        """The record of a test as the suite has it."""
        return cls(
            id=test.id,
            network=test.network,
            title=test.title,
            mode=test.mode,
            protocol=protocol,
            batch=test.batch,
            input=list(test.input),
            status=status,
            rounds=list(rounds),
            printed=printed,
            error=error,
        )

    @property
    def ok_rounds(self) -> list[RoundRecord]:
        """The rounds that count."""
        return [record for record in self.rounds if record.status is Status.OK]


class ResidentRecord(Strict):
    """The resident half of a run under both protocols."""

    policy: PolicyRecord
    tests: list[TestRecord] = Field(default_factory=list)


class PriceRecord(Strict):
    """What a device costs, as its user says."""

    amount: Amount
    currency: str = Field(min_length=1, max_length=12)


class RunRecord(Strict):
    """How the result came about. ``requested`` holds the ids of the tests asked for.

    There were ``rounds`` at most. A test that took longer than ``timeout_s``
    altogether was ended. Duration and seed are None where a
    log does not say them.
    """

    id: str
    started_at: str
    duration_s: NonNegativeFloat | None
    import_s: NonNegativeFloat | None = None
    arguments: list[str]
    requested: list[str]
    quick: bool = False
    label: str | None = None
    seed: int | None
    rounds: Count = 1
    timeout_s: NonNegativeFloat | None = None
    resumed_at: list[str] = Field(default_factory=list)
    interrupted: bool = False
    price: PriceRecord | None = None


class ImportRecord(Strict):
    """The log of ai-benchmark that an imported result was read from.

    ``printed_scores`` are what the log printed; they are never the result's scores.
    """

    log: str
    sha256: str
    first_line: Count
    last_line: Count
    version: str | None = None
    printed_scores: dict[str, int] = Field(default_factory=dict)


class ScoreRecord(Strict):
    """One score. ``value`` only when all of its own tests are ok.

    ``estimate_error`` is relative: the estimate holds within this part of it.
    """

    value: int | None
    partial_value: int | None = None
    estimate: int | None = None
    estimate_error: float | None = None
    interval: tuple[float, float] | None = None
    interval_kind: Literal["rounds", "passes", "rounding"] | None = None
    tests_ok: int
    tests_expected: int


class TestSummary(Strict):
    """The derived figures of one test, in milliseconds.

    ``time_ms`` is what its score is made of: the mean in ``classic``, the median
    in ``resident``. ``first_ms`` is the first pass, which compiles. ``steady``:
    its passes had settled when they counted (``aiscore.scoring.validity``); None
    where too few count to tell. ``roof_shares``: what each resource needs of its
    time at the least, and ``bound`` what most of it goes to
    (``aiscore.scoring.roofline``); None where no roof was measured.
    """

    __test__ = False

    id: str
    network: str
    mode: Mode
    status: Status
    passes: int | None
    mean_ms: float | None
    median_ms: float | None
    std_ms: float | None
    first_ms: float | None
    time_ms: float | None = None
    energy_per_pass_j: float | None = None
    steady: bool | None = None
    tflops: float | None = None
    roof_shares: dict[str, float] | None = None
    bound: str | None = None
    score: int | None


class CheckRecord(Strict):
    """A validity check (``aiscore.scoring.validity``); ``tests`` are those beyond the limit."""

    name: str
    ok: bool
    value: float | str
    limit: float | str
    meaning: str
    advice: str
    tests: list[str] = Field(default_factory=list)


Progress = Literal["complete", "partial", "interrupted"]


class ResidentSummary(Strict):
    """The same of the resident half of a run under both protocols.

    ``host_share``: by test that is ok under both, what part of a classic pass
    is not there in a resident one.
    """

    status: Progress
    scores: dict[str, ScoreRecord | None]
    checks: list[CheckRecord]
    tests: list[TestSummary]
    host_share: dict[str, float]


class RoofSummary(Strict):
    """What the device's probes found; ``launch_us`` is the time of one operation."""

    tflops: dict[str, float]
    memory_gb_s: float | None
    feed_gb_s: float | None
    fetch_gb_s: float | None
    launch_us: float | None


class Summary(Strict):
    """Everything derived; the keys of ``aiscore show --json`` (docs/result-file.md)."""

    status: Progress
    comparable_with_leaderboard: bool
    not_comparable_because: list[str]
    scores: dict[str, ScoreRecord | None]
    checks: list[CheckRecord] = Field(default_factory=list)
    roof: RoofSummary | None = None
    tests: list[TestSummary]
    resident: ResidentSummary | None = None


class Result(Strict):
    """One result file. ``suite_sha256``: of its suite's tests and reference times.

    Of a run under both protocols, ``protocol``, ``policy`` and ``tests`` are the
    classic ones.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    aiscore_version: str
    suite: Suite
    suite_sha256: str | None = None
    protocol: Protocol
    backend: str
    device: DeviceRecord
    policy: PolicyRecord
    options: OptionsRecord
    environment: EnvironmentRecord
    roof: RoofRecord | None = None
    run: RunRecord
    imported: ImportRecord | None = None
    tests: list[TestRecord]
    resident: ResidentRecord | None = None
    summary: Summary | None = None

    @property
    def parts(self) -> list["Result"]:
        """One result for each protocol of the run, the first of them without the other."""
        if self.resident is None:
            return [self]
        alone = {"resident": None, "summary": None}
        half = {
            "protocol": Protocol.RESIDENT,
            "policy": self.resident.policy,
            "tests": self.resident.tests,
        }
        return [self.model_copy(update=alone), self.model_copy(update={**alone, **half})]

    @property
    def records(self) -> list[TestRecord]:
        """The tests under every protocol of the run."""
        return [*self.tests, *(self.resident.tests if self.resident else [])]

    def with_records(self, records: Iterable[TestRecord]) -> "Result":
        """The same with these records in place of its own."""
        given = list(records)
        if self.resident is None:
            return self.model_copy(update={"tests": given})
        mine = [record for record in given if record.protocol is self.protocol]
        others = [record for record in given if record.protocol is not self.protocol]
        resident_half = self.resident.model_copy(update={"tests": others})
        return self.model_copy(update={"tests": mine, "resident": resident_half})
