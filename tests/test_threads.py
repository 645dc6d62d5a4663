"""Programs with several threads, and processes that fork."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from typing_extensions import Self


def in_thread(work: object, name: str | None = None) -> None:
    thread = threading.Thread(target=work, name=name)  # type: ignore[arg-type]
    thread.start()
    thread.join()


def scope(name: str) -> None:
    with record_function(name):
        pass


def test_all_threads_are_recorded() -> None:
    ready, go = threading.Event(), threading.Event()

    def early() -> None:
        ready.set()
        go.wait()
        scope("early thread")

    thread = threading.Thread(target=early)
    thread.start()
    ready.wait()
    with profile() as prof:
        go.set()
        thread.join()
        in_thread(lambda: scope("late thread"))
        scope("main thread")
    events = {event.name: event for event in prof.events()}
    assert set(events) == {"early thread", "late thread", "main thread"}
    assert len({event.thread for event in events.values()}) == 3
    assert events["main thread"]["thread_id"] == threading.get_native_id()


def test_a_profile_may_be_started_and_stopped_on_other_threads() -> None:
    prof = profile()
    in_thread(prof.start)
    scope("work")
    in_thread(prof.stop)
    scope("after")
    assert [event.name for event in prof.events()] == ["work"]


def test_scopes_nest_within_their_thread_only() -> None:
    with profile() as prof, record_function("outer"):
        in_thread(lambda: scope("elsewhere"))
        scope("inner")
    parents = {event.name: event.cpu_parent and event.cpu_parent.name for event in prof.events()}
    assert parents == {"outer": None, "elsewhere": None, "inner": "outer"}


def test_a_scope_closed_on_another_thread_is_asynchronous() -> None:
    with profile() as prof:
        moved = record_function("moved")
        moved.__enter__()
        in_thread(lambda: moved.__exit__(None, None, None))
        scope("meanwhile")
    events = {event.name: event for event in prof.events()}
    assert events["moved"].is_async
    assert events["moved"].is_finished
    assert events["meanwhile"].cpu_parent is None


def test_one_scope_object_is_shared_by_threads() -> None:
    shared = record_function("shared")
    barrier = threading.Barrier(4)

    def work() -> None:
        for _ in range(50):
            barrier.wait()
            with shared, shared:
                barrier.wait()

    with profile() as prof:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    events = prof.events()
    assert len(events) == 400
    assert not any(event.is_async for event in events)
    assert all(event.is_finished for event in events)
    assert sum(event.cpu_parent is None for event in events) == 200


def test_threads_that_stop_together_call_the_handler_once() -> None:
    for _ in range(20):
        calls: list[profile] = []
        prof = profile(on_trace_ready=calls.append)
        prof.start()
        threads = [threading.Thread(target=prof.stop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert calls == [prof]


def test_a_forked_child_starts_clean_and_the_parent_goes_on() -> None:
    with profile() as prof:
        scope("before")
        child = os.fork()
        if child == 0:
            scope("in the child")
            with profile() as own:
                scope("own")
            os._exit(0 if [event.name for event in own.events()] == ["own"] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        scope("after")
    assert [event.name for event in prof.events()] == ["before", "after"]


def test_the_only_thread_is_thread_1() -> None:
    program = """
from mindtorch_v2.profiler import profile, record_function
with profile() as prof, record_function("work"):
    pass
print([event.thread for event in prof.events()])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[1]\n"


def test_a_recording_from_before_a_fork_is_over_in_the_child() -> None:
    calls: list[int] = []

    def in_the_child() -> None:
        with pytest.raises(RuntimeError, match="must be running to step"):
            prof.step()
        prof.stop()
        assert calls == []
        with pytest.raises(RuntimeError, match="belongs to another process: it was started before a fork"):
            prof.events()
        assert prof.step_num == 1
        with prof:
            scope("own")
        assert [(event.name, event["step"]) for event in prof.events()] == [("own", 1)]
        assert calls == [os.getpid()]

    with profile(on_trace_ready=lambda _: calls.append(os.getpid())) as prof:
        prof.step()
        scope("work")
        child = os.fork()
        if child == 0:
            try:
                in_the_child()
            except BaseException:
                os._exit(1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert calls == [os.getpid()]
    assert [event.name for event in prof.events()] == ["work"]


class Reader:
    """Asks for the events of a long recording, over and over, on a thread of its own."""

    def __init__(self, prof: profile) -> None:
        self.prof = prof
        self.is_over = False
        self.begins = threading.Event()
        self.thread = threading.Thread(target=self.read)

    def read(self) -> None:
        while not self.is_over:
            self.begins.set()
            self.prof.events()

    def wait_for_next(self) -> None:
        """Wait until it begins to make another trace."""
        self.begins.clear()
        self.begins.wait()

    def __enter__(self) -> Self:
        repeated = record_function("x")
        for _ in range(200_000):
            with repeated:
                pass
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over = True
        self.thread.join()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_child_forked_while_a_trace_is_made_does_not_hang() -> None:
    with profile() as prof, Reader(prof) as reader:
        for _ in range(5):
            reader.wait_for_next()
            child = os.fork()
            if child == 0:
                signal.alarm(120)
                prof.stop()
                os._exit(prof.step_num)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_waiting_for_a_trace_to_be_made_lets_other_threads_run() -> None:
    turns = 0
    is_over = False

    def turn() -> None:
        nonlocal turns
        while not is_over:
            turns += 1
            # A call of the system, for which the interpreter lock is given up.
            Path().stat()

    interval = sys.getswitchinterval()
    other = threading.Thread(target=turn)
    with profile() as prof, Reader(prof) as reader:
        other.start()
        try:
            # So that another thread runs during a step only if the step lets it.
            sys.setswitchinterval(1000)
            others_ran = False
            for _ in range(100):
                reader.wait_for_next()
                before = turns
                prof.step()
                others_ran = others_ran or turns > before
        finally:
            sys.setswitchinterval(interval)
            is_over = True
            other.join()
    assert others_ran
