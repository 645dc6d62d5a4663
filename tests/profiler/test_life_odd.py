"""Odd moments: lists that are changed, schedules that end early, forks, several accelerators, filters with memory."""

from __future__ import annotations

import gc
import gzip
import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import events, named, only, output_of, square, torch

import mindtorch_v2
from mindtorch_v2.profiler import ProfilerActivity, _ExperimentalConfig, profile, record_function, schedule

if TYPE_CHECKING:
    from pathlib import Path

WARMS_UP = schedule(wait=0, warmup=5, active=1)


def in_python(count: int) -> int:
    return sum(len(str(number)) for number in range(count))


def figures(prof: Any) -> dict[str, tuple[Any, ...]]:
    rows = prof.key_averages()
    return {row.key: (row.count, pytest.approx(row.self_cpu_time_total), row.self_cpu_memory_usage) for row in rows}


def test_averages_are_the_same_after_the_list_was_sorted() -> None:
    with profile(with_stack=True, profile_memory=True) as prof, record_function("work"):
        in_python(50)
        square()
    before = figures(prof)
    prof.events().sort(key=lambda event: event.name)
    assert figures(prof) == before


def reverse_until_interrupted(found: Any) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.002)
    while True:
        found.reverse()


def test_an_interrupt_while_a_list_is_filled_leaves_it_whole() -> None:
    with profile() as prof:
        for _ in range(20_000):
            square()
    found = prof.events()
    count = len(found)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            reverse_until_interrupted(found)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(found) == len(prof.events()) == count


def test_memory_of_the_accelerator_counts_what_was_there_before(tmp_path: Path) -> None:
    kept = torch.ones(1000, device="npu")
    torch.npu.synchronize()
    in_use = torch.npu.memory_allocated()
    with profile(profile_memory=True) as prof:
        kept.add_(1)
    op = only(named(prof, "aten::add_"))
    assert (op["device_type"], op["npu_memory_allocated_before"], op["npu_memory_allocated_delta"]) == (
        "NPU",
        in_use,
        0,
    )
    prof.export_chrome_trace(tmp_path / "trace.json")
    spans = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert only(span for span in spans if span["name"] == "aten::add_")["args"]["npu_memory_allocated_after"] == in_use


def test_memory_is_that_of_the_accelerator_that_an_op_worked_on() -> None:
    program = """
        import mindtorch_v2 as torch
        from mindtorch_v2.profiler import profile
        first, second = torch.ones(1000, device="npu:0"), torch.ones(4, device="npu:1")
        with profile(profile_memory=True) as prof:
            kept = second + second
        (op,) = [event for event in prof.events() if event.name == "aten::add"]
        print(op["npu_memory_allocated_before"], op["npu_memory_allocated_delta"], op.device_memory_usage)
    """
    assert output_of(program, MINDTORCH_NPU_COUNT="2") == ["512 512 512"]


@pytest.mark.parametrize("with_stack", [False, True])
def test_a_schedule_that_ends_while_warming_up_records_nothing(with_stack: bool) -> None:
    with record_function("open"), profile(schedule=WARMS_UP, with_stack=with_stack) as prof:
        square()
    assert names(prof) == []


def names(prof: Any) -> list[str]:
    return [event.name for event in events(prof)]


def test_averages_of_a_schedule_that_is_warming_up_are_none() -> None:
    with profile(schedule=WARMS_UP) as prof:
        assert list(prof.key_averages()) == []
    with profile(post_processing_timeout_s=0) as prof:
        square()
    assert list(prof.key_averages()) == []


def test_a_schedule_that_came_to_no_recorded_step_says_so() -> None:
    with profile(schedule=schedule(wait=5, warmup=1, active=1)) as prof:
        square()
    with pytest.raises(AssertionError, match="schedule has not come to a step that is recorded"):
        prof.events()


def test_a_scope_of_a_forked_child_that_is_open_at_the_start_is_shown() -> None:
    with record_function("makes the parent's list"):
        pass
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with record_function("epoch"), profile() as prof:
                square()
            os.write(writing, json.dumps(names(prof)).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, "rb") as pipe:  # noqa: PTH123
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert json.loads(said)[0] == "epoch"


def test_ops_that_are_kept_keep_their_memory() -> None:
    with profile(activities=[{ProfilerActivity.CPU: ["CPU_OP"]}], profile_memory=True) as prof:
        kept = torch.ones(256)
        del kept
    assert only(named(prof, "aten::ones")).cpu_memory_usage == 1024
    assert "CPU Mem" in prof.key_averages().table()
    assert "[memory]" not in names(prof)


def test_a_negative_depth_of_stacks_is_none() -> None:
    with profile(with_stack=True) as prof:
        square()
    assert len(prof.key_averages(group_by_stack_n=-1)) == len(prof.key_averages())


def test_a_dropped_profiler_does_not_watch_the_garbage_collector_for_ever() -> None:
    before = list(gc.callbacks)
    prof = profile(with_stack=True, experimental_config=_ExperimentalConfig(record_python_gc_info=True))
    prof.start()
    assert len(gc.callbacks) == len(before) + 1
    del prof
    gc.collect()
    assert gc.callbacks == before


def test_a_list_of_events_is_compressed_if_its_name_says_so(tmp_path: Path) -> None:
    with profile() as prof:
        square()
    prof.events().export_chrome_trace(tmp_path / "list.json.gz")
    with gzip.open(tmp_path / "list.json.gz", "rt") as file:
        assert [event["name"] for event in json.load(file)] == names(prof)


def test_modules_that_are_loaded_later_are_there() -> None:
    for name in ("nn", "optim", "utils", "serialization", "save", "load"):
        assert name in dir(mindtorch_v2)
        assert getattr(mindtorch_v2, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = mindtorch_v2.nonsense
