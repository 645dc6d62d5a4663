"""Tables of events that were made or changed by the user, or are sorted by what only Python knows."""

from __future__ import annotations

from operator import index

from mindtorch_v2 import _core
from mindtorch_v2.autograd._events.device_type import DeviceType
from mindtorch_v2.autograd._events.shares import is_device_work, set_shares

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from mindtorch_v2.autograd._events.function_event import FunctionEvent
    from mindtorch_v2.autograd._events.function_event_avg import FunctionEventAvg

    Row = FunctionEvent | FunctionEventAvg

# What torch says for the accelerator in the names of keys.
_DEVICE_WORDS = {"cuda", "npu", "privateuse1", "xpu"}


def device_key(sort_by: str) -> str:
    """Return a key with the accelerator named "device"."""
    return "_".join("device" if word in _DEVICE_WORDS else word for word in sort_by.split("_"))


def whole_number(name: str, value: Any) -> int | None:
    """Return a limit that was given as an option; infinity, like None, is none."""
    if value is None or value == float("inf"):
        return None
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number or None, not {type(value).__name__}")
    return index(value)


def by_attribute(events: Sequence[Row], sort_by: str) -> list[Row]:
    """Return the events in descending order of an attribute; those without a value for it are last."""
    name = device_key(sort_by)
    with_value = [event for event in events if getattr(event, name) is not None]
    without = [event for event in events if getattr(event, name) is None]
    return sorted(with_value, key=lambda event: getattr(event, name), reverse=True) + without


def render(events: Sequence[Row], *, profile_memory: bool, with_flops: bool, **options: Any) -> str:
    """Return the table of these events, in this order."""
    if not events:
        return ""
    use_device = events[0].use_device
    if not use_device and any(event.self_device_time_total > 0 for event in events):
        raise RuntimeError("use_device is None, but there is device performance data.")
    set_shares(events)
    has_shapes = any(event.input_shapes for event in events)
    return _core.render_table(
        [_row(event, has_shapes) for event in events],
        profile_memory=profile_memory,
        with_flops=with_flops,
        use_device=use_device,
        **options,
    )


def _row(event: Row, has_shapes: bool) -> tuple[Any, ...]:
    is_device = is_device_work(event) or event.device_type is not DeviceType.CPU
    return (
        event.key,
        event.overload_name or "",
        event.count,
        float(event.cpu_time_total),
        float(event.self_cpu_time_total),
        float(event.device_time_total),
        float(event.self_device_time_total),
        event.cpu_memory_usage,
        event.self_cpu_memory_usage,
        event.device_memory_usage,
        event.self_device_memory_usage,
        event.flops or 0,
        event.node_id,
        str(event.input_shapes) if has_shapes else "",
        list(event.stack or ()),
        event.is_async,
        event.cpu_parent is not None,
        is_device,
        is_device and not is_device_work(event),
    )
