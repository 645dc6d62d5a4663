"""Threads that end with scopes open, by an exception or without anyone noticing."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.faults.support import TIME_LIMIT_S
from tests.profiler.support import events, frames, named, only, scope, spans, square, torch, trace_of

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FLAGS: dict[str, Any] = {"record_shapes": True, "profile_memory": True, "with_stack": True}


def run_to_its_end(work: Callable[[], object]) -> None:
    """Do some work on a thread of its own, and wait until that is gone."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def leave_open() -> Any:
    """Enter a scope that is left when what this returns is gone."""
    opened = record_function("left open")
    opened.__enter__()
    square()
    return opened


@pytest.mark.parametrize("flags", [{}, FLAGS], ids=["plain", "all"])
def test_a_scope_that_was_left_open_lasts_to_the_end_of_the_recording(flags: Any, tmp_path: Path) -> None:
    kept: list[Any] = []
    with profile(**flags) as prof:
        run_to_its_end(lambda: kept.append(leave_open()))
        scope("afterwards")
    left = only(named(prof, "left open"))
    after = only(named(prof, "afterwards"))
    assert not left.is_finished
    assert after.cpu_parent is None or after.cpu_parent.is_python_function
    assert left["start_ns"] <= after["start_ns"] <= after["end_ns"] <= left["end_ns"]
    assert only(named(prof, "aten::ones")).cpu_parent == left or flags
    written = [span for span in spans(trace_of(prof, tmp_path)) if span["name"] == "left open"]
    assert only(written)["args"]["finished"] is False


def test_a_scope_that_nobody_has_any_more_is_left() -> None:
    with profile() as prof:
        run_to_its_end(leave_open)
    assert only(named(prof, "left open")).is_finished


def test_a_scope_that_was_left_open_before_the_start_is_not_of_another_thread() -> None:
    kept = record_function("left open")
    run_to_its_end(kept.__enter__)
    with profile() as prof:
        scope("work")
        run_to_its_end(lambda: scope("on a new thread"))
    assert [event.name for event in events(prof) if event.cpu_parent is not None] == []
    kept.__exit__(None, None, None)


def test_scopes_that_a_thousand_threads_left_open_are_all_there() -> None:
    kept: list[Any] = []
    with profile() as prof:
        for _ in range(1000):
            run_to_its_end(lambda: kept.append(leave_open()))
    assert len(named(prof, "left open")) == len(named(prof, "aten::ones")) == 1000
    assert not any(event.is_finished for event in named(prof, "left open"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), MemoryError()], ids=repr)
def test_an_exception_that_ends_a_thread_ends_its_scopes(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    ended_by: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda hook: ended_by.append(hook.exc_value))

    def work() -> None:
        with record_function("outer"), record_function("inner"):
            square()
            raise error

    with profile(**FLAGS) as prof:
        run_to_its_end(work)
        scope("afterwards")
    assert ended_by == [error]
    assert [only(named(prof, name)).is_finished for name in ("outer", "inner")] == [True, True]
    assert only(event for event in frames(prof) if event.name.endswith(": work")).is_finished


def test_an_exception_from_outside_ends_a_thread_in_the_middle_of_its_work() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        try:
            with contextlib.suppress(TimeoutError):
                while True:
                    with record_function("busy"):
                        square() @ square()
                    begun.set()
        finally:
            ended.set()

    with profile(**FLAGS) as prof:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        assert begun.wait(TIME_LIMIT_S)
        number, error = ctypes.c_ulong(thread.ident or 0), ctypes.py_object(TimeoutError)
        assert ctypes.pythonapi.PyThreadState_SetAsyncExc(number, error) == 1
        assert ended.wait(TIME_LIMIT_S)
        thread.join()
        scope("afterwards")
    assert all(event.is_finished for event in named(prof, "busy"))
    assert not any(event.is_finished is False for event in frames(prof) if event.name.endswith(": work"))


def test_a_backward_pass_that_fails_on_a_thread_ends_its_nodes() -> None:
    failed: list[Exception] = []

    def hook(gradient: Any) -> Any:
        raise KeyError("hook")

    def work() -> None:
        x = torch.ones(2, requires_grad=True)
        x.register_hook(hook)
        try:
            (x * 2).sum().backward()
        except KeyError as error:
            failed.append(error)

    with profile() as prof:
        run_to_its_end(work)
    assert len(failed) == 1
    assert only(named(prof, "MulBackward0")).is_finished
    assert [event for event in events(prof) if not event.is_finished and not event.is_cut_at_start] == []


def test_a_thread_may_end_while_its_events_are_read() -> None:
    is_over = False

    def start_threads() -> None:
        while not is_over:
            run_to_its_end(leave_open)

    starter = threading.Thread(target=start_threads)
    interval = sys.getswitchinterval()
    with profile() as prof:
        starter.start()
        try:
            sys.setswitchinterval(1e-6)
            counts = [len(prof.events()) for _ in range(50)]
        finally:
            sys.setswitchinterval(interval)
            is_over = True
            starter.join()
    assert counts == sorted(counts)
    assert len(prof.events()) >= counts[-1]
