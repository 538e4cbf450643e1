"""Console logs of ai-benchmark and its forks, read into results.

A log is read line by line, whatever stands between the benchmark's own lines.
A test is known by its network's title, mode, batch and size, never by its
number. What looks like the benchmark's but cannot be read is kept as unread,
with the reason; nothing is made up for it. Printed scores are kept beside the
result and never taken for its scores.
"""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import partial

from aiscore import __version__
from aiscore.results import log_text
from aiscore.results.model import (
    DeviceRecord,
    EnvironmentRecord,
    ErrorRecord,
    ImportRecord,
    OptionsRecord,
    PolicyRecord,
    PrintedTime,
    Result,
    RunRecord,
    TestRecord,
)
from aiscore.results.reference import suite_sha256
from aiscore.results.summary import rounding_band, summarise
from aiscore.spec import DeviceKind, Mode, Policy, Status, Suite, TestSpec
from workloads.suite import NETWORKS, TESTS

NOT_SAID = "unknown: the log does not say"
LONGEST = 500  # characters of an error's message that are kept

FACTS = r"TF Version|Platform|CPU|CPU RAM|GPU/\d+|GPU RAM|CUDA Version|CUDA Build"
STARRED_FACT = re.compile(rf"\*\s+({FACTS}):\s*(.*)")
BARE_FACT = re.compile(rf"^\W*({FACTS}):\s*(.*)")
TITLE = re.compile(r"AI-Benchmark-v\.?\s*([\w.]+)")
SECTION = re.compile(r"(?<![\w./-])\d{1,2}/\d{1,2}\.\s+(\S.*)")
TEST = re.compile(
    r"(inference|training)\s*\|\s*batch\s*=\s*([0-9]{1,6})\s*,"
    r"\s*size\s*=\s*([0-9]{1,6})\s*x\s*([0-9]{1,6})\s*:\s*(.*)",
    re.IGNORECASE,
)
# The plus-minus sign, and what it becomes where UTF-8 is taken for cp1252, cp437 or GBK,
# cp437 for cp1252, or nothing fits.
SIGN = r"(?:±|Â±|┬▒|卤|ñ|\+/?-|\?|\ufffd+)"
NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
TIME = re.compile(rf"{NUMBER}\s*(?:(?:ms,\s*std:|{SIGN})\s*{NUMBER}\s*)?ms")
SCORE = re.compile(
    r"Device\s+(Inference|Training|AI)\s+Score\s*:\s*([0-9]{1,9})(?![0-9])", re.IGNORECASE
)
LOOKS_LIKE_OURS = re.compile(
    r"\bbatch\s*=\s*\d|\d\.\d+\s+-\s+(?:inference|training)|Device\s+\w+\s+Score\s*:", re.IGNORECASE
)
CHATTER = re.compile(
    r"Let the AI Games begin|The benchmark is running|The tests might take up to"
    r"|don't interrupt the script|For more information and results"
    r"|(?:Inference|Training) Time: -?\d+ ms"
)
TRACEBACK = "Traceback (most recent call last)"
EXCEPTION = re.compile(r"^\W*((?:\w+\.)*\w*(?:Error|Exception|Interrupt))(?::\s*(.*))?$")
KILLED = re.compile(r"^\W*((?:Killed|Aborted|Segmentation fault|Bus error)\b.*)$")
OUT_OF_MEMORY = re.compile(r"ResourceExhausted|MemoryError|OOM|out of memory", re.IGNORECASE)
# Where lines ran together, as when a page is copied.
JOINT = re.compile(
    r"(?<=\S)\s+(?=\d{1,2}/\d{1,2}\.\s+[A-Z]|\d{1,2}\.\d\s+-\s+(?:inference|training)"
    rf"|Device\s+\w+\s+Score\s*:|\*\s+(?:{FACTS}):|The benchmark is running)"
)
MARGIN = " \t,'\"`|"  # what quoting and tables leave around a value
MARKUP = re.compile(r"#+ ?|[*`\\]")


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that looks like the benchmark's but was not taken, and why."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Log:
    """What a log held: results, lines that were not taken, and how many others there were."""

    results: list[Result]
    unread: list[Unread]
    other_lines: int


