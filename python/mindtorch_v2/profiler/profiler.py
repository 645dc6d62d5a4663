"""``profile``: from when to when to record, and what to do then."""

from __future__ import annotations

import os

from mindtorch_v2._core import Session
from mindtorch_v2.profiler.activities import ProfilerActivity, parse_activities, supported_activities

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from typing_extensions import Self

    from mindtorch_v2._core import EventList, FunctionEvent, FunctionEventAvg, Results


class profile:
    """Records what the program does, on all of its threads, from start to stop.

    Any number may run at once, nested or overlapping, started and stopped on any threads; none disturbs another.

    Args:
        activities: what to record: ``ProfilerActivity`` members or their names. None records all that is supported.
        on_trace_ready: called with the profile when a recording has ended, once for each.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity | str] | None = None,
        on_trace_ready: Callable[[profile], object] | None = None,
    ) -> None:
        self.activities = parse_activities(activities)
        self.on_trace_ready = on_trace_ready
        self._session: Session | None = None
        if not self.activities <= supported_activities():
            # Imported here, since few need it and the package is to be imported quickly.
            import warnings  # noqa: PLC0415

            warnings.warn("NPU is not available, disabling NPU profiling", UserWarning, stacklevel=2)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start to record. What an earlier recording of this object holds is let go."""
        if self._session is not None and self._session.is_running:
            raise RuntimeError("Profiler is already running: stop it before starting it again")
        activities = self.activities & supported_activities()
        if not activities:
            raise AssertionError("No activities specified for the profiler")
        self._session = Session(
            cpu=ProfilerActivity.CPU in activities,
            device=ProfilerActivity.NPU in activities,
            first_step=self.step_num,
        )

    def stop(self) -> None:
        """End the recording and call ``on_trace_ready``. Stopping again does nothing."""
        if self._session is None:
            raise AssertionError("Profiler must be initialized before stopping trace")
        if self._session.finish() and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self) -> None:
        """Say that the next step of the program begins. Events carry the number of their step."""
        if self._session is None or not self._session.step():
            raise RuntimeError("Profiler must be running to step: call start() first, or use it in a with statement")

    @property
    def step_num(self) -> int:
        """The number of the current step. A later recording of the same object goes on counting."""
        return 0 if self._session is None else self._session.step_num

    def events(self) -> EventList[FunctionEvent]:
        """Return every event, in the order of time. While running: those so far."""
        return self._results("accessing events").events()

    def key_averages(self) -> EventList[FunctionEventAvg]:
        """Return the events grouped by name, with sums and averages. While running: those so far."""
        return self._results("getting key averages").key_averages()

    def export_chrome_trace(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None:
        """Write a trace for chrome://tracing or ui.perfetto.dev; compressed if the path ends in ``.gz``."""
        results = self._results("exporting chrome trace")
        name = os.fsdecode(path)
        if "\0" in name:
            # As open() says it; the engine would report that the file cannot be created.
            raise ValueError("embedded null byte")
        results.export_chrome_trace(name)

    def _results(self, purpose: str) -> Results:
        if self._session is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self._session.results()
