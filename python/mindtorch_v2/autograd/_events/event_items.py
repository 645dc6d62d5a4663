"""An event as a mapping: MindTorch's keys, which speak of nanoseconds, from torch's attributes."""

from __future__ import annotations

from mindtorch_v2.autograd._events.device_type import DeviceType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mindtorch_v2.autograd._events.function_event import FunctionEvent

# What a change of the times moves. Rows may count from another zero than attributes do.
_INSTANTS = ("start_ns", "end_ns")


def items_of(event: FunctionEvent) -> dict[str, Any]:
    """Return the items of an event that was made by hand, copied from a recording, or changed.

    What was recorded and follows from no attribute, such as the step, is as it was recorded.
    """
    now = _follow(event)
    recorded, then = _recorded(event)
    if not recorded:
        return now
    items = {}
    for key, value in recorded.items():
        if key not in now or now[key] == then.get(key):
            items[key] = value
        elif key in _INSTANTS:
            items[key] = value + now[key] - then[key]
        else:
            items[key] = now[key]
    items.update((key, value) for key, value in now.items() if key not in then)
    return items


def snapshot(event: FunctionEvent) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the items of an event and what followed from its attributes, for a copy to know what was changed since."""
    if event._source is None:
        return event._snapshot
    return dict(event.items()), _follow(event)


def _recorded(event: FunctionEvent) -> tuple[dict[str, Any], dict[str, Any]]:
    if event._source is None:
        return event._snapshot or ({}, {})
    unchanged = type(event)._of(event._source, event._index)
    rows, index = event._source.rows, event._index
    return {key: rows.value(index, key) for key in rows.keys(index)}, _follow(unchanged)


def _follow(event: FunctionEvent) -> dict[str, Any]:
    """Return the items that follow from the attributes."""
    start_ns, end_ns = round(event.time_range.start * 1000), round(event.time_range.end * 1000)
    items: dict[str, Any] = {
        "name": event.name,
        "kind": "scope" if event.is_user_annotation else "op",
        "device_type": "CPU" if event.device_type is DeviceType.CPU else "NPU",
        "start_ns": start_ns,
        "end_ns": end_ns,
        "duration_ns": end_ns - start_ns,
        "thread_id": event.thread,
    }
    if not event.is_user_annotation:
        items["correlation_id"] = event.id
    if event.input_shapes is not None:
        items["input_shapes"] = event.input_shapes
    if event.stack is not None:
        items["stack"] = [_frame(entry) for entry in event.stack]
    return items


def _frame(entry: str) -> str:
    """Return ``file(line): function`` as ``file:line:function``; what has no such form, as it is."""
    place, separator, function = entry.partition("): ")
    file, bracket, line = place.rpartition("(")
    return f"{file}:{line}:{function}" if separator and bracket and line.isdecimal() else entry
