"""Pipes whose reader is gone, or never comes: an error of the export, and not the end of the program."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from tests.faults.support import EXPORTS, FORK, TIME_LIMIT_S, TIMELINE, in_child, names_in
from tests.profiler.support import scope, scopes, spans, trace_of

from mindtorch_v2.profiler import ExecutionTraceObserver, profile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.filterwarnings(FORK), pytest.mark.filterwarnings(TIMELINE)]

BROKEN = (errno.EPIPE, "Broken pipe")


def long_recording() -> Any:
    """Return a recording that does not fit into a pipe."""
    with profile() as prof:
        for _ in range(2000):
            scope("work")
    return prof


@pytest.mark.parametrize("name", EXPORTS)
def test_a_pipe_whose_reader_is_gone(prof: Any, name: str, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        path = tmp_path / f"pipe{EXPORTS[name].suffix}"
        path.symlink_to(f"/dev/fd/{writing}")
        with pytest.raises(BrokenPipeError) as raised:
            EXPORTS[name].write(prof, path)
    finally:
        os.close(writing)
    assert (raised.value.errno, raised.value.strerror, raised.value.filename) == (*BROKEN, str(path))
    EXPORTS[name].write(prof, tmp_path / f"good{EXPORTS[name].suffix}")


def test_a_pipe_whose_reader_leaves_half_way(tmp_path: Path) -> None:
    prof = long_recording()
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = subprocess.Popen(["head", "-c", "10", str(path)], stdout=subprocess.PIPE)
    with pytest.raises(BrokenPipeError) as raised:
        prof.export_chrome_trace(path)
    assert len(reader.communicate(timeout=TIME_LIMIT_S)[0]) == 10
    assert raised.value.filename == str(path)
    assert len(spans(trace_of(prof, tmp_path))) == 2000


def test_a_program_whose_output_nobody_reads_goes_on(tmp_path: Path) -> None:
    program = """
        import sys
        from mindtorch_v2.profiler import profile, record_function
        with profile() as prof:
            for _ in range(2000):
                with record_function("work"):
                    pass
        try:
            prof.export_chrome_trace("/dev/stdout")
        except BrokenPipeError as error:
            print(error, file=sys.stderr)
        prof.export_chrome_trace("trace.json")
    """
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as output:  # noqa: PTH123
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            timeout=TIME_LIMIT_S,
            check=True,
        )
    assert run.stderr == "[Errno 32] Broken pipe: '/dev/stdout'\n"
    assert names_in(tmp_path) == ["trace.json"]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_an_execution_trace_whose_reader_is_gone(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"pipe{suffix}"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    observer = ExecutionTraceObserver().register_callback(path)
    prof = profile(execution_trace_observer=observer)
    prof.start()
    scope("work")
    os.close(reader)
    with pytest.raises(BrokenPipeError) as raised:
        prof.stop()
    assert raised.value.filename == str(path)
    assert scopes(prof) == ["work"]
    with pytest.raises(BrokenPipeError):
        observer.cleanup()
    assert not observer.is_registered
    ExecutionTraceObserver().register_callback(tmp_path / "good.json").cleanup()


def test_an_open_file_that_breaks_passes_on_what_it_raises(prof: Any) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb", buffering=0) as file, pytest.raises(BrokenPipeError):  # noqa: PTH123
        prof.export_chrome_trace(file)
    assert scopes(prof) == ["work"] * 10


class Alarm(Exception):  # noqa: N818
    """What the handler of a signal raises."""


def alarmed(wait: Callable[[], object]) -> None:
    """Wait for what never comes, until a signal does."""

    def ring(*_: object) -> None:
        raise Alarm

    signal.signal(signal.SIGALRM, ring)
    # More than once: the first may come before the wait.
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    with pytest.raises(Alarm):
        wait()
    signal.setitimer(signal.ITIMER_REAL, 0)


def interrupted(path: Path) -> None:
    """Export to what takes nothing, until a signal comes."""
    prof = long_recording()
    alarmed(lambda: prof.export_chrome_trace(path))
    assert scopes(prof) == ["work"] * 2000


def test_waiting_for_a_reader_can_be_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert in_child(lambda: interrupted(path)) == 0


def test_waiting_for_a_slow_reader_can_be_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert in_child(lambda: interrupted(path)) == 0
    finally:
        os.close(reader)


def interrupted_observer(path: Path) -> None:
    observer = ExecutionTraceObserver()
    alarmed(lambda: observer.register_callback(path))
    assert not observer.is_registered
    observer.register_callback(path.with_name("good.json")).cleanup()


def test_an_execution_trace_that_waits_for_a_reader_can_be_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert in_child(lambda: interrupted_observer(path)) == 0
    assert names_in(tmp_path) == ["good.json", "pipe"]