@dataclass(slots=True)
class _Run:
    """One run of the benchmark while its lines are read."""

    version: str | None = None
    facts: dict[str, str] = field(default_factory=dict)
    gpus: list[dict[str, str]] = field(default_factory=list)
    suite: Suite | None = None
    section: str | None = None
    sections: set[str] = field(default_factory=set)
    tests: dict[str, TestRecord] = field(default_factory=dict)
    printed_scores: dict[str, int] = field(default_factory=dict)
    traceback: bool = False
    error: ErrorRecord | None = None
    lines: list[int] = field(default_factory=list)

    def begun(self) -> bool:
        """Whether more than a heading was read: what follows a heading is another run."""
        return bool(self.sections or self.tests or self.printed_scores)


def read_log(data: bytes, name: str) -> Log:
    """The results in a log, none if it holds no time; ``name`` is what the file is called."""
    reader = _Reader()
    for number, line in log_text.lines(data):
        reader.take(number, line)
    digest = hashlib.sha256(data).hexdigest()
    runs, unread = [], reader.unread
    for run in reader.runs:
        if any(test.printed for test in run.tests.values()):
            runs.append(run)
        elif run.printed_scores:
            scores = ", ".join(map(str, run.printed_scores.values()))
            unread.append(Unread(run.lines[-1], scores, "a score without times is none"))
    return Log(
        [_result(run, name, digest, index) for index, run in enumerate(runs, start=1)],
        sorted(unread, key=lambda item: item.line),
        reader.other_lines,
    )


def score_mismatches(result: Result) -> list[str]:
    """Where a score that the log printed is not one that its times can give."""
    if result.imported is None:
        return []
    timed = [test for test in result.tests if test.printed]
    found = {
        mode.value: [test for test in timed if test.mode is mode]
        for mode in Mode
        if result.suite is Suite.FULL
    }
    bands = {
        name: rounding_band(tests, result.suite) if tests else (0, 0)
        for name, tests in (found or {"micro": timed}).items()
    }
    if found:
        (low, high), (lower, higher) = bands.values()
        bands["ai"] = (low + lower, high + higher)
    return [
        f"it printed {name} score {printed}, but its {len(timed)} times give "
        + (f"{low}" if low == high else f"{low} to {high}")
        for name, printed in result.imported.printed_scores.items()
        for low, high in [bands.get(name, (0, 0))]
        if not low <= printed <= high
    ]


