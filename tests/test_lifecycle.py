"""From when to when a profile records, and what it does then."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mindtorch_v2.profiler import ProfilerActivity, profile, record_function, supported_activities

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def names(prof: profile) -> list[str]:
    return [event.name for event in prof.events()]


def scope(name: str) -> None:
    with record_function(name):
        pass


def test_records_from_start_to_stop() -> None:
    scope("before")
    with profile() as prof:
        scope("during")
    scope("after")
    assert names(prof) == ["during"]


def test_gives_itself_to_the_with_statement() -> None:
    prof = profile()
    with prof as entered:
        assert entered is prof


def test_nothing_recorded_gives_empty_lists() -> None:
    with profile() as prof:
        pass
    assert len(prof.events()) == 0
    assert list(prof.key_averages()) == []
    assert prof.key_averages().table() == ""


def test_stopping_twice_keeps_the_data_and_calls_the_handler_once() -> None:
    calls: list[list[str]] = []
    with profile(on_trace_ready=lambda prof: calls.append(names(prof))) as prof:
        scope("work")
        prof.stop()
    prof.stop()
    assert calls == [["work"]]
    assert names(prof) == ["work"]


def test_the_handler_gets_the_profile_after_recording_ended() -> None:
    seen: list[profile] = []

    def ready(prof: profile) -> None:
        scope("in the handler")
        seen.append(prof)

    with profile(on_trace_ready=ready) as prof:
        scope("work")
    assert seen == [prof]
    assert names(prof) == ["work"]


@pytest.mark.parametrize("error", [TypeError("takes no arguments"), KeyError("k"), KeyboardInterrupt()])
def test_what_the_handler_raises_reaches_the_caller_unchanged(error: BaseException) -> None:
    calls = []

    def ready(prof: profile) -> None:
        calls.append(prof)
        raise error

    prof = profile(on_trace_ready=ready)
    prof.start()
    scope("work")
    with pytest.raises(type(error)) as raised:
        prof.stop()
    assert raised.value is error
    prof.stop()
    assert calls == [prof]
    assert names(prof) == ["work"]


def test_an_exception_in_the_body_ends_the_recording_and_propagates() -> None:
    calls: list[profile] = []
    prof = profile(on_trace_ready=calls.append)
    with pytest.raises(ZeroDivisionError), prof, record_function("fails"):
        _ = 1 / 0
    assert calls == [prof]
    assert names(prof) == ["fails"]


def test_starting_again_records_anew() -> None:
    calls: list[list[str]] = []
    prof = profile(on_trace_ready=lambda prof: calls.append(names(prof)))
    for name in ("first", "second"):
        with prof:
            scope(name)
    assert calls == [["first"], ["second"]]
    assert names(prof) == ["second"]


def test_starting_while_running_is_an_error_and_loses_nothing() -> None:
    with profile() as prof:
        scope("work")
        with pytest.raises(RuntimeError, match="already running"):
            prof.start()
    assert names(prof) == ["work"]


def test_a_snapshot_while_running_shows_what_was_recorded_so_far(tmp_path: Path) -> None:
    with profile() as prof:
        scope("first")
        assert names(prof) == ["first"]
        assert [row.key for row in prof.key_averages()] == ["first"]
        prof.export_chrome_trace(tmp_path / "so-far.json")
        scope("second")
    assert names(prof) == ["first", "second"]
    assert '"first"' in (tmp_path / "so-far.json").read_text(encoding="utf-8")


def test_nested_profiles_both_record() -> None:
    with profile() as outer:
        scope("before")
        with profile() as inner:
            scope("both")
        scope("after")
    assert names(inner) == ["both"]
    assert names(outer) == ["before", "both", "after"]


def test_overlapping_profiles_see_their_own_windows() -> None:
    one, other = profile(), profile()
    one.start()
    scope("a")
    other.start()
    scope("b")
    one.stop()
    scope("c")
    other.stop()
    assert names(one) == ["a", "b"]
    assert names(other) == ["b", "c"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda prof: prof.stop(), "Profiler must be initialized before stopping trace"),
        (lambda prof: prof.events(), "Profiler must be initialized before accessing events"),
        (lambda prof: prof.key_averages(), "Profiler must be initialized before getting key averages"),
        (lambda prof: prof.export_chrome_trace("t.json"), "Profiler must be initialized before exporting chrome trace"),
    ],
)
def test_before_the_first_start_there_is_nothing_to_ask_for(call: Callable[[profile], object], message: str) -> None:
    with pytest.raises(AssertionError) as raised:
        call(profile())
    assert str(raised.value) == message


def test_stepping_needs_a_running_session() -> None:
    prof = profile()
    with pytest.raises(RuntimeError, match="must be running"):
        prof.step()
    with prof:
        prof.step()
    with pytest.raises(RuntimeError, match="must be running"):
        prof.step()
    assert prof.step_num == 1


def test_events_carry_the_step_they_began_in(exported: Callable[[profile], dict[str, Any]]) -> None:
    prof = profile()
    with prof:
        scope("zero")
        prof.step()
        scope("one")
        assert prof.step_num == 1
    assert [(event["name"], event["step"]) for event in prof.events()] == [("zero", 0), ("one", 1)]
    with prof:
        scope("still one")
        prof.step()
        scope("two")
    assert [(event["name"], event["step"]) for event in prof.events()] == [("still one", 1), ("two", 2)]
    spans = [event for event in exported(prof)["traceEvents"] if event.get("cat") == "user_annotation"]
    assert [(span["name"], span["args"]["step"]) for span in spans] == [("still one", 1), ("two", 2)]


@pytest.mark.parametrize("name", ["CPU", "NPU", "CUDA", "GPU"])
def test_activities_are_members_or_their_names(name: str) -> None:
    expected = {ProfilerActivity.CPU if name == "CPU" else ProfilerActivity.NPU}
    assert profile(activities=[name]).activities == expected
    assert profile(activities=[ProfilerActivity[name]]).activities == expected


def test_activities_that_this_machine_lacks_are_said_so_and_an_assertion_error_at_the_start() -> None:
    program = """
