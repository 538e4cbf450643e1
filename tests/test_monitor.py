"""What is watched while a test runs, and how it is reduced."""

import sys
import threading
from types import SimpleNamespace

import pytest

from aiscore.spec import Device, DeviceKind
from aiscore.system import cpu_sensors, gpu_sensors, host, monitor
from aiscore.system.cpu_sensors import CpuSensors
from aiscore.system.gpu_sensors import GpuSensors
from aiscore.system.monitor import Monitor, Series
from aiscore.system.sensors import Sample

WORKER = 4711
NEVER_S = 3600
PATIENCE_S = 60
CARD = Device(kind=DeviceKind.GPU, index=1, name="NVIDIA H200", uuid="GPU-b2")
TICK_S = 0.01


class Thermometer:
    """Always says the same, and lets others wait for its second sample."""

    def __init__(self):
        self.worker = None
        self.samples = 0
        self.sampled_twice = threading.Event()

    def start(self, worker):
        self.worker = worker

    def sample(self):
        self.samples += 1
        if self.samples == 2:
            self.sampled_twice.set()
        return Sample({"temperature_c": 60.0}, {"hot": True})

    def totals(self):
        return {"alarms": 3.0}


def test_a_test_is_watched_from_its_begin_to_its_end():
    sensors = Thermometer()
    watching = Monitor([sensors], period_s=0.001)
    watching.begin(WORKER)
    assert sensors.sampled_twice.wait(PATIENCE_S)
    telemetry = watching.end()
    assert sensors.worker == WORKER
    assert telemetry is not None
    assert telemetry.samples == sensors.samples >= 2
    assert telemetry.series == {"temperature_c": Series(60, 60, 60)}
    assert telemetry.shares == {"hot": 1.0}
    assert telemetry.totals == {"alarms": 3.0}
    assert telemetry.cost_s > 0
    assert telemetry.duration_s > 0.001
    assert "monitor" not in {thread.name for thread in threading.enumerate()}


def test_a_test_shorter_than_the_period_has_no_samples_but_totals():
    watching = Monitor([Thermometer()], period_s=NEVER_S)
    watching.begin(WORKER)
    telemetry = watching.end()
    assert telemetry is not None
    assert (telemetry.samples, telemetry.series, telemetry.shares) == (0, {}, {})
    assert telemetry.totals == {"alarms": 3.0}


def test_what_had_not_begun_has_no_telemetry():
    watching = Monitor([Thermometer()])
    assert watching.end() is None
    watching.begin(WORKER)
    assert watching.end() is not None
    assert watching.end() is None


def test_sensors_are_read_twice_a_second_at_most():
    assert monitor.PERIOD_S >= 0.5


def test_gauges_become_series_and_flags_become_shares():
    samples = [
        Sample({"clock": 3.0, "power": 5.0}, {"throttled": True, "heat": True}),
        Sample({"clock": 1.0}, {"throttled": False}),
        Sample({"clock": 2.0}, {"throttled": False}),
        Sample({"clock": 9.0}, {"throttled": True}),
    ]
    assert monitor.series_of(samples) == {"clock": Series(1, 2.5, 9), "power": Series(5, 5, 5)}
    assert monitor.shares_of(samples) == {"throttled": 0.5, "heat": 0.25}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A kernel with two CPUs of which the first is ours, as far as its files are written."""
    monkeypatch.setattr(cpu_sensors, "PROC", tmp_path / "proc")
    monkeypatch.setattr(cpu_sensors, "CPUS", tmp_path / "cpu")
    monkeypatch.setattr(cpu_sensors, "POWERCAP", tmp_path / "powercap")
    monkeypatch.setattr(host, "POWER_SUPPLIES", tmp_path / "power_supply")
    monkeypatch.setattr(cpu_sensors.os, "sched_getaffinity", lambda pid: {0})
    monkeypatch.setattr(cpu_sensors.os, "sysconf", lambda name: 1 / TICK_S)
    clock = SimpleNamespace(monotonic=lambda: clock.now_s, process_time=lambda: clock.parent_s)
    clock.now_s = clock.parent_s = 0.0
    monkeypatch.setattr(cpu_sensors, "time", clock)

    def write(files, *, now_s=0.0, parent_s=0.0):
        clock.now_s, clock.parent_s = now_s, parent_s
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    return write


def processor_times(busy, steal=0, worker=0):
    """/proc/stat and the worker's own, in ticks; the other CPU is always busy."""
    return {
        "proc/stat": f"cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 {busy} 0 0 7 7 0 0 {steal} 0 0\n"
        f"cpu1 {100 * busy} 0 0 0 0 0 0 0 0 0\nintr 5 0 0",
        f"proc/{WORKER}/stat": f"{WORKER} (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 {worker} 0 0 0 20",
    }


