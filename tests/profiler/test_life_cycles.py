"""What lasts over several cycles: accumulated events, trace ids, observers, statistics."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import (
    CYCLES_CLEAR_EVENTS,
    Observer,
    averages,
    events,
    names,
    run_program,
    scope,
    scopes,
    spans,
    square,
    trace_of,
)

from mindtorch_v2.profiler import _KinetoProfile, profile, schedule

if TYPE_CHECKING:
    from pathlib import Path

EVERY_SECOND = {"wait": 0, "warmup": 1, "active": 1}


def cycles(prof: Any, count: int) -> None:
    for number in range(2 * count):
        scope(f"work {number}")
        prof.step()


def test_accumulated_cycles_are_in_the_order_of_time_on_one_clock() -> None:
    seen: list[list[str]] = []
    with profile(
        schedule=schedule(**EVERY_SECOND, repeat=3),
        on_trace_ready=lambda prof: seen.append(scopes(prof)),
        acc_events=True,
    ) as prof:
        cycles(prof, 4)
    wanted = [name for step in (1, 3, 5) for name in (f"ProfilerStep#{step}", f"work {step}")]
    assert seen == [wanted[:2], wanted[:4], wanted]
    assert scopes(prof) == wanted
    starts = [event["start_ns"] for event in events(prof)]
    assert starts == sorted(starts)
    assert len(set(starts)) == len(starts)
    assert [event["step"] for event in events(prof)] == [1, 1, 3, 3, 5, 5]
    times = [event.time_range.start for event in events(prof)]
    assert times == sorted(times)


def test_accumulated_events_nest_and_average_as_one_recording() -> None:
    with profile(schedule=schedule(**EVERY_SECOND), acc_events=True) as prof:
        for _ in range(6):
            square()
            prof.step()
    assert averages(prof)["aten::ones"].count == 3
    steps = [event for event in events(prof) if event.name == "ProfilerStep*"]
    assert [[child.name for child in step.cpu_children] for step in steps] == [["aten::ones"]] * 3
    assert prof.key_averages().total_average().count == len(events(prof))


def test_the_trace_of_an_accumulating_profile_has_the_last_cycle(tmp_path: Path) -> None:
    with profile(schedule=schedule(**EVERY_SECOND, repeat=2), acc_events=True) as prof:
        cycles(prof, 2)
    assert [span["name"] for span in spans(trace_of(prof, tmp_path))] == ["ProfilerStep#3", "work 3"]


def test_an_accumulating_profile_that_is_used_again_goes_on() -> None:
    prof = profile(acc_events=True)
    for name in ("first", "second"):
        with prof:
            scope(name)
    assert names(prof) == ["first", "second"]


@pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)
def test_without_accumulation_only_the_last_cycle_is_there() -> None:
    with profile(schedule=schedule(**EVERY_SECOND, repeat=2)) as prof:
        cycles(prof, 2)
    assert scopes(prof) == ["ProfilerStep#3", "work 3"]


def test_that_cycles_clear_events_is_said_once_in_a_process() -> None:
    program = """
        import warnings
        from mindtorch_v2.profiler import profile, schedule
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for _ in range(2):
                with profile(schedule=schedule(wait=0, warmup=1, active=1)) as prof:
                    for _ in range(6):
                        prof.step()
        print([(warning.category.__name__, str(warning.message)) for warning in warned])
    """
    message = (
        "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
        "reported. To keep events across cycles, set acc_events=True."
    )
    assert run_program(program).stdout.strip() == str([("UserWarning", message)])


@pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)
def test_each_cycle_has_a_trace_id_of_its_own(tmp_path: Path) -> None:
    seen: list[Any] = []

    def ready(prof: Any) -> None:
        seen.append(prof.get_trace_id())
        assert trace_of(prof, tmp_path)["trace_id"] == seen[-1]

    prof = profile(schedule=schedule(**EVERY_SECOND, repeat=3), on_trace_ready=ready)
    assert prof.get_trace_id() is None
    with prof:
        assert prof.get_trace_id() is not None, "the warmup has prepared the first cycle"
        cycles(prof, 3)
    assert len(set(seen)) == len(seen) == 3
    assert all(len(each) == 32 and int(each, 16) >= 0 and each.upper() == each for each in seen)


@pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)
def test_a_custom_trace_id_is_asked_for_once_a_cycle(tmp_path: Path) -> None:
    asked = 0
    seen: list[Any] = []

    def make() -> str:
        nonlocal asked
        asked += 1
        return f"run {asked}"

    with profile(
        schedule=schedule(**EVERY_SECOND, repeat=2),
        on_trace_ready=lambda prof: seen.append(trace_of(prof, tmp_path)["trace_id"]),
        custom_trace_id_callback=make,
    ) as prof:
        cycles(prof, 2)
    assert seen == ["run 1", "run 2"]
    assert asked == 2


@pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)
def test_a_new_callback_for_trace_ids_counts_from_the_next_cycle() -> None:
    seen: list[Any] = []
    with profile(
        schedule=schedule(**EVERY_SECOND, repeat=2), on_trace_ready=lambda prof: seen.append(prof.get_trace_id())
    ) as prof:
        prof.set_custom_trace_id_callback(lambda: "mine")
        cycles(prof, 2)
    assert seen[0] != "mine"
    assert seen[1] == "mine"


def test_an_observer_is_started_and_stopped_with_each_recording_and_cleaned_up_at_the_end() -> None:
    observer = Observer()
    with profile(
        schedule=schedule(**EVERY_SECOND, repeat=2), execution_trace_observer=observer, acc_events=True
    ) as prof:
        assert observer.calls == []
        cycles(prof, 3)
    assert observer.calls == ["start", "stop"] * 2 + ["cleanup"]


def test_an_observer_is_stopped_and_cleaned_up_when_the_body_raises() -> None:
    observer = Observer()
    with pytest.raises(KeyError), profile(execution_trace_observer=observer):
        raise KeyError
    assert observer.calls == ["start", "stop", "cleanup"]


def test_an_observer_that_cannot_start_is_an_error_of_the_start() -> None:
    class Broken(Observer):
        def start(self) -> None:
            raise OSError("no file")

    prof = profile(execution_trace_observer=Broken())
    with pytest.raises(OSError, match="no file"):
        prof.start()


def test_an_observer_is_not_cleaned_up_by_stop_alone() -> None:
    observer = Observer()
    prof = profile(execution_trace_observer=observer)
    prof.start()
    prof.stop()
    assert observer.calls == ["start", "stop"]


def test_the_base_has_start_and_stop_and_no_steps(tmp_path: Path) -> None:
    prof = _KinetoProfile(activities=["CPU"], record_shapes=True)
    prof.start()
    square()
    prof.stop()
    assert names(prof)[0] == "aten::ones"
    assert spans(trace_of(prof, tmp_path))
    assert not hasattr(prof, "step")
    assert not hasattr(prof, "__enter__")


def test_prepare_start_and_stop_can_be_called_one_by_one() -> None:
    prof = profile()
    prof.prepare_trace()
    scope("prepared")
    prof.start_trace()
    scope("recorded")
    prof.stop_trace()
    assert names(prof) == ["recorded"]
    for call, word in ((profile().start_trace, "starting"), (profile().stop_trace, "stopping")):
        with pytest.raises(AssertionError, match=f"Profiler must be initialized before {word} trace"):
            call()


def test_statistics_count_the_events() -> None:
    prof = profile()
    assert prof._stats() is None
    with prof:
        for _ in range(5):
            scope("x")
    stats = prof._stats()
    assert stats is not None
    assert len(events(prof)) == 5
    after = prof._stats()
    assert after is not None
    assert after.number_of_events == 5
    assert stats.profiling_window_duration_sec >= 0
    assert stats.profiler_enable_call_duration_us >= 0


def test_a_time_limit_of_nothing_gives_no_events_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with profile(post_processing_timeout_s=0.0) as prof:
        scope("x")
    assert names(prof) == []
    with profile(post_processing_timeout_s=60.0) as patient:
        scope("x")
    assert names(patient) == ["x"]
    with pytest.raises(ValueError, match="post_processing_timeout_s must be non-negative"):
        profile(post_processing_timeout_s=-1).start()


def test_metadata_values_survive_a_round_trip(tmp_path: Path) -> None:
    value = {"list": [1, 2.5, None, True], "text": 'a "b"\n', "deep": {"é": "日本"}}
    with profile() as prof:
        prof.add_metadata_json("value", json.dumps(value))
    assert trace_of(prof, tmp_path)["value"] == value
