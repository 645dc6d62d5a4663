"""Decisions of the profiler's front that no other list has: names, settings, and calls at odd moments."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import subprocess
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import mindtorch_v2.autograd.profiler as engine
import mindtorch_v2.profiler as front
from mindtorch_v2.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CYCLES = schedule(wait=0, warmup=1, active=1)


def names(prof: profile) -> list[str]:
    return [event.name for event in prof.events()]


def scope(name: str) -> None:
    with record_function(name):
        pass


@pytest.mark.parametrize("name", ["CUDA", "GPU", "NPU", "PrivateUse1"])
def test_all_names_of_the_accelerator_are_equal(name: str) -> None:
    activity = ProfilerActivity.__members__[name]
    assert activity == ProfilerActivity.NPU
    assert {activity, ProfilerActivity.NPU} == {ProfilerActivity.NPU}
    assert activity != ProfilerActivity.CPU
    assert activity in profile(activities=[activity]).activities
    assert pickle.loads(pickle.dumps(activity)) is activity


def test_an_activity_is_no_number() -> None:
    assert ProfilerActivity.CPU != 0
    assert int(ProfilerActivity.CUDA) == 2
    with pytest.raises(TypeError):
        sorted([ProfilerActivity.CPU, ProfilerActivity.NPU])  # type: ignore[type-var]


def test_a_lone_dict_of_activities_is_not_taken_for_the_list_of_its_keys() -> None:
    with profile(activities={ProfilerActivity.CPU: []}) as prof:
        scope("work")
    assert names(prof) == []


@pytest.mark.parametrize("types", ["CPU_OP", 5])
def test_the_types_of_an_activity_are_a_list(types: Any) -> None:
    with pytest.raises(TypeError, match="must be a list of their names"):
        profile(activities=[{ProfilerActivity.CPU: types}])


def test_an_unknown_type_is_refused_at_the_start() -> None:
    prof = profile(activities=[{"CPU": ["BOGUS"]}])
    with pytest.raises(RuntimeError, match=r"^Unknown or non-member activity type name: 'BOGUS'$"):
        prof.start()
    with pytest.raises(RuntimeError, match="must be running"):
        prof.step()


def test_settings_can_be_copied_and_pickled() -> None:
    settings = front._ExperimentalConfig(verbose=True, custom_profiler_config="x")
    for made in (copy.copy(settings), copy.deepcopy(settings), pickle.loads(pickle.dumps(settings))):
        assert vars(made) == vars(settings)
    with pytest.raises(TypeError, match="profiler_metrics"):
        front._ExperimentalConfig(profiler_metrics=[])  # type: ignore[call-arg]


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_profiler_is_not_copied(make: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match=r"cannot pickle 'profile' object: .*events"):
        make(profile())


@pytest.mark.parametrize("key", ["traceEvents", "schemaVersion", "trace_id", "record_shapes", "baseTimeNanoseconds"])
def test_metadata_cannot_take_the_place_of_what_the_file_has(tmp_path: Path, key: str) -> None:
    with profile(record_shapes=True) as prof:
        scope("work")
    prof.export_chrome_trace(tmp_path / "before.json")
    prof.add_metadata(key, "mine")
    prof.export_chrome_trace(tmp_path / "after.json")
    before, after = (json.loads((tmp_path / f"{name}.json").read_text("utf-8")) for name in ("before", "after"))
    assert after[key + "_user"] == "mine"
    assert after[key] == before[key]


def test_metadata_that_no_file_can_hold_are_replaced(tmp_path: Path) -> None:
    with profile() as prof:
        prof.add_metadata("bad\ud800key", "bad\ud800value")
        prof.add_metadata_json("json", '{"a": "\ud800"}')
    prof.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text("utf-8"))
    assert trace["bad\ufffdkey"] == "bad\ud800value"
    assert trace["json"] == {"a": "\ud800"}


def test_metadata_that_were_put_past_the_checks_do_not_break_the_file(tmp_path: Path) -> None:
    with profile() as prof:
        prof.preset_metadata["a"] = "not json"
        prof._trace_metadata["b"] = 5  # type: ignore[assignment]
    prof.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text("utf-8"))
    assert (trace["a"], trace["b"]) == ("not json", "5")


def test_a_handler_may_stop_the_profiler() -> None:
    calls: list[int] = []

    def ready(prof: profile) -> None:
        calls.append(prof.step_num)
        prof.stop()

    with profile(schedule=CYCLES, on_trace_ready=ready) as prof:
        prof.step()
        scope("work")
        prof.step()
        with pytest.raises(RuntimeError, match="must be running"):
            prof.step()
    assert calls == [2]
    assert names(prof) == ["ProfilerStep*", "work"]


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_a_handler_may_start_the_profiler_anew() -> None:
    calls: list[list[str]] = []

    def ready(prof: profile) -> None:
        calls.append(names(prof))
        if len(calls) == 1:
            prof.stop()
            prof.start()
            scope("in the handler")

    always = schedule(wait=0, warmup=1, active=1, skip_first=0)
    with profile(schedule=lambda step: always(1 if step else 0), on_trace_ready=ready) as prof:
        prof.step()
        scope("first")
        prof.step()
        scope("second")
    assert calls == [["ProfilerStep*", "first"], ["ProfilerStep*", "in the handler", "second"]]


def test_a_handler_may_not_step() -> None:
    errors: list[str] = []

    def ready(prof: profile) -> None:
        with pytest.raises(RuntimeError) as raised:
            prof.step()
        errors.append(str(raised.value))

    with profile(schedule=CYCLES, on_trace_ready=ready) as prof, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prof.step()
        prof.step()
        assert prof.step_num == 2
    assert errors == ["on_trace_ready is called in the middle of a step: it cannot make another"]


def test_an_id_that_could_not_be_made_is_made_for_the_recording() -> None:
    answers: list[Any] = ["first", ValueError("no id"), "second"]

    def next_id() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    with profile(schedule=CYCLES, custom_trace_id_callback=next_id) as prof, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prof.step()
        assert prof.get_trace_id() == "first"
        with pytest.raises(ValueError, match="no id"):
            prof.step()
        prof.step()
        assert prof.get_trace_id() == "second"
        scope("work")
    assert names(prof) == ["ProfilerStep*", "work"]


def test_an_id_must_be_text() -> None:
    with pytest.raises(TypeError, match="returned 5"):
        profile(custom_trace_id_callback=lambda: 5).start()  # type: ignore[arg-type, return-value]


class Observer:
    def __init__(self, fails_at: str) -> None:
        self.fails_at = fails_at
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[[], None]:
        def call() -> None:
            self.calls.append(name)
            if name == self.fails_at:
                raise OSError(name)

        return call


@pytest.mark.parametrize("fails_at", ["stop", "cleanup"])
def test_an_observer_that_fails_does_not_cost_the_recording(fails_at: str) -> None:
    observer, calls = Observer(fails_at), []
    prof = profile(execution_trace_observer=observer, on_trace_ready=lambda prof: calls.append(names(prof)))
    with pytest.raises(OSError, match=fails_at), prof:
        scope("work")
    assert calls == [["work"]]
    assert observer.calls == ["start", "stop", "cleanup"]


def test_what_a_schedule_warms_up_after_recording_is_recorded_too(tmp_path: Path) -> None:
    actions = [ProfilerAction.RECORD, ProfilerAction.WARMUP, ProfilerAction.RECORD_AND_SAVE]
    prof = profile(schedule=actions.__getitem__)
    prof.start()
    with pytest.warns(UserWarning, match="Incorrect schedule: RECORD followed by WARMUP"):
        prof.step()
    first = prof.get_trace_id()
    prof.step()
    scope("work")
    prof.stop()
    assert names(prof) == ["ProfilerStep*", "work"]
    assert first is not None
    prof.export_chrome_trace(tmp_path / "trace.json")


def test_no_time_for_events_means_none_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with profile(post_processing_timeout_s=0.0) as prof:
        scope("work")
    with caplog.at_level(logging.WARNING):
        assert names(prof) == []
    assert [record.name for record in caplog.records] == ["mindtorch_v2.autograd.profiler"]


def test_whether_any_profiler_runs_can_be_asked() -> None:
    before = engine._is_profiler_enabled
    with profile():
        during = engine._is_profiler_enabled
    assert (before, during, engine._is_profiler_enabled) == (False, True, False)


def test_a_profile_that_is_switched_off_does_nothing() -> None:
    prof = engine.profile(enabled=False)
    with prof as entered:
        scope("work")
    assert entered is None
    with pytest.raises(AttributeError, match="made with enabled=False"):
        _ = prof.function_events


def test_the_engines_profile_records_once() -> None:
    prof = engine.profile()
    assert repr(prof) == "<unfinished torch.autograd.profile>"
    with prof:
        scope("work")
    assert [event.name for event in prof.function_events] == ["work"]
    with pytest.raises(RuntimeError, match="not reentrant"), prof:
        pass


def step_often(prof: profile) -> None:
    for _ in range(50):
        prof.step()


def test_steps_from_several_threads_are_all_counted() -> None:
    with profile() as prof:
        threads = [threading.Thread(target=step_often, args=(prof,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert prof.step_num == 200


def test_a_program_may_end_while_it_records() -> None:
    program = """
import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function
prof = profile(with_stack=True, profile_memory=True, record_shapes=True)
prof.start()
record_function("open").__enter__()
torch.ones(3)
"""
    run = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")
