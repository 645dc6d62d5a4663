"""The accelerator as programs use it: devices, streams, events and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import pytest

import mindtorch_v2

torch: Any = mindtorch_v2
npu = torch.npu

MIB = 1 << 20


def test_devices() -> None:
    assert npu.is_available()
    assert npu.is_bf16_supported()
    assert npu.device_count() == 1
    assert npu.current_device() == 0
    npu.init()
    assert npu.is_initialized()
    properties = npu.get_device_properties("npu:0")
    assert npu.get_device_name() == properties.name
    assert properties.total_memory == npu.mem_get_info()[1]
    assert repr(properties).startswith(f"_NpuDeviceProperties(name='{properties.name}', total_memory=")
    npu.set_device(-1)
    npu.set_device("npu:0")
    npu.set_device(torch.device("npu"))
    with npu.device(0), npu.device(-1), npu.device(None), npu.device_of(torch.ones(1)):
        assert npu.current_device() == 0
    with pytest.raises(RuntimeError, match="invalid NPU device index 7: there is 1 device"):
        npu.set_device(7)
    with pytest.raises(ValueError, match="Expected a npu device, but got: cpu"):
        npu.synchronize("cpu")


def test_memory_of_tensors() -> None:
    npu.synchronize()
    npu.empty_cache()
    npu.reset_peak_memory_stats()
    before, reserved = npu.memory_allocated(), npu.memory_reserved()
    free, total = npu.mem_get_info()
    assert free + reserved == total
    tensor = torch.empty(3 * MIB // 4, device="npu")
    assert npu.memory_allocated() - before == 3 * MIB
    assert npu.memory_reserved() >= reserved + 3 * MIB
    del tensor
    assert npu.memory_allocated() == before
    assert npu.max_memory_allocated() == before + 3 * MIB
    assert npu.max_memory_reserved() >= reserved + 3 * MIB
    assert npu.memory_reserved() >= reserved + 3 * MIB
    npu.empty_cache()
    assert npu.memory_reserved() == reserved
    npu.reset_peak_memory_stats(0)
    assert npu.max_memory_allocated() == before
    with pytest.warns(FutureWarning, match="resets /all/ peak memory stats"):
        npu.reset_max_memory_allocated()


def test_memory_stats() -> None:
    npu.reset_accumulated_memory_stats()
    stats = npu.memory_stats()
    assert list(stats) == sorted(stats)
    assert stats["allocation.all.allocated"] == 0
    kept = torch.empty(10, device="npu")
    stats = npu.memory_stats(kept.device)
    assert stats["allocation.small_pool.allocated"] == 1
    assert stats["requested_bytes.all.allocated"] == 40
    assert stats["num_ooms"] == 0


def test_memory_summary() -> None:
    lines = npu.memory_summary().splitlines()
    assert {len(line) for line in lines} == {77}
    assert "MindTorch NPU memory summary, device ID 0" in lines[1]
    assert len(lines) == 6 + 9 * 4 + 2 * 2 + 1
    assert len(npu.memory_summary("npu", abbreviated=True).splitlines()) == 6 + 9 * 2 + 2 * 2 + 1


def test_memory_summary_chooses_units(monkeypatch: pytest.MonkeyPatch) -> None:
    stats = npu.memory_stats() | {"allocated_bytes.all.peak": 3 << 30, "allocated_bytes.large_pool.peak": 5 * MIB}
    monkeypatch.setattr("mindtorch_v2.npu.memory.memory_stats", lambda _: stats)
    row = next(line for line in npu.memory_summary().splitlines() if "Allocated memory" in line)
    assert row.split("|")[3] == "   3072 MiB "


def test_too_large_a_tensor() -> None:
    with pytest.raises(npu.OutOfMemoryError, match=r"NPU out of memory\. Tried to allocate"):
        torch.empty(1 << 40, device="npu")
    assert issubclass(npu.OutOfMemoryError, RuntimeError)


def test_streams_are_chosen_and_left() -> None:
    default = npu.default_stream()
    assert npu.current_stream() == default
    first, second = npu.Stream(), npu.Stream(device="npu:0", priority=-1)
    assert len({default, first, second}) == 3
    with npu.stream(first):
        assert npu.current_stream() == first
        with second as entered:
            assert entered is second
            assert npu.current_stream("npu:0") == second
            with npu.stream(None):
                assert npu.current_stream() == second
        assert npu.current_stream() == first
        others: list[Any] = []
        thread = threading.Thread(target=lambda: others.append(npu.current_stream()))
        thread.start()
        thread.join()
        assert others == [default]
    assert npu.current_stream() == default
    npu.set_stream(first)
    npu.set_stream(None)
    assert npu.current_stream() == first
    npu.set_stream(default)
    with pytest.raises(RuntimeError, match="was not entered"):
        first.__exit__(None, None, None)


def test_a_stream_is_left_when_the_block_fails() -> None:
    with pytest.raises(ZeroDivisionError), npu.stream(npu.Stream()):
        _ = 1 / 0
    assert npu.current_stream() == npu.default_stream()


def test_what_a_stream_is() -> None:
    stream = npu.Stream(priority=-100)
    assert stream.priority == npu.Stream.priority_range()[1] < 0
    assert stream.device == torch.device("npu:0")
    assert stream.device_index == 0
    assert repr(stream) == f"<mindtorch_v2.npu.Stream device=npu:0 npu_stream={stream.stream_id:#x}>"
    assert repr(npu.default_stream()) == "<mindtorch_v2.npu.Stream device=npu:0 npu_stream=0x0>"
    assert stream != 3


def test_streams_wait_for_each_other() -> None:
    side = npu.Stream()
    values = torch.zeros(256, 256, device="npu")
    for _ in range(5):
        values = values @ values + 1
    side.wait_stream(npu.current_stream())
    with npu.stream(side):
        doubled = values * 2
        values.record_stream(side)
    npu.current_stream().wait_event(side.record_event())
    doubled.record_stream(npu.current_stream())
    total = (doubled - values).sum()
    side.synchronize()
    assert side.query()
    assert total.item() == values.cpu().sum().item()


def test_events() -> None:
    start, end = npu.Event(enable_timing=True), npu.Event(enable_timing=True, blocking=True)
    assert start.query()
    start.synchronize()
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(end)
    start.record()
    torch.zeros(100, 100, device="npu").exp()
    end.record(npu.current_stream())
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) >= 0
    assert end.elapsed_time(start) <= 0
    plain = npu.Event()
    assert npu.current_stream().record_event(plain) is plain
    plain.wait()
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(plain)
    with pytest.raises(NotImplementedError, match="interprocess=True is not supported"):
        npu.Event(interprocess=True)
    assert repr(plain).startswith("<mindtorch_v2.npu.Event 0x")


def test_streams_are_for_tensors_on_their_device() -> None:
    with pytest.raises(RuntimeError, match="the tensor is on cpu, and the stream on npu:0"):
        torch.ones(1).record_stream(npu.Stream())


def test_random_numbers_are_the_hosts() -> None:
    npu.manual_seed(5)
    first = torch.rand(3, device="npu").tolist()
    torch.manual_seed(5)
    assert torch.rand(3).tolist() == first
    npu.manual_seed_all(5)
    assert npu.initial_seed() == 5
    states = npu.get_rng_state_all()
    second = torch.rand(3).tolist()
    assert second == first
    npu.set_rng_state_all(states)
    assert torch.rand(3, device="npu").tolist() == first
    npu.seed()
    assert npu.initial_seed() != 5
    npu.seed_all()
    with pytest.raises(ValueError, match="Expected a npu device"):
        npu.get_rng_state("cpu")


def run(program: str, **environment: str) -> str:
    """Run a program in a process of its own, and return what it printed."""
    command = [sys.executable, "-c", "import mindtorch_v2 as torch\nnpu = torch.npu\n" + program]
    answer = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_several_devices() -> None:
    printed = run(
        """
