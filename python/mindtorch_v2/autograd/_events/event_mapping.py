"""The mapping that an event is, beside having attributes."""

from __future__ import annotations

from mindtorch_v2.autograd._events.event_items import items_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mindtorch_v2.autograd._events.recorded import Source


class EventMapping:
    """Answers to keys: a recording's own for what it recorded, else those that follow from the attributes."""

    __slots__ = ()

    if TYPE_CHECKING:
        _index: int
        _source: Source | None

    def keys(self) -> tuple[str, ...]:
        """Return the keys that it answers to, as a mapping."""
        if self._is_as_recorded:
            keys: tuple[str, ...] = self._rows.keys(self._index)
            return keys
        return tuple(self._derived())

    def values(self) -> list[Any]:
        """Return the values of ``keys()``."""
        return [value for _, value in self.items()]

    def items(self) -> list[tuple[str, Any]]:
        """Return the keys and their values."""
        if self._is_as_recorded:
            rows, index = self._rows, self._index
            return [(key, rows.value(index, key)) for key in rows.keys(index)]
        return list(self._derived().items())

    def get(self, key: object, default: Any = None, /) -> Any:
        """Return the value of a key, or ``default`` if there is none."""
        try:
            return self[key]  # type: ignore[index]
        except KeyError:
            return default

    def __getitem__(self, key: str, /) -> Any:
        if not isinstance(key, str):
            raise KeyError(key)
        return self._rows.value(self._index, key) if self._is_as_recorded else self._derived()[key]

    def __contains__(self, key: object, /) -> bool:
        return key in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    @property
    def _is_as_recorded(self) -> bool:
        return self._source is not None and not self._source.has_changed(self._index)

    @property
    def _rows(self) -> Any:
        return None if self._source is None else self._source.rows

    def _derived(self) -> dict[str, Any]:
        event: Any = self
        return items_of(event)
