"""The profiler's own time: what recording costs is known, can be left out of averages, and is told."""

from __future__ import annotations

import asyncio
import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.manual_clock import with_manual_clock
from tests.profiler.support import ancestors, averages, in_child, in_thread, named, output_of, scope, torch

from mindtorch_v2.autograd import profiler as autograd_profiler
from mindtorch_v2.autograd.profiler_util import EventList, FunctionEvent
from mindtorch_v2.profiler import Overhead, Trace, profile, record_function
from mindtorch_v2.profiler._overhead import EventCost

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindtorch_v2._core import _ManualClock as ManualClock


def program() -> None:
    """Do something of every kind that a host can do."""
    weight = torch.ones(4, 4, requires_grad=True)
    with record_function("outer"):
        for _ in range(20):
            with record_function("inner"):
                loss = (weight @ weight).relu()
            loss.backward(torch.ones(4, 4))
        on_npu = torch.ones(4, 4, device="npu") * 2
        on_npu.cpu()


@pytest.fixture(scope="module")
def prof() -> profile:
    with profile(record_shapes=True, with_stack=True) as prof:
        program()
    return prof


def cost_of(event: Any, overhead: Overhead) -> EventCost:
    """What it says that an event costs."""
    if event.is_python_function:
        return overhead.python_function
    if event.is_user_annotation:
        return overhead.annotation
    if event.activity_type == "cuda_runtime":
        return overhead.runtime
    backward = 1
    return overhead.backward if event.scope == backward else overhead.op


def nanoseconds(us: float) -> int:
    return round(us * 1000)


def expected(prof: Any) -> dict[str, tuple[int, int]]:
    """Return how long each group takes, itself and in all, by the events and what each is said to cost.

    An event loses what it costs inside, and what it contains directly costs outside, as far as there is that much.
    """
    overhead = prof.overhead()
    events = [event for event in prof.events() if event.device_type.name == "CPU" and event.name != "[memory]"]
    left: dict[Any, int] = {}
    for event in events:
        own = cost_of(event, overhead).inner_ns
        own += sum(cost_of(child, overhead).outer_ns for child in event.cpu_children)
        left[event] = max(0, nanoseconds(event.self_cpu_time_total) - own)

    def whole(event: Any) -> int:
        return left[event] + sum(whole(child) for child in event.cpu_children)

    sums: dict[str, tuple[int, int]] = {}
    for event in events:
        own, total = sums.get(event.key, (0, 0))
        # The time of recursion counts once.
        is_inside = event.key in ancestors(event)
        sums[event.key] = own + left[event], total + (0 if is_inside else whole(event))
    return sums


def test_times_are_less_by_what_events_cost(prof: profile) -> None:
    rows = averages(prof, include_python_functions=True, subtract_overhead=True)
    found = {
        key: (nanoseconds(row.self_cpu_time_total), nanoseconds(row.cpu_time_total))
        for key, row in rows.items()
        if row.device_type.name == "CPU"
    }
    assert found == expected(prof)
    assert {"outer", "inner", "aten::mm", "MmBackward0", "cudaLaunchKernel"} <= found.keys()


@pytest.mark.parametrize("with_functions", [True, False])
@pytest.mark.parametrize("by_shape", [True, False])
def test_what_was_left_out_is_told(prof: profile, with_functions: bool, by_shape: bool) -> None:
    options: dict[str, Any] = {"include_python_functions": with_functions, "group_by_input_shape": by_shape}
    whole, less = prof.key_averages(**options), prof.key_averages(**options, subtract_overhead=True)
    assert whole.overhead_time_total is None
    assert less.overhead_time_total is not None
    assert less.overhead_time_total >= 0
    for before, after in zip(whole, less, strict=True):
        assert (before.key, before.count, before.input_shapes) == (after.key, after.count, after.input_shapes)
        assert (before.overhead_time_total, before.self_overhead_time_total) == (0, 0)
        assert before.cpu_time_total == pytest.approx(after.cpu_time_total + after.overhead_time_total, abs=1e-6)
        lost = after.self_overhead_time_total
        assert before.self_cpu_time_total == pytest.approx(after.self_cpu_time_total + lost, abs=1e-6)
        assert before.device_time_total == after.device_time_total
        assert 0 <= after.self_cpu_time_total <= after.cpu_time_total
    told = sum(row.self_overhead_time_total for row in less)
    assert less.overhead_time_total == pytest.approx(told, abs=1e-6)
    difference = whole.self_cpu_time_total - less.self_cpu_time_total
    assert less.overhead_time_total == pytest.approx(difference, abs=1e-6)


