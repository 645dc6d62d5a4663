"""The flight recorder and signals: its file is written, and then the signal has the effect that it has without it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from mindtorch_v2.profiler import Trace, flight_recorder

if TYPE_CHECKING:
    from pathlib import Path

# Only to detect a hang.
TIME_LIMIT_S = 120

START = """
import os, resource, signal, sys, threading
from mindtorch_v2.profiler import flight_recorder, record_function

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
number = int(sys.argv[1])
recorder = flight_recorder(path="{count}.json", on_signal=number)

def send():
    os.kill(os.getpid(), number)
"""

WORK = """
recorder.start()
with record_function("work"):
    pass
"""

SEND = """
send()
print("goes on")
"""

ENDS = [
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGALRM,
    signal.SIGABRT,
    signal.SIGVTALRM,
    signal.SIGXCPU,
    signal.SIGSEGV,
]
FOR_PROGRAMS = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGRTMIN, signal.SIGRTMIN + 3, signal.SIGRTMAX]
WITHOUT_EFFECT = [signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT]


def by_name(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"real-time {number}"


def run(folder: Path, number: int, *parts: str, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, where the files of its flight recorder will be."""
    code = "\n".join(textwrap.dedent(part) for part in (START, *parts))
    return subprocess.run(
        [sys.executable, *flags, "-c", code, str(int(number))],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )


def written(folder: Path) -> list[str]:
    """Return the names of the files in a folder, which must be whole and have what was recorded."""
    names = sorted(path.name for path in folder.iterdir())
    for name in names:
        assert [event.name for event in Trace.load(folder / name).events()] == ["work"]
    return names


@pytest.mark.parametrize("number", ENDS, ids=by_name)
def test_a_signal_that_ends_a_program_ends_it_after_the_file_is_written(number: int, tmp_path: Path) -> None:
    default = "signal.signal(number, signal.SIG_DFL)"
    done = run(tmp_path, number, default, WORK, SEND)
    assert (done.returncode, done.stdout, done.stderr) == (-number, "", "")
    assert written(tmp_path) == ["1.json"]


