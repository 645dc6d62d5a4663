"""Faults: what goes wrong around a profiler, and what is left of the program, the recording and the files then.

Each fault ends in an error that names the file or the argument, or in nothing at all. The recording is kept and can be
written elsewhere; the program goes on; nothing is left half written, or under a name that others can guess. Where
each kind of fault is tested, here and elsewhere:

=========================================  ============================================================================
disk full                                  test_disks.py, ../profiler/test_spool.py
killed in the middle of an export          test_disks.py
directory read-only, closed, vanished      test_directories.py
permission denied                          test_directories.py
no more files may be opened                test_file_limits.py
links, devices, sockets, directories       test_targets.py, export_files.rs
permissions of files                       test_permissions.py, test_targets.py, draft.rs
pipes without readers, broken pipes        test_pipes.py
clocks that jump                           invariants.rs, windows.rs, clock.rs
threads that end with scopes open          test_thread_ends.py, threads.rs
fork, exec, spawn, multiprocessing         test_processes.py, ../profiler/test_life_processes.py, fork.rs
signals in the middle of anything          test_signals.py
the end of the interpreter                 test_shutdown.py, ../profiler/test_life_processes.py
callbacks that raise, hang or call back    test_callbacks.py, ../profiler/test_defects_schedules.py, test_life_cycles.py
names and texts whose methods raise        test_callbacks.py
=========================================  ============================================================================

The files in Rust are those of ``crates/mindtorch-profiler``.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.faults.support import recorded


@pytest.fixture(scope="module")
def prof() -> Any:
    """Return a profile that can be written in every way."""
    return recorded()
