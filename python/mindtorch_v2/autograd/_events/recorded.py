"""Objects that stand for rows of a recording and fetch their attributes when asked."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mindtorch_v2._core import AverageRows, EventRows


class Source:
    """The native rows that a list was made from, and what the user changed of them.

    An item is made each time that it is touched, and not kept: a recording has millions. One that the user changed
    is kept here, so that the change is there when the item is touched again, from the list or from its relatives.
    """

    __slots__ = ("__weakref__", "_kept", "_make", "events", "is_changed", "is_printed", "rows", "totals")

    def __init__(self, rows: EventRows | AverageRows, make: Callable[[Source, int], Any]) -> None:
        self.rows: Any = rows
        self._make = make
        self._kept: dict[int, Any] = {}
        # Whether the rows no longer say what the items say.
        self.is_changed = False
        # Whether a table of it was made, and the host's and the device's self times in it, once they are needed.
        self.is_printed = False
        self.totals: tuple[float, float] | None = None
        # For averages: the events that they are of.
        self.events: Source | None = None

    def item(self, index: int) -> Any:
        """Return the item in this place."""
        kept = self._kept.get(index)
        return self._make(self, index) if kept is None else kept

    def items(self) -> Iterator[Any]:
        """Give all items, one after another, each made when it is its turn."""
        make, kept = self._make, self._kept
        for index in range(len(self.rows)):
            yield self.item(index) if kept else make(self, index)

    def has_changed(self, index: int) -> bool:
        """Return whether the item in this place may say something else than its row."""
        return self.is_changed and index in self._kept

    def keep(self, item: Recorded, name: str) -> None:
        """Note that the user set an attribute of an item."""
        self._kept[item._index] = item
        # What the rows do not have, the user may add without changing what they say.
        if name in item._FIELDS:
            self.is_changed = True


class Field:
    """An attribute that an item of a recording fetches when it is first asked for.

    Python looks here only for what is not among the item's own attributes: once fetched, and in items that were made
    by hand, an attribute costs what any attribute costs.

    Args:
        name: the attribute.
        fetch: how to get it; None asks the rows for it by its name.
        stays: whether it stays what it is once it was fetched.
    """

    __slots__ = ("_fetch", "_name", "_stays")

    def __init__(self, name: str, fetch: Callable[[Any, Source], Any] | None = None, *, stays: bool = True) -> None:
        self._name = name
        self._fetch = fetch
        self._stays = stays

    def __get__(self, item: Recorded | None, owner: object = None) -> Any:
        if item is None:
            return self
        source, name, fetch = item._source, self._name, self._fetch
        if source is None:
            raise AttributeError(f"{type(item).__name__!r} object has no attribute {name!r}", name=name, obj=item)
        value = source.rows.attribute(item._index, name) if fetch is None else fetch(item, source)
        if self._stays:
            attributes(item)[name] = value
        return value


class Recorded:
    """An object that is a row of a source, or one with attributes of its own, whose source is None."""

    __slots__ = ("__dict__", "__weakref__", "_index", "_snapshot", "_source")

    # The attributes that rows have, in torch's order.
    _FIELDS: tuple[str, ...] = ()

    if TYPE_CHECKING:
        _index: int
        _snapshot: tuple[dict[str, Any], dict[str, Any]] | None
        _source: Source | None

    @classmethod
    def _of(cls, source: Source, index: int) -> Any:
        # Not by the constructor, which takes what torch's takes. The slots are set past __setattr__, which is slow.
        item = _new(cls)
        _set_source(item, source)
        _set_index(item, index)
        return item

    def _own(self, values: dict[str, Any], snapshot: tuple[dict[str, Any], dict[str, Any]] | None = None) -> None:
        """Make this an object with attributes of its own: these."""
        _set_source(self, None)
        _set_index(self, -1)
        _set_snapshot(self, snapshot)
        attributes(self).update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if self._source is not None:
            self._source.keep(self, name)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Recorded) or self._source is None or other._source is None:
            return NotImplemented
        return self._index == other._index and bool(self._source.rows == other._source.rows)

    def __hash__(self) -> int:
        if self._source is None:
            return object.__hash__(self)
        return hash((self._source.rows, self._index))

    def _complete(self) -> dict[str, Any]:
        """Return all attributes, those of the rows too."""
        own = attributes(self)
        if self._source is None:
            return own
        values = {name: getattr(self, name) for name in self._FIELDS}
        values.update(own)
        return values

    def _note_change(self, name: str) -> None:
        """Note that an attribute was changed past ``__setattr__``."""
        if self._source is not None:
            self._source.keep(self, name)

    def _figure(self, name: str) -> Any:
        """Return what the rows say while nothing of theirs was changed, else None: then it follows from attributes."""
        source = self._source
        return None if source is None or source.is_changed else source.rows.attribute(self._index, name)


_new = object.__new__
_set_index: Callable[[Recorded, int], None] = Recorded.__dict__["_index"].__set__
_set_snapshot: Callable[[Recorded, object], None] = Recorded.__dict__["_snapshot"].__set__
_set_source: Callable[[Recorded, Source | None], None] = Recorded.__dict__["_source"].__set__

# The dictionary itself, whatever a subclass says that its __dict__ is.
attributes: Callable[[Recorded], dict[str, Any]] = Recorded.__dict__["__dict__"].__get__
