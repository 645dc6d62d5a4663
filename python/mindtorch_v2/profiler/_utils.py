"""Ways through a tree of events."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["index_of_first_match", "traverse_bfs", "traverse_dfs"]


def traverse_dfs(events: Iterable[Any]) -> Iterator[Any]:
    """Go through events and what they contain, each before its children and these before its neighbours.

    >>> from mindtorch_v2.profiler import profile, record_function
    >>> with profile() as prof:
    ...     with record_function("outer"), record_function("inner"):
    ...         pass
    ...     with record_function("next"):
    ...         pass
    >>> [event.name for event in traverse_dfs(event for event in prof.events() if event.cpu_parent is None)]
    ['outer', 'inner', 'next']
    """
    waiting = list(events)[::-1]
    while waiting:
        event = waiting.pop()
        yield event
        waiting.extend(reversed(_children(event)))


def traverse_bfs(events: Iterable[Any]) -> Iterator[Any]:
    """Go through events and what they contain, level by level."""
    waiting = deque(events)
    while waiting:
        event = waiting.popleft()
        yield event
        waiting.extend(_children(event))


def _children(event: Any) -> list[Any]:
    children: list[Any] = event.cpu_children if hasattr(event, "cpu_children") else event.children
    return children


def index_of_first_match(
    seq: Sequence[Any], predicate: Callable[[Any], bool], start: int = 0, end: int | None = None
) -> int | None:
    """Return the place of the first item that fulfils ``predicate``, or None.

    >>> index_of_first_match("abc", str.isdigit), index_of_first_match("a1c", str.isdigit)
    (None, 1)
    """
    places = range(start, len(seq) if end is None else min(end, len(seq)))
    return next((place for place in places if predicate(seq[place])), None)
