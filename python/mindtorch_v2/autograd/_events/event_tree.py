"""Which event contains which, for lists that were made by hand."""

from __future__ import annotations

from mindtorch_v2.autograd._events.device_type import DeviceType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindtorch_v2.autograd._events.function_event import FunctionEvent

_BACKWARD_FUNCTION = 1  # RecordScope's value


def nest(events: Iterable[FunctionEvent]) -> None:
    """Set parents and children: per thread, what lies within another is its child; what overlaps another is not."""
    threads: dict[tuple[int, int], list[FunctionEvent]] = {}
    for event in events:
        # What ends on another thread than it began on contains nothing that could be told.
        if event.device_type is DeviceType.CPU and not event.is_async:
            threads.setdefault((event.thread, event.node_id), []).append(event)
    for thread in threads.values():
        thread.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
        # Each of these contains those after it.
        open_events: list[FunctionEvent] = []
        for event in thread:
            start, end = event.time_range.start, event.time_range.end
            while open_events and (start >= open_events[-1].time_range.end or end > open_events[-1].time_range.end):
                open_events.pop()
            if open_events:
                parent = open_events[-1]
                if event.cpu_parent is not None:
                    raise AssertionError(f"There is already a CPU parent event for {event.key}")
                parent.append_cpu_child(event)
                event.set_cpu_parent(parent)
            open_events.append(event)


def without_duplicates(events: Sequence[FunctionEvent]) -> list[FunctionEvent]:
    """Return the events without each op that is the only child of an op with its name.

    Such a pair is one call of the user's, seen at two levels. What the removed one had moves to its parent. Scopes and
    Python functions stay: there a pair is recursion.
    """
    remaining = list(events)
    while True:
        kept = [event for event in remaining if not _merged_into_parent(event)]
        if len(kept) == len(remaining):
            return kept
        remaining = kept


def _merged_into_parent(event: FunctionEvent) -> bool:
    parent = event.cpu_parent
    if parent is None or parent.name != event.name or len(parent.cpu_children) != 1 or not _are_ops(event, parent):
        return False
    parent.cpu_children = event.cpu_children
    parent.kernels = [*parent.kernels, *event.kernels]
    for child in event.cpu_children:
        child.cpu_parent = parent
    return True


def _are_ops(*events: FunctionEvent) -> bool:
    return not any(event.is_user_annotation or event.is_python_function for event in events)


def set_backward_stacks(events: Sequence[FunctionEvent]) -> None:
    """Give what runs in the backward pass the stack of the forward operation that it belongs to."""
    nodes = _backward_nodes(events)
    forward: dict[tuple[int, int | None], list[str]] = {}
    for event, node in zip(events, nodes, strict=True):
        if node is None and event.stack is not None:
            forward.setdefault((event.sequence_nr, event.thread), event.stack)
    for event, node in zip(events, nodes, strict=True):
        if node is not None:
            if node.fwd_thread is None:
                raise AssertionError("Expected fwd_thread to be set for backward parent")
            event.stack = forward.get((node.sequence_nr, node.fwd_thread), [])


def _backward_nodes(events: Sequence[FunctionEvent]) -> list[FunctionEvent | None]:
    """Return for each event the backward function that it is or is within, if any."""
    known: dict[int, FunctionEvent | None] = {}
    for event in events:
        # Upwards until something is known, by a loop: nesting may be deeper than Python's stack.
        path: list[FunctionEvent] = []
        current: FunctionEvent | None = event
        while current is not None and current.scope != _BACKWARD_FUNCTION and id(current) not in known:
            path.append(current)
            current = current.cpu_parent
        node = known.get(id(current), current) if current is not None else None
        known.update((id(passed), node) for passed in path)
        known.setdefault(id(event), node)
    return [known[id(event)] for event in events]
