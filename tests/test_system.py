"""The machine: what is read, and what is said where it cannot be."""

import os
import socket
import sys
from dataclasses import replace
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
    monkeypatch.setattr(host, "CPUS", Path("/no/such"))
    monkeypatch.setattr(host, "POWER_SUPPLIES", Path("/no/such"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    monkeypatch.setattr(host.psutil, "cpu_count", lambda logical=True: None)
    facts = host.describe()
    missing = "/no/such/cpu0/cpufreq/scaling_governor"
    assert facts["governor"] == f"unknown: No such file or directory ({missing})"
    assert facts["power_source"] == "unknown: the system does not say"
    assert facts["physical_cores"] == "unknown: the system does not say"


def test_the_processor_is_named(tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: AMD EPYC 9654\n")
    monkeypatch.setattr(host, "CPUINFO", tmp_path / "cpuinfo")
    assert host.describe()["cpu"] == "AMD EPYC 9654"


@pytest.mark.parametrize(
    ("governors", "said"),
    [
        (["performance", "performance"], "performance"),
        (["powersave", "performance"], "performance, powersave"),
    ],
)
def test_the_governors_are_those_of_the_cpus_in_use(tmp_path, monkeypatch, governors, said):
    for number, governor in enumerate([*governors, "conservative"]):
        path = tmp_path / f"cpu{number}" / "cpufreq" / "scaling_governor"
        path.parent.mkdir(parents=True)
        path.write_text(f"{governor}\n")
    monkeypatch.setattr(host, "CPUS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    assert host.describe()["governor"] == said


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
    ("visible", "uuid"),
    [
        ("1", "GPU-b2"),
        ("GPU-b2", "GPU-b2"),
        ("GPU-a", "GPU-a1"),
        (" 1 ", "GPU-b2"),
        ("1,-1,0", "GPU-b2"),  # CUDA stops at what is no device
        ("1,7,0", "GPU-b2"),
        ("MIG-c3", "MIG-c3"),
    ],
)
def test_the_visible_gpu_is_the_one_identified(visible, uuid):
    variables = {"CUDA_VISIBLE_DEVICES": visible}
    (device,) = gpu.identify((gpu_device(0),), [H200, TWIN], variables)
    assert device.uuid == uuid


def test_gpus_in_another_order_keep_their_own_uuids():
    devices = (gpu_device(0), gpu_device(1))
    found = gpu.identify(devices, [H200, TWIN], {"CUDA_VISIBLE_DEVICES": "1,0"})
    assert [device.uuid for device in found] == ["GPU-b2", "GPU-a1"]


def test_uuids_mean_the_same_in_every_order():
    variables = {"CUDA_VISIBLE_DEVICES": "GPU-b2", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
    (device,) = gpu.identify((gpu_device(0),), [H200, TWIN], variables)
    assert device.uuid == "GPU-b2"


def test_a_mig_instance_keeps_the_name_that_the_framework_gives_it():
    device = replace(gpu_device(0), name="NVIDIA H200 MIG 1g.18gb")
    (found,) = gpu.identify((device,), [H200], {"CUDA_VISIBLE_DEVICES": "MIG-c3"})
    assert (found.name, found.uuid, found.memory_bytes) == (device.name, "MIG-c3", None)


@pytest.mark.parametrize(
    ("devices", "variables"),
    [
        ((gpu_device(0),), {}),  # the framework leaves one of two out
        ((gpu_device(0),), {"CUDA_VISIBLE_DEVICES": ""}),
        ((gpu_device(0),), {"CUDA_VISIBLE_DEVICES": "-1"}),
        ((gpu_device(0), gpu_device(1)), {"CUDA_VISIBLE_DEVICES": "1,1"}),
        ((gpu_device(0),), {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}),
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"cuda": {"version": "12.4.1"}}', "12.4.1"),
        ("{}", "unknown: nvcc has no version.json that says it (KeyError)"),
        (None, "unknown: nvcc has no version.json that says it (FileNotFoundError)"),
    ],
)
def test_the_toolkit_is_the_one_on_the_path(tmp_path, monkeypatch, text, said):
    compiler = tmp_path / "cuda" / "bin" / "nvcc"
    compiler.parent.mkdir(parents=True)
    compiler.touch(mode=0o755)
    if text is not None:
        (tmp_path / "cuda" / "version.json").write_text(text)
    monkeypatch.setenv("PATH", str(compiler.parent))
    assert software.describe({})["cuda_toolkit"] == said


def test_without_a_toolkit_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert software.describe({})["cuda_toolkit"] == "none on PATH"


ID = "0123456789abcdef" * 4


@pytest.fixture
def container(tmp_path, monkeypatch):
    """The traces that a container leaves."""
    for name in ("DOCKER", "PODMAN", "MOUNTS"):
        monkeypatch.setattr(host, name, tmp_path / name)
    for name in ("container", "APPTAINER_CONTAINER"):
        monkeypatch.delenv(name, raising=False)

    def write(**files):
        for name, text in {"MOUNTS": "", **files}.items():
            (tmp_path / name).write_text(text)
        facts = host.describe()
        return facts["container"], facts["container_id"], facts["container_image"]

    return write


def mounts(root, point="/etc/hostname"):
    return f"22 27 0:21 / /proc rw - proc proc rw\n30 27 8:1 {root} {point} rw - ext4 /dev/a rw\n"


def test_a_docker_container_is_known_by_the_file_that_is_mounted_for_it(container):
    files = {"DOCKER": "", "MOUNTS": mounts(f"/var/lib/docker/containers/{ID}/hostname")}
    assert container(**files) == ("docker", ID, "unknown: the system does not say")


def test_podman_tells_its_image(container):
    told = f'engine="podman-5"\nid="{ID}"\nimage="docker.io/tensorflow/tensorflow:2.21.0"\n'
    image = "docker.io/tensorflow/tensorflow:2.21.0"
    assert container(PODMAN=told) == ("podman", ID, image)


def test_apptainer_tells_its_image_without_its_place(container, monkeypatch):
    monkeypatch.setenv("APPTAINER_CONTAINER", "/home/someone/tensorflow.sif")
    unknown = "unknown: the system does not say"
    assert container() == ("apptainer", unknown, "tensorflow.sif")


def test_the_host_of_containers_is_in_none(container):
    others = mounts(f"/var/lib/docker/containers/{ID}/mounts/shm", point="/run/shm")
    assert container(MOUNTS=others) == ("none seen", "none seen", "none seen")


def test_only_variables_that_steer_frameworks_are_recorded_and_no_secrets():
    environment = {
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "OMP_NUM_THREADS": "4",
        "HOME": "/home/someone",
        "TF_CONFIG": "hosts",
        "TF_VAR_password": "terraform's",
        "NVIDIA_API_KEY": "secret",
        "HF_TOKEN": "secret",
        "NVIDIA_REQUIRE_CUDA": "cuda>=13.0 brand=unknown,driver>=535,driver<536",
    }
    assert software.steering_variables(environment) == {
        "OMP_NUM_THREADS": "4",
        "TF_ENABLE_ONEDNN_OPTS": "0",
    }
