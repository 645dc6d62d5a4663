"""``TraceFiles``: the files that can be made of a trace."""

from __future__ import annotations

from mindtorch_v2.autograd._events.event_export import STACK_METRICS, file_name
from mindtorch_v2.profiler._filters import native_filter

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    from typing_extensions import Protocol, Unpack

    from mindtorch_v2._core import Results
    from mindtorch_v2.profiler._filters import FilterArguments

    class BinaryFile(Protocol):
        """A file that is open for writing, and takes bytes."""

        def write(self, data: bytes, /) -> Any: ...

    Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    Target: TypeAlias = Path | BinaryFile


class TraceFiles:
    """Files of a recording, for other programs.

    A path is written whole or not at all, and compressed if it ends in ``.gz``; a file that is open is written to as it
    is. Everything can be written any number of times.
    """

    def _results(self, purpose: str) -> Results:
        """Return the recording that is to be written."""
        raise NotImplementedError(purpose)

    def _all_results(self, purpose: str) -> Results:
        """Return all that ``events()`` has, of several cycles if they are kept."""
        return self._results(purpose)

    def _head(self, metadata: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return what files say of the recording beside its events, ``metadata`` among it."""
        raise NotImplementedError(metadata)

    def _write_chrome_trace(
        self, path: Target, filters: FilterArguments, metadata: Mapping[str, str] | None = None
    ) -> None:
        target, chosen = as_target(path), native_filter(filters)
        results = self._results("exporting chrome trace")
        head = self._head(metadata)
        log = _logger()
        if log is not None:
            log.info("writing a trace of about %d bytes to %s", results.chrome_trace_bytes(filter=chosen), target)
        results.export_chrome_trace(target, filter=chosen, **head)

    def export_perfetto_trace(self, path: Target, **filters: Unpack[FilterArguments]) -> None:
        """Write a trace in Perfetto's own format, which is smaller and opens faster than a Chrome trace.

        Args:
            path: the file, usually ``.pftrace``, or a binary file that is open.
            filters: which events to write: ``activities``, ``name``, ``min_duration_us``, ``time_range_us``,
                ``thread``, ``max_depth``; see ``Trace.filtered``.

        >>> import io
        >>> from mindtorch_v2.profiler import profile, record_function
        >>> with profile() as prof, record_function("work"):
        ...     pass
        >>> prof.export_perfetto_trace(io.BytesIO())
        """
        target, chosen = as_target(path), native_filter(filters)
        self._results("exporting a Perfetto trace").export_perfetto_trace(target, filter=chosen, **self._head())

    def export_speedscope(self, path: Target) -> None:
        """Write the spans of every thread for https://www.speedscope.app, usually as ``.speedscope.json``."""
        self._results("exporting for speedscope").export_speedscope(as_target(path))

    def export_flame_graph(self, path: Target, metric: str = STACK_METRICS[0]) -> None:
        """Write a flame graph, as an SVG picture that a browser shows and zooms.

        Args:
            path: the file, usually ``.svg``, or a binary file that is open.
            metric: ``self_cpu_time_total``, or one of the others of ``export_stacks`` for time on the device.
        """
        target, key = as_target(path), stack_metric(metric)
        self._all_results("exporting a flame graph").export_flame_graph(target, key)

    def export_report(self, path: Target, *, title: str = "Recording") -> None:
        """Write a page that shows where time and memory went, as one file that a browser opens without a network.

        Args:
            path: the file, usually ``.html``, or a binary file that is open.
            title: what the page is called.

        >>> import io
        >>> from mindtorch_v2.profiler import profile, record_function
        >>> with profile() as prof, record_function("work"):
        ...     pass
        >>> prof.export_report(io.BytesIO())
        """
        self._results("exporting a report").export_report(as_target(path), title=title)

    def export_parquet(self, path: Path) -> None:
        """Write every event as a row of a Parquet file, for polars, pandas, DuckDB and others.

        The columns are those of ``events().data_frame()``.

        Raises:
            OSError: the file cannot be written. The recording is kept.
        """
        name = file_name(path)
        self._all_results("exporting events").events().data_frame().export_parquet(name)


def as_target(path: Target) -> Any:
    """Return a file that is open as it is, and the name of any other."""
    # A path may have a method of this name, which is not that of a file.
    given: Any = path
    return given if hasattr(given, "write") and not hasattr(given, "__fspath__") else file_name(given)


def stack_metric(metric: str) -> str:
    """Return the engine's name for a metric of stacks."""
    if metric not in STACK_METRICS:
        raise ValueError(f"metric should be one of: {STACK_METRICS}")
    return metric if metric == STACK_METRICS[0] else "self_device_time_total"


def _logger() -> Any:
    """Return the log, if someone reads it: until something imports ``logging``, nobody does."""
    import sys  # noqa: PLC0415 (it is there anyway)

    logging = sys.modules.get("logging")
    log = None if logging is None else logging.getLogger("mindtorch_v2.profiler")
    return log if log is not None and log.isEnabledFor(20) else None
