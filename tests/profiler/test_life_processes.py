"""Processes: leaving the interpreter while recording, forks, and subinterpreters, which are refused."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import Observer, in_child, names, output_of, run_program, scope, square, torch

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

# A process with threads that forks is told so from Python 3.12 on.
FORK = "ignore:.*multi-threaded, use of fork:DeprecationWarning"

HEAD = """
import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function, schedule
options = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_flops": True}
"""


def test_leaving_the_interpreter_while_recording_is_silent() -> None:
    program = HEAD + "prof = profile(**options)\nprof.start()\ntorch.ones(2, device='npu').add_(1)\n"
    assert output_of(program) == []


def test_leaving_the_interpreter_with_open_scopes_on_other_threads_is_silent() -> None:
    program = (
        HEAD
        + """
import threading
entered = threading.Event()
def wait():
    with record_function("open"):
        entered.set()
        threading.Event().wait()
prof = profile(**options)
prof.start()
threading.Thread(target=wait, daemon=True).start()
entered.wait()
"""
    )
    assert output_of(program) == []


def test_results_can_be_read_while_the_interpreter_leaves(tmp_path: Path) -> None:
    program = (
        HEAD
        + """
import atexit
prof = profile()
prof.start()
def leave():
    prof.stop()
    prof.export_chrome_trace("trace.json")
    print([event.name for event in prof.events()])
atexit.register(leave)
with record_function("work"):
    pass
"""
    )
    assert output_of(program, directory=tmp_path) == ["['work']"]
    assert (tmp_path / "trace.json").stat().st_size > 0


def test_a_profile_in_a_module_that_is_torn_down_is_silent() -> None:
    program = (
        HEAD
        + """
class Holder:
    def __init__(self):
        self.prof = profile(**options)
        self.prof.start()
    def __del__(self):
        self.prof.stop()
holder = Holder()
holder.cycle = holder
torch.ones(2)
"""
    )
    assert output_of(program) == []


def test_an_exit_in_the_handler_ends_the_program_with_its_status() -> None:
    program = HEAD + "import sys\nwith profile(on_trace_ready=lambda _: sys.exit(7)):\n    torch.ones(2)\n"
    run = run_program(program)
    assert (run.returncode, run.stderr) == (7, "")


def test_an_interrupt_ends_the_recording_and_reaches_the_program() -> None:
    # Python leaves interrupts alone where they are ignored, as for what a shell runs in the background.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    calls: list[Any] = []
    prof = profile(on_trace_ready=calls.append)
    try:
        with pytest.raises(KeyboardInterrupt), prof, record_function("work"):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert calls == [prof]
    assert names(prof) == ["work"]


def test_a_forked_child_starts_clean_and_the_parent_goes_on() -> None:
    def child() -> None:
        scope("in the child")
        with profile(with_stack=True, profile_memory=True) as own:
            scope("own")
            square()
        assert "own" in names(own)
        assert "in the child" not in names(own)
        assert "aten::ones" in names(own)

    with profile(with_stack=True, profile_memory=True) as prof:
        scope("before")
        assert in_child(child) == 0
        scope("after")
    found = names(prof)
    assert "before" in found
    assert "after" in found
    assert "in the child" not in found


def test_a_recording_from_before_a_fork_is_over_in_the_child() -> None:
    calls: list[int] = []

    def child() -> None:
        for ask in (prof.step, prof.events, prof.key_averages):
            with pytest.raises(RuntimeError):
                ask()
        prof.stop()
        assert calls == []
        with prof:
            scope("own")
        assert names(prof) == ["own"]
        assert calls == [os.getpid()]

    with profile(on_trace_ready=lambda _: calls.append(os.getpid())) as prof:
        scope("work")
        assert in_child(child) == 0
    assert calls == [os.getpid()]
    assert names(prof) == ["work"]


def test_finished_results_can_be_read_in_the_child() -> None:
    with profile() as prof:
        scope("work")
    found = prof.events()

    def child() -> None:
        assert [event.name for event in found] == ["work"]

    assert in_child(child) == 0


def test_an_open_scope_ends_in_the_child_without_harm() -> None:
    with profile() as prof:
        with record_function("around"):
            child = os.fork()
            if child:
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        if not child:
            os._exit(0)
    assert names(prof) == ["around"]


@pytest.mark.filterwarnings(FORK)
def test_a_fork_while_other_threads_record_does_not_hang() -> None:
    is_over = False

    def record() -> None:
        while not is_over:
            scope("busy")
            square()

    def child() -> None:
        signal.alarm(120)
        with profile(with_stack=True, profile_memory=True, record_shapes=True) as own:
            scope("own")
        assert "own" in names(own)

    threads = [threading.Thread(target=record) for _ in range(2)]
    with profile(with_stack=True, profile_memory=True, record_shapes=True):
        for thread in threads:
            thread.start()
        try:
            for _ in range(5):
                assert in_child(child) == 0
        finally:
            is_over = True
            for thread in threads:
                thread.join()


def test_an_observer_is_the_parents_after_a_fork() -> None:
    observer = Observer()

    def child() -> None:
        scope("in the child")

    with profile(execution_trace_observer=observer):
        assert in_child(child) == 0
    assert observer.calls == ["start", "stop", "cleanup"]


def test_work_of_the_npu_in_the_parent_is_complete_after_a_fork() -> None:
    with profile() as prof:
        ones = torch.ones(32, 32, device="npu")
        ones @ ones
        assert in_child(lambda: None) == 0
        ones @ ones
    assert names(prof).count("aten::mm") == 2


def test_several_processes_record_at_once() -> None:
    program = (
        HEAD
        + """
import multiprocessing
def work(number):
    with profile() as prof, record_function(f"worker {number}"):
        torch.ones(4) + 1
    return [event.name for event in prof.events() if event.is_user_annotation]
if __name__ == "__main__":
    with profile() as prof, multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, range(2)))
    print([event.name for event in prof.events() if event.is_user_annotation])
"""
    )
    assert output_of(program) == ["[['worker 0'], ['worker 1']]", "[]"]


def test_a_subinterpreter_is_refused_with_words_that_say_so() -> None:
    program = """
try:
    import _interpreters as interpreters
except ModuleNotFoundError:  # before Python 3.13
    import _xxsubinterpreters as interpreters
import mindtorch_v2
made = interpreters.create()
try:
    # Python 3.13 returns the exception, older versions raise one.
    failure = interpreters.run_string(made, "import mindtorch_v2.profiler")
except interpreters.RunFailedError as error:
    failure = error
print("ImportError" in str(failure) and "interpreter" in str(failure))
interpreters.destroy(made)
from mindtorch_v2.profiler import profile, record_function
with profile() as prof, record_function("work"):
    pass
print([event.name for event in prof.events()])
"""
    run = run_program(program)
    assert (run.returncode, run.stdout.splitlines()) == (0, ["True", "['work']"]), run.stderr