def test_the_load_by_others_is_all_less_our_own(machine):
    machine(processor_times(busy=100))
    sensors = CpuSensors()
    sensors.start(WORKER)
    machine(processor_times(busy=190, steal=5, worker=60), now_s=1.0, parent_s=0.1)
    gauges = sensors.sample().gauges
    assert gauges == pytest.approx({"cpu_others_share": 0.2, "cpu_stolen_share": 0.05})
    machine(processor_times(busy=191, steal=5, worker=62), now_s=1.5, parent_s=0.1)
    assert sensors.sample().gauges["cpu_others_share"] == 0, "since the sample before"


def test_a_worker_that_is_gone_leaves_the_load_out(machine):
    machine({"proc/stat": processor_times(5)["proc/stat"]})
    sensors = CpuSensors()
    sensors.start(WORKER)
    assert sensors.sample().gauges == {}


def test_a_machine_that_tells_nothing_leaves_everything_out(machine):
    sensors = CpuSensors()
    sensors.start(WORKER)
    assert sensors.sample() == Sample()
    assert sensors.totals() == {}


def test_the_frequency_is_the_mean_of_a_few_cpus(machine, monkeypatch):
    monkeypatch.setattr(cpu_sensors.os, "sched_getaffinity", lambda pid: set(range(20)))
    machine({f"cpu/cpu{n}/cpufreq/scaling_cur_freq": 1000 * n for n in range(20)})
    sensors = CpuSensors()
    sensors.start(WORKER)
    assert sensors.sample().gauges == {"cpu_frequency_mhz": (0 + 3 + 6 + 9 + 12 + 15 + 18) / 7}


def test_throttle_events_are_counted_over_the_test(machine):
    counts = "cpu/cpu0/thermal_throttle"
    machine({f"{counts}/core_throttle_count": 5, f"{counts}/package_throttle_count": 7})
    sensors = CpuSensors()
    sensors.start(WORKER)
    machine({f"{counts}/core_throttle_count": 6, f"{counts}/package_throttle_count": 7})
    assert sensors.totals() == {"cpu_core_throttles": 1, "cpu_package_throttles": 0}


def test_the_energy_counter_of_the_processor_may_start_over(machine):
    package = "powercap/intel-rapl:0"
    machine({f"{package}/energy_uj": 9_000_000, f"{package}/max_energy_range_uj": 9_999_999})
    sensors = CpuSensors()
    sensors.start(WORKER)
    machine({f"{package}/energy_uj": 2_000_000})
    assert sensors.totals() == {"cpu_energy_j": pytest.approx(3)}


@pytest.mark.parametrize(
    ("supplies", "flags"),
    [
        ({"BAT0": "POWER_SUPPLY_STATUS=Discharging", "AC": "POWER_SUPPLY_ONLINE=0"}, True),
        ({"BAT0": "POWER_SUPPLY_STATUS=Charging", "AC": "POWER_SUPPLY_ONLINE=1"}, False),
        ({"BAT0": "POWER_SUPPLY_STATUS=Discharging", "USB": "POWER_SUPPLY_ONLINE=1"}, False),
        ({"AC": "POWER_SUPPLY_ONLINE=1"}, False),
        ({"mouse": "POWER_SUPPLY_SCOPE=Device\nPOWER_SUPPLY_STATUS=Discharging"}, None),
        ({}, None),
    ],
)
def test_a_machine_on_battery(machine, supplies, flags):
    machine({f"power_supply/{name}/uevent": text for name, text in supplies.items()})
    sensors = CpuSensors()
    sensors.start(WORKER)
    assert sensors.sample().flags == ({} if flags is None else {"on_battery": flags})


class Nvml:
    """One card that tells everything; what ``without`` names it does not know."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    class NVMLError(Exception):
        pass

    def __init__(self, *without, reasons=0, pids=(WORKER,)):
        self.open = False
        self.energy_mj = 5000
        self._without = without
        self._values = {
            "nvmlDeviceGetClockInfo": lambda card, clock: {1: 1980, 2: 3201}[clock],
            "nvmlDeviceGetTemperature": lambda card, sensor: 61,
            "nvmlDeviceGetPowerUsage": lambda card: 612_345,
            "nvmlDeviceGetUtilizationRates": lambda card: SimpleNamespace(gpu=97, memory=40),
            "nvmlDeviceGetMemoryInfo": lambda card: SimpleNamespace(used=1 << 30),
            "nvmlDeviceGetComputeRunningProcesses": lambda card: [
                SimpleNamespace(pid=pid) for pid in pids
            ],
            "nvmlDeviceGetCurrentClocksEventReasons": lambda card: reasons,
            "nvmlDeviceGetTotalEnergyConsumption": lambda card: self.energy_mj,
            "nvmlDeviceGetHandleByUUID": self._handle,
            "nvmlInit": lambda: setattr(self, "open", True),
            "nvmlShutdown": lambda: setattr(self, "open", False),
        }

    def __getattr__(self, name):
        if name in self._without:
            return self._fail
        if name not in self._values:
            raise AttributeError(name)
        return self._values[name]

    def _fail(self, *arguments):
        raise self.NVMLError("Not Supported")

    def _handle(self, uuid):
        if uuid != CARD.uuid:
            raise self.NVMLError("Not Found")
        return "the card"


@pytest.fixture
def groups(monkeypatch):
    """Process groups: the worker's own and one other process."""
    found = {WORKER: WORKER, WORKER + 1: WORKER, 99: 99}

    def getpgid(pid):
        if pid not in found:
            raise ProcessLookupError
        return found[pid]

    monkeypatch.setattr(gpu_sensors.os, "getpgid", getpgid)