class _Reader:
    """Takes a log line by line."""

    def __init__(self) -> None:
        self.runs = [_Run()]
        self.unread: list[Unread] = []
        self.other_lines = 0

    @property
    def run(self) -> _Run:
        """The run that is being read."""
        return self.runs[-1]

    def take(self, number: int, line: str) -> None:
        """One line, or several that ran together."""
        taken = [self._take(number, piece) for piece in JOINT.split(line)]
        if not any(taken) and re.search(r"\w", line):
            self.other_lines += 1

    def _take(self, number: int, line: str) -> bool:
        """Whether the line is the benchmark's, be it taken or kept as unread."""
        plain = MARKUP.sub("", line)
        step = self._step(line, plain)
        if step is None and not LOOKS_LIKE_OURS.search(plain):
            return bool(CHATTER.search(line))
        problem = step() if step else "not whole"
        if problem is None:
            self.run.lines.append(number)
        else:
            self.unread.append(Unread(number, line.strip(), problem))
        return True

    def _step(self, line: str, plain: str) -> Callable[[], str | None] | None:
        """What to do with a line of the benchmark; it returns why the line was not taken."""
        if found := TITLE.search(plain):
            return partial(self._take_title, found.group(1))
        if found := self._fact(line, plain):
            return partial(self._take_fact, found.group(1), found.group(2).strip(MARGIN))
        if found := SECTION.search(plain):
            return partial(self._take_section, found.group(1))
        if found := TEST.search(plain):
            return partial(self._take_test, *found.groups())
        if scores := SCORE.findall(plain):
            return partial(self._take_scores, scores)
        if TRACEBACK in line:
            return self._take_traceback
        if found := KILLED.search(line):
            return partial(self._take_error, "Killed", found.group(1))
        if self.run.traceback and (found := EXCEPTION.search(line)):
            return partial(self._take_error, found.group(1), found.group(2) or "")
        return None

    def _next_run_if(self, condition: bool) -> None:
        if condition:
            self.runs.append(_Run())

    def _fact(self, line: str, plain: str) -> re.Match[str] | None:
        """A line of the heading; without its asterisk, only where a heading is being read."""
        if found := STARRED_FACT.search(line):
            return found
        found = BARE_FACT.search(plain)
        inside = "TF Version" in self.run.facts and not self.run.begun()
        return found if found and (inside or found.group(1) == "TF Version") else None

    def _take_title(self, version: str) -> None:
        self._next_run_if(self.run.begun() or bool(self.run.facts))
        self.run.version = version.strip(".")

    def _take_fact(self, name: str, value: str) -> None:
        self._next_run_if(self.run.begun() or (name == "TF Version" and name in self.run.facts))
        if name.startswith("GPU/"):
            self.run.gpus.append({"name": value})
        elif name == "GPU RAM" and self.run.gpus:
            self.run.gpus[-1]["memory for tensorflow"] = value
        else:
            self.run.facts[name] = value

    def _take_section(self, title: str) -> str | None:
        """A network's heading; one that was there before begins another run."""
        network = _network(title)
        self._next_run_if(bool(self.run.printed_scores) or network in self.run.sections)
        self._went_on()
        self.run.section = network
        if network is None:
            return "no network of the suite"
        self.run.sections.add(network)
        return None

    def _take_test(self, mode: str, batch: str, height: str, width: str, rest: str) -> str | None:
        run = self.run
        self._went_on()
        if run.section is None:
            return "no network stands above it"
        key = (run.section, Mode(mode.lower()), int(batch), int(height), int(width))
        suite, spec = KEYS.get(key, (None, None))
        if suite is None or spec is None:
            return "no test of the suite is like that"
        if run.suite not in (None, suite):
            return f"a test of the {suite} suite in a run of the {run.suite} suite"
        if spec.id in run.tests:
            return "it was there before"
        record = _test_record(spec, rest)
        if isinstance(record, str):
            return record
        run.suite = suite
        run.tests[spec.id] = record
        return None

    def _take_scores(self, scores: Iterable[tuple[str, str]]) -> str | None:
        self._went_on()
        for title, value in scores:
            micro = self.run.suite is Suite.MICRO and title.lower() == "inference"
            name = "micro" if micro else title.lower()
            if self.run.printed_scores.setdefault(name, int(value)) != int(value):
                return "another score than the one before"
        return None

    def _take_traceback(self) -> None:
        self.run.traceback = True

    def _take_error(self, kind: str, message: str) -> None:
        """The last line of a traceback, or what the shell says of a killed process."""
        self.run.error = ErrorRecord(type=kind[:LONGEST], message=message[:LONGEST])

    def _went_on(self) -> None:
        """An error that the benchmark outlived ended no test."""
        self.run.traceback = False
        self.run.error = None


def _keys() -> dict[tuple[str, Mode, int, int, int], tuple[Suite, TestSpec]]:
    return {
        (spec.network, spec.mode, spec.batch, spec.input[0], spec.input[1]): (suite, spec)
        for suite, specs in TESTS.items()
        for spec in specs
    }


KEYS = _keys()


def _letters(title: str) -> str:
    return re.sub(r"[^a-z0-9]", "", title.lower())


def _network(title: str) -> str | None:
    """The network whose title this is, or begins with where another line ran into it."""
    found = [
        network.name
        for network in NETWORKS.values()
        if _letters(title).startswith(_letters(network.title))
    ]
    return found[0] if len(found) == 1 else None


