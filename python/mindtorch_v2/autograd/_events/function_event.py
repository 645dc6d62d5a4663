"""One event of a recording."""

from __future__ import annotations

from functools import partial

from mindtorch_v2.autograd._events import event_items, forest
from mindtorch_v2.autograd._events.device_type import DEVICE_TYPES, TIMED_DEVICES, DeviceType
from mindtorch_v2.autograd._events.event_mapping import EventMapping
from mindtorch_v2.autograd._events.event_metadata import build_metadata
from mindtorch_v2.autograd._events.formatted_times import FormattedTimesMixin, deprecated_alias
from mindtorch_v2.autograd._events.interval import Interval
from mindtorch_v2.autograd._events.kernel import Kernel
from mindtorch_v2.autograd._events.recorded import Field, Recorded, Source, attributes
from mindtorch_v2.autograd._events.shares import SHARES, recorded_share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from mindtorch_v2.autograd._events.event_metadata import EventMetadata


class FunctionEvent(FormattedTimesMixin, EventMapping, Recorded):
    """An operation, a scope of the user's, a Python function or a device's work, with its times.

    Attributes are torch's, in microseconds; keys are MindTorch's, in nanoseconds. What ``profile.events()`` gives are
    events of a recording: their attributes are fetched from it when asked for. One may also be made by hand.

    >>> outer = FunctionEvent(id=1, name="outer", thread=1, start_us=0.0, end_us=10.0)
    >>> inner = FunctionEvent(id=2, name="inner", thread=1, start_us=2.0, end_us=5.0)
    >>> outer.append_cpu_child(inner)
    >>> inner.set_cpu_parent(outer)
    >>> outer.cpu_time_total, outer.self_cpu_time_total, outer["duration_ns"]
    (10.0, 7.0, 10000)
    """

    __slots__ = ()

    if TYPE_CHECKING:
        id: int
        node_id: int
        name: str
        overload_name: str
        trace_name: str | None
        time_range: Interval
        thread: int
        fwd_thread: int | None
        kernels: list[Kernel]
        cpu_children: list[FunctionEvent]
        cpu_parent: FunctionEvent | None
        input_shapes: list[Any]
        concrete_inputs: list[Any]
        kwinputs: dict[str, Any]
        stack: list[str]
        scope: int
        use_device: str | None
        cpu_memory_usage: int
        device_memory_usage: int
        is_async: bool
        is_remote: bool
        sequence_nr: int
        device_type: DeviceType
        device_index: int
        device_resource_id: int
        is_legacy: bool
        flops: int | None
        is_user_annotation: bool
        is_python_function: bool
        activity_type: str | None
        self_cpu_percent: str | int
        total_cpu_percent: str | int
        total_device_percent: str | int
        flow_id: int | None
        flow_type: int | None
        flow_start: bool | None
        external_id: int
        linked_correlation_id: int
        metadata: dict[str, Any] | None
        _event_metadata: EventMetadata | None
        structured_input_shapes: list[Any]
        structured_input_strides: list[Any]
        input_dtypes: list[str]
        python_id: int
        python_parent_id: int
        python_module_id: int
        args: str | None
        is_cut_at_start: bool
        is_finished: bool

    def __init__(
        self,
        id: int,  # noqa: A002
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        stack: list[str] | None = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: list[Any] | None = None,
        kwinputs: dict[str, Any] | None = None,
        is_user_annotation: bool = False,
        is_python_function: bool = False,
        activity_type: str | None = None,
        flow_id: int | None = None,
        flow_type: int | None = None,
        flow_start: bool | None = None,
        external_id: int = 0,
        linked_correlation_id: int = 0,
        extra_meta: Mapping[str, str] | None = None,
        structured_input_shapes: list[Any] | None = None,
        structured_input_strides: list[Any] | None = None,
        input_dtypes: list[str] | None = None,
        python_id: int = -1,
        python_parent_id: int = -1,
        python_module_id: int = -1,
        typed_metadata: dict[str, Any] | None = None,
    ) -> None:
        self._own(
            {
                "id": id,
                "node_id": node_id,
                "name": name,
                "overload_name": overload_name,
                "trace_name": trace_name,
                "time_range": Interval(start_us, end_us),
                "thread": thread,
                "fwd_thread": fwd_thread,
                "kernels": [],
                "count": 1,
                "cpu_children": [],
                "cpu_parent": None,
                "input_shapes": input_shapes,
                "concrete_inputs": concrete_inputs,
                "kwinputs": kwinputs,
                "stack": stack,
                "scope": scope,
                "use_device": use_device,
                "cpu_memory_usage": cpu_memory_usage,
                "device_memory_usage": device_memory_usage,
                "is_async": is_async,
                "is_remote": is_remote,
                "sequence_nr": sequence_nr,
                "device_type": device_type,
                "device_index": device_index,
                "device_resource_id": thread if device_resource_id is None else device_resource_id,
                "is_legacy": is_legacy,
                "flops": flops,
                "is_user_annotation": is_user_annotation,
                "is_python_function": is_python_function,
                "activity_type": activity_type,
                "self_cpu_percent": -1,
                "total_cpu_percent": -1,
                "total_device_percent": -1,
                "flow_id": flow_id,
                "flow_type": flow_type,
                "flow_start": flow_start,
                "external_id": external_id,
                "linked_correlation_id": linked_correlation_id,
                "metadata": typed_metadata,
                "_event_metadata": build_metadata(extra_meta) if extra_meta else None,
                "structured_input_shapes": structured_input_shapes,
                "structured_input_strides": structured_input_strides,
                "input_dtypes": input_dtypes,
                "python_id": python_id,
                "python_parent_id": python_parent_id,
                "python_module_id": python_module_id,
                "args": None,
                "is_cut_at_start": False,
                "is_finished": True,
            }
        )

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        # For vars(): an event is what its attributes are, fetched or not.
        return self._complete()

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Add a kernel that this operation launched."""
        self._expect_cpu()
        self.kernels.append(Kernel(name, device, duration))
        self._note_change("kernels")

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add an event that this one contains directly: its time is no self time of this one."""
        self._expect_cpu()
        _check(isinstance(child, FunctionEvent), "Expected child to be a FunctionEvent")
        _check(child.device_type is DeviceType.CPU, "Expected child device_type to be CPU")
        self.cpu_children.append(child)
        self._note_change("cpu_children")

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Set the event that contains this one directly. An event without one is at the top level."""
        self._expect_cpu()
        _check(isinstance(parent, FunctionEvent), "Expected parent to be a FunctionEvent")
        _check(parent.device_type is DeviceType.CPU, "Expected parent device_type to be CPU")
        self.cpu_parent = parent

    def _expect_cpu(self) -> None:
        _check(self.device_type is DeviceType.CPU, "Expected device_type to be CPU")

    @property
    def key(self) -> str:
        """What events are grouped by: the name."""
        return self.name

    @property
    def _has_self(self) -> bool:
        # What began and ended on different threads has no children, so that nothing can be said of its own part.
        return self.device_type is DeviceType.CPU and not self.is_async

    @property
    def cpu_time_total(self) -> float:
        """The time that it took on the host; 0 for a device's event."""
        figure: float | None = self._figure("cpu_time_total")
        if figure is not None:
            return figure
        return self.time_range.elapsed_us() if self.device_type is DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self) -> float:
        """The time that it took on the host without that of its children."""
        figure: float | None = self._figure("self_cpu_time_total")
        if figure is not None:
            return figure
        if not self._has_self:
            return 0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> float:
        """The time of the kernels that it and what it contains launched; for a device's event, its own time."""
        figure: float | None = self._figure("device_time_total")
        if figure is not None:
            return figure
        total: float = 0
        # Not by recursion: nesting may be deeper than Python's stack.
        pending = [self]
        while pending:
            event = pending.pop()
            if event.is_async or not event.use_device:
                continue
            if event.device_type is not DeviceType.CPU:
                total += event._device_elapsed()
                continue
            total += sum(kernel.duration for kernel in event.kernels)
            if not event.is_legacy:
                pending += event.cpu_children
        return total

    @property
    def self_device_time_total(self) -> float:
        """The time of the kernels that it launched itself."""
        figure: float | None = self._figure("self_device_time_total")
        if figure is not None:
            return figure
        if self.is_async or not self.use_device:
            return 0
        if self.device_type is not DeviceType.CPU:
            return self._device_elapsed()
        own = sum(kernel.duration for kernel in self.kernels)
        # A legacy event's kernels are those of its children too.
        return own - sum(child.device_time_total for child in self.cpu_children) if self.is_legacy else own

    def _device_elapsed(self) -> float:
        _check(
            self.device_type in TIMED_DEVICES,
            f"Expected device_type to be CUDA, PrivateUse1, MTIA, HPU or XPU, but got {self.device_type}",
        )
        return self.time_range.elapsed_us()

    @property
    def self_cpu_memory_usage(self) -> int:
        """The host's memory that it allocated and did not free, without its children's."""
        return self._self_memory("cpu_memory_usage")

    @property
    def self_device_memory_usage(self) -> int:
        """The device's memory that it allocated and did not free, without its children's."""
        return self._self_memory("device_memory_usage")

    def _self_memory(self, name: str) -> int:
        figure: int | None = self._figure("self_" + name)
        if figure is not None:
            return figure
        if not self._has_self:
            return 0
        total: int = getattr(self, name)
        children: int = sum(getattr(child, name) for child in self.cpu_children)
        return total - children

    event_metadata = deprecated_alias("`event_metadata` is deprecated. Use `metadata` instead.", "_event_metadata")
    cuda_time_total = deprecated_alias(
        "`cuda_time_total` is deprecated. Use `device_time_total` instead.", "device_time_total"
    )
    self_cuda_time_total = deprecated_alias(
        "`self_cuda_time_total` is deprecated. Use `self_device_time_total` instead.", "self_device_time_total"
    )
    self_cuda_memory_usage = deprecated_alias(
        "`self_cuda_memory_usage` is deprecated. Use `self_device_memory_usage` instead.", "self_device_memory_usage"
    )

    def __copy__(self) -> FunctionEvent:
        copy = object.__new__(type(self))
        copy._own(self._complete(), event_items.snapshot(self))
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return forest.reduced(self)

    def __repr__(self) -> str:
        device = self.use_device
        children = [child.id for child in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} cpu_children={children} "
            f"{device}_time={self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage} is_async={self.is_async} is_remote={self.is_remote} "
            f"seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _time_range(event: FunctionEvent, source: Source) -> Interval:
    attribute, index = source.rows.attribute, event._index
    return Interval(attribute(index, "start_us"), attribute(index, "end_us"))


