"""A list of events, or of averages over them."""

from __future__ import annotations

import os

from mindtorch_v2.autograd._events import event_averages, event_export, event_frame, event_table, event_tree
from mindtorch_v2.autograd._events.function_event import FunctionEvent
from mindtorch_v2.autograd._events.function_event_avg import FunctionEventAvg
from mindtorch_v2.autograd._events.lazy_list import LazyList
from mindtorch_v2.autograd._events.recorded import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from typing_extensions import CapsuleType, Self, TypeVar

    from mindtorch_v2._core import AverageRows, DataFrame, EventRows

    _Event = TypeVar("_Event", bound=FunctionEvent | FunctionEventAvg, default=Any)


class EventList(LazyList["_Event"]):
    """A list of events or of averages, with tables, averages and exports.

    What ``profile.events()`` gives makes its events when they are touched, and asks the recording for tables and
    averages. It is a list in every other way; once it is changed, what it says follows from its items.

    >>> events = EventList(FunctionEvent(id, "step", 1, 10.0 * id, 10.0 * id + 4) for id in range(3))
    >>> events._build_tree()
    >>> [(average.key, average.count, average.cpu_time) for average in events.key_averages()]
    [('step', 3, 4.0)]
    """

    # Of averages without the profiler's own time: how much that was, in microseconds.
    overhead_time_total: float | None = None

    def __init__(
        self,
        iterable: Iterable[_Event] = (),
        /,
        *,
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
    ) -> None:
        super().__init__(iterable)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._tree_built = False
        # The events that averages were made of, for what averages do not keep.
        self._averaged: EventList[FunctionEvent] | None = None

    @classmethod
    def _of_rows(cls, rows: EventRows | AverageRows) -> EventList[Any]:
        """Return the list over the rows of a recording."""
        has_tree = hasattr(rows, "children")
        events: EventList[Any] = cls(
            use_device=rows.use_device, profile_memory=rows.profile_memory, with_flops=rows.with_flops
        )
        events._source = Source(rows, FunctionEvent._of if has_tree else FunctionEventAvg._of)
        events._tree_built = has_tree
        return events

    @classmethod
    def _of_nothing(cls) -> EventList[Any]:
        """Return the list of a recording of nothing: it can be averaged too."""
        events: EventList[Any] = cls()
        events._tree_built = True
        return events

    def _unchanged_rows(self) -> Any:
        """Return the native rows while they say what the list says."""
        source = self._lazy()
        return None if source is None or source.is_changed else source.rows

    def _build_tree(self) -> None:
        """Find which event contains which, remove duplicates, and give backward operations their stacks."""
        events: EventList[Any] = self
        event_tree.nest(events)
        events[:] = event_tree.without_duplicates(events)
        event_tree.set_backward_stacks(events)
        self._tree_built = True

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
        return self._html()

    def _html(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        return self._table(sort_by, {"row_limit": row_limit, "html": True})

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the events' own times on the host, in microseconds."""
        rows = self._unchanged_rows()
        return sum(event.self_cpu_time_total for event in self) if rows is None else rows.self_cpu_time_total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int | None = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return the events as a table.

        Args:
            sort_by: an attribute to sort by, largest first, such as ``cpu_time_total`` or ``count``; "cuda", "xpu",
                "privateuse1" and "npu" in its name mean the device. None leaves the order.
            row_limit: how many rows at most; None or -1 for all. The totals below the table are those of all events.
            max_src_column_width: where to cut source locations, from the left. None does not, here and below.
            max_name_column_width: where to cut names.
            max_shapes_column_width: where to cut input shapes.
            header: a line above the table.
            top_level_events_only: leave out events that lie within another.
            time_unit: "s", "ms" or "us" for all times; None chooses for each.
        """
        options: dict[str, Any] = {
            "row_limit": event_table.whole_number("row_limit", row_limit),
            "max_src_column_width": event_table.whole_number("max_src_column_width", max_src_column_width),
            "max_name_column_width": event_table.whole_number("max_name_column_width", max_name_column_width),
            "max_shapes_column_width": event_table.whole_number("max_shapes_column_width", max_shapes_column_width),
            "header": header,
            "top_level_events_only": bool(top_level_events_only),
            "time_unit": time_unit,
        }
        return self._table(sort_by, options)

    def _table(self, sort_by: str | None, options: dict[str, Any]) -> str:
        rows = self._unchanged_rows()
        if rows is not None:
            try:
                text: str = rows.table(sort_by=sort_by, **options)
            except AttributeError:
                # A key that the rows do not know: an attribute that only events have, or none at all.
                if sort_by is None or not all(hasattr(event, event_table.device_key(sort_by)) for event in self):
                    raise
            else:
                if self._source is not None:
                    self._source.is_printed = True
                return text
        events = list(self) if sort_by is None or not self else event_table.by_attribute(self, sort_by)
        return event_table.render(events, profile_memory=self._profile_memory, with_flops=self._with_flops, **options)

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
        *,
        subtract_overhead: bool = False,
    ) -> EventList[FunctionEventAvg]:
        """Return the sums over the events that share a name, in the order of their first ones.

        Args:
            group_by_input_shapes: keep events with other input shapes apart.
            group_by_stack_n: keep events apart whose innermost n stack entries differ.
            group_by_overload_name: keep the overloads of an operation apart.
            include_python_functions: have Python functions among them. Left out, their time is that of their callers.
            subtract_overhead: leave out what recording took: see ``profile.key_averages``.

        Raises:
            ValueError: the overhead is to be subtracted, and the events are not as this process recorded them.
        """
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        choice = {
            "by_shape": bool(group_by_input_shapes),
            "stack_depth": max(0, group_by_stack_n),
            "by_overload": bool(group_by_overload_name),
            "python_functions": bool(include_python_functions),
        }
        rows = self._unchanged_rows()
        averages: EventList[FunctionEventAvg]
        if rows is None:
            if subtract_overhead and self:
                raise ValueError("what recording cost is not known of events that were made or changed by hand")
            averages = EventList(
                event_averages.averages(list(self), **choice),  # type: ignore[arg-type]
                use_device=self._use_device,
                profile_memory=self._profile_memory,
                with_flops=self._with_flops,
            )
        else:
            groups = rows.key_averages(**choice, subtract_overhead=bool(subtract_overhead))
            averages = EventList._of_rows(groups)
            averages.overhead_time_total = groups.overhead_time_total
            if averages._source is not None:
                averages._source.events = self._source
        averages._averaged = self  # type: ignore[assignment]
        return averages

    def total_average(self) -> FunctionEventAvg:
        """Return the sums over all events, under the key "Total". What is not a sum is as in the last event."""
        rows = self._unchanged_rows()
        if rows is None or not self._tree_built or not self:
            return event_averages.total(self)
        groups = rows.key_averages(by_shape=False, stack_depth=0, by_overload=False, python_functions=True)
        last: Any = self[-1]
        return event_averages.total_of_groups(EventList._of_rows(groups), last)

    def supported_export_stacks_metrics(self) -> list[str]:
        """Return the metrics that ``export_stacks`` takes. All but the first mean the device's time."""
        return list(event_export.STACK_METRICS)

    def export_stacks(self, path: str | os.PathLike[str], metric: str) -> None:
        """Write a line for each stack, for tools that draw flame graphs: frames from the outside in, and microseconds.

        Averages that were not grouped by stack have none: then the stacks are those of the events that they are of.
        """
        if metric not in event_export.STACK_METRICS:
            raise ValueError(f"metric should be one of: {event_export.STACK_METRICS}")
        events: EventList[Any] = self
        if self._averaged is not None and not any(event.stack for event in self):
            events = self._averaged
        rows = events._unchanged_rows()
        key = event_table.device_key(metric)
        if rows is not None and events._tree_built:
            rows.export_stacks(os.fsdecode(path), key)
        else:
            event_export.write_stacks(path, events, key)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events as a JSON list that chrome://tracing reads. ``profile.export_chrome_trace`` says more."""
        events: EventList[Any] = self
        event_export.write_chrome_list(path, events, self._use_device)

    def data_frame(self) -> DataFrame:
        """Return the list as a table of columns, which polars, pandas, DuckDB and pyarrow read without copying it.

        ``polars.DataFrame(events.data_frame())``. Those that do not take it for any list read the list itself, too.
        What the columns are is in ``docs/data_frames.md``.

        Raises:
            TypeError: the list was changed, and has an item that is not as it was recorded.

        >>> from mindtorch_v2.profiler import profile, record_function
        >>> with profile() as prof, record_function("work"):
        ...     pass
        >>> len(prof.events().data_frame())
        1
        """
        rows = self._unchanged_rows()
        frame: DataFrame = event_frame.of_items(self) if rows is None else rows.data_frame()
        return frame

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType:
        return self.data_frame().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> CapsuleType:
        return self.data_frame().__arrow_c_schema__()

    def export_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the list as a Parquet file, with the columns of ``data_frame()``.

        Raises:
            OSError: the file cannot be written. What was there before is then still there.
            TypeError: the list was changed, and has an item that is not as it was recorded.
        """
        self.data_frame().export_parquet(os.fsdecode(path))

    def _like_this(self) -> Self:
        copy = super()._like_this()
        copy._averaged = self._averaged
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        kind, args, state, items = super().__reduce__()
        return kind, args, {**state, "_averaged": None}, items
