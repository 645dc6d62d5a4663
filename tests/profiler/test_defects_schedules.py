"""What torch's profiler does badly and ours well: schedules, and handlers that raise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import (
    CYCLES_CLEAR_EVENTS,
    names,
    scope,
    spans,
    trace_names,
    trace_of,
)

from mindtorch_v2.profiler import ProfilerAction, profile, schedule

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)


@pytest.mark.parametrize("value", [None, 5, "RECORD", True, 2, ProfilerAction])
def test_defect_45_a_schedule_that_returns_no_action_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError):
        profile(schedule=lambda _: value)


@pytest.mark.parametrize("value", [None, 5, "RECORD"])
def test_defect_45_a_schedule_that_returns_no_action_later_is_a_type_error(value: Any) -> None:
    prof = profile(schedule=lambda step: value if step == 2 else ProfilerAction.RECORD)
    with prof:
        scope("first")
        prof.step()
        with pytest.raises(TypeError):
            prof.step()
        assert prof.step_num == 1
        scope("second")
    assert [name for name in trace_names(prof) if "Step" not in name] == ["first", "second"]


def test_defect_45_what_a_schedule_raises_reaches_the_caller() -> None:
    def broken(step: int) -> ProfilerAction:
        if step == 1:
            raise KeyError("schedule")
        return ProfilerAction.RECORD

    with profile(schedule=broken) as prof:
        scope("work")
        with pytest.raises(KeyError, match="schedule"):
            prof.step()
    assert "work" in names(prof)


def test_defect_47_the_cycle_after_a_handler_that_raised_is_complete(tmp_path: Path) -> None:
    seen: list[tuple[list[str], list[str]]] = []
    calls = 0

    def ready(prof: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise KeyError("handler")
        written = [span["name"] for span in spans(trace_of(prof, tmp_path), "user_annotation")]
        seen.append((trace_names(prof), written))

    raised = 0
    with profile(schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=ready) as prof:
        for number in range(6):
            scope(f"work {number}")
            try:
                prof.step()
            except KeyError:
                raised += 1
    assert (calls, raised) == (3, 1)
    cycles = [["ProfilerStep#3", "work 3"], ["ProfilerStep#5", "work 5"]]
    assert seen == [(cycle, cycle) for cycle in cycles]


def test_defect_47_a_handler_that_always_raises_does_not_stop_the_cycles() -> None:
    seen: list[list[str]] = []

    def ready(prof: Any) -> None:
        seen.append(trace_names(prof))
        raise ValueError("again")

    prof = profile(schedule=lambda _: ProfilerAction.RECORD_AND_SAVE, on_trace_ready=ready)
    prof.start()
    for number in range(3):
        scope(f"work {number}")
        with pytest.raises(ValueError, match="again"):
            prof.step()
        assert prof.step_num == number + 1
    with pytest.raises(ValueError, match="again"):
        prof.stop()
    assert seen[:3] == [[f"ProfilerStep#{number}", f"work {number}"] for number in range(3)]


def test_defect_47_the_profile_can_be_used_after_its_handler_raised() -> None:
    def ready(prof: Any) -> None:
        raise ValueError("handler")

    prof = profile(on_trace_ready=ready)
    for name in ("first", "second"):
        with pytest.raises(ValueError, match="handler"), prof:
            scope(name)
        assert names(prof) == [name]


@pytest.mark.filterwarnings("ignore:Incorrect schedule")
def test_defect_47_a_cycle_that_was_not_saved_is_followed_by_a_complete_one(tmp_path: Path) -> None:
    actions = [ProfilerAction.RECORD, ProfilerAction.WARMUP, ProfilerAction.RECORD_AND_SAVE, ProfilerAction.NONE]
    seen: list[list[str]] = []

    def ready(prof: Any) -> None:
        seen.append([span["name"] for span in spans(trace_of(prof, tmp_path))])

    with profile(schedule=lambda step: actions[min(step, 3)], on_trace_ready=ready) as prof:
        for number in range(4):
            scope(f"work {number}")
            prof.step()
    assert seen == [["ProfilerStep#2", "work 2"]]


GOOD = {"wait": 1, "warmup": 1, "active": 1, "repeat": 0, "skip_first": 0, "skip_first_wait": 0}


@pytest.mark.parametrize("argument", list(GOOD))
@pytest.mark.parametrize("value", [-1, 1.5, "1", None])
def test_defect_59_every_argument_of_a_schedule_is_validated(argument: str, value: Any) -> None:
    with pytest.raises((AssertionError, TypeError, ValueError)):
        schedule(**(GOOD | {argument: value}))


def test_defect_59_an_active_phase_of_no_steps_is_refused_with_torchs_words() -> None:
    with pytest.raises(
        AssertionError, match=r"Invalid profiler schedule arguments\. Got wait=1 .* active=0 \(need > 0\)"
    ):
        schedule(wait=1, warmup=1, active=0)


def test_defect_59_a_negative_step_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"Step must be non-negative\. Got -1\."):
        schedule(wait=1, warmup=1, active=1)(-1)
