"""The sums over events that share a key."""

from __future__ import annotations

from functools import partial

from mindtorch_v2.autograd._events.device_type import DEVICE_TYPES, DeviceType
from mindtorch_v2.autograd._events.formatted_times import FormattedTimesMixin
from mindtorch_v2.autograd._events.function_event import FunctionEvent
from mindtorch_v2.autograd._events.recorded import Field, Recorded, Source, attributes
from mindtorch_v2.autograd._events.shares import SHARES, recorded_share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

# What is added up.
_SUMS = (
    "cpu_time_total",
    "device_time_total",
    "self_cpu_time_total",
    "self_device_time_total",
    "cpu_memory_usage",
    "device_memory_usage",
    "self_cpu_memory_usage",
    "self_device_memory_usage",
    "count",
)
# The profiler's own time that was taken off the host's, which events do not have.
_OVERHEADS = ("overhead_time_total", "self_overhead_time_total")
# What the first event decides.
FROM_THE_FIRST = (
    "key",
    "node_id",
    "is_async",
    "is_remote",
    "cpu_parent",
    "cpu_children",
    "overload_name",
    "input_shapes",
    "stack",
    "scope",
    "device_type",
    "is_legacy",
    "use_device",
    "is_user_annotation",
    "is_python_function",
)


class FunctionEventAvg(FormattedTimesMixin, Recorded):
    """Sums over events with one key; ``cpu_time`` and ``device_time`` are the averages. Times are in microseconds.

    >>> average = FunctionEventAvg()
    >>> for id, end in enumerate([4.0, 8.0]):
    ...     average += FunctionEvent(id, "step", thread=1, start_us=0.0, end_us=end)
    >>> average.key, average.count, average.cpu_time_total, average.cpu_time
    ('step', 2, 12.0, 6.0)
    """

    __slots__ = ()

    if TYPE_CHECKING:
        key: str | None
        node_id: int
        is_async: bool
        is_remote: bool
        use_device: str | None
        cpu_time_total: float
        device_time_total: float
        self_cpu_time_total: float
        self_device_time_total: float
        overhead_time_total: float
        self_overhead_time_total: float
        input_shapes: Any
        overload_name: str | None
        stack: list[str] | None
        scope: int | None
        cpu_memory_usage: int
        device_memory_usage: int
        self_cpu_memory_usage: int
        self_device_memory_usage: int
        cpu_children: list[FunctionEvent] | None
        cpu_parent: FunctionEvent | None
        device_type: DeviceType
        is_legacy: bool
        is_user_annotation: bool
        is_python_function: bool
        flops: int | None

    def __init__(self) -> None:
        self._own(
            {
                "key": None,
                "count": 0,
                "node_id": 0,
                "is_async": False,
                "is_remote": False,
                "use_device": None,
                "cpu_time_total": 0,
                "device_time_total": 0,
                "self_cpu_time_total": 0,
                "self_device_time_total": 0,
                "overhead_time_total": 0,
                "self_overhead_time_total": 0,
                "input_shapes": None,
                "overload_name": None,
                "stack": None,
                "scope": None,
                "cpu_memory_usage": 0,
                "device_memory_usage": 0,
                "self_cpu_memory_usage": 0,
                "self_device_memory_usage": 0,
                "cpu_children": None,
                "cpu_parent": None,
                "device_type": DeviceType.CPU,
                "is_legacy": False,
                "flops": 0,
                "is_user_annotation": False,
                "is_python_function": False,
            }
        )

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        # For vars(): an average is what its attributes are, fetched or not.
        return self._complete()

    def add(self, other: FunctionEvent | FunctionEventAvg) -> Self:
        """Add an event, or another average, of the same key. The first one decides what is not a sum."""
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if self.key is None:
            attributes(self).update((name, getattr(other, name)) for name in FROM_THE_FIRST)
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMS}
        for name in _OVERHEADS:
            sums[name] = getattr(self, name) + getattr(other, name, 0)
        if other.flops is not None:
            sums["flops"] = (self.flops or 0) + other.flops
        # At once: setting attributes one by one takes several times as long.
        attributes(self).update(sums)
        self._note_change("count")
        return self

    def __iadd__(self, other: FunctionEvent | FunctionEventAvg) -> Self:
        return self.add(other)

    def __copy__(self) -> FunctionEventAvg:
        copy = object.__new__(type(self))
        copy._own(self._complete())
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self),), dict(self._complete())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._own(state)

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>"
        )


def _restored(kind: type[FunctionEventAvg]) -> FunctionEventAvg:
    average = object.__new__(kind)
    average._own({})
    return average


def _device_type(average: FunctionEventAvg, source: Source) -> DeviceType:
    number: int = source.rows.attribute(average._index, "device_type")
    return DEVICE_TYPES[number]


def _of_first_event(name: str, average: FunctionEventAvg, source: Source) -> Any:
    if source.events is None:
        source.events = Source(source.rows.events(), FunctionEvent._of)
    first = source.rows.attribute(average._index, "first_event")
    return None if first is None else getattr(source.events.item(first), name)


def _share(name: str, average: FunctionEventAvg, source: Source) -> str | int:
    return recorded_share(average, name, source)


# What rows give in another form than averages do.
_SPECIAL: dict[str, Callable[[Any, Source], Any]] = {
    "cpu_children": partial(_of_first_event, "cpu_children"),
    "cpu_parent": partial(_of_first_event, "cpu_parent"),
    "device_type": _device_type,
    **{name: partial(_share, name) for name in SHARES},
}

FunctionEventAvg._FIELDS = (*attributes(FunctionEventAvg()), *SHARES)
for _name in FunctionEventAvg._FIELDS:
    setattr(FunctionEventAvg, _name, Field(_name, _SPECIAL.get(_name), stays=_name not in SHARES))
