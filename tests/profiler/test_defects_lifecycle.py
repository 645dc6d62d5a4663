"""What torch's profiler does badly and ours well: starting, stopping, filters and cycles."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import (
    CYCLES_CLEAR_EVENTS,
    averages,
    events,
    in_thread,
    named,
    names,
    scope,
    scopes,
    spans,
    square,
    trace_of,
)

from mindtorch_v2.profiler import ProfilerActivity, profile, record_function, schedule

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)


def test_defect_19_nested_profilers_both_record(tmp_path: Path) -> None:
    with profile() as outer:
        scope("before")
        with profile(with_stack=True) as inner:
            scope("both")
        scope("after")
    assert scopes(inner) == ["both"]
    assert names(outer) == ["before", "both", "after"]
    assert [span["name"] for span in spans(trace_of(outer, tmp_path))] == ["before", "both", "after"]


def test_defect_19_each_of_several_profilers_has_its_own_options() -> None:
    with profile(record_shapes=True) as shapes, profile(with_stack=True) as stacks, profile() as plain:
        square()
    assert "input_shapes" in events(shapes)[0]
    assert "stack" not in events(shapes)[0]
    assert all("input_shapes" not in event for event in events(stacks))
    assert all("stack" in event for event in named(stacks, "aten::ones"))
    assert all("stack" not in event and "input_shapes" not in event for event in events(plain))
    assert names(plain) == names(shapes)


def test_defect_20_a_second_stop_does_nothing() -> None:
    calls: list[list[str]] = []
    with profile(on_trace_ready=lambda prof: calls.append(names(prof))) as prof:
        scope("work")
        prof.stop()
        scope("after")
        assert names(prof) == ["work"]
    prof.stop()
    assert names(prof) == ["work"]
    assert calls == [["work"]]


def test_defect_20_a_stop_in_the_handler_does_nothing() -> None:
    calls: list[Any] = []

    def ready(prof: Any) -> None:
        calls.append(prof)
        prof.stop()

    with profile(on_trace_ready=ready) as prof:
        scope("work")
    assert calls == [prof]
    assert names(prof) == ["work"]


def test_defect_20_a_start_while_running_is_an_error_and_loses_nothing() -> None:
    with profile() as prof:
        scope("work")
        with pytest.raises(RuntimeError):
            prof.start()
        scope("more")
    assert names(prof) == ["work", "more"]


def test_defect_22_a_step_after_the_stop_keeps_the_results() -> None:
    calls: list[list[str]] = []
    with profile(
        schedule=schedule(wait=0, warmup=1, active=1, repeat=1), on_trace_ready=lambda prof: calls.append(names(prof))
    ) as prof:
        prof.step()
        scope("work")
    before = names(prof)
    with pytest.raises(RuntimeError):
        prof.step()
    assert names(prof) == before == ["ProfilerStep*", "work"]
    assert calls == [before]
    assert prof.step_num == 1


def test_defect_23_what_is_recorded_so_far_can_be_seen(tmp_path: Path) -> None:
    with profile(with_stack=True) as prof:
        scope("first")
        assert scopes(prof) == ["first"]
        assert averages(prof)["first"].count == 1
        assert "first" in prof.key_averages().table()
        assert "first" in [span["name"] for span in spans(trace_of(prof, tmp_path))]
        prof.export_stacks(tmp_path / "stacks.txt")
        scope("second")
    assert scopes(prof) == ["first", "second"]


def test_defect_23_a_snapshot_does_not_change_afterwards() -> None:
    with profile() as prof:
        scope("first")
        snapshot = prof.events()
        scope("second")
    assert [event.name for event in snapshot] == ["first"]
    assert names(prof) == ["first", "second"]


def test_defect_23_an_open_annotation_is_in_the_snapshot_as_unfinished() -> None:
    with profile() as prof:
        with record_function("open"):
            (event,) = events(prof)
            assert not event.is_finished
        assert events(prof)[0].is_finished


def test_defect_44_the_filter_by_kind_holds_for_all_outputs(tmp_path: Path) -> None:
    kinds = {"USER_ANNOTATION": "user_annotation", "CPU_OP": "cpu_op"}
    for name, category in kinds.items():
        with profile(activities=[{ProfilerActivity.CPU: [name]}]) as prof, record_function("annotation"):
            square()
        assert {event.activity_type for event in events(prof)} == {category}
        assert {span["cat"] for span in spans(trace_of(prof, tmp_path))} == {category}
        assert ("annotation" in averages(prof)) == (name == "USER_ANNOTATION")


def test_defect_44_a_filter_of_nothing_collects_nothing(tmp_path: Path) -> None:
    nothing: Any = [{ProfilerActivity.CPU: []}]
    with profile(activities=nothing, with_stack=True, profile_memory=True) as prof, record_function("annotation"):
        square()
    assert events(prof) == []
    assert spans(trace_of(prof, tmp_path)) == []


def test_defect_44_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="Unknown or non-member activity type name: 'BOGUS'"):
        profile(activities=[{ProfilerActivity.CPU: ["BOGUS"]}]).start()


def test_defect_57_without_acc_events_nothing_of_earlier_cycles_is_kept() -> None:
    lists: list[Any] = []
    with profile(
        schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=lambda prof: lists.append(prof.events())
    ) as prof:
        for _ in range(40):
            for _ in range(10):
                scope("x")
            prof.step()
    assert [len(each) for each in lists] == [11] * 20
    gc.collect()
    assert len(prof.events()) <= 11


def test_defect_57_accumulated_cycles_can_be_summed_up() -> None:
    with profile(schedule=schedule(wait=0, warmup=1, active=1), acc_events=True) as prof:
        for _ in range(40):
            for _ in range(10):
                scope("x")
            prof.step()
    assert averages(prof)["x"].count == 200
    assert averages(prof)["ProfilerStep*"].count == 20


def test_defect_60_step_and_toggle_need_a_running_profiler() -> None:
    prof = profile()
    with pytest.raises(AssertionError, match="Profiler must be initialized before stopping trace"):
        prof.stop()
    calls: list[Any] = [prof.step, lambda: prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])]
    for call in calls:
        with pytest.raises(RuntimeError):
            call()
    assert prof.step_num == 0
    with prof:
        scope("work")
    for call in calls:
        with pytest.raises(RuntimeError):
            call()
    assert names(prof) == ["work"]


def test_defect_60_the_rule_holds_on_other_threads() -> None:
    prof = profile()
    with pytest.raises(RuntimeError):
        in_thread(prof.step)
    with prof:
        in_thread(prof.step)
    assert prof.step_num == 1