def test_an_interrupt_from_the_keyboard_is_an_exception_as_before(tmp_path: Path) -> None:
    handled = """
        try:
            send()
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = run(tmp_path, signal.SIGINT, "signal.signal(number, signal.default_int_handler)", WORK, handled, SEND)
    assert (done.returncode, done.stdout) == (-signal.SIGINT, "interrupted\n")
    assert done.stderr.endswith("KeyboardInterrupt\n")
    assert written(tmp_path) == ["1.json", "2.json"]


@pytest.mark.parametrize("number", [*FOR_PROGRAMS, *WITHOUT_EFFECT], ids=by_name)
def test_a_program_goes_on_after_any_other_signal(number: int, tmp_path: Path) -> None:
    done = run(tmp_path, number, WORK, SEND, SEND)
    assert (done.returncode, done.stdout, done.stderr) == (0, "goes on\ngoes on\n", "")
    assert written(tmp_path) == ["1.json", "2.json"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR2, signal.SIGTSTP], ids=by_name)
def test_a_signal_that_was_ignored_stays_ignored(number: int, tmp_path: Path) -> None:
    at_the_end = """
        recorder.stop()
        assert signal.getsignal(number) is signal.SIG_IGN
    """
    done = run(tmp_path, number, "signal.signal(number, signal.SIG_IGN)", WORK, SEND, SEND, at_the_end)
    assert (done.returncode, done.stdout, done.stderr) == (0, "goes on\ngoes on\n", "")
    assert written(tmp_path) == ["1.json", "2.json"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1], ids=by_name)
def test_a_handler_that_was_installed_before_is_called(number: int, tmp_path: Path) -> None:
    handler = "signal.signal(number, lambda received, _: print('handled', received == number))"
    done = run(tmp_path, number, handler, WORK, SEND)
    assert (done.returncode, done.stdout, done.stderr) == (0, "handled True\ngoes on\n", "")
    assert written(tmp_path) == ["1.json"]


@pytest.mark.parametrize("flags", [(), ("-W", "error")], ids=["warning", "error"])
def test_a_program_whose_file_cannot_be_written_ends_too(flags: tuple[str, ...], tmp_path: Path) -> None:
    nowhere = "recorder.path = 'no/such/directory/x.json'"
    done = run(tmp_path, signal.SIGTERM, nowhere, WORK, SEND, flags=flags)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "")
    assert flags or "could not write to no/such/directory/x.json" in done.stderr
    assert written(tmp_path) == []


def test_a_handler_is_called_even_if_the_file_cannot_be_written(tmp_path: Path) -> None:
    handler = """
        recorder.path = "no/such/directory/x.json"
        signal.signal(number, lambda *_: os._exit(3))
    """
    done = run(tmp_path, signal.SIGTERM, handler, WORK, SEND, flags=("-W", "error"))
    assert (done.returncode, done.stdout) == (3, "")


def test_two_recorders_write_before_the_program_ends(tmp_path: Path) -> None:
    another = """
        signal.signal(number, signal.SIG_DFL)
        other = flight_recorder(path="other.json", on_signal=number)
        other.start()
    """
    done = run(tmp_path, signal.SIGTERM, another, WORK, SEND)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "", "")
    assert written(tmp_path) == ["1.json", "other.json"]


@pytest.mark.parametrize("last", ["pass", "recorder.stop()"], ids=["one runs", "none runs"])
def test_a_recorder_that_was_stopped_first_does_not_keep_the_program_from_ending(last: str, tmp_path: Path) -> None:
    stopped_first = """
        other = flight_recorder(path="other.json", on_signal=number)
        other.start()
    """
    done = run(tmp_path, signal.SIGTERM, stopped_first, WORK, f"other.stop()\n{last}", SEND)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "", "")
    assert written(tmp_path) == (["1.json"] if last == "pass" else [])


def test_a_forked_child_ends_and_writes_nothing(tmp_path: Path) -> None:
    fork = """
        child = os.fork()
        if child == 0:
            send()
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = run(tmp_path, signal.SIGTERM, WORK, fork)
    assert (done.returncode, done.stdout) == (0, f"{-signal.SIGTERM}\n"), done.stderr
    assert written(tmp_path) == []


def test_a_program_whose_main_thread_blocks_the_signal_ends(tmp_path: Path) -> None:
    # The handler is called directly. CPython does not always call it if another thread has received the signal.
    blocked = """
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        signal.getsignal(number)(number, None)
        # Until the other thread has received it.
        while True:
            pass
    """
    done = run(tmp_path, signal.SIGTERM, WORK, blocked)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "", "")
    assert written(tmp_path) == ["1.json"]


def test_a_program_is_stopped_by_the_terminal_and_writes_again_after_it_was_continued(tmp_path: Path) -> None:
    # The default action of SIGTSTP is to do nothing in a process group without a parent outside of it.
    own_group = "os.setpgid(0, 0)"
    code = "\n".join([START, own_group, WORK, SEND, SEND])
    command = [sys.executable, "-c", code, str(int(signal.SIGTSTP))]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as program:
        for count in (1, 2):
            _, status = os.waitpid(program.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status), status
            assert os.WSTOPSIG(status) == signal.SIGTSTP
            assert len(written(tmp_path)) == count
            os.kill(program.pid, signal.SIGCONT)
        output, _ = program.communicate(timeout=TIME_LIMIT_S)
    assert (program.returncode, output) == (0, "goes on\ngoes on\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, 0, 10_000])
def test_a_signal_that_cannot_be_handled_is_an_error(number: int, tmp_path: Path) -> None:
    recorder = flight_recorder(path=tmp_path / "x.json", on_signal=number)
    with pytest.raises(ValueError, match=r"on_signal=.* cannot be watched"):
        recorder.start()
    assert not recorder.is_running
