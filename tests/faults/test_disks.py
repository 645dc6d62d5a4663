"""Disks that are full: an error that names the file, what was there before still there, and nothing half written."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from tests.faults.support import EXPORTS, FORK, TIMELINE, in_child, names_in, recorded
from tests.profiler.execution_traces import nodes_of
from tests.profiler.support import scope, scopes, spans, torch, trace_of

from mindtorch_v2.autograd import profiler as autograd_profiler
from mindtorch_v2.profiler import ExecutionTraceObserver, profile, record_function

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.filterwarnings(FORK), pytest.mark.filterwarnings(TIMELINE)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a disk, and not everywhere")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def limit_files_to(size: int) -> None:
    """Let no file be larger, in this process and for as long as it lives."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("name", EXPORTS)
def test_a_device_without_space(prof: Any, name: str, tmp_path: Path) -> None:
    link = tmp_path / f"full{EXPORTS[name].suffix}"
    link.symlink_to("/dev/full")
    for path in (link, "/dev/full"):
        with pytest.raises(OSError, match="No space left on device") as raised:
            EXPORTS[name].write(prof, path)
        assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(path))
    EXPORTS[name].write(prof, tmp_path / f"good{EXPORTS[name].suffix}")
    assert len(names_in(tmp_path)) == 2


@pytest.mark.parametrize("name", EXPORTS)
def test_a_file_that_may_not_grow(name: str, tmp_path: Path) -> None:
    old, new, good = (tmp_path / f"{each}{EXPORTS[name].suffix}" for each in ("old", "new", "good"))
    old.write_text("precious", encoding="utf-8")

    def child() -> None:
        prof = recorded()
        EXPORTS[name].write(prof, good)
        limit_files_to(good.stat().st_size // 2)
        for path in (old, new):
            with pytest.raises(OSError, match="File too large") as raised:
                EXPORTS[name].write(prof, path)
            assert (raised.value.errno, raised.value.filename) == (errno.EFBIG, str(path))

    assert in_child(child) == 0
    assert old.read_text(encoding="utf-8") == "precious"
    assert names_in(tmp_path) == sorted([old.name, good.name])


def has_unnamed_files(folder: Path) -> bool:
    """Say whether a file in this directory can do without a name, of which nothing is left."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("name", EXPORTS)
def test_a_program_that_is_killed_in_the_middle_leaves_what_was_there(name: str, tmp_path: Path) -> None:
    if not has_unnamed_files(tmp_path):
        pytest.skip("the file system has no files without names")
    old, new = (tmp_path / f"{each}{EXPORTS[name].suffix}" for each in ("old", "new"))
    old.write_text("precious", encoding="utf-8")

    def child(path: Path) -> None:
        prof = recorded()
        # The signal of a file that may not grow ends a program that does not care about it.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limit_files_to(100)
        EXPORTS[name].write(prof, path)

    for path in (old, new):
        assert in_child(lambda path=path: child(path)) == -signal.SIGXFSZ  # type: ignore[misc]
    assert old.read_text(encoding="utf-8") == "precious"
    assert names_in(tmp_path) == [old.name]


def test_a_disk_that_fills_up(small_disk: Path, tmp_path: Path) -> None:
    with profile() as prof:
        for _ in range(2000):
            scope("work")
    path = small_disk / "trace.json"
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(OSError, match="No space left on device") as raised:
        prof.export_chrome_trace(path)
    assert raised.value.filename == str(path)
    assert path.read_text(encoding="utf-8") == "precious"
    assert names_in(small_disk) == ["trace.json"]
    assert len(spans(trace_of(prof, tmp_path))) == 2000


# Temporary files are in memory on some machines.
@pytest.mark.filterwarnings("ignore:The profiler's spill_dir does not save memory")
@pytest.mark.parametrize("is_error", [False, True], ids=["warned", "warnings are errors"])
def test_a_recording_that_spills_to_a_full_disk_ends_early_and_says_so(is_error: bool, tmp_path: Path) -> None:
    words = "ended early: cannot write to the file that it spills to: File too large"

    def child() -> None:
        limit_files_to(1 << 20)
        repeated = record_function("work")
        prof = profile(max_bytes=1 << 20, spill_dir=tmp_path)
        prof.start()
        for _ in range(300_000):
            with repeated:
                pass
        if is_error:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(UserWarning, match=words):
                    prof.stop()
        else:
            with pytest.warns(UserWarning, match=words):
                prof.stop()
        assert not autograd_profiler._is_profiler_enabled
        assert 10_000 < len(prof.events()) < 300_000
        with prof:
            scope("again")
        assert scopes(prof) == ["again"]

    assert in_child(child) == 0
    assert names_in(tmp_path) == []


def test_a_handler_whose_disk_is_full_keeps_the_recording(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="No space left"),
        profile(on_trace_ready=lambda prof: prof.export_chrome_trace("/dev/full")) as prof,
        record_function("work"),
    ):
        pass
    assert [span["name"] for span in spans(trace_of(prof, tmp_path))] == ["work"]


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_an_execution_trace_whose_disk_fills_up_is_whole_and_goes_on(name: str, tmp_path: Path) -> None:
    path = tmp_path / name

    def child() -> None:
        observer = ExecutionTraceObserver().register_callback(path)
        observer.start()
        scope("first")
        observer.stop()
        size = path.stat().st_size
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
        observer.start()
        x = torch.ones(4)
        for _ in range(100):
            torch.relu(x)
        with pytest.raises(OSError, match="File too large") as raised:
            observer.stop()
        assert (raised.value.errno, raised.value.filename) == (errno.EFBIG, str(path))
        assert nodes_of(path).names() == ["first"]
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        observer.start()
        scope("last")
        observer.cleanup()
        found = nodes_of(path).names()
        assert (found[0], found.count("aten::relu"), found[-1]) == ("first", 100, "last")

    assert in_child(child) == 0
    assert names_in(tmp_path) == [name]
