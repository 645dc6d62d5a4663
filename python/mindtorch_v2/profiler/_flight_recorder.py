"""``flight_recorder``: a recording that is always on, of which the newest part is kept."""

from __future__ import annotations

import itertools
import os
import sys
import threading

from mindtorch_v2.profiler._errors import NotStartedError
from mindtorch_v2.profiler._warnings import warn_user
from mindtorch_v2.profiler.profiler import profile

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self

    from mindtorch_v2.profiler._trace import Trace
    from mindtorch_v2.profiler._trace_files import Path
    from mindtorch_v2.profiler.activities import Activities

_UNIT = 1e6


class flight_recorder:
    """Records all the time, and keeps the newest: to be written when something has gone wrong.

    It costs as much an event as any recording, and its memory does not grow. Other profilers may run beside it.

    Args:
        seconds: how much of the past a dump shows, at most.
        max_bytes: how much memory it may take, at least 1 MiB; an event takes 32 to 96 bytes.
        path: where to write by itself, in a format by its suffix as ``Trace.export`` has them. ``{pid}`` in it becomes
            the number of the process, ``{count}`` that of the dump.
        on_exception: write when an exception is not handled, in any thread. Needs a path.
        on_exit: write when the interpreter exits. Needs a path.
        on_signal: write at this signal, such as ``signal.SIGUSR2``. Needs a path, and to be started in the main thread.
            Then the program does what it does without the recorder: it ends at ``signal.SIGTERM``, for example. It goes
            on after ``SIGUSR1``, ``SIGUSR2`` and real-time signals. See ``docs/endurance.md``.
        activities: what to record, as for ``profile``.
        record_shapes: keep the shapes, types and strides of the inputs of ops.
        profile_memory: attribute memory to the ops that allocate and free it.
        with_stack: record Python functions, and the stacks of ops and scopes.

    >>> import os, tempfile
    >>> from mindtorch_v2.profiler import Trace, flight_recorder, record_function
    >>> with tempfile.TemporaryDirectory() as folder, flight_recorder(seconds=10) as recorder:
    ...     with record_function("work"):
    ...         path = recorder.dump(os.path.join(folder, "flight.json.gz"))
    ...     print([event.name for event in Trace.load(path).events()])
    ['work']
    """

    def __init__(
        self,
        seconds: float = 30.0,
        max_bytes: int = 64 << 20,
        *,
        path: Path | None = None,
        on_exception: bool = False,
        on_exit: bool = False,
        on_signal: int | None = None,
        activities: Activities | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
    ) -> None:
        if not seconds > 0:
            raise ValueError(f"seconds should be more than 0, not {seconds!r}")
        if path is None and (on_exception or on_exit or on_signal is not None):
            raise ValueError("a flight recorder that writes by itself needs a path to write to")
        self.seconds = seconds
        self.path = None if path is None else os.fsdecode(path)
        self.on_exception = on_exception
        self.on_exit = on_exit
        self.on_signal = on_signal
        self._profile = profile(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            max_bytes=max_bytes,
            when_full="ring",
        )
        # One step, and so no lock: a signal's handler may come in the middle of what it interrupts.
        self._counts = itertools.count(1)
        self._undo: list[Callable[[], object]] = []

    @property
    def is_running(self) -> bool:
        """Whether it records, in this process."""
        return self._profile._is_running

    def start(self) -> None:
        """Start to record, and to watch for what it is to write at.

        Raises:
            RuntimeError: it is running already.
            ValueError: it is to write at a signal, and this is not the main thread.
        """
        self._profile.start()
        try:
            self._watch()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the recording, which is kept, and may still be written, until the next start."""
        while self._undo:
            self._undo.pop()()
        if self.is_running:
            self._profile.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        # What is not handled inside may be so outside; if not, it is too late to write then.
        if exc_val is not None and self.on_exception and isinstance(exc_val, Exception):
            self._dump_by_itself()
        self.stop()

    def trace(self) -> Trace:
        """Return the last seconds as a trace. The recording goes on.

        Raises:
            RuntimeError: it was never started.
        """
        if self._profile.profiler is None:
            raise NotStartedError("the flight recorder has recorded nothing: call start() first")
        whole = self._profile.trace()
        end = whole.duration_ns / 1e3
        begin = end - self.seconds * _UNIT
        return whole if begin <= 0 else whole.filtered(time_range_us=(begin, end))

    def dump(self, path: Path | None = None) -> str:
        """Write the last seconds to a file, and return its name. The recording goes on. Any thread may call this.

        Args:
            path: where to write; None is the recorder's own path.
        """
        template = self.path if path is None else os.fsdecode(path)
        if template is None:
            raise ValueError("this flight recorder has no path of its own: dump(path) needs one")
        name = template.replace("{pid}", str(os.getpid())).replace("{count}", str(next(self._counts)))
        self.trace().export(name)
        return name

    def _dump_by_itself(self) -> None:
        """Write, in the middle of something that must not be disturbed."""
        try:
            self.dump()
        except Exception as error:
            # The program's own trouble is what matters.
            warn_user(f"the flight recorder could not write to {self.path}: {error}")

    def _watch(self) -> None:
        if self.on_signal is not None:
            from mindtorch_v2.profiler._signals import handle_first  # noqa: PLC0415 (few need it)

            self._undo.append(handle_first(self.on_signal, self._dump_if_running))
        if self.on_exception:
            self._watch_hook(sys, "excepthook")
            self._watch_hook(threading, "excepthook")
        if self.on_exit:
            import atexit  # noqa: PLC0415 (few need it)

            atexit.register(self._dump_if_running)
            self._undo.append(lambda: atexit.unregister(self._dump_if_running))

    def _dump_if_running(self) -> None:
        if self.is_running:
            self._dump_by_itself()

    def _watch_hook(self, module: Any, name: str) -> None:
        before = getattr(module, name)

        def hook(*args: Any) -> None:
            if self.is_running:
                self._dump_by_itself()
            before(*args)

        def undo() -> None:
            if getattr(module, name) is hook:
                setattr(module, name, before)

        setattr(module, name, hook)
        self._undo.append(undo)