def _cpu_parent(event: FunctionEvent, source: Source) -> FunctionEvent | None:
    parent = source.rows.parent(event._index)
    return None if parent is None else source.item(parent)


def _share(name: str, event: FunctionEvent, source: Source) -> str | int:
    return recorded_share(event, name, source)


# What rows give in another form than events do.
_SPECIAL: dict[str, Callable[[Any, Source], Any]] = {
    "time_range": _time_range,
    "kernels": lambda event, source: [Kernel(*kernel) for kernel in source.rows.attribute(event._index, "kernels")],
    "cpu_parent": _cpu_parent,
    "cpu_children": lambda event, source: [source.item(child) for child in source.rows.children(event._index)],
    "device_type": lambda event, source: DEVICE_TYPES[source.rows.attribute(event._index, "device_type")],
    **{name: partial(_share, name) for name in SHARES},
    "metadata": lambda _event, _source: None,
    "_event_metadata": lambda _event, _source: None,
}

FunctionEvent._FIELDS = tuple(attributes(FunctionEvent(0, "", 0, 0.0, 0.0)))
for _name in FunctionEvent._FIELDS:
    # The shares follow from the last table that was printed.
    setattr(FunctionEvent, _name, Field(_name, _SPECIAL.get(_name), stays=_name not in SHARES))
