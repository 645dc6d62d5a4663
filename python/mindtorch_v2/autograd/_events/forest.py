"""Events that belong together, as one flat thing to pickle and to copy.

An event refers to its parent and its children, and these to theirs: followed link by link, pickling would go as deep
as the program was nested. Here events are written side by side, and links are places among them.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

from mindtorch_v2.autograd._events import event_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mindtorch_v2.autograd._events.function_event import FunctionEvent

# The forest of each event that is being pickled or copied: the pickler keeps it alive for as long as it works, so that
# events that are pickled together stay linked with each other, not with copies.
_forests: WeakValueDictionary[tuple[object, int], Forest] = WeakValueDictionary()


class Forest:
    """All events that an event is linked with, directly or not."""

    def __init__(self, kinds: list[type[FunctionEvent]]) -> None:
        # Empty at first: an attribute of one may refer to another.
        self.events = [kind.__new__(kind) for kind in kinds]
        for event in self.events:
            event._own({})
        self._places: dict[tuple[object, int], int] = {}

    @classmethod
    def around(cls, event: FunctionEvent) -> Forest:
        """Return the forest that an event is in."""
        forest = _forests.get(_identity(event))
        if forest is None:
            forest = cls([])
            forest.events = _linked(event)
            forest._places = {_identity(event): place for place, event in enumerate(forest.events)}
            _forests.update(dict.fromkeys(forest._places, forest))
        return forest

    def place(self, event: FunctionEvent) -> int:
        """Return where an event is."""
        return self._places[_identity(event)]

    def __reduce__(self) -> tuple[Any, ...]:
        state = []
        for event in self.events:
            values = dict(event._complete())
            parent, children = values.pop("cpu_parent", None), values.pop("cpu_children", [])
            links = None if parent is None else self.place(parent), [self.place(child) for child in children]
            state.append((values, event_items.snapshot(event), *links))
        return Forest, ([type(event) for event in self.events],), state

    def __setstate__(self, state: list[Any]) -> None:
        for event, (values, snapshot, parent, children) in zip(self.events, state, strict=True):
            values["cpu_parent"] = None if parent is None else self.events[parent]
            values["cpu_children"] = [self.events[child] for child in children]
            event._own(values, snapshot)


def reduced(event: FunctionEvent) -> tuple[Callable[[Forest, int], FunctionEvent], tuple[Forest, int]]:
    """Return how to make an event again, for ``__reduce__``."""
    forest = Forest.around(event)
    return _member, (forest, forest.place(event))


def _member(forest: Forest, place: int) -> FunctionEvent:
    return forest.events[place]


def _identity(event: FunctionEvent) -> tuple[object, int]:
    return (id(event), -1) if event._source is None else (event._source.rows, event._index)


def _linked(event: FunctionEvent) -> list[FunctionEvent]:
    """Return all events that can be reached by links, in no order."""
    found = {_identity(event): event}
    pending = [event]
    while pending:
        current = pending.pop()
        parent = current.cpu_parent
        for relative in current.cpu_children if parent is None else [parent, *current.cpu_children]:
            identity = _identity(relative)
            if identity not in found:
                found[identity] = relative
                pending.append(relative)
    return list(found.values())
