"""Pipes whose reader is gone, or never comes: an error of the export, and not the end of the program."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

import pytest
from tests.faults.support import EXPORTS, FORK, TIME_LIMIT_S, TIMELINE, names_in
from tests.profiler.support import read_json, scope, scopes, spans, square, trace_of

from mindtorch_v2.profiler import ExecutionTraceObserver, profile, record_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.filterwarnings(FORK), pytest.mark.filterwarnings(TIMELINE)]

BROKEN = (errno.EPIPE, "Broken pipe")


def long_recording() -> Any:
    """Return a recording that does not fit into a pipe."""
    with profile() as prof:
        for _ in range(2000):
            scope("work")
    return prof


def large_recording() -> Any:
    """Return a recording of which no file fits into a page."""
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        for number in range(1000):
            with record_function(f"work {number}"):
                square()
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


class Exporting:
    """A forked child that exports to a pipe, and what happens to it.

    Args:
        export: exports a recording, which the child has made. If it raises KeyboardInterrupt, the child ends with
            status 0; if it returns, with status 2.
        pipe: the reading end of the pipe, or None if there is no reader.
        other_thread: let another thread of the child receive SIGINT, so that it interrupts no system call of the one
            that exports. Neither does a signal that arrives just before the system call.
    """

    def __init__(self, export: Callable[[Any], object], pipe: int | None, other_thread: bool = False) -> None:
        self.pipe = pipe
        self._told, telling = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            status = 1
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                signal.signal(signal.SIGUSR1, lambda *_: os.write(telling, b"handled"))
                prof = large_recording()
                if other_thread:
                    threading.Thread(target=threading.Event().wait, daemon=True).start()
                    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
                os.write(telling, b"exporting")
                export(prof)
                status = 2
            except KeyboardInterrupt:
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(telling)
        self.handle = os.pidfd_open(self.child)

    def wait_until_told(self, expected: bytes) -> None:
        has_told, _, _ = select.select([self._told], [], [], TIME_LIMIT_S)
        assert has_told, f"the child hangs before {expected!r}"
        assert os.read(self._told, 100) == expected

    def wait_until_blocked(self) -> None:
        self.wait_until_told(b"exporting")
        deadline = time.monotonic() + TIME_LIMIT_S
        while not (self._is_pipe_full() and self._is_asleep()):
            assert time.monotonic() < deadline, "the child does not block"
            assert not self.has_ended(0), "the child does not wait for the pipe"

    def _is_pipe_full(self) -> bool:
        if self.pipe is None:
            return True
        writing = os.open(f"/proc/self/fd/{self.pipe}", os.O_WRONLY | os.O_NONBLOCK)
        try:
            return not select.select([], [writing], [], 0)[1]
        finally:
            os.close(writing)

    def _is_asleep(self) -> bool:
        with open(f"/proc/{self.child}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(") ")[2].startswith("S")

    def has_ended(self, limit_s: float) -> bool:
        return bool(select.select([self.handle], [], [], limit_s)[0])

    def status(self) -> int:
        """Return the exit status, after a limit of time that only a hang exceeds."""
        assert self.has_ended(TIME_LIMIT_S), "the child hangs"
        ended = os.waitid(os.P_PID, self.child, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def __enter__(self) -> Exporting:
        return self

    def __exit__(self, *_: object) -> None:
        # Nothing is left of a child that hangs.
        signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.handle)
        os.close(self._told)


def interrupt_once(export: Callable[[Any], object], pipe: int | None = None, *, other_thread: bool = False) -> None:
    """Export in a child, which must end with KeyboardInterrupt at the first SIGINT that it gets while it waits."""
    with Exporting(export, pipe, other_thread) as exporting:
        exporting.wait_until_blocked()
        os.kill(exporting.child, signal.SIGINT)
        assert exporting.status() == 0


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """Return a FIFO that is full with the first page, and the end of it that reads."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    yield path, reader
    os.close(reader)


@pytest.mark.parametrize("name", EXPORTS)
def test_the_first_interrupt_ends_an_export_that_waits_for_a_slow_reader(name: str, pipe: tuple[Path, int]) -> None:
    path, reader = pipe
    link = path.with_name(f"link{EXPORTS[name].suffix}")
    link.symlink_to(path)
    interrupt_once(lambda prof: EXPORTS[name].write(prof, link), reader)


@pytest.mark.parametrize("name", ["chrome trace", "compressed", "stacks"])
def test_the_first_interrupt_ends_an_export_that_waits_for_a_reader(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"pipe{EXPORTS[name].suffix}"
    os.mkfifo(path)
    interrupt_once(lambda prof: EXPORTS[name].write(prof, path))


def test_an_interrupt_that_another_thread_receives_ends_an_export(pipe: tuple[Path, int]) -> None:
    path, reader = pipe
    interrupt_once(lambda prof: prof.export_chrome_trace(path), reader, other_thread=True)
    nobody_reads = path.with_name("nobody reads")
    os.mkfifo(nobody_reads)
    interrupt_once(lambda prof: prof.export_chrome_trace(nobody_reads), other_thread=True)


@pytest.mark.parametrize("name", ["chrome trace", "perfetto", "speedscope", "flame graph", "report", "stacks"])
def test_the_first_interrupt_ends_an_export_to_an_open_file(name: str, pipe: tuple[Path, int]) -> None:
    path, reader = pipe
    with open(path, "wb", buffering=0) as file:  # noqa: PTH123
        interrupt_once(lambda prof: EXPORTS[name].write(prof, file), reader)


def test_a_signal_whose_handler_returns_does_not_end_an_export(pipe: tuple[Path, int]) -> None:
    path, reader = pipe
    with Exporting(lambda prof: prof.export_chrome_trace(path), reader) as exporting:
        exporting.wait_until_blocked()
        os.kill(exporting.child, signal.SIGUSR1)
        exporting.wait_until_told(b"handled")
        # A page at a time would take a change between the two processes for each.
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 1 << 20)
        content = b""
        while select.select([reader], [], [], TIME_LIMIT_S)[0] and (piece := os.read(reader, 1 << 16)):
            content += piece
        # The export has returned.
        assert exporting.status() == 2
    written = {event.get("name") for event in json.loads(content)["traceEvents"]}
    assert {f"work {number}" for number in range(1000)} <= written


def test_an_interrupted_export_leaves_the_recording(pipe: tuple[Path, int]) -> None:
    path, reader = pipe

    def export_and_look(prof: Any) -> None:
        try:
            prof.export_chrome_trace(path)
        finally:
            prof.export_chrome_trace(path.with_name("good.json"))

    interrupt_once(export_and_look, reader)
    written = {span["name"] for span in spans(read_json(path.with_name("good.json")))}
    assert {f"work {number}" for number in range(1000)} <= written


def test_the_first_interrupt_ends_an_execution_trace_that_waits_for_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def observe(_: Any) -> None:
        observer = ExecutionTraceObserver()
        try:
            observer.register_callback(path)
        finally:
            assert not observer.is_registered
            observer.register_callback(path.with_name("good.json")).cleanup()

    interrupt_once(observe)
    assert names_in(tmp_path) == ["good.json", "pipe"]
