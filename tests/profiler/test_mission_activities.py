"""Section 1 of the requirements: what can be recorded, and how it is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.profiler.support import events, output_of, scope, square, torch

from mindtorch_v2.profiler import ProfilerActivity, profile, supported_activities


@pytest.mark.parametrize("name", ["CPU", "NPU", "CUDA", "GPU"])
def test_activities_are_members_or_those_names_as_strings(name: str) -> None:
    by_name, by_member = profile(activities=[name]), profile(activities=[getattr(ProfilerActivity, name)])
    assert by_name.activities == by_member.activities
    assert len(by_name.activities) == 1


@pytest.mark.parametrize("name", ["CUDA", "GPU"])
def test_cuda_and_gpu_mean_the_accelerator(name: str) -> None:
    assert profile(activities=[name]).activities == profile(activities=["NPU"]).activities
    with profile(activities=["CPU", name]) as prof:
        torch.ones(4, device="npu").add_(1)
    assert {event["device_type"] for event in events(prof)} == {"CPU", "NPU"}


@pytest.mark.parametrize("name", ["CUDA", "GPU", "NPU", "PrivateUse1"])
def test_all_names_of_the_accelerator_record_the_same(name: str) -> None:
    with profile(activities=[ProfilerActivity.CPU, getattr(ProfilerActivity, name)]) as prof:
        torch.ones(4, device="npu")
    assert any(event["device_type"] == "NPU" for event in events(prof))
    assert prof.use_device == "npu"


@pytest.mark.parametrize("item", ["TPU", "cpu", "npu", "", " CPU", 5, 2.0, None, b"CPU", object(), ["CPU"]])
def test_anything_else_is_a_value_error_at_construction(item: Any) -> None:
    with pytest.raises(ValueError, match=r"(?i)activity"):
        profile(activities=["CPU", item])


@pytest.mark.parametrize("item", ["TPU", 5])
def test_anything_else_is_also_the_type_error_that_torch_gives(item: Any) -> None:
    with pytest.raises(TypeError):
        profile(activities=[item])


@pytest.mark.parametrize("activities", [["CPU", "CPU"], ["CUDA", "NPU"], [ProfilerActivity.CPU, "CPU"]])
def test_one_activity_twice_is_a_value_error(activities: Any) -> None:
    with pytest.raises(ValueError, match="specified more than once"):
        profile(activities=activities)


def test_an_empty_list_is_an_assertion_error() -> None:
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=[])


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset, iter])
def test_any_iterable_will_do(kind: Any) -> None:
    with profile(activities=kind([ProfilerActivity.CPU])) as prof:
        scope("work")
    assert [event.name for event in events(prof)] == ["work"]


def test_none_means_every_activity_that_this_machine_supports() -> None:
    assert profile().activities == profile(activities=None).activities == supported_activities()
    assert supported_activities() == {ProfilerActivity.CPU, ProfilerActivity.NPU}


def test_without_an_accelerator_only_the_host_is_supported() -> None:
    program = """
        from mindtorch_v2.profiler import ProfilerActivity, profile, record_function, supported_activities
        print(supported_activities() == {ProfilerActivity.CPU}, profile().activities == {ProfilerActivity.CPU})
        with profile() as prof, record_function("work"):
            pass
        print([event.name for event in prof.events()])
    """
    assert output_of(program, MINDTORCH_NPU_COUNT="0") == ["True True", "['work']"]


def test_a_missing_accelerator_is_a_warning_and_alone_an_error_at_the_start() -> None:
    program = """
        import warnings
        from mindtorch_v2.profiler import profile, record_function
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with profile(activities=["CPU", "CUDA"]) as both, record_function("work"):
                pass
            print([event.name for event in both.events()])
            alone = profile(activities=["NPU"])
            try:
                alone.start()
            except AssertionError as error:
                print(error)
        for warning in warned:
            name = str(warning.message).split()[0]
            print(name in ("CUDA", "NPU"), str(warning.message)[len(name):].replace(name, "X"))
    """
    lines = output_of(program, MINDTORCH_NPU_COUNT="0")
    said = "True  is not available, disabling X profiling"
    assert lines == ["['work']", "No activities specified for the profiler", said, said]


def test_the_host_alone_records_nothing_of_the_accelerator() -> None:
    with profile(activities=["CPU"]) as prof:
        torch.ones(4, device="npu").add_(1)
    assert {event.device_type.name for event in events(prof)} == {"CPU"}
    assert prof.use_device is None


def test_the_accelerator_alone_records_nothing_of_the_host() -> None:
    with profile(activities=["NPU"]) as prof:
        scope("host")
        square()
        torch.ones(4, device="npu").add_(1)
    found = events(prof)
    assert {event["device_type"] for event in found} >= {"NPU"}
    # The calls into the accelerator's runtime are part of its activity, though the host makes them.
    host = {event.activity_type for event in found if event["device_type"] == "CPU"}
    assert not host & {"cpu_op", "user_annotation", "python_function"}


def test_members_have_torchs_values_and_sort_by_none() -> None:
    assert (ProfilerActivity.CPU.value, ProfilerActivity.CPU.name) == (0, "CPU")
    assert set(ProfilerActivity.__members__) >= {"CPU", "XPU", "CUDA", "HPU", "MTIA", "PrivateUse1", "NPU", "GPU"}
    with pytest.raises(TypeError):
        sorted([ProfilerActivity.CPU, ProfilerActivity.NPU])  # type: ignore[type-var]
