"""``Changes``: what starts, steps and stops a profiler, one at a time."""

from __future__ import annotations

import os
import threading

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Changes:
    """Makes one change of a profiler at a time.

    Threads wait for each other. On one thread, a change may come in the middle of another: a signal's handler runs
    between any two instructions, and schedules and observers are code of the user's. Such a change waits, too: it is
    made as soon as the one under way is complete.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._waiting: list[Callable[[], None]] = []

    def are_under_way(self) -> bool:
        """Say whether this thread is in the middle of one."""
        # Not a flag, which an interrupt could leave as it is.
        return self._process == os.getpid() and self._lock._is_owned()  # type: ignore[attr-defined]

    def make(self, change: Callable[[], None]) -> None:
        """Make a change, now or after the one that this thread is in the middle of."""
        if self.are_under_way():
            self._waiting.append(change)
            return
        if self._process != os.getpid():
            # A thread that is not in this process could hold the lock.
            self._lock, self._process, self._waiting = threading.RLock(), os.getpid(), []
        with self._lock:
            try:
                change()
            finally:
                while self._waiting:
                    self._waiting.pop(0)()