def test_the_table_says_how_much(prof: profile) -> None:
    less = prof.key_averages(subtract_overhead=True)
    assert less.overhead_time_total is not None
    line = f"Profiler overhead subtracted: {less.overhead_time_total / 1000:.3f}ms\n"
    assert less.table(time_unit="ms").endswith(line)
    assert "overhead" not in prof.key_averages().table()


def test_everything_that_gives_averages_can_leave_it_out(prof: profile) -> None:
    less = averages(prof, subtract_overhead=True)["outer"].cpu_time_total
    assert less <= averages(prof)["outer"].cpu_time_total
    for source in (prof.trace(), prof.events(), prof.profiler):
        assert averages(source, subtract_overhead=True)["outer"].cpu_time_total == less
    old = autograd_profiler.profile()
    with old:
        program()
    assert old.key_averages(subtract_overhead=True).overhead_time_total is not None


def test_averages_can_be_asked_for_while_recording() -> None:
    with profile(with_stack=True) as prof:
        torch.ones(2) + 1
        first = averages(prof, subtract_overhead=True)["aten::add"].count
        torch.ones(2) + 1
    row = averages(prof, subtract_overhead=True)["aten::add"]
    assert (first, row.count) == (1, 2)


@pytest.mark.parametrize("options", [{}, {"profile_memory": True}, {"with_stack": True}])
def test_measuring_leaves_no_mark_in_a_recording(options: dict[str, Any]) -> None:
    """Each set of options is measured at its first use: here, or not at all if another test has done so."""
    with profile() as measured:
        pass
    before = torch.npu.memory_allocated()
    with profile(**options) as prof:
        with record_function("around"):
            measured.overhead()
        scope("after")
    assert [event.name for event in prof.events() if not event.is_python_function] == ["around", "after"]
    assert torch.npu.memory_allocated() == before


def test_a_new_process_measures_in_the_middle_of_a_recording_and_leaves_no_mark() -> None:
    lines = output_of("""
        from mindtorch_v2.profiler import profile, record_function
        with profile(record_shapes=True) as other:
            pass
        with profile(profile_memory=True, with_stack=True) as prof:
            with record_function("around"):
                overhead = other.overhead()
        print([event.name for event in prof.events() if not event.is_python_function])
        print(overhead.memory.total_ns, overhead == other.overhead())
    """)
    assert lines == ["['around']", "0 True"]


def check_costs(_: ManualClock) -> None:
    with profile(activities=["CPU"]) as little:
        pass
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as much:
        pass
    little_of, much_of = little.overhead(), much.overhead()
    assert little_of.op.total_ns >= 2 * STEP_NS
    assert little_of.backward.total_ns >= 2 * STEP_NS
    nothing = EventCost(0, 0)
    assert little_of.runtime == little_of.python_function == little_of.memory == little_of.memory_use == nothing
    for spans in (much_of.runtime, much_of.python_function):
        assert spans.total_ns >= 2 * STEP_NS
    for memory in (much_of.memory, much_of.memory_use):
        assert memory.total_ns >= STEP_NS


def test_what_is_asked_for_decides_on_what_an_event_costs() -> None:
    with_manual_clock(check_costs, step_ns=STEP_NS)


def test_the_whole_is_the_sum_of_all_events() -> None:
    with profile(profile_memory=True) as prof:
        kept = torch.ones(4)
        del kept
    overhead = prof.overhead()
    ops = [event for event in prof.events() if event.name != "[memory]"]
    assert [event.name for event in ops] == ["aten::ones", "aten::empty", "aten::fill_"]
    allocated_and_freed = 2 * overhead.memory.total_ns
    known = overhead.total_ns - len(ops) * overhead.op.total_ns - allocated_and_freed
    assert known >= 0
    assert known % overhead.memory_use.total_ns == 0


def test_a_part_of_a_trace_loses_what_it_did_as_part_of_the_whole(prof: profile) -> None:
    trace = prof.trace()
    whole = averages(trace, subtract_overhead=True, include_python_functions=True)
    part = averages(trace.filtered(name=["outer", "aten::mm"]), subtract_overhead=True)
    assert part.keys() == {"outer", "aten::mm"}
    for key, row in part.items():
        assert row.self_cpu_time_total == whole[key].self_cpu_time_total
        # Of what is left out it is only known what it cost, not how long it took: there may be less to lose.
        assert row.cpu_time_total <= whole[key].cpu_time_total
        assert row.overhead_time_total >= 0


