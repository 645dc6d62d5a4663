"""What torch's profiler does badly and ours well: tables, Python functions, and what costs too much."""

from __future__ import annotations

import cProfile
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import averages, events, frames, in_thread, named, only, scope, square, torch, trace_of

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import FrameType


@pytest.fixture(autouse=True)
def _no_hook_is_left() -> Iterator[None]:
    before = sys.getprofile()
    yield
    after = sys.getprofile()
    sys.setprofile(before)
    assert after is before


def python_work() -> int:
    return sum(abs(number) for number in range(3000))


def percents(table: str) -> list[float]:
    return [float(number) for number in re.findall(r"(-?\d+\.\d+)%", table)]


@pytest.mark.parametrize("python_functions", [False, True])
def test_defect_35_no_percentage_is_above_100(python_functions: bool) -> None:
    with profile(with_stack=True) as prof, record_function("work"):
        python_work()
        square()
    rows = prof.key_averages(include_python_functions=python_functions)
    found = percents(rows.table(row_limit=-1))
    assert found
    assert all(0 <= value <= 100.01 for value in found)


def test_defect_35_without_python_functions_their_time_is_that_of_what_contains_them() -> None:
    with profile(with_stack=True) as prof, record_function("work"):
        python_work()
    row = averages(prof)["work"]
    assert row.self_cpu_time_total == pytest.approx(row.cpu_time_total)
    assert prof.key_averages().self_cpu_time_total == pytest.approx(row.cpu_time_total)


def test_defect_35_self_times_are_never_negative() -> None:
    with profile(with_stack=True) as prof:
        in_thread(python_work)
        with record_function("work"):
            square() @ square()
    assert all(event.self_cpu_time_total >= 0 for event in events(prof))
    assert all(row.self_cpu_time_total >= 0 for row in prof.key_averages(include_python_functions=True))


def test_defect_37_stacks_and_flops_are_under_their_own_headings() -> None:
    with profile(with_flops=True, with_stack=True) as prof:
        torch.mm(torch.ones(64, 64), torch.ones(64, 64))
    lines = prof.key_averages(group_by_stack_n=1).table(sort_by="flops", row_limit=1).splitlines()
    heading, row = lines[1], lines[3]
    source, flops = heading.index("Source Location"), heading.index("Total KFLOPs")
    assert source < flops
    assert row[flops:].split() == ["524.288"]
    assert not re.match(r"[\d.]+$", row[source:flops].strip())


def test_defect_38_a_table_of_memory_and_flops() -> None:
    with profile(profile_memory=True, with_flops=True) as prof:
        ones = torch.ones(8, 8)
        ones @ ones
        del ones
    table = prof.events().table(row_limit=-1)
    assert "FLOPs" in table
    assert "CPU Mem" in table
    assert prof.key_averages().table()
    assert prof.key_averages().total_average().count > 0


@pytest.mark.parametrize("flags", range(16))
def test_defect_38_every_combination_of_flags_gives_tables(flags: int) -> None:
    options = ["record_shapes", "profile_memory", "with_stack", "with_flops"]
    chosen: dict[str, Any] = {option: bool(flags >> bit & 1) for bit, option in enumerate(options)}
    with profile(**chosen) as prof:
        ones = torch.ones(8, 8)
        ones @ ones
        (ones.to("npu") + 1).cpu()
        del ones
    assert prof.events().table()
    for by_shape in (False, True):
        for depth in (0, 2):
            rows = prof.key_averages(group_by_input_shape=by_shape, group_by_stack_n=depth)
            assert "aten::mm" in rows.table(sort_by="self_cpu_memory_usage", row_limit=-1)