import warnings
from mindtorch_v2.profiler import ProfilerActivity, profile, record_function, supported_activities
assert supported_activities() == {ProfilerActivity.CPU}
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    both = profile(activities=["CPU", "CUDA"])
    alone = profile(activities=["NPU"])
print([(str(warning.message), warning.filename) for warning in warned])
with both, record_function("work"):
    pass
print([event.name for event in both.events()])
try:
    alone.start()
except AssertionError as error:
    print(error)
"""
    environment = os.environ | {"MINDTORCH_NPU_COUNT": "0"}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    message = "NPU is not available, disabling NPU profiling"
    assert run.stdout.splitlines() == [
        str([(message, "<string>")] * 2),
        "['work']",
        "No activities specified for the profiler",
    ]


@pytest.mark.parametrize(("cpu", "recorded"), [(True, ["work"]), (False, [])])
def test_annotations_are_recorded_with_the_activity_of_the_host(cpu: bool, recorded: list[str]) -> None:
    with profile(activities=["CPU" if cpu else "NPU"]) as prof:
        scope("work")
    assert names(prof) == recorded


@pytest.mark.parametrize("activities", [ProfilerActivity.CPU, 5, "CPU"])
def test_a_single_activity_is_a_value_error_that_says_what_is_expected(activities: Any) -> None:
    with pytest.raises(ValueError, match=r"must be a list of activities, such as \['CPU'\], not "):
        profile(activities=activities)


def test_no_activities_given_means_all_that_are_supported() -> None:
    assert profile().activities == supported_activities() == {ProfilerActivity.CPU, ProfilerActivity.NPU}


@pytest.mark.parametrize("activities", [["TPU"], ["cpu"], [5], "CPU", ["CPU", "CPU"], ["CUDA", "NPU"]])
def test_other_activities_are_a_value_error_at_construction(activities: list[str]) -> None:
    with pytest.raises(ValueError, match=r"activit|Activity"):
        profile(activities=activities)


def test_an_empty_list_of_activities_is_an_assertion_error() -> None:
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=[])


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="nonsense"):
        profile(nonsense=None)  # type: ignore[call-arg]


def test_options_are_keywords() -> None:
    with pytest.raises(TypeError, match="positional"):
        profile(["CPU"])  # type: ignore[call-arg]


def test_profiling_prints_nothing(tmp_path: Path) -> None:
    program = """
from mindtorch_v2.profiler import profile, record_function
with profile() as prof, record_function("work"):
    pass
prof.export_chrome_trace("trace.json")
prof.key_averages().table()
"""
    command = [sys.executable, "-W", "error", "-c", program]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")
