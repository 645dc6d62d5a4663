"""Signal handlers that do something first, and then let the signal have the effect that it had before."""

from __future__ import annotations

import os
import signal

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


def handle_first(number: int, act: Callable[[], object]) -> Callable[[], None]:
    """Call ``act`` at each signal of this number, and then do what was done at the signal before.

    A handler that Python code had installed is called, and a signal that was ignored stays so. Otherwise the signal has
    its default action: most signals end the program, with their number as its exit status. ``SIGUSR1``, ``SIGUSR2`` and
    real-time signals are an exception, since programs are sent these to make them do something: the program goes on.

    Returns:
        a function that removes this handler.

    Raises:
        ValueError: this is not the main thread, or the signal cannot be handled.
    """

    def handle(received: int, frame: FrameType | None) -> None:
        try:
            act()
        finally:
            # Also if act() raises: a warning may be an error, and the handler of another signal may interrupt it.
            if callable(before):
                before(received, frame)
            elif before is not signal.SIG_IGN and not _is_for_programs(received):
                _act_by_default(received)

    try:
        # None if it was not installed by Python code. Python can neither call nor restore such a handler, so the
        # default action takes its place. Known before the handler is installed, which needs it.
        before = signal.getsignal(number)
        signal.signal(number, handle)
    except (OSError, ValueError) as error:
        raise ValueError(f"on_signal={number!r} cannot be watched: {error}") from error

    def remove() -> None:
        # A handler that was installed later calls this one, which therefore stays.
        if signal.getsignal(number) is handle:
            signal.signal(number, signal.SIG_DFL if before is None else before)

    return remove


def _is_for_programs(number: int) -> bool:
    """Return whether the system never sends this signal by itself, and leaves its meaning to programs."""
    if number in {signal.SIGUSR1, signal.SIGUSR2}:
        return True
    # Not every system has real-time signals.
    first = getattr(signal, "SIGRTMIN", None)
    return first is not None and first <= number <= signal.SIGRTMAX


def _act_by_default(number: int) -> None:
    """Send this process the signal again without a handler, so that it has its default action."""
    handler = signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    # The process was stopped and continued, or the signal is one that is ignored by default, as all are by process 1 of
    # a container. The handler returns for the next signal. If this thread blocks the signal, another thread has yet to
    # receive it, and would bring it to the handler again, without an end.
    if number not in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        signal.signal(number, handler)
