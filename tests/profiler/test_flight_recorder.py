"""The flight recorder: always on, and written when something goes wrong."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from mindtorch_v2.profiler import Trace, flight_recorder, profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20


def names(path: str | Path) -> list[str]:
    return [event.name for event in Trace.load(path).events()]


def run(program: str, path: Path) -> subprocess.CompletedProcess[str]:
    code = f"path = {str(path)!r}\n" + program
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


IMPORTS = """
import os, signal, threading
from mindtorch_v2.profiler import flight_recorder, record_function
"""


def test_it_is_written_while_it_goes_on(tmp_path: Path) -> None:
    with flight_recorder(max_bytes=MIB, path=tmp_path / "{count}.json.gz") as recorder:
        with record_function("first"):
            pass
        first = recorder.dump()
        with record_function("second"):
            pass
        # From any thread.
        thread = threading.Thread(target=recorder.dump)
        thread.start()
        thread.join()
    assert first == str(tmp_path / "1.json.gz")
    assert names(first) == ["first"]
    assert names(tmp_path / "2.json.gz") == ["first", "second"]
    assert names(recorder.dump(tmp_path / "after.json")) == ["first", "second"]


def test_it_shows_the_last_seconds_only() -> None:
    recorder = flight_recorder(seconds=3600, max_bytes=MIB)
    with recorder:
        with record_function("old"):
            pass
        end = recorder.trace().duration_ns
        # A point after the old one, without waiting for it to pass.
        while recorder.trace().duration_ns < end + 1_000_000:
            pass
        with record_function("new"):
            recorder.trace()
        recorder.seconds = (recorder.trace().duration_ns - end) / 1e9
        shown = [event.name for event in recorder.trace().events()]
    assert shown == ["new"]


def test_its_memory_does_not_grow_and_another_profiler_has_everything() -> None:
    scope = record_function("scope")
    with flight_recorder(max_bytes=MIB) as recorder, profile() as prof:
        for _ in range(100_000):
            with scope:
                pass
        trace = recorder.trace()
    assert len(trace.events()) < MIB // 32 + 2048
    assert len(trace.events()) + trace.lost_events == 100_000
    assert len(prof.events()) == 100_000


@pytest.mark.parametrize("where", ["main", "thread"])
def test_an_exception_that_nobody_handles_is_written(tmp_path: Path, where: str) -> None:
    path = tmp_path / "crash.json"
    program = IMPORTS + (
        "recorder = flight_recorder(path=path, on_exception=True)\n"
        "recorder.start()\n"
        "def work():\n"
        "    with record_function('work'):\n"
        "        raise KeyError('gone wrong')\n"
    )
    program += "work()\n" if where == "main" else "t = threading.Thread(target=work); t.start(); t.join()\n"
    done = run(program, path)
    assert "KeyError: 'gone wrong'" in done.stderr
    assert names(path) == ["work"]


def test_the_end_of_the_program_is_written(tmp_path: Path) -> None:
    path = tmp_path / "exit-{pid}.json"
    program = IMPORTS + (
        "flight_recorder(path=path, on_exit=True).start()\nwith record_function('work'):\n    print(os.getpid())\n"
    )
    done = run(program, path)
    assert done.returncode == 0, done.stderr
    assert names(tmp_path / f"exit-{done.stdout.strip()}.json") == ["work"]


def test_a_signal_is_written_and_handled_as_before(tmp_path: Path) -> None:
    path = tmp_path / "signal.json"
    before = signal.getsignal(signal.SIGUSR2)
    received = []
    signal.signal(signal.SIGUSR2, lambda number, _: received.append(number))
    try:
        mine = signal.getsignal(signal.SIGUSR2)
        with flight_recorder(path=path, on_signal=signal.SIGUSR2), record_function("work"):
            signal.raise_signal(signal.SIGUSR2)
        assert names(path) == ["work"]
        assert received == [signal.SIGUSR2]
        assert signal.getsignal(signal.SIGUSR2) is mine
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_hooks_are_as_they_were(tmp_path: Path) -> None:
    before = sys.excepthook, threading.excepthook
    with flight_recorder(path=tmp_path / "x.json", on_exception=True, on_exit=True):
        assert (sys.excepthook, threading.excepthook) != before
    assert (sys.excepthook, threading.excepthook) == before


def test_one_that_cannot_write_does_not_hide_the_exception(tmp_path: Path) -> None:
    recorder = flight_recorder(path=tmp_path / "no" / "such.json", on_exception=True)
    with (
        pytest.warns(UserWarning, match=r"could not write to .*such\.json"),
        pytest.raises(KeyError, match="gone"),
        recorder,
    ):
        raise KeyError("gone")
    assert not recorder.is_running


def test_what_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="seconds should be more than 0, not 0"):
        flight_recorder(0)
    with pytest.raises(ValueError, match="needs a path to write to"):
        flight_recorder(on_exit=True)
    with pytest.raises(ValueError, match=r"dump\(path\) needs one"):
        flight_recorder().dump()
    with pytest.raises(RuntimeError, match="has recorded nothing"):
        flight_recorder().trace()
    with flight_recorder() as recorder, pytest.raises(RuntimeError, match="already running"):
        recorder.start()
    failed: list[BaseException] = []

    def start() -> None:
        try:
            flight_recorder(path="x.json", on_signal=signal.SIGUSR2).start()
        except ValueError as error:
            failed.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "cannot be watched" in str(failed[0])
