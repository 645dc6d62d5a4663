"""Section 2 of the requirements: from when to when a profile records, and what it calls then."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from tests.profiler.support import CYCLES_CLEAR_EVENTS, events, names, scope, scopes, square, torch

from mindtorch_v2.profiler import ProfilerAction, profile, record_function, schedule

pytestmark = pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)


def test_the_handler_is_called_once_with_the_profiler_itself() -> None:
    calls: list[tuple[Any, ...]] = []
    with profile(on_trace_ready=lambda *given: calls.append(given)) as prof:
        scope("work")
        assert calls == []
    assert calls == [(prof,)]


def test_the_handler_is_called_once_for_each_finished_recording() -> None:
    calls: list[list[str]] = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda prof: calls.append(scopes(prof)),
    ) as prof:
        for number in range(11):
            scope(f"work {number}")
            prof.step()
    assert calls == [
        ["ProfilerStep#2", "work 2", "ProfilerStep#3", "work 3"],
        ["ProfilerStep#6", "work 6", "ProfilerStep#7", "work 7"],
    ]


@pytest.mark.parametrize(
    "error",
    [TypeError("takes 0 positional arguments but 1 was given"), KeyError("k"), KeyboardInterrupt(), SystemExit()],
)
def test_what_the_handler_raises_reaches_the_caller_unchanged(error: BaseException) -> None:
    calls = []

    def ready(prof: Any) -> None:
        calls.append(prof)
        raise error

    prof = profile(on_trace_ready=ready)
    with pytest.raises(type(error)) as raised, prof:
        scope("work")
    assert raised.value is error
    assert calls == [prof]
    assert names(prof) == ["work"]


def test_what_the_handler_raises_in_a_step_reaches_the_caller_unchanged() -> None:
    error = TypeError("handler")

    def ready(prof: Any) -> None:
        raise error

    prof = profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=1), on_trace_ready=ready)
    with prof:
        prof.step()
        with pytest.raises(TypeError) as raised:
            prof.step()
    assert raised.value is error


def test_a_handler_that_takes_no_argument_is_called_once_and_its_error_is_the_callers() -> None:
    calls = []

    def ready() -> None:
        calls.append(1)

    prof = profile(on_trace_ready=ready)
    prof.start()
    with pytest.raises(TypeError, match="positional argument"):
        prof.stop()
    assert calls == []


def test_record_function_does_nothing_without_a_profiler() -> None:
    with record_function("before") as entered:
        assert entered.name == "before"
    with profile() as prof:
        pass
    assert names(prof) == []


def test_record_function_keeps_nothing_without_a_profiler() -> None:
    repeated = record_function("x")
    for _ in range(10):
        with repeated:
            pass
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            with repeated, record_function("y"):
                pass
        assert tracemalloc.get_traced_memory()[0] - before < 1000
    finally:
        tracemalloc.stop()


def test_step_without_an_active_session_is_a_runtime_error() -> None:
    prof = profile()
    with pytest.raises(RuntimeError):
        prof.step()
    with prof:
        prof.step()
    with pytest.raises(RuntimeError):
        prof.step()
    assert prof.step_num == 1


def test_step_in_a_phase_that_does_not_record_is_no_error() -> None:
    with profile(schedule=schedule(wait=2, warmup=1, active=1)) as prof:
        prof.step()
        assert prof.current_action is ProfilerAction.NONE
        prof.step()
    assert prof.step_num == 2


def test_a_schedule_decides_which_steps_record() -> None:
    seen: list[list[str]] = []
    with profile(
        schedule=lambda step: ProfilerAction.RECORD_AND_SAVE if step in {1, 4} else ProfilerAction.NONE,
        on_trace_ready=lambda prof: seen.append(scopes(prof)),
    ) as prof:
        for number in range(6):
            scope(f"work {number}")
            prof.step()
    assert seen == [["ProfilerStep#1", "work 1"], ["ProfilerStep#4", "work 4"]]


def test_nothing_is_captured_outside_the_recording_phases() -> None:
    seen: list[dict[str, list[Any]]] = []

    def ready(prof: Any) -> None:
        found = events(prof)
        seen.append(
            {
                "steps": [event["step"] for event in found],
                "shapes": [event.input_shapes for event in found if event.name == "aten::add"],
                "bytes": [event.cpu_memory_usage for event in found if event.name == "[memory]"],
                "lines": [frame for event in found for frame in event.stack if frame.endswith(": outside")],
            }
        )

    def outside(size: int) -> Any:
        ones = torch.ones(size)
        return ones + ones

    def inside(size: int) -> Any:
        ones = torch.ones(size)
        return ones + ones

    options: dict[str, Any] = {"record_shapes": True, "profile_memory": True, "with_stack": True}
    with profile(schedule=schedule(wait=1, warmup=1, active=1, repeat=1), on_trace_ready=ready, **options) as prof:
        for step in range(5):
            if step == 2:
                kept = inside(7)
            else:
                outside(1000 + step)
            prof.step()
    (found,) = seen
    assert set(found["steps"]) == {2}
    assert found["shapes"] == [[[7], [7], []]]
    assert found["lines"] == []
    assert all(abs(size) < 1000 for size in found["bytes"])
    del kept


def test_a_warmup_that_ends_the_program_leaves_an_empty_list_and_calls_nothing() -> None:
    calls: list[Any] = []
    with profile(schedule=schedule(wait=0, warmup=5, active=1), on_trace_ready=calls.append) as prof:
        square()
        prof.step()
    assert calls == []
    assert events(prof) == []
