"""Other processes: forks in the middle of a recording, other programs, and the ways of ``multiprocessing``."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.faults.support import FORK, TIME_LIMIT_S, in_child, names_in
from tests.profiler.execution_traces import nodes_of
from tests.profiler.support import names, output_of, scope, scopes, spans, square, trace_of

from mindtorch_v2.profiler import ExecutionTraceObserver, profile, record_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings(FORK)

FLAGS: dict[str, Any] = {"record_shapes": True, "profile_memory": True, "with_stack": True}
HELLO = [sys.executable, "-c", "print('hello')"]


def spawned(start: Callable[..., int]) -> bytes:
    """Run a program by one of the system's own ways, and return what it prints."""
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_CLOSE, reading)]
    child = start(sys.executable, HELLO, os.environ, file_actions=actions)
    os.close(writing)
    with open(reading, "rb") as output:  # noqa: PTH123
        said = output.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return said


def fork_and_exec() -> bytes:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        os.execv(sys.executable, HELLO)
    os.close(writing)
    with open(reading, "rb") as output:  # noqa: PTH123
        said = output.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return said


WAYS: dict[str, Callable[[], bytes]] = {
    "fork and exec": fork_and_exec,
    "posix_spawn": lambda: spawned(os.posix_spawn),
    # By vfork, where that is possible, and by fork if something is to run in the child first.
    "vfork": lambda: subprocess.check_output(HELLO, timeout=TIME_LIMIT_S),
    "preexec": lambda: subprocess.check_output(HELLO, timeout=TIME_LIMIT_S, preexec_fn=lambda: scope("child")),
    "shell": lambda: subprocess.check_output("echo hello", shell=True, timeout=TIME_LIMIT_S),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_program_that_is_started_in_the_middle_of_a_recording(way: str, tmp_path: Path) -> None:
    with profile(**FLAGS) as prof, record_function("around"):
        scope("before")
        assert WAYS[way]() == b"hello\n"
        scope("after")
    assert scopes(prof) == ["around", "before", "after"]
    assert [span["name"] for span in spans(trace_of(prof, tmp_path), "user_annotation")] == scopes(prof)


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Threads that record and start threads that record."""
    is_over = False

    def record() -> None:
        while not is_over:
            scope("busy")
            square() @ square()
            thread = threading.Thread(target=scope, args=("short",))
            thread.start()
            thread.join()

    threads = [threading.Thread(target=record) for _ in range(3)]
    for thread in threads:
        thread.start()
    yield
    is_over = True
    for thread in threads:
        thread.join()


@pytest.mark.usefixtures("busy_threads")
def test_forks_while_threads_record_and_start_and_end(tmp_path: Path) -> None:
    def child() -> None:
        with profile(**FLAGS) as own:
            scope("own")
            square()
        assert scopes(own) == ["own"]
        assert "aten::ones" in names(own)
        own.export_chrome_trace(tmp_path / f"{os.getpid()}.json")

    with profile(**FLAGS) as prof:
        for number in range(8):
            scope(f"fork {number}")
            assert in_child(child) == 0
    assert [name for name in scopes(prof) if name.startswith("fork")] == [f"fork {number}" for number in range(8)]
    assert "own" not in scopes(prof)
    assert len(names_in(tmp_path)) == 8


@pytest.mark.usefixtures("busy_threads")
@pytest.mark.parametrize("way", ["posix_spawn", "vfork", "preexec"])
def test_programs_that_are_started_while_threads_record(way: str) -> None:
    with profile() as prof:
        for number in range(3):
            scope(f"start {number}")
            assert WAYS[way]() == b"hello\n"
    assert [name for name in scopes(prof) if name.startswith("start")] == ["start 0", "start 1", "start 2"]


def test_a_fork_while_another_thread_exports(tmp_path: Path) -> None:
    with profile() as prof:
        for _ in range(20_000):
            scope("work")
    is_over = False
    begun = threading.Event()

    def export() -> None:
        while not is_over:
            begun.set()
            prof.export_chrome_trace(tmp_path / "parent.json.gz")

    def child() -> None:
        with profile() as own:
            scope("own")
        own.export_chrome_trace(tmp_path / "child.json")

    exporter = threading.Thread(target=export)
    exporter.start()
    try:
        for _ in range(5):
            begun.clear()
            assert begun.wait(TIME_LIMIT_S)
            assert in_child(child) == 0
    finally:
        is_over = True
        exporter.join()
    assert names_in(tmp_path) == ["child.json", "parent.json.gz"]


def test_a_fork_in_the_handler(tmp_path: Path) -> None:
    def ready(prof: Any) -> None:
        def child() -> None:
            with pytest.raises(RuntimeError, match="belongs to another process"):
                prof.export_chrome_trace(tmp_path / "parent.json")
            prof.on_trace_ready = None
            prof.stop()
            with prof:
                scope("own")
            assert scopes(prof) == ["own"]
            prof.export_chrome_trace(tmp_path / "child.json")

        assert in_child(child) == 0

    prof = profile()
    prof.start()
    scope("work")
    prof.on_trace_ready = ready
    prof.stop()
    assert scopes(prof) == ["work"]
    assert spans(trace_of(prof, tmp_path))
    assert names_in(tmp_path) == ["child.json", "trace.json"]


def test_a_child_that_ends_without_stopping_leaves_the_parents_files_alone(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    observer = ExecutionTraceObserver().register_callback(path)
    with profile(execution_trace_observer=observer, on_trace_ready=lambda _: (tmp_path / "ready").touch()):
        scope("before")
        child = os.fork()
        if child == 0:
            scope("in the child")
            # Leaves by the way of a program that ends, with all that it has open.
            os.execv(sys.executable, [sys.executable, "-c", ""])
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not (tmp_path / "ready").exists()
    assert nodes_of(path).names() == ["before"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_ways_of_multiprocessing(method: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        """
import multiprocessing, sys
import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function

def work(number):
    with profile(with_stack=True) as prof, record_function(f"worker {number}"):
        torch.ones(4) + 1
    prof.export_chrome_trace(f"{number}.json")
    return [event.name for event in prof.events() if event.is_user_annotation]

def ends_while_recording(number):
    prof = profile()
    prof.start()
    record_function("open").__enter__()

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with profile(with_stack=True) as prof, record_function("parent"):
        with context.Pool(2) as pool:
            print(sorted(pool.map(work, range(4))))
        child = context.Process(target=ends_while_recording, args=(1,))
        child.start()
        child.join()
        print(child.exitcode)
    print([event.name for event in prof.events() if event.is_user_annotation])
""",
        encoding="utf-8",
    )
    program = f"""
        import runpy, sys
        sys.argv = ["program.py", {method!r}]
        runpy.run_path("program.py", run_name="__main__")
    """
    assert output_of(program, directory=tmp_path) == [
        "[['worker 0'], ['worker 1'], ['worker 2'], ['worker 3']]",
        "0",
        "['parent']",
    ]
    assert [name for name in names_in(tmp_path) if name.endswith("json")] == [f"{number}.json" for number in range(4)]
