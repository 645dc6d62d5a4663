"""``python -m mindtorch_v2.profiler``, as the command that ``crates/mtprof`` tests; here is what Python adds."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from mindtorch_v2.profiler import Trace, profile, record_function
from mindtorch_v2.profiler.__main__ import main

if TYPE_CHECKING:
    import pytest

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
