"""Events and averages as tables of columns, for libraries of data frames."""

from __future__ import annotations

from mindtorch_v2._core import DataFrame
from mindtorch_v2.autograd._events.recorded import Recorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindtorch_v2.autograd._events.recorded import Source


def of_items(items: Iterable[object]) -> DataFrame:
    """Return the table of items that are rows of one recording, as it has them, in the order of the items.

    Raises:
        TypeError: an item is none, was changed, or is of another recording than the first.
    """
    source: Source | None = None
    places: list[int] = []
    for at, item in enumerate(items):
        of_item = item._source if isinstance(item, Recorded) else None
        if not isinstance(item, Recorded) or of_item is None:
            raise _not_recorded(at, "is not an event of a recording")
        if of_item.has_changed(item._index):
            raise _not_recorded(at, "was changed since it was recorded")
        if source is not None and source.rows != of_item.rows:
            raise _not_recorded(at, "is of another recording than the first")
        source = of_item
        places.append(item._index)
    return DataFrame() if source is None else source.rows.data_frame(places)


def _not_recorded(at: int, why: str) -> TypeError:
    return TypeError(
        f"item {at} of this EventList {why}, so there are no columns to hand over. Make a table of the items instead, "
        "with what you need of them: [{'name': event.key, 'time': event.cpu_time_total} for event in events]"
    )