def sensors_of(nvml):
    sensors = GpuSensors(nvml, "the card")
    sensors.start(WORKER)
    return sensors


def test_a_card_tells_its_state(groups):
    assert sensors_of(Nvml()).sample() == Sample(
        {
            "gpu_sm_clock_mhz": 1980,
            "gpu_memory_clock_mhz": 3201,
            "gpu_temperature_c": 61,
            "gpu_power_w": pytest.approx(612.345),
            "gpu_utilization_percent": 97,
            "gpu_memory_used_bytes": 1 << 30,
            "gpu_other_processes": 0,
        },
        {"gpu_throttled": False},
    )


@pytest.mark.parametrize(
    ("function", "gauge"),
    [
        ("nvmlDeviceGetPowerUsage", "gpu_power_w"),
        ("nvmlDeviceGetUtilizationRates", "gpu_utilization_percent"),
        ("nvmlDeviceGetTemperature", "gpu_temperature_c"),
        ("nvmlDeviceGetComputeRunningProcesses", "gpu_other_processes"),
    ],
)
def test_what_a_card_does_not_tell_is_absent_and_the_rest_is_there(groups, function, gauge):
    whole = sensors_of(Nvml()).sample().gauges
    assert whole.keys() - sensors_of(Nvml(function)).sample().gauges.keys() == {gauge}


def test_an_old_nvml_has_no_throttle_reasons(groups):
    assert sensors_of(Nvml("nvmlDeviceGetCurrentClocksEventReasons")).sample().flags == {}


@pytest.mark.parametrize(
    ("reasons", "flags"),
    [
        (0x01, {"gpu_throttled": False}),  # idle
        (0x04, {"gpu_throttled": False, "gpu_sw_power_cap": True}),
        (0x20, {"gpu_throttled": True, "gpu_sw_thermal_slowdown": True}),
        (
            0x88,
            {"gpu_throttled": True, "gpu_hw_slowdown": True, "gpu_hw_power_brake_slowdown": True},
        ),
    ],
)
def test_heat_and_supply_throttle_a_card_and_a_power_cap_does_not(groups, reasons, flags):
    assert sensors_of(Nvml(reasons=reasons)).sample().flags == flags


@pytest.mark.parametrize(
    ("pids", "others"),
    [
        ([WORKER], 0),
        ([WORKER, WORKER + 1], 0),  # a child of the worker
        ([WORKER, 99], 1),
        ([WORKER, 99, 12345], 2),  # not even in sight from here
        ([12345], None),  # a container: which of them is ours?
        ([], None),
    ],
)
def test_processes_of_others_are_those_outside_the_workers_group(groups, pids, others):
    assert sensors_of(Nvml(pids=pids)).sample().gauges.get("gpu_other_processes") == others


def test_the_energy_of_a_test_is_what_the_counter_went_up(groups):
    nvml = Nvml()
    sensors = sensors_of(nvml)
    nvml.energy_mj += 7500
    assert sensors.totals() == {"gpu_energy_j": pytest.approx(7.5)}
    assert sensors_of(Nvml("nvmlDeviceGetTotalEnergyConsumption")).totals() == {}


def test_the_card_under_test_is_found_by_its_uuid(monkeypatch, groups):
    nvml = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    with monitor.open_monitor(CARD) as watching:
        assert nvml.open
        watching.begin(WORKER)
        telemetry = watching.end()
        assert telemetry is not None
        assert "gpu_energy_j" in telemetry.totals
    assert not nvml.open


@pytest.mark.parametrize(
    ("nvml", "device"),
    [
        (None, CARD),  # not installed
        (Nvml("nvmlInit"), CARD),  # no driver
        (Nvml(), Device(kind=DeviceKind.GPU, index=0, name="NVIDIA H200", uuid="GPU-other")),
        (Nvml(), Device(kind=DeviceKind.GPU, index=0, name="NVIDIA H200")),
        (Nvml(), Device(kind=DeviceKind.CPU, index=0, name="AMD EPYC")),
    ],
)
def test_another_card_than_the_one_under_test_is_never_read(monkeypatch, nvml, device):
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    with monitor.open_monitor(device) as watching:
        watching.begin(WORKER)
        telemetry = watching.end()
    assert telemetry is not None
    assert not [name for name in telemetry.totals if name.startswith("gpu_")]
    assert nvml is None or not nvml.open
