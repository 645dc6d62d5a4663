"""``ProfileResults``: what can be asked of a profile that has recorded something."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from mindtorch_v2.autograd._events.event_export import STACK_METRICS
from mindtorch_v2.autograd.profiler_util import EventList, FunctionEventAvg
from mindtorch_v2.profiler import _metadata
from mindtorch_v2.profiler._errors import NotStartedError
from mindtorch_v2.profiler._trace_files import TraceFiles, as_target, stack_metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from mindtorch_v2._core import Results
    from mindtorch_v2.autograd._recording import Recording
    from mindtorch_v2.autograd._stats import _ProfilerStats
    from mindtorch_v2.profiler._configs import _ExperimentalConfig
    from mindtorch_v2.profiler._filters import FilterArguments
    from mindtorch_v2.profiler._trace_files import Target


class ProfileResults(TraceFiles):
    """Events, averages, tables and files, made of a recording when they are asked for."""

    enabled: bool
    trace_id: str
    with_stack: bool
    with_modules: bool
    use_device: str | None
    post_processing_timeout_s: float | None
    experimental_config: _ExperimentalConfig
    _recording: Recording
    _stats: _ProfilerStats

    @property
    def kineto_results(self) -> Results | None:
        """What the last window recorded, as the engine holds it; None if there was none."""
        return self._recording.last()

    @property
    def function_events(self) -> EventList:
        """Every event, in the order of time. While recording: those so far."""
        self._check_events()
        start = perf_counter_ns()
        if self.post_processing_timeout_s == 0:
            self._log(
                "Profiler _parse_kineto_results timed out after %.3f seconds, returning partial results with %d events",
                0.0,
                0,
            )
            return EventList._of_nothing()
        events = self._recording.events()
        if self._stats.parse_kineto_call_duration_us == 0 and not self._recording.is_running:
            taken = self._stats.parse_kineto_call_duration_us = max(1, us_since(start))
            self._stats.number_of_events = len(events)
            timeout = self.post_processing_timeout_s
            if timeout is not None and taken > timeout * 1e6:
                self._log("Profiler took %.3f seconds to make the events, which are complete", taken / 1e6)
        return events

    @staticmethod
    def _log(message: str, *args: object) -> None:
        import logging  # noqa: PLC0415 (few need it, and the package is to be imported quickly)

        logging.getLogger("mindtorch_v2.autograd.profiler").warning(message, *args)

    def _check_events(self) -> None:
        if self.experimental_config.trace_only:
            raise RuntimeError(
                "events() is not available when trace_only=True in ExperimentalConfig. "
                "Use export_chrome_trace() instead."
            )

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
        *,
        subtract_overhead: bool = False,
    ) -> EventList:
        """Return the events grouped by name, with sums and averages. While recording: those so far."""
        return self.function_events.key_averages(
            group_by_input_shape,
            group_by_stack_n,
            group_by_overload_name,
            include_python_functions,
            subtract_overhead=subtract_overhead,
        )

    def total_average(self) -> FunctionEventAvg:
        """Return the sums over all events."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time that was spent on the host, in microseconds."""
        return self.function_events.self_cpu_time_total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """Return the events as a table: see ``EventList.table``."""
        return self.function_events.table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
        )

    def _results(self, purpose: str) -> Results:
        results = self._recording.last()
        if results is None:
            raise NotStartedError(f"Profiler must be started before {purpose}: nothing was recorded yet")
        return results

    def _all_results(self, purpose: str) -> Results:
        results = self._recording.everything()
        if results is None:
            raise NotStartedError(f"Profiler must be started before {purpose}: nothing was recorded yet")
        return results

    def _head(self, metadata: Mapping[str, str] | None = None) -> dict[str, Any]:
        return {
            "metadata": _metadata.entries({**_metadata.versions(self.use_device), **(metadata or {})}),
            "trace_id": _metadata.encodable(self.trace_id),
            "device_properties": _metadata.device_properties(self.use_device) if self.use_device else "",
            "with_modules": self.with_modules,
        }

    def export_chrome_trace(
        self,
        path: Target,
        metadata: Mapping[str, str] | None = None,
        use_python_export: bool = False,  # noqa: ARG002 (there is one exporter)
        cuda_graph_annotations: Mapping[int, Any] | None = None,
        graph_lanes: str = "none",
        default_stream: int = 7,  # noqa: ARG002 (of CUDA graphs)
        **filters: Unpack[FilterArguments],
    ) -> None:
        """Write the last window's trace: see ``mindtorch_v2.profiler.profile.export_chrome_trace``."""
        if graph_lanes not in {"all", "none"}:
            raise ValueError(f"graph_lanes must be 'all' or 'none', got {graph_lanes!r}")
        if graph_lanes == "all" and not cuda_graph_annotations:
            raise ValueError("graph_lanes='all' needs cuda_graph_annotations: there is nothing else to name lanes by")
        self._write_chrome_trace(path, filters, metadata)

    def export_stacks(self, path: Target, metric: str = STACK_METRICS[0]) -> None:
        """Write the stacks with their times: see ``mindtorch_v2.profiler.profile.export_stacks``."""
        self._check_events()
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        target, key = as_target(path), stack_metric(metric)
        self._all_results("exporting stacks").export_stacks(target, key)


def us_since(start_ns: int) -> int:
    """Return how long ago a reading of the clock was, in microseconds."""
    return (perf_counter_ns() - start_ns) // 1000