def _test_record(spec: TestSpec, rest: str) -> TestRecord | str:
    """The test with its printed time, or why there is none.

    A status in place of the time is what ``aiscore.compat`` prints.
    """
    word = rest.strip(MARGIN).lower()
    if word in set(Status) - {Status.OK}:
        error = ErrorRecord(type="Printed", message="the log gives a status and no reason")
        return TestRecord.of(spec, Status(word), error=error)
    found = TIME.match(rest)
    if found is None:
        return "no time"
    mean, std = found.groups()
    if float(mean) == 0:
        return "a time of 0 ms is none"
    printed = PrintedTime(
        mean_ms=float(mean),
        std_ms=None if std is None else float(std),
        digits=len(mean.partition(".")[2]),
    )
    return TestRecord.of(spec, Status.OK, printed=printed)


def _result(run: _Run, name: str, digest: str, index: int) -> Result:
    suite = run.suite or Suite.FULL
    failed = _failed(run, suite)
    tests = {**run.tests, **({failed.id: failed} if failed else {})}
    records = [tests[spec.id] for spec in TESTS[suite] if spec.id in tests]
    policy = Policy()
    return summarise(
        Result(
            aiscore_version=__version__,
            suite=suite,
            suite_sha256=suite_sha256(suite),
            protocol=policy.protocol,
            backend="tensorflow",
            device=_device(run),
            policy=PolicyRecord(**asdict(policy)),
            options=OptionsRecord(),
            environment=_environment(run),
            run=RunRecord(
                id=hashlib.sha256(f"{digest} {index}".encode()).hexdigest()[:32],
                started_at=NOT_SAID,
                duration_s=None,
                arguments=["import", name],
                requested=[record.id for record in records],
                seed=None,
                interrupted=failed is not None and failed.status is Status.INTERRUPTED,
            ),
            imported=ImportRecord(
                log=name,
                sha256=digest,
                first_line=run.lines[0],
                last_line=run.lines[-1],
                version=run.version,
                printed_scores=run.printed_scores,
            ),
            tests=records,
        )
    )


def _failed(run: _Run, suite: Suite) -> TestRecord | None:
    """The test that an error ended: the next one of the network that was at work.

    A run that had only one kind of test so far is taken to have only that kind,
    unless it never came to the end of a network.
    """
    if run.error is None or run.section is None:
        return None
    specs = {spec.id: spec for spec in TESTS[suite]}
    modes = {specs[test].mode for test in run.tests}
    if modes == {Mode.INFERENCE} and len(run.sections) == 1:
        modes = set(Mode)
    for spec in specs.values():
        if spec.network == run.section and spec.mode in modes and spec.id not in run.tests:
            return TestRecord.of(spec, _status(run.error), error=run.error)
    return None


def _status(error: ErrorRecord) -> Status:
    if error.type.endswith("Interrupt"):
        return Status.INTERRUPTED
    found = OUT_OF_MEMORY.search(f"{error.type} {error.message}")
    return Status.OOM if found else Status.CRASH


def _device(run: _Run) -> DeviceRecord:
    """The first GPU; the CPU where a heading names no GPU; unknown without a heading."""
    if run.gpus:
        name = run.gpus[0]["name"] or "unknown GPU"
        return DeviceRecord(kind=DeviceKind.GPU, index=0, name=name)
    if "TF Version" in run.facts:
        cpu = run.facts.get("CPU", "")
        name = "unknown CPU" if cpu in ("", "N/A") else cpu
        return DeviceRecord(kind=DeviceKind.CPU, index=0, name=name)
    return DeviceRecord(kind=DeviceKind.UNKNOWN, index=0, name="unknown device")


def _environment(run: _Run) -> EnvironmentRecord:
    facts = {
        name: "unknown: printed as N/A" if value == "N/A" else value
        for name, value in run.facts.items()
    }
    names = {"Platform": "platform", "CPU": "cpu", "CPU RAM": "memory"}
    software = {"TF Version": "tensorflow", "CUDA Version": "cuda", "CUDA Build": "cuda build"}
    return EnvironmentRecord(
        host={key: facts[name] for name, key in names.items() if name in facts},
        gpus=run.gpus,
        software={key: facts[name] for name, key in software.items() if name in facts},
    )
