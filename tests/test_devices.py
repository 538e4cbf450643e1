"""Which device a text means, and what the worker's environment lets it see."""

from dataclasses import replace

import pytest

from aiscore.errors import UserError
from aiscore.execution.devices import choose_device, hides_gpus
from aiscore.execution.process import job_environment, worker_environment
from aiscore.spec import Device, DeviceKind, Options
from aiscore.worker import find

CPU = Device(kind=DeviceKind.CPU, index=0, name="AMD EPYC")
H200 = Device(kind=DeviceKind.GPU, index=0, name="NVIDIA H200", uuid="GPU-aaaa-1111")
TWIN = Device(kind=DeviceKind.GPU, index=1, name="NVIDIA H200", uuid="GPU-aaaa-2222")
T4 = Device(kind=DeviceKind.GPU, index=2, name="Tesla T4")
MIG = Device(kind=DeviceKind.GPU, index=3, name="NVIDIA H200 MIG 1g.18gb", uuid="MIG-cccc-2")
ALL = (CPU, H200, TWIN, T4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("auto", H200),
        ("gpu", H200),
        ("cpu", CPU),
        ("CPU", CPU),
        ("gpu:0", H200),
        ("GPU:2", T4),
        ("GPU-aaaa-2222", TWIN),
        ("2222", TWIN),
        ("t4", T4),
        ("epyc", CPU),
        ("mig-cccc-2", MIG),
        ("1g.18gb", MIG),
    ],
)
def test_a_device_is_named_in_many_ways(text, expected):
    assert choose_device(text, (*ALL, MIG)) == expected


def test_automatic_is_the_cpu_without_a_gpu():
    assert choose_device("auto", (CPU,)) == CPU


@pytest.mark.parametrize("text", ["gpu:3", "a100", "", "gpu:", "gpu:x"])
def test_a_missing_device_is_an_error_that_lists_all(text):
    with pytest.raises(UserError) as caught:
        choose_device(text, ALL)
    assert "gpu:2 (Tesla T4)" in caught.value.advice


def test_an_ambiguous_name_is_an_error_that_lists_the_candidates():
    with pytest.raises(UserError) as caught:
        choose_device("h200", ALL)
    assert "gpu:0" in caught.value.advice and "gpu:1" in caught.value.advice
    assert "T4" not in caught.value.advice


def test_a_gpu_that_was_asked_for_is_never_replaced_by_the_cpu():
    with pytest.raises(UserError):
        choose_device("gpu", (CPU,))


def test_a_backend_without_devices_is_an_error():
    with pytest.raises(UserError):
        choose_device("auto", ())


@pytest.mark.parametrize(
    ("device", "caller", "visible"),
    [
        (CPU, {}, "-1"),
        (TWIN, {}, "GPU-aaaa-2222"),
        (TWIN, {"CUDA_VISIBLE_DEVICES": "0,1"}, "GPU-aaaa-2222"),
        (T4, {}, "2"),
        (T4, {"CUDA_VISIBLE_DEVICES": "5, 6, 7"}, "7"),
        (T4, {"CUDA_VISIBLE_DEVICES": "GPU-x,GPU-y,GPU-z"}, "GPU-z"),
        (MIG, {"CUDA_VISIBLE_DEVICES": "0,1,2,MIG-cccc"}, "MIG-cccc-2"),
    ],
)
def test_a_job_sees_the_chosen_gpu_only(device, caller, visible):
    environment = job_environment(caller, device, Options())
    assert environment["CUDA_VISIBLE_DEVICES"] == visible


def test_a_worker_sees_what_the_caller_lets_it_see():
    assert "CUDA_VISIBLE_DEVICES" not in worker_environment({})
    caller = {"CUDA_VISIBLE_DEVICES": "1"}
    assert worker_environment(caller)["CUDA_VISIBLE_DEVICES"] == "1"


def test_gpu_memory_grows_unless_a_share_is_set():
    assert worker_environment({})["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert job_environment({}, H200, Options())["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    with_share = job_environment({}, H200, Options(memory_fraction=0.8))
    assert "TF_FORCE_GPU_ALLOW_GROWTH" not in with_share
    assert with_share["XLA_PYTHON_CLIENT_MEM_FRACTION"] == "0.8"


def test_the_callers_variables_win():
    caller = {"TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "4"}
    assert worker_environment(caller).items() >= caller.items()
    caller = {"TF_FORCE_GPU_ALLOW_GROWTH": "false"}
    assert "TF_FORCE_GPU_ALLOW_GROWTH" not in job_environment(caller, H200, Options())


def test_the_worker_finds_its_device_under_the_index_it_has_there():
    alone = Device(kind=DeviceKind.GPU, index=0, name="NVIDIA H200")
    found = find(TWIN, (CPU, alone))
    assert found is not None
    assert (found.uuid, found.index) == (TWIN.uuid, 0)
    assert find(CPU, (replace(CPU, name="CPU"), alone)) == CPU
    assert find(TWIN, (CPU, T4)) is None
    assert find(TWIN, (H200,)) is None


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ("", True),
        ("-1", True),
        ("-1,0", True),
        ("NoDevFiles", True),
        ("0", False),
        (" 1, 0", False),
        ("GPU-aaaa", False),
        ("MIG-bbbb", False),
    ],
)
def test_a_caller_can_hide_the_gpus(value, hidden):
    assert hides_gpus({"CUDA_VISIBLE_DEVICES": value}) is hidden
    assert not hides_gpus({})
