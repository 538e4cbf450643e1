"""The machine: what is read, and what is said where it cannot be."""

import os
import socket
import sys
from pathlib import Path

import pytest

from aiscore import __version__
from aiscore.spec import Device, DeviceKind
from aiscore.system import gpu, host, software

H200 = {"name": "NVIDIA H200", "uuid": "GPU-a1", "memory_bytes": "150754820096"}
TWIN = {**H200, "uuid": "GPU-b2"}
CPU = Device(kind=DeviceKind.CPU, index=0, name="CPU")


def gpu_device(index, **facts):
    return Device(kind=DeviceKind.GPU, index=index, name="NVIDIA H200", **facts)


@pytest.fixture
def cgroups(tmp_path, monkeypatch):
    """An empty control group tree and the process's place in it."""

    def make(own: str, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "own").write_text(own)

    monkeypatch.setattr(host, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(host, "OWN_CGROUPS", tmp_path / "own")
    return make


def test_the_host_is_described_without_its_name():
    facts = host.describe()
    assert facts["kernel"] == os.uname().release
    assert int(facts["logical_cores"]) >= 1
    assert int(facts["memory_bytes"]) > 0
    assert all(facts.values())
    assert socket.gethostname() not in facts.values()


def test_what_cannot_be_read_is_unknown_with_the_reason(monkeypatch):
    monkeypatch.setattr(host, "GOVERNOR", Path("/no/such/file"))
    monkeypatch.setattr(host.psutil, "cpu_count", lambda logical=True: None)
    facts = host.describe()
    assert facts["governor"] == "unknown: No such file or directory (/no/such/file)"
    assert facts["physical_cores"] == "unknown: the system does not say"


def test_the_processor_is_named(tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: AMD EPYC 9654\n")
    monkeypatch.setattr(host, "CPUINFO", tmp_path / "cpuinfo")
    assert host.describe()["cpu"] == "AMD EPYC 9654"


@pytest.mark.parametrize(
    ("own", "files", "cores", "memory"),
    [
        (
            "0::/job\n",
            {"job/cpu.max": "150000 100000\n", "job/memory.max": "4096\n"},
            "1.5",
            "4096",
        ),
        ("0::/\n", {"cpu.max": "max 100000\n", "memory.max": "max\n"}, "none", "none"),
        (
            "4:memory:/job\n1:cpu,cpuacct:/job\n",
            {
                "cpu/job/cpu.cfs_quota_us": "200000\n",
                "cpu/job/cpu.cfs_period_us": "100000\n",
                "memory/job/memory.limit_in_bytes": "4096\n",
            },
            "2",
            "4096",
        ),
        (
            "4:memory:/\n1:cpu:/\n",
            {
                "cpu/cpu.cfs_quota_us": "-1\n",
                "memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            "none",
            "none",
        ),
    ],
)
def test_limits_of_both_versions_of_control_groups(cgroups, own, files, cores, memory):
    cgroups(own, files)
    facts = host.describe()
    assert (facts["cpu_limit"], facts["memory_limit_bytes"]) == (cores, memory)


@pytest.mark.parametrize(
    ("own", "name"),
    [("0::/job\n", "job/memory.events"), ("4:memory:/job\n", "memory/job/memory.oom_control")],
)
def test_kills_for_memory_are_counted(cgroups, own, name):
    cgroups(own, {name: "oom 7\noom_kill 3\noom_group_kill 9\n"})
    assert host.count_oom_kills() == 3


def test_without_control_groups_kills_are_unknown(cgroups):
    cgroups("0::/\n", {})
    assert host.count_oom_kills() is None


def test_affinity_is_written_as_ranges(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 8, 10, 11})
    assert host.describe()["affinity"] == "0-2,8,10-11"


def test_without_nvml_the_drivers_files_tell_of_the_gpu(tmp_path, monkeypatch):
    information = tmp_path / "0000:01:00.0" / "information"
    information.parent.mkdir()
    information.write_text("Model: \t\t NVIDIA H200\nIRQ:   \t 16\nGPU UUID: \t GPU-a1\n")
    monkeypatch.setattr(gpu, "DRIVER_FILES", tmp_path)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    reading = gpu.read()
    assert reading.gpus == [{"name": "NVIDIA H200", "uuid": "GPU-a1"}]
    assert reading.problem == "nvidia-ml-py is not installed"


class FakeNvml:
    """Two GPUs, one of which does not tell its power limit."""

    class NVMLError(Exception):
        pass

    open = False

    def nvmlInit(self):  # noqa: N802  NVML's names
        self.open = True

    def nvmlShutdown(self):  # noqa: N802
        self.open = False

    def __getattr__(self, name):
        values = {
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetName": lambda index: "NVIDIA H200",
            "nvmlDeviceGetUUID": lambda index: f"GPU-{index}",
            "nvmlDeviceGetMemoryInfo": lambda index: type("Memory", (), {"total": 1 << 30}),
            "nvmlSystemGetDriverVersion": lambda: "580.1",
            "nvmlDeviceGetEnforcedPowerLimit": self.power_limit,
        }
        return values[name]

    def power_limit(self, index):
        if index:
            raise self.NVMLError("Not Supported")
        return 700_000


def test_nvml_describes_every_gpu(monkeypatch):
    nvml = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    reading = gpu.read()
    assert reading.problem is None
    assert reading.gpus[0] == {
        "name": "NVIDIA H200",
        "uuid": "GPU-0",
        "memory_bytes": str(1 << 30),
        "driver": "580.1",
        "power_limit_w": "700.0",
    }
    assert reading.gpus[1]["power_limit_w"] == "unknown: Not Supported"
    assert not nvml.open


def test_a_framework_gpu_gets_the_uuid_that_is_certainly_its_own():
    devices = (CPU, gpu_device(0), gpu_device(1))
    _, first, second = gpu.identify(devices, [H200, TWIN], {})
    assert (first.uuid, second.uuid) == ("GPU-a1", "GPU-b2")
    assert first.memory_bytes == 150754820096


@pytest.mark.parametrize(
    ("visible", "uuid"), [("1", "GPU-b2"), ("GPU-b2", "GPU-b2"), ("GPU-a", "GPU-a1")]
)
def test_the_visible_gpu_is_the_one_identified(visible, uuid):
    variables = {"CUDA_VISIBLE_DEVICES": visible}
    (device,) = gpu.identify((gpu_device(0),), [H200, TWIN], variables)
    assert device.uuid == uuid


@pytest.mark.parametrize(
    ("devices", "variables"),
    [
        ((gpu_device(0),), {}),  # the framework leaves one of two out
        ((gpu_device(0),), {"CUDA_VISIBLE_DEVICES": "7"}),
        ((gpu_device(0),), {"CUDA_VISIBLE_DEVICES": "GPU-"}),
        ((gpu_device(0), gpu_device(1)), {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}),
        ((CPU,), {}),
    ],
)
def test_a_doubtful_gpu_gets_no_uuid(devices, variables):
    assert gpu.identify(devices, [H200, TWIN], variables) == devices


def test_what_the_framework_knows_of_its_gpu_stays():
    device = gpu_device(0, uuid="GPU-own", memory_bytes=5)
    assert gpu.identify((device,), [H200], {}) == (device,)


def test_software_names_ours_and_the_frameworks():
    facts = software.describe({"tensorflow": "2.21.0"})
    assert (facts["aiscore"], facts["tensorflow"]) == (__version__, "2.21.0")
    assert facts["numpy"].startswith("2.")


def test_only_variables_that_steer_frameworks_are_recorded_and_no_secrets():
    environment = {
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "OMP_NUM_THREADS": "4",
        "HOME": "/home/someone",
        "TF_CONFIG": "hosts",
        "TF_VAR_password": "terraform's",
        "NVIDIA_API_KEY": "secret",
        "HF_TOKEN": "secret",
    }
    assert software.steering_variables(environment) == {
        "OMP_NUM_THREADS": "4",
        "TF_ENABLE_ONEDNN_OPTS": "0",
    }