print(npu.device_count(), npu.current_device())
with npu.device(1):
    tensor = torch.ones(2, device="npu")
    stream = npu.Stream()
    print(tensor.device, stream.device)
print(npu.current_device())
with npu.device_of(tensor):
    print(npu.current_device())
with npu.stream(stream):
    print(npu.current_device(), npu.current_stream() == stream, npu.current_stream(0) == stream)
print(npu.current_device(), npu.current_stream(1) == npu.default_stream(1))
print(npu.memory_allocated(0), npu.memory_allocated(1))
tensor.to("npu:0")
try:
    event = npu.Event()
    event.record(stream)
    event.record(npu.default_stream(0))
except RuntimeError as error:
    print(error)
try:
    tensor.record_stream(npu.default_stream(0))
except RuntimeError as error:
    print(error)
npu.synchronize(1)
npu.empty_cache()
""",
        MINDTORCH_NPU_COUNT="2",
    )
    assert printed.splitlines() == [
        "2 0",
        "npu:1 npu:1",
        "0",
        "1",
        "1 True False",
        "0 True",
        "0 512",
        "Event device index 1 does not match recording stream's device index 0.",
        "record_stream(): the tensor is on npu:1, and the stream on npu:0",
    ]


def test_questions_start_nothing() -> None:
    printed = run(
        """
print(npu.is_available(), npu.is_initialized(), npu.memory_allocated(), npu.memory_stats()["num_ooms"])
npu.empty_cache()
npu.reset_peak_memory_stats()
npu.manual_seed(1)
npu.memory_summary()
print(npu.is_initialized())
npu.synchronize()
print(npu.is_initialized())
"""
    )
    assert printed.splitlines() == ["True False 0 0", "False", "True"]


def test_no_devices() -> None:
    printed = run(
        """
print(npu.is_available(), npu.device_count(), npu.memory_allocated())
npu.manual_seed(1)
try:
    npu.synchronize()
except RuntimeError as error:
    print(error)
""",
        MINDTORCH_NPU_COUNT="0",
    )
    assert printed.splitlines() == [
        "False 0 0",
        "invalid NPU device index 0: there is none (set by MINDTORCH_NPU_COUNT)",
    ]
