"""Recordings in files that outlive the process."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import Trace, profile, record_function, schedule
from mindtorch_v2.profiler.__main__ import main

PROGRAM = """
import os, signal, sys, threading
import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function

prof = profile(spool_dir=sys.argv[1], record_shapes=True, profile_memory=True, with_stack=True)
prof.start()

def work():
    for _ in range(1000):
        with record_function("scope"):
            torch.ones(2, 3) + 1

threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
prof.step()
with record_function("last"):
    {end}
"""


def run(directory: Path, end: str) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.replace("{end}", end)
    command = [sys.executable, "-c", program, str(directory)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def recovered(directory: Path) -> Trace:
    [trace] = Trace.recover(directory)
    assert trace.missing == "the recording was not stopped"
    return trace


@pytest.mark.parametrize(
    "end", ["os.kill(os.getpid(), signal.SIGKILL)", "os.abort()", "os._exit(3)", "raise KeyError('not handled')"]
)
def test_whatever_ends_a_process_leaves_what_it_recorded(tmp_path: Path, end: str) -> None:
    assert run(tmp_path, end).returncode != 0
    trace = recovered(tmp_path)
    counts = {row.key: row.count for row in trace.key_averages()}
    assert (counts["scope"], counts["aten::add"], counts["last"]) == (3000, 3000, 1)
    event = next(event for event in trace.events() if event.name == "aten::add")
    assert event.input_shapes == [[2, 3], [], []]
    assert any("work" in frame for frame in event.stack)
    assert sum(row.self_cpu_memory_usage for row in trace.key_averages() if row.key == "aten::add") == 3000 * 24


def test_one_that_is_stopped_is_whole_until_it_is_let_go(tmp_path: Path) -> None:
    prof = profile(spool_dir=tmp_path / "spool")
    with prof:
        for _ in range(10):
            with record_function("scope"):
                pass
    [trace] = Trace.recover(tmp_path / "spool")
    assert trace.missing is None
    assert trace.pid == os.getpid()
    assert [event.name for event in trace.events()] == [event.name for event in prof.events()] == ["scope"] * 10
    assert [event.time_range.start for event in trace.events()] == [event.time_range.start for event in prof.events()]
    modes = {oct(path.stat().st_mode & 0o777) for path in Path(trace.path).iterdir()}
    assert (modes, oct(Path(trace.path).stat().st_mode & 0o777)) == ({"0o600"}, "0o700")
    with pytest.raises(ValueError, match="not known of a trace that was read"):
        trace.overhead()
    del prof
    gc.collect()
    assert list((tmp_path / "spool").iterdir()) == []


def test_each_cycle_has_files_of_its_own(tmp_path: Path) -> None:
    seen = []
    prof = profile(
        spool_dir=tmp_path,
        schedule=schedule(wait=1, warmup=1, active=1),
        on_trace_ready=lambda prof: seen.append(len(prof.events())),
    )
    with warnings.catch_warnings(), prof:
        warnings.simplefilter("ignore")
        for _ in range(9):
            with record_function("scope"):
                pass
            prof.step()
            assert len(list(tmp_path.iterdir())) <= 2
    assert seen == [2, 2, 2]


def test_a_profiler_in_memory_beside_it_sees_the_same(tmp_path: Path) -> None:
    a = torch.ones(4, 4)
    with profile(record_shapes=True) as before, profile(spool_dir=tmp_path, record_shapes=True) as prof:
        for _ in range(3000):
            a + a
    assert len(prof.events()) == len(before.events()) == 3000
    assert prof.events()[5].input_shapes == [[4, 4], [4, 4], []]


def test_only_one_at_a_time(tmp_path: Path) -> None:
    with (
        profile(spool_dir=tmp_path),
        pytest.raises(RuntimeError, match="another session of this process records to files"),
        profile(spool_dir=tmp_path),
    ):
        pass
    with profile(spool_dir=tmp_path):
        pass


def test_what_makes_no_sense(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="spool_dir is for when_full='spill', not 'ring'"):
        profile(spool_dir=tmp_path, when_full="ring")
    with pytest.raises(FileNotFoundError, match="no"):
        profile(spool_dir=tmp_path / "no" / "such").start()
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        profile(spool_dir=tmp_path / "file").start()
    with pytest.raises(FileNotFoundError, match="missing"):
        Trace.recover(tmp_path / "missing")
    assert Trace.recover(tmp_path) == []


def test_files_that_are_no_spool_are_named(tmp_path: Path) -> None:
    assert run(tmp_path, "os._exit(0)").returncode == 0
    [directory] = tmp_path.iterdir()
    log = directory / "log"
    data = log.read_bytes()
    log.write_bytes(b"x" + data[1:])
    with pytest.warns(UserWarning, match="log"):
        assert Trace.recover(tmp_path) == []
    # What is there is kept.
    log.write_bytes(data[: len(data) - 5])
    [trace] = Trace.recover(tmp_path)
    assert trace.missing is not None
    assert "bytes not readable: " in trace.missing


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_writes_nothing(tmp_path: Path) -> None:
    prof = profile(spool_dir=tmp_path)
    prof.start()
    with record_function("before"):
        pass
    scope = record_function("across")
    scope.__enter__()
    pid = os.fork()
    if pid == 0:
        try:
            for _ in range(5000):
                with record_function("child"):
                    pass
            scope.__exit__(None, None, None)
            with profile() as own, record_function("own"):
                pass
            os._exit(0 if len(own.events()) == 1 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    scope.__exit__(None, None, None)
    with record_function("after"):
        pass
    names = [event.name for event in recovered(tmp_path).events()]
    prof.stop()
    assert names == ["before", "across", "after"]


def test_a_full_disk_is_a_warning_and_costs_nothing(tmp_path: Path) -> None:
    program = (
        "import resource, sys, warnings\n"
        "from mindtorch_v2.profiler import profile, record_function\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20))\n"
        "scope = record_function('scope')\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    with profile(spool_dir=sys.argv[1]) as prof:\n"
        "        for _ in range(300_000):\n"
        "            with scope:\n"
        "                pass\n"
        "print(len(prof.events()), [str(warning.message) for warning in caught])\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("300000 [")
    assert "do not get everything that is recorded: File too large" in done.stdout


class TestCommand:
    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        assert run(tmp_path / "spool", "os.kill(os.getpid(), signal.SIGKILL)").returncode == -signal.SIGKILL
        return tmp_path / "spool"

    def test_it_shows_and_writes(self, directory: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "{count}.json.gz"
        assert main(["recover", str(directory), "-o", str(path), "--rows", "50"]) == 0
        out = capfd.readouterr().out
        assert "missing: the recording was not stopped" in out
        assert "aten::add" in out
        assert f"written to {tmp_path / '1.json.gz'}" in out
        assert len(Trace.load(tmp_path / "1.json.gz").events()) > 6000

    def test_what_it_cannot_do_it_says(
        self, directory: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        def error(*arguments: str) -> str:
            assert main(["recover", *arguments]) == 1
            return capfd.readouterr().err

        assert "no recording in" in error(str(tmp_path))
        assert "missing" in error(str(tmp_path / "missing"))
        assert "cannot tell the format of 'x.what'" in error(str(directory), "-o", "x.what")
        run(directory, "os._exit(0)")
        assert "needs {count} or {pid} in it" in error(str(directory), "-o", "x.json")
        assert main(["unknown"]) == 2

    def test_a_reader_that_has_seen_enough(self, directory: Path) -> None:
        command = f"{sys.executable} -m mindtorch_v2.profiler recover {directory} | head -1"
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
