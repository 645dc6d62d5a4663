"""Section 8 of the requirements: the accelerator, and that nothing of it is missing or cut."""

from __future__ import annotations

from typing import Any

import pytest
from tests.profiler.support import CYCLES_CLEAR_EVENTS, events, in_thread, torch

from mindtorch_v2.profiler import DeviceType, profile, schedule

pytestmark = pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)


NAMES = """
    is_available device_count synchronize memory_allocated max_memory_allocated memory_reserved memory_stats
    reset_peak_memory_stats empty_cache current_device set_device Stream Event get_device_name mem_get_info
"""


def kernels(prof: Any) -> list[Any]:
    return [event for event in events(prof) if event.device_type == DeviceType.PrivateUse1]


def test_the_npu_follows_torch_cuda() -> None:
    assert [name for name in NAMES.split() if not hasattr(torch.npu, name)] == []


def test_the_profiler_waits_for_the_device_at_stop() -> None:
    ones = torch.ones(128, 128, device="npu")
    torch.npu.synchronize()
    with profile() as prof:
        for _ in range(50):
            ones @ ones
    found = kernels(prof)
    assert len(found) == 50
    assert all(event.is_finished for event in found)


def test_the_profiler_waits_for_the_device_at_step() -> None:
    ones = torch.ones(128, 128, device="npu")
    torch.npu.synchronize()
    with profile() as prof:
        for _ in range(3):
            for _ in range(10):
                ones @ ones
            prof.step()
            assert len(kernels(prof)) % 10 == 0
    assert [event["step"] for event in kernels(prof)] == [0] * 10 + [1] * 10 + [2] * 10


def test_each_cycle_of_a_schedule_has_all_kernels_of_its_own() -> None:
    ones = torch.ones(128, 128, device="npu")
    counts: list[int] = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=1, repeat=3),
        on_trace_ready=lambda prof: counts.append(len(kernels(prof))),
    ) as prof:
        for step in range(9):
            for _ in range(step + 1):
                ones @ ones
            prof.step()
    assert counts == [3, 6, 9]


def test_kernels_launched_on_another_thread_and_stream_are_there() -> None:
    ones = torch.ones(64, 64, device="npu")
    torch.npu.synchronize()

    def work() -> None:
        with torch.npu.stream(torch.npu.Stream()):
            ones @ ones

    with profile() as prof:
        ones @ ones
        in_thread(work)
    assert len(kernels(prof)) == 2
    assert len({event.device_resource_id for event in kernels(prof)}) == 2


def test_work_from_before_the_start_is_not_recorded() -> None:
    ones = torch.ones(256, 256, device="npu")
    for _ in range(20):
        ones @ ones
    torch.npu.synchronize()
    with profile() as prof:
        pass
    assert kernels(prof) == []


def test_the_npu_keeps_its_own_memory_count() -> None:
    before = torch.npu.memory_allocated()
    with profile(profile_memory=True) as prof:
        kept = torch.ones(1 << 18, device="npu")
        during = torch.npu.memory_allocated()
    assert during - before == 1 << 20
    afters = [event["npu_memory_allocated_after"] for event in events(prof) if "npu_memory_allocated_after" in event]
    assert during in afters
    del kept
