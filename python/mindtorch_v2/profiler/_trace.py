"""``Trace``: a recording that is over, of this process or read from a file."""

from __future__ import annotations

import os

from mindtorch_v2._core import Results
from mindtorch_v2.autograd._events.event_export import STACK_METRICS, file_name
from mindtorch_v2.autograd.profiler_util import EventList
from mindtorch_v2.profiler._errors import TraceFormatError
from mindtorch_v2.profiler._filters import native_filter
from mindtorch_v2.profiler._overhead import Overhead
from mindtorch_v2.profiler._trace_files import TraceFiles, as_target, stack_metric
from mindtorch_v2.profiler._warnings import warn_user

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from typing_extensions import Unpack

    from mindtorch_v2 import _core
    from mindtorch_v2.profiler._filters import FilterArguments
    from mindtorch_v2.profiler._trace_files import Path, Target

# The averages that a notebook shows below the timeline.
_NOTEBOOK_ROWS = 10


class Trace(TraceFiles):
    """A recording that is over: its events, averages and files.

    ``profile.trace()`` gives that of a profiler; ``Trace.load`` reads a Chrome trace, of this package or of PyTorch.

    >>> import os, tempfile
    >>> from mindtorch_v2.profiler import Trace, profile, record_function
    >>> with profile() as prof, record_function("work"):
    ...     pass
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "trace.json.gz")
    ...     prof.export_chrome_trace(path)
    ...     trace = Trace.load(path)
    >>> [(row.key, row.count) for row in trace.key_averages()]
    [('work', 1)]
    """

    def __init__(self, results: Results, head: dict[str, Any] | None = None) -> None:
        self._recording = results
        self._about = head or {}

    @classmethod
    def load(cls, path: Path) -> Trace:
        """Read a Chrome trace, of this package or of PyTorch, compressed or not.

        Raises:
            OSError: the file cannot be read.
            TraceFormatError: it is broken, or no trace. The error says where, and its ``trace`` is what could be read.
        """
        results, problem = Results.load(file_name(path))
        trace = None if results is None else cls(results)
        if trace is None or problem is not None:
            message, offset = problem or ("nothing could be read", 0)
            raise TraceFormatError(message, offset, trace)
        return trace

    @classmethod
    def recover(cls, directory: Path) -> list[RecoveredTrace]:
        """Return what processes left in a directory that they recorded to, with ``profile(spool_dir=...)``.

        One that is still running is seen up to now. Files that cannot be read are warned of.

        Args:
            directory: the one that was given as ``spool_dir``, or one in it, which is one recording's.

        Raises:
            OSError: the directory cannot be read.
        """
        traces = []
        for found, missing in Results.recover(file_name(directory)):
            if found is None:
                warn_user(missing)
            else:
                path, pid, results, is_whole = found
                traces.append(RecoveredTrace(results, str(path), pid, None if is_whole else missing))
        return traces

    def __repr__(self) -> str:
        ms = self.duration_ns / 1e6
        return f"<Trace of {len(self.events())} events in {ms:.3f} ms>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the timeline, and the largest of the averages."""
        about = repr(self).strip("<>")
        table = self.key_averages()._html("self_cpu_time_total", _NOTEBOOK_ROWS)
        return f"<p>{about}</p>{self._recording.sketch()}{table}"

    @property
    def start_ns(self) -> int:
        """When it began, in nanoseconds since the epoch."""
        return self._recording.start_ns

    @property
    def duration_ns(self) -> int:
        """How long it was, in nanoseconds."""
        return self._recording.duration_ns

    @property
    def lost_events(self) -> int:
        """How many events could not be recorded."""
        return self._recording.lost_events

    def events(self) -> EventList:
        """Return every event, in the order of time."""
        return EventList._of_rows(self._recording.events())

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
        *,
        subtract_overhead: bool = False,
    ) -> EventList:
        """Return the events grouped by name, with sums and averages: see ``profile.key_averages``.

        Raises:
            ValueError: the overhead is to be subtracted, and the trace was read from a file, which does not tell it.
        """
        return self.events().key_averages(
            group_by_input_shape,
            group_by_stack_n,
            group_by_overload_name,
            include_python_functions,
            subtract_overhead=subtract_overhead,
        )

    def overhead(self) -> Overhead:
        """Return what recording cost: see ``profile.overhead``.

        Raises:
            ValueError: the trace was read from a file, which does not tell it.
        """
        return Overhead._of(self._recording)

    def filtered(self, **filters: Unpack[FilterArguments]) -> Trace:
        """Return a trace of some of the events.

        Those that contained others keep the times that they had, also where the others are left out.

        Args:
            filters: all of these must be so, as far as they are given.

                - ``activities``: as ``profile`` takes them, ``["CPU"]`` or ``[{"CPU": ["CPU_OP"]}]``;
                - ``name``: a name, or several of which one must fit; ``*`` is any text and ``?`` any character;
                - ``min_duration_us``: the least duration; what has none, such as an allocation, is left out;
                - ``time_range_us``: what was going on between these times, in microseconds since the start;
                - ``thread``: a thread's name, with ``*`` and ``?``, or its number in the operating system, or several;
                - ``max_depth``: how deep spans are nested at most; 1 takes those that no other contains.

        >>> from mindtorch_v2.profiler import profile, record_function
        >>> with profile() as prof:
        ...     for name in ["load", "train", "train"]:
        ...         with record_function(name):
        ...             pass
        >>> len(prof.trace().filtered(name="tr*").events())
        2
        """
        return Trace(self._recording.filtered(native_filter(filters)), self._about)

    def export(self, path: Path, **options: Any) -> None:
        """Write the file that the end of its name asks for.

        ``.json`` is a Chrome trace, ``.pftrace`` one for Perfetto, ``.speedscope.json`` one for speedscope, ``.svg`` a
        flame graph, ``.folded`` or ``.txt`` folded stacks, ``.parquet`` a table of events, ``.html`` and ``.raw.json``
        the memory timeline. ``.gz`` behind it compresses.

        Args:
            path: the file.
            options: arguments of the method that writes such files.

        Raises:
            ValueError: the name has another end.
        """
        name = os.fsdecode(path)
        plain = name.lower().removesuffix(".gz")
        for suffix, write in _WRITERS.items():
            if plain.endswith(suffix):
                getattr(self, write)(name, **options)
                return
        raise ValueError(f"cannot tell the format of {name!r}: its name should end in one of {', '.join(_WRITERS)}")

    def export_chrome_trace(self, path: Target, **filters: Unpack[FilterArguments]) -> None:
        """Write a trace for chrome://tracing or ui.perfetto.dev: see ``profile.export_chrome_trace``."""
        self._write_chrome_trace(path, filters)

    def export_stacks(self, path: Target, metric: str = STACK_METRICS[0]) -> None:
        """Write each stack with the time that was spent in it: see ``profile.export_stacks``."""
        self._recording.export_stacks(as_target(path), stack_metric(metric))

    def export_memory_timeline(self, path: Path, device: str | _core.device | None = None) -> None:
        """Write how much memory was in use for what, over time: see ``profile.export_memory_timeline``.

        Of a trace that was read, what memory was for is not known: Chrome traces do not say.

        Raises:
            ValueError: no memory was recorded.
        """
        if not self._recording.events().profile_memory:
            raise ValueError("the trace has no memory events: record it with profile_memory=True")
        from mindtorch_v2.profiler import _memory_profiler  # noqa: PLC0415 (few need it)

        wanted = _memory_profiler.default_device(self._recording) if device is None else device
        timeline = _memory_profiler.MemoryProfileTimeline(_memory_profiler.MemoryProfile(self._recording))
        timeline._export(path, wanted, None)

    def _results(self, purpose: str) -> Results:  # noqa: ARG002 (a trace is there)
        return self._recording

    def _head(self, metadata: Mapping[str, str] | None = None) -> dict[str, Any]:  # noqa: ARG002 (it has its own)
        return self._about


# The more special first.
_WRITERS = {
    ".speedscope.json": "export_speedscope",
    ".raw.json": "export_memory_timeline",
    ".json": "export_chrome_trace",
    ".pftrace": "export_perfetto_trace",
    ".perfetto-trace": "export_perfetto_trace",
    ".svg": "export_flame_graph",
    ".folded": "export_stacks",
    ".txt": "export_stacks",
    ".parquet": "export_parquet",
    ".html": "export_memory_timeline",
}


class RecoveredTrace(Trace):
    """What a process left that recorded to files.

    Attributes:
        path: the directory of its files.
        pid: the number of the process.
        missing: what is missing, in words; None if the recording was stopped in order and everything is there.
    """

    def __init__(self, results: Results, path: str, pid: int, missing: str | None) -> None:
        super().__init__(results)
        self.path = path
        self.pid = pid
        self.missing = missing
