"""A list whose items are rows of a recording until it is changed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, SupportsIndex, TypeVar, overload

    from typing_extensions import Self

    from mindtorch_v2.autograd._events.recorded import Source

    _T = TypeVar("_T")


class LazyList(list["_T"]):
    """A list that makes its items when they are touched.

    With a source, the items of the list itself are none: everything that reads goes to the source. The first change
    makes all items and lets the source go; reading never does, but for ``[...] + events``, for which CPython reads the
    list's memory and asks for no method. What reads that memory and cannot be told finds an empty list:
    ``list.__len__(events)`` and other methods of ``list`` called on the class, ``operator.concat([], events)``,
    ``heapq``, and extension modules that do so. For those, take ``list(events)``.
    """

    _source: Source | None = None

    def _lazy(self) -> Source | None:
        """Return the source while all items are its rows."""
        source = self._source
        if source is not None and list.__len__(self):
            # Somebody has appended past our methods, by list.append(events, item) or in C.
            self._fill()
            return None
        return source

    def _fill(self) -> None:
        """Make all items, so that the list can be changed like any other."""
        source = self._source
        if source is not None:
            # All are made before anything changes: an interrupt or another thread finds the list as it was, or full.
            items = list(source.items())
            self._source = None
            list.__setitem__(self, slice(0, 0), items)

    def __len__(self) -> int:
        source = self._lazy()
        return list.__len__(self) if source is None else len(source.rows)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: SupportsIndex, /) -> _T: ...
        @overload
        def __getitem__(self, key: slice, /) -> list[_T]: ...

    def __getitem__(self, key: SupportsIndex | slice, /) -> _T | list[_T]:
        source = self._lazy()
        if source is None:
            return list.__getitem__(self, key)
        if type(key) is not int and not hasattr(key, "__index__"):
            if not isinstance(key, slice):
                raise TypeError(f"list indices must be integers or slices, not {type(key).__name__}")
            return [source.item(index) for index in range(len(source.rows))[key]]
        try:
            index = range(len(source.rows))[key]
        except IndexError:
            raise IndexError("list index out of range") from None
        item: _T = source.item(index)
        return item

    def __iter__(self) -> Iterator[_T]:
        source = self._lazy()
        return list.__iter__(self) if source is None else self._iterate(source)

    def _iterate(self, source: Source) -> Iterator[_T]:
        index = 0
        for item in source.items():
            if self._source is not source:
                break
            yield item
            index += 1
        # As in any list, what is changed during an iteration is seen by it.
        while self._source is not source and index < len(self):
            yield self[index]
            index += 1

    def __reversed__(self) -> Iterator[_T]:
        return (self[index] for index in range(len(self) - 1, -1, -1) if index < len(self))

    def __contains__(self, value: object, /) -> bool:
        source = self._lazy()
        return list.__contains__(self, value) if source is None else any(item == value for item in self)

    def index(self, value: Any, start: SupportsIndex = 0, stop: SupportsIndex = 2**63 - 1, /) -> int:
        """Return the first place of a value. ValueError if it is not there."""
        return list.index(self if self._lazy() is None else list(self), value, start, stop)

    def count(self, value: Any, /) -> int:
        """Return how many items equal a value."""
        return sum(item is value or item == value for item in self)

    def copy(self) -> list[_T]:
        """Return the items as a plain list."""
        return list(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list):
            return NotImplemented
        if isinstance(other, LazyList) and self._source is not None and self._source is other._source:
            return True
        return list(self) == list(other)

    def __ne__(self, other: object) -> bool:
        return NotImplemented if not isinstance(other, list) else not self == other

    __hash__ = None

    def __lt__(self, other: list[_T]) -> bool:
        return list(self) < list(other) if isinstance(other, list) else NotImplemented

    def __le__(self, other: list[_T]) -> bool:
        return list(self) <= list(other) if isinstance(other, list) else NotImplemented

    def __gt__(self, other: list[_T]) -> bool:
        return list(self) > list(other) if isinstance(other, list) else NotImplemented

    def __ge__(self, other: list[_T]) -> bool:
        return list(self) >= list(other) if isinstance(other, list) else NotImplemented

    def __add__(self, other: list[Any]) -> list[Any]:
        return list(self) + list(other) if isinstance(other, list) else NotImplemented

    def __radd__(self, other: list[Any]) -> list[Any]:
        # Filled, and left to the other list: an answer given here would be taken for `other += self` too, which must
        # change that list and not make another.
        self._fill()
        return NotImplemented

    def __mul__(self, times: SupportsIndex, /) -> list[_T]:
        return list(self) * times

    def __rmul__(self, times: SupportsIndex, /) -> list[_T]:
        return list(self) * times

    def __repr__(self) -> str:
        return repr(list(self))

    def __copy__(self) -> Self:
        copy = self._like_this()
        if self._lazy() is None:
            list.extend(copy, self)
        return copy

    def _like_this(self) -> Self:
        """Return an empty list with the attributes of this one, its source too."""
        copy = type(self)()
        copy.__dict__.update(self.__dict__)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in self.__dict__.items() if name != "_source"}
        return type(self), (), state, iter(self)


def _changing(name: str) -> Callable[..., Any]:
    """Return list's method with all items made before it is called."""
    method: Callable[..., Any] = getattr(list, name)

    def change(self: LazyList[Any], *args: Any, **kwargs: Any) -> Any:
        self._fill()
        return method(self, *args, **kwargs)

    change.__name__ = name
    change.__qualname__ = f"LazyList.{name}"
    change.__doc__ = method.__doc__
    return change


for _name in (
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "remove",
    "reverse",
    "sort",
    "__delitem__",
    "__iadd__",
    "__imul__",
    "__setitem__",
):
    setattr(LazyList, _name, _changing(_name))