def test_a_file_does_not_tell(prof: profile, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(path)
    trace = Trace.load(path)
    for ask in (trace.overhead, lambda: trace.key_averages(subtract_overhead=True)):
        with pytest.raises(ValueError, match="not known of a trace that was read from a file"):
            ask()
    assert len(trace.key_averages()) > 0


def test_events_that_were_changed_do_not_tell() -> None:
    with profile() as prof:
        scope("work")
    events = prof.events()
    events[0].name = "changed"
    by_hand = EventList([FunctionEvent(0, "step", 1, 0.0, 4.0)])
    by_hand._build_tree()
    for changed in (events, by_hand):
        with pytest.raises(ValueError, match="made or changed by hand"):
            changed.key_averages(subtract_overhead=True)
    with profile() as nothing:
        pass
    assert list(nothing.key_averages(subtract_overhead=True)) == []


def test_the_option_has_to_be_named(prof: profile) -> None:
    ask: Callable[..., Any] = prof.key_averages
    with pytest.raises(TypeError, match="positional argument"):
        ask(False, 0, False, False, True)


def test_averages_keep_what_they_lost(prof: profile) -> None:
    less = prof.key_averages(subtract_overhead=True)
    again = pickle.loads(pickle.dumps(less))
    assert again.overhead_time_total == less.overhead_time_total
    lost = [row.overhead_time_total for row in less]
    assert [row.overhead_time_total for row in again] == lost
    total = again[0]
    total.key = again[1].key
    total += again[1]
    assert total.overhead_time_total == lost[0] + lost[1]


def test_several_threads_may_ask_at_once() -> None:
    with profile(record_shapes=True, with_flops=True) as prof:
        scope("work")
    found: list[Overhead] = []
    in_thread(lambda: found.append(prof.overhead()))
    assert found == [prof.overhead()]


def test_a_forked_child_can_ask() -> None:
    with profile() as prof:
        scope("work")
    prof.overhead()

    def child() -> None:
        with profile(with_flops=True) as prof:
            scope("work")
        assert prof.overhead() == prof.overhead()
        assert prof.key_averages(subtract_overhead=True)[0].count == 1

    assert in_child(child) == 0


def test_tasks_lose_their_own() -> None:
    async def task(name: str) -> None:
        with record_function(name):
            for _ in range(3):
                torch.ones(2)
                await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(task("one"), task("two"))

    with profile() as prof:
        asyncio.run(main())
    overhead = prof.overhead()
    for name in ("one", "two"):
        (event,) = named(prof, name)
        own = overhead.annotation.inner_ns + 3 * overhead.op.outer_ns
        row = averages(prof, subtract_overhead=True)[name]
        assert len(event.cpu_children) == 3
        assert nanoseconds(row.self_overhead_time_total) == min(own, nanoseconds(event.self_cpu_time_total))


# The duration of a call or an operator without a profiler.
WORK_NS = 5_000
CALLS = 300
# The duration of a reading of the clock.
STEP_NS = 100


def many_calls(clock: ManualClock) -> None:
    def work() -> None:
        clock.advance(WORK_NS)

    for _ in range(CALLS):
        work()


def many_ops(clock: ManualClock) -> None:
    number = torch.ones(1)
    for _ in range(CALLS):
        number.neg()
        clock.advance(WORK_NS)


def check_real_program(clock: ManualClock, work: str, options: str) -> None:
    run = {"many_calls": many_calls, "many_ops": many_ops}[work]
    run(clock)
    begin = clock.now_ns()
    run(clock)
    truth = clock.now_ns() - begin
    assert truth == CALLS * WORK_NS
    with profile(activities=["CPU"], **json.loads(options)) as prof, record_function("around"):
        run(clock)
    whole = nanoseconds(averages(prof)["around"].cpu_time_total)
    less = nanoseconds(averages(prof, subtract_overhead=True)["around"].cpu_time_total)
    # Each call has two readings of the clock at least.
    assert whole >= truth + 2 * STEP_NS * CALLS
    # The remaining error is that of the measurement: a reading for many events, and the time outside of the calls.
    assert abs(less - truth) <= 20 * STEP_NS
    overhead = prof.overhead()
    counted = overhead.python_function if work == "many_calls" else overhead.op
    assert counted.total_ns >= 2 * STEP_NS


@pytest.mark.parametrize(
    ("work", "options"),
    [
        ("many_calls", {"with_stack": True}),
        ("many_ops", {"record_shapes": True}),
        ("many_ops", {"profile_memory": True}),
    ],
)
def test_without_overhead_a_program_takes_as_long_as_without_a_profiler(work: str, options: dict[str, Any]) -> None:
    with_manual_clock(check_real_program, work, json.dumps(options), step_ns=STEP_NS)
