"""Memory: known numbers of bytes, attributed to the op that allocated them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import averages, events, in_thread, named, only, scope, torch, trace_of

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20


def usage(event: Any, device: str) -> int:
    size: int = event.cpu_memory_usage if device == "cpu" else event.device_memory_usage
    return size


def self_usage(event: Any, device: str) -> int:
    size: int = event.self_cpu_memory_usage if device == "cpu" else event.self_device_memory_usage
    return size


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_bytes_belong_to_the_op_that_allocated_them(device: str) -> None:
    with profile(profile_memory=True) as prof:
        with record_function("outer"):
            kept = torch.ones(MIB // 4, device=device)
        scope("after")
    assert self_usage(only(named(prof, "aten::empty")), device) == MIB
    for name in ("aten::ones", "outer"):
        assert usage(only(named(prof, name)), device) == MIB
        assert self_usage(only(named(prof, name)), device) == 0
    assert usage(only(named(prof, "after")), device) == 0
    del kept


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_what_is_freed_inside_a_scope_is_subtracted(device: str) -> None:
    with profile(profile_memory=True) as prof, record_function("outer"):
        gone = torch.ones(MIB // 4, device=device)
        del gone
        torch.npu.synchronize()
    outer = only(named(prof, "outer"))
    assert usage(outer, device) == 0
    assert self_usage(outer, device) == -MIB


def test_a_free_outside_of_any_event_is_a_row_of_its_own() -> None:
    with profile(profile_memory=True) as prof:
        gone = torch.ones(MIB // 4)
        del gone
    row = only(named(prof, "[memory]"))
    assert row.cpu_memory_usage == -MIB
    assert row.time_range.start == row.time_range.end
    assert row.trace_name is None
    assert averages(prof)["[memory]"].cpu_memory_usage == -MIB


def test_the_free_of_a_block_from_before_the_start_is_seen() -> None:
    gone = torch.ones(MIB // 4)
    with profile(profile_memory=True) as prof, record_function("outer"):
        del gone
    assert only(named(prof, "outer")).cpu_memory_usage == -MIB


def test_temporaries_of_an_op_cancel_out() -> None:
    weight, image = torch.ones(4, 3, 3, 3), torch.ones(2, 3, 16, 16)
    with profile(profile_memory=True) as prof:
        result = torch.nn.functional.conv2d(image, weight)
    assert only(named(prof, "aten::conv2d")).cpu_memory_usage == result.numel() * 4


def test_memory_of_a_backward_pass_belongs_to_its_nodes() -> None:
    value = torch.ones(MIB // 4, requires_grad=True)
    loss = (value * 2).sum()
    with profile(profile_memory=True) as prof:
        loss.backward()
    assert only(named(prof, "MulBackward0")).cpu_memory_usage == MIB
    assert value.grad.numel() * 4 == MIB


def test_threads_keep_their_own_accounts() -> None:
    kept: list[Any] = []
    with profile(profile_memory=True) as prof, record_function("here"):
        in_thread(lambda: kept.append(torch.ones(MIB // 4)))
    assert only(named(prof, "here")).cpu_memory_usage == 0
    assert only(named(prof, "aten::ones")).cpu_memory_usage == MIB


def test_averages_sum_the_bytes() -> None:
    with profile(profile_memory=True) as prof:
        kept = [torch.ones(MIB // 4) for _ in range(3)]
    row = averages(prof)["aten::empty"]
    assert (row.cpu_memory_usage, row.self_cpu_memory_usage) == (3 * MIB, 3 * MIB)
    assert "3.00 MB" in prof.key_averages().table(sort_by="self_cpu_memory_usage")
    del kept


def test_each_allocation_and_free_is_in_the_trace(tmp_path: Path) -> None:
    with profile(profile_memory=True) as prof:
        first = torch.empty(MIB // 4)
        second = torch.empty(MIB // 2)
        del first
        del second
    found = [entry for entry in trace_of(prof, tmp_path)["traceEvents"] if entry["name"] == "[memory]"]
    assert [entry["args"]["Bytes"] for entry in found] == [MIB, 2 * MIB, -MIB, -2 * MIB]
    totals = [entry["args"]["Total Allocated"] for entry in found]
    assert [after - totals[0] for after in totals] == [0, 2 * MIB, MIB, -MIB]
    assert {(entry["ph"], entry["s"], entry["cat"]) for entry in found} == {("i", "t", "cpu_instant_event")}
    assert found[0]["args"]["Addr"] == found[2]["args"]["Addr"] != found[1]["args"]["Addr"]
    assert {(entry["args"]["Device Type"], entry["args"]["Device Id"]) for entry in found} == {(0, -1)}


def test_device_memory_in_the_trace_names_the_device(tmp_path: Path) -> None:
    with profile(profile_memory=True) as prof:
        kept = torch.empty(MIB // 4, device="npu")
    found = [entry["args"] for entry in trace_of(prof, tmp_path)["traceEvents"] if entry["name"] == "[memory]"]
    assert [(args["Bytes"], args["Device Type"], args["Device Id"]) for args in found] == [(MIB, 1, 0)]
    assert found[0]["Total Allocated"] == torch.npu.memory_allocated()
    assert found[0]["Total Reserved"] == torch.npu.memory_reserved()
    del kept


def test_without_the_flag_nothing_is_counted(tmp_path: Path) -> None:
    with profile() as prof:
        kept = torch.ones(MIB // 4)
    assert all(event.cpu_memory_usage == 0 for event in events(prof))
    assert "[memory]" not in [entry["name"] for entry in trace_of(prof, tmp_path)["traceEvents"]]
    assert "Mem" not in prof.key_averages().table()
    del kept


def test_memory_that_could_not_be_had_is_an_event_and_the_error_is_the_programs() -> None:
    with profile(profile_memory=True) as prof:
        with pytest.raises(torch.npu.OutOfMemoryError):
            torch.empty(1 << 50, device="npu")
        scope("after")
    assert only(named(prof, "after")).cpu_parent is None
