"""``Changes``: what starts, steps and stops a profiler, one at a time."""

from __future__ import annotations

import os
import threading

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


# How many changes may be asked for in the middle of one, or of those that follow it, before it returns to the program.
_MOST_WAITING = 100


class Changes:
    """Makes one change of a profiler at a time.

    Threads wait for each other. On one thread, a change may come in the middle of another: a signal's handler runs
    between any two instructions, and schedules and observers are code of the user's. Such a change waits, too: it is
    made as soon as the one under way is complete. A schedule that makes another change each time it is called would
    never return: this is a ``RecursionError``, as in PyTorch.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._waiting: list[Callable[[], None]] = []
        # How many have been in this list since the change began that none waits for.
        self._waited = 0

    def are_under_way(self) -> bool:
        """Say whether this thread is in the middle of one."""
        # Not a flag, which an interrupt could leave as it is.
        return self._process == os.getpid() and self._lock._is_owned()  # type: ignore[attr-defined]

    def make(self, change: Callable[[], None]) -> None:
        """Make a change, now or after the one that this thread is in the middle of.

        Raises:
            RecursionError: too many changes have been made in the middle of another. Those that still wait are dropped.
        """
        if self.are_under_way():
            if self._waited >= _MOST_WAITING:
                self._waiting.clear()
                raise RecursionError(
                    "maximum recursion depth exceeded: a schedule or another callback of a profiler starts, steps or "
                    "stops the same profiler each time it is called; make these calls in the program instead"
                )
            self._waited += 1
            self._waiting.append(change)
            return
        if self._process != os.getpid():
            # A thread that is not in this process could hold the lock.
            self._lock, self._process, self._waiting = threading.RLock(), os.getpid(), []
        with self._lock:
            self._waited = 0
            try:
                change()
            finally:
                while self._waiting:
                    self._waiting.pop(0)()
