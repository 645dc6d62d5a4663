"""Relatives of the listed defects: callbacks that raise, re-entry from odd places, odd files and odd settings."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import Observer, events, in_thread, named, names, only, output_of, read_json, scope, spans

from mindtorch_v2.profiler import ProfilerAction, profile, record_function

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType


def test_relative_of_20_a_profile_that_is_dropped_while_it_records_is_freed() -> None:
    prof = profile(with_stack=True, profile_memory=True)
    prof.start()
    scope("work")
    gone = weakref.ref(prof)
    del prof
    gc.collect()
    assert gone() is None
    with profile() as after:
        scope("after")
    assert names(after) == ["after"]


def test_relative_of_20_two_threads_that_stop_together_call_the_handler_once() -> None:
    for _ in range(20):
        calls: list[Any] = []
        prof = profile(on_trace_ready=calls.append)
        prof.start()
        scope("work")
        threads = [threading.Thread(target=prof.stop) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert calls == [prof]
        assert names(prof) == ["work"]


def test_relative_of_22_steps_of_many_threads_are_all_counted() -> None:
    def step() -> None:
        for _ in range(50):
            prof.step()

    with profile(schedule=lambda _: ProfilerAction.RECORD) as prof:
        threads = [threading.Thread(target=step) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert prof.step_num == 200
    steps = sorted(event["step"] for event in events(prof))
    assert steps == list(range(201))


def test_relative_of_23_the_handler_may_ask_from_another_thread() -> None:
    seen: list[list[str]] = []
    with profile(on_trace_ready=lambda prof: in_thread(lambda: seen.append(names(prof)))):
        scope("work")
    assert seen == [["work"]]


def test_relative_of_47_an_observer_that_raises_at_the_stop_loses_no_data() -> None:
    class Broken(Observer):
        def stop(self) -> None:
            super().stop()
            raise OSError("disk full")

    observer = Broken()
    prof = profile(execution_trace_observer=observer)
    prof.start()
    scope("work")
    with pytest.raises(OSError, match="disk full"):
        prof.stop()
    prof.stop()
    assert names(prof) == ["work"]
    assert observer.calls.count("stop") == 1


def test_relative_of_47_a_trace_id_that_cannot_be_made_is_an_error_of_the_start_and_no_more() -> None:
    def fails() -> str:
        raise KeyError("no id")

    prof = profile(custom_trace_id_callback=fails)
    with pytest.raises(KeyError, match="no id"):
        prof.start()
    prof.set_custom_trace_id_callback(lambda: "mine")
    with prof:
        scope("work")
    assert names(prof) == ["work"]
    assert prof.get_trace_id() == "mine"


def test_relative_of_47_what_the_handler_changes_is_not_undone() -> None:
    def ready(prof: Any) -> None:
        prof.on_trace_ready = None

    calls = 0
    prof = profile(on_trace_ready=ready)
    for _ in range(2):
        with prof:
            scope("work")
        calls += 1
    assert calls == 2
    assert prof.on_trace_ready is None


def test_relative_of_45_a_schedule_that_raises_at_construction() -> None:
    def broken(step: int) -> ProfilerAction:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        profile(schedule=broken)


def test_relative_of_04_a_signal_handler_may_annotate() -> None:
    def handle(number: int, frame: FrameType | None) -> None:
        scope("in the handler")

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with profile() as prof, record_function("outer"):
            for _ in range(10):
                signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    found = named(prof, "in the handler")
    assert len(found) == 10
    assert all(event.cpu_parent.name == "outer" for event in found)


def test_relative_of_04_a_destructor_may_annotate() -> None:
    class Annotated:
        def __del__(self) -> None:
            scope("in the destructor")

    with profile() as prof:
        with record_function("outer"):
            item = Annotated()
            del item
        cycle: list[Any] = [Annotated()]
        cycle.append(cycle)
        del cycle
        gc.collect()
    found = named(prof, "in the destructor")
    assert [event.cpu_parent and event.cpu_parent.name for event in found] == ["outer", None]


def test_relative_of_42_a_hook_that_annotates() -> None:
    def hook(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_name == "called":
            scope("in the hook")

    def called() -> None:
        pass

    sys.setprofile(hook)
    try:
        with profile(with_stack=True) as prof:
            called()
    finally:
        sys.setprofile(None)
    assert len(named(prof, "in the hook")) == 1


def test_relative_of_15_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.touch()
    link.symlink_to(target)
    with profile() as prof:
        scope("work")
    prof.export_chrome_trace(link)
    assert link.is_symlink()
    assert [span["name"] for span in spans(read_json(target))] == ["work"]


def test_relative_of_15_an_old_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("x" * 1_000_000, encoding="utf-8")
    with profile() as prof:
        scope("work")
    prof.export_chrome_trace(path)
    assert [span["name"] for span in spans(read_json(path))] == ["work"]
    assert [each.name for each in tmp_path.iterdir()] == ["trace.json"]


def test_relative_of_15_two_threads_export_at_once(tmp_path: Path) -> None:
    with profile() as prof:
        for number in range(2000):
            scope(f"work {number}")
    paths = [tmp_path / f"{number}.json" for number in range(4)]
    threads = [threading.Thread(target=prof.export_chrome_trace, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(spans(read_json(path))) for path in paths] == [2000] * 4


@pytest.mark.parametrize("settings", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONOPTIMIZE": "2"}], ids=str)
def test_relative_of_02_settings_of_the_interpreter_change_nothing(settings: dict[str, str], tmp_path: Path) -> None:
    program = r"""
        import json
        import mindtorch_v2 as torch
        from mindtorch_v2.profiler import profile, record_function
        with profile(with_stack=True, record_shapes=True) as prof, record_function("caf\u00e9"):
            torch.ones(2) + 1
        prof.export_chrome_trace("trace.json")
        with open("trace.json", encoding="utf-8") as file:
            entries = json.load(file)["traceEvents"]
        print(ascii([entry["name"] for entry in entries if entry.get("cat") == "user_annotation"]))
        try:
            profile().stop()
        except AssertionError as error:
            print(error)
    """
    lines = output_of(program, directory=tmp_path, **settings)
    assert lines == [r"['caf\xe9']", "Profiler must be initialized before stopping trace"]


def test_relative_of_58_import_and_profiling_need_no_home_and_no_temporary_directory(tmp_path: Path) -> None:
    program = """
        from mindtorch_v2.profiler import profile, record_function
        with profile() as prof, record_function("work"):
            pass
        prof.export_chrome_trace("trace.json")
        print([event.name for event in prof.events()])
    """
    assert output_of(program, directory=tmp_path, HOME="/nonexistent", TMPDIR="/nonexistent") == ["['work']"]


def test_relative_of_33_a_scope_that_outlives_two_recordings_is_in_both() -> None:
    around = record_function("around")
    with profile() as whole:
        around.__enter__()
        with profile() as first:
            scope("first")
        with profile() as second:
            scope("second")
        around.__exit__(None, None, None)
    for prof, name in ((first, "first"), (second, "second")):
        event = only(named(prof, "around"))
        assert (event.is_cut_at_start, event.is_finished) == (True, False)
        assert only(named(prof, name)).cpu_parent == event
    event = only(named(whole, "around"))
    assert (event.is_cut_at_start, event.is_finished) == (False, True)
