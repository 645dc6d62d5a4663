"""No more files may be opened: recording does not need any, and exports say so."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from typing import TYPE_CHECKING

import pytest
from tests.faults.support import EXPORTS, FORK, TIMELINE, in_child, names_in, recorded
from tests.profiler.support import output_of, scope, scopes

from mindtorch_v2.profiler import ExecutionTraceObserver, profile, schedule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.filterwarnings(FORK), pytest.mark.filterwarnings(TIMELINE)]


@contextlib.contextmanager
def no_more_files() -> Iterator[None]:
    """Let no file be opened, in a process of its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export(name: str, tmp_path: Path) -> None:
    path, good = (tmp_path / f"{each}{EXPORTS[name].suffix}" for each in ("trace", "good"))

    def child() -> None:
        prof = recorded()
        EXPORTS[name].write(prof, good)  # imports what it needs
        with no_more_files(), pytest.raises(OSError, match="Too many open files") as raised:
            EXPORTS[name].write(prof, path)
        assert (raised.value.errno, raised.value.filename) == (errno.EMFILE, str(path))
        assert names_in(tmp_path) == [good.name]
        EXPORTS[name].write(prof, path)

    assert in_child(child) == 0
    assert path.stat().st_size > 0


def test_starting_stepping_and_stopping() -> None:
    program = """
        import resource
        import mindtorch_v2 as torch
        from mindtorch_v2.profiler import profile, record_function, schedule
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        prof = profile(
            schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
            record_shapes=True, profile_memory=True, with_stack=True, with_flops=True,
        )
        with prof:
            for _ in range(3):
                with record_function("work"):
                    torch.ones(2, device="npu").add_(1)
                prof.step()
        found = [event.name for event in prof.events() if event.is_user_annotation]
        rows = len(prof.key_averages())
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        print(found, rows > 0)
    """
    assert output_of(program) == ["['ProfilerStep*', 'work', 'ProfilerStep*', 'work'] True"]


def test_a_handler_that_cannot_open_its_file_does_not_end_the_cycles(tmp_path: Path) -> None:
    def child() -> None:
        prof = profile(
            schedule=schedule(wait=0, warmup=1, active=1),
            on_trace_ready=lambda prof: prof.export_chrome_trace(tmp_path / f"{prof.step_num}.json"),
            acc_events=True,
        )
        with prof:
            for number in range(6):
                scope(f"work {number}")
                if number == 3:
                    with no_more_files(), pytest.raises(OSError, match="Too many open files"):
                        prof.step()
                else:
                    prof.step()
        assert [name for name in scopes(prof) if "work" in name] == ["work 1", "work 3", "work 5"]

    assert in_child(child) == 0
    assert names_in(tmp_path) == ["2.json", "6.json"]


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_an_execution_trace(name: str, tmp_path: Path) -> None:
    def child() -> None:
        observer = ExecutionTraceObserver()
        observer.register_callback(os.devnull).cleanup()  # imports what it needs
        with no_more_files(), pytest.raises(OSError, match="Too many open files") as raised:
            observer.register_callback(tmp_path / name)
        assert raised.value.filename == str(tmp_path / name)
        assert names_in(tmp_path) == []
        observer.register_callback(tmp_path / name)
        observer.start()
        scope("work")
        with no_more_files():
            observer.cleanup()
        assert names_in(tmp_path) == [name]

    assert in_child(child) == 0