def test_defect_42_the_users_profile_hook_is_called_and_restored() -> None:
    seen: list[str] = []

    def hook(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    def called() -> None:
        pass

    sys.setprofile(hook)
    try:
        with profile(with_stack=True):
            called()
        assert sys.getprofile() is hook
        called()
    finally:
        sys.setprofile(None)
    assert seen.count("called") == 2


def test_defect_42_cprofile_counts_every_call() -> None:
    def called() -> None:
        pass

    counter = cProfile.Profile()
    counter.enable()
    try:
        called()
        with profile(with_stack=True) as prof:
            called()
        for _ in range(5):
            called()
    finally:
        counter.disable()
    code = called.__code__
    assert only(entry.callcount for entry in counter.getstats() if entry.code is code) == 7
    assert len([frame for frame in frames(prof) if frame.name.endswith(": called")]) == 1


def test_defect_42_a_hook_set_while_recording_is_kept() -> None:
    def hook(frame: FrameType, event: str, argument: Any) -> None:
        pass

    with profile(with_stack=True):
        sys.setprofile(hook)
        square()
    assert sys.getprofile() is hook
    sys.setprofile(None)


def test_defect_42_the_hook_of_threads_is_restored() -> None:
    seen: list[str] = []

    def hook(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    def called() -> None:
        pass

    threading.setprofile(hook)
    try:
        with profile(with_stack=True):
            in_thread(called)
        assert threading.getprofile() is hook
        in_thread(called)
    finally:
        threading.setprofile(None)
    assert seen.count("called") == 2


def test_defect_42_a_tracer_goes_on_tracing() -> None:
    lines: list[int] = []

    def tracer(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code is called.__code__:
            lines.append(frame.f_lineno)
        return tracer

    def called() -> None:
        pass

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with profile(with_stack=True):
            called()
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert lines


def test_defect_50_names_of_builtins_have_no_addresses(tmp_path: Path) -> None:
    with profile(with_stack=True) as prof:
        kept = []
        for number in range(50):
            item = [number]
            item.append(number)
            kept.append(item)
        abs(-1)
        kept[0].index(0)
    rows = averages(prof, include_python_functions=True)
    assert rows["<built-in method append of list>"].count == 100
    assert rows["<built-in method index of list>"].count == 1
    assert rows["<built-in function abs>"].count == 1
    texts = [frame for event in events(prof) for frame in (event.name, *event.stack)]
    texts += [str(entry) for entry in trace_of(prof, tmp_path)["traceEvents"]]
    assert [text for text in texts if "object at 0x" in text or " at 0x" in text] == []


def test_defect_56_the_number_of_events_does_not_grow_with_depth() -> None:
    def nest(depth: int) -> None:
        with record_function(f"level {depth}"):
            torch.ones(10)
            if depth:
                nest(depth - 1)

    with profile(profile_memory=True) as flat:
        nest(0)
    with profile(profile_memory=True) as deep:
        nest(150)
    assert len(deep.events()) == 151 * len(flat.events())
    assert len(deep.events()[0].cpu_children) == len(flat.events()[0].cpu_children) + 1


def test_defect_56_averages_of_many_events_need_no_event_objects() -> None:
    repeated = record_function("x")
    with profile() as prof:
        for _ in range(100_000):
            with repeated:
                pass
    assert averages(prof)["x"].count == 100_000
    assert prof.events()[99_999].name == "x"


def test_defect_56_nesting_far_deeper_than_the_recursion_limit(tmp_path: Path) -> None:
    scopes = [record_function(f"level {depth}") for depth in range(5000)]
    with profile(with_stack=True, record_shapes=True, profile_memory=True) as prof:
        for each in scopes:
            each.__enter__()
        loss = torch.ones(2, requires_grad=True).sum()
        loss.backward()
        for each in reversed(scopes):
            each.__exit__(None, None, None)
        scope("last")
    assert only(named(prof, "level 4999")).cpu_parent.name == "level 4998"
    assert prof.key_averages(group_by_stack_n=3).table(row_limit=3)
    assert len(trace_of(prof, tmp_path)["traceEvents"]) > 5000
