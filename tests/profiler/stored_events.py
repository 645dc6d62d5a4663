"""Events and averages made again from the goldens: torch's numbers in our classes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mindtorch_v2.autograd.profiler_util import DeviceType, EventList, FunctionEvent, FunctionEventAvg, Kernel

GOLDENS = Path(__file__).parents[1] / "data" / "goldens"

# What FunctionEvent computes, or what its constructor takes in another form.
_NOT_SET = {
    "key",
    "time_range",
    "device_type",
    "kernels",
    "cpu_children",
    "cpu_parent",
    "cpu_time",
    "device_time",
    "cpu_time_total",
    "device_time_total",
    "self_cpu_time_total",
    "self_device_time_total",
    "self_cpu_memory_usage",
    "self_device_memory_usage",
}


def text(name: str) -> str:
    return (GOLDENS / name).read_text(encoding="utf-8")


def events(name: str, **options: Any) -> EventList[FunctionEvent]:
    """Return the events of a golden, linked as they were."""
    dumped = json.loads(text(name))["events"]
    made = [_event(values) for values in dumped]
    for event, values in zip(made, dumped, strict=True):
        event.cpu_children = [made[child] for child in values["cpu_children"]]
        event.cpu_parent = None if values["cpu_parent"] is None else made[values["cpu_parent"]]
    listed = EventList(made, **options)
    listed._tree_built = True
    return listed


def flat_events(name: str) -> EventList[FunctionEvent]:
    """Return the events of a golden, not yet linked."""
    return EventList(_event(values) for values in json.loads(text(name))["events"])


def _event(values: dict[str, Any]) -> FunctionEvent:
    start_us, end_us = values["time_range"]
    event = FunctionEvent(values["id"], values["name"], values["thread"], start_us, end_us)
    for name, value in values.items():
        if name not in _NOT_SET and not name.endswith("_str"):
            setattr(event, name, value)
    event.device_type = _device_type(values)
    event.kernels = [Kernel(*kernel) for kernel in values["kernels"]]
    return event


def averages(name: str, **options: Any) -> EventList[FunctionEventAvg]:
    """Return the averages of a golden."""
    parent = FunctionEvent(0, "parent", 0, 0.0, 0.0)
    made = []
    for values in json.loads(text(name))["averages"]:
        average = FunctionEventAvg()
        for field, value in values.items():
            if field in vars(average) or field == "is_user_annotation":
                setattr(average, field, value)
        average.device_type = _device_type(values)
        average.cpu_parent = parent if values["has_cpu_parent"] else None
        made.append(average)
    return EventList(made, **options)


def averages_of_table(table: str) -> EventList[FunctionEventAvg]:
    """Return averages that have what a stored table of host times shows."""
    lines = table.splitlines()
    # Two spaces end a column.
    ends = [column.end() for column in re.finditer("-+ *", lines[0])]
    headings = _cells(lines[1], ends)
    made = []
    for line in lines[3:-2]:
        cells = dict(zip(headings, _cells(line, ends), strict=True))
        average = FunctionEventAvg()
        average.key, average.overload_name = cells["Name"], cells.get("Overload Name", "")
        average.count = int(cells["# of Calls"])
        average.self_cpu_time_total = _micros(cells["Self CPU"])
        average.cpu_time_total = _total(_micros(cells["CPU total"]), average.count, cells["CPU time avg"])
        average.node_id = -1
        average.input_shapes = ""
        made.append(average)
    return EventList(made)


def _cells(line: str, ends: list[int]) -> list[str]:
    return [line[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


def _total(shown: float, count: int, mean: str) -> float:
    """Return the total that a table shows, as exactly as the mean beside it tells."""
    noise = shown * 1e-12  # what summing times up leaves, and what decides how a half is rounded
    return next(total for total in (shown, shown - noise, shown + noise) if f"{total / count:.3f}us" == mean)


def _micros(cell: str) -> float:
    return float(cell.removesuffix("us")) if cell.endswith("us") else float(cell.removesuffix("ms")) * 1000


def _device_type(values: dict[str, Any]) -> DeviceType:
    return DeviceType[values["device_type"].removeprefix("DeviceType.")]
