"""Averages over events, for lists that were made or changed by the user. A recording's own are computed natively."""

from __future__ import annotations

from mindtorch_v2.autograd._events.function_event_avg import FROM_THE_FIRST, FunctionEventAvg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindtorch_v2.autograd._events.function_event import FunctionEvent

_SELF_FIGURES = ("self_cpu_time_total", "self_device_time_total", "self_cpu_memory_usage", "self_device_memory_usage")


def averages(
    events: Sequence[FunctionEvent], by_shape: bool, stack_depth: int, by_overload: bool, python_functions: bool
) -> list[FunctionEventAvg]:
    """Return an average for each group of events, in the order of their first ones."""
    groups: dict[tuple[str, ...], FunctionEventAvg] = {}
    hidden = {} if python_functions else _time_of_python_functions(events)
    for event in events:
        if event.is_python_function and not python_functions:
            continue
        key = [
            str(event.key),
            str(event.node_id),
            str(event.device_type),
            str(event.is_legacy),
            str(event.is_user_annotation),
        ]
        if by_overload:
            key.append(event.overload_name)
        if by_shape:
            key.append(str(event.input_shapes))
        if stack_depth > 0:
            key += (event.stack or [])[:stack_depth]
        average = groups.get(tuple(key))
        if average is None:
            average = groups[tuple(key)] = FunctionEventAvg()
        average.add(event)
        for name, amount in zip(_SELF_FIGURES, hidden.get(event, ()), strict=False):
            setattr(average, name, getattr(average, name) + amount)
    for average in groups.values():
        average.stack = (average.stack or [])[:stack_depth]
        if not by_shape:
            average.input_shapes = ""
        if not by_overload:
            average.overload_name = ""
    return list(groups.values())


def _time_of_python_functions(events: Iterable[FunctionEvent]) -> dict[FunctionEvent, list[float]]:
    """Return the self figures of Python functions, by the event that they are a part of.

    Left out of the averages, a Python function's own time is the time of what called it: else an op that spends its
    time in Python would seem to spend none, and shares of the sum would pass 100 %.
    """
    # By event, not by its id: an event of a recording is another object each time that someone looks at it.
    times: dict[FunctionEvent, list[float]] = {}
    callers: dict[FunctionEvent, FunctionEvent | None] = {}
    for event in events:
        if not event.is_python_function:
            continue
        path: list[FunctionEvent] = []
        current: FunctionEvent | None = event
        while current is not None and current.is_python_function and current not in callers:
            path.append(current)
            current = current.cpu_parent
        caller = callers.get(current, current) if current is not None else None
        callers.update((passed, caller) for passed in path)
        if caller is not None:
            sums = times.setdefault(caller, [0] * len(_SELF_FIGURES))
            for place, name in enumerate(_SELF_FIGURES):
                sums[place] += getattr(event, name)
    return times


def total(events: Iterable[FunctionEvent | FunctionEventAvg]) -> FunctionEventAvg:
    """Return the sums over all events, under the key "Total". What is not a sum is as in the last event."""
    result = FunctionEventAvg()
    for event in events:
        result.key = None
        result.add(event)
    result.key = "Total"
    return result


def total_of_groups(groups: Iterable[FunctionEventAvg], last: FunctionEvent) -> FunctionEventAvg:
    """Return what ``total`` returns, from sums that there are already and the last event."""
    result = total(groups)
    for name in FROM_THE_FIRST:
        if name != "key":
            setattr(result, name, getattr(last, name))
    return result
