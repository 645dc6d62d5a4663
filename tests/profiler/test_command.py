"""``python -m mindtorch_v2.profiler``, as the command that ``crates/mtprof`` tests; here is what Python adds."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from mindtorch_v2.profiler import Trace, profile, record_function
from mindtorch_v2.profiler.__main__ import main

COMMAND = [sys.executable, "-m", "mindtorch_v2.profiler"]
DATA = Path(__file__).parents[2] / "crates" / "mtprof" / "tests" / "data"


def test_a_recording_is_summarised(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with profile(record_shapes=True) as prof:
        for _ in range(3):
            with record_function("work"):
                pass
            prof.step()
    prof.export_chrome_trace(tmp_path / "trace.json.gz")
    assert main(["summary", str(tmp_path / "trace.json.gz"), "--json", "--rows", "100"]) == 0
    (summary,) = json.loads(capfd.readouterr().out)
    assert summary["recorded"]["pid"] == os.getpid()
    counts = {row["key"]: row["count"] for row in summary["averages"]}
    assert counts["work"] == 3
    expected = {row.key: row.count for row in Trace.load(tmp_path / "trace.json.gz").key_averages()}
    assert counts == expected


def test_the_statuses_are_those_of_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", str(DATA / "cut.json")]) == 2
    assert "at byte 900" in capfd.readouterr().err
    assert main(["--help"]) == 0
    assert "Usage: mtprof" in capfd.readouterr().out
    assert main(["unknown"]) == 2


def test_names_need_not_be_text(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.json"
    Path(os.fsdecode(name)).write_bytes((DATA / "train.json").read_bytes())
    assert main(["summary", "-q", os.fsdecode(name)]) == 0


def test_it_may_be_run_by_any_thread(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: statuses.append(main(["summary", str(DATA / "train.json")])))
    thread.start()
    thread.join()
    assert (statuses, main(["summary", str(DATA / "train.json")])) == ([0], 0)
    assert signal.getsignal(signal.SIGINT) is before
    assert capfd.readouterr().out.count("3 steps: median 1.000ms") == 2


def test_an_interrupt_ends_it() -> None:
    with subprocess.Popen([*COMMAND, "summary", "-"], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        # More than a pipe holds: when it is written, the command is reading.
        process.stdin.write(b" " * (1 << 20))
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT


CLOSED = (
    "mtprof: cannot write the answer: standard output is closed; redirect it to a file, or to /dev/null to discard the "
    "answer\n"
)


def with_streams(redirections: str, *arguments: str | Path) -> tuple[int, str]:
    """Run the command with redirections of the shell and return its status and what it wrote to standard error."""
    shell = ["sh", "-c", f'exec "$@" {redirections}', "sh"]
    done = subprocess.run(
        [*shell, *COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["summary", DATA / "train.json"], ["convert", DATA / "train.json", "-", "--to", "chrome"], ["--help"]],
    ids=["summary", "convert", "help"],
)
def test_a_closed_standard_output_is_an_error(arguments: list[str | Path]) -> None:
    assert with_streams(">&-", *arguments) == (2, CLOSED)
    assert with_streams(">&- 2>&-", *arguments) == (2, "")
    assert with_streams("<&- >&- 2>&-", *arguments) == (2, "")


@pytest.mark.parametrize("arguments", [["summary", DATA / "train.json"], ["--help"]], ids=["summary", "help"])
def test_a_full_standard_output_is_an_error(arguments: list[str | Path]) -> None:
    full = "mtprof: cannot write the answer: No space left on device (os error 28)\n"
    assert with_streams(">/dev/full", *arguments) == (2, full)
    assert with_streams(">/dev/full 2>&1", *arguments) == (2, "")


def test_a_reader_that_goes_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [*COMMAND, "summary", str(DATA / "train.json")]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "2>&-", "<&- >&- 2>&-"])
def test_files_do_not_get_what_is_meant_for_a_closed_stream(tmp_path: Path, closed: str) -> None:
    usual, out = tmp_path / "usual.folded", tmp_path / "out.folded"
    assert with_streams("", "convert", DATA / "train.json", usual) == (0, "")
    status, _ = with_streams(closed, "convert", DATA / "train.json", out)
    assert status == (0 if closed == "2>&-" else 2)
    assert out.read_bytes() == usual.read_bytes()


def test_a_file_of_the_program_that_has_the_descriptor_of_standard_output_stays_as_it_is(tmp_path: Path) -> None:
    program = f"""
        import os, sys
        log = open("log", "w")
        assert sys.stdout is None and log.fileno() == 1
        from mindtorch_v2.profiler.__main__ import main
        log.write(f"{{main(['summary', {str(DATA / "train.json")!r}])}}")
    """
    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, CLOSED)
    assert (tmp_path / "log").read_text() == "2"


def seen_on_terminal(*arguments: str, **environment: str) -> str:
    """Return what the command shows on a terminal."""
    ours, theirs = pty.openpty()
    names = {
        "TERM": "xterm",
        **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
        **environment,
    }
    with subprocess.Popen([*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=names):
        os.close(theirs)
        shown = b""
        while piece := read_piece(ours):
            shown += piece
    os.close(ours)
    return shown.decode()


def read_piece(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:
        # Nobody has the other end any more.
        return b""


def test_terminals_show_progress_and_headings() -> None:
    bold = "\x1b[1mSteps\x1b[0m"
    file = str(DATA / "train.json")
    shown = seen_on_terminal("summary", file)
    assert bold in shown
    assert f"{file} [" in shown
    plain = seen_on_terminal("summary", file, NO_COLOR="1")
    assert bold not in plain
    assert "Steps" in plain
    for arguments in (["--quiet"], ["--json"]):
        assert f"{file} [" not in seen_on_terminal("summary", file, *arguments)
